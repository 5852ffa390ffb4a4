"""Arithmetic on lanes. A value is an array, or a scalar of `ir.interp.scalars` if it is the same in all lanes.

Arrays have the NumPy dtype of their value, so integers wrap around and floats round as scalars do. If no NumPy operation
gives the same bits, the scalar function is applied to each element.
"""

# NumPy's array types are incomplete for strict checking: isinstance narrows to arrays of unknown elements.
# pyright: reportUnknownVariableType=false, reportUnknownArgumentType=false, reportUnknownMemberType=false

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any, TypeAlias

import numpy as np

from ... import tir
from ...dtype import is_bool, is_float, is_int, parse_dtype
from ...numpy_dtype import float_to_int, numpy_dtype
from .. import intrinsics, scalars
from ..memory import Array
from ..scalars import Function

LaneValue: TypeAlias = Any
"""A scalar, or an array of one value per lane that broadcasts to the grid of lanes."""


def _truncdiv(a: LaneValue, b: LaneValue) -> LaneValue:
    quotient = np.floor_divide(a, b)
    return quotient + ((a - quotient * b != 0) & ((a < 0) != (b < 0)))


def _truncmod(a: LaneValue, b: LaneValue) -> LaneValue:
    return a - b * _truncdiv(a, b)


def _min(a: LaneValue, b: LaneValue) -> LaneValue:
    return np.where((a <= b) | (a != a), a, b)


def _max(a: LaneValue, b: LaneValue) -> LaneValue:
    return np.where((a >= b) | (a != a), a, b)


_INTEGERS: dict[type[tir.PrimExpr], Function] = {
    tir.Div: _truncdiv,
    tir.Mod: _truncmod,
    tir.FloorDiv: np.floor_divide,
    tir.FloorMod: np.remainder,
    tir.Min: np.minimum,
    tir.Max: np.maximum,
}
_FLOATS: dict[type[tir.PrimExpr], Function] = {tir.Min: _min, tir.Max: _max}
_COMPARISONS: dict[type[tir.PrimExpr], Function] = {
    tir.EQ: np.equal,
    tir.NE: np.not_equal,
    tir.LT: np.less,
    tir.LE: np.less_equal,
    tir.GT: np.greater,
    tir.GE: np.greater_equal,
}


def typed(value: LaneValue, dtype: str) -> LaneValue:
    """Return a value of `dtype` as a NumPy value, so that operations on it keep the dtype."""
    return value if isinstance(value, np.ndarray) else numpy_dtype(dtype).type(value)


def binary(kind: type[tir.PrimExpr], dtype: str) -> Function:
    """Return a binary operation on operands of `dtype`, at least one of them an array. The divisor must not be zero."""
    if kind in _COMPARISONS:
        return _on_typed(_COMPARISONS[kind], dtype)
    on_integers, on_floats = scalars.OPERATIONS[kind]
    if is_float(dtype):
        return _on_typed(_FLOATS.get(kind, on_floats), dtype)
    if is_bool(dtype):
        return elementwise(scalars.operation(kind, dtype), (dtype, dtype), dtype)
    return _on_typed(_INTEGERS.get(kind, on_integers), dtype)


def _on_typed(function: Function, dtype: str) -> Function:
    def evaluate(a: LaneValue, b: LaneValue) -> LaneValue:
        return function(typed(a, dtype), typed(b, dtype))

    return evaluate


def elementwise(function: Function, dtypes: tuple[str, ...], result: str) -> Function:
    """Return the scalar `function`, applied to each element of operands of `dtypes`."""
    decoders = [scalars.decoder(dtype) for dtype in dtypes]

    def apply(*operands: LaneValue) -> Array:
        arrays = np.broadcast_arrays(*map(typed, operands, dtypes))
        found = np.empty(arrays[0].shape, numpy_dtype(result))
        flat = found.reshape(-1)
        parts = [map(decode, array.reshape(-1)) for decode, array in zip(decoders, arrays, strict=True)]
        for place, scalar_operands in enumerate(zip(*parts, strict=True)):
            flat[place] = function(*scalar_operands)
        return found

    return apply


def cast(source: str, target: str) -> Callable[[Array], Array]:
    """Return the conversion of arrays between two dtypes, equal to `scalars.cast`."""
    kind = numpy_dtype(target)
    if is_bool(target):
        return lambda array: array.astype(np.bool_)
    if is_float(target) and is_float(source):
        return lambda array: array.astype(kind)
    if is_float(target):
        whole = np.uint64 if parse_dtype(source).code == "uint" else np.int64
        return lambda array: array.astype(whole).astype(kind)
    if is_int(target) and not is_float(source):
        return lambda array: array.astype(kind)
    return (
        elementwise(scalars.cast(source, target), (source,), target)
        if not is_int(target)
        else partial(float_to_int, dtype=target)
    )


def _shift_left(a: LaneValue, b: LaneValue) -> LaneValue:
    return np.left_shift(a, b)


def _shift_right(a: LaneValue, b: LaneValue) -> LaneValue:
    return np.right_shift(a, b)


_BITS: dict[str, Function] = {
    "bitwise_and": np.bitwise_and,
    "bitwise_or": np.bitwise_or,
    "bitwise_xor": np.bitwise_xor,
    "bitwise_not": np.invert,
    "shift_left": _shift_left,
    "shift_right": _shift_right,
}
EXACT = (
    "sqrt",
    "floor",
    "ceil",
    "trunc",
    "fabs",
    "nearbyint",
    "copysign",
    "exp",
    "exp2",
    "log",
    "tanh",
    "rsqrt",
    "sigmoid",
)
"""Float functions for which NumPy gives the same bits for arrays as for scalars; a test compares them."""
_TESTS: dict[str, Function] = {"isnan": np.isnan, "isinf": np.isinf, "isfinite": np.isfinite}


def function(name: str, dtypes: tuple[str, ...], result: str, scalar: Function) -> Function:
    """Return the intrinsic `tir.<name>`, whose scalar form is `scalar`, for operands of which some are arrays."""
    dtype = dtypes[0]
    known: Function | None = None
    if name in _TESTS and is_float(dtype):
        known = _TESTS[name]
    elif is_float(dtype) and name in EXACT and parse_dtype(dtype).name in ("float32", "float64"):
        known = _rows(name, dtype)
    elif is_int(dtype) and set(dtypes) == {result}:
        known = _BITS.get(name)
    if known is None:
        return elementwise(scalar, dtypes, result)
    return lambda *operands: known(*map(typed, operands, dtypes))


def _rows(name: str, dtype: str) -> Function:
    one = numpy_dtype(dtype).type(1)

    def rsqrt(value: LaneValue) -> LaneValue:
        return one / np.sqrt(value)

    def sigmoid(value: LaneValue) -> LaneValue:
        return one / (one + np.exp(-value))

    return {"rsqrt": rsqrt, "sigmoid": sigmoid}.get(name) or intrinsics.FLOAT[name]
