"""Minimum and maximum: `T.min`, `T.max`."""

from __future__ import annotations

from collections.abc import Iterable
from functools import reduce

from .. import tir
from ..dtype import is_index
from ..intern import is_scalar_int, joined
from ..sums import Sum
from .arithmetic import difference
from .core import Simplifier, simplifies
from .elementwise import elementwise

_MANY = 8
"""Maximum number of operands that are compared in pairs."""


@simplifies(tir.Min, tir.Max)
def extremum(s: Simplifier, expr: tir.Min | tir.Max) -> tir.PrimExpr:
    """Return the normal form: redundant operands removed, terms that all operands share added outside."""
    kind, dtype = type(expr), expr.dtype
    if not is_scalar_int(dtype):
        return elementwise(s, expr)
    operands = _reduced(s, kind, _operands(s, kind, expr))
    if len(operands) > 1:
        inside = _taken_out(s, kind, operands)
        if inside is not None:
            return s.visit(inside)
    common = _common(s, operands, dtype)
    if common is None:
        return s.combine(kind, operands)
    rest = [s.to_expr(s.sum(operand).plus(common, -1), dtype) for operand in operands]
    inner = s.visit(reduce(lambda a, b: kind(dtype, a, b), [term for term in rest if term is not None]))
    result = s.to_expr(s.sum(inner).plus(common), dtype)
    return s.combine(kind, operands) if result is None else result


def _operands(s: Simplifier, kind: type[tir.Min | tir.Max], expr: tir.PrimExpr) -> list[tir.PrimExpr]:
    """Return the operands of nested nodes of `kind`, in normal form."""
    return [term for part in joined(kind, expr) for term in joined(kind, s.visit(part))]


def _common(s: Simplifier, operands: list[tir.PrimExpr], dtype: str) -> Sum | None:
    """Return the terms and the constant that all operands share, or None. Only indices qualify, as they do not wrap."""
    if not is_index(dtype):
        return None
    sums = [s.sum(operand) for operand in operands]
    first = sums[0]
    terms = {t: f for t, f in first.factors() if all(other.terms.get(t, 0) == f for other in sums[1:])}
    constant = first.constant if all(other.constant == first.constant for other in sums) else 0
    if not terms and (constant == 0 or any(value.is_constant for value in sums)):
        return None
    return Sum(terms, constant)


def _reduced(s: Simplifier, kind: type[tir.Min | tir.Max], operands: list[tir.PrimExpr]) -> list[tir.PrimExpr]:
    kept: list[tir.PrimExpr] = []
    for operand in operands:
        rivals = kept[:_MANY]
        if any(_wins(s, kind, other, operand) for other in rivals):
            continue
        kept = [other for other in kept if not _wins(s, kind, operand, other)] if len(kept) <= _MANY else kept
        kept.append(operand)
    constants = [expr for expr in kept if isinstance(expr, tir.IntImm)]
    return [expr for expr in kept if not isinstance(expr, tir.IntImm)] + constants


def _wins(s: Simplifier, kind: type[tir.Min | tir.Max], a: tir.PrimExpr, b: tir.PrimExpr) -> bool:
    """Return whether `a` makes `b` redundant: for a minimum, whether `a <= b`."""
    if a is b:
        return True
    if isinstance(b, tir.Min | tir.Max):  # a <= max(x, y) if a <= x or a <= y; a <= min(x, y) if both
        return (all if isinstance(b, kind) else any)(_wins(s, kind, a, part) for part in (b.a, b.b))
    if isinstance(a, tir.Min | tir.Max) and not isinstance(a, kind):  # max(x, y) <= b if x <= b and y <= b
        return all(_wins(s, kind, part, b) for part in (a.a, a.b))
    return _is_before(s, kind, a, b)


def _is_before(s: Simplifier, kind: type[tir.Min | tir.Max], a: tir.PrimExpr, b: tir.PrimExpr) -> bool:
    low, high = (a, b) if kind is tir.Min else (b, a)
    return s.at_most(difference(s, low, high))


def _taken_out(s: Simplifier, kind: type[tir.Min | tir.Max], operands: list[tir.PrimExpr]) -> tir.PrimExpr | None:
    """Move an operation that all operands share out of the extremum, or return None.

    It is a select with one condition, a division, a negation, or an extremum of the other kind with a shared operand.
    """
    dtype, other = operands[0].dtype, tir.Max if kind is tir.Min else tir.Min

    def of(kind: type[tir.Min | tir.Max], parts: Iterable[tir.PrimExpr]) -> tir.PrimExpr:
        return reduce(lambda a, b: kind(dtype, a, b), parts)

    match operands:
        case [tir.Select(condition=p), *_] if all(isinstance(e, tir.Select) and e.condition is p for e in operands):
            choices = [operand for operand in operands if isinstance(operand, tir.Select)]
            yes, no = (
                of(kind, [choice.true_value for choice in choices]),
                of(kind, [choice.false_value for choice in choices]),
            )
            return tir.Select(dtype, p, yes, no)
        case [tir.FloorDiv(b=tir.IntImm(value=by) as b) | tir.Div(b=tir.IntImm(value=by) as b), *_] if by > 0 or (
            by and is_index(dtype)
        ):
            division = tir.FloorDiv if isinstance(operands[0], tir.FloorDiv) else tir.Div
            dividends = [operand.a for operand in operands if isinstance(operand, division) and operand.b is b]
            inner = of(kind if by > 0 else other, dividends)
            return division(dtype, inner, b) if len(dividends) == len(operands) else None
        case [tir.Min() | tir.Max(), *_] if all(type(operand) is other for operand in operands):
            parts = [joined(other, operand) for operand in operands]
            in_all = set(parts[0]).intersection(*parts)
            shared = [part for part in parts[0] if part in in_all]
            rest = [[part for part in piece if part not in in_all] for piece in parts]
            return (
                of(other, [of(kind, [of(other, terms) for terms in rest]), *shared]) if shared and all(rest) else None
            )
        case _ if is_index(dtype) and all(_is_negative(s.sum(operand)) for operand in operands):
            positive = [s.to_expr(s.sum(operand).scaled(-1), dtype) for operand in operands]
            known = [expr for expr in positive if expr is not None]
            return tir.Mul(dtype, of(other, known), s.constant(-1, dtype)) if len(known) == len(operands) else None
        case _:
            return None


def _is_negative(value: Sum) -> bool:
    return bool(value.terms) and max(value.terms.values()) < 0
