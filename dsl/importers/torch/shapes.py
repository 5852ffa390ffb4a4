"""Rows for operators that reshape, concatenate, slice, repeat and pad tensors."""

from __future__ import annotations

from typing import Any

from ....ir import relax, tir
from ....ir.api.relax import op
from ....ir.building.values import const
from ....ir.ops import dims as d
from ..slicing import position, repeated, sliced
from ..values import axis_of, dims_of, dtype_of, rank_of, static
from .converter import Convert, Converter
from .elementwise import number

_END = 2**62
"""Ends of slices from this value on mean the end of the dimension."""


def reshaped(c: Converter, a: Any) -> relax.Expr:
    """Reshape the tensor to the shape of the result."""
    return op.reshape(a.self, c.shape)


def _permute(c: Converter, a: Any) -> relax.Expr:
    rank = rank_of(a.self)
    return op.permute_dims(a.self, [axis_of(axis, rank) for axis in a.dims]) if rank else a.self


def _transpose(c: Converter, a: Any) -> relax.Expr:
    rank = rank_of(a.self)
    if not rank:
        return a.self
    order = list(range(rank))
    first, second = axis_of(a.dim0, rank), axis_of(a.dim1, rank)
    order[first], order[second] = order[second], order[first]
    return op.permute_dims(a.self, order)


def _matrix_transpose(c: Converter, a: Any) -> relax.Expr:
    return op.permute_dims(a.self, [1, 0]) if rank_of(a.self) == 2 else a.self


def _move(c: Converter, a: Any) -> relax.Expr:
    rank = rank_of(a.self)
    sources = [axis_of(axis, rank) for axis in ([a.source] if isinstance(a.source, int) else a.source)]
    targets = [axis_of(axis, rank) for axis in ([a.destination] if isinstance(a.destination, int) else a.destination)]
    placed = dict(zip(targets, sources, strict=True))
    others = iter(axis for axis in range(rank) if axis not in sources)
    return op.permute_dims(a.self, [placed[axis] if axis in placed else next(others) for axis in range(rank)])


def _unsqueeze(c: Converter, a: Any) -> relax.Expr:
    return op.expand_dims(a.self, a.dim)


def _squeeze(c: Converter, a: Any) -> relax.Expr:
    """Remove those of the dimensions that have size 1."""
    given, rank = getattr(a, "dim", None), rank_of(a.self)
    named = range(rank) if given is None else [given] if isinstance(given, int) else given
    dims = dims_of(a.self)
    axes = [axis for axis in named if rank and d.is_one(dims[axis])]
    if given is None and axes and all(d.value_of(dim) is not None for dim in dims):
        return op.squeeze(a.self)
    return op.squeeze(a.self, axes) if axes else a.self


def _expand(c: Converter, a: Any) -> relax.Expr:
    return op.broadcast_to(a.self, c.shape)


def _repeat(c: Converter, a: Any) -> relax.Expr:
    return repeated(a.self, list(getattr(a, "repeats", None) or getattr(a, "dims", None) or ()))


def _repeat_interleave(c: Converter, a: Any) -> relax.Expr:
    x, axis = (op.reshape(a.self, [-1]), 0) if a.dim is None else (a.self, axis_of(a.dim, rank_of(a.self)))
    count = static(a.repeats)
    if count is None:
        raise c.unsupported("repeats elements an unknown number of times", "make the number static")
    return op.repeat(x, count, axis)


def _concat(c: Converter, a: Any) -> relax.Expr:
    """Concatenate the tensors; torch ignores empty vectors."""
    rank = len(c.shape)
    parts = [c.tensor(part, c.dtype) for part in a.tensors if rank_of(part) == rank]
    return parts[0] if len(parts) == 1 else op.concat(parts, a.dim)


def _stack(c: Converter, a: Any) -> relax.Expr:
    return op.stack([c.tensor(part, c.dtype) for part in a.tensors], a.dim)


