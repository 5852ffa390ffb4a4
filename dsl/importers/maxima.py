"""Positions of the maxima of windows."""

from __future__ import annotations

from collections.abc import Sequence
from math import inf
from typing import Any

from ...ir import relax
from ...ir.api.relax import op
from ...ir.building.values import const
from ...ir.dtype import int_range
from .values import dims_of, dtype_of, is_floating


def maximum_places(
    x: relax.Expr,
    lengths: Sequence[int],
    counts: Sequence[int],
    windows: tuple[Sequence[int], Sequence[int], Sequence[int], Sequence[int]],
    is_column_major: bool = False,
) -> relax.Expr:
    """Return the index of the maximum of each window, in the flattened data of a channel.

    `x` has shape (N, C, *lengths), the result (N, C, *counts); `windows` are the sizes, strides, dilations, and the padding
    before each dimension. In column-major order, the first dimension varies fastest.
    """
    import numpy

    np: Any = numpy
    spatial = len(lengths)
    lowest = -inf if is_floating(dtype_of(x)) else int_range(dtype_of(x))[0]
    column, place, inside, weight = x, np.zeros((), "int64"), np.ones((), bool), 1
    for axis, (length, count) in enumerate(zip(lengths, counts, strict=True)):
        size, stride, dilation, before = (part[axis] for part in windows)
        source = (np.arange(count) * stride - before)[:, None] + np.arange(size) * dilation
        is_in = (source >= 0) & (source < length)
        column = op.take(column, const(np.where(is_in, source, 0)), 2 + 2 * axis)
        here = place[..., None, None]
        place = here + source * weight if is_column_major else here * length + source
        weight *= length
        inside = inside[..., None, None] & is_in
    order = [*range(0, 2 * spatial, 2), *range(1, 2 * spatial, 2)]
    hidden = op.where(const(inside), column, const(lowest, dtype_of(x)))
    hidden = op.permute_dims(hidden, [0, 1, *(2 + axis for axis in order)])
    batch = dims_of(x)[:2]
    best = op.argmax(op.reshape(hidden, [*batch, *counts, -1]), -1, True)
    places = np.transpose(place, order).reshape(1, 1, *counts, -1)
    every = op.broadcast_to(const(places), [*batch, *counts, places.shape[-1]])
    return op.squeeze(op.gather_elements(every, best, -1), [-1])
