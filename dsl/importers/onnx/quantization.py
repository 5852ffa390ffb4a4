"""Rows for quantization and for products of quantized tensors, which are computed in integers."""

from __future__ import annotations

from typing import Any

from ....ir import relax
from ....ir.api.relax import op
from ....ir.building.values import const
from ....ir.dtype import int_range
from ....ir.ops import dims as d
from ..values import axis_of, dims_of, dtype_of, is_floating, rank_of, static
from .conversions import converted
from .converter import Converter
from .integer_products import integer_convolution, integer_product, is_zero, known, of_channels, of_rows
from .rows import Family
from .tensors import dtype_name

ROWS = Family()


# --- Quantization -----------------------------------------------------------------------------------------------


def _spread(c: Converter, parameter: relax.Expr, x: relax.Expr, a: Any) -> relax.Expr:
    """Return a scale or zero point of a tensor, a channel, or each block along an axis, in a shape that broadcasts to `x`."""
    rank, block = rank_of(x), getattr(a, "block_size", 0)
    if not rank_of(parameter) or not rank or static(d.product(dims_of(parameter))) == 1:
        return known(op.reshape(parameter, ()), parameter)
    axis = axis_of(getattr(a, "axis", 1), rank)
    if block:
        repeated = c.emit(op.repeat(parameter, block, axis), "_repeated")
        return op.strided_slice(repeated, [axis], [0], [dims_of(x)[axis]])
    if rank_of(parameter) != 1:
        raise ValueError(f"it has {rank_of(parameter)} dimensions of scales, but no block_size")
    return known(op.reshape(parameter, c.shape([-1 if place == axis else 1 for place in range(rank)])), parameter)


def stored(c: Converter, scaled: relax.Expr, zero: relax.Expr | None, dtype: str, saturates: bool = True) -> relax.Expr:
    """Return numbers plus a zero point as `dtype`: integers are rounded to nearest even and saturate."""
    wide = "float64" if dtype_of(scaled) == "float64" else "float32"
    shift = None if zero is None or is_zero(zero) else known(c.cast(zero, wide), zero)
    if is_floating(dtype):
        return converted(c, scaled if shift is None else op.add(c.cast(scaled, wide), shift), dtype, saturates, "up")
    rounded = op.round(c.cast(scaled, wide))
    rounded = rounded if shift is None else op.add(rounded, shift)
    low, high = (const(float(bound), wide) for bound in int_range(dtype))
    return c.cast(op.minimum(op.maximum(rounded, low), high), dtype)


@ROWS.row("QuantizeLinear", since=10)
def quantized(c: Converter, a: Any) -> relax.Expr:
    """Return numbers as integers or small floats, each divided by the scale of its place."""
    zero, given = a.y_zero_point, getattr(a, "output_dtype", 0)
    dtype = dtype_name(given) if given else "uint8" if zero is None else dtype_of(zero)
    precision = getattr(a, "precision", 0)
    inside = dtype_name(precision) if precision else dtype_of(a.y_scale)
    if not is_floating(inside) or inside.startswith("float8"):
        inside = "float32"
    scale = c.cast(_spread(c, a.y_scale, a.x, a), inside)
    shift = None if zero is None else _spread(c, zero, a.x, a)
    return stored(c, op.divide(c.cast(a.x, inside), scale), shift, dtype, bool(getattr(a, "saturate", 1)))


@ROWS.row("DequantizeLinear", since=10)
def dequantized(c: Converter, a: Any) -> relax.Expr:
    """Return codes as numbers."""
    given, source = getattr(a, "output_dtype", 0), dtype_of(a.x)
    dtype = dtype_name(given) if given else dtype_of(a.x_scale)
    inside = "float32" if is_floating(source) else "int32"
    difference = c.cast(a.x, inside)
    if a.x_zero_point is not None and not is_zero(a.x_zero_point):
        zero = known(c.cast(_spread(c, a.x_zero_point, a.x, a), inside), a.x_zero_point)
        difference = op.subtract(difference, zero)
    scale = c.cast(_spread(c, a.x_scale, a.x, a), "float32")
    return c.cast(op.multiply(c.cast(difference, "float32"), scale), dtype)


@ROWS.row("DynamicQuantizeLinear", since=11)
def _quantize_dynamically(c: Converter, a: Any) -> list[relax.Expr]:
    return dynamically_quantized(c, a.x)


def dynamically_quantized(c: Converter, x: relax.Expr) -> list[relax.Expr]:
    """Return a tensor as uint8, its scale and its zero point, such that the range of values, and zero, are represented."""
    zero, top = const(0.0, "float32"), const(255.0, "float32")
    low, high = op.minimum(op.min(x), zero), op.maximum(op.max(x), zero)
    low = c.emit(low, "_low")
    scale = c.emit(op.divide(op.subtract(high, low), top), "_scale")
    safe = op.where(op.equal(scale, zero), const(1.0, "float32"), scale)
    place = op.round(op.minimum(op.maximum(op.divide(op.subtract(zero, low), safe), zero), top))
    point = c.emit(op.astype(place, "uint8"), "_point")
    return [stored(c, op.divide(x, safe), point, "uint8"), scale, point]


# --- Products ---------------------------------------------------------------------------------------------------


@ROWS.row("MatMulInteger", since=10)
def _product_of_integers(c: Converter, a: Any) -> relax.Expr:
    return integer_product(c, a.A, a.a_zero_point, a.B, a.b_zero_point)


@ROWS.row("QLinearMatMul", since=10)
def _quantized_product(c: Converter, a: Any) -> relax.Expr:
    sums = integer_product(c, a.a, a.a_zero_point, a.b, a.b_zero_point)
    scales = [c.cast(of_rows(c, a.a_scale, True), "float32"), c.cast(of_rows(c, a.b_scale, False), "float32")]
    scale = op.divide(op.multiply(*scales), c.cast(of_rows(c, a.y_scale, True), "float32"))
    scale = known(scale, a.a_scale, a.b_scale, a.y_scale)
    zero = known(of_rows(c, a.y_zero_point, True), a.y_zero_point)
    return stored(c, op.multiply(c.cast(sums, "float32"), scale), zero, dtype_of(a.y_zero_point))


@ROWS.row("ConvInteger", since=10)
def _convolution_of_integers(c: Converter, a: Any) -> relax.Expr:
    return integer_convolution(c, a, a.x_zero_point, a.w_zero_point)


@ROWS.row("QLinearConv", since=10)
def _quantized_convolution(c: Converter, a: Any) -> relax.Expr:
    sums = integer_convolution(c, a, a.x_zero_point, a.w_zero_point, a.B)
    scale = op.multiply(op.reshape(a.x_scale, ()), of_channels(c, a.w_scale, rank_of(a.x), 1))
    scale = known(op.divide(scale, op.reshape(a.y_scale, ())), a.x_scale, a.w_scale, a.y_scale)
    zero = None if is_zero(a.y_zero_point) else known(op.reshape(a.y_zero_point, ()), a.y_zero_point)
    return stored(c, op.multiply(c.cast(sums, "float32"), scale), zero, dtype_of(a.y_zero_point))
