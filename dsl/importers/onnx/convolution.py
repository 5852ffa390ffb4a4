"""Rows for convolutions."""

from __future__ import annotations

from math import prod
from typing import Any

from ....ir import relax
from ....ir.api.relax import op
from ....ir.building.values import const
from ....ir.ops import dims as d
from ..values import dims_of, dtype_of, rank_of
from .converter import Converter
from .cutting import padded
from .products import sum_dtype
from .rows import Family
from .windows import windows_of

ROWS = Family()
_CONVOLUTIONS = {1: op.nn.conv1d, 2: op.nn.conv2d, 3: op.nn.conv3d}
_TRANSPOSED = {1: op.nn.conv1d_transpose, 2: op.nn.conv2d_transpose, 3: op.nn.conv3d_transpose}


def with_bias(c: Converter, x: relax.Expr, bias: relax.Expr | None) -> relax.Expr:
    if bias is None:
        return x
    return op.add(x, op.reshape(bias, c.shape((1, -1, *[1] * (rank_of(x) - 2)))))


def _spatial(c: Converter, x: relax.Expr) -> int:
    spatial = rank_of(x) - 2
    if spatial not in _CONVOLUTIONS:
        raise c.unsupported(f"it has {spatial} spatial dimensions", "use 1, 2 or 3")
    return spatial


@ROWS.row("Conv")
def _conv(c: Converter, a: Any) -> relax.Expr:
    """Return the convolution; data of 16 bits are summed as float32."""
    dtype = dtype_of(a.X)
    wide = sum_dtype(dtype)
    bias = a.B if a.B is None or wide is None else c.cast(a.B, wide)
    return c.cast(with_bias(c, convolution(c, a, a.X, a.W, wide), bias), dtype)


def convolution(
    c: Converter, a: Any, data: relax.Expr, weight: relax.Expr, dtype: str | None = None, fill: relax.Expr | None = None
) -> relax.Expr:
    """Return a convolution with the attributes of the node, summed in `dtype`, by default that of the data; padding is `fill`,
    by default 0.
    """
    convolve = _CONVOLUTIONS[_spatial(c, data)]
    windows = windows_of(c, a, data, [d.value_of(dim) for dim in dims_of(weight)[2:]])
    pads = windows.pads
    if min(pads) < 0 or (fill is not None and any(pads)):
        data = padded(c, data, [(0, 0), (0, 0), *zip(windows.before, windows.after, strict=True)], "constant", fill)
        pads = [0] * len(pads)
    return convolve(data, weight, windows.strides, pads, windows.dilations, a.group, out_dtype=dtype)


@ROWS.row("ConvTranspose")
def _conv_transpose(c: Converter, a: Any) -> relax.Expr:
    """Return the transposed convolution; `output_shape` determines the padding if it is given."""
    spatial = _spatial(c, a.X)
    sizes = [d.value_of(dim) for dim in dims_of(a.W)[2:]]
    auto_pad, a.auto_pad = a.auto_pad, "NOTSET" if a.auto_pad == "NOTSET" else "VALID"
    windows = windows_of(c, a, a.X, sizes)
    extra = list(a.output_padding or [0] * spatial)
    before, after = windows.before, windows.after
    shape: list[Any] = a.output_shape or []
    if not shape and auto_pad.startswith("SAME"):
        shape = [d.multiply(dim, stride) for dim, stride in zip(dims_of(a.X)[2:], windows.strides, strict=True)]
    if shape:
        totals = [
            _total(c, *part)
            for part in zip(dims_of(a.X)[2:], windows.strides, windows.spans, extra, shape[-spatial:], strict=True)
        ]
        small, large = [total // 2 for total in totals], [total - total // 2 for total in totals]
        before, after = (small, large) if auto_pad == "SAME_UPPER" else (large, small)
    low, high = ([max(width, 0) for width in widths] for widths in (before, after))
    made = _TRANSPOSED[spatial](a.X, a.W, windows.strides, [*low, *high], extra, windows.dilations, a.group)
    missing = [(max(-first, 0), max(-last, 0)) for first, last in zip(before, after, strict=True)]
    return with_bias(c, padded(c, made, [(0, 0), (0, 0), *missing], "constant"), a.B)


def _total(c: Converter, dim: Any, stride: int, span: int, extra: int, wanted: Any) -> int:
    """Return the total padding of a dimension; a negative one extends it."""
    whole = d.add(d.multiply(d.subtract(dim, 1), stride), extra + span)
    total = d.value_of(d.subtract(whole, d.as_dim(wanted)))
    if total is None:
        raise c.unsupported("its padding depends on a size that is not known", "give the pads as numbers")
    return total


@ROWS.row("Col2Im")
def _columns_to_image(c: Converter, a: Any) -> relax.Expr:
    """Add blocks into the image: the transposed convolution of each channel with a kernel for each element of a block."""
    image, block = c.ints(a.image_shape, "the image's shape"), c.ints(a.block_shape, "the block's shape")
    spatial, count = len(image), prod(block)
    if not 1 <= spatial <= 3 or not 0 < count <= 4096:
        raise c.unsupported(f"it adds blocks of shape {block}", "use blocks of 1 to 3 dimensions and 4,096 elements")
    import numpy as np

    strides, dilations = a.strides or [1] * spatial, a.dilations or [1] * spatial
    pads = a.pads or [0] * 2 * spatial
    spans = [dilation * (size - 1) + 1 for dilation, size in zip(dilations, block, strict=True)]
    free = [
        length + pads[n] + pads[n + spatial] - span for n, (length, span) in enumerate(zip(image, spans, strict=True))
    ]
    windows = [rest // stride + 1 for rest, stride in zip(free, strides, strict=True)]
    extra = [rest % stride for rest, stride in zip(free, strides, strict=True)]
    batch, columns, _ = dims_of(a.input)
    channels = d.value_of(d.floordiv(columns, count))
    if channels is None:
        raise c.unsupported("the number of its channels is not known", "make it known")
    kernel = np.tile(np.eye(count), (channels, 1)).reshape(channels * count, 1, *block)
    blocks = op.reshape(a.input, c.shape((batch, columns, *windows)))
    weight = const(kernel, dtype_of(a.input))
    return _TRANSPOSED[spatial](blocks, weight, strides, pads, extra, dilations, channels)
