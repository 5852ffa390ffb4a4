"""What a loop decides or names the same way in every iteration, before the loop.

    for i in range(16):                    if n > 4:
        if n > 4:                              for i in range(16):
            A[i] = 0                  →            A[i] = 0
        else:                              else:
            A[i] = 1                           …

It must be all that the loop does, cost nothing but time where the loop does not run, and read nothing that the loop writes.
(TVM: `HoistIfThenElse`; `HoistExpression`, which takes names along.)
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
    """Return `func` with conditions before the loops that do not change them."""
    return replace(func, body=_Hoister(with_names=False).rewrite(func.body))


def hoist_expressions(func: tir.PrimFunc) -> tir.PrimFunc:
    """Return `func` with conditions, and the values of names, before the loops that do not change them."""
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
    """Return `loop` around another body, with a variable of its own."""
    again = copy_of(replace(loop, body=body), {})
    assert isinstance(again, tir.For)
    return again


def _is_invariant(value: tir.PrimExpr, loop: tir.For) -> bool:
    """Whether `value` is the same in all iterations, and can be computed where there is none."""
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
