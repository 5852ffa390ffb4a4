"""Blocks without iterators: each is replaced by its value (TVM: `ConvertBlocksToOpaque`).

with T.block("C"):                                       with T.block("C"):
    vi = T.axis.spatial(64, i0 * 8 + i1)            →        T.reads(A[i0 * 8 + i1])
    T.reads(A[vi])                                           …
"""

from __future__ import annotations

from msgspec.structs import replace

from ...ir import make, tir
from .rewriter import Rewriter


def convert_blocks_to_opaque(func: tir.PrimFunc) -> tir.PrimFunc:
    """Return `func` with the values of iterators in their places."""
    return replace(func, body=_Converter().rewrite(func.body))


class _Converter(Rewriter):
    def __init__(self) -> None:
        super().__init__({tir.BlockRealize: self._realize})

    def _realize(self, realize: tir.BlockRealize) -> tir.Stmt:
        outer_buffers = dict(self.buffers)
        predicate, values = self.rewrite(realize.predicate), self.rewrite(realize.iter_values)
        for axis, value in zip(realize.block.iter_vars, values, strict=True):
            self.values[axis.var] = make.cast(value, axis.var.dtype)
        block = self.rewrite(replace(realize.block, iter_vars=()))
        self.buffers = outer_buffers  # a block that stands twice has other sizes there
        return replace(realize, iter_values=(), predicate=predicate, block=block)
