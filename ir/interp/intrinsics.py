"""Evaluation of arithmetic intrinsics, lane by lane.

Each row is a function of the operands' lanes. Floats are computed in the dtype of the first operand by NumPy if it
has the function, otherwise in double precision. `tvms.ir.ops.tir` declares operands and dtypes of intrinsics.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction

import numpy as np

from ..dtype import parse_dtype
from .scalars import Binary, Function, Unary, Value


def _in_double(function: Callable[..., float]) -> Function:
    """Compute in double precision and round to the dtype of the first operand; NaN outside the domain, inf on overflow."""

    def compute(*operands: Value) -> Value:
        try:
            result = function(*map(float, operands))
        except ValueError:
            result = math.nan
        except OverflowError:
            result = math.inf
        return np.float64(result).astype(operands[0].dtype)

    return compute


def _fused(a: Value, b: Value, c: Value) -> Value:
    """Return `a * b + c`, rounded once."""
    x, y, z = float(a), float(b), float(c)
    total = Fraction(x) * Fraction(y) + Fraction(z) if all(map(math.isfinite, (x, y, z))) else 0
    if total == 0:  # infinities, NaN, or a zero: float64 gets the sign right
        return np.float64(x * y + z).astype(a.dtype)
    try:
        near = float(total)
    except OverflowError:
        near = math.inf if total > 0 else -math.inf
    if a.dtype.itemsize < 8 and math.isfinite(near) and Fraction(near) != total and _last_bit(near) == 0:
        # round to odd, so that the second rounding sees no false tie
        near = math.nextafter(near, math.copysign(math.inf, total - Fraction(near)))
    return np.float64(near).astype(a.dtype)


MOST_EXPONENT = 1 << 30
"""An exponent that turns every float into zero or infinity."""


def _last_bit(value: float) -> int:
    return int(np.float64(value).view(np.uint64)) & 1


def _scaled(value: Value, exponent: int) -> Value:
    return np.ldexp(value, max(-MOST_EXPONENT, min(exponent, MOST_EXPONENT))).astype(value.dtype)


def _same(value: Value) -> Value:
    return value


def _exp10(value: float) -> float:
    return math.pow(10.0, value)


_NUMPY_NAMES = {"atan": "arctan", "acos": "arccos", "asin": "arcsin", "atanh": "arctanh", "acosh": "arccosh"} | {
    "asinh": "arcsinh", "atan2": "arctan2", "pow": "power", "nearbyint": "rint", "round": "rint", "fabs": "abs"
}  # fmt: skip
_SAME_NAMES = (
    "exp", "exp2", "log", "log2", "log10", "log1p", "sqrt", "sin", "cos", "tan", "sinh", "cosh", "tanh",
    "floor", "ceil", "trunc", "hypot", "copysign", "nextafter", "fmod",
)  # fmt: skip
_OWN: dict[str, Unary] = {
    "rsqrt": lambda value: type(value)(1) / np.sqrt(value),
    "sigmoid": lambda value: type(value)(1) / (type(value)(1) + np.exp(-value)),
}

FLOAT: dict[str, Function] = {
    **{name: getattr(np, name) for name in _SAME_NAMES},
    **{name: getattr(np, numpy_name) for name, numpy_name in _NUMPY_NAMES.items()},
    **_OWN,
    "exp10": _in_double(_exp10),
    "erf": _in_double(math.erf),
    "fma": _fused,
    "ldexp": _scaled,
}
"""Functions of floats by name. `fma` rounds once; `round` and `nearbyint` round halves to even, as NumPy does."""


NEGATIVE_SHIFT = "a shift by a negative count"
FIXED_POINT_SHIFT = "a fixed-point shift that is negative or too large"
WORD_BITS = 32
"""Number of bits of a fixed-point number."""


def _left(value: int, count: int) -> int:
    """Shift to the left; a count of 64 or more gives 0 for every dtype."""
    return _checked(value, count) << count if count < 64 else 0


def _right(value: int, count: int) -> int:
    """Shift to the right; a count of all bits gives copies of the sign."""
    return _checked(value, count) >> count


def _checked(value: int, count: int) -> int:
    if count < 0:
        raise ValueError(NEGATIVE_SHIFT)
    return value


def q_multiply_shift(x: int, y: int, q: int, shift: int) -> int:
    """Multiply fixed-point numbers with `q` fractional bits and shift; round to nearest, halves up."""
    return q_multiply_shift_per_axis(x, y, max(shift, 0), max(-shift, 0), q)


def q_multiply_shift_per_axis(x: int, y: int, left: int, right: int, q: int, *_required: int) -> int:
    """Like `q_multiply_shift`, with separate shifts to the left and to the right."""
    total = q + right
    if not (0 <= left < WORD_BITS and right >= 0 and 1 <= total < 63):
        raise ValueError(FIXED_POINT_SHIFT)
    return ((x << left) * y + (1 << (total - 1))) >> total


_INTEGER_UNARY: dict[str, Unary] = {
    "bitwise_not": lambda value: ~value,
    "fabs": abs,
    **dict.fromkeys(("floor", "ceil", "trunc", "round", "nearbyint"), _same),
}
_INTEGER_BINARY: dict[str, Binary] = {
    "bitwise_and": lambda a, b: a & b,
    "bitwise_or": lambda a, b: a | b,
    "bitwise_xor": lambda a, b: a ^ b,
    "shift_left": _left,
    "shift_right": _right,
    "pow": lambda a, b: pow(a, b, 1 << 64) if b >= 0 else int(a**b),
}
INTEGER: dict[str, Function] = {
    **_INTEGER_UNARY,
    **_INTEGER_BINARY,
    "q_multiply_shift": q_multiply_shift,
    "q_multiply_shift_per_axis": q_multiply_shift_per_axis,
}
"""Functions of integers and bool by name, before wrapping around. Right shifts keep the sign of signed integers."""

PREDICATE: dict[str, Unary] = {
    "isnan": lambda value: bool(np.isnan(value)),
    "isinf": lambda value: bool(np.isinf(value)),
    "isfinite": lambda value: bool(np.isfinite(value)),
    "isnullptr": lambda value: value is None or value == 0,
}
"""Predicates by name, from a lane to a bool."""


def popcount(dtype: str) -> Callable[[int], int]:
    """Return the count of one bits in a value of `dtype`."""
    mask = (1 << parse_dtype(dtype).bits) - 1
    return lambda value: (value & mask).bit_count()


def clz(dtype: str) -> Callable[[int], int]:
    """Return the count of zero bits before the first one bit of a value of `dtype`."""
    bits = parse_dtype(dtype).bits
    return lambda value: bits - (value & ((1 << bits) - 1)).bit_length()