# --- Cutting ----------------------------------------------------------------------------------------------------


def _slice(c: Converter, a: Any) -> relax.Expr:
    axis = axis_of(a.dim, rank_of(a.self))
    begin = position(0 if a.start is None else a.start, dims_of(a.self)[axis]) if a.start else d.dim(0)
    step = static(a.step)
    if step is None:
        raise c.unsupported("slices with unknown steps", "make the step static")
    return sliced(a.self, axis, begin, c.shape[axis], step)


def _narrow(c: Converter, a: Any) -> relax.Expr:
    axis = axis_of(a.dim, rank_of(a.self))
    size = dims_of(a.self)[axis]
    begin = position(a.start, size)
    start, length, limit = d.value_of(begin), static(a.length), d.value_of(size)
    if start is not None and length is not None and limit not in (None, length):
        return op.strided_slice(a.self, [a.dim], [start], [start + length])
    return sliced(a.self, axis, begin, a.length)


def _select(c: Converter, a: Any) -> relax.Expr:
    axis = axis_of(a.dim, rank_of(a.self))
    index, size = static(a.index), dims_of(a.self)[axis]
    length = d.value_of(size)
    if index is not None and (index >= 0 or length is not None):
        return op.take(a.self, const(index if index >= 0 or length is None else index + length, "int64"), a.dim)
    begin = d.as_dim(a.index) if index is None else d.add(size, index)
    return op.squeeze(op.strided_slice(a.self, [axis], [begin], [d.add(begin, 1)], [1]), [axis])


def _shapes(c: Converter) -> list[Any]:
    """Return the shapes of the parts, as torch inferred them."""
    return [c.symbols.dims(part.shape) for part in c.node.meta["val"]]


def _cut(c: Converter, x: relax.Expr, axis: int) -> list[Any]:
    """Split `x` along `axis` into the parts of torch's result, each computed on demand."""
    lengths = [shape[axis] for shape in _shapes(c)]
    numbers = [d.value_of(length) for length in lengths]
    if None not in numbers and len(numbers) > 1:
        ends = [sum(numbers[: place + 1]) for place in range(len(numbers) - 1)]  # type: ignore[reportArgumentType]
        equal = len(set(numbers)) == 1
        parts: Any = c.emit(op.split(x, len(numbers) if equal else ends, axis), "_parts")
        return [parts[place] for place in range(len(numbers))]
    starts: list[tir.PrimExpr] = [d.dim(0)]
    for length in lengths[:-1]:
        starts.append(d.add(starts[-1], length))
    return [sliced(x, axis, start, length) for start, length in zip(starts, lengths, strict=True)]


def _split(c: Converter, a: Any) -> list[Any]:
    return _cut(c, a.self, axis_of(a.dim, rank_of(a.self)))


def _unbind(c: Converter, a: Any) -> list[Any]:
    x, axis = a.self, axis_of(a.dim, rank_of(a.self))
    count = len(c.node.meta["val"])
    if count == 1:
        return [op.squeeze(x, [axis])]
    parts: Any = c.emit(op.split(x, count, axis), "_parts")
    return [op.squeeze(parts[place], [axis]) for place in range(count)]


def _diagonal(c: Converter, a: Any) -> relax.Expr:
    """Return the diagonal of two dimensions: element i of row i, or of row i shifted by an offset."""
    rank = rank_of(a.self)
    first, second = axis_of(a.dim1, rank), axis_of(a.dim2, rank)
    others = [axis for axis in range(rank) if axis not in (first, second)]
    x = op.permute_dims(a.self, [first, second, *others])
    places = op.arange(0, c.shape[-1], 1, "int64")
    offset = number(abs(a.offset), places)
    shifted = op.add(places, offset) if a.offset else places
    rows, columns = (places, shifted) if a.offset >= 0 else (shifted, places)
    found = op.index_tensor(x, (rows, columns))
    return op.permute_dims(found, [*range(1, rank - 1), 0]) if others else found


