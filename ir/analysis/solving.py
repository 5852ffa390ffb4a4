"""Linear forms, and the solution of conditions for one variable (TVM: `DetectLinearEquation`, `DeduceBound`)."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from functools import reduce

from .. import tir
from ..deep import deep
from ..int_set import EVERYTHING, Domains, Interval, evaluate
from ..intern import factors, joined
from ..simplify import Simplifier
from ..simplify.opening import opened
from ..sums import Sum
from ..visit import walk


@deep
def detect_linear_equation(expr: tir.PrimExpr, variables: Sequence[tir.Var]) -> list[tir.PrimExpr] | None:
    """Return the coefficients of `variables` in `expr`, and the remaining term; None if `expr` is not linear in them.

    Coefficients may be symbolic: `a * b + 7` is linear in `a`.
    """
    s = Simplifier()
    found = _linear(s, s.sum(s.visit(expr)), variables)
    return None if found is None else [_expr(s, item, expr.dtype) for item in found]


def _linear(s: Simplifier, value: Sum, variables: Sequence[tir.Var]) -> list[Sum] | None:
    coefficients = {variable: Sum() for variable in variables}
    rest = Sum({}, value.constant)
    for term, factor in value.factors():
        if not uses(term, variables):
            rest.add_term(term, factor)
            continue
        parts = factors(term)
        varying = [part for part in parts if uses(part, variables)]
        if len(varying) == 1 and isinstance(variable := varying[0], tir.Var):
            others = [part for part in parts if part is not variable]
            coefficients[variable].add(_product(s, others, term.dtype), factor)
            continue
        inner = opened(s, term)
        found = None if term in inner.terms else _linear(s, inner, variables)
        if found is None:
            return None
        for total, item in zip([*coefficients.values(), rest], found, strict=True):
            total.add(item, factor)
    return [*coefficients.values(), rest]


def _product(s: Simplifier, parts: Sequence[tir.PrimExpr], dtype: str) -> Sum:
    one = s.constant(1, dtype)
    return s.sum(s.visit(reduce(lambda a, b: tir.Mul(dtype, a, b), parts, one)))


def _expr(s: Simplifier, value: Sum, dtype: str) -> tir.PrimExpr:
    found = s.to_expr(value, dtype)
    assert found is not None
    return s.visit(found)


def uses(expr: tir.PrimExpr, variables: Collection[tir.Var]) -> bool:
    """Whether any of `variables` occurs in `expr`."""
    return any(isinstance(node, tir.Var) and node in variables for node in walk(expr))


@deep
def deduce_bound(
    variable: tir.Var, condition: tir.PrimExpr, hints: Domains | None = None, relaxed: Domains | None = None
) -> Interval | None:
    """Return the values of `variable` for which `condition` holds for all values of the `relaxed` variables.

    The domains in `hints` determine the signs of factors. None if the condition never holds, or is not a comparison that
    can be solved for the variable.
    """
    s = Simplifier({**(hints or {}), **(relaxed or {})})
    simple = s.visit(condition)
    match simple:
        case tir.IntImm():
            return EVERYTHING if simple.value else None
        case tir.LT() | tir.LE() | tir.EQ():
            distance = s.exact(simple.a).plus(s.exact(simple.b), -1)
            if isinstance(simple, tir.LT):
                distance.constant += 1
            return _solved(s, distance, isinstance(simple, tir.EQ), variable, simple.a.dtype, relaxed or {})
        case _:
            return None


def _solved(
    s: Simplifier, distance: Sum, is_equal: bool, variable: tir.Var, dtype: str, relaxed: Domains
) -> Interval | None:
    """Solve `distance <= 0`, or `distance == 0`."""
    value, zero = distance, s.constant(0, dtype)
    low, high = zero if is_equal else None, zero
    while value.single is not variable:
        terms = [(term, factor) for term, factor in value.factors() if uses(term, (variable,))]
        if len(terms) != 1:
            return None
        ((term, factor),) = terms
        rest = evaluate(_expr(s, value.plus(Sum({term: factor}), -1).scaled(-1), dtype), relaxed)
        if rest.min is None or rest.max is None:
            return None
        low = None if low is None else tir.Add(dtype, low, rest.max)
        high = None if high is None else tir.Add(dtype, high, rest.min)
        solved = _undone(s, term, factor, variable, low, high)
        if solved is None:
            return None
        value, low, high = solved
    found = Interval(*(None if end is None else s.visit(end) for end in (low, high)))
    is_empty = found.min is not None and found.max is not None and _holds(s, tir.LT("bool", found.max, found.min))
    return None if is_empty else found


_Ends = tuple[Sum, tir.PrimExpr | None, tir.PrimExpr | None]


def _undone(
    s: Simplifier,
    term: tir.PrimExpr,
    factor: int,
    variable: tir.Var,
    low: tir.PrimExpr | None,
    high: tir.PrimExpr | None,
) -> _Ends | None:
    """Return the operand of `factor * term` without factors and divisors, and its ends, derived from those of the product."""
    dtype = term.dtype
    parts = factors(term)
    others = [part for part in parts if not uses(part, (variable,))]
    scale = _expr(s, _product(s, others, dtype).scaled(factor), dtype)
    if len(parts) - len(others) != 1 or s.bounds(scale).contains(0):
        return None
    if s.bounds(scale).max < 0:
        scale = s.visit(tir.Sub(dtype, s.constant(0, dtype), scale))
        low, high = (None if end is None else tir.Sub(dtype, s.constant(0, dtype), end) for end in (high, low))
    up = tir.Sub(dtype, scale, s.constant(1, dtype))
    low = None if low is None else tir.FloorDiv(dtype, tir.Add(dtype, low, up), scale)
    high = None if high is None else tir.FloorDiv(dtype, high, scale)
    (inner,) = set(parts) - set(others)
    match inner:
        case tir.FloorDiv(a=dividend, b=divisor) if not uses(divisor, (variable,)) and s.bounds(divisor).min > 0:
            low = None if low is None else tir.Mul(dtype, low, divisor)
            last = tir.Sub(dtype, divisor, s.constant(1, dtype))
            high = None if high is None else tir.Add(dtype, tir.Mul(dtype, high, divisor), last)
            return s.exact(dividend), low, high
        case _:
            return (s.sum(inner), low, high) if inner is variable else None


def _holds(s: Simplifier, condition: tir.PrimExpr) -> bool:
    found = s.visit(condition)
    return isinstance(found, tir.IntImm) and bool(found.value)


@deep
def detect_clip_bound(condition: tir.PrimExpr, variables: Sequence[tir.Var]) -> list[Interval] | None:
    """Return, for each of `variables`, the interval that `condition` limits it to; None if `condition` has other parts."""
    s = Simplifier()
    found = dict.fromkeys(variables, EVERYTHING)
    for part in joined(tir.And, s.visit(condition)):
        for comparison in _comparisons(part):
            used = [variable for variable in variables if uses(comparison, (variable,))]
            bound = deduce_bound(used[0], comparison) if len(used) == 1 else None
            if bound is None:
                return None
            found[used[0]] = _met(s, found[used[0]], bound)
    return list(found.values())


def _comparisons(condition: tir.PrimExpr) -> list[tir.PrimExpr]:
    """Split a comparison: `x < min(y, z)` means `x < y` and `x < z`."""
    match condition:
        case tir.LT(b=tir.Min() as least) | tir.LE(b=tir.Min() as least):
            return [type(condition)("bool", condition.a, part) for part in joined(tir.Min, least)]
        case tir.LT(a=tir.Max() as most) | tir.LE(a=tir.Max() as most):
            return [type(condition)("bool", part, condition.b) for part in joined(tir.Max, most)]
        case _:
            return [condition]


def _met(s: Simplifier, a: Interval, b: Interval) -> Interval:
    def one(kind: type[tir.Min | tir.Max], x: tir.PrimExpr | None, y: tir.PrimExpr | None) -> tir.PrimExpr | None:
        return y if x is None else x if y is None else s.visit(kind(x.dtype, x, y))

    return Interval(one(tir.Max, a.min, b.min), one(tir.Min, a.max, b.max))
