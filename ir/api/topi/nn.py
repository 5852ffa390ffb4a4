"""Neural-network operators as tensor expressions (TVM: `tvm.topi.nn`)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import reduce
from typing import Any, cast

from ... import te, tir
from ...left_out import message_for, reason_for
from ...te import topi
from .convolutions import (
    conv,
    conv1d_ncw,
    conv1d_nwc,
    conv1d_transpose_ncw,
    conv2d_hwcn,
    conv2d_transpose_nchw,
    conv2d_transpose_nchw_preprocess,
    conv3d_ncdhw,
    conv3d_ndhwc,
    conv3d_transpose_ncdhw,
    conv3d_transpose_ncdhw_preprocess,
    declaration_conv2d_transpose_impl,
    declaration_conv3d_transpose_impl,
    depthwise_conv2d_backward_input_nhwc,
    depthwise_conv2d_backward_weight_nhwc,
    depthwise_conv2d_nhwc,
    dilate,
    group_conv1d_ncw,
    group_conv1d_nwc,
    group_conv1d_transpose_ncw,
    group_conv2d_nhwc,
    group_conv2d_transpose_nchw,
    group_conv3d_transpose_ncdhw,
)
from .layers import (
    POOL_TYPE_CODE,
    adaptive,
    batch_to_space_nd,
    correlation_nchw,
    deformable_conv2d_nchw,
    deformable_conv2d_nhwc,
    depth_to_space,
    fast_softmax,
    fifo_buffer,
    lrn,
    pool_grad,
    scale_shift_nchw,
    scale_shift_nchwc,
    scale_shift_nhwc,
    softmax_common,
    space_to_batch_nd,
    space_to_depth,
    upsampling,
    upsampling3d,
)
from .packed_layouts import (
    conv2d_NCHWc,
    conv2d_NCHWc_int8,
    dense_pack,
    depthwise_conv2d_NCHWc,
    unpack_NCHWc_to_nchw,
)
from .padding import circular_pad, get_padded_shape, mirror_pad, pad, reflect_pad, replicate_pad
from .simulated_quantization import (
    SQNN_CODE_TO_DTYPE,
    SQNN_DISABLE,
    SQNN_DTYPE_TO_CODE,
    SQNN_INT8,
    SQNN_INT32,
    SQNN_UINT8,
    simulated_dequantize,
    simulated_quantize,
)
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

    pool.__name__ = pool.__qualname__ = f"pool{spatial}d"  # names the loop function in call_te
    return pool


pool1d, pool2d, pool3d = map(_pool, (1, 2, 3))


adaptive_pool, adaptive_pool1d, adaptive_pool3d = adaptive(2, "NCHW"), adaptive(1, "NCW"), adaptive(3, "NCDHW")


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

__all__ = [
    "POOL_TYPE_CODE",
    "SQNN_CODE_TO_DTYPE",
    "SQNN_DISABLE",
    "SQNN_DTYPE_TO_CODE",
    "SQNN_INT8",
    "SQNN_INT32",
    "SQNN_UINT8",
    "adaptive_pool",
    "adaptive_pool1d",
    "adaptive_pool3d",
    "batch_flatten",
    "batch_matmul",
    "batch_to_space_nd",
    "circular_pad",
    "conv",
    "conv1d_ncw",
    "conv1d_nwc",
    "conv1d_transpose_ncw",
    "conv2d_NCHWc",
    "conv2d_NCHWc_int8",
    "conv2d_hwcn",
    "conv2d_nchw",
    "conv2d_nhwc",
    "conv2d_transpose_nchw",
    "conv2d_transpose_nchw_preprocess",
    "conv3d_ncdhw",
    "conv3d_ndhwc",
    "conv3d_transpose_ncdhw",
    "conv3d_transpose_ncdhw_preprocess",
    "correlation_nchw",
    "declaration_conv2d_transpose_impl",
    "declaration_conv3d_transpose_impl",
    "deformable_conv2d_nchw",
    "deformable_conv2d_nhwc",
    "dense",
    "dense_pack",
    "depth_to_space",
    "depthwise_conv2d_NCHWc",
    "depthwise_conv2d_backward_input_nhwc",
    "depthwise_conv2d_backward_weight_nhwc",
    "depthwise_conv2d_nchw",
    "depthwise_conv2d_nhwc",
    "dilate",
    "fast_softmax",
    "fifo_buffer",
    "flatten",
    "get_padded_shape",
    "global_pool",
    "group_conv1d_ncw",
    "group_conv1d_nwc",
    "group_conv1d_transpose_ncw",
    "group_conv2d_nchw",
    "group_conv2d_nhwc",
    "group_conv2d_transpose_nchw",
    "group_conv3d_transpose_ncdhw",
    "lrn",
    "matmul",
    "mirror_pad",
    "pad",
    "pool1d",
    "pool2d",
    "pool3d",
    "pool_grad",
    "reflect_pad",
    "replicate_pad",
    "scale_shift_nchw",
    "scale_shift_nchwc",
    "scale_shift_nhwc",
    "simulated_dequantize",
    "simulated_quantize",
    "softmax_common",
    "space_to_batch_nd",
    "space_to_depth",
    "unpack_NCHWc_to_nchw",
    "upsampling",
    "upsampling3d",
]  # fmt: skip


def __getattr__(name: str) -> Any:
    if name.startswith("__"):
        raise AttributeError(name)
    if reason_for(f"tvms.topi.nn.{name}"):
        raise AttributeError(message_for(f"tvms.topi.nn.{name}"))
    return function(f"nn.{name}")


def __dir__() -> list[str]:
    return sorted({*__all__, *(name.removeprefix("nn.") for name in ROWS if name.startswith("nn."))})
