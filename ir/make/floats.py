"""Functions of floats, and the limits of dtypes."""

from __future__ import annotations

import builtins
import math
from collections.abc import Callable
from typing import TypeAlias

from .. import tir
from ..base import Span
from ..diagnostics import error
from ..dtype import is_bool, is_float, is_int, parse_dtype, with_lanes_of
from ..promote import Operand, cast, const, dtype_of, largest, match_types, smallest, to_expr
from .operators import (
    add,
    call,
    check_repeated,
    equal,
    greater,
    greater_equal,
    less,
    less_equal,
    logical_and,
    logical_not,
    logical_or,
    not_equal,
    select,
    sub,
)

Pair: TypeAlias = tuple[tir.PrimExpr, tir.PrimExpr]
Comparison: TypeAlias = Callable[[Operand, Operand], tir.PrimExpr]


def power(a: Operand, b: Operand, span: Span | None = None) -> tir.PrimExpr:
    """Return the float `a` to the power of `b` (`T.pow`)."""
    left, right = match_types(a, b, span)
    if parse_dtype(left.dtype).code != "float":
        help = "cast the operands to a float dtype first"
        raise error("E0233", f"T.pow takes floats, not {left.dtype}", left.span or span, help)
    return call("tir.pow", (left, right), left.dtype, span)


def abs(a: Operand, span: Span | None = None) -> tir.PrimExpr:
    """Return the absolute value of `a` (`T.abs`)."""
    a = to_expr(a, span)
    if isinstance(a, tir.IntImm | tir.FloatImm):
        return const(builtins.abs(a.value), a.dtype, span)
    parsed = parse_dtype(a.dtype)
    if parsed.code in ("uint", "bool"):
        return a
    if parsed.code == "int":
        check_repeated("T.abs of an integer", a, span)
        zero = const(0, a.dtype)
        minus = zero if parsed.is_vector else tir.IntImm(a.dtype, 0)
        return select(greater_equal(a, zero), a, sub(minus, a, span), span)
    if parsed.code not in ("float", "bfloat"):
        raise error("E0233", f"T.abs takes numbers, not {a.dtype}", a.span or span)
    return call("tir.fabs", (a,), a.dtype, span)


def _rounding(name: str, meaning: Callable[[float], float]) -> Callable[[Operand, Span | None], tir.PrimExpr]:
    def make(a: Operand, span: Span | None = None) -> tir.PrimExpr:
        a = to_expr(a, span)
        if is_int(a.dtype) or is_bool(a.dtype):
            return a
        if isinstance(a, tir.FloatImm):
            value = math.copysign(meaning(a.value), a.value) if math.isfinite(a.value) else a.value
            return const(value, a.dtype, span)
        return call(f"tir.{name}", (a,), a.dtype, span)

    make.__doc__ = f"`T.{name}` of a float, which keeps the sign of a zero; an integer is returned unchanged."
    return make


floor = _rounding("floor", math.floor)
ceil = _rounding("ceil", math.ceil)
trunc = _rounding("trunc", math.trunc)
round_even = _rounding("round", round)
nearbyint = _rounding("nearbyint", round)


def isnan(a: Operand, span: Span | None = None) -> tir.PrimExpr:
    """Return whether `a` is NaN; false for integers."""
    a = to_expr(a, span)
    truth = with_lanes_of("bool", a.dtype)
    if not is_float(a.dtype):
        return const(False, truth, span)
    if isinstance(a, tir.FloatImm):
        return const(math.isnan(a.value), truth, span)
    if parse_dtype(a.dtype).bits == 16:
        a = cast(a, with_lanes_of("float32", a.dtype), span)
    return call("tir.isnan", (a,), truth, span)


def isinf(a: Operand, span: Span | None = None) -> tir.PrimExpr:
    """Return whether `a` is an infinity; false for integers."""
    a = to_expr(a, span)
    if not is_float(a.dtype):
        return const(False, with_lanes_of("bool", a.dtype), span)
    check_repeated("T.isinf", a, span)
    is_infinite = equal(abs(a, span), infinity(a.dtype, span), span)
    return logical_and(is_infinite, logical_not(isnan(a, span), span), span)


