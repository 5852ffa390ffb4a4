"""`topi` under TVM's names: what it computes, and what it refuses."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import tvms
from tvms import te, topi
from tvms.ir.api.topi.table import ROWS
from tvms.ir.ops.registry import get_op

Array = np.ndarray


@pytest.mark.parametrize("name", ROWS)
def test_every_function_is_an_operator_with_a_meaning(name: str) -> None:
    row = ROWS[name]
    op = get_op(f"relax.{row.operator}")
    assert op.compute is not None
    assert set(row.order) <= {param.name for param in op.params}


def computed(function: Callable[..., Any], *arrays: Array, values_are_narrow: bool = True) -> Array:
    """What `function` of tensors computes for `arrays`; where no value is an int64, nor is an index."""
    inputs = [te.placeholder(array.shape, str(array.dtype), f"x{number}") for number, array in enumerate(arrays)]
    output = function(*inputs)
    module = tvms.IRModule({"main": te.create_prim_func([*inputs, output])})
    assert tvms.verify(module) == ()
    if values_are_narrow and output.dtype != "int64":
        assert "int64" not in module.script(), "indices are int32 where the inputs' are"
    result = np.empty([int(size) for size in output.shape], output.dtype)
    tvms.interpret(module, "main", [*arrays, result])
    return result


X, Y, W = (np.random.default_rng(seed).uniform(0.5, 2, (3, 4)).astype("float32") for seed in range(3))
IMAGE = np.random.default_rng(4).uniform(-1, 1, (1, 2, 5, 5)).astype("float32")


@pytest.mark.parametrize(
    ("function", "arrays", "expected"),
    [
        (topi.add, (X, Y), X + Y),
        (lambda x, y: topi.multiply(x, y), (X, Y[0]), X * Y[0]),
        (topi.exp, (X,), np.exp(X)),
        (lambda x: topi.sum(x, axis=1, keepdims=True), (X,), X.sum(1, keepdims=True)),
        (lambda x: topi.max(x, axis=[0]), (X,), X.max(0)),
        (lambda x: topi.argmax(x, axis=1), (X,), X.argmax(1)),
        (topi.transpose, (X,), X.T),
        (lambda x: topi.reshape(x, (2, 6)), (X,), X.reshape(2, 6)),
        (lambda x: topi.cast(x, "int32"), (X,), X.astype("int32")),
        (lambda x, y: topi.concatenate((x, y), axis=1), (X, Y), np.concatenate((X, Y), 1)),
        (lambda x: topi.expand_dims(x, 0), (X,), X[None]),
        (lambda x: topi.full((2, 2), "float32", 3.0), (X,), np.full((2, 2), 3, "float32")),
        (lambda x: topi.strided_slice(x, [1], [3]), (X,), X[1:3]),
        (lambda x: topi.nn.softmax(x, axis=0), (X,), np.exp(X) / np.exp(X).sum(0)),
        (topi.nn.relu, (X - 1,), np.maximum(X - 1, 0)),
        (topi.nn.dense, (X, Y), X @ Y.T),
        (lambda x, y, b: topi.nn.dense(x, y, b), (X, Y, X[0, :3]), X @ Y.T + X[0, :3]),
        (lambda x, y: topi.nn.matmul(x, y, transpose_a=True), (X, Y), X.T @ Y),
        (topi.nn.batch_matmul, (X[None], Y[None]), X[None] @ Y.T[None]),
        (lambda x: topi.nn.pad(x, [1, 0], [0, 2], 9.0), (X,), np.pad(X, ((1, 0), (0, 2)), constant_values=9)),
        *((lambda x, pad=pad: pad(x, [2, 0], [1, 3]), (X,), np.pad(X, ((2, 1), (0, 3)), mode)) for pad, mode in ((topi.nn.reflect_pad, "reflect"), (topi.nn.replicate_pad, "edge"), (topi.nn.circular_pad, "wrap"), (topi.nn.mirror_pad, "symmetric"))),
        (lambda x: topi.nn.mirror_pad(x, [1, 2], mode="REFLECT"), (X,), np.pad(X, ((1, 1), (2, 2)), "reflect")),
        (lambda x: topi.dyn_tile(x, (6, 4), 2), (X,), np.tile(X, (2, 1))),
        (lambda x: topi.dyn_tile(x, (2, 3, 8), 3), (X,), np.tile(X, (2, 1, 2))),
        (lambda x: topi.divide(1, topi.add(x, 1.0)), (X,), 1 / (X + 1)),
        (topi.nn.flatten, (X[None],), X.reshape(1, 12)),
        (lambda x: topi.nn.pool2d(x, [2, 2], [1, 1], [1, 1], [0, 0, 0, 0], "max"), (IMAGE,), np.maximum.reduce([IMAGE[:, :, i : i + 4, j : j + 4] for i in (0, 1) for j in (0, 1)])),
        (lambda x: topi.nn.global_pool(x, "avg"), (IMAGE,), IMAGE.mean((2, 3), keepdims=True)),
        (lambda x: topi.nn.adaptive_pool(x, (1, 1), "max"), (IMAGE,), IMAGE.max((2, 3), keepdims=True)),
        (lambda x: topi.nn.depthwise_conv2d_nchw(x, te.compute((2, 1, 1, 1), lambda *i: te.const(2, "float32")), 1, 0, 1), (IMAGE,), 2 * IMAGE),
        (lambda x: topi.nn.conv2d(x, te.compute((1, 2, 1, 1), lambda *i: te.const(2, "float32")), 1, 0, 1), (IMAGE,), 2 * IMAGE.sum(1, keepdims=True)),
    ],
)  # fmt: skip
def test_what_it_computes(function: Callable[..., Any], arrays: tuple[Array, ...], expected: Array) -> None:
    np.testing.assert_allclose(computed(function, *arrays), expected, 1e-5)


@pytest.mark.parametrize(
    ("function", "arrays", "expected"),
    [
        (lambda x: topi.sort(x, axis=0, is_ascend=False), (X,), -np.sort(-X, 0)),
        (lambda x: topi.argsort(x, axis=1, dtype="int32"), (X,), np.argsort(X, 1)),
        (lambda x: topi.topk(x, 2, 1, "values", True), (X,), np.sort(X, 1)[:, :2]),
        (lambda x: topi.gather(x, 0, te.compute((1, 4), lambda i, j: te.cast(j % 3, "int64"))), (X,), X[[0, 1, 2, 0], range(4)][None]),
        (lambda x: topi.image.resize1d(x, (), (10,), method="nearest_neighbor", coordinate_transformation_mode="asymmetric"), (IMAGE[0],), IMAGE[0].repeat(2, 2)),
        (lambda x: topi.image.resize1d(x, (0.25, 0.75), (2,), coordinate_transformation_mode="tf_crop_and_resize", layout="NWC"), (IMAGE[0],), IMAGE[0][:, [1, 3]]),
        (lambda x: topi.image.resize3d(x, (), (4, 10, 10), method="nearest_neighbor", coordinate_transformation_mode="asymmetric"), (IMAGE[None],), IMAGE[None].repeat(2, 2).repeat(2, 3).repeat(2, 4)),
        (lambda x: topi.image.grid_sample(x, topi.image.affine_grid(te.compute((1, 2, 3), lambda n, i, j: te.cast(te.equal(i, j), "float32") * -1), (5, 5))), (IMAGE,), IMAGE[:, :, ::-1, ::-1]),
        (lambda x: topi.vision.roi_pool(x, te.compute((1, 5), lambda i, j: te.cast(j, "float32") * te.cast(j > 2, "float32")), 1, 1.0), (IMAGE,), IMAGE[:, :, :, :4].max((2, 3), keepdims=True)),
        (lambda x: topi.vision.roi_align(x, te.compute((1, 5), lambda i, j: te.const(3, "float32") * te.cast(j > 2, "float32")), 3, 1.0, sample_ratio=1), (IMAGE,), (IMAGE[:, :, :3, :3] + IMAGE[:, :, 1:4, :3] + IMAGE[:, :, :3, 1:4] + IMAGE[:, :, 1:4, 1:4]) / 4),
        (lambda x: topi.image.resize2d(x, (), (10, 10), method="nearest_neighbor", coordinate_transformation_mode="asymmetric"), (IMAGE,), IMAGE.repeat(2, 2).repeat(2, 3)),
    ],
)  # fmt: skip
def test_what_computes_positions(function: Callable[..., Any], arrays: tuple[Array, ...], expected: Array) -> None:
    np.testing.assert_allclose(computed(function, *arrays, values_are_narrow=False), expected, 1e-5)


def test_misuse_is_refused_at_the_call() -> None:
    x, y = te.placeholder((8, 4), name="x"), te.placeholder((8, 5), name="y")
    with pytest.raises(tvms.TvmsError, match=r"R\.add cannot broadcast x: \(8, 4\) and y: \(8, 5\)") as caught:
        topi.add(x, y)
    (found,) = caught.value.diagnostics
    assert found.span is not None
    assert found.span.source.text[found.span.start : found.span.end] == "topi.add(x, y)"
    with pytest.raises(AttributeError, match=r"there is no 'topi\.ad'; did you mean 'topi\.add'\?"):
        topi.ad(x, y)
