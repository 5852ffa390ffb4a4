"""Rows for elementwise operators of several tensors that broadcast: arithmetic, comparisons, logic, choices."""

from __future__ import annotations

from collections.abc import Callable
from math import inf
from typing import Any

from ....ir import relax
from ....ir.api.relax import op
from ....ir.building.values import const
from ..values import dtype_of, is_floating
from .converter import Convert, Converter
from .elementwise import number

Combine = Callable[[Any, Any], relax.Expr]


def _scaled(c: Converter, value: Any, factor: Any, dtype: str) -> relax.Expr:
    """Return `value * factor` of `dtype`."""
    tensor = c.tensor(value, dtype)
    return tensor if factor == 1 else op.multiply(tensor, c.tensor(factor, dtype))


def _add(c: Converter, a: Any) -> relax.Expr:
    return op.add(c.tensor(a.self, c.dtype), _scaled(c, a.other, a.alpha, c.dtype))


def _subtract(c: Converter, a: Any) -> relax.Expr:
    return op.subtract(c.tensor(a.self, c.dtype), _scaled(c, a.other, a.alpha, c.dtype))


def _reversed_subtract(c: Converter, a: Any) -> relax.Expr:
    return op.subtract(c.tensor(a.other, c.dtype), _scaled(c, a.self, a.alpha, c.dtype))


def _multiply(c: Converter, a: Any) -> relax.Expr:
    return op.multiply(c.tensor(a.self, c.dtype), c.tensor(a.other, c.dtype))


def _divide(c: Converter, a: Any) -> relax.Expr:
    mode = getattr(a, "rounding_mode", None)
    x, y = c.tensor(a.self, c.dtype), c.tensor(a.other, c.dtype)
    if mode == "floor":
        return op.floor_divide(x, y)
    quotient = op.divide(x, y)  # integers are rounded towards zero
    return op.trunc(quotient) if mode == "trunc" and is_floating(c.dtype) else quotient


def _floor_divide(c: Converter, a: Any) -> relax.Expr:
    return op.floor_divide(c.tensor(a.self, c.dtype), c.tensor(a.other, c.dtype))


def _of_result(combine: Combine) -> Convert:
    """Return the row of an operator whose operands have the dtype of its result."""
    return lambda c, a: combine(c.tensor(a.self, c.dtype), c.tensor(a.other, c.dtype))


def _remainder(x: relax.Expr, y: relax.Expr) -> relax.Expr:
    return op.floor_mod(x, y)


def _power(base: str, exponent: str) -> Convert:
    def convert(c: Converter, a: Any) -> relax.Expr:
        x, y = getattr(a, base), getattr(a, exponent)
        if isinstance(y, float) and y == -0.5:
            return op.rsqrt(c.tensor(x, c.dtype))
        if isinstance(y, int) and not is_floating(c.dtype):
            return _whole_power(c.tensor(x, c.dtype), y)
        return op.power(c.tensor(x, c.dtype), c.tensor(y, c.dtype))

    return convert


def _whole_power(x: relax.Expr, exponent: int) -> relax.Expr:
    """Return an integer power, computed by repeated squaring."""
    result: relax.Expr | None = None
    while exponent > 0:
        if exponent % 2:
            result = x if result is None else op.multiply(result, x)
        x, exponent = op.multiply(x, x), exponent // 2
    return result if result is not None else op.ones_like(x)


def _compare(combine: Combine) -> Convert:
    def convert(c: Converter, a: Any) -> relax.Expr:
        x, y = c.promoted(a.self, a.other)
        if dtype_of(x) == "bool":
            x, y = c.cast(x, "int8"), c.cast(y, "int8")
        return combine(x, y)

    return convert


def _logical(combine: Combine) -> Convert:
    return lambda c, a: combine(c.tensor(a.self, "bool"), c.tensor(a.other, "bool"))


def _bitwise(combine: Combine, logical: Combine) -> Convert:
    def convert(c: Converter, a: Any) -> relax.Expr:
        operands = c.tensor(a.self, c.dtype), c.tensor(a.other, c.dtype)
        return logical(*operands) if c.dtype == "bool" else combine(*operands)

    return convert


def _extremum(combine: Combine, logical: Combine) -> Convert:
    def convert(c: Converter, a: Any) -> relax.Expr:
        operands = c.tensor(a.self, c.dtype), c.tensor(a.other, c.dtype)
        return logical(*operands) if c.dtype == "bool" else combine(*operands)

    return convert


