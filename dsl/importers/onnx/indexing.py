"""Rows for operators that read and write elements at indices."""

from __future__ import annotations

from typing import Any

from ....ir import relax, tir
from ....ir.api.relax import op
from ....ir.building.values import const
from ....ir.ops import dims as d
from ..slicing import sliced
from ..values import axis_of, dims_of, dtype_of, rank_of
from .converter import Converter
from .rows import Family

ROWS = Family()


def from_front(c: Converter, index: relax.Expr, size: tir.PrimExpr) -> relax.Expr:
    """Return indices counted from the front; negative ones count from the end."""
    if isinstance(index, relax.Constant):
        import numpy as np

        places: Any = np.asarray(index.data)
        length = d.value_of(size)
        if not (places < 0).any():
            return index
        if length is not None:
            return const(np.where(places < 0, places + length, places), dtype_of(index))
    zero = const(0, dtype_of(index))
    return op.where(op.less(index, zero), op.add(index, c.full(size, dtype_of(index))), index)


@ROWS.row("Gather")
def _gather(c: Converter, a: Any) -> relax.Expr:
    axis = axis_of(a.axis, rank_of(a.data))
    return op.take(a.data, from_front(c, a.indices, dims_of(a.data)[axis]), axis)


@ROWS.row("TensorScatter")
def _tensor_scatter(c: Converter, a: Any) -> relax.Expr:
    """Write `update` to the cache along an axis, for each element of the batch from its index on, in a ring if it is circular."""
    rank = rank_of(a.past_cache)
    axis = axis_of(a.axis, rank)
    if a.mode not in ("linear", "circular") or not 0 < axis < rank:
        raise ValueError(f"its mode is '{a.mode}', and its axis {a.axis}")
    order = [0, axis, *(place for place in range(1, rank) if place != axis)]
    past, update = (c.emit(op.permute_dims(x, order)) for x in (a.past_cache, a.update))
    (batch, length, *rest), count = dims_of(past), dims_of(update)[1]
    places = op.expand_dims(op.arange(0, length, 1, "int64"), [0])
    start = const(0, "int64") if a.write_indices is None else op.expand_dims(c.cast(a.write_indices, "int64"), [1])
    offset = op.broadcast_to(op.subtract(places, start), c.shape((batch, length)))
    offset = c.emit(op.floor_mod(offset, c.full(length, "int64")) if a.mode == "circular" else offset, "_offset")
    zero = const(0, "int64")
    is_new = op.logical_and(op.greater_equal(offset, zero), op.less(offset, c.full(count, "int64")))
    bounded = op.maximum(op.minimum(offset, c.full(d.subtract(count, 1), "int64")), zero)
    written = op.gather_nd(update, op.expand_dims(bounded, [-1]), batch_dims=1)
    is_new = op.reshape(is_new, c.shape((batch, length, *[1] * len(rest))))
    return op.permute_dims(op.where(is_new, written, past), [order.index(place) for place in range(rank)])


@ROWS.row("GatherElements")
def _gather_elements(c: Converter, a: Any) -> relax.Expr:
    axis = axis_of(a.axis, rank_of(a.data))
    x = a.data
    for place, size in enumerate(dims_of(a.indices)):
        x = x if place == axis else sliced(x, place, 0, size)
    return op.gather_elements(x, from_front(c, a.indices, dims_of(x)[axis]), axis)


@ROWS.row("GatherND")
def _gather_nd(c: Converter, a: Any) -> relax.Expr:
    batch = getattr(a, "batch_dims", 0)
    dims, places = dims_of(a.data), dims_of(a.indices)
    depth = d.value_of(places[-1])
    if depth is None:
        raise c.unsupported("the number of indexed dimensions depends on data", "make it known")
    lengths = [c.full(dim, dtype_of(a.indices)) for dim in dims[batch : batch + depth]]
    indices = a.indices
    if not isinstance(indices, relax.Constant) or bool((indices.data < 0).any()):
        length = op.stack(lengths, 0)
        indices = op.where(op.less(indices, const(0, dtype_of(indices))), op.add(indices, length), indices)
    return op.gather_nd(a.data, indices, batch)


_REDUCTIONS = {"none": "update", "add": "add", "mul": "mul", "max": "max", "min": "min"}


@ROWS.row("ScatterElements", "Scatter")
def _scatter_elements(c: Converter, a: Any) -> relax.Expr:
    axis = axis_of(a.axis, rank_of(a.data))
    reduction = _REDUCTIONS[getattr(a, "reduction", "none")]
    return op.scatter_elements(a.data, a.indices, a.updates, axis, reduction)


@ROWS.row("ScatterND")
def _scatter_nd(c: Converter, a: Any) -> relax.Expr:
    return op.scatter_nd(a.data, a.indices, a.updates, _REDUCTIONS[getattr(a, "reduction", "none")])


@ROWS.row("OneHot")
def _one_hot(c: Converter, a: Any) -> relax.Expr:
    """Return the second of `values` where an index has the position on the new axis, and the first elsewhere."""
    rank = rank_of(a.indices) + 1
    axis = axis_of(a.axis, rank)
    (depth,) = c.sizes(a.depth if dtype_of(a.depth) == "int64" else op.astype(a.depth, "int64"))
    indices = op.expand_dims(from_front(c, c.cast(a.indices, "int64"), d.as_dim(depth)), [axis])
    places = op.reshape(op.arange(0, d.as_dim(depth), 1, "int64"), c.shape((-1, *[1] * (rank - 1 - axis))))
    off, on = (op.take(a.values, const(place, "int64"), 0) for place in (0, 1))
    return op.where(op.equal(indices, places), on, off)


@ROWS.row("ReverseSequence")
def _reverse_sequence(c: Converter, a: Any) -> relax.Expr:
    """Reverse the first `sequence_lens` elements of each sequence."""
    dims = dims_of(a.input)
    rank = len(dims)

    def along(values: relax.Expr, axis: int) -> relax.Expr:
        return op.reshape(values, c.shape([-1 if place == axis else 1 for place in range(rank)]))

    time = along(op.arange(0, dims[a.time_axis], 1, "int64"), a.time_axis)
    length = along(c.cast(a.sequence_lens, "int64"), a.batch_axis)
    mirrored = op.subtract(op.subtract(length, const(1, "int64")), time)
    index = op.where(op.less(time, length), mirrored, time)
    return op.gather_elements(a.input, op.broadcast_to(index, c.shape(dims)), a.time_axis)


@ROWS.row("Trilu")
def _trilu(c: Converter, a: Any) -> relax.Expr:
    k = 0 if a.k is None else c.sizes(a.k)[0]
    part = op.triu if a.upper else op.tril
    dtype = dtype_of(a.input)
    return c.cast(part(c.cast(a.input, "int8") if dtype == "bool" else a.input, k), dtype)
