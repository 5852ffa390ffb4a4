"""Unrolling of loops: the body is repeated for every value of the loop variable."""

from __future__ import annotations

from collections.abc import Callable

from msgspec.structs import replace

from ...ir import make, tir
from ...ir.base import Node, Op
from ...ir.intern import has_effects, may_fault
from ...ir.jumps import has_jump
from ...ir.variables import defined_variables
from ...ir.visit import distinct
from .rewriter import Rewriter, Rule, copy_of, sequence

LIMIT = 64
"""Maximum number of iterations of an unrolled loop; LLVM may unroll longer ones."""
_IF_THEN_ELSE = Op("tir.if_then_else")


def unroll_loops(func: tir.PrimFunc) -> tir.PrimFunc:
    """Return `func` with its loops of kind "unrolled" unrolled, if their extent is constant and small."""
    return unroll_up_to(func, LIMIT)


def unroll_up_to(func: tir.PrimFunc, limit: int) -> tir.PrimFunc:
    """Return `func` with its loops of kind "unrolled" unrolled, if their extent is constant and they have at most `limit` iterations,
    counted with those of the unrolled loops around them.
    """
    return replace(func, body=_Unroller(limit).rewrite(func.body))


class _Unroller(Rewriter):
    def __init__(self, limit: int) -> None:
        folds: dict[type[Node], Callable[[tir.PrimExpr, tir.PrimExpr], tir.PrimExpr]] = {
            tir.Add: make.add, tir.Mul: make.mul, tir.EQ: make.equal, tir.NE: make.not_equal, tir.LT: make.less,
            tir.LE: make.less_equal, tir.GT: make.greater, tir.GE: make.greater_equal, tir.Sub: _difference,
            tir.FloorDiv: _quotient(tir.FloorDiv, make.floordiv), tir.FloorMod: _quotient(tir.FloorMod, make.floormod),
            tir.And: make.logical_and, tir.Or: make.logical_or,
        }  # fmt: skip
        rules: dict[type[Node], Rule] = {tir.For: self._for, tir.Call: self._call, tir.Select: self._select}
        super().__init__(rules | {kind: self.folded(fold) for kind, fold in folds.items()})
        self._copies, self._limit = 1, limit

    def _for(self, stmt: tir.For) -> tir.Stmt:
        start, extent = stmt.min, stmt.extent
        if stmt.kind is not tir.ForKind.UNROLLED:
            return self.rebuild(stmt)
        if (
            not (isinstance(start, tir.IntImm) and isinstance(extent, tir.IntImm))
            or self._copies * extent.value > self._limit
            or has_jump(stmt.body)
        ):
            return replace(self.rebuild(stmt), kind=tir.ForKind.SERIAL)
        bodies: list[tir.Stmt] = []
        self._copies *= max(extent.value, 1)
        for value in range(start.value, start.value + extent.value):
            self.values[stmt.loop_var] = tir.IntImm(stmt.loop_var.dtype, value)
            bodies.append(self.rewrite(stmt.body))
        self._copies //= max(extent.value, 1)
        if _has_variables(stmt.body) and any(
            map(_has_variables, bodies)
        ):  # a product with a zero, or a choice, may lose some
            bodies[1:] = [copy_of(body, {}) for body in bodies[1:]]
        return sequence(bodies)

    def _call(self, call: tir.Call) -> tir.PrimExpr:
        """Return the side of a `T.if_then_else` that is chosen in this iteration, if that is known."""
        if call.op != _IF_THEN_ELSE:
            return self.rebuild(call)
        condition, yes, no = call.args
        known = self.rewrite(condition)
        if known is not condition and isinstance(known, tir.IntImm):
            return self.rewrite(yes if known.value else no)
        return self.rebuild(call)

    def _select(self, select: tir.Select) -> tir.PrimExpr:
        """Return the side of a `T.Select` that is chosen in this iteration, unless the other one may fault."""
        known = self.rewrite(select.condition)
        if known is not select.condition and isinstance(known, tir.IntImm):
            sides = (select.true_value, select.false_value)
            chosen, other = sides if known.value else sides[::-1]
            if not has_effects(other) and not any(map(may_fault, distinct(other))):
                return self.rewrite(chosen)
        return self.rebuild(select)


def _difference(a: tir.PrimExpr, b: tir.PrimExpr) -> tir.PrimExpr:
    """Fold a difference of numbers, unless it may wrap around."""
    is_known = isinstance(a, tir.IntImm) and isinstance(b, tir.IntImm) and not a.dtype.startswith("uint")
    return make.sub(a, b) if is_known else tir.Sub(a.dtype, a, b)


def _quotient(
    kind: type[tir.FloorDiv | tir.FloorMod], divide: Callable[[tir.PrimExpr, tir.PrimExpr], tir.PrimExpr]
) -> Callable[[tir.PrimExpr, tir.PrimExpr], tir.PrimExpr]:
    """Return a function that folds a division of numbers, unless it faults when it is executed."""

    def fold(a: tir.PrimExpr, b: tir.PrimExpr) -> tir.PrimExpr:
        is_known = isinstance(a, tir.IntImm) and isinstance(b, tir.IntImm) and b.value
        return divide(a, b) if is_known else kind(a.dtype, a, b)

    return fold


def _has_variables(body: tir.Stmt) -> bool:
    return any(isinstance(node, tir.DeclBuffer) or defined_variables(node) for node in distinct(body))
