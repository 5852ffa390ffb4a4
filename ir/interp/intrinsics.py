"""The meaning of intrinsics that only compute: from lanes to a lane.

Each row is a function of the operands' lanes. Floats are computed in the dtype of the first operand, by NumPy where
it has the function, else in double precision. What an intrinsic takes, and its dtype, stands in `tvms.ir.ops.tir`.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Callable
from fractions import Fraction

import numpy as np

from ..dtype import parse_dtype
from .scalars import Function, Value


def _rounded(value: Value) -> Value:
    """To the nearest whole number, halves away from zero (`llvm.round`)."""
    whole = np.trunc(value)
    return whole + np.copysign(type(value)(abs(value - whole) >= 0.5), value)


def _in_double(function: Callable[..., float]) -> Function:
    """Compute in double precision and round to the dtype of the first operand; NaN outside the domain."""

    def compute(*operands: Value) -> Value:
        try:
            result = function(*map(float, operands))
        except ValueError:
            result = math.nan
        except OverflowError:
            result = math.inf
        return np.float64(result).astype(operands[0].dtype)

    return compute


def _fused(a: float, b: float, c: float) -> float:
    """`a * b + c`, rounded once."""
    if not all(map(math.isfinite, (a, b, c))):
        return a * b + c
    return float(Fraction(a) * Fraction(b) + Fraction(c))


def _sigmoid(value: Value) -> Value:
    one = type(value)(1)
    return one / (one + np.exp(-value))


FLOAT: dict[str, Function] = {
    **{
        name: getattr(np, name)
        for name in ("exp", "exp2", "log", "log2", "log10", "log1p", "sqrt", "tan", "cos", "sin")
    },
    **{name: getattr(np, name) for name in ("tanh", "cosh", "sinh", "floor", "ceil", "trunc", "hypot", "copysign")},
    "exp10": _in_double(lambda value: math.pow(10.0, value)),
    "rsqrt": lambda value: type(value)(1) / np.sqrt(value),
    "atan": np.arctan,
    "acos": np.arccos,
    "asin": np.arcsin,
    "atanh": np.arctanh,
    "acosh": np.arccosh,
    "asinh": np.arcsinh,
    "atan2": np.arctan2,
    "erf": _in_double(math.erf),
    "sigmoid": _sigmoid,
    "pow": np.power,
    "fmod": np.fmod,
    "nextafter": np.nextafter,
    "ldexp": lambda value, exponent: np.ldexp(value, exponent).astype(value.dtype),
    "round": _rounded,
    "nearbyint": np.rint,
    "fabs": abs,
    "fma": _in_double(_fused),
}
"""By name, for floats."""


def _power(base: int, exponent: int) -> int:
    return base**exponent if exponent >= 0 else int(base**exponent)


def q_multiply_shift(x: int, y: int, q: int, shift: int) -> int:
    """Multiply fixed-point numbers with `q` fractional bits and shift; round to nearest, halves upwards."""
    return q_multiply_shift_per_axis(x, y, max(shift, 0), max(-shift, 0), q)


def q_multiply_shift_per_axis(x: int, y: int, left: int, right: int, q: int, *_required: int) -> int:
    """As `q_multiply_shift`, with the shifts to the left and to the right given apart."""
    total = q + right
    return ((x << left) * y + (1 << (total - 1))) >> total


INTEGER: dict[str, Function] = {
    "bitwise_and": operator.and_,
    "bitwise_or": operator.or_,
    "bitwise_xor": operator.xor,
    "bitwise_not": operator.invert,
    "shift_left": operator.lshift,
    "shift_right": operator.rshift,
    "pow": _power,
    "fabs": abs,
    **dict.fromkeys(("floor", "ceil", "trunc", "round", "nearbyint"), lambda value: value),
    "fma": lambda a, b, c: a * b + c,
    "q_multiply_shift": q_multiply_shift,
    "q_multiply_shift_per_axis": q_multiply_shift_per_axis,
}
"""By name, for integers and bool, before wrapping around. Shifts to the right keep the sign of signed integers."""


PREDICATE: dict[str, Function] = {
    "isnan": lambda value: bool(np.isnan(value)),
    "isinf": lambda value: bool(np.isinf(value)),
    "isfinite": lambda value: bool(np.isfinite(value)),
    "isnullptr": lambda value: value is None or value == 0,
}
"""By name, from a lane to a bool."""


def popcount(dtype: str) -> Function:
    """Return the count of one bits in a value of `dtype`."""
    mask = (1 << parse_dtype(dtype).bits) - 1
    return lambda value: (value & mask).bit_count()


def clz(dtype: str) -> Function:
    """Return the count of zero bits before the first one bit of a value of `dtype`."""
    bits = parse_dtype(dtype).bits
    return lambda value: bits - (value & ((1 << bits) - 1)).bit_length()