def _where(c: Converter, a: Any) -> relax.Expr:
    condition = c.tensor(a.condition, "bool")
    return op.where(condition, c.tensor(a.self, c.dtype), c.tensor(a.other, c.dtype))


def _masked_fill(c: Converter, a: Any) -> relax.Expr:
    dtype = dtype_of(a.self)
    if not isinstance(a.value, int | float):
        return op.where(a.mask, c.tensor(a.value, dtype), a.self)
    fits = abs(a.value) < 2**31 if isinstance(a.value, int) else dtype != "float64"
    value = const(a.value) if fits else const(a.value, dtype)
    return op.where(a.mask, op.full_like(a.self, value), a.self)


def _atan2(c: Converter, a: Any) -> relax.Expr:
    return op.atan2(c.tensor(a.self, c.dtype), c.tensor(a.other, c.dtype))


def _signed_one(x: relax.Expr) -> relax.Expr:
    """Return 1 with the sign of `x`: -1 for -0.0, NaN for NaN."""
    one, zero = number(1, x), number(0, x)
    inverse_sign = op.where(op.less(op.divide(one, x), zero), number(-1, x), one)
    plain = op.where(op.less(x, zero), number(-1, x), one)
    return op.where(op.isnan(x), x, op.where(op.equal(x, zero), inverse_sign, plain))


def _copysign(c: Converter, a: Any) -> relax.Expr:
    x, y = c.tensor(a.self, c.dtype), c.tensor(a.other, c.dtype)
    signed = op.multiply(op.abs(x), _signed_one(y))
    return op.where(op.isnan(y), op.abs(x), signed)


def _hypot(c: Converter, a: Any) -> relax.Expr:
    """Return the square root of the sum of squares; dividing by the larger operand first avoids overflow."""
    x, y = op.abs(c.tensor(a.self, c.dtype)), op.abs(c.tensor(a.other, c.dtype))
    top, low = op.maximum(x, y), op.minimum(x, y)
    ratio = op.divide(low, op.where(op.equal(top, number(0, x)), number(1, x), top))
    length = op.multiply(top, op.sqrt(op.add(number(1, x), op.multiply(ratio, ratio))))
    is_infinite = op.logical_or(op.isinf(x), op.isinf(y))
    return op.where(is_infinite, number(inf, x), length)


def _lerp(c: Converter, a: Any) -> relax.Expr:
    """Return start + weight * (end - start), computed from the nearer end."""
    start, end, weight = (c.tensor(value, c.dtype) for value in (a.self, a.end, a.weight))
    span = op.subtract(end, start)
    near_end = op.subtract(end, op.multiply(span, op.subtract(number(1, weight), weight)))
    near_start = op.add(start, op.multiply(weight, span))
    return op.where(op.less(op.abs(weight), number(0.5, weight)), near_start, near_end)


def _addcmul(c: Converter, a: Any) -> relax.Expr:
    first, second = c.tensor(a.tensor1, c.dtype), c.tensor(a.tensor2, c.dtype)
    return op.add(c.tensor(a.self, c.dtype), _scaled(c, op.multiply(first, second), a.value, c.dtype))


def _addcdiv(c: Converter, a: Any) -> relax.Expr:
    first, second = c.tensor(a.tensor1, c.dtype), c.tensor(a.tensor2, c.dtype)
    return op.add(c.tensor(a.self, c.dtype), _scaled(c, op.divide(first, second), a.value, c.dtype))


def _logaddexp(c: Converter, a: Any) -> relax.Expr:
    return op.log_add_exp(c.tensor(a.self, c.dtype), c.tensor(a.other, c.dtype))


def _isclose(c: Converter, a: Any) -> relax.Expr:
    x, y = c.promoted(a.self, a.other)
    x, y = c.floating(x), c.floating(y)
    allowed = op.add(number(a.atol, x), op.multiply(number(a.rtol, x), op.abs(y)))
    close = op.logical_and(op.isfinite(y), op.less_equal(op.abs(op.subtract(x, y)), allowed))
    same = op.logical_or(op.equal(x, y), close)
    return op.logical_or(same, op.logical_and(op.isnan(x), op.isnan(y))) if a.equal_nan else same


