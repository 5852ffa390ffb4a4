"""Convolutions under TVM's names for each layout (TVM: `tvm.topi.nn.conv1d` to `conv3d_transpose`)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, cast

from ... import te, tir
from .padding import both_sides, pad, per_dimension
from .table import function

_SPATIAL = {1: "W", 2: "HW", 3: "DHW"}
_CHANNELS_LAST = {1: ("NWC", "WIO"), 2: ("NHWC", "HWIO"), 3: ("NDHWC", "DHWIO")}


def _layouts(spatial: int, is_last: bool) -> tuple[str, str]:
    return _CHANNELS_LAST[spatial] if is_last else ("NC" + _SPATIAL[spatial], "OI" + _SPATIAL[spatial])


def conv(
    inp: te.Tensor,
    filt: te.Tensor,
    stride: int | Sequence[int],
    padding: int | Sequence[int] | str,
    dilation: int | Sequence[int],
    groups: int,
    data_layout: str,
    kernel_layout: str = "",
    out_dtype: str | None = None,
) -> te.Tensor:
    """Return the convolution in 1 to 3 dimensions that `data_layout` has beside N and C.

    The layout of the kernel defaults to OIW, OIHW or OIDHW, or WIO, HWIO or DHWIO if the channels are last.
    """
    spatial = len(data_layout) - 2
    pads = (
        padding if not isinstance(padding, str) else _pads(filt, kernel_layout, padding, spatial, dilation, data_layout)
    )
    kernel = kernel_layout or _layouts(spatial, data_layout.endswith("C"))[1]
    keywords = {"groups": groups, "data_layout": data_layout, "kernel_layout": kernel, "out_dtype": out_dtype}
    return function(f"nn.conv{spatial}d")(inp, filt, strides=stride, padding=pads, dilation=dilation, **keywords)


def _pads(filt: te.Tensor, layout: str, padding: str, spatial: int, dilation: Any, data_layout: str) -> list[int]:
    """Return the padding before and after for "VALID" and "SAME"; with strides, "SAME" pads as for stride 1."""
    if padding not in ("VALID", "SAME"):
        raise ValueError(f'topi.nn.conv: padding is "{padding}"; expected numbers, "VALID" or "SAME"')
    if padding == "VALID":
        return [0] * 2 * spatial
    kernel = layout or _layouts(spatial, data_layout.endswith("C"))[1]
    steps = [dilation] * spatial if isinstance(dilation, int) else list(dilation)
    sizes = [int(cast("tir.IntImm", filt.dims[kernel.index(letter)])) for letter in _SPATIAL[spatial]]
    total = [(size - 1) * step for size, step in zip(sizes, steps, strict=True)]
    return [*(item // 2 for item in total), *(item - item // 2 for item in total)]


def _fixed(name: str, spatial: int, is_last: bool, has_groups: bool) -> Callable[..., te.Tensor]:
    """Return the convolution in one pair of layouts, with `groups` after `dilation` or without."""
    data_layout, kernel_layout = _layouts(spatial, is_last)
    one_dimension: dict[str, Any] = {"stride": 1, "padding": "VALID", "dilation": 1}

    def grouped(
        data: te.Tensor,
        kernel: te.Tensor,
        stride: Any = 1,
        padding: Any = 0,
        dilation: Any = 1,
        groups: int = 1,
        out_dtype: str | None = None,
    ) -> te.Tensor:
        return conv(data, kernel, stride, padding, dilation, groups, data_layout, kernel_layout, out_dtype)

    def single(
        data: te.Tensor,
        kernel: te.Tensor,
        stride: Any = 1,
        padding: Any = 0,
        dilation: Any = 1,
        out_dtype: str | None = None,
    ) -> te.Tensor:
        return conv(data, kernel, stride, padding, dilation, 1, data_layout, kernel_layout, out_dtype)

    made = grouped if has_groups else single
    if spatial == 1:
        made.__defaults__ = (*one_dimension.values(), *(made.__defaults__ or ())[3:])
    made.__name__ = made.__qualname__ = name
    made.__doc__ = f"Return the convolution of {data_layout} data with an {kernel_layout} kernel."
    return made


conv1d_ncw, conv1d_nwc = _fixed("conv1d_ncw", 1, False, False), _fixed("conv1d_nwc", 1, True, False)
group_conv1d_ncw, group_conv1d_nwc = (
    _fixed("group_conv1d_ncw", 1, False, True),
    _fixed("group_conv1d_nwc", 1, True, True),
)
group_conv2d_nhwc = _fixed("group_conv2d_nhwc", 2, True, True)
conv3d_ncdhw, conv3d_ndhwc = _fixed("conv3d_ncdhw", 3, False, True), _fixed("conv3d_ndhwc", 3, True, True)


def conv2d_hwcn(
    data: te.Tensor, kernel: te.Tensor, stride: Any, padding: Any, dilation: Any, out_dtype: str | None = None
) -> te.Tensor:
    """Return the convolution of HWCN data with an HWIO kernel."""
    images = function("transpose")(data, (3, 2, 0, 1))
    return function("transpose")(
        conv(images, kernel, stride, padding, dilation, 1, "NCHW", "HWIO", out_dtype), (2, 3, 1, 0)
    )


def depthwise_conv2d_nhwc(
    data: te.Tensor,
    kernel: te.Tensor,
    stride: Any,
    padding: Any,
    dilation: Any,
    kernel_layout: str = "HWOI",
    out_dtype: str | None = None,
) -> te.Tensor:
    """Return the convolution of each channel of NHWC data with its own kernels, HWOI or HWIO: multipliers are I or O, channels the other."""
    count = int(cast("tir.IntImm", data.dims[3]))
    height, width, first, second = kernel.dims
    multipliers = second if kernel_layout == "HWOI" else first
    weights = kernel
    if kernel_layout != "HWOI":  # channels are I: bring them before the multipliers
        weights = function("transpose")(kernel, (0, 1, 3, 2))
    flat = function("reshape")(weights, (height, width, 1, count * int(cast("tir.IntImm", multipliers))))
    return conv(data, flat, stride, padding, dilation, count, "NHWC", "HWIO", out_dtype)


def dilate(
    data: te.Tensor, strides: Sequence[int], dilation_value: float = 0.0, name: str = "DilatedInput"
) -> te.Tensor:
    """Return `data` with its elements `strides` apart, and `dilation_value` between them.

    ValueError if there is not a stride for each dimension.
    """
    if len(strides) != data.ndim:
        raise ValueError(f"topi.nn.dilate: expected {data.ndim} strides, got {len(strides)}")

    def element(*i: tir.PrimExpr) -> tir.PrimExpr:
        spread = [(n, step) for n, step in enumerate(strides) if step != 1]
        source = [place // step if step != 1 else place for place, step in zip(i, strides, strict=True)]
        kept = [te.equal(i[n] % step, 0) for n, step in spread]
        return te.if_then_else(te.all(*kept), data(*source), te.const(dilation_value, data.dtype)) if kept else data(*i)

    return te.compute([(dim - 1) * step + 1 for dim, step in zip(data.dims, strides, strict=True)], element, name)


def _transpose(spatial: int, has_groups: bool, name: str) -> Callable[..., te.Tensor]:
    operator = f"nn.conv{spatial}d_transpose"
    layouts = {"data_layout": "NC" + _SPATIAL[spatial], "kernel_layout": "IO" + _SPATIAL[spatial]}

    def compute(data: Any, kernel: Any, strides: Any, padding: Any, output_padding: Any, **more: Any) -> te.Tensor:
        pads = [0] * spatial if padding == "VALID" else padding
        return function(operator)(
            data, kernel, strides=strides, padding=pads, output_padding=output_padding, **layouts, **more
        )

    def single(
        data: te.Tensor, kernel: te.Tensor, strides: Any, padding: Any, out_dtype: str | None, output_padding: Any
    ) -> te.Tensor:
        return compute(data, kernel, strides, padding, output_padding, out_dtype=out_dtype)

    def grouped(
        data: te.Tensor,
        kernel: te.Tensor,
        stride: Any,
        padding: Any,
        out_dtype: str | None,
        output_padding: Any,
        groups: int,
    ) -> te.Tensor:
        return compute(data, kernel, stride, padding, output_padding, out_dtype=out_dtype, groups=groups)

    made = grouped if has_groups else single
    made.__name__ = made.__qualname__ = name
    made.__doc__ = (
        f"Return the transposed convolution of {layouts['data_layout']} data with an {layouts['kernel_layout']} kernel."
    )
    return made


conv1d_transpose_ncw = _transpose(1, False, "conv1d_transpose_ncw")
conv2d_transpose_nchw = _transpose(2, False, "conv2d_transpose_nchw")
conv3d_transpose_ncdhw = _transpose(3, False, "conv3d_transpose_ncdhw")
group_conv1d_transpose_ncw = _transpose(1, True, "group_conv1d_transpose_ncw")
group_conv2d_transpose_nchw = _transpose(2, True, "group_conv2d_transpose_nchw")
group_conv3d_transpose_ncdhw = _transpose(3, True, "group_conv3d_transpose_ncdhw")
declaration_conv2d_transpose_impl, declaration_conv3d_transpose_impl = conv2d_transpose_nchw, conv3d_transpose_ncdhw


def _preprocess(spatial: int) -> Callable[..., tuple[te.Tensor, te.Tensor]]:
    def preprocess(
        data: te.Tensor, kernel: te.Tensor, strides: Any, padding: Any, out_dtype: str | None, output_padding: Any
    ) -> tuple[te.Tensor, te.Tensor]:
        del out_dtype
        steps, more = per_dimension(strides, spatial), per_dimension(output_padding, spatial)
        before, after = both_sides(padding, spatial)
        sizes = [int(cast("tir.IntImm", dim)) for dim in kernel.dims[2:]]
        spread = dilate(data, [1, 1, *steps])
        low = [size - 1 - item for size, item in zip(sizes, before, strict=True)]
        high = [size - 1 - item + extra for size, item, extra in zip(sizes, after, more, strict=True)]

        def turned(o: tir.PrimExpr, i: tir.PrimExpr, *place: tir.PrimExpr) -> tir.PrimExpr:
            return kernel(i, o, *(size - 1 - at for size, at in zip(sizes, place, strict=True)))

        flipped = te.compute((kernel.dims[1], kernel.dims[0], *kernel.dims[2:]), turned, "kernel_transform")
        return pad(spread, [0, 0, *low], [0, 0, *high]), flipped

    letters = _SPATIAL[spatial].lower()
    preprocess.__name__ = preprocess.__qualname__ = f"conv{spatial}d_transpose_nc{letters}_preprocess"
    preprocess.__doc__ = (
        "Return the dilated and padded data, and the turned kernel, whose convolution with stride 1 and without padding is the "
        "transposed convolution."
    )
    return preprocess


conv2d_transpose_nchw_preprocess, conv3d_transpose_ncdhw_preprocess = _preprocess(2), _preprocess(3)


def depthwise_conv2d_backward_input_nhwc(
    kernel: te.Tensor, out_grad: te.Tensor, oshape: Sequence[int], ishape: Sequence[int], stride: Any, padding: Any
) -> te.Tensor:
    """Return the gradient of the NHWC data of a depthwise convolution with an HWCM `kernel`, from that of its result.

    `oshape` and `ishape` are the shapes of the result and of the data.
    """
    del oshape
    (top, left), _ = both_sides(padding, 2)
    down, right = per_dimension(stride, 2)
    height, width, _, multipliers = kernel.dims
    ky, kx, m = (te.reduce_axis((0, size), name) for size, name in ((height, "dy"), (width, "dx"), (multipliers, "dc")))

    def element(b: tir.PrimExpr, y: tir.PrimExpr, x: tir.PrimExpr, c: tir.PrimExpr) -> Any:
        below, after = y + top - ky.var, x + left - kx.var
        at_y, at_x = below // down, after // right
        inside = te.all(
            te.equal(below % down, 0), te.equal(after % right, 0), at_y >= 0, at_y < out_grad.dims[1], at_x >= 0, at_x < out_grad.dims[2]
        )  # fmt: skip
        product = out_grad(b, at_y, at_x, c * multipliers + m.var) * kernel(ky, kx, c, m)
        return te.sum(te.if_then_else(inside, product, te.const(0, product.dtype)), axis=[ky, kx, m])

    return te.compute(ishape, element, "depthwise_conv2d_backward_input_nhwc")


def depthwise_conv2d_backward_weight_nhwc(
    data: te.Tensor, out_grad: te.Tensor, oshape: Sequence[int], fshape: Sequence[int], stride: Any, padding: Any
) -> te.Tensor:
    """Return the gradient of the HWCM kernel of a depthwise convolution of NHWC `data`, from that of its result.

    `oshape` and `fshape` are the shapes of the result and of the kernel.
    """
    (top, left), (bottom, last) = both_sides(padding, 2)
    down, right = per_dimension(stride, 2)
    padded = pad(data, [0, top, left, 0], [0, bottom, last, 0])
    axes = [te.reduce_axis((0, oshape[n]), name) for n, name in enumerate(("b", "y", "x"))]
    b, y, x = axes

    def element(ky: tir.PrimExpr, kx: tir.PrimExpr, c: tir.PrimExpr, m: tir.PrimExpr) -> Any:
        item = padded(b, y.var * down + ky, x.var * right + kx, c)
        return te.sum(out_grad(b, y, x, c * fshape[3] + m) * item, axis=axes)

    return te.compute(fshape, element, "depthwise_conv2d_backward_weight_nhwc")
