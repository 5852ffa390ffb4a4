"""The row for deformable convolutions."""

from __future__ import annotations

from math import prod
from typing import Any

from ....ir import relax, tir
from ....ir.api.relax import op
from ....ir.building.values import const
from ....ir.ops import dims as d
from ..values import dims_of, dtype_of, rank_of
from .converter import Converter
from .convolution import with_bias
from .rows import Family
from .windows import Windows, windows_of

ROWS = Family()


@ROWS.row("DeformConv")
def _deformable(c: Converter, a: Any) -> relax.Expr:
    """Sample the data at the positions of each window, moved by `offset`, and multiply by the weights."""
    if rank_of(a.X) != 4:
        raise c.unsupported(f"it has {rank_of(a.X) - 2} spatial dimensions", "use 2")
    a.auto_pad = "NOTSET"
    windows = windows_of(c, a, a.X, [d.value_of(dim) for dim in dims_of(a.W)[2:]])
    (batch, channels, *lengths), (*_, high, wide) = dims_of(a.X), dims_of(a.offset)
    groups, taps = a.offset_group, prod(windows.sizes)
    rows = d.multiply(batch, groups)
    images = op.reshape(a.X, c.shape((rows, d.floordiv(channels, groups), *lengths)))
    moves = op.reshape(a.offset, c.shape((rows, taps, 2, high, wide)))
    places = [_positions(c, windows, moves, axis, count) for axis, count in enumerate((high, wide))]
    sampled = _sampled(c, images, places, lengths)
    if a.mask is not None:
        sampled = op.multiply(sampled, op.reshape(a.mask, c.shape((rows, 1, taps, high, wide))))
    columns = op.reshape(sampled, c.shape((batch, d.multiply(channels, taps), high, wide)))
    filters, width, *_ = dims_of(a.W)
    weight = op.reshape(a.W, c.shape((filters, d.multiply(width, taps), 1, 1)))
    return with_bias(c, op.nn.conv2d(columns, weight, groups=a.group), a.B)


def _positions(c: Converter, windows: Windows, moves: relax.Expr, axis: int, count: tir.PrimExpr) -> relax.Expr:
    """Return the positions (image, tap, row, column) of the samples along an axis, in pixels."""
    import numpy as np

    dtype, taps = dtype_of(moves), prod(windows.sizes)
    tap = np.indices(windows.sizes)[axis].reshape(1, taps, 1, 1) * windows.dilations[axis] - windows.before[axis]
    starts = op.multiply(c.cast(op.arange(0, count, 1, "int64"), dtype), const(windows.strides[axis], dtype))
    starts = op.reshape(starts, c.shape((1, 1, -1, 1) if axis == 0 else (1, 1, 1, -1)))
    move = op.squeeze(op.strided_slice(moves, [2], [axis], [axis + 1]), [2])
    return c.emit(op.add(op.add(move, const(tap, dtype)), starts), f"_positions{axis}")


def _sampled(c: Converter, images: relax.Expr, places: list[relax.Expr], lengths: list[tir.PrimExpr]) -> relax.Expr:
    """Return the bilinear interpolation (image, channel, tap, row, column) of images, which are 0 outside, at positions."""
    pixels = c.emit(op.permute_dims(images, [0, 2, 3, 1]), "_pixels")
    sides = [_neighbors(c, place, length) for place, length in zip(places, lengths, strict=True)]
    total: relax.Expr | None = None
    for row, row_part in sides[0]:
        for column, column_part in sides[1]:
            found = op.gather_nd(pixels, op.stack([row, column], -1), batch_dims=1)
            summand = op.multiply(found, op.expand_dims(op.multiply(row_part, column_part), [-1]))
            total = summand if total is None else op.add(total, summand)
    return op.permute_dims(c.emit(total, "_samples"), [0, 4, 1, 2, 3])  # type: ignore[reportArgumentType]


def _neighbors(c: Converter, place: relax.Expr, length: tir.PrimExpr) -> list[tuple[relax.Expr, relax.Expr]]:
    """Return the two pixels around each position along an axis, and their weights, which are 0 outside of the image."""
    dtype = dtype_of(place)
    low = c.emit(op.floor(place), "_low")
    part = c.emit(op.subtract(place, low), "_part")
    last = d.subtract(length, 1)
    zero, one, largest = const(0, dtype), const(1, dtype), c.full(last, dtype)
    found: list[tuple[relax.Expr, relax.Expr]] = []
    for pixel, weight in ((low, op.subtract(one, part)), (c.emit(op.add(low, one), "_high"), part)):
        is_inside = op.logical_and(op.greater_equal(pixel, zero), op.less_equal(pixel, largest))
        bounded = op.maximum(op.minimum(op.astype(pixel, "int64"), c.full(last, "int64")), const(0, "int64"))
        found.append((c.emit(bounded), c.emit(op.where(is_inside, weight, zero))))
    return found
