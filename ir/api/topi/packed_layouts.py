"""Operators on data in blocks of channels, NCHWc (TVM: `tvm.topi.nn.conv2d_NCHWc`, `dense_pack`)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ... import te, tir
from ...te import topi
from .padding import both_sides, pad, per_dimension


def _windows(data: te.Tensor, padding: Any) -> te.Tensor:
    (top, left), (bottom, last) = both_sides(padding, 2)
    return (
        pad(data, [0, 0, top, left, 0], [0, 0, bottom, last, 0], name="data_pad")
        if any((top, left, bottom, last))
        else data
    )


def _length(padded: tir.PrimExpr, kernel: tir.PrimExpr, stride: int, dilation: int) -> tir.PrimExpr:
    return (padded - (kernel - 1) * dilation - 1) // stride + 1


def _conv2d(name: str, is_int8: bool) -> Callable[..., te.Tensor]:
    def compute(
        data: te.Tensor, kernel: te.Tensor, stride: Any, padding: Any, dilation: Any, out_dtype: str | None
    ) -> te.Tensor:
        (down, right), (below, beside) = per_dimension(stride, 2), per_dimension(dilation, 2)
        x, dtype = _windows(data, padding), out_dtype or data.dtype
        block_in = data.dims[4]
        chunks_out, chunks_in, height, width = kernel.dims[:4]
        block_out = kernel.dims[5]
        group_size = chunks_in * block_in  # channels of one group
        groups = data.dims[1] * block_in // group_size
        channels, ky, kx = (
            te.reduce_axis((0, size), label) for size, label in ((group_size, "ic"), (height, "kh"), (width, "kw"))
        )

        def element(n: tir.PrimExpr, o: tir.PrimExpr, y: tir.PrimExpr, z: tir.PrimExpr, b: tir.PrimExpr) -> Any:
            c = channels.var
            group = o // (chunks_out // groups)
            item = x(
                n,
                group * chunks_in + c // block_in,
                y * down + ky.var * below,
                z * right + kx.var * beside,
                c % block_in,
            )
            inner = c % block_in
            place = (inner // kernel.dims[6], b, inner % kernel.dims[6]) if is_int8 else (inner, b)
            weight = kernel(o, c // block_in, ky, kx, *place)
            return te.sum(item.astype(dtype) * weight.astype(dtype), axis=[channels, ky, kx])

        sizes = _length(x.dims[2], height, down, below), _length(x.dims[3], width, right, beside)
        return te.compute((data.dims[0], chunks_out, *sizes, block_out), element, "conv2d_NCHWc")

    def conv2d(
        data: te.Tensor,
        kernel: te.Tensor,
        stride: Any,
        padding: Any,
        dilation: Any,
        layout: str,
        out_layout: str,
        out_dtype: str = "float32",
    ) -> te.Tensor:
        """Return the convolution of NCHWc data with an OIHWio kernel, as NCHWc; the sizes of blocks follow from the shapes."""
        del layout, out_layout
        return compute(data, kernel, stride, padding, dilation, out_dtype)

    def conv2d_int8(
        data: te.Tensor,
        kernel: te.Tensor,
        stride: Any,
        padding: Any,
        dilation: Any,
        layout: str,
        out_layout: str,
        out_dtype: str = "int32",
        n_elems: int = 4,
    ) -> te.Tensor:
        """Return the convolution of NCHWc integers with an OIHWioi kernel, whose last dimension has `n_elems` input channels."""
        del layout, out_layout, n_elems
        return compute(data, kernel, stride, padding, dilation, out_dtype)

    made = conv2d_int8 if is_int8 else conv2d
    made.__name__ = made.__qualname__ = name
    return made


conv2d_NCHWc = _conv2d("conv2d_NCHWc", False)
conv2d_NCHWc_int8 = _conv2d("conv2d_NCHWc_int8", True)


def depthwise_conv2d_NCHWc(
    data: te.Tensor,
    kernel: te.Tensor,
    stride: Any,
    padding: Any,
    dilation: Any,
    layout: str,
    out_layout: str,
    out_dtype: str | None = None,
) -> te.Tensor:
    """Return the convolution of each channel of NCHWc data with its own kernels, O1HW1o, where O * o are channels by multipliers."""
    del layout, out_layout
    (down, right), (below, beside) = per_dimension(stride, 2), per_dimension(dilation, 2)
    x, dtype = _windows(data, padding), out_dtype or data.dtype
    chunks, _, height, width, _, block = kernel.dims
    multiplier = (chunks * block) // (data.dims[1] * data.dims[4])
    ky, kx = te.reduce_axis((0, height), "kh"), te.reduce_axis((0, width), "kw")

    def element(n: tir.PrimExpr, o: tir.PrimExpr, y: tir.PrimExpr, z: tir.PrimExpr, b: tir.PrimExpr) -> Any:
        channel = (o * block + b) // multiplier
        place = y * down + ky.var * below, z * right + kx.var * beside
        item = x(n, channel // data.dims[4], *place, channel % data.dims[4])
        return te.sum(item.astype(dtype) * kernel(o, 0, ky, kx, 0, b).astype(dtype), axis=[ky, kx])

    sizes = _length(x.dims[2], height, down, below), _length(x.dims[3], width, right, beside)
    return te.compute((data.dims[0], chunks, *sizes, block), element, "depthwise_conv2d_NCHWc")


def unpack_NCHWc_to_nchw(packed_out: te.Tensor, out_dtype: str) -> te.Tensor:
    """Return NCHWc data as NCHW data of `out_dtype`."""
    n, chunks, height, width, block = packed_out.dims

    def element(b: tir.PrimExpr, c: tir.PrimExpr, y: tir.PrimExpr, x: tir.PrimExpr) -> tir.PrimExpr:
        return packed_out(b, c // block, y, x, c % block).astype(out_dtype)

    return te.compute((n, chunks * block, height, width), element, "output_unpack")


def dense_pack(
    data: te.Tensor, weight: te.Tensor, bias: te.Tensor | None = None, out_dtype: str | None = None
) -> te.Tensor:
    """Return `data @ weight.T + bias` for a weight in blocks of its rows, (N // b, K, b)."""
    dtype = out_dtype or data.dtype
    blocks, depth, block = weight.dims
    k = te.reduce_axis((0, depth), "k")

    def product(row: tir.PrimExpr, column: tir.PrimExpr) -> Any:
        item = weight(column // block, k, column % block)
        return te.sum(data(row, k).astype(dtype) * item.astype(dtype), axis=k)

    result = te.compute((data.dims[0], blocks * block), product, "T_dense_pack")
    if bias is None:
        return result
    return topi.add(result, topi.cast(bias, dtype))
