"""Rows for conversions of dtypes."""

from __future__ import annotations

from typing import Any

from ....ir import relax
from ....ir.api.relax import op
from ....ir.building.values import const
from ....ir.numpy_dtype import numpy_dtype
from ..values import dims_of, dtype_of, is_floating
from .converter import Converter
from .rows import Family
from .tensors import dtype_name

ROWS = Family()


@ROWS.row("Cast", since=6)
def _cast(c: Converter, a: Any) -> relax.Expr:
    return converted(c, a.input, dtype_name(a.to), bool(getattr(a, "saturate", 1)), getattr(a, "round_mode", "up"))


@ROWS.row("Cast")
def _cast_by_name(c: Converter, a: Any) -> relax.Expr:
    """Before version 6, the dtype is a text."""
    return c.cast(a.input, dtype_name(getattr(_kinds(), a.to.upper())))


def _kinds() -> Any:
    from .library import library

    return library().TensorProto


@ROWS.row("CastLike")
def _cast_like(c: Converter, a: Any) -> relax.Expr:
    return converted(
        c, a.input, dtype_of(a.target_type), bool(getattr(a, "saturate", 1)), getattr(a, "round_mode", "up")
    )


@ROWS.row("BitCast")
def _bit_cast(c: Converter, a: Any) -> relax.Expr:
    return _reinterpreted(c, a.input, dtype_name(a.to))


def _reinterpreted(c: Converter, x: relax.Expr, dtype: str) -> relax.Expr:
    """Return the bits of a tensor as another dtype of the same width."""
    if isinstance(x, relax.Constant):
        data: Any = x.data
        return const(data.view(numpy_dtype(dtype)), dtype)
    return op.memory.view(x, c.shape(dims_of(x)), dtype)


def converted(c: Converter, x: relax.Expr, dtype: str, saturates: bool, round_mode: str) -> relax.Expr:
    """Return a tensor as `dtype`; with `saturates`, numbers beyond the range of an 8-bit float become its largest."""
    if dtype == "float8_e8m0fnu":
        return _power_of_two(c, x, saturates, round_mode)
    if dtype.startswith("float8") and saturates and dtype_of(x) != "bool":
        import ml_dtypes

        library: Any = ml_dtypes
        largest = float(library.finfo(dtype).max)
        wide = c.cast(x, "float32")
        bounded = op.maximum(op.minimum(wide, const(largest, "float32")), const(-largest, "float32"))
        return op.astype(bounded, dtype)
    if dtype in ("int4", "uint4", "int2", "uint2") and is_floating(dtype_of(x)):
        x = op.astype(x, "int32")  # numbers out of range keep their low bits, as in ml_dtypes
    return c.cast(x, dtype)


def _power_of_two(c: Converter, x: relax.Expr, saturates: bool, round_mode: str) -> relax.Expr:
    """Return the exponent of each number as a float of 8 exponent bits: that of the float32, rounded by its fraction bits."""
    if round_mode not in ("up", "down", "nearest"):
        raise ValueError(f"the rounding mode is '{round_mode}', not 'up', 'down' or 'nearest'")

    def number(value: int) -> relax.Constant:
        return const(value, "int32")

    bits = c.emit(_reinterpreted(c, c.cast(x, "float32"), "int32"), "_bits")
    exponent = op.bitwise_and(op.right_shift(bits, number(23)), number(0xFF))
    fraction = op.bitwise_and(bits, number(0x7FFFFF))
    if round_mode == "up":
        is_up = op.greater(fraction, number(0))
    else:  # a tie rounds up unless the exponent is that of a subnormal number
        is_tie_up = op.logical_and(op.equal(fraction, number(0x400000)), op.greater(exponent, number(0)))
        is_up = op.logical_or(op.greater(fraction, number(0x400000)), is_tie_up)
    is_up = op.logical_and(is_up, op.less(exponent, number(0xFE if saturates else 0xFF)))
    rounded = exponent if round_mode == "down" else op.add(exponent, op.astype(is_up, "int32"))
    return _reinterpreted(c, c.emit(op.astype(rounded, "uint8"), "_exponent"), dtype="float8_e8m0fnu")
