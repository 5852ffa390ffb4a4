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


def computed(function: Callable[..., Any], *arrays: Array) -> Array:
    """What `function` of tensors computes for `arrays`."""
    inputs = [te.placeholder(array.shape, str(array.dtype), f"x{number}") for number, array in enumerate(arrays)]
    output = function(*inputs)
    module = tvms.IRModule({"main": te.create_prim_func([*inputs, output])})
    assert tvms.verify(module) == ()
    assert output.dtype == "int64" or "int64" not in module.script(), "indices are int32 where the inputs' are"
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
        (lambda x: topi.strided_slice(x, [0], [1], [3]), (X,), X[1:3]),
        (lambda x: topi.nn.softmax(x, axis=0), (X,), np.exp(X) / np.exp(X).sum(0)),
        (topi.nn.relu, (X - 1,), np.maximum(X - 1, 0)),
        (topi.nn.dense, (X, Y), X @ Y.T),
        (lambda x, y, b: topi.nn.dense(x, y, b), (X, Y, X[0, :3]), X @ Y.T + X[0, :3]),
        (lambda x, y: topi.nn.matmul(x, y, transpose_a=True), (X, Y), X.T @ Y),
        (topi.nn.batch_matmul, (X[None], Y[None]), X[None] @ Y.T[None]),
        (lambda x: topi.nn.pad(x, [1, 0], [0, 2], 9.0), (X,), np.pad(X, ((1, 0), (0, 2)), constant_values=9)),
        (lambda x: topi.nn.conv2d(x, te.compute((1, 2, 1, 1), lambda *i: te.const(2, "float32")), 1, 0, 1), (IMAGE,), 2 * IMAGE.sum(1, keepdims=True)),
    ],
)  # fmt: skip
def test_what_it_computes(function: Callable[..., Any], arrays: tuple[Array, ...], expected: Array) -> None:
    np.testing.assert_allclose(computed(function, *arrays), expected, 1e-5)


def test_misuse_is_refused_at_the_call() -> None:
    x, y = te.placeholder((8, 4), name="x"), te.placeholder((8, 5), name="y")
    with pytest.raises(tvms.TvmsError, match=r"R\.add cannot broadcast x: \(8, 4\) and y: \(8, 5\)") as caught:
        topi.add(x, y)
    (found,) = caught.value.diagnostics
    assert found.span is not None
    assert found.span.source.text[found.span.start : found.span.end] == "topi.add(x, y)"
    with pytest.raises(AttributeError, match=r"there is no 'topi\.ad'; did you mean 'topi\.add'\?"):
        topi.ad(x, y)
