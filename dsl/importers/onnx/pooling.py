"""Rows for pooling."""

from __future__ import annotations

from math import prod
from typing import Any, cast

from ....ir import relax
from ....ir.api.relax import op
from ....ir.building.values import const
from ....ir.ops import dims as d
from ..maxima import maximum_places
from ..slicing import sliced
from ..values import dims_of, dtype_of, rank_of
from .converter import Converter
from .cutting import padded
from .rows import Family
from .windows import Windows, windows_of

ROWS = Family()
_MAXIMA = {1: op.nn.max_pool1d, 2: op.nn.max_pool2d, 3: op.nn.max_pool3d}
_MEANS = {1: op.nn.avg_pool1d, 2: op.nn.avg_pool2d, 3: op.nn.avg_pool3d}


def _windows(c: Converter, a: Any) -> Windows:
    if not 1 <= rank_of(a.X) - 2 <= 3:
        raise c.unsupported(f"it has {rank_of(a.X) - 2} spatial dimensions", "use 1, 2 or 3")
    return windows_of(c, a, a.X, a.kernel_shape)


def _trimmed(a: Any, windows: Windows, made: relax.Expr) -> relax.Expr:
    """Drop the windows that start in the padding after the data, which `ceil_mode` adds."""
    if not getattr(a, "ceil_mode", 0):
        return made
    for n, (dim, stride) in enumerate(zip(dims_of(a.X)[2:], windows.strides, strict=True)):
        count = dims_of(made)[2 + n]
        most = d.minimum(count, d.ceildiv(d.add(dim, windows.before[n]), stride))
        made = sliced(made, 2 + n, 0, most)
    return made


@ROWS.row("MaxPool")
def _max_pool(c: Converter, a: Any) -> Any:
    """Return the maxima of windows and, on request, their positions in the flattened data."""
    windows = _windows(c, a)
    x = a.X
    pool = _MAXIMA[len(windows.sizes)]
    made = pool(x, windows.sizes, windows.strides, windows.pads, windows.dilations, bool(getattr(a, "ceil_mode", 0)))
    made = _trimmed(a, windows, made)
    if len(c.node.output) < 2 or not c.node.output[1]:
        return made
    made = c.emit(made)
    lengths, counts = ([d.value_of(dim) for dim in dims_of(value)[2:]] for value in (x, made))
    if None in (*lengths, *counts):
        raise c.unsupported("it asks for positions in data of unknown size", "make the sizes known")
    parts = windows.sizes, windows.strides, windows.dilations, windows.before
    places = maximum_places(x, cast("list[int]", lengths), cast("list[int]", counts), parts, bool(a.storage_order))
    batch, channels = dims_of(x)[:2]
    first = op.multiply(
        op.arange(0, d.multiply(batch, channels), 1, "int64"), const(prod(cast("list[int]", lengths)), "int64")
    )
    return made, op.add(places, op.reshape(first, c.shape((batch, channels, *[1] * len(lengths)))))


@ROWS.row("AveragePool")
def _average_pool(c: Converter, a: Any) -> relax.Expr:
    windows = _windows(c, a)
    counts_padding = bool(getattr(a, "count_include_pad", 0))
    if set(windows.dilations) != {1} or min(windows.pads) < 0:
        ones = op.ones(c.shape((1, 1, *dims_of(a.X)[2:])), dtype_of(a.X))
        total = _sum(c, a, a.X, windows)
        return _trimmed(a, windows, op.divide(total, _sum(c, a, ones, windows, float(counts_padding))))
    pool = _MEANS[len(windows.sizes)]
    made = pool(
        a.X,
        windows.sizes,
        windows.strides,
        windows.pads,
        windows.dilations,
        bool(getattr(a, "ceil_mode", 0)),
        counts_padding,
    )
    return _trimmed(a, windows, made)


def _sum(c: Converter, a: Any, x: relax.Expr, windows: Windows, value: float = 0.0) -> relax.Expr:
    """Return the sums of windows, with `value` as padding and 0 for what `ceil_mode` adds."""
    plain = [(0, 0), (0, 0)]
    whole = padded(
        c, x, [*plain, *zip(windows.before, windows.after, strict=True)], "constant", const(value, dtype_of(x))
    )
    if getattr(a, "ceil_mode", 0):
        whole = padded(c, whole, [*plain, *((0, stride - 1) for stride in windows.strides)], "constant")
    pool = _MEANS[len(windows.sizes)]
    mean = pool(whole, windows.sizes, windows.strides, 0, windows.dilations, False, True)
    return op.multiply(mean, const(prod(windows.sizes), dtype_of(x)))


def _power(x: relax.Expr, p: int) -> relax.Expr:
    return x if p == 1 else op.square(x) if p == 2 else op.power(x, const(p, dtype_of(x)))


def _root(x: relax.Expr, p: int) -> relax.Expr:
    return x if p == 1 else op.sqrt(x) if p == 2 else op.power(x, const(1 / p, dtype_of(x)))


@ROWS.row("LpPool")
def _lp_pool(c: Converter, a: Any) -> relax.Expr:
    """Return the norms of windows."""
    windows, p = _windows(c, a), int(a.p or 2)
    return _root(_trimmed(a, windows, _sum(c, a, _power(op.abs(a.X), p), windows)), p)


@ROWS.row("GlobalLpPool")
def _global_lp_pool(c: Converter, a: Any) -> relax.Expr:
    p = int(a.p or 2)
    return _root(op.sum(_power(op.abs(a.X), p), list(range(2, rank_of(a.X))), True), p)


@ROWS.row("GlobalAveragePool")
def _global_average_pool(c: Converter, a: Any) -> relax.Expr:
    return op.mean(a.X, list(range(2, rank_of(a.X))), True)


@ROWS.row("GlobalMaxPool")
def _global_max_pool(c: Converter, a: Any) -> relax.Expr:
    return op.max(a.X, list(range(2, rank_of(a.X))), True)


@ROWS.row("MaxUnpool")
def _max_unpool(c: Converter, a: Any) -> relax.Expr:
    """Write elements at the positions of the maxima of a pooling, and zeros elsewhere."""
    a.auto_pad = "NOTSET"
    windows = _windows(c, a)
    batch, channels, *counts = dims_of(a.X)
    lengths = [
        d.add(d.multiply(d.subtract(count, 1), stride), size - before - after)
        for count, stride, size, before, after in zip(
            counts, windows.strides, windows.sizes, windows.before, windows.after, strict=True
        )
    ]
    shape = (batch, channels, *lengths)
    empty = op.zeros(c.shape((d.product(shape),)), dtype_of(a.X))
    flat = (op.reshape(value, c.shape((-1,))) for value in (a.I, a.X))
    made = op.reshape(op.scatter_elements(empty, *flat, 0), c.shape(shape))
    if a.output_shape is None:
        return made
    wanted = c.sizes(a.output_shape)
    return padded(
        c, made, [(0, d.subtract(d.as_dim(size), dim)) for size, dim in zip(wanted, shape, strict=True)], "constant"
    )


@ROWS.row("MaxRoiPool")
def _max_roi_pool(c: Converter, a: Any) -> relax.Expr:
    return op.vision.roi_pool(a.X, a.rois, tuple(a.pooled_shape), a.spatial_scale)
