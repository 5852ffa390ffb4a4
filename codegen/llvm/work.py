"""The amount of work in a parallel loop, which decides whether threads pay off."""

from __future__ import annotations

from collections.abc import Container, Sequence

from ...ir import make, tir
from ...ir.int_set import Interval, evaluate, from_range
from ...ir.visit import walk

ENOUGH = 1 << 14
"""Number of statements, scalar or vector, that take longer than waking a thread (some microseconds)."""

_NOTHING = tir.Evaluate(tir.IntImm("int32", 0))


def statements_run(stmt: tir.Stmt, known: Container[tir.Var]) -> tir.PrimExpr | None:
    """Return an upper bound of the statements that `stmt` executes, an int64 in variables of `known`; None if there is
    none.
    """
    return _Counter(known).count(stmt)


class _Counter:
    def __init__(self, known: Container[tir.Var]) -> None:
        self._known = known
        self._domains: dict[tir.Var, Interval] = {}

    def count(self, stmt: tir.Stmt) -> tir.PrimExpr | None:
        match stmt:
            case tir.SeqStmt(seq=parts):
                return self._sum(parts)
            case tir.For():
                extent = evaluate(stmt.extent, self._domains).max
                self._domains[stmt.loop_var] = from_range(stmt.min, stmt.extent)
                body = self.count(stmt.body)
                if extent is None or body is None or not self._is_known(extent):
                    return None
                return make.mul(make.cast(extent, "int64"), body)
            case tir.IfThenElse():
                then, other = self.count(stmt.then_case), self.count(stmt.else_case or _NOTHING)
                return None if then is None or other is None else make.maximum(then, other)
            case tir.BufferStore() | tir.Evaluate(value=tir.IntImm()):
                return make.const(1, "int64")
            case tir.LetStmt() | tir.AttrStmt() | tir.AssertStmt() | tir.Allocate() | tir.AllocateConst():
                return self.count(stmt.body)
            case tir.DeclBuffer():
                return self.count(stmt.body)
            case _:  # a loop with an unknown extent, or a call with unknown effects
                return None

    def _is_known(self, extent: tir.PrimExpr) -> bool:
        """Return whether an extent can be computed before the loop, without side effects."""
        return all(
            node in self._known if isinstance(node, tir.Var) else not isinstance(node, tir.BufferLoad | tir.Call)
            for node in walk(extent)
        )

    def _sum(self, parts: Sequence[tir.Stmt]) -> tir.PrimExpr | None:
        counts = [self.count(part) for part in parts]
        total: tir.PrimExpr | None = make.const(0, "int64")
        for count in counts:
            total = None if total is None or count is None else make.add(total, count)
        return total