def isfinite(a: Operand, span: Span | None = None) -> tir.PrimExpr:
    """Return whether `a` is neither an infinity nor NaN."""
    a = to_expr(a, span)
    check_repeated("T.isfinite", a, span)
    return logical_and(logical_not(isinf(a, span), span), logical_not(isnan(a, span), span), span)


def logaddexp(a: Operand, b: Operand, span: Span | None = None) -> tir.PrimExpr:
    """Return `log(exp(a) + exp(b))`."""
    left, right = match_types(a, b, span)
    total = add(call("tir.exp", (left,), left.dtype, span), call("tir.exp", (right,), right.dtype, span), span)
    return call("tir.log", (total,), left.dtype, span)


# --- Limits ---------------------------------------------------------------------------------------------------


def min_value(dtype: str, span: Span | None = None) -> tir.PrimExpr:
    """Return the minimum finite value of a scalar dtype."""
    return const(smallest(dtype), dtype, span)


def max_value(dtype: str, span: Span | None = None) -> tir.PrimExpr:
    """Return the maximum finite value of a scalar dtype."""
    return const(largest(dtype), dtype, span)


def least(dtype: str, span: Span | None = None) -> tir.PrimExpr:
    """Return the lower bound of a scalar dtype: -inf if the dtype has infinities."""
    return const(-math.inf, dtype, span) if _has_infinity(dtype) else min_value(dtype, span)


def greatest(dtype: str, span: Span | None = None) -> tir.PrimExpr:
    """Return the upper bound of a scalar dtype: inf if the dtype has infinities."""
    return const(math.inf, dtype, span) if _has_infinity(dtype) else max_value(dtype, span)


def _has_infinity(dtype: str) -> bool:
    parsed = parse_dtype(dtype)
    return parsed.code == "bfloat" or (
        parsed.code == "float" and (parsed.bits > 8 or parsed.name in _TINY_WITH_INFINITY)
    )


_TINY_WITH_INFINITY = ("float8_e3m4", "float8_e4m3", "float8_e5m2")
"""Floats of at most 8 bits that have infinities."""


def first_greatest(x: Pair, y: Pair) -> Pair:
    """Combine two pairs of index and value into the pair with the greater value; NaN counts as the greatest.

    Among equal values or NaNs, the lower index wins; index -1, which denotes no element, loses to every other index.
    """
    return _first_best(greater, greater_equal, x, y)


def first_least(x: Pair, y: Pair) -> Pair:
    """Combine two pairs of index and value into the pair with the lesser value; NaN counts as the least."""
    return _first_best(less, less_equal, x, y)


def _first_best(better: Comparison, as_good: Comparison, x: Pair, y: Pair) -> Pair:
    (at_x, value_x), (at_y, value_y) = x, y
    unsigned = with_lanes_of(f"uint{parse_dtype(at_x.dtype).bits}", at_x.dtype)
    is_better, keeps = better(value_x, value_y), as_good(value_x, value_y)
    if is_float(value_x.dtype):
        is_nan = not_equal(value_x, value_x)
        is_better = logical_or(is_better, logical_and(is_nan, equal(value_y, value_y)))
        keeps = logical_or(keeps, is_nan)
    is_before = less(cast(at_x, unsigned), cast(at_y, unsigned))
    is_first = logical_or(is_better, logical_and(keeps, is_before))
    return select(is_first, at_x, at_y), select(keeps, value_x, value_y)


def infinity(dtype: str, span: Span | None = None) -> tir.PrimExpr:
    """Return infinity; E0233 for dtypes without infinity."""
    if dtype_of(dtype, span).code not in ("float", "bfloat"):
        raise error("E0233", f"{dtype} has no infinity", span)
    return const(math.inf, dtype, span)


def reinterpret(dtype: str, value: Operand, span: Span | None = None) -> tir.PrimExpr:
    """Reinterpret the bits of `value` as `dtype`; E0233 if the numbers of bits differ."""
    value = to_expr(value, span)
    if value.dtype == dtype:
        return value
    source, target = parse_dtype(value.dtype), dtype_of(dtype, span)
    scalable = source.scalable or target.scalable
    same_bits = source.bits * source.lanes == target.bits * target.lanes
    if not (scalable or same_bits or source.bytes * source.lanes == target.bytes * target.lanes):
        raise error("E0233", f"{value.dtype} and {dtype} differ in their number of bits", value.span or span)
    return call("tir.reinterpret", (value,), dtype, span)
