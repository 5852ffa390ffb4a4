"""Rows for operators that onnxruntime adds to the standard (com.microsoft): products, activations and normalizations."""

from __future__ import annotations

from typing import Any

from ....ir import relax
from ....ir.api.relax import op
from ....ir.building.values import apply, const
from ..values import axis_of, dims_of, dtype_of, rank_of, static
from .converter import Converter
from .convolution import convolution, with_bias
from .elementwise import number
from .images import sampled_by_grid
from .normalization import in_float32
from .products import product, sum_dtype
from .rows import Family
from .signatures import MICROSOFT, Signature

ROWS = Family()
_CONVOLUTION: dict[str, Any] = {
    "auto_pad": "NOTSET", "dilations": None, "group": 1, "kernel_shape": None, "pads": None, "strides": None,
}  # fmt: skip


def _row(operator: str, inputs: str, domain: str = MICROSOFT, **attributes: Any) -> Any:
    """Register a converter of an operator with the given inputs and attributes with their defaults."""
    return ROWS.row(operator, domain=domain, signature=Signature(tuple(inputs.split()), attributes))


# --- Products ---------------------------------------------------------------------------------------------------


def _turned(x: relax.Expr, is_matrix: int, is_batch: int) -> relax.Expr:
    """Return a tensor with its last two dimensions exchanged, or with its first dimension before the last one."""
    order = list(range(rank_of(x)))
    if is_batch:
        order = [*order[1:-1], 0, order[-1]]
    if is_matrix and len(order) > 1:
        order = [*order[:-2], order[-1], order[-2]]
    return op.permute_dims(x, order) if is_batch or is_matrix else x


@_row("FusedMatMul", "A B", alpha=1.0, transA=0, transB=0, transBatchA=0, transBatchB=0)
def _fused_product(c: Converter, a: Any) -> relax.Expr:
    made = product(c, _turned(a.A, a.transA, a.transBatchA), _turned(a.B, a.transB, a.transBatchB))
    return made if a.alpha == 1 else op.multiply(made, number(a.alpha, made))