def _flip(c: Converter, a: Any) -> relax.Expr:
    x = a.self
    for axis in a.dims:
        x = op.flip(x, axis_of(axis, rank_of(x)))
    return x


def _roll(c: Converter, a: Any) -> relax.Expr:
    """Rotate the tensor: its last elements move to the front."""
    shifts: list[Any] = a.shifts
    axes: list[int] = a.dims
    if not axes:
        flat = _rolled(c, op.reshape(a.self, [-1]), 0, shifts[0])
        return op.reshape(flat, c.shape)
    x = a.self
    for shift, axis in zip(shifts, axes, strict=True):
        x = _rolled(c, x, axis_of(axis, rank_of(x)), shift)
    return x


def _rolled(c: Converter, x: relax.Expr, axis: int, shift: Any) -> relax.Expr:
    size, count = dims_of(x)[axis], static(shift)
    if count is None or (d.value_of(size) is None and abs(count) > 1):
        raise c.unsupported("rolls a dimension of unknown size", "make the size and the shift static")
    length = d.value_of(size)
    by = count % length if length else count
    if not by or length == 0:
        return x
    start = d.subtract(size, by) if by > 0 else d.dim(-by)
    front = c.emit(sliced(x, axis, 0, start), "_front")
    return op.concat([sliced(x, axis, start, d.subtract(size, start)), front], axis)


def _unfold(c: Converter, a: Any) -> relax.Expr:
    """Return the windows of `size` along a dimension as a new last dimension."""
    x = a.self
    rank = rank_of(x)
    axis = axis_of(a.dimension, rank)
    count = c.shape[axis]
    starts = op.multiply(op.arange(0, count, 1, "int64"), const(a.step, "int64"))
    places = op.add(op.expand_dims(starts, 1), op.expand_dims(op.arange(0, a.size, 1, "int64"), 0))
    taken = op.take(x, places, axis)
    order = [*range(axis + 1), *range(axis + 2, rank + 1), axis + 1]
    return op.permute_dims(taken, order)


def _pixel_shuffle(c: Converter, a: Any) -> relax.Expr:
    return op.nn.pixel_shuffle(a.self, a.upscale_factor)


def _pixel_unshuffle(c: Converter, a: Any) -> relax.Expr:
    factor, rank = a.downscale_factor, rank_of(a.self)
    *batch, channels, height, width = dims_of(a.self)
    small = [d.floordiv(height, factor), d.floordiv(width, factor)]
    x = op.reshape(a.self, [*batch, channels, small[0], factor, small[1], factor])
    front = list(range(rank - 2))
    return op.reshape(op.permute_dims(x, [*front, rank - 1, rank + 1, rank - 2, rank]), c.shape)


def _channel_shuffle(c: Converter, a: Any) -> relax.Expr:
    batch, channels, *rest = dims_of(a.self)
    x = op.reshape(a.self, [batch, a.groups, d.floordiv(channels, a.groups), *rest])
    return op.reshape(op.permute_dims(x, [0, 2, 1, *range(3, 3 + len(rest))]), c.shape)


def _as_strided(c: Converter, a: Any) -> relax.Expr:
    """Return the elements at given strides, by their indices in the flattened tensor."""
    sizes: list[Any] = [static(size) for size in a.size]
    strides: list[Any] = [static(stride) for stride in a.stride]
    if None in sizes or None in strides:
        raise c.unsupported("reads memory at unknown strides", "make the sizes static")
    import numpy

    np: Any = numpy

    places = np.array(a.storage_offset or 0, "int64")
    for size, stride in zip(sizes, strides, strict=True):
        places = places[..., None] + np.arange(size) * stride
    return op.take(op.reshape(a.self, [-1]), const(places), 0)


# --- Padding ----------------------------------------------------------------------------------------------------


