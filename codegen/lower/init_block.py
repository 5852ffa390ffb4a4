"""Inits of blocks as conditional statements of their bodies (TVM: `LowerInitBlock`).

with T.init():                       if vk == 0:
    C[vi] = T.float32(0)        →        C[vi] = T.float32(0)
C[vi] = C[vi] + A[vi, vk]            C[vi] = C[vi] + A[vi, vk]
"""

from __future__ import annotations

from functools import reduce

from msgspec.structs import replace

from ...ir import make, tir
from .rewriter import Rewriter, sequence


def lower_init_blocks(func: tir.PrimFunc) -> tir.PrimFunc:
    """Return `func` with the inits of its blocks as conditional statements in their bodies."""
    return replace(func, body=_Lowerer().rewrite(func.body))


class _Lowerer(Rewriter):
    def __init__(self) -> None:
        super().__init__({tir.Block: self._block})

    def _block(self, block: tir.Block) -> tir.Block:
        block = self.rebuild(block)
        if block.init is None:
            return block
        is_first = [_is_first(axis) for axis in block.iter_vars if axis.iter_type is tir.IterVarType.COMM_REDUCE]
        conditions = [condition for condition in is_first if not isinstance(condition, tir.IntImm)]
        init = tir.IfThenElse(reduce(make.logical_and, conditions), block.init) if conditions else block.init
        return replace(block, init=None, body=sequence([init, block.body]))


def _is_first(axis: tir.IterVar) -> tir.PrimExpr:
    """Return the condition that a reduction axis is at its first value."""
    if axis.dom is None or (isinstance(axis.dom.extent, tir.IntImm) and axis.dom.extent.value == 1):
        return tir.IntImm("bool", 1)
    return make.equal(axis.var, make.cast(axis.dom.min, axis.var.dtype))
