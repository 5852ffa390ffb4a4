"""Functions that tuners are measured with, as tensor expressions (TVM: `meta_schedule.testing.te_workload`).

Each returns the parameters of a function; `te.create_prim_func` makes the function of them.
"""

# pyright: reportUnknownLambdaType=false, reportUnknownArgumentType=false, reportUnknownVariableType=false

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from ....ir import tir
from ....ir.api import te
from ....ir.api.topi import nn

__all__ = [
    "CONFIGS", "batch_matmul_nkkm", "conv1d_nlc", "conv2d_capsule_nhwijc", "conv2d_nhwc", "conv2d_nhwc_bn_relu",
    "conv2d_transpose_nhwc", "conv3d_ndhwc",    "create_te_workload", "depthwise_conv2d_nhwc", "matmul", "matmul_relu", "norm_bmn", "softmax_mn", "transpose_batch_matmul",
]  # fmt: skip
Parts = tuple[te.Tensor, ...]
FLOAT = "float32"


def matmul(n: int, m: int, k: int, in_dtype: str = FLOAT, out_dtype: str = FLOAT) -> Parts:
    """Return the product of matrices of n × k and k × m."""
    a, b = te.placeholder((n, k), in_dtype, "A"), te.placeholder((k, m), in_dtype, "B")
    axis = te.reduce_axis((0, k), "k")
    c = te.compute((n, m), lambda i, j: te.sum(_cast(a[i, axis], out_dtype) * _cast(b[axis, j], out_dtype), axis), "C")
    return a, b, c


def matmul_relu(n: int, m: int, k: int, in_dtype: str = FLOAT, out_dtype: str = FLOAT) -> Parts:
    """Return the product of two matrices, with zero instead of negative elements."""
    a, b, c = matmul(n, m, k, in_dtype, out_dtype)
    return a, b, nn.relu(c)


def batch_matmul_nkkm(B: int, N: int, M: int, K: int, in_dtype: str = FLOAT, out_dtype: str = FLOAT) -> Parts:
    """Return B products of matrices of N × K and K × M."""
    x, y = te.placeholder((B, N, K), in_dtype, "X"), te.placeholder((B, K, M), in_dtype, "Y")
    k = te.reduce_axis((0, K), "k")
    product = lambda b, i, j: te.sum(_cast(x[b, i, k], out_dtype) * _cast(y[b, k, j], out_dtype), k)  # noqa: E731
    return x, y, te.compute((B, N, M), product, "Z")


def transpose_batch_matmul(
    batch: int, seq_len: int, n_head: int, n_dim: int, in_dtype: str = FLOAT, out_dtype: str = FLOAT
) -> Parts:
    """Return the scores of an attention: products of queries and values, whose heads are moved to the front first."""
    shape = (batch, seq_len, n_head, n_dim)
    query, value = te.placeholder(shape, in_dtype, "query"), te.placeholder(shape, in_dtype, "value")
    rows = te.compute((batch, n_head, seq_len, n_dim), lambda b, h, i, d: query[b, i, h, d], "query_T")
    columns = te.compute((batch, n_head, n_dim, seq_len), lambda b, h, d, i: value[b, i, h, d], "value_T")
    k = te.reduce_axis((0, n_dim), "k")

    def scores(b: Any, h: Any, i: Any, j: Any) -> tir.PrimExpr:
        return te.sum(_cast(rows[b, h, i, k], out_dtype) * _cast(columns[b, h, k, j], out_dtype), k)

    return query, value, te.compute((batch, n_head, seq_len, seq_len), scores, "C")


def norm_bmn(B: int, M: int, N: int) -> Parts:
    """Return the Euclidean norms of B matrices."""
    a = te.placeholder((B, M, N), FLOAT, "A")
    i, j = te.reduce_axis((0, M), "i"), te.reduce_axis((0, N), "j")
    c = te.compute((B,), lambda b: te.sum(a[b, i, j] * a[b, i, j], axis=[i, j]), "C")
    return a, te.compute((B,), lambda b: te.sqrt(c[b]), "D")


def softmax_mn(m: int, n: int) -> Parts:
    """Return the softmax of the rows of a matrix."""
    a = te.placeholder((m, n), FLOAT, "A")
    return a, nn.softmax(a, axis=1)


# --- Convolutions -----------------------------------------------------------------------------------------------


