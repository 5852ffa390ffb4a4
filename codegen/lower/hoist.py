"""The first step of a loop, out of it: `for k: { if k == 0: X; Y }` becomes `X; for k: Y`.

This is what the init of a reduction looks like once blocks are loops; outside, it no longer stands in the way of
vector code. X must be the first thing in the loop and must not depend on its variable.
"""

from __future__ import annotations

from functools import reduce

from msgspec.structs import replace

from ...ir import make, tir
from ...ir.jumps import has_jump
from .rewriter import Rewriter, conjuncts, sequence, uses


def hoist_first_steps(func: tir.PrimFunc) -> tir.PrimFunc:
    """Return `func` with first steps before their loops, as far out as they go."""
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
        conditions = [part for each in conjuncts(first.condition) for part in self._parts(each)]
        others = [condition for condition in conditions if not _is_first(condition, loop)]
        if len(others) == len(conditions) or uses((*others, first.then_case), {loop.loop_var}):
            return loop
        if not isinstance(loop.extent, tir.IntImm):
            others.append(make.greater(loop.extent, make.const(0, loop.extent.dtype)))
        step = tir.IfThenElse(reduce(make.logical_and, others), first.then_case) if others else first.then_case
        return sequence([step, replace(loop, body=sequence(rest))])

    def _parts(self, condition: tir.PrimExpr) -> list[tir.PrimExpr]:
        """Return `i * 8 + j == 0` as `i == 0` and `j == 0`: of counters, none of which is negative."""
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
    """Whether `condition` says that `loop`, which runs at least once where its extent is constant, is at its start."""
    if isinstance(loop.extent, tir.IntImm) and loop.extent.value < 1:
        return False
    return (
        isinstance(condition, tir.EQ)
        and condition.a is loop.loop_var
        and isinstance(condition.b, tir.IntImm)
        and isinstance(loop.min, tir.IntImm)
        and condition.b.value == loop.min.value
    )
