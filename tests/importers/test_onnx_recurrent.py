"""Recurrent layers of ONNX models: any combination of attributes computes what the definition in NumPy does."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

pytest.importorskip("onnx", reason="onnx, the extra 'onnx', is not installed")

sys.path.insert(0, str(Path(__file__).parent))
from onnx_laws import Node, generator, model_of
from tvms.relax.frontend.onnx import backend

ACTIVATIONS = {
    "Relu": lambda x, a, b: np.maximum(x, 0),
    "Tanh": lambda x, a, b: np.tanh(x),
    "Sigmoid": lambda x, a, b: 1 / (1 + np.exp(-x)),
    "Affine": lambda x, a, b: a * x + b,
    "LeakyRelu": lambda x, a, b: np.where(x < 0, a * x, x),
    "ThresholdedRelu": lambda x, a, b: np.where(x < a, 0, x),
    "ScaledTanh": lambda x, a, b: a * np.tanh(b * x),
    "HardSigmoid": lambda x, a, b: np.clip(a * x + b, 0, 1),
    "Elu": lambda x, a, b: np.where(x < 0, a * (np.exp(x) - 1), x),
    "Softsign": lambda x, a, b: x / (1 + np.abs(x)),
    "Softplus": lambda x, a, b: np.logaddexp(0, x),
}
WITH_ALPHA = ("Affine", "LeakyRelu", "ThresholdedRelu", "ScaledTanh", "HardSigmoid", "Elu")
WITH_BETA = ("Affine", "ScaledTanh", "HardSigmoid")
GATES = {"RNN": (1, 1), "GRU": (3, 2), "LSTM": (4, 3)}
"""Number of gates, and of activations."""


class Direction:
    """One direction of a layer, as the text of the standard defines it, one sequence at a time."""

    def __init__(self, kind: str, weights: Any, functions: Any, options: dict[str, Any]) -> None:
        self.kind, self.functions, self.options = kind, functions, options
        self.w, self.r, self.b, self.p = weights

    def act(self, number: int, x: Any) -> Any:
        name, alpha, beta = self.functions[number]
        clip = self.options.get("clip")
        return ACTIVATIONS[name](x if clip is None else np.clip(x, -clip, clip), alpha, beta)

    def run(self, x: Any, h: Any, c: Any) -> tuple[list[Any], Any, Any]:
        outputs = []
        for row in x:
            h, c = getattr(self, self.kind.lower())(row, h, c)
            outputs.append(h)
        return outputs, h, c

    def rnn(self, x: Any, h: Any, c: Any) -> tuple[Any, Any]:
        return self.act(0, self.w @ x + self.r @ h + sum(np.split(self.b, 2))), c

    def gru(self, x: Any, h: Any, c: Any) -> tuple[Any, Any]:
        (xz, xr, xh), (rz, rr, rh) = np.split(self.w @ x, 3), np.split(self.r, 3)
        wz, wr, wh, bz, br, bh = np.split(self.b, 6)
        z, r = self.act(0, xz + rz @ h + wz + bz), self.act(0, xr + rr @ h + wr + br)
        inner = r * (rh @ h + bh) if self.options.get("linear_before_reset") else rh @ (r * h) + bh
        return (1 - z) * self.act(1, xh + inner + wh) + z * h, c

    def lstm(self, x: Any, h: Any, c: Any) -> tuple[Any, Any]:
        i, o, f, g = np.split(self.w @ x + self.r @ h + sum(np.split(self.b, 2)), 4)
        pi, po, pf = np.split(self.p, 3)
        i = self.act(0, i + pi * c)
        f = 1 - i if self.options.get("input_forget") else self.act(0, f + pf * c)
        c = f * c + i * self.act(1, g)
        return self.act(0, o + po * c) * self.act(2, c), c


@pytest.mark.deep(8)
@pytest.mark.parametrize("kind", GATES)
@pytest.mark.parametrize("trial", range(6))
def test_layers(kind: str, trial: int) -> None:
    random = generator()
    steps, batch, width, hidden = (int(size) for size in random.integers(1, 6, 4))
    gates, count = GATES[kind]
    direction = str(random.choice(["forward", "reverse", "bidirectional"]))
    directions = 2 if direction == "bidirectional" else 1

    def weight(*shape: int) -> Any:
        return random.normal(0, 0.5, (directions, *shape)).astype("f4")

    def maybe(value: Any) -> Any:
        return value if random.random() < 0.6 else None

    def flag() -> int:
        return int(random.random() < 0.4)

    names = [str(random.choice([*ACTIVATIONS])) for _ in range(count * directions)]
    alphas = [float(np.float32(random.uniform(0.1, 0.9))) for name in names if name in WITH_ALPHA]
    betas = [float(np.float32(random.uniform(0.1, 0.9))) for name in names if name in WITH_BETA]
    options: dict[str, Any] = {"hidden_size": hidden, "direction": direction, "activations": names, "layout": flag()}
    options |= {"activation_alpha": alphas} if alphas else {}
    options |= {"activation_beta": betas} if betas else {}
    options |= {"clip": 0.7} if flag() else {}
    options |= {"linear_before_reset": flag()} if kind == "GRU" else {"input_forget": flag()} if kind == "LSTM" else {}
    x = random.normal(0, 1, (batch, steps, width)).astype("f4")
    h = random.normal(0, 1, (batch, directions, hidden)).astype("f4")
    c = random.normal(0, 1, (batch, directions, hidden)).astype("f4")
    given: dict[str, Any] = {
        "X": x, "W": weight(gates * hidden, width), "R": weight(gates * hidden, hidden), "B": maybe(weight(2 * gates * hidden)),
        "sequence_lens": maybe(random.integers(0, steps + 1, batch).astype("i4")), "initial_h": maybe(h),
    }  # fmt: skip
    given |= {"initial_c": maybe(c), "P": maybe(weight(3 * hidden))} if kind == "LSTM" else {}
    check(kind, given, options, gates)


def check(kind: str, given: dict[str, Any], options: dict[str, Any], gates: int) -> None:
    """Compare the compiled model with the definition."""
    expected = layer(kind, given, options, gates)
    inputs = dict(given)
    if not options["layout"]:
        expected = [np.moveaxis(value, 0, -2) for value in expected]
        inputs |= {
            name: np.ascontiguousarray(inputs[name].swapaxes(0, 1))
            for name in ("X", "initial_h", "initial_c")
            if inputs.get(name) is not None
        }
    constants = [name for name in ("W", "R", "B", "P") if inputs.get(name) is not None]
    outputs = ["Y", "Y_h", *(["Y_c"] if kind == "LSTM" else [])]
    model = model_of(Node(kind, inputs, options, outputs=outputs, opset=22, constants=constants))
    found = backend.run_model(model, [inputs[value.name] for value in model.graph.input])
    for one, other in zip(found, expected, strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-4, atol=1e-5)
        assert one.shape == other.shape


def layer(kind: str, given: dict[str, Any], options: dict[str, Any], gates: int) -> list[Any]:
    """Return the outputs by batch: (batch, steps, directions, width), and the last states, (batch, directions, width)."""
    batch, steps, _ = given["X"].shape
    directions, _, hidden = given["R"].shape
    lengths = given["sequence_lens"] if given["sequence_lens"] is not None else [steps] * batch
    zero = np.zeros((batch, directions, hidden))
    y, h, c = np.zeros((batch, steps, directions, hidden)), np.zeros_like(zero), np.zeros_like(zero)
    functions, alphas, betas = [], list(options.get("activation_alpha", ())), list(options.get("activation_beta", ()))
    for name in options["activations"]:
        alpha, beta = alphas.pop(0) if name in WITH_ALPHA else 0, betas.pop(0) if name in WITH_BETA else 0
        functions.append((name, alpha, beta))
    for place in range(directions):
        weights = [given["W"][place], given["R"][place]]
        weights.append(np.zeros(2 * gates * hidden) if given["B"] is None else given["B"][place])
        weights.append(np.zeros(3 * hidden) if given.get("P") is None else given["P"][place])
        count = len(functions) // directions
        one = Direction(kind, weights, functions[place * count : (place + 1) * count], options)
        is_backwards = options["direction"] == "reverse" or place == 1
        for row in range(batch):
            x = given["X"][row, : lengths[row]]
            starts = [zero if given.get(name) is None else given[name] for name in ("initial_h", "initial_c")]
            made, h[row, place], c[row, place] = one.run(
                x[::-1] if is_backwards else x, *(s[row, place] for s in starts)
            )
            for step, value in enumerate(made):
                y[row, len(x) - 1 - step if is_backwards else step, place] = value
    return [y, h, c] if kind == "LSTM" else [y, h]
