"""Convolutions and transposed convolutions (TVM: `relax/op/nn`)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import prod
from typing import Any

from .. import te, tir
from ..base import StructInfo
from ..numpy_dtype import converted
from . import dims as d
from .inference import Inference, common_vdevice, dims_of, tensor_info
from .layouts import layout_of, numpy_packed, numpy_unpacked, packed, split_dims, unpacked, whole_dims, whole_dims_of
from .registry import InferRule, Oracle, Param, RelaxOp, register
from .windows import complete_windows, padded, sides, window_length

_SPATIAL = {1: "W", 2: "HW", 3: "DHW"}
_AXES = {1: ("nn", "ff", "yy", "rc", "ry"), 2: ("nn", "ff", "yy", "xx", "rc", "ry", "rx"), 3: ("nn", "ff", "yy", "xx", "zz", "rc", "ry", "rx", "rz")}  # fmt: skip


def _infer(spatial: int, transposed: bool) -> InferRule:
    letters = "NC" + _SPATIAL[spatial]
    kernel_letters = ("IO" if transposed else "OI") + _SPATIAL[spatial]

    def infer(a: Inference) -> StructInfo:
        layout, kernel_layout = layout_of(a, "data_layout", letters), layout_of(a, "kernel_layout", kernel_letters)
        out_layout = layout_of(a, "out_layout", letters)
        data, weight = a.rank("data", layout.ndim), a.rank("weight", kernel_layout.ndim)
        dtype = a.same_dtype("data", "weight") if a.attr("out_dtype") == "void" else a.attr("out_dtype")
        device = common_vdevice(data, weight)
        own, kernel = dims_of(data), dims_of(weight)
        if own is None or kernel is None:
            return tensor_info(None, dtype, out_layout.ndim, device)
        x = whole_dims_of(a, "data_layout", own, letters)
        w = whole_dims_of(a, "kernel_layout", kernel, kernel_letters)
        groups = a.attr("groups")
        if groups < 1:
            raise a.fail("E0321", f"cannot have {groups} groups", "give a positive number")
        channels = w[0] if transposed else d.multiply(w[1], groups)
        a.check_equal(
            x[1],
            channels,
            f"has {d.show_one(x[1])} input channels, but its kernel is for {d.show_one(channels)}",
            "check the layouts and the groups",
        )
        kind = "input" if transposed else "output"
        a.check_multiple(w[0], groups, f"cannot split {d.show_one(w[0])} {kind} channels into {groups} groups")
        windows = _transposed_lengths if transposed else _lengths
        result = [x[0], d.multiply(w[1], groups) if transposed else w[0], *windows(a, x[2:], w[2:])]
        return tensor_info(split_dims(a, "out_layout", result, letters), dtype, out_layout.ndim, device)

    return infer


def _lengths(a: Inference, x: Any, w: Any) -> list[Any]:
    return [window_length(*part) for part in zip(x, w, *_windows(a, len(x)), strict=True)]


def _windows(a: Inference, spatial: int) -> tuple[Sequence[Any], ...]:
    """Return the strides, dilation and padding of each dimension (E0321)."""
    strides, dilation = a.per_dimension("strides", spatial, 1), a.per_dimension("dilation", spatial, 1)
    return strides, dilation, sides(a.per_dimension("padding", 2 * spatial, 0))


def _transposed_lengths(a: Inference, x: Any, w: Any) -> list[Any]:
    attributes = (*_windows(a, len(x)), a.per_dimension("output_padding", len(x)))
    result: list[Any] = []
    for length, window, stride, dilation, padding, extra in zip(x, w, *attributes, strict=True):
        known = all(isinstance(value, int) for value in (extra, stride, dilation))
        if known and not 0 <= extra < max(stride, dilation):
            raise a.fail("E0326", f"pads its result by {extra}, which must be less than the stride {stride}")
        covered = d.multiply(d.subtract(window, 1), dilation)
        whole = d.add(d.multiply(d.subtract(length, 1), stride), covered)
        result.append(d.add(whole, 1 + extra - sum(padding)))
    return result


def _meaning(spatial: int) -> Callable[[Any], te.Tensor]:
    letters = _SPATIAL[spatial]

    def meaning(a: Any) -> te.Tensor:
        x = unpacked(a.data, a.data_layout, "NC" + letters)
        w = unpacked(a.weight, a.kernel_layout, "OI" + letters)
        before = [0, 0, *(low for low, _ in sides(a.padding))]
        after = [0, 0, *(high for _, high in sides(a.padding))]
        source = padded(x, before, after, te.const(0, x.dtype))
        dtype = a.result.dtype
        shape = whole_dims(a.result.dims, a.out_layout, "NC" + letters)
        axes = _AXES[spatial]
        inner = [
            te.reduce_axis((te.const(0, "int64"), dim), name)
            for dim, name in zip(w.dims[1:], axes[2 + spatial :], strict=True)
        ]
        per_group = d.floordiv(w.dims[0], a.groups)

        def value(*i: tir.PrimExpr) -> Any:
            windows = (
                item * stride + k * dilation
                for item, k, stride, dilation in zip(i[2:], inner[1:], a.strides, a.dilation, strict=True)
            )
            channel = inner[0] if a.groups == 1 else i[1] // per_group * w.dims[1] + inner[0]
            product = te.cast(source(i[0], channel, *windows), dtype) * te.cast(w(i[1], *inner), dtype)
            return te.sum(product, axis=inner)

        name = (
            f"conv{spatial}d_{'nc' + letters.lower()}" if a.groups == 1 else f"group_conv{spatial}d_nc{letters.lower()}"
        )
        result = te.compute(shape, value, name, varargs_names=axes[: 2 + spatial])
        return packed(result, a.out_layout, "NC" + letters)

    return meaning


def _numpy(spatial: int) -> Oracle:
    letters = _SPATIAL[spatial]

    def oracle(np: Any, a: Any) -> Any:
        x = numpy_unpacked(np, converted(a.data, a.result_dtype), a.data_layout, "NC" + letters)
        w = numpy_unpacked(np, converted(a.weight, a.result_dtype), a.kernel_layout, "OI" + letters)
        x = np.pad(x, [(0, 0), (0, 0), *sides(a.padding)])
        result = _convolve(np, x, w, a.strides, a.dilation, a.groups)
        return numpy_packed(np, result, a.out_layout, "NC" + letters)

    return oracle


def _convolve(np: Any, x: Any, w: Any, strides: Any, dilation: Any, groups: int) -> Any:
    """Return the convolution of a padded NC… array with an OI… kernel, computed for one offset of the window at a time."""
    spans = [dilation[n] * (w.shape[2 + n] - 1) + 1 for n in range(len(strides))]
    lengths = [(x.shape[2 + n] - spans[n]) // strides[n] + 1 for n in range(len(strides))]
    filters, width = w.shape[0] // groups, w.shape[1]
    result = np.zeros((x.shape[0], w.shape[0], *lengths), x.dtype)
    for offset in np.ndindex(*w.shape[2:]) if result.size else ():
        starts = [o * step for o, step in zip(offset, dilation, strict=True)]
        window = tuple(
            slice(start, start + stride * (length - 1) + 1, stride)
            for start, stride, length in zip(starts, strides, lengths, strict=True)
        )
        for group in range(groups):
            part = x[(slice(None), slice(group * width, (group + 1) * width), *window)]
            kernel = w[(slice(group * filters, (group + 1) * filters), slice(None), *offset)]
            result[:, group * filters : (group + 1) * filters] += _mixed(np, kernel, part)
    return result


def _mixed(np: Any, kernel: Any, x: Any) -> Any:
    """Return the product of an (O, I) matrix and the channels of an (N, I, …) array. NumPy's `dot` may skip 0 * inf."""
    return np.matmul(kernel, x.reshape(*x.shape[:2], prod(x.shape[2:]))).reshape(len(x), len(kernel), *x.shape[2:])


