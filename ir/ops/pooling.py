"""Pooling and pixel shuffling (TVM: `relax/op/nn`)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import reduce
from typing import Any, cast

from msgspec import Struct

from .. import te, tir
from ..base import StructInfo
from ..dtype import sum_dtype
from . import dims as d
from .inference import Inference, dims_of, tensor_info
from .layouts import layout_of, numpy_packed, numpy_unpacked, packed, split_dims, unpacked, whole_dims, whole_dims_of
from .registry import InferRule, Oracle, Param, RelaxOp, register
from .windows import complete_windows, padded, sides, window_length

_SPATIAL = {1: "W", 2: "HW", 3: "DHW"}


def _laid_out(a: Inference, spatial: int, lengths: Callable[[list[tir.PrimExpr]], list[tir.PrimExpr]]) -> StructInfo:
    """Return the struct info whose spatial dimensions `lengths` computes from those of the data, in the given layouts."""
    letters = "NC" + _SPATIAL[spatial]
    layout, out_layout = layout_of(a, "layout", letters), layout_of(a, "out_layout", letters)
    info = a.rank("data", layout.ndim)
    dims = dims_of(info)
    if dims is None:
        return tensor_info(None, info.dtype, out_layout.ndim, info.vdevice)
    x = whole_dims_of(a, "layout", dims, letters)
    result = [*x[:2], *lengths(x[2:])]
    return tensor_info(split_dims(a, "out_layout", result, letters), info.dtype, out_layout.ndim, info.vdevice)


def infer_pool(spatial: int) -> InferRule:
    def infer(a: Inference) -> StructInfo:
        size, strides, dilation = (a.per_dimension(name, spatial, 1) for name in ("pool_size", "strides", "dilation"))
        windows = (size, strides, dilation, sides(a.per_dimension("padding", 2 * spatial, 0)))

        def lengths(x: list[tir.PrimExpr]) -> list[tir.PrimExpr]:
            return [window_length(*part, a.attr("ceil_mode")) for part in zip(x, *windows, strict=True)]

        return _laid_out(a, spatial, lengths)

    return infer


def _high(a: Any, lengths: Any, windows: Any) -> list[tuple[int, int]]:
    """Return the padding, extended by what windows read beyond it under ceil_mode."""
    result: list[tuple[int, int]] = []
    for n, (low, high) in enumerate(sides(a.padding)):
        reach = (windows[n] - 1) * a.strides[n] + a.dilation[n] * (a.pool_size[n] - 1) + 1
        result.append((low, max(high, reach - lengths[n] - low)))
    return result


def _most_high(a: Any) -> list[tuple[int, int]]:
    """Return the padding, extended by the most that windows read beyond it under ceil_mode, whatever the sizes are."""
    return [
        (low, high + stride - 1 if a.ceil_mode else high)
        for (low, high), stride in zip(sides(a.padding), a.strides, strict=True)
    ]


def _pool(spatial: int, average: bool) -> Callable[[Any], te.Tensor | None]:
    def meaning(a: Any) -> te.Tensor | None:
        letters = "NC" + _SPATIAL[spatial]
        x = unpacked(a.data, a.layout, letters)
        shape = whole_dims(a.result.dims, a.out_layout, letters)
        fill = te.const(0, x.dtype) if average else te.least(x.dtype)
        source = padded(x, *_reach(a, x, shape), fill, axes="ax")
        inner = [te.reduce_axis((te.const(0, "int64"), d.as_dim(size)), f"rv{n}") for n, size in enumerate(a.pool_size)]

        def window(i: tuple[tir.PrimExpr, ...]) -> tir.PrimExpr:
            index = (i[2 + n] * a.strides[n] + inner[n] * a.dilation[n] for n in range(spatial))
            return source(*i[:2], *index)

        if not average:
            rule = {"schedule_rule": "meta_schedule.pool_max"}
            result = te.compute(shape, lambda *ax: te.max(window(ax), axis=inner), "pool_max", attrs=rule)
            return packed(result, a.out_layout, letters)
        total = te.compute(shape, lambda *ax: te.sum(te.cast(window(ax), sum_dtype(x.dtype)), axis=inner), "pool_sum")
        rule = {"schedule_rule": "meta_schedule.pool_avg"}
        result = te.compute(shape, lambda *ax: mean_of(x, total(*ax), counted(a, x, ax[2:])), "pool_avg", attrs=rule)
        return packed(result, a.out_layout, letters)

    return meaning


def _is_static(a: Any) -> bool:
    """Return whether the sizes of the windows are known."""
    return all(isinstance(size, int) for size in getattr(a, "pool_size", None) or getattr(a, "output_size", None) or ())


def _reach(a: Any, x: te.Tensor, shape: Any) -> tuple[list[int], list[int]]:
    lengths, windows = [d.value_of(dim) for dim in x.dims[2:]], [d.value_of(dim) for dim in shape[2:]]
    known = None not in (*lengths, *windows)
    padding = _high(a, lengths, windows) if known else _most_high(a)
    return [0, 0, *(low for low, _ in padding)], [0, 0, *(high for _, high in padding)]


def mean_of(x: te.Tensor, total: tir.PrimExpr, count: tir.PrimExpr) -> tir.PrimExpr:
    """Return the mean of `count` elements of `x` with the sum `total`, in the dtype of `x`."""
    return te.cast(total / te.cast(count, total.dtype), x.dtype)


def counted(a: Any, x: te.Tensor, index: Sequence[tir.PrimExpr]) -> tir.PrimExpr:
    """Return the number of averaged elements of a window: all, or those inside the data."""
    count = te.const(1, "int64")
    for n, i in enumerate(index):
        low, high = sides(a.padding)[n]
        length = x.dims[2 + n]
        start = i * a.strides[n] - low
        end = te.minimum(start + a.pool_size[n], length + high)
        if not a.count_include_pad:
            start, end = te.maximum(start, 0), te.minimum(end, length)
        count = count * (end - start)
    return te.maximum(count, 1)


def _numpy_pool(spatial: int, average: bool) -> Oracle:
    def oracle(np: Any, a: Any) -> Any:
        letters = "NC" + _SPATIAL[spatial]
        x = numpy_unpacked(np, a.data, a.layout, letters)
        parts = zip(
            map(d.dim, x.shape[2:]), map(d.dim, a.pool_size), a.strides, a.dilation, sides(a.padding), strict=True
        )
        lengths = [d.value_of(window_length(*part, a.ceil_mode)) for part in parts]
        result = np.empty([*x.shape[:2], *lengths], a.data.dtype)
        for index in np.ndindex(*lengths):
            result[(slice(None), slice(None), *index)] = _window(np, a, x, index, average)
        return numpy_packed(np, result, a.out_layout, letters)

    return oracle


def window_places(a: Any, lengths: Any, index: Any) -> tuple[list[list[int]], int]:
    """Return the positions of window `index` inside the data along each axis, and the divisor of its mean."""
    ranges: list[list[int]] = []
    size = 1
    for n, i in enumerate(index):
        low, high = sides(a.padding)[n]
        start, length = i * a.strides[n] - low, lengths[n]
        places = [start + o * a.dilation[n] for o in range(a.pool_size[n])]
        ranges.append([place for place in places if 0 <= place < length])
        end = min(start + a.pool_size[n], length + high)
        size *= end - start if a.count_include_pad else min(end, length) - max(start, 0)
    return ranges, max(size, 1)


def _window(np: Any, a: Any, x: Any, index: Any, average: bool) -> Any:
    """Return the pooled value of one window; the padding counts as zeros, or not at all. Under ceil_mode a window may contain
    no data: its maximum is the lower bound of the dtype.
    """
    ranges, size = window_places(a, x.shape[2:], index)
    part = x[np.ix_(range(x.shape[0]), range(x.shape[1]), *ranges)]
    axes = tuple(range(2, x.ndim))
    least = cast("tir.FloatImm", te.least(str(x.dtype))).value
    return part.sum(axes) / size if average else part.max(axes, initial=least)


def _declare_pool(spatial: int, average: bool) -> None:
    letters = _SPATIAL[spatial]
    register(
        RelaxOp(
            f"relax.nn.{'avg' if average else 'max'}_pool{spatial}d",
            (
                Param("data"),
                Param("pool_size", "ints", 1),
                Param("strides", "ints", 1),
                Param("padding", "ints", 0),
                Param("dilation", "ints", 1),
                Param("ceil_mode", "bool", False),
                Param("count_include_pad", "bool", average and spatial != 2),
                Param("layout", "str", "NC" + letters),
                Param("out_layout", "opt_str", None),
            ),
            infer_pool(spatial),
            f"Return the {'mean' if average else 'maximum'} of every window of `data` in {spatial}D.",
            _numpy_pool(spatial, average),
            _pool(spatial, average),
            complete=complete_windows(spatial, "pool_size", "strides", "dilation", layouts=("layout", "out_layout")),
            attrs_order=(
                "pool_size", "strides", "padding", "dilation", "ceil_mode", "count_include_pad", "layout", "out_layout",
            ),
        )
    )  # fmt: skip


def _infer_adaptive(spatial: int) -> InferRule:
    def infer(a: Inference) -> StructInfo:
        size = None if a.attr("output_size") is None else a.per_dimension("output_size", spatial, 1)
        if size is None and a.attr("out_layout") in (None, a.attr("layout")):
            ndim = layout_of(a, "layout", "NC" + _SPATIAL[spatial]).ndim
            info = a.rank("data", ndim)
            return tensor_info(None, info.dtype, ndim, info.vdevice) if info.shape is None else info
        return _laid_out(a, spatial, lambda x: x if size is None else [d.as_dim(item) for item in size])

    return infer


class _Axis(Struct, frozen=True):
    """The windows along one axis that give `size` results for `length` elements, as evenly as possible."""

    length: tir.PrimExpr
    size: tir.PrimExpr

    @property
    def even(self) -> int | None:
        """The width of every window if all are equal, else None."""
        length, size = d.value_of(self.length), d.value_of(self.size)
        if length is not None and size:
            return None if length % size else length // size
        return 1 if d.is_equal(self.length, self.size) else None

    @property
    def width(self) -> tir.PrimExpr:
        """The maximum number of elements in a window."""
        even = self.even
        return d.add(d.floordiv(self.length, self.size), 2) if even is None else d.dim(even)

    def start(self, i: tir.PrimExpr) -> tir.PrimExpr:
        even = self.even
        return i * self.length // self.size if even is None else i * even

    def end(self, i: tir.PrimExpr) -> tir.PrimExpr:
        size = self.size
        return ((i + 1) * self.length + size - 1) // size

    def count(self, i: tir.PrimExpr) -> tir.PrimExpr:
        even = self.even
        return self.end(i) - self.start(i) if even is None else te.const(even, "int64")


def _adaptive(spatial: int) -> Callable[[Any], te.Tensor | None]:
    def meaning(a: Any) -> te.Tensor | None:
        if not _is_static(a):
            return None
        letters = "NC" + _SPATIAL[spatial]
        x = unpacked(a.data, a.layout, letters)
        shape = whole_dims(a.result.dims, a.out_layout, letters)
        axes = [_Axis(length, size) for length, size in zip(x.dims[2:], shape[2:], strict=True)]
        inner = [te.reduce_axis((te.const(0, "int64"), axis.width), f"rv{n}") for n, axis in enumerate(axes)]

        def total(*ax: tir.PrimExpr) -> Any:
            index = [axis.start(i) + k for axis, i, k in zip(axes, ax[2:], inner, strict=True)]
            item = x(*ax[:2], *index)
            inside = [
                place < axis.end(i) for axis, i, place in zip(axes, ax[2:], index, strict=True) if axis.even is None
            ]
            whole = te.if_then_else(te.all(*inside), item, te.const(0, x.dtype)) if inside else item
            return te.sum(te.cast(whole, sum_dtype(x.dtype)), axis=inner)

        def mean(*ax: tir.PrimExpr) -> tir.PrimExpr:
            counts = [axis.count(i) for axis, i in zip(axes, ax[2:], strict=True)]
            return mean_of(x, sums(*ax), reduce(lambda p, q: p * q, counts))

        sums = te.compute(shape, total, "adaptive_pool_sum")
        rule = {"schedule_rule": "meta_schedule.adaptive_pool_avg"}
        return packed(te.compute(shape, mean, "adaptive_pool_avg", attrs=rule), a.out_layout, letters)

    return meaning


def _numpy_adaptive(spatial: int) -> Oracle:
    def oracle(np: Any, a: Any) -> Any:
        letters = "NC" + _SPATIAL[spatial]
        x = numpy_unpacked(np, a.data, a.layout, letters)
        result = np.empty([*x.shape[:2], *(a.output_size or x.shape[2:])], a.data.dtype)
        for index in np.ndindex(*result.shape[2:]):
            window = tuple(
                slice(i * span // size, -(-(i + 1) * span // size))
                for i, span, size in zip(index, x.shape[2:], result.shape[2:], strict=True)
            )
            everything = (slice(None), slice(None))
            result[(*everything, *index)] = x[(*everything, *window)].mean(tuple(range(2, x.ndim)))
        return numpy_packed(np, result, a.out_layout, letters)

    return oracle


def _declare_adaptive(spatial: int) -> None:
    register(
        RelaxOp(
            f"relax.nn.adaptive_avg_pool{spatial}d",
            (
                Param("data"),
                Param("output_size", "opt_ints", None),
                Param("layout", "str", "NC" + _SPATIAL[spatial]),
                Param("out_layout", "opt_str", None),
            ),
            _infer_adaptive(spatial),
            f"Return the means of windows such that the result has `output_size`, in {spatial}D.",
            _numpy_adaptive(spatial),
            _adaptive(spatial),
            complete=complete_windows(spatial, "output_size", layouts=("layout", "out_layout")),
        )
    )


for _spatial in (1, 2, 3):
    _declare_pool(_spatial, False)
    _declare_pool(_spatial, True)
    _declare_adaptive(_spatial)


def _infer_shuffle(a: Inference) -> StructInfo:
    info, factor = a.tensor("data"), a.attr("upscale_factor")
    dims = dims_of(info)
    if info.ndim in (0, 1, 2):
        raise a.fail("E0323", f"needs 'data' to have 3 or more dimensions, but it has {info.ndim}")
    if factor < 1:
        raise a.fail("E0321", f"cannot enlarge by a factor of {factor}", "give a positive number")
    if dims is None:
        return info
    a.check_multiple(
        dims[-3], factor * factor, f"cannot spread {d.show_one(dims[-3])} channels over {factor} by {factor} pixels"
    )
    size = [d.multiply(dim, factor) for dim in dims[-2:]]
    return tensor_info([*dims[:-3], d.floordiv(dims[-3], factor * factor), *size], info.dtype, -1, info.vdevice)


def _shuffle(a: Any) -> te.Tensor:
    factor = a.upscale_factor

    def value(*i: tir.PrimExpr) -> tir.PrimExpr:
        channel = (i[-3] * factor + i[-2] % factor) * factor + i[-1] % factor
        return a.data(*i[:-3], channel, i[-2] // factor, i[-1] // factor)

    return te.compute(a.result.dims, value, "pixel_shuffle")


def _numpy_shuffle(np: Any, a: Any) -> Any:
    *batch, channels, height, width = a.data.shape
    factor, axes = a.upscale_factor, len(a.data.shape) - 3
    split = a.data.reshape(*batch, channels // factor**2, factor, factor, height, width)
    order = [*range(axes), axes, axes + 3, axes + 1, axes + 4, axes + 2]
    return np.transpose(split, order).reshape(*batch, channels // factor**2, height * factor, width * factor)


register(
    RelaxOp(
        "relax.nn.pixel_shuffle",
        (Param("data"), Param("upscale_factor", "int")),
        _infer_shuffle,
        "Rearrange channels of `data` into squares of `upscale_factor` × `upscale_factor` pixels.",
        _numpy_shuffle,
        _shuffle,
    )
)
