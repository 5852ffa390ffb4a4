"""Rows for operators that change shapes."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import Any

from ....ir import relax, tir
from ....ir.api.relax import op
from ....ir.building.values import apply, const
from ....ir.ops import dims as d
from ..slicing import repeated
from ..values import axis_of, dims_of, rank_of, static
from .converter import Converter
from .rows import Family

ROWS = Family()


@ROWS.row("Reshape")
def _reshape(c: Converter, a: Any) -> relax.Expr:
    """Before version 5, the shape is an attribute."""
    dims, keeps_zeros = dims_of(a.data), bool(getattr(a, "allowzero", 0))
    if isinstance(a.shape, relax.Expr) and c.elements(a.shape) is None:
        return _with_sizes(c, a.data, _resolved(c, a.shape, dims, keeps_zeros))
    sizes = c.sizes(a.shape)
    if not keeps_zeros:
        sizes = [dims[place] if size == 0 else size for place, size in enumerate(sizes)]
    if -1 in sizes:
        place = sizes.index(-1)
        rest = d.product([d.as_dim(size) for size in (*sizes[:place], *sizes[place + 1 :])])
        if d.value_of(rest) == 0:
            raise ValueError("the size that is -1 is ambiguous, because another size is 0")
        sizes[place] = d.floordiv(d.product(dims), rest)
    return op.reshape(a.data, c.shape(sizes))


def _resolved(c: Converter, shape: relax.Expr, dims: Sequence[tir.PrimExpr], keeps_zeros: bool) -> relax.Expr:
    """Return a shape that is known at run time with sizes in place of 0, that of the data, and -1, the rest."""
    count = d.value_of(d.product(dims_of(shape)))
    if count is None:
        raise c.unsupported("the number of sizes depends on data", "make their number known")
    zero, one = const(0, "int64"), const(1, "int64")
    shape = c.emit(op.reshape(c.cast(shape, "int64"), c.shape([count])), "_shape")
    if not keeps_zeros:
        kept = [*dims[:count], *[d.dim(0)] * (count - len(dims))]
        shape = c.emit(op.where(op.equal(shape, zero), apply("shape_to_tensor", c.shape(kept)), shape), "_shape")
    is_rest = c.emit(op.less(shape, zero), "_is_rest")
    others = op.prod(op.where(is_rest, one, shape))
    rest = op.floor_divide(c.full(d.as_dim(d.product(dims)), "int64"), op.maximum(others, one))
    return op.where(is_rest, rest, shape)


@ROWS.row("Flatten")
def _flatten(c: Converter, a: Any) -> relax.Expr:
    dims = dims_of(a.input)
    axis = a.axis + len(dims) if a.axis < 0 else a.axis
    return op.reshape(a.input, c.shape((d.product(dims[:axis]), d.product(dims[axis:]))))


@ROWS.row("Squeeze")
def _squeeze(c: Converter, a: Any) -> relax.Expr:
    """Remove dimensions of size 1; by default all, of which symbolic ones are not."""
    dims = dims_of(a.data)
    places = c.axes_at_run_time(a.axes, len(dims))
    if places is not None:
        return _squeezed(c, a.data, places)
    if a.axes is None:
        axes = [axis for axis, dim in enumerate(dims) if d.is_one(dim)]
    else:
        axes = [axis_of(axis, len(dims)) for axis in c.axes(a.axes)]
    if any(d.value_of(dims[axis]) not in (1, None) for axis in axes):
        raise ValueError(f"the axes {axes} of a tensor of shape {d.show(dims)} are not all of size 1")
    kept = [dim for axis, dim in enumerate(dims) if axis not in axes]
    if any(not d.is_one(dims[axis]) for axis in axes):
        return op.reshape(a.data, c.shape(kept))
    return op.squeeze(a.data, axes) if axes else a.data


def _squeezed(c: Converter, data: relax.Expr, places: relax.Expr) -> relax.Expr:
    """Return `data` without the dimensions `places`, which must differ; their number is known."""
    rank, count = rank_of(data), static(dims_of(places)[0]) or 0
    last = const([rank] * count, "int64")
    order = op.sort(op.scatter_elements(const(list(range(rank)), "int64"), places, last, 0))
    kept = op.strided_slice(order, [0], [0], [rank - count])
    return _with_sizes(c, data, op.take(_shape_of(c, data), kept, 0))


def _unsqueezed(c: Converter, data: relax.Expr, places: relax.Expr) -> relax.Expr:
    """Return `data` with dimensions of size 1 at `places`, which must differ; their number is known."""
    count = static(dims_of(places)[0]) or 0
    whole = rank_of(data) + count
    if whole == count:
        return op.reshape(data, c.shape([1] * count))
    zero, one = const(0, "int64"), const(1, "int64")
    ones = const([1] * whole, "int64")
    is_old = c.emit(op.scatter_elements(ones, places, const([0] * count, "int64"), 0), "_is_old")
    source = op.maximum(op.subtract(op.cumsum(is_old, 0), one), zero)
    return _with_sizes(c, data, op.where(op.equal(is_old, one), op.take(_shape_of(c, data), source, 0), ones))


def _shape_of(c: Converter, data: relax.Expr) -> relax.Expr:
    return apply("shape_to_tensor", c.shape(dims_of(data)))


def _with_sizes(c: Converter, data: relax.Expr, sizes: relax.Expr) -> relax.Expr:
    """Return `data` in a shape that is known at run time."""
    return op.reshape(data, c.shape(c.sizes(c.emit(sizes, "_shape"))))


@ROWS.row("Unsqueeze")
def _unsqueeze(c: Converter, a: Any) -> relax.Expr:
    if isinstance(a.axes, relax.Expr):
        places = c.axes_at_run_time(a.axes, rank_of(a.data) + (static(d.product(dims_of(a.axes))) or 0))
        if places is not None:
            return _unsqueezed(c, a.data, places)
    axes = c.axes(a.axes)
    rank = rank_of(a.data) + len(axes)
    return op.expand_dims(a.data, [axis_of(axis, rank) for axis in axes]) if axes else a.data


@ROWS.row("Transpose")
def _transpose(c: Converter, a: Any) -> relax.Expr:
    return op.permute_dims(a.data, a.perm) if rank_of(a.data) else a.data


@ROWS.row("Expand")
def _expand(c: Converter, a: Any) -> relax.Expr:
    """Broadcast in both directions; a size that is only known at run time is the larger one."""
    dims, sizes = list(dims_of(a.input)), [d.as_dim(size) for size in c.sizes(a.shape)]
    rank = max(len(dims), len(sizes))
    dims, sizes = ([d.dim(1)] * (rank - len(part)) + part for part in (dims, sizes))
    whole = [old if d.is_one(new) or (d.value_of(new) is None and not d.is_one(old)) else new
             for old, new in zip(dims, sizes, strict=True)]  # fmt: skip
    return op.broadcast_to(a.input, c.shape(whole))


@ROWS.row("Tile", since=6)
def _tile(c: Converter, a: Any) -> relax.Expr:
    return repeated(a.input, c.sizes(a.repeats)) if rank_of(a.input) else a.input


@ROWS.row("Tile")
def _tile_along_axis(c: Converter, a: Any) -> relax.Expr:
    """Before version 6, the inputs are one axis and the number of copies."""
    (axis,), (count,) = c.ints(a.axis, "the axis"), c.sizes(a.tiles)
    counts: list[Any] = [1] * rank_of(a.input)
    counts[axis] = count
    return repeated(a.input, counts)


@ROWS.row("Concat", since=4)
def _concat(c: Converter, a: Any) -> relax.Expr:
    return op.concat(a.inputs, axis_of(a.axis, rank_of(a.inputs[0]))) if len(a.inputs) > 1 else a.inputs[0]


@ROWS.row("Concat")
def _concat_channels(c: Converter, a: Any) -> relax.Expr:
    """Before version 4, the axis is optional."""
    a.axis = 1 if a.axis is None else a.axis
    return _concat(c, a)


@ROWS.row("DepthToSpace")
def _depth_to_space(c: Converter, a: Any) -> relax.Expr:
    batch, channels, height, width = dims_of(a.input)
    size, depth = a.blocksize, d.floordiv(channels, a.blocksize**2)
    is_columns = getattr(a, "mode", "DCR") == "CRD"
    split = (batch, depth, size, size, height, width) if is_columns else (batch, size, size, depth, height, width)
    order = [0, 1, 4, 2, 5, 3] if is_columns else [0, 3, 4, 1, 5, 2]
    moved = op.permute_dims(op.reshape(a.input, c.shape(split)), order)
    return op.reshape(moved, c.shape((batch, depth, d.multiply(height, size), d.multiply(width, size))))


@ROWS.row("SpaceToDepth")
def _space_to_depth(c: Converter, a: Any) -> relax.Expr:
    batch, channels, height, width = dims_of(a.input)
    size = a.blocksize
    rows, columns = d.floordiv(height, size), d.floordiv(width, size)
    split = op.reshape(a.input, c.shape((batch, channels, rows, size, columns, size)))
    order = [0, 1, 3, 5, 2, 4] if getattr(a, "mode", "DCR") == "CRD" else [0, 3, 5, 1, 2, 4]
    moved = op.permute_dims(split, order)
    return op.reshape(moved, c.shape((batch, d.multiply(channels, size**2), rows, columns)))


@ROWS.row("Constant")
def _constant(c: Converter, a: Any) -> relax.Expr:
    import numpy as np

    scalars = {"value_int": "int64", "value_ints": "int64", "value_float": "float32", "value_floats": "float32"}
    for name, dtype in scalars.items():
        if getattr(a, name, None) is not None:
            return const(getattr(a, name), dtype)
    if a.value is None and getattr(a, "sparse_value", None) is not None:
        return _dense(c, a.sparse_value)
    if isinstance(a.value, relax.Expr):
        return a.value
    words = a.value
    for name in ("value_string", "value_strings"):
        if getattr(a, name, None) is not None:
            words = np.array(getattr(a, name), object)
    if words is None:
        raise ValueError("it has no value")
    return c.texts(words)


def _dense(c: Converter, sparse: Any) -> relax.Expr:
    """Return a sparse tensor as a constant; its indices are positions, or places in row-major order."""
    import numpy as np

    values, indices, shape = c.tensors.array(sparse.values), c.tensors.array(sparse.indices), tuple(sparse.dims)
    if prod(shape) > _MOST_ELEMENTS:
        raise c.unsupported(f"its sparse tensor has the shape {list(shape)}", "store a dense tensor")
    made = np.zeros(shape, values.dtype)
    places = indices if indices.ndim == 1 else np.ravel_multi_index(tuple(indices.T), shape)
    made.reshape(-1)[places] = values
    return const(made)


_MOST_ELEMENTS = 2**24
"""Maximum number of elements of a constant that is stored as a sparse tensor."""
