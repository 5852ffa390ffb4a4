"""Layers that have no operator at the graph level (TVM: `tvm.topi.nn`)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import reduce
from itertools import product
from typing import Any, cast

from ... import make, te, tir
from . import image
from .convolutions import conv
from .padding import both_sides, pad, per_dimension
from .table import function

POOL_TYPE_CODE = {"avg": 0, "max": 1}
"""The numbers of kinds of pooling in TVM's C++ functions."""


def _place(layout: str, letters: str) -> list[int]:
    return [layout.index(letter) for letter in letters]


def space_to_depth(data: te.Tensor, block_size: int, layout: str = "NCHW") -> te.Tensor:
    """Return images whose channels are the pixels of blocks of `block_size` by `block_size`, in layout NCHW or NHWC."""
    channel, row, column = _place(layout, "CHW")
    shape = list(data.dims)
    depth = shape[channel]
    shape[channel] = depth * (block_size * block_size)
    shape[row], shape[column] = (make.floordiv(shape[n], te.const(block_size, shape[n].dtype)) for n in (row, column))

    def element(*i: tir.PrimExpr) -> tir.PrimExpr:
        at, block = list(i), i[channel] // depth
        at[channel] = i[channel] % depth
        at[row], at[column] = i[row] * block_size + block // block_size, i[column] * block_size + block % block_size
        return data(*at)

    return te.compute(shape, element, "space_to_depth")


def depth_to_space(data: te.Tensor, block_size: int, layout: str = "NCHW", mode: str = "DCR") -> te.Tensor:
    """Return images whose blocks of `block_size` by `block_size` pixels are channels of `data`, in layout NCHW or NHWC.

    In mode "DCR" the place in the block is the slower part of the channel, in mode "CRD" the faster one; else ValueError.
    """
    if mode not in ("DCR", "CRD"):
        raise ValueError(f'topi.nn.depth_to_space: mode is "{mode}"; choose "DCR" or "CRD"')
    channel, row, column = _place(layout, "CHW")
    shape, square = list(data.dims), block_size * block_size
    shape[channel] = make.floordiv(shape[channel], te.const(square, shape[channel].dtype))
    shape[row], shape[column] = shape[row] * block_size, shape[column] * block_size

    def element(*i: tir.PrimExpr) -> tir.PrimExpr:
        at, block = list(i), i[row] % block_size * block_size + i[column] % block_size
        at[channel] = block * shape[channel] + i[channel] if mode == "DCR" else i[channel] * square + block
        at[row], at[column] = i[row] // block_size, i[column] // block_size
        return data(*at)

    return te.compute(shape, element, "depth_to_space")


def space_to_batch_nd(
    data: te.Tensor,
    block_shape: Sequence[int],
    pad_before: Sequence[int],
    pad_after: Sequence[int],
    pad_value: float = 0.0,
) -> te.Tensor:
    """Return padded `data` with the elements of blocks of the axes 1, 2, … as batches, as in TensorFlow."""
    rest = data.ndim - 1 - len(block_shape)
    padded = pad(data, [0, *pad_before, *[0] * rest], [0, *pad_after, *[0] * rest], pad_value)
    batch = data.dims[0]
    sizes = [make.floordiv(dim, te.const(b, dim.dtype)) for dim, b in zip(padded.dims[1:], block_shape, strict=False)]

    def element(*i: tir.PrimExpr) -> tir.PrimExpr:
        inner, at = i[0] // batch, list(i)
        for n, block in reversed(list(enumerate(block_shape))):
            at[n + 1] = i[n + 1] * block + inner % block
            inner = inner // block
        return padded(i[0] % batch, *at[1:])

    count = reduce(lambda p, q: p * q, block_shape, 1)
    return te.compute((batch * count, *sizes, *padded.dims[len(block_shape) + 1 :]), element, "space_to_batch_nd")


def batch_to_space_nd(
    data: te.Tensor, block_shape: Sequence[int], crop_begin_list: Sequence[int], crop_end_list: Sequence[int]
) -> te.Tensor:
    """Return `data` with its batches as the elements of blocks of the axes 1, 2, …, and cropped: the inverse of `space_to_batch_nd`."""
    count = reduce(lambda p, q: p * q, block_shape, 1)
    batch = make.floordiv(data.dims[0], te.const(count, data.dims[0].dtype))
    parts = zip(data.dims[1:], block_shape, crop_begin_list, crop_end_list, strict=False)
    sizes = [dim * block - first - last for dim, block, first, last in parts]

    def element(*i: tir.PrimExpr) -> tir.PrimExpr:
        at = list(i)
        inner: Any = te.const(0, i[0].dtype)
        for n, (block, first) in enumerate(zip(block_shape, crop_begin_list, strict=True)):
            whole = i[n + 1] + first
            inner, at[n + 1] = inner * block + whole % block, whole // block
        return data(inner * batch + i[0], *at[1:])

    return te.compute((batch, *sizes, *data.dims[len(block_shape) + 1 :]), element, "batch_to_space_nd")


