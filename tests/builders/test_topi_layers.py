"""Functions of `topi` that have no operator at the graph level, against NumPy."""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import tvms
from builders.test_topi import Array, computed
from tvms import relax, te, topi

RNG = np.random.default_rng(7)
X = RNG.uniform(0.5, 2, (3, 4)).astype("float32")
ROWS = np.arange(24, dtype="float32").reshape(4, 6)
IMAGE = RNG.uniform(-1, 1, (1, 2, 5, 5)).astype("float32")
KERNEL = RNG.uniform(-1, 1, (3, 2, 3, 3)).astype("float32")
INT = np.array([[1, 2, 3], [1000, -7, 2**30]], "int32")


def i32(*values: Any) -> Array:
    return np.array(values, "int32")


def convolved(x: Array, w: Array, stride: int = 1, pad: int = 0, groups: int = 1) -> Array:
    """The convolution of NCHW data with an OIHW kernel, by definition."""
    x = np.pad(x, ((0, 0), (0, 0), (pad, pad), (pad, pad)))
    (n, _, h, v), (o, i, kh, kw) = x.shape, w.shape
    result = np.zeros((n, o, (h - kh) // stride + 1, (v - kw) // stride + 1), x.dtype)
    for place in np.ndindex(*result.shape):
        b, m, y, z = place
        first = m // (o // groups) * i
        window = x[b, first : first + i, y * stride : y * stride + kh, z * stride : z * stride + kw]
        result[place] = (window * w[m]).sum()
    return result


def set_slice(x: Array, value: Array, *slices: slice) -> Array:
    result = x.copy()
    result[slices] = value
    return result


def reversed_rows(x: Array, lengths: Array) -> Array:
    return np.stack([np.concatenate((row[:n][::-1], row[n:])) for row, n in zip(x, lengths, strict=True)])


def in_blocks(x: Array, block: int) -> Array:
    n, c, h, w = x.shape
    return x.reshape(n, c // block, block, h, w).transpose(0, 1, 3, 4, 2)


def displaced_products(x: Array, y: Array) -> Array:
    """The means over channels of the products of `x` and `y` moved by one pixel in each direction."""
    padded = np.pad(y, ((0, 0), (0, 0), (1, 1), (1, 1)))
    moved = [padded[:, :, i : i + 5, j : j + 5] for i in range(3) for j in range(3)]
    return np.stack([(x * item).mean(1) for item in moved], 1)


def upsampled(x: Array, count: int) -> Array:
    return x.repeat(count, 2).repeat(count, 3)


@pytest.mark.parametrize(
    ("function", "arrays", "expected"),
    [
        (topi.identity, (X,), X),
        (topi.log2, (X,), np.log2(X)),
        (topi.log10, (X,), np.log10(X)),
        (topi.fast_exp, (X,), np.exp(X)),
        (topi.fast_tanh, (X,), np.tanh(X)),
        (lambda x: topi.reinterpret(x, "int32"), (X,), X.view("int32")),
        (topi.ceil_log2, (i32(1, 2, 3, 4, 5, 1000),), i32(0, 1, 2, 2, 3, 10)),
        (lambda x, y: topi.elemwise_sum([x, y, x]), (X, X), 3 * X),
        (lambda x: topi.fixed_point_multiply(x, 2**30, 2), (INT,), INT * 2),
        (lambda x, y, z, r: topi.fixed_point_multiply_per_axis(x, y, z, r, False, True, [1]), (i32([8, 8, 8]), i32(2**30, 2**30, 2**30), i32(0, 0, 0), i32(0, 1, 2)), i32([4, 2, 1])),
        (lambda x, y: topi.expand_like(x, y, 0), (X[0], X), np.broadcast_to(X[0], X.shape)),
        (lambda x, y: topi.expand_like(x, y, [0, 1]), (X[0, :1], X), np.full_like(X, X[0, 0])),
        (topi.reverse_sequence, (ROWS, i32(3, 1, 6, 0)), reversed_rows(ROWS, [3, 1, 6, 0])),
        (lambda x, b, e, s: topi.dynamic_strided_slice(x, b, e, s, (2, 2)), (ROWS, i32(1, 0), i32(4, 6), i32(2, 3)), ROWS[1:4:2, 0:6:3]),
        (lambda x, v: topi.strided_set(x, v, [1, 4], [3, 0], [1, -2]), (ROWS, -X[:2, :2]), set_slice(ROWS, -X[:2, :2], slice(1, 3), slice(4, 0, -2))),
        (lambda x, v: topi.strided_set(x, v, [-2, 0], [9, 2]), (ROWS, -X[:2, :2]), set_slice(ROWS, -X[:2, :2], slice(-2, 9), slice(0, 2))),
        (topi.strided_set, (ROWS, -X[:2, :2], i32(0, 1), i32(4, 5), i32(2, 2)), set_slice(ROWS, -X[:2, :2], slice(0, 4, 2), slice(1, 5, 2))),
        (lambda x, y: topi.tensordot(x, y, 1), (X, X.T), X @ X.T),
        (lambda x, y: topi.tensordot(x, y, ((0, 1), (1, 0))), (X, X.T), np.tensordot(X, X.T, ((0, 1), (1, 0)))),
        (topi.shape, (X,), i32(3, 4)),
        (topi.ndarray_size, (X,), i32(12).reshape(())),
        (lambda x, n: topi.sequence_mask(x, n, -1), (ROWS, i32(0, 1, 2, 3, 4, 9)), np.where(np.arange(4)[:, None] < [0, 1, 2, 3, 4, 9], ROWS, -1)),
        (lambda x, n: topi.sequence_mask(x, n, 0, 1), (X, i32(1, 2, 3)), np.where(np.arange(4) < np.array([1, 2, 3])[:, None], X, 0)),
        (topi.unravel_index, (i32(22, 41, 37), i32(7, 6)), i32([3, 6, 6], [4, 5, 1])),
        (lambda x: topi.unravel_index(x, (7, 6)), (i32(22),), i32([3], [4])),
        (lambda i, v: topi.sparse_to_dense(i, (5,), v, 9), (i32(0, 3), X[0, :2]), np.array([X[0, 0], 9, 9, X[0, 1], 9], "float32")),
        (lambda i, v: topi.sparse_to_dense(i, (2, 3), v), (i32([0, 1], [1, 2]), X[0, :2]), np.array([[0, X[0, 0], 0], [0, 0, X[0, 1]]], "float32")),
        (topi.matrix_set_diag, (X[:, :3], X[0, :3]), X[:, :3] * (1 - np.eye(3, dtype="float32")) + np.diag(X[0, :3])),
        (lambda x: topi.sliding_window(x, 1, (3,), (2,)), (ROWS,), np.lib.stride_tricks.sliding_window_view(ROWS, 3, 1)[:, ::2]),
        (lambda x: topi.trilu(x, 1, True), (X,), np.triu(X, 1)),
        (lambda x: topi.trilu(x, te.const(-1, "int32"), False), (X,), np.tril(X, -1)),
        (lambda x: topi.scanop(x, lambda a, b: te.maximum(a, b), -100.0, "cummax", 1), (X,), np.maximum.accumulate(X, 1)),
        (lambda x: topi.scanop(x, lambda a, b: a + b, 0, "sums", exclusive=True), (X,), np.cumsum(X) - X.ravel()),
        (lambda x: topi.stft(x, 4, 2, 4, te.compute((4,), lambda i: te.const(1.0, "float32")), False, True, (4, 3, 2, 2)), (ROWS,), np.stack([(f := np.stack([np.fft.rfft(ROWS[:, s : s + 4]) for s in (0, 2)], 2)).real, f.imag], 3)),
        (lambda x: topi.nn.space_to_depth(x, 2), (IMAGE[:, :, :4, :4],), IMAGE[:, :, :4, :4].reshape(1, 2, 2, 2, 2, 2).transpose(0, 3, 5, 1, 2, 4).reshape(1, 8, 2, 2)),
        (lambda x: topi.nn.depth_to_space(topi.nn.space_to_depth(x, 2), 2), (IMAGE[:, :, :4, :4],), IMAGE[:, :, :4, :4]),
        (lambda x: topi.nn.depth_to_space(x, 2, "NHWC", "CRD"), (X[:1].reshape(1, 1, 1, 4),), X[:1].reshape(1, 2, 2, 1)),
        (lambda x: topi.nn.batch_to_space_nd(topi.nn.space_to_batch_nd(x, [2, 2], [1, 0], [1, 0]), [2, 2], [1, 0], [1, 0]), (ROWS[None],), ROWS[None]),
        (lambda x: topi.nn.space_to_batch_nd(x, [2], [0], [0]), (ROWS[None],), np.stack((ROWS[::2], ROWS[1::2]))),
        (lambda x: topi.nn.lrn(x, 3, 1, 0.5, 0.75, 2), (X,), X / (2 + 0.5 / 3 * sum(np.pad(X**2, ((0, 0), (1, 1)))[:, n : n + 4] for n in range(3))) ** 0.75),
        (topi.nn.scale_shift_nchw, (IMAGE, X[0, :2], X[1, :2]), IMAGE * X[0, :2, None, None] + X[1, :2, None, None]),
        (topi.nn.scale_shift_nhwc, (IMAGE, X[0, [1] * 5], X[1, [1] * 5]), IMAGE * X[0, 1] + X[1, 1]),
        (lambda x, y: topi.nn.fifo_buffer(x, y, 1), (X[:, :2], -X), np.concatenate((-X, X[:, :2]), 1)[:, 2:]),
        (lambda x: topi.nn.fast_softmax(x, 0), (X,), np.exp(X) / np.exp(X).sum(0)),
        (lambda x: topi.nn.softplus(x), (X,), np.log1p(np.exp(X))),
        (lambda x: topi.nn.dilate(x, (2, 1), 9), (X,), set_slice(np.full((5, 4), 9, "float32"), X, slice(0, 5, 2))),
        (lambda x, w: topi.nn.conv(x, w, 1, "SAME", 1, 1, "NCHW"), (IMAGE, KERNEL), convolved(IMAGE, KERNEL, pad=1)),
        (lambda x, w: topi.nn.conv1d_ncw(x, w), (IMAGE[0, :, :, 0][None], KERNEL[:, :, :, 0]), convolved(IMAGE[:, :, :, :1], KERNEL[:, :, :, :1])[..., 0]),
        (lambda x, w: topi.nn.conv1d_nwc(x, w, 2), (IMAGE[0, :, :, 0].T[None], KERNEL[:, :, :, 0].transpose(2, 1, 0)), convolved(IMAGE[:, :, :, :1].repeat(1, 3), KERNEL[:, :, :, :1])[:, :, ::2, 0].transpose(0, 2, 1)),
        (lambda x, w: topi.nn.group_conv2d_nhwc(x, w, 1, 0, 1, 2), (IMAGE.transpose(0, 2, 3, 1), KERNEL[:2, :1].transpose(2, 3, 1, 0)), convolved(IMAGE, KERNEL[:2, :1], groups=2).transpose(0, 2, 3, 1)),
        (lambda x, w: topi.nn.conv2d_hwcn(x, w, 2, 1, 1), (IMAGE.transpose(2, 3, 1, 0), KERNEL.transpose(2, 3, 1, 0)), convolved(IMAGE, KERNEL, 2, 1).transpose(2, 3, 1, 0)),
        (lambda x, w: topi.nn.conv3d_ncdhw(x, w, 1, 0, 1, 1), (IMAGE[:, :, None], KERNEL[:, :, None]), convolved(IMAGE, KERNEL)[:, :, None]),
        (lambda x, w: topi.nn.depthwise_conv2d_nhwc(x, w, 1, 0, 1), (IMAGE.transpose(0, 2, 3, 1), KERNEL[:2, :1].transpose(2, 3, 0, 1)), convolved(IMAGE, KERNEL[:2, :1], groups=2).transpose(0, 2, 3, 1)),
        (lambda x, w: topi.nn.conv2d_transpose_nchw(x, w, (2, 2), (1, 1, 1, 1), "float32", (0, 0)), (IMAGE, KERNEL[:2]), convolved(set_slice(np.zeros((1, 2, 9, 9), "float32"), IMAGE, *[slice(None)] * 2, *[slice(0, 9, 2)] * 2), KERNEL[:2].transpose(1, 0, 2, 3)[:, :, ::-1, ::-1], pad=1)),
        (lambda x, w: topi.nn.conv2d_nchw(*topi.nn.conv2d_transpose_nchw_preprocess(x, w, (2, 2), (1, 1, 1, 1), "float32", (0, 0)), 1, 0, 1), (IMAGE, KERNEL[:2]), convolved(set_slice(np.zeros((1, 2, 9, 9), "float32"), IMAGE, *[slice(None)] * 2, *[slice(0, 9, 2)] * 2), KERNEL[:2].transpose(1, 0, 2, 3)[:, :, ::-1, ::-1], pad=1)),
        (lambda x, w: topi.nn.unpack_NCHWc_to_nchw(topi.nn.conv2d_NCHWc(x, w, 1, 1, 1, "NCHW1c", "NCHW3c"), "float32"), (in_blocks(IMAGE, 1), KERNEL.reshape(1, 3, 2, 1, 3, 3).transpose(0, 2, 4, 5, 3, 1)), convolved(IMAGE, KERNEL, pad=1)),
        (lambda x, w: topi.nn.depthwise_conv2d_NCHWc(x, w, 1, 0, 1, "NCHW2c", "NCHW2c"), (in_blocks(IMAGE, 2), KERNEL[None, :2, :1].transpose(0, 2, 3, 4, 1)[:, :, :, :, None]), in_blocks(convolved(IMAGE, KERNEL[:2, :1], groups=2), 2)),
        (topi.nn.dense_pack, (X, ROWS.reshape(3, 2, 4).transpose(0, 2, 1), ROWS[0]), X @ ROWS.reshape(6, 4).T + ROWS[0]),
        (lambda x: topi.nn.upsampling(x, 2, 2), (IMAGE,), upsampled(IMAGE, 2)),
        (lambda x: topi.nn.upsampling3d(x, 1, 2, 2, coordinate_transformation_mode="asymmetric"), (IMAGE[:, :, None],), upsampled(IMAGE, 2)[:, :, None]),
        (lambda x, y: topi.nn.correlation_nchw(x, y, 1, 1, 1, 1, 1, True), (IMAGE, -IMAGE), displaced_products(IMAGE, -IMAGE)),
        (lambda x, o, w: topi.nn.deformable_conv2d_nchw(x, o, w, 1, 1, 1, 1, 1, "float32"), (IMAGE, np.zeros((1, 18, 5, 5), "float32"), KERNEL), convolved(IMAGE, KERNEL, pad=1)),
        (lambda x, o, w: topi.nn.deformable_conv2d_nchw(x, o, w, 1, 0, 1, 1, 1, "float32"), (IMAGE, np.full((1, 2, 4, 4), 0.5, "float32"), KERNEL[:, :, :1, :1]), convolved((IMAGE[:, :, :4, :4] + IMAGE[:, :, 1:, :4] + IMAGE[:, :, :4, 1:] + IMAGE[:, :, 1:, 1:]) / 4, KERNEL[:, :, :1, :1])),
        (lambda x: topi.nn.adaptive_pool1d(x, (3,), "max"), (X[None],), np.stack([X[:, 0:2].max(1), X[:, 1:3].max(1), X[:, 2:4].max(1)], 1)[None]),
        (lambda x: topi.nn.adaptive_pool(x, (2, 1), "max"), (IMAGE,), np.stack([IMAGE[:, :, :3].max((2, 3)), IMAGE[:, :, 2:].max((2, 3))], 2)[..., None]),
        (lambda g, x: topi.nn.pool_grad(g, x, [1, 1], [1, 1], [0, 0, 0, 0], "max"), (IMAGE, -IMAGE), IMAGE),
        (lambda x, k, s, z: topi.nn.simulated_quantize(x, k, s, z), (X, np.int32(1), np.float32(0.25), np.int32(3)), np.clip(np.round(X / 0.25) + 3, -128, 127)),
        (lambda x, k, s, z: topi.nn.simulated_quantize(x, k, s, z), (X, np.int32(0), np.float32(0.25), np.int32(3)), X),
        (lambda x, k, s, z: topi.nn.simulated_dequantize(x, k, s, z), (X, np.int32(2), X[0], i32(1, 2, 3, 4)), (X - [1, 2, 3, 4]) * X[0]),
        (lambda x: topi.utils.const_matrix([[1.0, 2.0], [3.0, 4.0]]), (X,), np.array([[1.0, 2.0], [3.0, 4.0]])),
        (lambda x: topi.utils.const_vector([5, 6]), (X,), np.array([5, 6])),
    ],
)  # fmt: skip
def test_what_it_computes(function: Callable[..., Any], arrays: tuple[Array, ...], expected: Array) -> None:
    found = computed(function, *(np.array(array, order="C") for array in arrays), values_are_narrow=False)
    assert found.shape == expected.shape
    np.testing.assert_allclose(found, expected, 1e-4, 1e-5)


def outputs(function: Callable[..., Any], *arrays: Array) -> list[Array]:
    """What the several results of `function` are."""
    inputs = [te.placeholder(array.shape, str(array.dtype), f"x{number}") for number, array in enumerate(arrays)]
    made = function(*inputs)
    results = [np.empty([int(size) for size in output.shape], output.dtype) for output in made]
    tvms.interpret(tvms.IRModule({"main": te.create_prim_func([*inputs, *made])}), "main", [*arrays, *results])
    return results


@pytest.mark.parametrize("inverse", [False, True])
def test_fourier_transform(inverse: bool) -> None:
    real, imaginary = outputs(lambda x, y: topi.dft(x, y, inverse), ROWS, -ROWS)
    expected = (np.fft.ifft if inverse else np.fft.fft)(ROWS - 1j * ROWS)
    np.testing.assert_allclose(real + 1j * imaginary, expected, 1e-4, 1e-3)


def test_sparse_reshape() -> None:
    rows = np.array([[0, 0, 0], [0, 0, 1], [0, 1, 0], [1, 0, 0], [1, 2, 3]], "int32")
    indices, shape = outputs(
        lambda x, old, new: topi.sparse_reshape(x, old, new, (5, 2), (2,)), rows, i32(2, 3, 6), i32(9, -1)
    )
    assert shape.tolist() == [9, 4]
    assert indices.tolist() == [[0, 0], [0, 1], [1, 2], [4, 2], [8, 1]]


@pytest.mark.parametrize(
    ("align", "rows"),
    [("RIGHT_LEFT", [[0, 1, 2], [3, 4, 5], [6, 7, 0]]), ("LEFT_RIGHT", [[1, 2, 0], [3, 4, 5], [0, 6, 7]])],
)
def test_several_diagonals(align: str, rows: list[list[int]]) -> None:
    found = computed(
        lambda x, d: topi.matrix_set_diag(x, d, (-1, 1), align), np.full((3, 3), 9, "float32"), np.array(rows, "float32"), values_are_narrow=False
    )  # fmt: skip
    assert found.tolist() == [[3, 1, 9], [6, 4, 2], [9, 7, 5]]


def test_reductions_of_bools() -> None:
    flags = X > 1
    for name, keepdims in (("all", False), ("any", True)):
        found = computed(lambda x, n=name, k=keepdims: getattr(topi, n)(x, 1, k), flags)
        np.testing.assert_array_equal(found, getattr(flags, name)(1, keepdims=keepdims))


def test_searching_sorted_rows() -> None:
    rows, values = np.sort(X, 1), X[:, :2]
    found = computed(lambda r, v: topi.searchsorted(r, v, True), rows, np.ascontiguousarray(values))
    assert found.tolist() == [np.searchsorted(r, v, "right").tolist() for r, v in zip(rows, values, strict=True)]
    assert computed(topi.searchsorted, rows[0], rows[0]).tolist() == [0, 1, 2, 3]


@pytest.mark.parametrize("stride", [1, 2])
def test_gradients_of_depthwise_convolutions(stride: int) -> None:
    """The gradients are those by the definition of the derivative: the convolution is linear in the data and in the kernel."""
    x, w = np.ascontiguousarray(IMAGE.transpose(0, 2, 3, 1)), np.ascontiguousarray(KERNEL[:2].transpose(2, 3, 0, 1))

    def forward(data: Array, kernel: Array) -> Array:
        return computed(
            lambda a, b: topi.nn.depthwise_conv2d_nhwc(a, b, stride, 1, 1), data, kernel, values_are_narrow=False
        )

    gradient = np.random.default_rng(1).uniform(-1, 1, forward(x, w).shape).astype("float32")
    shapes = (gradient.shape, x.shape), (gradient.shape, w.shape)
    of_data = computed(
        lambda b, g: topi.nn.depthwise_conv2d_backward_input_nhwc(b, g, *shapes[0], (stride, stride), 1), w, gradient
    )
    of_kernel = computed(
        lambda a, g: topi.nn.depthwise_conv2d_backward_weight_nhwc(a, g, *shapes[1], (stride, stride), 1), x, gradient
    )
    some = np.random.default_rng(2).uniform(-1, 1, x.shape).astype("float32")
    np.testing.assert_allclose((of_data * some).sum(), (forward(some, w) * gradient).sum(), 1e-4)
    other = np.random.default_rng(3).uniform(-1, 1, w.shape).astype("float32")
    np.testing.assert_allclose((of_kernel * other).sum(), (forward(x, other) * gradient).sum(), 1e-4)


def test_functions_have_signatures() -> None:
    assert str(inspect.signature(topi.nn.conv1d)).startswith(
        "(data, weight, strides=1, padding=0, dilation=1, data_layout='NCW'"
    )
    assert str(inspect.signature(relax.op.matmul)) == "(x1, x2, out_dtype=None)"


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda x: topi.expand_like(x, x, 0), "topi.expand_like: 2 dimensions and 1 new ones are not the 2 of shape_like"),
        (lambda x: topi.sequence_mask(x, x, axis=2), "topi.sequence_mask: expected axis 0 or 1, got 2"),
        (lambda x: topi.tensordot(x, x, ((0, 1), (0,))), "topi.tensordot: 2 axes of a, and 1 of b"),
        (lambda x: topi.sliding_window(x, 1, (2, 2), (1, 1)), "topi.sliding_window: expected 1 sizes and strides, got 2 and 2"),
        (lambda x: topi.nn.dilate(x, (2,)), "topi.nn.dilate: expected 2 strides, got 1"),
        (lambda x: topi.nn.conv(x, x, 1, "FULL", 1, 1, "NCHW"), 'topi.nn.conv: padding is "FULL"; expected numbers, "VALID" or "SAME"'),
        (lambda x: topi.nn.adaptive_pool(x, (1, 1), "sum"), 'topi.nn.adaptive_pool: pool_type is "sum"; choose "avg" or "max"'),
        (lambda x: topi.nn.depth_to_space(x, 2, mode="CDR"), 'topi.nn.depth_to_space: mode is "CDR"; choose "DCR" or "CRD"'),
        (lambda x: topi.utils.get_shape((1, 2), "NC", "NH"), 'cannot bring a shape with 2 sizes from "NC" to "NH"'),
        (lambda x: topi.unravel_index(x, te.placeholder((te.var("n"),), "int64", "s")), "expected a vector of known length, got 's' of n elements"),
    ],
)  # fmt: skip
def test_misuse(call: Callable[[te.Tensor], Any], message: str) -> None:
    with pytest.raises(ValueError, match=f"^{re.escape(message)}$"):
        call(te.placeholder((3, 4), name="x"))


def test_what_is_left_out_says_why() -> None:
    with pytest.raises(
        AttributeError,
        match=r"module 'tvms.topi.nn' has no attribute 'conv2d_winograd_nchw': 'tvms.compile' chooses Winograd's",
    ):
        topi.nn.conv2d_winograd_nchw  # noqa: B018


def test_squeeze_keeps_symbolic_dimensions() -> None:
    n = tvms.tir.Var("n", "int64")
    data = te.placeholder((n, 1, 4, 1), "float32", "data")
    assert [str(dim) for dim in topi.squeeze(data).shape] == ["n", "4"]
    assert [str(dim) for dim in topi.squeeze(data, 1).shape] == ["n", "4", "1"]
    assert [str(dim) for dim in topi.squeeze(data, [0, -1]).shape] == ["1", "4"]


def test_names_of_pooling_functions() -> None:
    assert [getattr(topi.nn, f"pool{n}d").__name__ for n in (1, 2, 3)] == ["pool1d", "pool2d", "pool3d"]
