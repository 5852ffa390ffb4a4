"""Maxima and minima over small windows as one expression per element.

    M[i] = -inf                            M[i] = -inf
    for a, b in T.grid(3, 3):      →       M[i] = T.max(T.max(M[i], X[…, 0, 0]), …, X[…, 2, 2])
        M[i] = T.max(M[i], X[…, a, b])

In a chain of operands, one comparison tests two operands for NaN; a separate maximum needs a comparison per
operand.
"""

from __future__ import annotations

from collections.abc import Iterable

from msgspec.structs import replace

from ...ir import tir
from ...ir.base import Node
from ...ir.dtype import is_float
from ...ir.equal import structural_equal
from ...ir.intern import has_effects
from ...ir.visit import distinct, walk
from .rewriter import Rewriter, copy_of, uses

MOST_OPERANDS = 32
"""Maximum number of elements of a window that is expanded."""


def merge_windows(func: tir.PrimFunc) -> tir.PrimFunc:
    """Return `func`, whose buffers are flat, with maxima and minima over small windows as expressions."""
    if not any(isinstance(node, tir.Max | tir.Min) and is_float(node.dtype) for node in distinct(func.body)):
        return func
    return replace(func, body=_Merger(bool(func.attrs.get("tir.noalias"))).rewrite(func.body))


def operands_of(expr: tir.BinaryOp) -> list[tir.PrimExpr]:
    """Return the operands of a chain of the same operation, in order."""
    found: list[tir.PrimExpr] = []
    stack: list[tir.PrimExpr] = [expr]
    while stack:
        node = stack.pop()
        if type(node) is type(expr) and node.dtype == expr.dtype:
            assert isinstance(node, tir.BinaryOp)
            stack += (node.b, node.a)
        else:
            found.append(node)
    return found


class _Merger(Rewriter):
    def __init__(self, is_alone: bool) -> None:
        super().__init__({tir.For: self._for, tir.Allocate: self._allocate, tir.Buffer: lambda buffer: buffer})
        self._is_alone, self._allocated = is_alone, set[tir.Var]()

    def _allocate(self, stmt: tir.Allocate) -> tir.Stmt:
        self._allocated.add(stmt.buffer_var)
        return self.rebuild(stmt)

    def _for(self, stmt: tir.For) -> tir.Stmt:
        loop: tir.For = self.rebuild(stmt)
        match loop:
            case tir.For(
                kind=tir.ForKind.SERIAL,
                min=tir.IntImm(value=first),
                extent=tir.IntImm(value=count),
                body=tir.BufferStore() as store,
            ) if 0 < count <= MOST_OPERANDS and not loop.annotations:
                value = self._merged(loop, store, range(first, first + count))
                return loop if value is None else replace(store, value=value)
            case _:
                return loop

    def _merged(self, loop: tir.For, store: tir.BufferStore, steps: Iterable[int]) -> tir.PrimExpr | None:
        """Return the value that the loop around `store` computes; None if it is not a window, or the window is too
        large.
        """
        value, data = store.value, store.buffer.data
        if not isinstance(value, tir.Max | tir.Min) or not is_float(value.dtype):
            return None
        if not (self._is_alone or data in self._allocated) or uses(list(store.indices), {loop.loop_var}):
            return None
        operands = operands_of(value)
        old = [operand for operand in operands if _is_of(operand, store)]
        taken = [operand for operand in operands if not _is_of(operand, store)]
        if len(old) != 1 or any(has_effects(expr) or _reads(expr, data) for expr in taken):
            return None
        known = [{loop.loop_var: tir.IntImm(loop.loop_var.dtype, step)} for step in steps]
        if not taken or len(known) * len(taken) > MOST_OPERANDS:
            return None
        merged = old[0]
        for values in known:
            for expr in taken:
                merged = replace(value, a=merged, b=copy_of(expr, values))
        return merged


def _is_of(operand: tir.PrimExpr, store: tir.BufferStore) -> bool:
    """Return whether `operand` reads the element that `store` writes."""
    if not isinstance(operand, tir.BufferLoad) or operand.buffer is not store.buffer:
        return False
    if (operand.predicate is None) != (store.predicate is None):
        return False
    return structural_equal((operand.indices, operand.predicate), (store.indices, store.predicate))


def _reads(expr: Node, data: tir.Var) -> bool:
    return any(isinstance(node, tir.BufferLoad) and node.buffer.data is data for node in walk(expr))
