"""Bounds of sums of iterators that follow from predicates."""

from __future__ import annotations

from typing import TypeAlias

from msgspec import Struct

from .. import tir
from ..idioms import is_zero
from ..intern import joined
from ..sums import Sum
from .iter_marks import Factors, NotIterMap

Key: TypeAlias = "frozenset[tuple[tir.PrimExpr, int]]"
End: TypeAlias = "tir.PrimExpr | None"


class Constraint(Struct, frozen=True, eq=False):
    """Bounds of a sum of terms: the minimum, and the maximum plus one; None if unbounded."""

    terms: dict[tir.PrimExpr, int]
    low: End
    high: End


def constraints_of(predicate: tir.PrimExpr | None, factors: Factors) -> list[Constraint]:
    """Return the bounds in `predicate`, sorted by their number of terms; raises NotIterMap if it is not a conjunction of bounds."""
    found: dict[Key, Constraint] = {}
    if predicate is not None:
        if is_zero(factors.visit(predicate)):
            raise NotIterMap("a predicate never holds")
        for part in joined(tir.And, predicate if factors.as_written else factors.visit(predicate)):
            if factors.uses_iters(part):
                new = _constraint(part, factors)
                key = frozenset(new.terms.items())
                known = found.get(key, new)
                low, high = (
                    tighter(factors, tir.Max, new.low, known.low),
                    tighter(factors, tir.Min, new.high, known.high),
                )
                found[key] = Constraint(new.terms, low, high)
    return sorted(found.values(), key=lambda constraint: len(constraint.terms))


def _constraint(part: tir.PrimExpr, factors: Factors) -> Constraint:
    if isinstance(part, tir.GT | tir.GE):
        part = (tir.LT if isinstance(part, tir.GT) else tir.LE)(part.dtype, part.b, part.a)
    if not isinstance(part, tir.LT | tir.LE | tir.EQ):
        raise NotIterMap("a predicate is not a comparison of a sum of iterators with a bound")
    s = factors.simplifier
    distance = factors.read(part.a).plus(factors.read(part.b), -1)
    terms = {term: factor for term, factor in distance.factors() if factors.uses_iters(term)}
    rest = Sum(terms).plus(distance, -1)
    is_upper = next(iter(terms.values())) > 0
    if not is_upper:
        terms, rest = {term: -factor for term, factor in terms.items()}, rest.scaled(-1)
    limit, past = s.to_expr(rest, part.a.dtype), s.to_expr(rest.shifted(1), part.a.dtype)
    is_strict = isinstance(part, tir.LT)
    low = high = None
    if is_upper or isinstance(part, tir.EQ):
        high = limit if is_strict else past
    if not is_upper or isinstance(part, tir.EQ):
        low = past if is_strict else limit
    return Constraint(terms, low, high)


def tighter(factors: Factors, kind: type[tir.Min | tir.Max], a: End, b: End) -> End:
    """Return the minimum or maximum of two ends, either of which may be missing."""
    return b if a is None else a if b is None else factors.visit(kind(a.dtype, a, b))