def _numpy_transposed(spatial: int) -> Oracle:
    letters = _SPATIAL[spatial]

    def oracle(np: Any, a: Any) -> Any:
        x = numpy_unpacked(np, converted(a.data, a.result_dtype), a.data_layout, "NC" + letters)
        w = numpy_unpacked(np, converted(a.weight, a.result_dtype), a.kernel_layout, "IO" + letters)
        lengths = [
            (x.shape[2 + n] - 1) * a.strides[n] + a.dilation[n] * (w.shape[2 + n] - 1) + 1 + a.output_padding[n]
            for n in range(spatial)
        ]
        result = np.zeros((x.shape[0], w.shape[1] * a.groups, *lengths), a.result_dtype)
        width, filters = w.shape[0] // a.groups, w.shape[1]
        for offset in np.ndindex(*w.shape[2:]):
            window = tuple(
                slice(o * step, o * step + stride * (size - 1) + 1, stride)
                for o, step, stride, size in zip(offset, a.dilation, a.strides, x.shape[2:], strict=True)
            )
            for group in range(a.groups):
                part = x[:, group * width : (group + 1) * width]
                kernel = w[(slice(group * width, (group + 1) * width), slice(None), *offset)]
                channels = slice(group * filters, (group + 1) * filters)
                result[(slice(None), channels, *window)] += _mixed(np, kernel.T, part)
        cut = tuple(slice(low, result.shape[2 + n] - high) for n, (low, high) in enumerate(sides(a.padding)))
        return numpy_packed(np, result[(slice(None), slice(None), *cut)], a.out_layout, "NC" + letters)

    return oracle


