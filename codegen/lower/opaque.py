"""Replacement of block iterators by their bindings (TVM: `ConvertBlocksToOpaque`).

with T.block("C"):                                       with T.block("C"):
    vi = T.axis.spatial(64, i0 * 8 + i1)            →        T.reads(A[i0 * 8 + i1])
    T.reads(A[vi])                                           …
"""

from __future__ import annotations

from msgspec.structs import replace

from ...ir import make, tir
from .rewriter import Rewriter


def convert_blocks_to_opaque(func: tir.PrimFunc) -> tir.PrimFunc:
    """Return `func` with the iterators of blocks replaced by their bindings."""
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
        self.buffers = outer_buffers  # if a block occurs twice, its buffers differ
        return replace(realize, iter_values=(), predicate=predicate, block=block)
