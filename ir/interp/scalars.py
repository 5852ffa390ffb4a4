"""Scalar arithmetic, one lane at a time.

A lane of an integer dtype is a Python int inside the dtype's range, of bool a Python bool, of a float dtype a NumPy
scalar of that dtype. Integers wrap around; floats round to nearest even, as in IEEE 754. A vector is the tuple of its
lanes, and an operation on vectors is applied to each lane.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeAlias

import numpy as np

from .. import tir
from ..dtype import int_range, is_bool, is_float, is_int, is_vector, parse_dtype
from ..numpy_dtype import numpy_dtype

Value: TypeAlias = Any
"""An int, bool, NumPy float, Pointer, str, or a tuple of lanes."""
Unary: TypeAlias = Callable[[Value], Value]
Binary: TypeAlias = Callable[[Value, Value], Value]
Function: TypeAlias = Callable[..., Value]


def wrap(value: int, dtype: str) -> int:
    """Wrap `value` to the range of `dtype`."""
    low, high = int_range(dtype)
    return (value - low) % (high - low + 1) + low


def truncdiv(a: int, b: int) -> int:
    """Return the quotient, rounded towards zero."""
    quotient = abs(a) // abs(b)
    return quotient if (a < 0) == (b < 0) else -quotient


def _min(a: Value, b: Value) -> Value:
    """Return the minimum, or NaN if either operand is NaN."""
    return a if a <= b or a != a else b


def _max(a: Value, b: Value) -> Value:
    """Return the maximum, or NaN if either operand is NaN."""
    return a if a >= b or a != a else b


OPERATIONS: dict[type[tir.PrimExpr], tuple[Binary, Binary]] = {
    tir.Add: (lambda a, b: a + b, lambda a, b: a + b),
    tir.Sub: (lambda a, b: a - b, lambda a, b: a - b),
    tir.Mul: (lambda a, b: a * b, lambda a, b: a * b),
    tir.Div: (truncdiv, lambda a, b: a / b),
    tir.Mod: (lambda a, b: a - b * truncdiv(a, b), np.fmod),
    tir.FloorDiv: (lambda a, b: a // b, lambda a, b: np.floor(a / b)),
    tir.FloorMod: (lambda a, b: a % b, lambda a, b: a - np.floor(a / b) * b),
    tir.Min: (_min, _min),
    tir.Max: (_max, _max),
}
"""Each binary operation for integers, and for floats."""

COMPARISONS: dict[type[tir.PrimExpr], Binary] = {
    tir.EQ: lambda a, b: bool(a == b),
    tir.NE: lambda a, b: bool(a != b),
    tir.LT: lambda a, b: bool(a < b),
    tir.LE: lambda a, b: bool(a <= b),
    tir.GT: lambda a, b: bool(a > b),
    tir.GE: lambda a, b: bool(a >= b),
}


def operation(kind: type[tir.PrimExpr], dtype: str) -> Function:
    """Return a binary operation on two values of `dtype`; division by zero raises ZeroDivisionError."""
    if kind in COMPARISONS:
        return lanewise(COMPARISONS[kind], dtype)
    on_integers, on_floats = OPERATIONS[kind]
    return lanewise(on_floats if is_float(dtype) else wrapping(on_integers, dtype), dtype)


def wrapping(function: Function, dtype: str) -> Function:
    """Return `function` with its integer result wrapped around to the range of `dtype`."""
    if is_bool(dtype):
        return lambda *operands: bool(function(*operands))
    low, high = int_range(dtype)

    def wrapped(*operands: int) -> int:
        value = function(*operands)
        return value if low <= value <= high else wrap(value, dtype)

    return wrapped


def lanewise(function: Function, dtype: str) -> Function:
    """Return `function` for values of `dtype`; for a vector dtype, it is applied to each lane."""
    if not is_vector(dtype):
        return function
    return lambda *operands: tuple(map(function, *operands))


def constant(value: float, dtype: str) -> Value:
    """Return a number as a lane of `dtype`."""
    if is_float(dtype):
        return numpy_dtype(dtype).type(value)
    return bool(value) if is_bool(dtype) else int(value)


def cast(source: str, target: str) -> Unary:
    """Return the conversion between two dtypes.

    Integers wrap around. Floats are rounded towards zero when converted to integers; one outside the range saturates,
    and NaN becomes zero. Every nonzero value is true.
    """
    if "handle" in (parse_dtype(source).code, parse_dtype(target).code):
        return reinterpret(source, target)
    if is_bool(target):
        return lanewise(bool, target)
    if is_float(target):
        return lanewise(_to_float(source, target), target)
    if is_int(target):
        return lanewise((_float_to_int if is_float(source) else _int_to_int)(target), target)
    return _same


def _same(value: Value) -> Value:
    return value


def _to_float(source: str, target: str) -> Unary:
    kind = numpy_dtype(target)
    if is_float(source):
        return lambda value: value.astype(kind)
    whole = np.uint64 if parse_dtype(source).code == "uint" else np.int64
    return lambda value: whole(value).astype(kind)  # not through a double, to round only once


def _int_to_int(target: str) -> Unary:
    return lambda value: wrap(value, target)


def _float_to_int(target: str) -> Unary:
    low, high = int_range(target)

    def convert(value: Value) -> int:
        wide = float(value)  # exact; ml_dtypes creates no integers beyond int64
        if wide != wide:
            return 0
        return low if wide <= low else high if wide >= high else int(wide)

    return convert


def reinterpret(source: str, target: str) -> Unary:
    """Return the bit cast between two dtypes; an address is relative to the start of its memory."""
    if parse_dtype(target).code == "handle":
        return _same
    if parse_dtype(source).code == "handle":
        return lambda pointer: pointer.offset
    stored, wanted = numpy_dtype(source), numpy_dtype(target)
    decode = decoder(target)

    def convert(value: Value) -> Value:
        lanes = tuple(map(decode, np.array(value, stored).reshape(-1).view(wanted)))
        return lanes if is_vector(target) else lanes[0]

    return convert


def decoder(dtype: str) -> Unary:
    """Return the conversion of an element of a NumPy array to a lane."""
    if is_float(dtype):
        return _same
    return bool if is_bool(dtype) else int
