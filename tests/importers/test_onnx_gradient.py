"""Gradients in ONNX models agree with finite differences, and refusals name the node."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import pytest

pytest.importorskip("onnx", reason="onnx, the extra 'onnx', is not installed")

from onnx import helper, parser
from onnx.reference import ReferenceEvaluator
from tvms import TvmsError
from tvms.relax.frontend.onnx import backend, from_onnx

from .onnx_laws import UNSCHEDULED, generator

TRAINING = "ai.onnx.preview.training"
FORWARD = {
    "a product": ("P = MatMul(X, W)\n Y = Tanh(P)", ("X", "W")),
    "a sum that broadcasts": ("P = Mul(X, B)\n Q = Sigmoid(P)\n Y = Add(Q, B)", ("X", "B")),
    "a layer": ("P = Gemm <alpha = 0.5, transB = 1> (X, X)\n Y = Softmax <axis = 1> (P)", ("X",)),
    "a mean": ("P = Exp(X)\n Y = ReduceMean <keepdims = 0> (P)", ("X",)),
    "a value twice": ("P = Sub(X, B)\n Y = Mul(P, P)", ("X", "B")),
    "an unused value": ("P = Neg(X)\n Y = Mul(P, X)", ("X", "W")),
}
"""Graphs of X (3, 4), W (4, 2) and B (4) with the values with respect to which they are differentiated."""
SHAPES = {"X": (3, 4), "W": (4, 2), "B": (4,)}


def _model(body: str, outputs: str) -> Any:
    inputs = ", ".join(f"double[{', '.join(map(str, dims))}] {name}" for name, dims in SHAPES.items())
    head = f'<ir_version: 10, opset_import: ["" : 21, "{TRAINING}" : 1]>'
    return parser.parse_model(f"{head} g ({inputs}) => ({outputs}) {{\n {body}\n}}")


def example() -> Any:
    """Return a model with gradients, for tests of mutants."""
    model = _model("P = MatMul(X, W)\n Y = Tanh(P)", "double[] Y")
    _gradient(model, ["dX", "dW"], ["X", "W"], xs=["X", "W"], y="Y")
    return model


def _gradient(model: Any, outputs: list[str], inputs: list[str], **attributes: Any) -> None:
    """Add a node with gradients to a model."""
    node = helper.make_node("Gradient", inputs, outputs, domain=TRAINING, **attributes)
    model.graph.node.append(node)
    model.graph.output.extend(helper.make_empty_tensor_value_info(name) for name in outputs)


def _values(rng: np.random.Generator) -> dict[str, Any]:
    return {name: rng.normal(0, 1, dims) for name, dims in SHAPES.items()}


def _slope(model: Any, values: Mapping[str, Any], name: str, direction: Any) -> float:
    """Return the derivative of the sum of a model's first output along a direction, by finite differences."""
    step, ends = 1e-5, []
    for sign in (1, -1):
        given = {**values, name: values[name] + sign * step * direction}
        ends.append(float(np.sum(ReferenceEvaluator(model).run(None, given)[0])))
    return (ends[0] - ends[1]) / (2 * step)


def _run(model: Any, values: Mapping[str, Any]) -> list[Any]:
    return list(backend.prepare(model, **UNSCHEDULED).run(list(values.values())))


def _check(forward: Any, values: Mapping[str, Any], gradients: Mapping[str, Any], rng: np.random.Generator) -> None:
    for name, found in gradients.items():
        assert found.shape == SHAPES[name]
        direction = rng.normal(0, 1, SHAPES[name])
        wanted = _slope(forward, values, name, direction)
        assert np.sum(found * direction) == pytest.approx(wanted, rel=1e-5, abs=1e-6), name


@pytest.mark.parametrize("name", FORWARD)
def test_gradients_agree_with_finite_differences(name: str) -> None:
    rng = generator()
    body, wanted = FORWARD[name]
    model, forward = (_model(body, "double[] Y") for _ in range(2))
    _gradient(model, [f"d{x}" for x in wanted], list(wanted), xs=list(wanted), y="Y")
    values = _values(rng)
    _, *gradients = _run(model, values)
    _check(forward, values, dict(zip(wanted, gradients, strict=True)), rng)


def test_gradients_at_other_values() -> None:
    rng = generator()
    model, forward = (_model("P = MatMul(X, W)\n Y = Tanh(P)\n H = Neg(X)", "double[] Y") for _ in range(2))
    _gradient(model, ["dX"], ["H", "W"], xs=["X"], zs=["W"], y="Y")
    values = _values(rng)
    _check(forward, {**values, "X": -values["X"]}, {"X": _run(model, values)[1]}, rng)


