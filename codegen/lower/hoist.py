"""Hoist the first step out of a loop: `for k: { if k == 0: X; Y }` becomes `X; for k: Y`.

The init of a reduction has this form after blocks are lowered; inside the loop it prevents
vectorization. X must be the first statement of the loop and must not depend on its variable.
"""

from __future__ import annotations

from functools import reduce

from msgspec.structs import replace

from ...ir import make, tir
from ...ir.idioms import conjuncts
from ...ir.jumps import has_jump
from .rewriter import Rewriter, sequence, uses


def hoist_first_steps(func: tir.PrimFunc) -> tir.PrimFunc:
    """Return `func` with first steps hoisted out of as many loops as possible."""
    return replace(func, body=_Hoister().rewrite(func.body))


class _Hoister(Rewriter):
    def __init__(self) -> None:
        super().__init__({tir.For: self._for})
        self._counters: set[tir.Var] = set()

    def _for(self, stmt: tir.For) -> tir.Stmt:
        if isinstance(stmt.min, tir.IntImm) and stmt.min.value >= 0:
            self._counters.add(stmt.loop_var)
        loop = self.rebuild(stmt)
        first, rest = (loop.body.seq[0], loop.body.seq[1:]) if isinstance(loop.body, tir.SeqStmt) else (loop.body, ())
        if not rest or not isinstance(first, tir.IfThenElse) or first.else_case is not None or has_jump(stmt.body):
            return loop
        conditions = [part for conjunct in conjuncts(first.condition) for part in self._parts(conjunct)]
        others = [condition for condition in conditions if not _is_first(condition, loop)]
        if len(others) == len(conditions) or uses((*others, first.then_case), {loop.loop_var}):
            return loop
        if not isinstance(loop.extent, tir.IntImm):
            others.append(make.greater(loop.extent, make.const(0, loop.extent.dtype)))
        step = tir.IfThenElse(reduce(make.logical_and, others), first.then_case) if others else first.then_case
        return sequence([step, replace(loop, body=sequence(rest))])

    def _parts(self, condition: tir.PrimExpr) -> list[tir.PrimExpr]:
        """Split `i * 8 + j == 0` into `i == 0` and `j == 0`, if `i` and `j` are loop counters (not negative)."""
        if not (isinstance(condition, tir.EQ) and isinstance(condition.b, tir.IntImm) and condition.b.value == 0):
            return [condition]
        terms, counters = [condition.a], list[tir.PrimExpr]()
        while terms:
            match terms.pop():
                case tir.Add(a=a, b=b):
                    terms += (b, a)
                case tir.Mul(a=a, b=tir.IntImm(value=factor)) if factor > 0:
                    terms.append(a)
                case tir.Cast(value=value) if value.dtype in ("int32", "int64"):
                    terms.append(value)
                case tir.Var() as var if var in self._counters:
                    counters.append(var)
                case tir.IntImm(value=0):
                    pass
                case _:
                    return [condition]
        return [make.equal(counter, make.const(0, counter.dtype)) for counter in counters]


def _is_first(condition: tir.PrimExpr, loop: tir.For) -> bool:
    """Return whether `condition` means the first iteration of `loop`; False if the loop has a constant extent
    below 1.
    """
    if isinstance(loop.extent, tir.IntImm) and loop.extent.value < 1:
        return False
    return (
        isinstance(condition, tir.EQ)
        and condition.a is loop.loop_var
        and isinstance(condition.b, tir.IntImm)
        and isinstance(loop.min, tir.IntImm)
        and condition.b.value == loop.min.value
    )