def lrn(
    data: te.Tensor, size: int, axis: int = 1, alpha: float = 0.0001, beta: float = 0.75, bias: float = 2
) -> te.Tensor:
    """Return `data / (bias + alpha / size * s) ** beta`, s the sum of the squares of `size` elements around each one along `axis`."""
    along, half = axis % data.ndim, size // 2
    k = te.reduce_axis((0, size), "k")

    def squares(*i: tir.PrimExpr) -> Any:
        place = i[along] + k.var - half
        item = data(*i[:along], place, *i[along + 1 :])
        inside = te.all(place >= 0, place < data.dims[along])
        return te.sum(te.if_then_else(inside, item * item, te.const(0, data.dtype)), axis=k)

    sums = te.compute(data.dims, squares, "square_sum")
    scale, start, exponent = (te.const(value, data.dtype) for value in (alpha / size, bias, beta))
    return te.compute(data.dims, lambda *i: data(*i) / te.power(start + scale * sums(*i), exponent), "T_lrn")


def _scale_shift(layout: str) -> Callable[..., te.Tensor]:
    def scale_shift(Input: te.Tensor, Scale: te.Tensor, Shift: te.Tensor) -> te.Tensor:
        def element(*i: tir.PrimExpr) -> tir.PrimExpr:
            at = [i[n] for n, letter in enumerate(layout) if letter in "Cc"]
            return Input(*i) * Scale(*at) + Shift(*at)

        return te.compute(Input.dims, element, "ScaleShift")

    scale_shift.__name__ = scale_shift.__qualname__ = f"scale_shift_{layout.lower()}"
    scale_shift.__doc__ = f"Return `Input * Scale + Shift` for {layout} data, with values for each channel."
    return scale_shift


scale_shift_nchw, scale_shift_nhwc, scale_shift_nchwc = map(_scale_shift, ("NCHW", "NHWC", "NCHWc"))


def fifo_buffer(data: te.Tensor, buffer: te.Tensor, axis: int) -> te.Tensor:
    """Return `buffer` with `data` added at the end of `axis`, and as many elements removed from its start."""
    along = axis % buffer.ndim
    shift, length = data.dims[along], buffer.dims[along]

    def element(*i: tir.PrimExpr) -> tir.PrimExpr:
        def at(x: te.Tensor, place: tir.PrimExpr) -> tir.PrimExpr:
            return x(*i[:along], place, *i[along + 1 :])

        return te.if_then_else(
            i[along] < length - shift, at(buffer, i[along] + shift), at(data, i[along] - length + shift)
        )

    return te.compute(buffer.dims, element, "new_buffer")


def softmax_common(x: te.Tensor, axis: int, use_fast_exp: bool) -> te.Tensor:
    """Return the softmax of `x` along `axis`; `use_fast_exp` changes nothing, because the code of `exp` is vectorized."""
    del use_fast_exp
    return function("nn.softmax")(x, axis)


def fast_softmax(x: te.Tensor, axis: int = -1) -> te.Tensor:
    """Return the softmax of `x` along `axis`; it is `softmax`, whose code is vectorized."""
    return function("nn.softmax")(x, axis)


def pool_grad(
    grads: te.Tensor,
    data: te.Tensor,
    kernel: Sequence[int],
    stride: Sequence[int],
    padding: Sequence[int],
    pool_type: str,
    ceil_mode: bool = False,
    count_include_pad: bool = True,
    layout: str = "NCHW",
) -> te.Tensor:
    """Return the gradient of the data of a pooling of images, "max" or "avg", from that of its result."""
    operator = f"nn.{pool_type}_pool2d_grad"
    return function(operator)(grads, data, kernel, stride, padding, (1, 1), ceil_mode, count_include_pad, layout)


def upsampling(
    data: te.Tensor,
    scale_h: float,
    scale_w: float,
    layout: str = "NCHW",
    method: str = "nearest_neighbor",
    align_corners: bool = False,
    output_shape: Sequence[Any] | None = None,
) -> te.Tensor:
    """Return images enlarged by `scale_h` and `scale_w`, or to `output_shape`; the method is that of `image.resize2d`, or "bilinear"."""
    mode = "align_corners" if align_corners else "asymmetric"
    return _enlarged(data, (scale_h, scale_w), layout, method, mode, output_shape)


