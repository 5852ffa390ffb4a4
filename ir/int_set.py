"""Intervals of integers with symbolic bounds, and the range of an expression whose variables range over intervals.

The rules are TVM's (`src/arith/int_set.cc`), so that regions found here have the same form as TVM's.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TypeAlias

from msgspec import Struct

from . import make, tir
from .dtype import int_range, is_bool, is_int, parse_dtype
from .linear import difference, simplify
from .visit import walk

End: TypeAlias = tir.PrimExpr | None


class Interval(Struct, frozen=True):
    """The integers from `min` to `max`, inclusive; None means unbounded."""

    min: End
    max: End

    @property
    def is_point(self) -> bool:
        """Whether the interval is known to hold a single value."""
        if self.min is None or self.max is None:
            return False
        return self.min is self.max or difference(self.min, self.max) == 0


EVERYTHING = Interval(None, None)
Domains: TypeAlias = Mapping[tir.Var, Interval]


def point(value: tir.PrimExpr) -> Interval:
    """Return the interval that holds only `value`."""
    return Interval(value, value)


def from_range(start: tir.PrimExpr, extent: tir.PrimExpr) -> Interval:
    """Return the interval of `extent` integers from `start`."""
    if isinstance(extent, tir.IntImm) and extent.value == 1:
        return point(start)
    return Interval(start, make.sub(make.add(extent, start), 1))


def union(a: Interval, b: Interval) -> Interval:
    """Return the smallest interval that contains both."""
    return Interval(_lesser(a.min, b.min), _greater(a.max, b.max))


def intersect(a: Interval, b: Interval) -> Interval:
    """Return the intersection of both."""
    least = a.min if b.min is None else b.min if a.min is None else _greater(a.min, b.min)
    most = a.max if b.max is None else b.max if a.max is None else _lesser(a.max, b.max)
    return Interval(least, most)


def touch(a: Interval, b: Interval) -> bool:
    """Whether the intersection of `a` and `b` is known to be empty."""

    def reaches(low: End, high: End) -> bool:
        return low is None or high is None or is_at_most(low, make.add(high, 1))

    return reaches(a.min, b.max) and reaches(b.min, a.max)


def _lesser(a: End, b: End) -> End:
    if a is None or b is None or not _are_comparable(a, b):
        return None
    if is_at_most(a, b):
        return simplify(a)
    return simplify(b) if is_at_most(b, a) else make.minimum(simplify(a), simplify(b))


def _greater(a: End, b: End) -> End:
    if a is None or b is None or not _are_comparable(a, b):
        return None
    if is_at_most(b, a):
        return simplify(a)
    return simplify(b) if is_at_most(a, b) else make.maximum(simplify(a), simplify(b))


def _are_comparable(a: tir.PrimExpr, b: tir.PrimExpr) -> bool:
    """Return whether a minimum or maximum of both keeps their values: an operand beside an unsigned one may wrap."""
    return a.dtype == b.dtype or not (_wraps(a.dtype) or _wraps(b.dtype))


def is_at_most(a: tir.PrimExpr, b: tir.PrimExpr) -> bool:
    """Whether `a <= b` is known, from a constant difference or from minima and maxima."""
    distance = difference(a, b)
    if distance is not None:
        return distance <= 0
    if isinstance(a, tir.Min | tir.Max) and isinstance(b, type(a)) and difference(a.b, b.b) == 0:
        return is_at_most(a.a, b.a)
    if isinstance(a, tir.Min):
        return is_at_most(a.a, b) or is_at_most(a.b, b)
    return isinstance(b, tir.Max) and (is_at_most(a, b.a) or is_at_most(a, b.b))


def cover(value: Interval, extent: tir.PrimExpr) -> tir.Range:
    """Return the range that `value` spans, or `[0, extent)` if it is unbounded (TVM: `IntSet.CoverRange`).

    The range of an empty interval has the extent 0, as that of a branch that never executes.
    """
    if value.min is not None and value.is_point:
        return tir.Range(value.min, make.const(1, value.min.dtype))
    if value.min is None or value.max is None:
        return tir.Range(make.const(0, extent.dtype), extent)
    size = simplify(make.sub(make.add(value.max, 1), value.min))
    is_empty = isinstance(size, tir.IntImm) and size.value < 0
    return tir.Range(simplify(value.min), make.const(0, size.dtype) if is_empty else size)


def eval_set(value: Interval, domains: Domains) -> Interval:
    """Return the interval that `value` spans when variables range over their `domains`."""
    least = None if value.min is None else evaluate(value.min, domains).min
    most = None if value.max is None else evaluate(value.max, domains).max
    return Interval(least, most)


def evaluate(expr: tir.PrimExpr, domains: Domains, depth: int = 0) -> Interval:
    """Return the values that `expr` takes when variables range over their `domains`."""
    match expr:
        case tir.IntImm():
            return point(expr)
        case tir.Var():
            return _evaluate_var(expr, domains, depth)
        case tir.BinaryOp():
            a, b = evaluate(expr.a, domains, depth), evaluate(expr.b, domains, depth)
            if a.min is a.max is expr.a and b.min is b.max is expr.b:
                return point(expr)
            if isinstance(expr, tir.Add | tir.Sub | tir.Mul) and _wraps(expr.dtype):
                return EVERYTHING
            return _combine(type(expr), a, b, expr.dtype)
        case tir.Select():
            return union(evaluate(expr.false_value, domains, depth), evaluate(expr.true_value, domains, depth))
        case tir.Cast():
            return _evaluate_cast(expr, evaluate(expr.value, domains, depth))
        case tir.Ramp():
            return _evaluate_ramp(expr, domains, depth)
        case tir.Broadcast():
            return evaluate(expr.value, domains, depth)
        case tir.BufferLoad() if (is_int(expr.dtype) or is_bool(expr.dtype)) and not _uses(expr.indices, domains):
            return point(expr)
        case _:
            return EVERYTHING


def _evaluate_var(var: tir.Var, domains: Domains, depth: int) -> Interval:
    domain = domains.get(var)
    if domain is None or domain.min is domain.max is var:
        return point(var)
    if depth >= len(domains):
        return domain
    least = None if domain.min is None else evaluate(domain.min, domains, depth + 1).min
    most = None if domain.max is None else evaluate(domain.max, domains, depth + 1).max
    return Interval(least, most)


def _evaluate_cast(cast: tir.Cast, inner: Interval) -> Interval:
    """Return the interval of a cast; a cast that may wrap bounds nothing, except of a value that does not change."""
    is_point = inner.min is not None and inner.min is inner.max
    low, high = int_range(cast.dtype) if is_bool(cast.dtype) or is_int(cast.dtype) else (0, 0)
    constants = [end.value for end in (inner.min, inner.max) if isinstance(end, tir.IntImm)]
    if is_bool(cast.dtype) and not (is_point and all(low <= value <= high for value in constants)):
        return Interval(make.const(0, cast.dtype), make.const(1, cast.dtype))
    if is_int(cast.dtype) and not all(low <= value <= high for value in constants):
        return EVERYTHING
    if _wraps(cast.dtype) and not all(_fits(end, cast.dtype, is_point) for end in (inner.min, inner.max)):
        return EVERYTHING
    least, most = [None if end is None else make.cast(end, cast.dtype) for end in (inner.min, inner.max)]
    return Interval(least, least if is_point else most)


def _wraps(dtype: str) -> bool:
    """Return whether arithmetic in `dtype` may wrap. That of loop variables and sizes, in int32 and int64, does not."""
    kind = parse_dtype(dtype)
    return kind.code == "uint" or (kind.code == "int" and kind.bits < 32)


def _fits(end: End, dtype: str, is_point: bool) -> bool:
    """Return whether the cast of the end of an interval to `dtype` is an end of the cast interval."""
    if end is None:
        return False
    low, high = int_range(dtype)
    if isinstance(end, tir.IntImm):
        return low <= end.value <= high
    return is_point or (is_int(end.dtype) and low <= int_range(end.dtype)[0] and int_range(end.dtype)[1] <= high)


def _evaluate_ramp(expr: tir.Ramp, domains: Domains, depth: int) -> Interval:
    base = evaluate(expr.base, domains, depth)
    if not isinstance(expr.stride, tir.IntImm):
        return EVERYTHING
    dtype, zero = expr.base.dtype, make.const(0, expr.base.dtype)
    last = None
    if isinstance(expr.lanes, tir.IntImm):
        last = make.const(expr.stride.value * (expr.lanes.value - 1), dtype)
    steps = Interval(zero, last) if expr.stride.value > 0 else Interval(last, zero)
    return _combine(tir.Add, base, steps, dtype)


def _uses(indices: Sequence[tir.PrimExpr], domains: Domains) -> bool:
    return any(isinstance(node, tir.Var) and node in domains for index in indices for node in walk(index))


_Operator: TypeAlias = "Callable[[tir.PrimExpr, tir.PrimExpr], tir.PrimExpr]"
_OPERATORS: dict[type[tir.BinaryOp], _Operator] = {
    tir.Add: make.add, tir.Sub: make.sub, tir.Mul: make.mul, tir.Div: make.div, tir.Mod: make.truncmod,
    tir.FloorDiv: make.floordiv, tir.FloorMod: make.floormod, tir.Min: make.minimum, tir.Max: make.maximum,
    tir.EQ: make.equal, tir.NE: make.not_equal, tir.LT: make.less, tir.LE: make.less_equal, tir.GT: make.greater,
    tir.GE: make.greater_equal, tir.And: make.logical_and, tir.Or: make.logical_or,
}  # fmt: skip


def _combine(kind: type[tir.BinaryOp], a: Interval, b: Interval, dtype: str) -> Interval:
    operator = _OPERATORS[kind]
    if a.min is not None and a.min is a.max and b.min is not None and b.min is b.max:
        return point(operator(a.min, b.min))
    if kind is tir.Add:
        return Interval(_both(operator, a.min, b.min), _both(operator, a.max, b.max))
    if kind is tir.Sub:
        return Interval(_both(operator, a.min, b.max), _both(operator, a.max, b.min))
    if kind is tir.Min or kind is tir.Max:
        return _combine_choice(kind, operator, a, b)
    if is_bool(dtype):
        return Interval(make.const(0, dtype), make.const(1, dtype))
    if kind is tir.Mul and a.min is a.max:
        a, b = b, a
    if b.min is None or b.min is not b.max:
        return EVERYTHING
    if kind in (tir.Mul, tir.Div, tir.FloorDiv):
        return _combine_scaling(kind, operator, a, b.min)
    return _combine_remainder(kind, a, b.min)


def _both(operator: _Operator, a: End, b: End) -> End:
    return None if a is None or b is None else operator(a, b)


def _combine_choice(kind: type[tir.BinaryOp], operator: _Operator, a: Interval, b: Interval) -> Interval:
    """Return the interval of a minimum or maximum. A minimum is bounded above if one operand is, below only if both are."""

    def one(x: End, y: End) -> End:
        return y if x is None else x if y is None else operator(x, y)

    if kind is tir.Min:
        return Interval(_both(operator, a.min, b.min), one(a.max, b.max))
    return Interval(one(a.min, b.min), _both(operator, a.max, b.max))


def _combine_scaling(kind: type[tir.BinaryOp], operator: _Operator, a: Interval, by: tir.PrimExpr) -> Interval:
    if isinstance(by, tir.IntImm):
        if by.value == 0:
            return point(by) if kind is tir.Mul else EVERYTHING
        if by.value == 1:
            return a
    least, most = [None if end is None else operator(end, by) for end in (a.min, a.max)]
    if (isinstance(by, tir.IntImm) and by.value > 0) or isinstance(by, tir.SizeVar):
        return Interval(least, most)
    if isinstance(by, tir.IntImm):
        return Interval(most, least)
    if least is None or most is None:
        return EVERYTHING
    is_positive = make.greater_equal(by, make.const(0, by.dtype))
    return Interval(make.select(is_positive, least, most), make.select(is_positive, most, least))


def _combine_remainder(kind: type[tir.BinaryOp], a: Interval, by: tir.PrimExpr) -> Interval:
    if isinstance(by, tir.IntImm) and by.value == 0:
        return EVERYTHING
    if kind is tir.Mod:
        return _combine_truncated_remainder(a, by)
    if not isinstance(by, tir.IntImm):
        bound = make.sub(by if isinstance(by, tir.SizeVar) else make.abs(by), 1)
        least = make.const(0, by.dtype) if isinstance(by, tir.SizeVar) else make.neg(bound)
        return Interval(least, bound)
    if by.value > 0 and a.min is not None and a.max is not None:
        first, last = make.floordiv(a.min, by), make.floordiv(a.max, by)
        if difference(first, last) == 0:
            whole = make.mul(by, first)
            return Interval(make.sub(a.min, whole), make.sub(a.max, whole))
    bound = make.const(abs(by.value) - 1, by.dtype)
    return Interval(make.const(0, by.dtype) if by.value > 0 else make.neg(bound), bound)


def _combine_truncated_remainder(a: Interval, by: tir.PrimExpr) -> Interval:
    """Return the interval of a remainder with the sign of its dividend `a`."""
    zero, size = make.const(0, by.dtype), by if isinstance(by, tir.SizeVar) else make.abs(by)
    bound = make.const(abs(by.value) - 1, by.dtype) if isinstance(by, tir.IntImm) else make.sub(size, 1)
    is_positive = isinstance(a.min, tir.SizeVar) or (isinstance(a.min, tir.IntImm) and a.min.value >= 0)
    is_negative = isinstance(a.max, tir.IntImm) and a.max.value <= 0
    return Interval(zero if is_positive else make.neg(bound), zero if is_negative else bound)
