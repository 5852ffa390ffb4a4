"""Division and remainder: `a // b`, `a % b` rounded down, `T.Div` and `T.Mod` rounded towards zero.

The normal form of the parts of a split index is `index % upper // lower`. Multiples of the divisor are extracted,
terms that cannot change the result are dropped, and common factors are cancelled.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable
from functools import reduce
from math import gcd

from .. import tir
from ..analysis.const_bounds import Bounds
from ..dtype import is_index
from ..intern import factors, is_scalar_int
from ..sums import Sum
from .core import Simplifier, simplifies
from .elementwise import elementwise


@simplifies(tir.FloorDiv)
def floordiv(s: Simplifier, expr: tir.FloorDiv) -> tir.PrimExpr:
    return _divide(s, expr, quotient, symbolic_quotient)


@simplifies(tir.FloorMod)
def floormod(s: Simplifier, expr: tir.FloorMod) -> tir.PrimExpr:
    return _divide(s, expr, remainder, symbolic_remainder)


def _divide(
    s: Simplifier,
    expr: tir.FloorDiv | tir.FloorMod,
    by_constant: Callable[[Simplifier, Sum, int, str], Sum],
    by_symbol: Callable[[Simplifier, tir.PrimExpr, tir.PrimExpr], Sum],
) -> tir.PrimExpr:
    dtype = expr.dtype
    if not is_scalar_int(dtype):
        return elementwise(s, expr)
    a, b = s.visit(expr.a), s.visit(expr.b)
    if isinstance(b, tir.IntImm):
        if b.value == 0 or (b.value < 0 and not is_index(dtype)):
            return s.rebuild(expr)
        dividend = s.exact(a)
        if b.value > 0:
            result = by_constant(s, dividend, b.value, dtype)
        else:
            result = by_constant(s, dividend.scaled(-1), -b.value, dtype).scaled(1 if by_constant is quotient else -1)
    else:
        cancelled = _cancelled(s, type(expr), a, b)
        if cancelled is not None:
            return cancelled
        result = by_symbol(s, a, b)
    new = _expr_of(s, result, dtype, expr)
    return s.visit(new) if isinstance(new, tir.Add | tir.Sub) else new


def quotient(s: Simplifier, dividend: Sum, divisor: int, dtype: str) -> Sum:
    """Return `dividend // divisor` for a positive constant divisor."""
    whole = Sum({term: factor // divisor for term, factor in dividend.factors() if factor % divisor == 0})
    whole.constant = dividend.constant // divisor
    rest = dividend.plus(whole, -divisor)
    if not s.fits(rest, dtype):
        whole, rest = Sum(), dividend
    if divisor == 1 or rest.is_constant:
        return whole.shifted(rest.constant // divisor)
    bounds = s.bounds_of_sum(rest)
    if bounds.min // divisor == bounds.max // divisor:
        return whole.shifted(bounds.min // divisor)
    if bounds.max - bounds.min == 1:  # `(x % 2 + 1) // 2` is `x % 2`: the upper bound is a multiple
        return whole.plus(rest).shifted(bounds.max // divisor - bounds.max)
    small = _with_small_factors(s, rest, divisor)
    bounds = s.bounds_of_sum(small)
    if bounds.min // divisor == bounds.max // divisor:  # `x * 45 // 2` is `x * 22` where `x // 2` is 0
        return whole.plus(rest.plus(small, -1).divided(divisor)).shifted(bounds.min // divisor)
    scaled = scale_down(s, rest, divisor)
    if scaled is not None and s.fits(scaled[0], dtype):
        return whole.plus(quotient(s, scaled[0], divisor // scaled[1], dtype))
    nested = _unnest(s, rest, divisor, dtype)
    if nested is not None:
        return whole.plus(quotient(s, *nested, dtype))
    rounded = _rounded(s, rest, divisor) if is_index(dtype) else None
    if rounded is not None:
        return whole.plus(quotient(s, rounded, divisor, dtype))
    return whole.plus(_term(s, tir.FloorDiv, rest, divisor, dtype))


def remainder(s: Simplifier, dividend: Sum, divisor: int, dtype: str) -> Sum:
    """Return `dividend % divisor` for a positive constant divisor."""
    residue = s.residue_of_sum(dividend)
    if residue.coeff % divisor == 0:
        return Sum({}, residue.base % divisor)
    rest = dividend
    for lessen in (_without_multiples, _without_remainders, _with_small_factors):
        bounds = s.bounds_of_sum(rest)
        if bounds.min // divisor == bounds.max // divisor:
            return rest.shifted(-(bounds.min // divisor) * divisor)
        less = lessen(s, rest, divisor)
        rest = less if s.fits(less, dtype) else rest
    lessened = s.to_expr(rest, dtype) if rest is not dividend and is_index(dtype) else None
    if lessened is not None:  # terms may meet that the parts of the remainder kept apart
        rest = s.sum(s.visit(lessened))
    bounds = s.bounds_of_sum(rest)
    if bounds.min // divisor == bounds.max // divisor:
        return rest.shifted(-(bounds.min // divisor) * divisor)
    scaled = scale_down(s, rest, divisor)
    if scaled is not None and s.fits(scaled[0], dtype):
        above, scale = scaled
        below = rest.plus(above, -scale)
        return remainder(s, above, divisor // scale, dtype).scaled(scale).plus(below)
    nested = _unnest(s, rest, divisor, dtype)
    if nested is not None:
        inner, modulus = nested
        return quotient(s, remainder(s, inner, modulus, dtype), modulus // divisor, dtype)
    return _term(s, tir.FloorMod, rest, divisor, dtype)


def _term(s: Simplifier, kind: type[tir.FloorDiv | tir.FloorMod], a: Sum, b: int, dtype: str) -> Sum:
    dividend = s.to_expr(a, dtype)
    if dividend is None:  # no index dtype can represent the dividend, so this is unreachable
        dividend = tir.IntImm(dtype, 0)
    return Sum({s.intern(kind(dtype, dividend, s.constant(b, dtype))): 1})


def scale_down(s: Simplifier, value: Sum, divisor: int) -> tuple[Sum, int] | None:
    """Return `value // scale` and `scale`, for a `scale > 1` that divides `divisor`, or None.

    The terms that `scale` does not divide must lie between two neighboring multiples of it. Every number divides 0.
    """
    scales = {gcd(factor, divisor) for factor in value.terms.values()}
    scales.add(gcd(value.content, divisor))
    for scale in sorted(scales - {1}, reverse=True):
        above = Sum({term: factor // scale for term, factor in value.factors() if factor % scale == 0})
        bounds = s.bounds_of_sum(value.plus(above, -scale))
        if bounds.min // scale == bounds.max // scale:
            return above.shifted(bounds.min // scale), scale
    return None


def _unnest(s: Simplifier, value: Sum, divisor: int, dtype: str) -> tuple[Sum, int] | None:
    """Return the dividend `x + d * c` and the divisor `c * divisor` of `(x // c + d) // divisor`."""
    if len(value.terms) != 1:
        return None
    ((term, factor),) = value.terms.items()
    if factor != 1 or not isinstance(term, tir.FloorDiv):
        return None
    inner = term.b
    if not isinstance(inner, tir.IntImm) or inner.value <= 0:
        return None
    dividend = s.exact(term.a).shifted(value.constant * inner.value)
    product = inner.value * divisor
    return (dividend, product) if s.fits(dividend, dtype) and s.fits(Sum({}, product), dtype) else None


def _rounded(s: Simplifier, value: Sum, divisor: int) -> Sum | None:
    """Rewrite `x - x % m` in `value` to `x // m * m`, if that is a multiple of `divisor` and shorter."""
    for term, factor in value.factors():
        match term:
            case tir.FloorMod(a=a, b=tir.IntImm(value=modulus) as b) if modulus > 0 and factor * modulus % divisor == 0:
                multiple = Sum({s.intern(tir.FloorDiv(term.dtype, a, b)): -factor * modulus})
                new = value.plus(Sum({term: -factor})).plus(s.sum(a), factor).plus(multiple)
                if len(new.terms) < len(value.terms):
                    return new
            case _:
                pass
    return None


def _without_multiples(s: Simplifier, value: Sum, divisor: int) -> Sum:
    terms = {term: factor for term, factor in value.factors() if factor % divisor}
    return Sum(terms, value.constant % divisor)


def _without_remainders(s: Simplifier, value: Sum, divisor: int) -> Sum:
    """Rewrite `x % (k * divisor)` to `x`, which leaves the same remainder; nested ones are also rewritten."""
    result = Sum({}, value.constant)
    for term, factor in value.factors():
        match term:
            case tir.FloorMod(a=a, b=tir.IntImm(value=modulus)) if factor * modulus % divisor == 0:
                result = result.plus(_without_remainders(s, s.exact(a).scaled(factor), divisor))
            case _:
                result.add_term(term, factor)
    return result


def _with_small_factors(s: Simplifier, value: Sum, divisor: int) -> Sum:
    """Reduce factors modulo the divisor, keeping their signs; minus half of the divisor becomes plus half."""
    result = Sum({}, value.constant % divisor)
    for term, factor in value.factors():
        small = factor % divisor if factor > 0 else -(-factor % divisor)
        result.add_term(term, divisor // 2 if -2 * small == divisor else small)
    return result


def symbolic_quotient(s: Simplifier, a: tir.PrimExpr, b: tir.PrimExpr) -> Sum:
    """Return `a // b`: `(x * n + y) // n` is `x` if `0 <= y < n`, and `x - 1` if `-n <= y < 0`."""
    whole, rest = _split_by(s, a, b)
    if rest.is_constant and rest.constant == 0:
        return whole
    for steps in (0, 1):
        if _is_remainder(s, rest.plus(s.exact(b), steps), b):
            return whole.shifted(-steps)
    dividend = s.to_expr(rest, b.dtype)
    if dividend is None:
        return Sum({s.intern(tir.FloorDiv(b.dtype, a, b)): 1})
    return whole.plus(Sum({s.intern(tir.FloorDiv(b.dtype, dividend, b)): 1}))


def symbolic_remainder(s: Simplifier, a: tir.PrimExpr, b: tir.PrimExpr) -> Sum:
    """Return `a % b`: `(x * n + y) % n` is `y` if `0 <= y < n`; `y % n` inside of the dividend is replaced by `y`."""
    value = s.exact(a)
    if len(value.terms) > 1 and is_index(b.dtype):
        for term, factor in list(value.factors()):
            if isinstance(term, tir.FloorMod) and term.b is b:
                value = value.plus(Sum({term: -factor})).plus(s.exact(term.a), factor)
        reduced = s.to_expr(value, b.dtype)
        a = a if reduced is None else reduced
    _, rest = _split_by(s, a, b)
    if rest.is_constant and rest.constant == 0:
        return rest
    for steps in (0, 1):
        if _is_remainder(s, part := rest.plus(s.exact(b), steps), b):
            return part
    dividend = s.to_expr(rest, b.dtype)
    return Sum({s.intern(tir.FloorMod(b.dtype, a if dividend is None else dividend, b)): 1})


def _cancelled(
    s: Simplifier, kind: type[tir.FloorDiv | tir.FloorMod | tir.Div | tir.Mod], a: tir.PrimExpr, b: tir.PrimExpr
) -> tir.PrimExpr | None:
    """Cancel the factors that all terms of `a` and `b` share; return None if there are none."""
    terms = [*s.sum(a).terms, *s.sum(b).terms]
    if not is_index(b.dtype) or s.sum(a).constant or s.sum(b).constant or len(s.sum(b).terms) != 1 or len(terms) < 2:
        return None
    shared = reduce(lambda a, b: a & b, [Counter(factors(term)) for term in terms])
    scale = gcd(s.sum(a).content, s.sum(b).content)
    if not shared and scale == 1:
        return None

    def without(value: tir.PrimExpr) -> tir.PrimExpr | None:
        total = Sum()
        for term, factor in s.sum(value).factors():
            total.add(s.sum(_product(s, (Counter(factors(term)) - shared).elements(), b.dtype)), factor // scale)
        return s.to_expr(total, b.dtype)

    common = s.to_expr(s.sum(_product(s, shared.elements(), b.dtype)).scaled(scale), b.dtype)
    dividend, divisor = without(a), without(b)
    if common is None or dividend is None or divisor is None:
        return None
    new = s.visit(kind(b.dtype, dividend, divisor))
    return new if kind in (tir.FloorDiv, tir.Div) else s.visit(tir.Mul(b.dtype, new, common))


def _product(s: Simplifier, parts: Iterable[tir.PrimExpr], dtype: str) -> tir.PrimExpr:
    first, *others = [*parts] or [s.constant(1, dtype)]
    return reduce(lambda a, b: s.intern(tir.Mul(dtype, a, b)), others, first)


def _is_remainder(s: Simplifier, value: Sum, divisor: tir.PrimExpr) -> bool:
    """Return whether `0 <= value < divisor` is known, as for `x % divisor` with a positive divisor."""
    if value.single is not None and isinstance(value.single, tir.FloorMod) and value.single.b is divisor:
        return True
    limit = value.plus(s.exact(divisor), -1)
    if s.bounds(divisor).min == 0:  # the divisor is not zero
        s = s.inside()
        s.add_fact(s.exact(divisor).scaled(-1).shifted(1))
    return s.at_most(value.scaled(-1)) and s.at_most(limit, -1)


def _split_by(s: Simplifier, a: tir.PrimExpr, b: tir.PrimExpr) -> tuple[Sum, Sum]:
    """Return `whole` and `rest` with `a = whole * b + rest`."""
    value = s.exact(a)
    if not is_index(b.dtype):
        return Sum(), value
    scaled = s.sum(b)
    scale = gcd(scaled.content, scaled.constant)
    divisor = s.to_expr(scaled.divided(scale), b.dtype) if scale > 1 else b
    if divisor is None:
        return Sum(), value
    wanted = Counter(factors(divisor))
    whole, rest = Sum(), Sum({}, value.constant)
    for term, factor in value.factors():
        have = Counter(factors(term))
        if factor % scale or wanted - have:
            rest.add_term(term, factor)
            continue
        whole.add(s.sum(_product(s, (have - wanted).elements(), b.dtype)), factor // scale)
    if len(scaled.terms) > 1 or scaled.constant:
        whole, rest = _split_by_sum(value, scaled, whole, rest)
    return whole, rest


def _split_by_sum(value: Sum, divisor: Sum, whole: Sum, rest: Sum) -> tuple[Sum, Sum]:
    """Split by a divisor that is a sum: `x + y` divides `3 * x + 3 * y`."""
    first, factor = next(divisor.factors())
    times = value.terms.get(first, 0) // factor
    if times and all(value.terms.get(term, 0) == times * number for term, number in divisor.factors()):
        return Sum({}, times), value.plus(divisor, -times)
    return whole, rest


@simplifies(tir.Div, tir.Mod)
def truncated(s: Simplifier, expr: tir.Div | tir.Mod) -> tir.PrimExpr:
    """Simplify a division rounded towards zero; it equals floor division if neither operand is negative."""
    if not is_scalar_int(expr.dtype):
        return elementwise(s, expr)
    a, b = s.visit(expr.a), s.visit(expr.b)
    is_quotient = isinstance(expr, tir.Div)
    if s.bounds(b).min >= 0 and s.bounds(a).min >= 0:
        return s.visit((tir.FloorDiv if is_quotient else tir.FloorMod)(expr.dtype, a, b))
    if isinstance(b, tir.IntImm) and s.bounds(a).within(Bounds(1 - abs(b.value), abs(b.value) - 1)):
        return s.constant(0, expr.dtype) if is_quotient else a
    if isinstance(b, tir.IntImm) and b.value > 0 and s.bounds(a).max <= 0 and is_index(expr.dtype):
        kind = tir.FloorDiv if is_quotient else tir.FloorMod
        positive = s.to_expr(s.sum(a).scaled(-1), expr.dtype)
        if positive is not None:
            return _expr_of(s, s.sum(s.visit(kind(expr.dtype, positive, b))).scaled(-1), expr.dtype, expr)
    if not isinstance(b, tir.IntImm):
        cancelled = _cancelled(s, type(expr), a, b)
        return s.rebuild(expr) if cancelled is None else cancelled
    if not (b.value and is_index(expr.dtype)):
        return s.rebuild(expr)
    dividend = s.sum(a)
    scale = gcd(dividend.content, dividend.constant, b.value)
    if scale > 1 and scale != abs(b.value):
        scaled = s.to_expr(dividend.divided(scale), expr.dtype)
        if scaled is not None:
            new = s.sum(s.visit(type(expr)(expr.dtype, scaled, s.constant(b.value // scale, expr.dtype))))
            return _expr_of(s, new.scaled(1 if is_quotient else scale), expr.dtype, expr)
    if dividend.content % b.value == 0 and dividend.constant % b.value == 0:
        return _expr_of(s, dividend.divided(b.value) if is_quotient else Sum(), expr.dtype, expr)
    if is_quotient and isinstance(a, tir.Div) and isinstance(a.b, tir.IntImm):
        product = s.to_expr(Sum({}, a.b.value * b.value), expr.dtype)
        return s.rebuild(expr) if product is None else s.visit(tir.Div(expr.dtype, a.a, product))
    if not is_quotient and b.value < 0:
        return s.visit(tir.Mod(expr.dtype, a, tir.IntImm(expr.dtype, -b.value)))
    return s.rebuild(expr)


def _expr_of(s: Simplifier, value: Sum, dtype: str, expr: tir.BinaryOp) -> tir.PrimExpr:
    """Return `value` as an expression; `expr` with simplified operands if `dtype` cannot represent it."""
    result = s.to_expr(value, dtype)
    return s.rebuild(expr) if result is None else result