def upsampling3d(
    data: te.Tensor,
    scale_d: float,
    scale_h: float,
    scale_w: float,
    layout: str = "NCDHW",
    method: str = "nearest_neighbor",
    coordinate_transformation_mode: str = "half_pixel",
    output_shape: Sequence[Any] | None = None,
) -> te.Tensor:
    """Return volumes enlarged by the scales, or to `output_shape`; the method is that of `image.resize3d`, or "trilinear"."""
    return _enlarged(data, (scale_d, scale_h, scale_w), layout, method, coordinate_transformation_mode, output_shape)


def _enlarged(
    data: te.Tensor, scales: Sequence[float], layout: str, method: str, mode: str, output_shape: Sequence[Any] | None
) -> te.Tensor:
    places = _place(layout, "DHW"[-len(scales) :])
    sizes = (
        [output_shape[n] for n in places]
        if output_shape
        else [_scaled(data.dims[n], s) for n, s in zip(places, scales, strict=True)]
    )
    resize = image.resize2d if len(scales) == 2 else image.resize3d
    known = "linear" if method in ("bilinear", "trilinear") else "cubic" if method == "bicubic" else method
    return resize(data, (0.0,) * 2 * len(scales), sizes, layout, known, mode)


def _scaled(dim: tir.PrimExpr, scale: float) -> Any:
    if isinstance(dim, tir.IntImm):
        return round(int(dim) * scale)
    if float(scale).is_integer():
        return dim * int(scale)
    return make.cast(te.round(make.cast(dim, "float32") * te.const(scale, "float32")), dim.dtype)