def _convolution(
    name: str, image: Sequence[int], channels: tuple[int, int], kernel: int, stride: int, padding: int, dilation: int, groups: int,
    dtypes: tuple[str, str],
) -> Parts:  # fmt: skip
    """Return a convolution with channels last; `image` is the number of images and their size."""
    batch, *sizes = image
    given, made = channels
    axes = "dhw"[-len(sizes) :] if len(sizes) > 1 else "l"
    inputs = te.placeholder((batch, *sizes, given), dtypes[0], "inputs")
    weight = te.placeholder((*([kernel] * len(sizes)), given // groups, made), dtypes[0], "weight")
    reduced = [te.reduce_axis((0, kernel), f"r{axis}") for axis in axes]
    channel = te.reduce_axis((0, given // groups), "rc")
    padded = nn.pad(inputs, [0, *([padding] * len(sizes)), 0])
    lengths = [(size + 2 * padding - dilation * (kernel - 1) - 1) // stride + 1 for size in sizes]

    def element(n: Any, *rest: Any) -> tir.PrimExpr:
        *places, out = rest
        read = [place * stride + axis * dilation for place, axis in zip(places, reduced, strict=True)]
        group = out // (made // groups) * (given // groups)
        factors = padded[(n, *read, group + channel)], weight[(*reduced, channel, out)]
        return te.sum(_cast(factors[0], dtypes[1]) * _cast(factors[1], dtypes[1]), axis=[*reduced, channel])

    return inputs, weight, te.compute((batch, *lengths, made), element, name)


def conv1d_nlc(
    N: int, L: int, CI: int, CO: int, kernel_size: int, stride: int = 1, padding: int = 0, dilation: int = 1, groups: int = 1,
    in_dtype: str = FLOAT, out_dtype: str = FLOAT,
) -> Parts:  # fmt: skip
    """Return a convolution of N sequences."""
    dtypes = in_dtype, out_dtype
    return _convolution("conv1d_nlc", (N, L), (CI, CO), kernel_size, stride, padding, dilation, groups, dtypes)


def conv2d_nhwc(
    N: int, H: int, W: int, CI: int, CO: int, kernel_size: int, stride: int = 1, padding: int = 0, dilation: int = 1, groups: int = 1,
    in_dtype: str = FLOAT, out_dtype: str = FLOAT,
) -> Parts:  # fmt: skip
    """Return a convolution of N images."""
    dtypes = in_dtype, out_dtype
    return _convolution("conv2d_nhwc", (N, H, W), (CI, CO), kernel_size, stride, padding, dilation, groups, dtypes)


def conv3d_ndhwc(
    N: int, D: int, H: int, W: int, CI: int, CO: int, kernel_size: int, stride: int = 1, padding: int = 0, dilation: int = 1,
    groups: int = 1, in_dtype: str = FLOAT, out_dtype: str = FLOAT,
) -> Parts:  # fmt: skip
    """Return a convolution of N volumes."""
    dtypes = in_dtype, out_dtype
    return _convolution("conv3d_ndhwc", (N, D, H, W), (CI, CO), kernel_size, stride, padding, dilation, groups, dtypes)


def depthwise_conv2d_nhwc(
    N: int, H: int, W: int, C: int, kernel_size: int, stride: int = 1, padding: int = 0, dilation: int = 1, factor: int = 1,
    in_dtype: str = FLOAT, out_dtype: str = FLOAT,
) -> Parts:  # fmt: skip
    """Return a depthwise convolution of N images, with one filter for each channel; `factor` must be 1."""
    assert factor == 1, "each channel has one kernel"
    inputs = te.placeholder((N, H, W, C), in_dtype, "placeholder")
    weight = te.placeholder((factor, kernel_size, kernel_size, C), in_dtype, "placeholder")
    rows, columns = te.reduce_axis((0, kernel_size), "rh"), te.reduce_axis((0, kernel_size), "rw")
    padded = nn.pad(inputs, [0, padding, padding, 0])
    height, width = [(size + 2 * padding - dilation * (kernel_size - 1) - 1) // stride + 1 for size in (H, W)]

    def element(n: Any, h: Any, w: Any, c: Any) -> tir.PrimExpr:
        place = n, h * stride + rows * dilation, w * stride + columns * dilation, c // factor
        factors = padded[place], weight[c % factor, rows, columns, c // factor]
        return te.sum(_cast(factors[0], out_dtype) * _cast(factors[1], out_dtype), axis=[rows, columns])

    return inputs, weight, te.compute((N, height, width, C * factor), element, "depth_conv2d_nhwc")


def conv2d_capsule_nhwijc(
    N: int, H: int, W: int, CI: int, CO: int, kernel_size: int, stride: int = 1, padding: int = 0, capsule_size: int = 4,
    in_dtype: str = FLOAT, out_dtype: str = FLOAT,
) -> Parts:  # fmt: skip
    """Return a convolution of N images whose elements are matrices."""
    size = capsule_size
    inputs = te.placeholder((N, H, W, size, size, CI), in_dtype, "inputs")
    weight = te.placeholder((kernel_size, kernel_size, size, size, CI, CO), in_dtype, "weight")
    rows, columns = te.reduce_axis((0, kernel_size), "rh"), te.reduce_axis((0, kernel_size), "rw")
    k, channel = te.reduce_axis((0, size), "cap_k"), te.reduce_axis((0, CI), "rc")
    padded = nn.pad(inputs, [0, padding, padding, 0, 0, 0])
    height, width = [(length + 2 * padding - kernel_size) // stride + 1 for length in (H, W)]

    def element(n: Any, h: Any, w: Any, i: Any, j: Any, out: Any) -> tir.PrimExpr:
        read = padded[n, h * stride + rows, w * stride + columns, i, k, channel]
        factor = weight[rows, columns, k, j, channel, out]
        return te.sum(_cast(read, out_dtype) * _cast(factor, out_dtype), axis=[rows, columns, k, channel])

    return inputs, weight, te.compute((N, height, width, size, size, CO), element, "conv2d_capsule_nhwijc")


def conv2d_transpose_nhwc(
    N: int, H: int, W: int, CI: int, CO: int, kernel_size: int, stride: int = 1, padding: int = 0, in_dtype: str = FLOAT,
    out_dtype: str = FLOAT,
) -> Parts:  # fmt: skip
    """Return a transposed convolution of N images: elements that a stride leaves out are zero."""
    inputs = te.placeholder((N, H, W, CI), in_dtype, "inputs")
    weight = te.placeholder((kernel_size, kernel_size, CI, CO), in_dtype, "weight")
    beside = kernel_size - 1 - padding
    border = (stride - beside % stride) % stride
    padded = nn.pad(inputs, [0, *([(beside + stride - 1) // stride] * 2), 0])
    height, width = [(size - 1) * stride - 2 * padding + kernel_size for size in (H, W)]
    rc = te.reduce_axis((0, CI), "rc")
    rows, columns = te.reduce_axis((0, kernel_size), "rh"), te.reduce_axis((0, kernel_size), "rw")

    def spread(n: Any, h: Any, w: Any, channel: Any) -> Any:
        if stride == 1:
            return padded[n, h, w, channel]
        is_given = te.all(te.equal(h % stride, 0), te.equal(w % stride, 0))
        return te.if_then_else(is_given, padded[n, h // stride, w // stride, channel], te.const(0.0, in_dtype))

    def element(n: Any, h: Any, w: Any, out: Any) -> tir.PrimExpr:
        read = spread(n, h + rows + border, w + columns + border, rc)
        factor = weight[kernel_size - 1 - rows, kernel_size - 1 - columns, rc, out]
        return te.sum(_cast(read, out_dtype) * _cast(factor, out_dtype), axis=[rows, columns, rc])

    return inputs, weight, te.compute((N, height, width, CO), element, "conv2d_transpose_nhwc")


def conv2d_nhwc_bn_relu(
    N: int, H: int, W: int, CI: int, CO: int, kernel_size: int, strides: int, padding: int, dilation: int = 1, in_dtype: str = FLOAT,
    out_dtype: str = FLOAT,
) -> Parts:  # fmt: skip
    """Return a convolution of N images with bias, scale, offset, and zero instead of negative elements."""
    data, kernel = (
        te.placeholder((N, H, W, CI), in_dtype, "data"),
        te.placeholder((kernel_size, kernel_size, CI, CO), in_dtype, "kernel"),
    )
    bias, scale, offset = [te.placeholder((CO,), FLOAT, name) for name in ("bias", "bn_scale", "bn_offset")]
    rc = te.reduce_axis((0, CI), "rc")
    ry, rx = te.reduce_axis((0, kernel_size), "ry"), te.reduce_axis((0, kernel_size), "rx")
    padded = nn.pad(data, [0, padding, padding, 0], [0, padding, padding, 0], name="PaddedInput")
    height, width = [(size + 2 * padding - (kernel_size - 1) * dilation - 1) // strides + 1 for size in (H, W)]

    def element(n: Any, y: Any, x: Any, f: Any) -> tir.PrimExpr:
        read = padded[n, y * strides + ry * dilation, x * strides + rx * dilation, rc]
        return te.sum(_cast(read, out_dtype) * _cast(kernel[ry, rx, rc, f], out_dtype), axis=[ry, rx, rc])

    shape = (N, height, width, CO)
    conv = te.compute(shape, element, "Conv2dOutput")
    biased = te.compute(shape, lambda n, h, w, c: conv[n, h, w, c] + bias[c], "bias_add")
    scaled = te.compute(shape, lambda n, h, w, c: biased[n, h, w, c] * scale[c], "bn_mul")
    moved = te.compute(shape, lambda n, h, w, c: scaled[n, h, w, c] + offset[c], "bn_add")
    return data, kernel, bias, offset, scale, nn.relu(moved)


def _cast(value: Any, dtype: str) -> Any:
    return value if value.dtype == dtype else value.astype(dtype)


# --- Sizes ------------------------------------------------------------------------------------------------------

CONFIGS: dict[str, tuple[Callable[..., Parts], list[tuple[int, ...]]]] = {
    "C1D": (conv1d_nlc, [(1, 256, 64, 128, 3, 2, 1), (1, 128, 128, 256, 1, 2, 0), (1, 64, 256, 256, 5, 1, 2), (1, 32, 512, 512, 3, 1, 1)]),
    "C2D": (
        conv2d_nhwc,
        [(1, 224, 224, 3, 64, 7, 2, 3), (1, 56, 56, 64, 64, 1, 1, 0), (1, 14, 14, 256, 256, 3, 1, 1), (1, 7, 7, 512, 512, 3, 1, 1)],
    ),
    "C3D": (
        conv3d_ndhwc,
        [
            (1, 16, 224, 224, 3, 64, 7, 2, 3), (1, 16, 56, 56, 64, 64, 1, 1, 0), (1, 16, 14, 14, 256, 256, 3, 1, 1),
            (1, 16, 7, 7, 512, 512, 3, 1, 1),
        ],
    ),
    "GMM": (batch_matmul_nkkm, [(1, 128, 128, 128), (1, 512, 32, 512), (1, 512, 512, 512), (1, 1024, 1024, 1024)]),
    "GRP": (
        conv2d_nhwc,
        [
            (1, 56, 56, 64, 128, 3, 2, 1, 1, 4), (1, 56, 56, 64, 64, 1, 1, 0, 1, 4), (1, 14, 14, 256, 256, 3, 1, 1, 1, 4),
            (1, 7, 7, 512, 512, 3, 1, 1, 1, 4),
        ],
    ),
    "DIL": (
        conv2d_nhwc,
        [
            (1, 224, 224, 3, 64, 7, 2, 3, 2), (1, 56, 56, 64, 64, 1, 1, 0, 2), (1, 14, 14, 256, 256, 3, 1, 1, 2),
            (1, 7, 7, 512, 512, 3, 1, 1, 2),
        ],
    ),
    "DEP": (
        depthwise_conv2d_nhwc,
        [(1, 112, 112, 32, 3, 1, 1), (1, 112, 112, 64, 3, 2, 1), (1, 14, 14, 512, 3, 2, 1), (1, 7, 7, 1024, 3, 1, 1)],
    ),
    "T2D": (
        conv2d_transpose_nhwc,
        [(1, 4, 4, 512, 256, 4, 2, 1), (1, 8, 8, 256, 128, 4, 2, 1), (1, 16, 16, 128, 64, 4, 2, 1), (1, 32, 32, 64, 3, 4, 2, 1)],
    ),
    "CAP": (
        conv2d_capsule_nhwijc,
        [(1, 16, 16, 32, 32, 3, 2, 1), (1, 8, 8, 32, 32, 3, 1, 1), (1, 16, 16, 8, 16, 3, 2, 1), (1, 8, 8, 16, 16, 3, 1, 1)],
    ),
    "NRM": (norm_bmn, [(1, 256, 256), (1, 512, 512), (1, 1024, 1024), (1, 4096, 1024)]),
    "SFM": (softmax_mn, [(256, 256), (512, 512), (1024, 1024), (2048, 2048)]),
    "CBR": (
        conv2d_nhwc_bn_relu,
        [(1, 224, 224, 3, 64, 7, 2, 3), (1, 56, 56, 64, 128, 3, 2, 1), (1, 28, 28, 128, 256, 1, 2, 0), (1, 7, 7, 512, 512, 3, 1, 1)],
    ),
    "TBG": (transpose_batch_matmul, [(1, 128, 12, 64), (1, 128, 16, 64), (1, 64, 12, 128), (1, 128, 12, 128)]),
}  # fmt: skip
"""The workloads by name, with the sizes of published networks."""


def create_te_workload(name: str, idx: int) -> tir.PrimFunc:
    """Return the function of a workload of `CONFIGS` with its sizes number `idx`."""
    workload, sizes = CONFIGS[name]
    return te.create_prim_func(workload(*sizes[idx]))