def _both(name: str, convert: Convert, overloads: tuple[str, ...] = ("Tensor", "Scalar")) -> dict[str, Convert]:
    return {f"{name}.{overload}": convert for overload in overloads}


ROWS: dict[str, Convert] = {
    **_both("add", _add),
    **_both("sub", _subtract),
    **_both("rsub", _reversed_subtract),
    **_both("mul", _multiply),
    **_both("div", _divide, ("Tensor", "Scalar", "Tensor_mode", "Scalar_mode")),
    **_both("true_divide", _divide),
    **_both("floor_divide", _floor_divide, ("default", "Scalar")),
    **_both("remainder", _of_result(_remainder), ("Tensor", "Scalar", "Scalar_Tensor")),
    **_both("fmod", _of_result(lambda x, y: op.mod(x, y))),
    "pow.Tensor_Tensor": _power("self", "exponent"),
    "pow.Tensor_Scalar": _power("self", "exponent"),
    "pow.Scalar": _power("self", "exponent"),
    "float_power.Tensor_Tensor": _power("self", "exponent"),
    **_both("eq", _compare(lambda x, y: op.equal(x, y))),
    **_both("ne", _compare(lambda x, y: op.not_equal(x, y))),
    **_both("lt", _compare(lambda x, y: op.less(x, y))),
    **_both("le", _compare(lambda x, y: op.less_equal(x, y))),
    **_both("gt", _compare(lambda x, y: op.greater(x, y))),
    **_both("ge", _compare(lambda x, y: op.greater_equal(x, y))),
    "logical_and.default": _logical(lambda x, y: op.logical_and(x, y)),
    "logical_or.default": _logical(lambda x, y: op.logical_or(x, y)),
    "logical_xor.default": _logical(lambda x, y: op.logical_xor(x, y)),
    **_both("bitwise_and", _bitwise(lambda x, y: op.bitwise_and(x, y), lambda x, y: op.logical_and(x, y))),
    **_both("bitwise_or", _bitwise(lambda x, y: op.bitwise_or(x, y), lambda x, y: op.logical_or(x, y))),
    **_both("bitwise_xor", _bitwise(lambda x, y: op.bitwise_xor(x, y), lambda x, y: op.logical_xor(x, y))),
    **_both("__and__", _bitwise(lambda x, y: op.bitwise_and(x, y), lambda x, y: op.logical_and(x, y))),
    **_both("__or__", _bitwise(lambda x, y: op.bitwise_or(x, y), lambda x, y: op.logical_or(x, y))),
    **_both("__xor__", _bitwise(lambda x, y: op.bitwise_xor(x, y), lambda x, y: op.logical_xor(x, y))),
    "bitwise_left_shift.Tensor": _of_result(lambda x, y: op.left_shift(x, y)),
    "bitwise_right_shift.Tensor": _of_result(lambda x, y: op.right_shift(x, y)),
    "bitwise_left_shift.Tensor_Scalar": _of_result(lambda x, y: op.left_shift(x, y)),
    "bitwise_right_shift.Tensor_Scalar": _of_result(lambda x, y: op.right_shift(x, y)),
    **_both("__lshift__", _of_result(lambda x, y: op.left_shift(x, y))),
    **_both("__rshift__", _of_result(lambda x, y: op.right_shift(x, y))),
    "maximum.default": _extremum(lambda x, y: op.maximum(x, y), lambda x, y: op.logical_or(x, y)),
    "minimum.default": _extremum(lambda x, y: op.minimum(x, y), lambda x, y: op.logical_and(x, y)),
    "max.other": _extremum(lambda x, y: op.maximum(x, y), lambda x, y: op.logical_or(x, y)),
    "min.other": _extremum(lambda x, y: op.minimum(x, y), lambda x, y: op.logical_and(x, y)),
    **_both("where", _where, ("self", "ScalarSelf", "ScalarOther", "Scalar")),
    **_both("masked_fill", _masked_fill),
    "atan2.default": _atan2,
    "copysign.Tensor": _copysign,
    "copysign.Scalar": _copysign,
    "hypot.default": _hypot,
    **_both("lerp", _lerp),
    "addcmul.default": _addcmul,
    "addcdiv.default": _addcdiv,
    "logaddexp.default": _logaddexp,
    "isclose.default": _isclose,
}