def correlation_nchw(
    data1: te.Tensor,
    data2: te.Tensor,
    kernel_size: int,
    max_displacement: int,
    stride1: int,
    stride2: int,
    padding: int | Sequence[int],
    is_multiply: bool,
) -> te.Tensor:
    """Return how patches of `data1` agree with displaced patches of `data2`, as in FlowNet: the mean over channels and patch of products,
    or of absolute differences.
    """
    (top, left), (bottom, last) = both_sides(padding, 2)
    first, second = (pad(x, [0, 0, top, left], [0, 0, bottom, last]) for x in (data1, data2))
    radius = (kernel_size - 1) // 2
    border, grid = max_displacement + radius, max_displacement // stride2
    side = 2 * grid + 1
    n, channels, height, width = first.dims
    rows, columns = (make.ceildiv(size - 2 * border, te.const(stride1, size.dtype)) for size in (height, width))
    c, ky, kx = (
        te.reduce_axis((0, size), name) for size, name in ((channels, "rc"), (kernel_size, "ry"), (kernel_size, "rx"))
    )
    count = te.const(kernel_size * kernel_size, data1.dtype) * channels.astype(data1.dtype)

    def element(b: tir.PrimExpr, q: tir.PrimExpr, i: tir.PrimExpr, j: tir.PrimExpr) -> Any:
        y, x = i * stride1 + max_displacement + ky.var, j * stride1 + max_displacement + kx.var
        down, right = (q // side - grid) * stride2, (q % side - grid) * stride2
        left_item, right_item = first(b, c, y, x), second(b, c, y + down, x + right)
        agree = left_item * right_item if is_multiply else te.abs(left_item - right_item)
        return te.sum(agree / count, axis=[c, ky, kx])

    return te.compute((n, side * side, rows, columns), element, "correlation")


def _deformable(layout: str, kernel_layout: str) -> Callable[..., te.Tensor]:
    def deformable_conv2d(
        data: te.Tensor,
        offset: te.Tensor,
        kernel: te.Tensor,
        strides: Any,
        padding: Any,
        dilation: Any,
        deformable_groups: int,
        groups: int,
        out_dtype: str | None,
    ) -> te.Tensor:
        to_first = (0, 3, 1, 2)
        images, shifts = (function("transpose")(x, to_first) if layout == "NHWC" else x for x in (data, offset))
        height, width = (int(cast("tir.IntImm", kernel.dims[kernel_layout.index(letter)])) for letter in "HW")
        sampled = _sampled(images, shifts, (height, width), strides, padding, dilation, deformable_groups)
        # Each result reads its own window: the stride of the convolution is the size of the window.
        result = conv(sampled, kernel, (height, width), 0, 1, groups, "NCHW", kernel_layout, out_dtype)
        return function("transpose")(result, (0, 2, 3, 1)) if layout == "NHWC" else result

    deformable_conv2d.__name__ = deformable_conv2d.__qualname__ = f"deformable_conv2d_{layout.lower()}"
    deformable_conv2d.__doc__ = (
        f"Return the convolution of {layout} data, read at positions moved by `offset`, with an {kernel_layout} kernel.\n\n"
        "Positions between pixels are interpolated; pixels outside are 0."
    )
    return deformable_conv2d


def _sampled(
    images: te.Tensor, offset: te.Tensor, window: Sequence[int], strides: Any, padding: Any, dilation: Any, groups: int
) -> te.Tensor:
    """Return the moved elements of every window, side by side: of shape (n, c, rows * height, columns * width)."""
    (down, right), (below, beside) = per_dimension(strides, 2), per_dimension(dilation, 2)
    (top, left), _ = both_sides(padding, 2)
    height, width = window
    n, channels, rows, columns = images.dims
    dtype, zero = images.dtype, te.const(0, images.dtype)

    def pixel(b: tir.PrimExpr, c: tir.PrimExpr, y: tir.PrimExpr, x: tir.PrimExpr) -> tir.PrimExpr:
        inside = te.all(y >= 0, y < rows, x >= 0, x < columns)
        return te.if_then_else(inside, images(b, c, y, x), zero)

    def element(b: tir.PrimExpr, c: tir.PrimExpr, i: tir.PrimExpr, j: tir.PrimExpr) -> tir.PrimExpr:
        row, column, ky, kx = i // height, j // width, i % height, j % width
        number = ((c // (channels // groups)) * (height * width) + ky * width + kx) * 2
        y = (row * down - top + ky * below).astype(dtype) + offset(b, number, row, column)
        x = (column * right - left + kx * beside).astype(dtype) + offset(b, number + 1, row, column)
        low_y, low_x = te.floor(y), te.floor(x)
        result: tir.PrimExpr = zero
        for in_y, in_x in product((0, 1), (0, 1)):
            weight_y = y - low_y if in_y else low_y + 1 - y
            weight_x = x - low_x if in_x else low_x + 1 - x
            at = low_y.astype(i.dtype) + in_y, low_x.astype(i.dtype) + in_x
            result = result + weight_y * weight_x * pixel(b, c, *at)
        return result

    return te.compute((n, channels, offset.dims[2] * height, offset.dims[3] * width), element, "data_deform")


deformable_conv2d_nchw, deformable_conv2d_nhwc = _deformable("NCHW", "OIHW"), _deformable("NHWC", "HWIO")


def adaptive(spatial: int, layout: str) -> Callable[..., te.Tensor]:
    """Return the pooling to a given size in `spatial` dimensions."""

    def adaptive_pool(data: te.Tensor, output_size: Sequence[int], pool_type: str, layout: str = layout) -> te.Tensor:
        if pool_type == "avg":
            return function(f"nn.adaptive_avg_pool{spatial}d")(data, output_size, layout)
        if pool_type != "max":
            raise ValueError(f'topi.nn.adaptive_pool: pool_type is "{pool_type}"; choose "avg" or "max"')
        return _largest(data, per_dimension(output_size, spatial), _place(layout, "DHW"[-spatial:]))

    adaptive_pool.__name__ = adaptive_pool.__qualname__ = "adaptive_pool" + ("" if spatial == 2 else f"{spatial}d")
    adaptive_pool.__doc__ = (
        'Return the mean ("avg") or the maximum ("max") of windows such that the result has `output_size`.'
    )
    return adaptive_pool


def _largest(data: te.Tensor, sizes: Sequence[int], axes: Sequence[int]) -> te.Tensor:
    lengths = [int(cast("tir.IntImm", data.dims[axis])) for axis in axes]
    if all(size == 1 for size in sizes):
        return function("max")(data, list(axes), True)
    widths = [
        max(-(-(i + 1) * length // size) - i * length // size for i in range(size))
        for length, size in zip(lengths, sizes, strict=True)
    ]
    inner = [te.reduce_axis((0, width), f"rv{n}") for n, width in enumerate(widths)]
    shape: list[Any] = list(data.dims)
    for axis, size in zip(axes, sizes, strict=True):
        shape[axis] = size

    def element(*i: tir.PrimExpr) -> Any:
        at, inside = list(i), list[tir.PrimExpr]()
        for axis, length, size, k in zip(axes, lengths, sizes, inner, strict=True):
            at[axis] = i[axis] * length // size + k.var
            if length % size:
                inside.append(at[axis] < ((i[axis] + 1) * length + size - 1) // size)
        item = data(*at)
        return te.max(te.if_then_else(te.all(*inside), item, te.least(data.dtype)) if inside else item, axis=inner)

    return te.compute(shape, element, "adaptive_pool_max")