@_row(
    "MatMulNBits",
    "A B scales zero_points g_idx bias",
    K=0,
    N=0,
    bits=4,
    block_size=0,
    accuracy_level=0,
    weight_prepacked=0,
)
def _product_of_bits(c: Converter, a: Any) -> relax.Expr:
    """Multiply by a matrix whose columns are stored as blocks of numbers of 2, 4 or 8 bits, several in a byte."""
    if a.g_idx is not None:
        raise c.unsupported("its rows are permuted by g_idx", "export the model without act-order")
    if a.bits not in (2, 4, 8) or a.block_size < 1 or min(a.K, a.N) < 1:
        raise ValueError(f"its sizes are K={a.K}, N={a.N}, bits={a.bits}, block_size={a.block_size}")
    dtype, blocks = dtype_of(a.A), -(-a.K // a.block_size)
    wide = sum_dtype(dtype) or dtype
    numbers = op.reshape(c.cast(_unpacked(c, a.B, a.bits), wide), c.shape((a.N, blocks, a.block_size)))
    scales = op.reshape(c.cast(a.scales, wide), c.shape((a.N, blocks, 1)))
    zero: relax.Expr = const(float(1 << (a.bits - 1)), wide)
    if a.zero_points is not None:
        points = a.zero_points
        if dtype_of(points) == "uint8":
            rows = op.reshape(points, c.shape((a.N, -1)))
            points = op.strided_slice(_unpacked(c, rows, a.bits), [1], [0], [blocks])
        zero = op.reshape(c.cast(points, wide), c.shape((a.N, blocks, 1)))
    weight = op.reshape(op.multiply(op.subtract(numbers, zero), scales), c.shape((a.N, blocks * a.block_size)))
    weight = op.permute_dims(op.strided_slice(weight, [1], [0], [a.K]), [1, 0])
    made = op.matmul(c.cast(a.A, wide), weight)
    return c.cast(made if a.bias is None else op.add(made, c.cast(a.bias, wide)), dtype)


def _unpacked(c: Converter, x: relax.Expr, bits: int) -> relax.Expr:
    """Return the numbers of `bits` bits in bytes, those in the low bits first, along the last dimension."""
    if bits == 8:
        return x
    import numpy as np

    shifts = const(np.arange(0, 8, bits, dtype="uint8"))
    parts = op.bitwise_and(op.right_shift(op.expand_dims(x, [-1]), shifts), const((1 << bits) - 1, "uint8"))
    dims = dims_of(x)
    return op.reshape(parts, c.shape((*dims[:-1], dims[-1] * (8 // bits))))


def _activated(x: relax.Expr, name: str, parameters: list[float]) -> relax.Expr:
    """Return an activation by its name, with its parameters."""
    match name, parameters:
        case "Relu", _:
            return op.nn.relu(x)
        case "Sigmoid", _:
            return op.sigmoid(x)
        case "Tanh", _:
            return op.tanh(x)
        case "LeakyRelu", _:
            return op.nn.leakyrelu(x, parameters[0] if parameters else 0.01)
        case "Clip", [low, high]:
            return op.maximum(op.minimum(x, number(high, x)), number(low, x))
        case "HardSigmoid", [alpha, beta]:
            return op.clip(op.add(op.multiply(x, number(alpha, x)), number(beta, x)), 0.0, 1.0)
        case _:
            raise ValueError(f"its activation '{name}' with {len(parameters)} parameters is not supported")


@_row("FusedConv", "X W B Z", activation=None, activation_params=None, **_CONVOLUTION)
def _fused_convolution(c: Converter, a: Any) -> relax.Expr:
    made = with_bias(c, convolution(c, a, a.X, a.W), a.B)
    made = made if a.Z is None else op.add(made, a.Z)
    return made if a.activation is None else _activated(made, a.activation, a.activation_params or [])


@_row("NhwcConv", "X W B", **_CONVOLUTION)
def _convolution_of_channels_last(c: Converter, a: Any) -> relax.Expr:
    rank = rank_of(a.X)
    front = [0, rank - 1, *range(1, rank - 1)]
    made = convolution(c, a, op.permute_dims(a.X, front), op.permute_dims(a.W, front))
    return op.permute_dims(with_bias(c, made, a.B), [0, *range(2, rank), 1])


# --- Activations ------------------------------------------------------------------------------------------------


@_row("Gelu", "X")
def _gelu(c: Converter, a: Any) -> relax.Expr:
    return op.nn.gelu(a.X)


@_row("BiasGelu", "A B")
def _bias_gelu(c: Converter, a: Any) -> relax.Expr:
    return op.nn.gelu(op.add(a.A, a.B))


@_row("FastGelu", "X bias")
def _fast_gelu(c: Converter, a: Any) -> relax.Expr:
    return op.nn.gelu_tanh(a.X if a.bias is None else op.add(a.X, a.bias))


@_row("QuickGelu", "X", alpha=1.702)
def _quick_gelu(c: Converter, a: Any) -> relax.Expr:
    return op.multiply(a.X, op.sigmoid(op.multiply(a.X, number(a.alpha, a.X))))


@_row("BiasSplitGelu", "X bias")
def _bias_split_gelu(c: Converter, a: Any) -> relax.Expr:
    """Return the first half of the channels times the Gelu of the second half."""
    left, right = op.split(op.add(a.X, a.bias), 2, rank_of(a.X) - 1)
    return op.multiply(left, op.nn.gelu(right))


@_row("BiasSoftmax", "data bias", axis=1, is_inner_broadcast=None)
def _bias_softmax(c: Converter, a: Any) -> relax.Expr:
    """Return the softmax, over the dimensions from `axis` on as one, of the sum of the data and a bias.

    A bias with fewer dimensions lacks the last ones before `axis` with `is_inner_broadcast`, and the first ones without.
    """
    axis, missing = axis_of(a.axis, rank_of(a.data)), rank_of(a.data) - rank_of(a.bias)
    bias, own = a.bias, axis - missing
    if a.is_inner_broadcast and missing > 0:
        if own < 0:
            raise ValueError(f"its bias has {rank_of(bias)} dimensions, fewer than those from axis {axis} on")
        dims = dims_of(bias)
        bias = op.reshape(bias, c.shape((*dims[:own], *[1] * missing, *dims[own:])))
    total = c.known_shape(c.emit(op.add(a.data, bias), "_sum"), dims_of(a.data))
    if axis == rank_of(a.data) - 1:
        return in_float32(op.nn.softmax)(total, axis)
    flat = op.reshape(total, c.shape((*dims_of(a.data)[:axis], -1)))
    return op.reshape(in_float32(op.nn.softmax)(flat, axis), c.shape(dims_of(a.data)))


# --- Normalizations ---------------------------------------------------------------------------------------------


def _layer_norm(
    c: Converter, x: relax.Expr, gamma: relax.Expr, beta: relax.Expr | None, epsilon: float
) -> list[relax.Expr]:
    """Normalize over the last dimension, computed in float32; return the result, the mean, and the inverse deviation."""
    dtype, axis = dtype_of(x), [rank_of(x) - 1]
    wide = c.emit(c.cast(x, sum_dtype(dtype) or dtype), "_wide")
    mean = c.emit(op.mean(wide, axis, True), "_mean")
    centered = c.emit(op.subtract(wide, mean), "_centered")
    variance = op.mean(op.square(centered), axis, True)
    inverse = c.emit(op.divide(number(1, wide), op.sqrt(op.add(variance, number(epsilon, wide)))), "_inverse")
    made = op.multiply(op.multiply(centered, inverse), c.tensor(gamma, wide))
    return [c.cast(made if beta is None else op.add(made, c.tensor(beta, wide)), dtype), mean, inverse]


def _rms_norm(c: Converter, x: relax.Expr, gamma: relax.Expr, axes: list[int], epsilon: float) -> list[relax.Expr]:
    """Divide by the root of the mean of squares; return the result and the inverse root."""
    dtype = dtype_of(x)
    wide = c.emit(c.cast(x, sum_dtype(dtype) or dtype), "_wide")
    square = op.mean(op.square(wide), axes, True)
    inverse = c.emit(op.divide(number(1, wide), op.sqrt(op.add(square, number(epsilon, wide)))), "_inverse")
    return [c.cast(op.multiply(op.multiply(wide, inverse), c.tensor(gamma, wide)), dtype), inverse]


def _with_skip(c: Converter, a: Any) -> relax.Expr:
    total = op.add(a.input, a.skip)
    return c.emit(total if a.bias is None else op.add(total, a.bias), "_sum")


@_row("SkipLayerNormalization", "input skip gamma beta bias", epsilon=1e-12)
def _skip_layer_norm(c: Converter, a: Any) -> list[relax.Expr]:
    total = _with_skip(c, a)
    return [*_layer_norm(c, total, a.gamma, a.beta, a.epsilon), total]


@_row("SkipSimplifiedLayerNormalization", "input skip gamma bias", epsilon=1e-12)
def _skip_rms_norm(c: Converter, a: Any) -> list[relax.Expr | None]:
    total = _with_skip(c, a)
    made, inverse = _rms_norm(c, total, a.gamma, [rank_of(total) - 1], a.epsilon)
    return [made, None, inverse, total]


@_row("SimplifiedLayerNormalization", "X scale", "", axis=-1, epsilon=1e-5, stash_type=1)
@_row("SimplifiedLayerNormalization", "X scale", axis=-1, epsilon=1e-5, stash_type=1)
def _simplified_layer_norm(c: Converter, a: Any) -> list[relax.Expr]:
    axis = axis_of(a.axis, rank_of(a.X))
    return _rms_norm(c, a.X, a.scale, list(range(axis, rank_of(a.X))), a.epsilon)


@_row(
    "EmbedLayerNormalization",
    "input_ids segment_ids word_embedding position_embedding segment_embedding gamma beta mask position_ids",
    epsilon=1e-12,
    mask_index_type=0,
)
def _embed_layer_norm(c: Converter, a: Any) -> list[relax.Expr]:
    """Normalize the sum of the embeddings of words, positions and segments; the mask becomes the number of its ones."""
    batch, length = dims_of(a.input_ids)
    places = op.arange(0, length, 1, "int64") if a.position_ids is None else a.position_ids
    total = op.add(op.take(a.word_embedding, a.input_ids, 0), op.take(a.position_embedding, places, 0))
    if a.segment_ids is not None:
        total = op.add(total, op.take(a.segment_embedding, a.segment_ids, 0))
    total = c.emit(total, "_embedding")
    counts = op.zeros(c.shape((batch,)), "int32") if a.mask is None else op.sum(c.cast(a.mask, "int32"), [1], False)
    return [_layer_norm(c, total, a.gamma, a.beta, a.epsilon)[0], counts, total]


# --- Others -----------------------------------------------------------------------------------------------------


@_row("Inverse", "X")
def _inverse(c: Converter, a: Any) -> relax.Expr:
    return apply("linalg.inv", a.X)


@_row("Trilu", "X k", upper=1)
def _triangle(c: Converter, a: Any) -> relax.Expr:
    place = 0 if a.k is None else c.ints(a.k, "the diagonal")[0]
    return op.triu(a.X, place) if a.upper else op.tril(a.X, place)


@_row("Range", "start limit delta")
def _range(c: Converter, a: Any) -> relax.Expr:
    from .creation import ROWS as creation

    a.delta = const(1, dtype_of(a.start)) if a.delta is None else a.delta
    (row,) = [row for row in creation if row.operator == "Range"]
    return row.convert(c, a)


@_row("GridSample", "X Grid", align_corners=0, mode="bilinear", padding_mode="zeros")
def _grid_sample(c: Converter, a: Any) -> relax.Expr:
    return sampled_by_grid(c, a.X, a.Grid, a.mode, a.padding_mode, bool(a.align_corners))


@_row("CropAndResize", "X rois batch_indices crop_size", mode="bilinear", extrapolation_value=0.0)
def _crop_and_resize(c: Converter, a: Any) -> relax.Expr:
    """Resize regions, whose corners (y1, x1, y2, x2) are fractions of the image, to one size, by bilinear interpolation."""
    sizes = [size for size in map(static, c.sizes(a.crop_size)) if size is not None]
    if a.mode != "bilinear" or a.extrapolation_value or len(sizes) != 2:
        raise c.unsupported("it needs constant sizes, bilinear interpolation and zeros outside", "export it so")
    dtype = dtype_of(a.X)
    images, grids = op.take(a.X, c.cast(a.batch_indices, "int64"), 0), list[relax.Expr]()
    corners = op.split(a.rois, 4, 1)
    for axis, size in enumerate(sizes):
        low, high = (c.emit(corners[axis + end]) for end in (0, 2))
        if size == 1:
            place = op.multiply(op.add(low, high), const(0.5, dtype))
        else:
            import numpy as np

            steps = const(np.linspace(0, 1, size).reshape(1, size), dtype)
            place = op.add(low, op.multiply(op.subtract(high, low), steps))
        centered = op.subtract(op.multiply(place, const(2.0, dtype)), const(1.0, dtype))
        whole = c.shape((dims_of(a.rois)[0], *sizes))
        grids.append(op.broadcast_to(op.expand_dims(centered, [2 - axis]), whole))
    return op.image.grid_sample(images, op.stack([grids[1], grids[0]], 1), "bilinear", "NCHW", "zeros", True)