def test_gradients_of_values_within() -> None:
    """A value that depends on others is an independent variable where the node says so."""
    rng = generator()
    model = _model("H = Exp(X)\n P = Mul(H, B)\n Y = Mul(P, H)", "double[] Y")
    _gradient(model, ["dH"], ["H", "B"], xs=["H", "B"], y="Y")
    values = _values(rng)
    np.testing.assert_allclose(_run(model, values)[1], 2 * np.exp(values["X"]) * values["B"])


def test_gradients_of_gradients() -> None:
    rng = generator()
    body = "P = Mul(X, B)\n Q = Tanh(P)\n Y = Mul(Q, Q)"
    model, once, other = (_model(body, "double[] Y") for _ in range(3))
    for made in (model, once, other):
        _gradient(made, ["dX"], ["X", "B"], xs=["X"], zs=["B"], y="Y")
    _gradient(model, ["dXX", "dXB"], ["X", "B"], xs=["X", "B"], y="dX")
    values = _values(rng)
    *_, by_x, by_b = _run(model, values)
    for name, found in (("X", by_x), ("B", by_b)):
        direction, step = rng.normal(0, 1, SHAPES[name]), 1e-5
        ends = [np.sum(_run(once, {**values, name: values[name] + sign * step * direction})[1]) for sign in (1, -1)]
        assert np.sum(found * direction) == pytest.approx((ends[0] - ends[1]) / (2 * step), rel=1e-5, abs=1e-6)


def test_gradients_of_constants_and_symbolic_sizes() -> None:
    model = parser.parse_model(
        f'<ir_version: 10, opset_import: ["" : 21, "{TRAINING}" : 1]> g (float[n, 2] X) => (float[n, 2] D, float[2] E)'
        "<float[2] W = {2.0, 3.0}> { P = Mul(X, W)\n Y = Mul(P, P) }"
    )
    node = helper.make_node("Gradient", ["X", "W"], ["D", "E"], domain=TRAINING, xs=["X", "W"], y="Y")
    model.graph.node.append(node)
    x = np.array([[1, 2], [3, 4], [5, 6]], "float32")
    by_x, by_w = _run(model, {"X": x})
    w = np.array([2, 3], "float32")
    np.testing.assert_allclose(by_x, 2 * x * w * w, 1e-5)
    np.testing.assert_allclose(by_w, (2 * x * x * w).sum(0), 1e-5)


HEAD = f"error[{{}}]: node 'D' (Gradient of {TRAINING}, version 1): "
REFUSED = {
    "names": (
        "Y = Neg(X)", {"xs": ["X", "B"], "y": "Y"},
        "E1006", "its inputs or attributes do not fit: it has 1 inputs for 2 names, which must be different", "",
    ),
    "a name": ("Y = Neg(X)", {"xs": ["Z"], "y": "Y"}, "E1006", "its inputs or attributes do not fit: the graph has no value 'Z'", ""),
    "a dtype": (
        "Y = IsNaN(X)", {"xs": ["X"], "y": "Y"},
        "E1006", "its inputs or attributes do not fit: 'Y' is of dtype bool, which has no gradient", "",
    ),
    "an operator": (
        "Y = Atanh(X)", {"xs": ["X"], "y": "Y"}, "E0908", "R.atanh has no gradient",
        "\n  = help: use operators that have one, such as R.add, R.matmul and R.nn.relu, and differentiate before lowering",
    ),
    "a subgraph": (
        "S = ReduceSum <keepdims = 0> (B)\n T = Cast <to = 9> (S)\n"
        "Y = If (T) <then_branch = a () => (double[3, 4] U) { U = Neg(X) }, else_branch = b () => (double[3, 4] V) { V = Exp(X) }>",
        {"xs": ["X"], "y": "Y"}, "E0908", "the value of 'Y_2' has no gradient",
        "\n  = help: use operators that have one, such as R.add, R.matmul and R.nn.relu, and differentiate before lowering",
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", REFUSED)
def test_refused_gradients(name: str) -> None:
    body, attributes, code, reason, help = REFUSED[name]
    model = _model(body, "double[] Y")
    _gradient(model, ["D"], ["X"], **attributes)
    with pytest.raises(TvmsError) as refused:
        from_onnx(model)
    assert str(refused.value) == HEAD.format(code) + reason + help
