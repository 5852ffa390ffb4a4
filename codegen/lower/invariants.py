"""Hoist loop-invariant conditions and variables out of loops.

    for i in range(16):                    if n > 4:
        if n > 4:                              for i in range(16):
            A[i] = 0                  →            A[i] = 0
        else:                              else:
            A[i] = 1                           …

The `if` or binding must be the whole body of the loop. Its value must not read what the loop writes, and
must not fault if the loop does not run. (TVM: `HoistIfThenElse`; `HoistExpression`, which also hoists
variables.)
"""

from __future__ import annotations

from msgspec.structs import replace

from ...ir import tir
from ...ir.base import Op
from ...ir.visit import walk
from .rewriter import Rewriter, copy_of, uses

_DIVISIONS = (tir.Div, tir.Mod, tir.FloorDiv, tir.FloorMod)
_LIKELY = Op("tir.likely")


def hoist_conditions(func: tir.PrimFunc) -> tir.PrimFunc:
    """Return `func` with loop-invariant conditions hoisted."""
    return replace(func, body=_Hoister(with_names=False).rewrite(func.body))


def hoist_expressions(func: tir.PrimFunc) -> tir.PrimFunc:
    """Return `func` with loop-invariant conditions and variables hoisted."""
    return replace(func, body=_Hoister(with_names=True).rewrite(func.body))


class _Hoister(Rewriter):
    def __init__(self, with_names: bool) -> None:
        super().__init__({tir.For: self._for})
        self._with_names = with_names

    def _for(self, stmt: tir.For) -> tir.Stmt:
        return self._hoisted(self.rebuild(stmt))

    def _hoisted(self, loop: tir.For) -> tir.Stmt:
        if loop.thread_binding is not None or loop.annotations:
            return loop
        match loop.body:
            case tir.IfThenElse(condition=condition, then_case=then, else_case=other) as inner:
                if _is_invariant(condition, loop):
                    rest = None if other is None else self._hoisted(_again(loop, other))
                    return replace(inner, then_case=self._hoisted(replace(loop, body=then)), else_case=rest)
            case tir.LetStmt(value=value, body=body) as inner if self._with_names and _is_invariant(value, loop):
                return replace(inner, body=self._hoisted(replace(loop, body=body)))
            case _:
                pass
        return loop


def _again(loop: tir.For, body: tir.Stmt) -> tir.For:
    """Return a copy of `loop` with another body and a fresh variable."""
    again = copy_of(replace(loop, body=body), {})
    assert isinstance(again, tir.For)
    return again


def _is_invariant(value: tir.PrimExpr, loop: tir.For) -> bool:
    """Return whether `value` is the same in all iterations, and can be computed even if the loop does not run."""
    written = {node.buffer.data for node in walk(loop.body) if isinstance(node, tir.BufferStore)}
    runs = isinstance(loop.extent, tir.IntImm) and loop.extent.value > 0
    for node in walk(value):
        if isinstance(node, tir.Call) and node.op != _LIKELY:
            return False
        if isinstance(node, tir.BufferLoad) and (not runs or node.buffer.data in written):
            return False
        if isinstance(node, _DIVISIONS) and not (runs or isinstance(node.b, tir.IntImm)):
            return False
    return not uses((value,), {loop.loop_var})
