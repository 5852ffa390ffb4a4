"""Constant bounds: the minimum and maximum of an integer expression (TVM: `arith.ConstIntBound`).

Bounds are always finite: the default is the range of the dtype. Index expressions (int32, int64) are assumed not to
overflow; those of other dtypes wrap around, and then have the bounds of the dtype.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, TypeAlias

from msgspec import Struct

from .. import tir
from ..base import Op
from ..deep import deep
from ..dtype import int_range, is_bool, is_int, parse_dtype
from ..int_set import Interval
from ..visit import substitute


class Bounds(Struct, frozen=True):
    """The integers from `min` to `max`, inclusive."""

    min: int
    max: int

    @property
    def is_point(self) -> bool:
        return self.min == self.max

    def plus(self, other: Bounds, factor: int = 1) -> Bounds:
        """Return the bounds of the sum of this and `factor` times `other`."""
        first, last = other.min * factor, other.max * factor
        return Bounds(self.min + first, self.max + last) if factor >= 0 else Bounds(self.min + last, self.max + first)

    def meet(self, other: Bounds) -> Bounds:
        """Return the intersection, or `other` if it is empty: then the code is unreachable."""
        least, most = max(self.min, other.min), min(self.max, other.max)
        return Bounds(least, most) if least <= most else other

    def join(self, other: Bounds) -> Bounds:
        """Return the smallest bounds that contain both."""
        return Bounds(min(self.min, other.min), max(self.max, other.max))

    def contains(self, value: int) -> bool:
        return self.min <= value <= self.max

    def within(self, other: Bounds) -> bool:
        return other.min <= self.min and self.max <= other.max


Domain: TypeAlias = tir.Range | Interval
Domains: TypeAlias = Mapping[tir.Var, Domain]
BoundsOf: TypeAlias = Callable[[tir.PrimExpr], Bounds]


def of_dtype(dtype: str) -> Bounds:
    """Return the range of a lane of an integer dtype or bool; for other dtypes, that of int64."""
    name = parse_dtype(dtype).name
    return Bounds(*int_range(name if is_int(name) or is_bool(name) else "int64"))


def ends(domain: Domain) -> tuple[tir.PrimExpr | None, tir.PrimExpr | None, int]:
    """Return the minimum, and the maximum as an expression plus a constant; None if unbounded.

    The end of a range is computed in a dtype in which it does not overflow.
    """
    if isinstance(domain, Interval):
        return domain.min, domain.max, 0
    start, extent = domain.min, domain.extent
    if isinstance(start, tir.IntImm):
        return start, extent, start.value - 1
    return start, tir.Add(start.dtype, start, extent) if start.dtype in ("int32", "int64") else None, -1


def of_domain(variable: tir.Var, domain: Domain | None, of: BoundsOf) -> Bounds:
    """Return the bounds of a variable that ranges over `domain`."""
    whole = of_dtype(variable.dtype)
    if isinstance(variable, tir.SizeVar):
        whole = Bounds(0, whole.max)
    if domain is None:
        return whole
    least, most, slack = ends(domain)
    low = whole.min if least is None else of(least).min
    high = whole.max if most is None else of(most).max + slack
    return Bounds(low, high).meet(whole) if low <= high else whole


@deep
def const_bounds(expr: tir.PrimExpr, domains: Domains | None = None) -> Bounds:
    """Return the bounds of an integer or boolean expression whose variables range over `domains`."""
    memo: dict[tir.PrimExpr, Bounds] = {}

    def of(node: tir.PrimExpr) -> Bounds:
        found = memo.get(node)
        if found is None:
            if isinstance(node, tir.Var):
                memo[node] = of_domain(node, None, of)
                found = of_domain(node, (domains or {}).get(node), of)
            else:
                found = bounds_of(node, of)
            memo[node] = found
        return found

    return of(expr)


def bounds_of(expr: tir.PrimExpr, of: BoundsOf) -> Bounds:
    """Return the bounds of `expr`, which must not be a variable, from those of its operands."""
    if isinstance(expr, tir.IntImm):
        return Bounds(expr.value, expr.value)
    whole, found = of_dtype(expr.dtype), unlimited_bounds_of(expr, of)
    if found.within(whole):
        return found
    return found.meet(whole) if expr.dtype in ("int32", "int64") else whole


def unlimited_bounds_of(expr: tir.PrimExpr, of: BoundsOf) -> Bounds:
    """Return the bounds of the operation `expr` with integers of unlimited width."""
    rule = _RULES.get(type(expr))
    return rule(expr, of) if rule is not None else of_dtype(expr.dtype)


def _quotients(a: Bounds, b: Bounds, divide: Callable[[int, int], int]) -> Bounds:
    divisors = {d for d in (b.min, b.max, -1, 1) if b.min <= d <= b.max and d}
    if not divisors:
        return a
    results = [divide(dividend, divisor) for dividend in (a.min, a.max) for divisor in divisors]
    return Bounds(min(results), max(results))


def truncdiv(a: int, b: int) -> int:
    """Return the quotient, rounded towards zero."""
    return a // b if (a < 0) == (b < 0) else -(-a // b)


def _floormod(a: Bounds, b: Bounds) -> Bounds:
    if b.is_point and b.min > 0 and a.min // b.min == a.max // b.min:
        return Bounds(a.min % b.min, a.max % b.min)
    least = min(0, b.min + 1)
    most = max(0, b.max - 1)
    return Bounds(least, min(most, a.max)) if a.min >= 0 and b.min >= 0 else Bounds(least, most)


def _truncmod(a: Bounds, b: Bounds) -> Bounds:
    size = max(abs(b.min), abs(b.max), 1) - 1
    return Bounds(0 if a.min >= 0 else max(-size, a.min), 0 if a.max <= 0 else min(size, a.max))


def _difference(expr: tir.Sub, of: BoundsOf) -> Bounds:
    """Return the bounds of a difference; `a - a // c * c` is the remainder of `a`."""
    match expr.b:
        case tir.Mul(a=tir.FloorDiv(a=a, b=tir.IntImm(value=c)), b=tir.IntImm(value=factor)) if (
            a is expr.a and c == factor > 0
        ):
            return Bounds(0, c - 1)
        case _:
            return of(expr.a).plus(of(expr.b), -1)


def _product(a: Bounds, b: Bounds) -> Bounds:
    products = (a.min * b.min, a.min * b.max, a.max * b.min, a.max * b.max)
    return Bounds(min(products), max(products))


def _cast(expr: tir.Cast, of: BoundsOf) -> Bounds:
    whole = of_dtype(expr.dtype)
    if not (is_int(expr.value.dtype) or is_bool(expr.value.dtype)):
        return whole
    inner = of(expr.value)
    return inner if inner.within(whole) else whole


def _ramp(expr: tir.Ramp, of: BoundsOf) -> Bounds:
    if not isinstance(expr.lanes, tir.IntImm):
        return of_dtype(expr.dtype)
    return of(expr.base).plus(_product(of(expr.stride), Bounds(0, expr.lanes.value - 1)))


def _call(expr: tir.Call, of: BoundsOf) -> Bounds:
    match expr:
        case tir.Call(op=Op(name="tir.if_then_else"), args=(_, tir.PrimExpr() as yes, tir.PrimExpr() as no)):
            return of(yes).join(of(no))
        case tir.Call(op=Op(name="tir.likely"), args=(tir.PrimExpr() as inner,)):
            return of(inner)
        case tir.Call(op=Op(name="tir.vscale")):
            return Bounds(1, of_dtype(expr.dtype).max)
        case tir.Call(op=Op(name="tir.bitwise_and"), args=(tir.PrimExpr() as a, tir.PrimExpr() as b)):
            tops = [bounds.max for bounds in (of(a), of(b)) if bounds.min >= 0]
            return Bounds(0, min(tops)) if tops else of_dtype(expr.dtype)
        case tir.Call(op=Op(name="tir.shift_right"), args=(tir.PrimExpr() as a, tir.PrimExpr() as b)) if of(b).within(
            Bounds(0, parse_dtype(expr.dtype).bits - 1)
        ):
            value, least, most = of(a), of(b).min, of(b).max
            return Bounds(min(value.min >> least, value.min >> most), max(value.max >> least, value.max >> most))
        case tir.Call(op=Op(name="tir.shift_left"), args=(tir.PrimExpr() as a, tir.IntImm(value=by))) if 0 <= by < 64:
            return Bounds(of(a).min << by, of(a).max << by)
        case tir.Call(op=Op(name="tir.shift_left"), args=(tir.PrimExpr() as a, tir.PrimExpr() as b)) if of(b).within(
            Bounds(0, parse_dtype(expr.dtype).bits - 1)
        ):
            products = [value << by for value in (of(a).min, of(a).max) for by in (of(b).min, of(b).max)]
            found, whole = Bounds(min(products), max(products)), of_dtype(expr.dtype)
            return found if found.within(whole) else whole
        case _:
            return of_dtype(expr.dtype)


_RULES: dict[type[tir.PrimExpr], Callable[[Any, BoundsOf], Bounds]] = {
    tir.Add: lambda e, of: of(e.a).plus(of(e.b)),
    tir.Sub: _difference,
    tir.Mul: lambda e, of: _product(of(e.a), of(e.b)),
    tir.FloorDiv: lambda e, of: _quotients(of(e.a), of(e.b), int.__floordiv__),
    tir.Div: lambda e, of: _quotients(of(e.a), of(e.b), truncdiv) if is_int(e.dtype) else of_dtype(e.dtype),
    tir.FloorMod: lambda e, of: _floormod(of(e.a), of(e.b)),
    tir.Mod: lambda e, of: _truncmod(of(e.a), of(e.b)) if is_int(e.dtype) else of_dtype(e.dtype),
    tir.Min: lambda e, of: Bounds(min(of(e.a).min, of(e.b).min), min(of(e.a).max, of(e.b).max)),
    tir.Max: lambda e, of: Bounds(max(of(e.a).min, of(e.b).min), max(of(e.a).max, of(e.b).max)),
    tir.Select: lambda e, of: of(e.true_value).join(of(e.false_value)),
    tir.Cast: _cast,
    tir.Ramp: _ramp,
    tir.Broadcast: lambda e, of: of(e.value),
    tir.Let: lambda e, of: of(substitute(e.body, {e.var: e.value})),
    tir.Call: _call,
}  # fmt: skip
"""Rules for the bounds of each kind of expression from those of its operands, with integers of unlimited width."""
