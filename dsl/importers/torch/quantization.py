"""Rows for quantized models: `quantized_decomposed`, the operators that torch's quantization flow leaves, and integer products."""

from __future__ import annotations

from typing import Any

from ....ir import relax
from ....ir.api.relax import op
from ....ir.building.values import const
from ..values import axis_of, dtype_of, rank_of
from .converter import Convert, Converter


def _inverse(c: Converter, scale: Any) -> relax.Expr:
    """Return 1 / scale as torch multiplies by it: computed in the dtype of the scale, and rounded to float32."""
    if isinstance(scale, relax.Expr):
        return c.cast(op.divide(const(1.0, dtype_of(scale)), scale), "float32")
    return const(1.0 / scale, "float32")


def _scalar(value: Any) -> Any:
    """Return a tensor of one element as a scalar, which broadcasts to any shape; numbers unchanged."""
    return op.reshape(value, ()) if isinstance(value, relax.Expr) and rank_of(value) else value


def _rounded(c: Converter, scaled: relax.Expr, a: Any) -> relax.Expr:
    """Return values as integers of the range that the call states."""
    dtype = dtype_of(scaled)
    low, high = (c.tensor(_scalar(bound), dtype) for bound in (a.quant_min, a.quant_max))
    return c.cast(op.maximum(op.minimum(scaled, high), low), a.dtype)


def _quantize(c: Converter, a: Any) -> relax.Expr:
    x = c.cast(a.input, "float32")
    zero = c.tensor(_scalar(a.zero_point), "float32")
    return _rounded(c, op.add(op.round(op.multiply(x, _inverse(c, _scalar(a.scale)))), zero), a)


def _dequantize(c: Converter, a: Any) -> relax.Expr:
    dtype = a.out_dtype or "float32"
    zero, scale = (c.tensor(_scalar(value), dtype) for value in (a.zero_point, a.scale))
    return op.multiply(op.subtract(c.cast(a.input, dtype), zero), scale)


def _along(values: relax.Expr, a: Any) -> relax.Expr:
    """Return one value per channel in a shape that broadcasts along the axis of the call."""
    rank = rank_of(a.input)
    others = [axis for axis in range(rank) if axis != axis_of(a.axis, rank)]
    return op.expand_dims(values, others) if others else values


def _quantize_channels(c: Converter, a: Any) -> relax.Expr:
    x = c.cast(a.input, "float32")
    scaled, inverse = c.promoted(x, _along(op.divide(const(1.0, dtype_of(a.scales)), a.scales), a))
    rounded, zero = c.promoted(op.round(op.multiply(scaled, inverse)), _along(a.zero_points, a))
    return _rounded(c, op.add(rounded, zero), a)


def _dequantize_channels(c: Converter, a: Any) -> relax.Expr:
    x = a.input
    if a.zero_points is not None:
        x, zero = c.promoted(x, _along(a.zero_points, a))
        x = op.subtract(x, zero)
    x, scale = c.promoted(x, _along(a.scales, a))
    return c.cast(op.multiply(x, scale), a.out_dtype or "float32")


def _quantize_tokens(c: Converter, a: Any) -> relax.Expr:
    x, inverse = c.promoted(a.input, op.divide(const(1.0, dtype_of(a.scales)), a.scales))
    scaled, zero = c.promoted(op.multiply(x, inverse), a.zero_points)
    return _rounded(c, op.round(op.add(scaled, zero)), a)


def _dequantize_tokens(c: Converter, a: Any) -> relax.Expr:
    x, zero = c.promoted(a.input, a.zero_points)
    x, scale = c.promoted(op.subtract(x, zero), a.scales)
    return c.cast(op.multiply(x, scale), a.output_dtype)


def _bounds(x: relax.Expr, axis: list[int] | None) -> tuple[relax.Expr, relax.Expr]:
    """Return the least and the largest value, or zero if all values have one sign, along the last dimension or all."""
    zero = const(0.0, dtype_of(x))
    keep = axis is not None
    return op.minimum(op.min(x, axis, keep), zero), op.maximum(op.max(x, axis, keep), zero)


def _choose(c: Converter, a: Any) -> list[Any]:
    low, high = _bounds(c.cast(a.input, "float32"), None)
    least, most = (const(float(bound), "float32") for bound in (a.quant_min, a.quant_max))
    span = op.divide(op.subtract(high, low), const(float(a.quant_max - a.quant_min), "float32"))
    scale = c.emit(op.maximum(span, const(a.eps, "float32")), "_scale")
    zero = op.subtract(least, op.round(op.divide(low, scale)))
    clipped = op.maximum(op.minimum(zero, most), least)
    return [op.reshape(scale, (1,)), op.reshape(clipped, (1,))]


def _product(c: Converter, a: Any) -> relax.Expr:
    return op.matmul(a.self, a.mat2, "int32")


_NAMESPACE = "quantized_decomposed."
_OVERLOADS = ("default", "tensor", "tensor2")

ROWS: dict[str, Convert] = {
    **{f"{_NAMESPACE}quantize_per_tensor.{overload}": _quantize for overload in _OVERLOADS},
    **{f"{_NAMESPACE}dequantize_per_tensor.{overload}": _dequantize for overload in _OVERLOADS},
    f"{_NAMESPACE}quantize_per_channel.default": _quantize_channels,
    f"{_NAMESPACE}dequantize_per_channel.default": _dequantize_channels,
    f"{_NAMESPACE}quantize_per_token.default": _quantize_tokens,
    f"{_NAMESPACE}dequantize_per_token.default": _dequantize_tokens,
    f"{_NAMESPACE}choose_qparams.tensor": _choose,
    "_int_mm.default": _product,
}
