"""Rows for operators on quantized tensors that onnxruntime adds to the standard (com.microsoft)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ....ir import relax
from ....ir.api.relax import op
from ....ir.ops import dims as d
from ..values import axis_of, dims_of, dtype_of, rank_of, static
from .attention import SELF_ATTENTION, self_attention
from .converter import Converter
from .elementwise import number
from .integer_products import centered, integer_product, known, summed_product
from .quantization import dequantized, dynamically_quantized, quantized, stored
from .rows import Family
from .signatures import MICROSOFT, Signature

ROWS = Family()


def _row(operator: str, inputs: str, is_variadic: bool = False, **attributes: Any) -> Any:
    """Register a converter of an operator with the given inputs and attributes with their defaults."""
    signature = Signature(tuple(inputs.split()), attributes, is_variadic=is_variadic)
    return ROWS.row(operator, domain=MICROSOFT, signature=signature)


@_row("QuantizeLinear", "x y_scale y_zero_point", axis=1)
def _quantize(c: Converter, a: Any) -> relax.Expr:
    return quantized(c, a)


@_row("DequantizeLinear", "x x_scale x_zero_point", axis=1)
def _dequantize(c: Converter, a: Any) -> relax.Expr:
    return dequantized(c, a)


def _real(c: Converter, x: relax.Expr, scale: relax.Expr, zero: relax.Expr | None) -> relax.Expr:
    """Return a tensor with one scale and zero point as float32."""
    difference = c.cast(x, "int32")
    if zero is not None:
        difference = op.subtract(difference, known(c.cast(op.reshape(zero, ()), "int32"), zero))
    return op.multiply(c.cast(difference, "float32"), known(op.reshape(c.cast(scale, "float32"), ()), scale))


def _coded(c: Converter, x: relax.Expr, scale: relax.Expr, zero: relax.Expr | None, dtype: str) -> relax.Expr:
    """Return numbers as integers of `dtype` with one scale and zero point."""
    point = None if zero is None else known(op.reshape(zero, ()), zero)
    return stored(c, op.divide(x, known(op.reshape(scale, ()), scale)), point, dtype)


# --- Elementwise ------------------------------------------------------------------------------------------------

_BINARY: dict[str, Callable[[relax.Expr, relax.Expr], relax.Expr]] = {"QLinearAdd": op.add, "QLinearMul": op.multiply}
_OPERANDS = "A A_scale A_zero_point B B_scale B_zero_point C_scale C_zero_point"


def _binary(c: Converter, a: Any) -> relax.Expr:
    left, right = _real(c, a.A, a.A_scale, a.A_zero_point), _real(c, a.B, a.B_scale, a.B_zero_point)
    return _coded(c, _BINARY[c.node.op_type](left, right), a.C_scale, a.C_zero_point, dtype_of(a.A))


for _name in _BINARY:
    _row(_name, _OPERANDS)(_binary)


def _unary(operator: str, function: Callable[[Any, relax.Expr], relax.Expr], **attributes: Any) -> None:
    def convert(c: Converter, a: Any) -> relax.Expr:
        made = function(a, _real(c, a.X, a.X_scale, a.X_zero_point))
        return _coded(c, made, a.Y_scale, a.Y_zero_point, dtype_of(a.X))

    _row(operator, "X X_scale X_zero_point Y_scale Y_zero_point", **attributes)(convert)


_unary("QLinearSigmoid", lambda a, x: op.sigmoid(x))
_unary("QLinearLeakyRelu", lambda a, x: op.nn.leakyrelu(x, a.alpha), alpha=0.01)


@_row("QLinearGlobalAveragePool", "X x_scale x_zero_point y_scale y_zero_point", channels_last=0)
def _average(c: Converter, a: Any) -> relax.Expr:
    rank = rank_of(a.X)
    axes = list(range(1, rank - 1) if a.channels_last else range(2, rank))
    made = op.mean(_real(c, a.X, a.x_scale, a.x_zero_point), axes, True)
    return _coded(c, made, a.y_scale, a.y_zero_point, dtype_of(a.X))


@_row("QLinearConcat", "Y_scale Y_zero_point inputs", is_variadic=True, axis=0)
def _concat(c: Converter, a: Any) -> relax.Expr:
    """Concatenate tensors, each of which is followed by its scale and its zero point."""
    parts = [a.inputs[place : place + 3] for place in range(0, len(a.inputs), 3)]
    if not parts or len(parts[-1]) != 3:
        raise ValueError(f"it has {len(a.inputs)} inputs, not three for each tensor")
    whole = op.concat([_real(c, *part) for part in parts], axis_of(a.axis, rank_of(parts[0][0])))
    return _coded(c, whole, a.Y_scale, a.Y_zero_point, dtype_of(a.Y_zero_point))


# --- Products ---------------------------------------------------------------------------------------------------


def _of_columns(c: Converter, x: relax.Expr, bias: relax.Expr | None) -> relax.Expr:
    return x if bias is None else op.add(x, bias)


@_row("MatMulIntegerToFloat", "A B a_scale b_scale a_zero_point b_zero_point bias")
def _product_to_float(c: Converter, a: Any) -> relax.Expr:
    sums = integer_product(c, a.A, a.a_zero_point, a.B, a.b_zero_point)
    scale = op.multiply(a.a_scale, a.b_scale)
    return _of_columns(c, op.multiply(c.cast(sums, dtype_of(a.a_scale)), scale), a.bias)


@_row(
    "QAttention",
    "input weight bias input_scale weight_scale mask_index input_zero_point weight_zero_point past",
    **SELF_ATTENTION,
)
def _attention(c: Converter, a: Any) -> list[relax.Expr]:
    """Project quantized tensors in integers, and attend in floats; scales and zero points of the weight may belong to its columns."""
    left, right = centered(c, a.input, a.input_zero_point, True), centered(c, a.weight, a.weight_zero_point, False)
    scale = op.multiply(op.reshape(a.input_scale, ()), a.weight_scale)
    sums = c.cast(summed_product(c, left, right), dtype_of(a.input_scale))
    return self_attention(c, a, op.multiply(sums, scale))


@_row("DynamicQuantizeMatMul", "A B b_scale b_zero_point bias")
def _dynamic_product(c: Converter, a: Any) -> relax.Expr:
    """Quantize the left factor by its extrema, and multiply in integers."""
    codes, scale, zero = (c.emit(part) for part in dynamically_quantized(c, a.A))
    sums = integer_product(c, codes, zero, a.B, a.b_zero_point)
    made = op.multiply(c.cast(sums, "float32"), op.multiply(scale, a.b_scale))
    return _of_columns(c, made, a.bias)


@_row(
    "QGemm",
    "A a_scale a_zero_point B b_scale b_zero_point C y_scale y_zero_point",
    transA=0,
    transB=0,
    alpha=1.0,
)
def _gemm(c: Converter, a: Any) -> relax.Expr:
    """Return `alpha * A @ B + C` in integers, or as floats without a scale of the result; scales of B belong to its columns."""
    left = centered(c, a.A, op.reshape(a.a_zero_point, ()), True)
    zero = (
        a.b_zero_point if rank_of(a.b_zero_point) == 0 or not a.transB else op.reshape(a.b_zero_point, c.shape((-1, 1)))
    )
    right = centered(c, a.B, op.reshape(zero, ()) if _is_single(zero) else zero, False)
    left = op.permute_dims(left, [1, 0]) if a.transA else left
    right = op.permute_dims(right, [1, 0]) if a.transB else right
    sums = summed_product(c, left, right)
    sums = sums if a.C is None else op.add(sums, a.C)
    scale = op.multiply(op.multiply(a.a_scale, a.b_scale), number(a.alpha, a.a_scale))
    made = op.multiply(c.cast(sums, "float32"), scale)
    if a.y_scale is None:
        return made
    return _coded(c, made, a.y_scale, a.y_zero_point, dtype_of(a.y_zero_point))


def _is_single(x: relax.Expr) -> bool:
    return static(d.product(dims_of(x))) == 1