def padded(x: relax.Expr, pad: list[Any], mode: str, value: float = 0.0) -> relax.Expr:
    """Pad `x` with widths in torch's order: the last dimension first, start before end; negative widths crop."""
    rank = rank_of(x)
    widths = [(0, 0)] * (rank - len(pad) // 2) + [(pad[i], pad[i + 1]) for i in range(len(pad) - 2, -1, -2)]
    for axis, (before, after) in enumerate(widths):
        if before < 0 or after < 0:
            size = d.add(dims_of(x)[axis], min(before, 0) + min(after, 0))
            x = sliced(x, axis, max(-before, 0), size)
    added = [max(width, 0) for pair in widths for width in pair]
    return op.nn.pad(x, added, mode, value) if any(added) else x


def _constant_pad(c: Converter, a: Any) -> relax.Expr:
    if dtype_of(a.self) == "bool":
        return c.cast(padded(c.cast(a.self, "int8"), a.pad, "constant", float(a.value)), "bool")
    return padded(a.self, a.pad, "constant", float(a.value))


def _pad(mode: str) -> Convert:
    return lambda c, a: padded(a.self, a.padding if hasattr(a, "padding") else a.pad, mode)


def _pad_by_name(c: Converter, a: Any) -> relax.Expr:
    names = {"constant": "constant", "reflect": "reflect", "replicate": "replicate", "circular": "circular"}
    return padded(a.self, a.pad, names[a.mode], float(a.value or 0))


_RESHAPES = (
    "view.default", "reshape.default", "_unsafe_view.default", "flatten.using_ints", "unflatten.int", "view_as.default",
    "ravel.default", "_reshape_alias.default", "view_copy.default", "reshape_as.default", "_reshape_copy.default",
)  # fmt: skip

ROWS: dict[str, Convert] = {
    **dict.fromkeys(_RESHAPES, reshaped),
    "permute.default": _permute,
    "permute_copy.default": _permute,
    "transpose.int": _transpose,
    "swapaxes.default": lambda c, a: _transpose(c, _renamed(a, dim0=a.axis0, dim1=a.axis1)),
    "swapdims.default": _transpose,
    "t.default": _matrix_transpose,
    "numpy_T.default": lambda c, a: op.permute_dims(a.self),
    "movedim.int": _move,
    "movedim.intlist": _move,
    "unsqueeze.default": _unsqueeze,
    **{f"squeeze.{overload}": _squeeze for overload in ("default", "dim", "dims")},
    "expand.default": _expand,
    "expand_as.default": _expand,
    "expand_copy.default": _expand,
    "broadcast_to.default": _expand,
    "repeat.default": _repeat,
    "tile.default": _repeat,
    "repeat_interleave.self_int": _repeat_interleave,
    "cat.default": _concat,
    "concat.default": _concat,
    "stack.default": _stack,
    "slice.Tensor": _slice,
    "narrow.default": _narrow,
    "select.int": _select,
    "split.Tensor": _split,
    "split_with_sizes.default": _split,
    "chunk.default": _split,
    "tensor_split.sections": _split,
    "tensor_split.indices": _split,
    "unbind.int": _unbind,
    "diagonal.default": _diagonal,
    "flip.default": _flip,
    "roll.default": _roll,
    "unfold.default": _unfold,
    "as_strided.default": _as_strided,
    "pixel_shuffle.default": _pixel_shuffle,
    "pixel_unshuffle.default": _pixel_unshuffle,
    "channel_shuffle.default": _channel_shuffle,
    "native_channel_shuffle.default": _channel_shuffle,
    "constant_pad_nd.default": _constant_pad,
    **{f"reflection_pad{n}d.default": _pad("reflect") for n in (1, 2, 3)},
    **{f"replication_pad{n}d.default": _pad("replicate") for n in (1, 2, 3)},
    "_pad_circular.default": _pad("circular"),
    "pad.default": _pad_by_name,
}


def _renamed(a: Any, **names: Any) -> Any:
    """Return the arguments with some also under other names."""
    from types import SimpleNamespace

    return SimpleNamespace(**(vars(a) | names))
