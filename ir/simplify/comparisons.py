"""Comparisons: decided if possible; otherwise positive terms are on the left and negative terms on the right."""

from __future__ import annotations

from .. import tir
from ..dtype import is_index
from ..intern import is_scalar_int
from ..sums import Sum
from .arithmetic import difference, merge_splits
from .core import Simplifier, simplifies
from .division import scale_down
from .elementwise import elementwise
from .knowledge import undivided

_ROUNDS = 4


@simplifies(tir.LT, tir.LE, tir.GT, tir.GE)
def order(s: Simplifier, expr: tir.CmpOp) -> tir.PrimExpr:
    """Return the normal form of an ordering of integers, where `a < b` is `a - b + 1 <= 0`."""
    if isinstance(expr, tir.GT | tir.GE):
        return s.visit((tir.LT if isinstance(expr, tir.GT) else tir.LE)(expr.dtype, expr.b, expr.a))
    if not is_scalar_int(expr.a.dtype):
        return elementwise(s, expr)
    for _ in range(_ROUNDS):
        new = _decide(s, expr)
        if new is expr or not isinstance(new, tir.LT | tir.LE) or not _may_change(s, new):
            return new
        expr = new
    return expr


def _may_change(s: Simplifier, expr: tir.CmpOp) -> bool:
    """Return whether another round may simplify further, since a side contains `min`, `max` or a quotient."""
    kinds = (tir.Min, tir.Max, tir.FloorDiv)
    return any(isinstance(term, kinds) for side in (expr.a, expr.b) for term in s.sum(side).terms)


def _decide(s: Simplifier, expr: tir.CmpOp) -> tir.PrimExpr:
    a, b = s.visit(expr.a), s.visit(expr.b)
    dtype = a.dtype
    distance = s.exact(a).plus(s.exact(b), -1)
    if isinstance(expr, tir.LT):
        distance.constant += 1
    if is_index(dtype):
        distance = _undivided(s, merge_splits(s, distance, dtype))
    if s.at_most(distance):
        return s.constant(1, "bool")
    if s.at_most(distance.scaled(-1), -1):
        return s.constant(0, "bool")
    one = _one_side(s, distance) if is_index(dtype) else None
    if one is not None:
        return one
    result = _order(s, distance, dtype)
    return s.rebuild(expr) if result is None else result


def _one_side(s: Simplifier, distance: Sum) -> tir.PrimExpr | None:
    """Rewrite `max(x, 8) < 10` to `x < 10` and `min(x, 8) < 8` to `x < 8`, where one operand decides or never does."""
    for term, factor in distance.factors():
        if not isinstance(term, tir.Min | tir.Max):
            continue
        is_both = isinstance(term, tir.Max) == (factor > 0)
        rest = distance.plus(Sum({term: factor}), -1)
        sides = [rest.plus(s.sum(expr), factor) for expr in (term.a, term.b)]
        for side, other in (sides, sides[::-1]):
            holds, fails = s.at_most(side), s.at_most(side.scaled(-1), -1)
            if (holds and not is_both) or (fails and is_both):
                return s.constant(int(holds), "bool")
            if holds or fails:
                left = s.to_expr(other, term.dtype)
                return None if left is None else s.visit(tir.LE("bool", left, tir.IntImm(term.dtype, 0)))
    return None


def _undivided(s: Simplifier, distance: Sum) -> Sum:
    """Rewrite `x // c <= d` to `x <= d * c + c - 1`, and `d <= x // c` to `d * c <= x`."""
    while len(distance.terms) == 1:
        ((term, factor),) = distance.terms.items()
        match term:
            case tir.FloorDiv(a=a, b=tir.IntImm(value=divisor)) | tir.Div(a=a, b=tir.IntImm(value=divisor)) if (
                divisor > 0
            ):
                distance = undivided(type(term), s.sum(a), divisor, factor, distance.constant)
            case _:
                break
    return distance


def _order(s: Simplifier, distance: Sum, dtype: str) -> tir.PrimExpr | None:
    """Return the comparison that is equivalent to `distance <= 0`."""
    scaled = scale_down(s, distance.scaled(-1), 0)
    if scaled is not None:
        distance = scaled[0].scaled(-1)
        if distance.is_constant:
            return s.constant(int(distance.constant <= 0), "bool")
    constant = distance.constant
    left = Sum({term: factor for term, factor in distance.factors() if factor > 0})
    right = Sum({term: -factor for term, factor in distance.factors() if factor < 0}, -constant)
    if not left.terms:
        return _compare(s, tir.LE, Sum({}, constant), right.shifted(constant), dtype)
    if not right.terms or right.constant == -1:
        return _compare(s, tir.LT, left, right.shifted(1), dtype)
    if right.constant == 0:
        return _compare(s, tir.LE, left, right, dtype)
    return _compare(s, tir.LT, left, right.shifted(1), dtype)


def _compare(s: Simplifier, kind: type[tir.CmpOp], left: Sum, right: Sum, dtype: str) -> tir.PrimExpr | None:
    if not (s.fits(left, dtype) and s.fits(right, dtype)):
        return None
    a, b = s.to_expr(left, dtype), s.to_expr(right, dtype)
    return None if a is None or b is None else s.intern(kind("bool", a, b))


@simplifies(tir.EQ, tir.NE)
def equality(s: Simplifier, expr: tir.EQ | tir.NE) -> tir.PrimExpr:
    """Return the normal form of an equality, where `a == b` is `a - b == 0` modulo the width."""
    holds = isinstance(expr, tir.EQ)
    if not is_scalar_int(expr.a.dtype):
        return elementwise(s, expr)
    a, b = s.visit(expr.a), s.visit(expr.b)
    distance = difference(s, a, b)
    if distance.is_constant:
        return s.constant(int((distance.constant == 0) == holds), "bool")
    if s.at_most(distance, -1) or s.at_most(distance.scaled(-1), -1) or s.residue_of_sum(distance).excludes(0):
        return s.constant(int(not holds), "bool")
    if s.at_most(distance) and s.at_most(distance.scaled(-1)):
        return s.constant(int(holds), "bool")
    scale = distance.content
    if distance.constant % scale:
        return s.constant(int(not holds), "bool")
    distance = distance.divided(scale)
    if next(iter(distance.terms.values())) < 0:
        distance = distance.scaled(-1)
    left = Sum({term: factor for term, factor in distance.factors() if factor > 0})
    right = Sum({term: -factor for term, factor in distance.factors() if factor < 0}, -distance.constant)
    compared = _compare(s, type(expr), left, right, a.dtype)
    if not isinstance(compared, tir.EQ | tir.NE):
        return s.rebuild(expr)
    a, b = compared.a, compared.b
    if isinstance(a, tir.FloorDiv) and isinstance(b, tir.IntImm) and is_index(a.dtype):
        for order, other in ((tir.GE, distance), (tir.LE, distance.scaled(-1))):
            if s.at_most(other):  # if `a <= b` always holds, `a == b` is `a >= b`
                return s.visit(order("bool", a, b) if holds else tir.Not("bool", order("bool", a, b)))
    return compared
