"""Rows for slices, parts and padding."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, cast

from ....ir import relax, tir
from ....ir.api.relax import op
from ....ir.building.values import const
from ....ir.ops import dims as d
from ....ir.ops.inference import tensor_info
from ..slicing import position, sliced
from ..values import axis_of, dims_of, dtype_of, rank_of, static
from .converter import Converter
from .rows import Family

ROWS = Family()
_END = 2**62
"""Magnitude of bounds that lie beyond every dimension."""


@ROWS.row("Slice")
def _slice(c: Converter, a: Any) -> relax.Expr:
    """Return the elements between bounds as in Python; before version 10, they are attributes."""
    steps_given = getattr(a, "steps", None)
    parts = (a.starts, a.ends, a.axes, steps_given)
    if any(isinstance(part, relax.Expr) and c.elements(part) is None for part in parts):
        return _slice_at_run_time(c, a)
    starts, ends = c.sizes(a.starts), c.sizes(a.ends)
    axes = list(range(len(starts))) if a.axes is None else c.axes(a.axes)
    steps = [1] * len(starts) if steps_given is None else c.ints(steps_given, "the steps")
    x = a.data
    for start, end, axis, step in zip(starts, ends, axes, steps, strict=True):
        x = _sliced(x, axis_of(axis, rank_of(a.data)), start, end, step)
    return x


def _sliced(x: relax.Expr, axis: int, start: Any, end: Any, step: int) -> relax.Expr:
    """Return `x[start:end:step]` along `axis`; a symbolic bound must not be negative."""
    size = dims_of(x)[axis]
    start, end = (_bounded(bound) for bound in (start, end))
    first, last, length = static(start), static(end), static(size)
    if first is not None and last is not None and length is not None:
        places = range(*slice(first, last, step).indices(length))
        if step < 0 and places:
            return op.strided_slice(x, [axis], [places[0]], [places[-1] - 1 - (length + 1) * (places[-1] == 0)], [step])
        return sliced(x, axis, places.start if places else 0, len(places), step if places else 1)
    if step < 0:  # x[start:end:-step] is flip(x)[-1 - start : -1 - end : step]
        mirrored = [d.subtract(d.dim(-1), bound) for bound in (start, end)]
        return _sliced(op.flip(x, axis), axis, mirrored[0], mirrored[1], -step)
    begin, stop = position(start, size), position(end, size)
    if last is not None and last >= 2**31 - 1:
        stop = size
    count = d.floordiv(d.add(d.subtract(stop, begin), step - 1), step)
    return sliced(x, axis, begin, count if d.value_of(begin) == 0 else d.maximum(count, 0), step)


def _bounded(bound: Any) -> Any:
    """Return a bound of a slice; numbers beyond every dimension become smaller, so that arithmetic on them does not overflow."""
    number = static(bound)
    return bound if number is None else min(max(number, -_END), _END)


def _slice_at_run_time(c: Converter, a: Any) -> relax.Expr:
    """Return a slice between bounds in tensors that are not known; dimensions that are not among known axes keep their sizes."""
    rank = rank_of(a.data)
    count = static(dims_of(a.starts)[0])
    places = c.axes_at_run_time(a.axes, rank)
    if places is None:
        given_axes = c.axes(a.axes) if a.axes is not None else list(range(count or 0))
        axes = [axis_of(axis, rank) for axis in given_axes]
        places = const(axes, "int64")
    else:
        axes = list(range(rank))
    bounds = [
        _whole(c, given, places, rank, default)
        for given, default in ((a.starts, 0), (a.ends, _END), (getattr(a, "steps", None), 1))
    ]
    found = c.emit(op.dynamic_strided_slice(a.data, *bounds), "_slice")
    dims = [c.new_size(f"{c.value_name()}_dim{axis}") if axis in axes else dim
            for axis, dim in enumerate(dims_of(a.data))]  # fmt: skip
    return c.block_builder.match_cast(found, tensor_info(dims, dtype_of(a.data)), c.unique(c.value_name()))


def _whole(c: Converter, given: relax.Expr | None, axes: relax.Expr, rank: int, default: int) -> relax.Expr:
    """Return one bound for each dimension, of which `given` has those of `axes`."""
    every = const([default] * rank, "int64")
    if given is None:
        return every
    return op.scatter_elements(every, axes, c.cast(given, "int64"), 0)


@ROWS.row("Split")
def _split(c: Converter, a: Any) -> Any:
    """Return the parts; their sizes are given, or equal except for a smaller last one."""
    axis = axis_of(a.axis, rank_of(a.input))
    size = dims_of(a.input)[axis]
    sizes = None if a.split is None else c.sizes(a.split)
    count = getattr(a, "num_outputs", None) or len(c.node.output)
    length = d.value_of(size)
    if sizes is None:
        part = d.ceildiv(size, count)
        sizes = [*[part] * (count - 1), d.subtract(size, d.multiply(part, count - 1))]
    if len(sizes) == 1:
        return [a.input]
    numbers = [static(number) for number in sizes]
    if None not in numbers and length is not None:
        ends = [sum(cast("list[int]", numbers[: place + 1])) for place in range(len(numbers))]
        if ends[-1] != length:
            raise ValueError(f"the parts have {ends[-1]} elements, but the dimension {length}")
        parts = c.emit(op.split(a.input, len(sizes) if len(set(numbers)) == 1 else ends[:-1], axis), "_parts")
        return [relax.TupleGetItem(parts, place) for place in range(len(sizes))]
    starts: list[tir.PrimExpr] = [d.dim(0)]
    for number in sizes[:-1]:
        starts.append(d.add(starts[-1], d.as_dim(number)))
    return [sliced(a.input, axis, start, number) for start, number in zip(starts, sizes, strict=True)]


# --- Padding ----------------------------------------------------------------------------------------------------

_MODES = {"reflect": "reflect", "edge": "replicate", "wrap": "circular"}


@ROWS.row("Pad", since=11)
def _pad(c: Converter, a: Any) -> relax.Expr:
    """Pad by symbolic or constant widths; negative ones crop."""
    rank = rank_of(a.data)
    pads = c.sizes(a.pads)
    given = getattr(a, "axes", None)
    axes = list(range(rank)) if given is None else [axis_of(axis, rank) for axis in c.axes(given)]
    if len(pads) != 2 * len(axes):
        raise ValueError(f"{len(pads)} pads are given for {len(axes)} axes")
    widths: list[tuple[Any, Any]] = [(0, 0)] * rank
    for place, axis in enumerate(axes):
        widths[axis] = pads[place], pads[place + len(axes)]
    return padded(c, a.data, widths, a.mode, a.constant_value)


@ROWS.row("Pad")
def _pad_by_attributes(c: Converter, a: Any) -> relax.Expr:
    """Before version 11, the widths and the value are attributes."""
    pads = getattr(a, "pads", None) or a.paddings
    rank = rank_of(a.data)
    return padded(c, a.data, list(zip(pads[:rank], pads[rank:], strict=True)), a.mode, const(a.value, dtype_of(a.data)))


def padded(
    c: Converter, x: relax.Expr, widths: Sequence[tuple[Any, Any]], mode: str, value: relax.Expr | None = None
) -> relax.Expr:
    """Return `x` with elements before and after each dimension: `value`, by default 0, or elements of `x`."""
    x, added = _cropped(x, widths)
    numbers = [static(width) for pair in added for width in pair]
    if not any(number != 0 for number in numbers):
        return x
    dtype = dtype_of(x)
    fill = 0.0 if value is None else _plain_number(value)
    is_static = None not in numbers and (mode == "constant" or _fits(x, added, mode))
    if is_static and (fill is not None or mode != "constant"):
        kind = "int8" if dtype == "bool" else dtype
        made = op.nn.pad(c.cast(x, kind), cast("list[int]", numbers), _MODES.get(mode, "constant"), fill or 0.0)
        return c.cast(made, dtype)
    for axis, (before, after) in enumerate(added):
        if static(before) == 0 and static(after) == 0:
            continue
        if mode == "constant":
            x = _padded_with_number(c, x, axis, before, after, const(0, dtype) if value is None else value)
        else:
            x = _padded_with_elements(c, x, axis, before, after, mode)
    return x


def _cropped(x: relax.Expr, widths: Sequence[tuple[Any, Any]]) -> tuple[relax.Expr, list[tuple[Any, Any]]]:
    """Apply the negative widths, and return the others."""
    added: list[tuple[Any, Any]] = []
    for axis, pair in enumerate(widths):
        before, after = (static(width) for width in pair)
        crop = [min(width or 0, 0) for width in (before, after)]
        if any(crop):
            x = sliced(x, axis, -crop[0], d.add(dims_of(x)[axis], sum(crop)))
        added.append(tuple(0 if cut else width for width, cut in zip(pair, crop, strict=True)))  # type: ignore[arg-type]
    return x, added


def _plain_number(value: relax.Expr) -> float | None:
    """Return a constant as a float if it is one without rounding."""
    if not isinstance(value, relax.Constant):
        return None
    number: Any = value.data.reshape(-1)[0]
    return float(number) if number != number or float(number) == number else None


def _fits(x: relax.Expr, widths: Sequence[tuple[Any, Any]], mode: str) -> bool:
    """Return whether each element of the padding is one of the nearest period of the data."""
    for dim, pair in zip(dims_of(x), widths, strict=True):
        length = d.value_of(dim)
        if any(pair) and (length is None or max(pair) > length - (mode == "reflect") or not length):
            return False
    return True


def _padded_with_number(
    c: Converter, x: relax.Expr, axis: int, before: Any, after: Any, value: relax.Expr
) -> relax.Expr:
    dims = list(dims_of(x))
    fill = op.reshape(value, c.shape(()))

    def block(width: Any) -> list[relax.Expr]:
        shape = c.shape([*dims[:axis], width, *dims[axis + 1 :]])
        return [] if static(width) == 0 else [op.broadcast_to(fill, shape)]

    return op.concat([*block(before), x, *block(after)], axis)


def _padded_with_elements(c: Converter, x: relax.Expr, axis: int, before: Any, after: Any, mode: str) -> relax.Expr:
    """Take elements by index: of the mirrored data, of the data repeated, or of the ends."""
    size = dims_of(x)[axis]
    length = c.full(size, "int64")
    first = d.subtract(d.dim(0), before)
    places = op.arange(first, d.add(size, d.as_dim(after)), 1, "int64")
    last = op.subtract(length, const(1, "int64"))
    if mode == "wrap":
        index = op.floor_mod(places, length)
    elif mode == "edge":
        index = op.maximum(op.minimum(places, last), const(0, "int64"))
    else:
        period = op.maximum(op.multiply(last, const(2, "int64")), const(1, "int64"))
        inner = op.floor_mod(places, period)
        index = op.minimum(inner, op.subtract(period, inner)) if d.value_of(size) != 1 else op.zeros_like(places)
    return op.take(x, index, axis)


@ROWS.row("CenterCropPad")
def _center_crop_pad(c: Converter, a: Any) -> relax.Expr:
    """Crop or pad around the center; where the difference is odd, the end gets one more."""
    rank = rank_of(a.input_data)
    axes = list(range(rank)) if a.axes is None else [axis_of(axis, rank) for axis in a.axes]
    x = a.input_data
    for axis, wanted in zip(axes, c.ints(a.shape, "the shape"), strict=True):
        length = static(dims_of(x)[axis])
        if length is None:
            raise c.unsupported("it crops or pads a dimension whose size is not known", "make the size known")
        if wanted <= length:
            x = sliced(x, axis, (length - wanted) // 2, wanted)
        else:
            before = (wanted - length) // 2
            widths = [(0, 0)] * rank
            widths[axis] = before, wanted - length - before
            x = padded(c, x, widths, "constant")
    return x