def _transposed(spatial: int) -> Callable[[Any], te.Tensor]:
    """Multiply every input by every element of the window, which is a matrix product, then sum for each output the
    products that contribute to it.
    """
    letters = _SPATIAL[spatial]

    def meaning(a: Any) -> te.Tensor:
        x = unpacked(a.data, a.data_layout, "NC" + letters)
        w = unpacked(a.weight, a.kernel_layout, "IO" + letters)
        shape = whole_dims(a.result.dims, a.out_layout, "NC" + letters)
        dtype, window, zero = a.result.dtype, w.dims[2:], te.const(0, "int64")
        width = d.floordiv(w.dims[0], a.groups)
        channel = te.reduce_axis((zero, width), "k0")

        def product(n: tir.PrimExpr, f: tir.PrimExpr, *i: tir.PrimExpr) -> Any:
            source, filter_ = channel, f
            if a.groups > 1:
                source, filter_ = f // w.dims[1] * width + channel, f % w.dims[1]
            value = te.cast(x(n, source, *i[spatial:]), dtype) * te.cast(w(source, filter_, *i[:spatial]), dtype)
            return te.sum(value, axis=[channel])

        products = te.compute((*shape[:2], *window, *x.dims[2:]), product, "products")
        offsets = [te.reduce_axis((zero, size), f"k{1 + n}") for n, size in enumerate(window)]
        before = [low for low, _ in sides(a.padding)]
        is_apart = all(
            step == 1 and d.value_of(size) == stride and added == 0
            for step, stride, size, added in zip(a.dilation, a.strides, window, a.output_padding, strict=True)
        )

        def apart(*i: tir.PrimExpr) -> Any:
            """Return the only product that contributes to an output."""
            places = [item + low for item, low in zip(i[2:], before, strict=True)]
            offset = [place % stride for place, stride in zip(places, a.strides, strict=True)]
            index = [place // stride for place, stride in zip(places, a.strides, strict=True)]
            return products(i[0], i[1], *offset, *index)

        def value(*i: tir.PrimExpr) -> Any:
            inside: list[tir.PrimExpr] = []
            index: list[tir.PrimExpr] = []
            for n, (low, offset) in enumerate(zip(before, offsets, strict=True)):
                place = i[2 + n] + low - offset * a.dilation[n]
                inside += [zero <= place, place < x.dims[2 + n] * a.strides[n], te.equal(place % a.strides[n], 0)]
                index.append(place // a.strides[n])
            taken = te.if_then_else(te.all(*inside), products(i[0], i[1], *offsets, *index), te.const(0, dtype))
            return te.sum(taken, axis=offsets)

        return packed(te.compute(shape, apart if is_apart else value, "compute"), a.out_layout, "NC" + letters)

    return meaning


def _declare(spatial: int, transposed: bool) -> None:
    letters = _SPATIAL[spatial]
    extra = (Param("output_padding", "ints", 0),) if transposed else ()
    kernel = ("IO" if transposed else "OI") + letters
    name = f"conv{spatial}d{'_transpose' if transposed else ''}"
    register(
        RelaxOp(
            f"relax.nn.{name}",
            (
                Param("data"),
                Param("weight"),
                Param("strides", "ints", 1),
                Param("padding", "ints", 0),
                *extra,
                Param("dilation", "ints", 1),
                Param("groups", "int", 1),
                Param("data_layout", "str", "NC" + letters),
                Param("kernel_layout", "str", kernel),
                Param("out_layout", "opt_str", None),
                Param("out_dtype", "dtype", None),
            ),
            _infer(spatial, transposed),
            f"Return the {spatial}D {'transposed ' if transposed else ''}convolution of `data` with `weight`.",
            _numpy_transposed(spatial) if transposed else _numpy(spatial),
            _transposed(spatial) if transposed else _meaning(spatial),
            complete=complete_windows(spatial, "strides", "dilation", "output_padding"),
        )
    )


for _transposes in (False, True):
    for _spatial in (1, 2, 3):
        _declare(_spatial, _transposes)
