"""Conditions: `and`, `or`, `not`. The right side is simplified under the left one, or under its negation for `or`."""

from __future__ import annotations

from functools import reduce
from operator import is_not

from .. import tir
from ..dtype import is_bool, is_index, is_int, is_vector
from ..intern import joined
from ..visit import children, is_larger, walk
from .core import Simplifier, simplifies
from .elementwise import elementwise

_NEGATED: dict[type[tir.PrimExpr], type[tir.CmpOp]] = {
    tir.LT: tir.GE, tir.LE: tir.GT, tir.GT: tir.LE, tir.GE: tir.LT, tir.EQ: tir.NE, tir.NE: tir.EQ,
}  # fmt: skip


MOST_NODES = 300
MOST_EFFORT = 900
"""Limits for a condition whose parts are simplified under each other; larger ones are simplified part by part."""


@simplifies(tir.And, tir.Or)
def connective(s: Simplifier, expr: tir.And | tir.Or) -> tir.PrimExpr:
    """Return the normal form: duplicates removed; in a small condition, each part simplified under the others."""
    if is_vector(expr.dtype):
        return elementwise(s, expr)
    if _is_small(expr):
        return _together(s, expr)
    found = _each_alone(s, expr)
    return _together(s, found) if isinstance(found, tir.And | tir.Or) and _is_small(found) else found


def _is_small(expr: tir.PrimExpr) -> bool:
    return not is_larger(expr, MOST_NODES) and _effort(expr) <= MOST_EFFORT


def _effort(expr: tir.PrimExpr) -> int:
    """Return an estimate of the work for the conditions in `expr`; it grows with the square of their parts."""
    if isinstance(expr, tir.And | tir.Or):
        parts = joined(type(expr), expr)
        return 5 * len(parts) * sum(map(_effort, parts)) // 2
    inner = sum(_effort(child) for child in children(expr) if isinstance(child, tir.PrimExpr))
    return max(inner, 1) if is_bool(expr.dtype) else inner


def _each_alone(s: Simplifier, expr: tir.And | tir.Or) -> tir.PrimExpr:
    """Return the condition with its parts simplified separately, without duplicates, up to a part that decides it."""
    kind, is_and = type(expr), isinstance(expr, tir.And)
    kept: dict[tir.PrimExpr, None] = {}
    for part in (term for old in joined(kind, expr) for term in joined(kind, s.visit(old))):
        if not isinstance(part, tir.IntImm):
            kept[part] = None
        elif bool(part.value) != is_and:
            return part if all(map(s.is_total, kept)) else s.combine(kind, [*kept, part])
    return s.combine(kind, list(kept)) if kept else s.constant(int(is_and), expr.dtype)


def _together(s: Simplifier, expr: tir.And | tir.Or) -> tir.PrimExpr:
    """Simplify each part under the preceding ones, and the preceding ones under it.

    `x // 10 == 5 and x < 57` is `50 <= x and x < 57`.
    """
    kind, is_and = type(expr), isinstance(expr, tir.And)
    kept: list[tir.PrimExpr] = []
    place = s
    parts = joined(kind, expr)
    for position, part in enumerate(parts):
        new = place.visit(part)
        for term in joined(kind, new):
            if isinstance(term, tir.IntImm):
                if bool(term.value) != is_and:
                    return term if all(map(s.is_total, kept)) else s.combine(kind, [*kept, term])
                continue
            if position + 1 < len(parts):
                place = place.assuming(term, is_and)
            if kept and s.is_total(term):
                later = s.assuming(term, is_and)
                seen = [(k, later.visit(k)) for k in kept]
                kept = [new if _is_shorter(new, k) else k for k, new in seen if not _says(new, is_and)]
                if any(_is_shorter(new, k) for k, new in seen if not _says(new, is_and)):
                    return s.visit(s.combine(kind, [*kept, new, *map(s.nodes.intern_all, parts[position + 1 :])]))
            kept.append(term)
    tight = [_tightened(s, term, kept) for term in kept] if is_and else kept
    if any(map(is_not, tight, kept)):
        return s.visit(s.combine(kind, tight))
    return s.combine(kind, kept) if kept else s.constant(int(is_and), expr.dtype)


def _tightened(s: Simplifier, part: tir.PrimExpr, others: list[tir.PrimExpr]) -> tir.PrimExpr:
    """Lower the limit of `x < 256` to `x < 250` if another part says `x % 16 < 10`, so that it is a possible value."""
    if not (isinstance(part, tir.LT) and isinstance(part.b, tir.IntImm) and is_index(part.a.dtype)):
        return part
    of_part = [other for other in others if isinstance(other, tir.LT) and _dividend(other.a) is part.a]
    match of_part:
        case [tir.LT(a=tir.FloorMod(b=tir.IntImm(value=divisor)), b=tir.IntImm(value=limit))] if 0 < limit < divisor:
            beyond = (part.b.value - 1) % divisor - (limit - 1)
            end = s.constant(part.b.value - beyond, part.a.dtype)
            return s.intern(tir.LT(part.dtype, part.a, end)) if beyond > 0 else part
        case _:
            return part


def _dividend(expr: tir.PrimExpr) -> tir.PrimExpr | None:
    return expr.a if isinstance(expr, tir.FloorMod) else None


def _is_shorter(new: tir.PrimExpr, old: tir.PrimExpr) -> bool:
    return new is not old and sum(1 for _ in walk(new)) < sum(1 for _ in walk(old))


def _says(condition: tir.PrimExpr, value: bool) -> bool:
    return isinstance(condition, tir.IntImm) and bool(condition.value) == value


@simplifies(tir.Not)
def negation(s: Simplifier, expr: tir.Not) -> tir.PrimExpr:
    """Return the normal form of a negation. For floats only equality is inverted, as they may be unordered."""
    if isinstance(expr.a, tir.And | tir.Or) and not is_vector(expr.dtype):
        kind = tir.Or if isinstance(expr.a, tir.And) else tir.And
        parts = [tir.Not(expr.dtype, part) for part in joined(type(expr.a), expr.a)]
        return s.visit(reduce(lambda a, b: kind(expr.dtype, a, b), parts))
    a = s.visit(expr.a)
    match a:
        case tir.IntImm():
            return s.constant(1 - a.value, a.dtype)
        case tir.Not():
            return a.a
        case tir.EQ() | tir.NE():
            return s.visit(_NEGATED[type(a)](a.dtype, a.a, a.b))
        case tir.CmpOp() if is_int(a.a.dtype) or is_bool(a.a.dtype):
            return s.visit(_NEGATED[type(a)](a.dtype, a.a, a.b))
        case tir.And() | tir.Or():
            kind = tir.Or if isinstance(a, tir.And) else tir.And
            return s.visit(kind(a.dtype, tir.Not(a.dtype, a.a), tir.Not(a.dtype, a.b)))
        case _:
            return s.rebuild(expr)
