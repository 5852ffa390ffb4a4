"""Neural-network operators as tensor expressions (TVM: `tvm.topi.nn`)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import reduce
from typing import Any, cast

from ... import te, tir
from ...ops.padding import filled
from ...te import topi
from .table import ROWS, function


def matmul(
    tensor_a: te.Tensor,
    tensor_b: te.Tensor,
    bias: te.Tensor | None = None,
    out_dtype: str | None = None,
    transpose_a: bool = False,
    transpose_b: bool = False,
) -> te.Tensor:
    """Return a matrix product, batched if the operands have more than 2 dimensions, with either operand transposed; `bias`
    is added to every row. `tensor_b` holds parameters, so its layout may be changed.
    """
    a, b = tensor_a.shape, tensor_b.shape
    rows, inner = (a[-1], a[-2]) if transpose_a else (a[-2], a[-1])
    columns = b[-2] if transpose_b else b[-1]
    dtype = out_dtype or tensor_a.dtype
    batch = topi.broadcast_shape(tensor_a.dims[:-2], tensor_b.dims[:-2])
    k = te.reduce_axis((0, inner), name="k")

    def product(*i: tir.PrimExpr) -> Any:
        left = topi.broadcast_index(i[:-2], batch, tensor_a.dims[:-2])
        right = topi.broadcast_index(i[:-2], batch, tensor_b.dims[:-2])
        x = tensor_a(*left, *((k, i[-2]) if transpose_a else (i[-2], k)))
        y = tensor_b(*right, *((i[-1], k) if transpose_b else (k, i[-1])))
        return te.sum(x.astype(dtype) * y.astype(dtype), axis=k)

    name = f"T_matmul_{'T' if transpose_a else 'N'}{'T' if transpose_b else 'N'}"
    result = te.compute((*batch, rows, columns), product, name, attrs={"layout_free_placeholders": (tensor_b,)})
    return result if bias is None else topi.add(result, topi.cast(bias, dtype) if bias.dtype != dtype else bias)


def dense(data: te.Tensor, weight: te.Tensor, bias: te.Tensor | None = None, out_dtype: str | None = None) -> te.Tensor:
    """Return `data @ weight.T + bias`."""
    return matmul(data, weight, bias, out_dtype, transpose_b=True)


def batch_matmul(
    tensor_a: te.Tensor,
    tensor_b: te.Tensor,
    oshape: Sequence[tir.PrimExpr | int] | None = None,
    out_dtype: str | None = None,
    transpose_a: bool = False,
    transpose_b: bool = True,
) -> te.Tensor:
    """Return a batch of matrix products."""
    k = te.reduce_axis((0, tensor_a.shape[-2 if transpose_a else -1]), name="k")
    dtype = out_dtype or tensor_a.dtype

    def product(b: tir.PrimExpr, i: tir.PrimExpr, j: tir.PrimExpr) -> Any:
        x = tensor_a(*topi.broadcast_index((b,), batch, tensor_a.dims[:1]), *((k, i) if transpose_a else (i, k)))
        y = tensor_b(*topi.broadcast_index((b,), batch, tensor_b.dims[:1]), *((j, k) if transpose_b else (k, j)))
        return te.sum(x.astype(dtype) * y.astype(dtype), axis=k)

    batch = topi.broadcast_shape(tensor_a.dims[:1], tensor_b.dims[:1])
    sizes = (tensor_a.shape[-1 if transpose_a else -2], tensor_b.shape[-2 if transpose_b else -1])
    name = f"T_batch_matmul_{'T' if transpose_a else 'N'}{'T' if transpose_b else 'N'}"
    return te.compute(oshape or (*batch, *sizes), product, name, attrs={"layout_free_placeholders": (tensor_b,)})


def pad(
    data: te.Tensor,
    pad_before: Sequence[int],
    pad_after: Sequence[int] | None = None,
    pad_value: float | tir.PrimExpr = 0.0,
    name: str = "PadInput",
) -> te.Tensor:
    """Return `data` padded with `pad_value`."""
    after = list(pad_before if pad_after is None else pad_after)
    shape = [dim + low + high for dim, low, high in zip(data.shape, pad_before, after, strict=True)]

    def element(*i: tir.PrimExpr) -> tir.PrimExpr:
        inside: list[tir.PrimExpr] = []
        for item, dim, low, high in zip(i, data.shape, pad_before, after, strict=True):
            inside += [te.operand(low, item.dtype) <= item] if low else []
            inside += [item < dim + low] if high else []
        index = [item - low if low else item for item, low in zip(i, pad_before, strict=True)]
        value = (
            te.cast(pad_value, data.dtype) if isinstance(pad_value, tir.PrimExpr) else te.const(pad_value, data.dtype)
        )
        return te.if_then_else(te.all(*inside), data(*index), value) if inside else data(*index)

    return cast("te.Tensor", te.compute(shape, element, name))


def _fill(mode: str) -> Callable[..., te.Tensor]:
    def pad(
        data: te.Tensor,
        pad_before: Sequence[int],
        pad_after: Sequence[int] | None = None,
        name: str = f"{mode.title()}PadInput",
    ) -> te.Tensor:
        return filled(data, pad_before, pad_after if pad_after else pad_before, mode, name)

    pad.__name__ = pad.__qualname__ = f"{mode}_pad"
    pad.__doc__ = f"Return `data` padded with its elements in the mode {mode!r} of `R.nn.pad`."
    return pad


reflect_pad, replicate_pad, circular_pad = map(_fill, ("reflect", "replicate", "circular"))


def mirror_pad(
    data: te.Tensor,
    pad_before: Sequence[int],
    pad_after: Sequence[int] | None = None,
    mode: str = "SYMMETRIC",
    name: str = "MirrorPadInput",
) -> te.Tensor:
    """Return `data` padded with its mirror image; with "REFLECT", the outer elements are not repeated."""
    if mode not in ("SYMMETRIC", "REFLECT"):
        raise ValueError(f'topi.nn.mirror_pad: mode is {mode!r}; choose "SYMMETRIC" or "REFLECT"')
    return filled(data, pad_before, pad_after if pad_after else pad_before, mode.lower(), name)


def flatten(data: te.Tensor) -> te.Tensor:
    """Return `data` as a matrix with a row for each element of the first dimension."""
    return function("reshape")(data, (data.shape[0], reduce(lambda a, b: a * b, data.shape[1:])))


batch_flatten = flatten
_LAYOUTS = {1: "NCW", 2: "NCHW", 3: "NCDHW"}


def _pool(spatial: int) -> Callable[..., te.Tensor]:
    def pool(
        data: te.Tensor,
        kernel: Sequence[int],
        stride: Sequence[int],
        dilation: Sequence[int],
        padding: Sequence[int],
        pool_type: str,
        ceil_mode: bool = False,
        layout: str = _LAYOUTS[spatial],
        count_include_pad: bool = True,
    ) -> te.Tensor:
        """Return the maximum ("max") or the mean ("avg") of every window of `data`."""
        of_windows = function(f"nn.{pool_type}_pool{spatial}d")
        return of_windows(data, kernel, stride, padding, dilation, ceil_mode, count_include_pad, layout)

    return pool


pool1d, pool2d, pool3d = map(_pool, (1, 2, 3))


def adaptive_pool(data: te.Tensor, output_size: Sequence[int], pool_type: str, layout: str = "NCHW") -> te.Tensor:
    """Return the mean ("avg") or the maximum ("max") of windows such that the result has `output_size`."""
    if pool_type == "avg":
        return function("nn.adaptive_avg_pool2d")(data, output_size, layout)
    if tuple(output_size) != (1, 1):
        raise ValueError('topi.nn.adaptive_pool supports "max" only for output_size (1, 1)')
    axes = [axis for axis, letter in enumerate(layout) if letter in "HW"]
    return function("max")(data, axes, True)


def global_pool(data: te.Tensor, pool_type: str, layout: str = "NCHW") -> te.Tensor:
    """Return the mean ("avg") or the maximum ("max") of every image."""
    return adaptive_pool(data, (1, 1), pool_type, layout)


def _conv2d(layout: str, kernel_layout: str, is_depthwise: bool = False) -> Callable[..., te.Tensor]:
    def conv2d(
        data: te.Tensor,
        kernel: te.Tensor,
        stride: Any,
        padding: Any,
        dilation: Any,
        groups: int = 1,
        out_dtype: str | None = None,
    ) -> te.Tensor:
        """Return the convolution of images with `kernel`."""
        count = int(cast("tir.IntImm", data.shape[layout.index("C")])) if is_depthwise else groups
        keywords = {"groups": count, "data_layout": layout, "kernel_layout": kernel_layout, "out_dtype": out_dtype}
        return function("nn.conv2d")(data, kernel, stride, padding, dilation, **keywords)

    return conv2d


conv2d_nchw = group_conv2d_nchw = _conv2d("NCHW", "OIHW")
conv2d_nhwc = _conv2d("NHWC", "HWIO")
depthwise_conv2d_nchw = _conv2d("NCHW", "OIHW", is_depthwise=True)

_OWN = (
    "adaptive_pool", "batch_flatten", "batch_matmul", "circular_pad", "conv2d_nchw", "conv2d_nhwc", "dense", "depthwise_conv2d_nchw", "flatten",
    "global_pool", "group_conv2d_nchw", "matmul", "mirror_pad", "pad", "pool1d", "pool2d", "pool3d", "reflect_pad", "replicate_pad",
)  # fmt: skip


def __getattr__(name: str) -> Any:
    if name.startswith("__"):
        raise AttributeError(name)
    return function(f"nn.{name}")


def __dir__() -> list[str]:
    return sorted({*_OWN, *(name.removeprefix("nn.") for name in ROWS if name.startswith("nn."))})
