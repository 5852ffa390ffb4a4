"""Training: losses, optimizers and the trainer, against NumPy."""

from __future__ import annotations

import random
from typing import Any

import numpy as np
import pytest
import tvms
from tvms import relax
from tvms.relax.training import AppendLoss, SetupTrainer, Trainer, loss, optimizer

SEED = random.randrange(2**32)
NETWORK = """
I.ir_module Network:
    I.module_attrs({"param_num": 3, "state_num": 0})

    R.function backbone(x: R.Tensor((8, 5), "float32"), w: R.Tensor((5, 6), "float32"), b: R.Tensor((6,), "float32"), v: R.Tensor((6, 4), "float32")):
        with R.dataflow():
            hidden = R.tanh(R.matmul(x, w) + b)
            logits = R.matmul(hidden, v)
            R.output(logits)
        return logits
"""
COUNTING = """
I.ir_module Counting:
    I.module_attrs({"param_num": 1, "state_num": 1})

    R.function backbone(x: R.Tensor((3,), "float32"), w: R.Tensor((3,), "float32"), calls: R.Tensor((), "float32")):
        with R.dataflow():
            y = x * w
            more = calls + R.const(1, "float32")
            R.output(y, more)
        return (y, more)
"""


def trainer_for(text: str, chosen: Any, step: Any, *infos: relax.StructInfo, **options: Any) -> Trainer:
    module = SetupTrainer(chosen, step, list(infos))(tvms.parse(text))
    return Trainer(module, relax.VirtualMachine(tvms.compile(module), tvms.cpu()), tvms.cpu(), **options)


def tensor(shape: tuple[int, ...], dtype: str = "float32") -> relax.StructInfo:
    return relax.TensorStructInfo(shape, dtype)


# --- Optimizers: definitions in NumPy, in float64


def sgd(p: Any, g: Any, s: dict[str, Any], lr: float, weight_decay: float = 0) -> Any:
    return p - lr * (g + weight_decay * p)


def momentum(p: Any, g: Any, s: dict[str, Any], lr: float, momentum: float, dampening: float = 0, weight_decay: float = 0, nesterov: bool = False) -> Any:  # fmt: skip
    g = g + weight_decay * p
    s["v"] = momentum * s.get("v", 0) + (1 - dampening) * g
    return p - lr * (g + momentum * s["v"] if nesterov else s["v"])


def adam(p: Any, g: Any, s: dict[str, Any], lr: float, betas: tuple[float, float] = (0.9, 0.999), eps: float = 1e-8, weight_decay: float = 0) -> Any:  # fmt: skip
    g = g + weight_decay * p
    s["t"] = s.get("t", 0) + 1
    s["m"] = betas[0] * s.get("m", 0) + (1 - betas[0]) * g
    s["v"] = betas[1] * s.get("v", 0) + (1 - betas[1]) * g * g
    m, v = s["m"] / (1 - betas[0] ** s["t"]), s["v"] / (1 - betas[1] ** s["t"])
    return p - lr * m / (np.sqrt(v) + eps)


STEPS = [
    (optimizer.SGD, sgd, {"lr": 0.1}),
    (optimizer.SGD, sgd, {"lr": 0.1, "weight_decay": 0.02}),
    (optimizer.MomentumSGD, momentum, {"lr": 0.1, "momentum": 0.9}),
    (optimizer.MomentumSGD, momentum, {"lr": 0.1, "momentum": 0.8, "dampening": 0.25, "weight_decay": 0.02}),
    (optimizer.MomentumSGD, momentum, {"lr": 0.1, "momentum": 0.9, "nesterov": True}),
    (optimizer.Adam, adam, {"lr": 0.01}),
    (optimizer.Adam, adam, {"lr": 0.01, "betas": (0.8, 0.99), "eps": 1e-6, "weight_decay": 0.02}),
]


@pytest.mark.parametrize(("kind", "definition", "options"), STEPS)
def test_an_optimizer_computes_its_definition(kind: Any, definition: Any, options: dict[str, Any]) -> None:
    print(f"TVMS_SEED={SEED}")
    numbers = np.random.default_rng(SEED)
    shapes = [(2, 3), (4,)]
    variables = [relax.Var(f"p{n}", tensor(shape, "float64")) for n, shape in enumerate(shapes)]
    made = kind(**options).init(variables)
    program = tvms.compile(tvms.IRModule({"step": made.get_function()}))
    params: Any = tuple(numbers.standard_normal(shape) for shape in shapes)
    expected, kept, state = list(params), [{}, {}], made.state
    for value, info in zip(state, made.get_function().params[2].struct_info.fields, strict=True):
        assert type(value.numpy()) is np.ndarray
        assert (list(value.shape), value.dtype) == ([int(size) for size in info.shape.values], info.dtype)
    for _ in range(4):
        gradients = tuple(numbers.standard_normal(shape) for shape in shapes)
        params, state = program["step"](params, gradients, state)
        expected = [definition(p, g, s, **options) for p, g, s in zip(expected, gradients, kept, strict=True)]
        for found, wanted in zip(params, expected, strict=True):
            np.testing.assert_allclose(found, wanted, rtol=1e-10)
    assert state[0] == 4


def test_optimizers_refuse_other_parameters() -> None:
    a, b = relax.Var("a", tensor((2,))), relax.Var("b", tensor((2,), "float64"))
    cases: list[tuple[list[Any], str]] = [
        ([a, a], "parameter 'a' is given twice"),
        ([a, b], "parameter 'a' is float32, but 'b' is float64; give parameters of one dtype"),
        ([1], "parameter 0 is not a relax.Var, but 1"),
    ]
    for params, message in cases:
        with pytest.raises(ValueError, match="parameter") as caught:
            optimizer.SGD(0.1).init(params)
        assert str(caught.value) == message
    with pytest.raises(RuntimeError, match=r"^Please call init\(\) for the optimizer before calling get_function\(\)$"):
        optimizer.Adam(0.1).get_function()


# --- Losses


def log_softmax(x: Any) -> Any:
    x = x - x.max(1, keepdims=True)
    return x - np.log(np.exp(x).sum(1, keepdims=True))


@pytest.mark.parametrize("reduction", ["mean", "sum", "none"])
def test_losses_compute_their_definitions(reduction: Any) -> None:
    print(f"TVMS_SEED={SEED}")
    numbers = np.random.default_rng(SEED)
    x, y = numbers.standard_normal((2, 6, 4)).astype("float32")
    classes, weights = numbers.integers(0, 4, 6), numbers.random(4, "float32")
    logs = log_softmax(x.astype("float64"))
    picked = -logs[np.arange(6), classes] * weights[classes]
    one_hot = np.eye(4, dtype="int64")[classes]
    reduce: Any = {"mean": np.mean, "sum": np.sum, "none": np.asarray}[reduction]
    nll = picked.sum() / weights[classes].sum() if reduction == "mean" else reduce(picked)
    t, labels, w = tensor((6, 4)), tensor((6,), "int64"), tensor((4,))
    cases: list[tuple[Any, list[Any], Any]] = [
        (loss.L1Loss(reduction)(t, t), [x, y], reduce(abs(x - y))),
        (loss.MSELoss(reduction)(t, t), [x, y], reduce((x - y) ** 2)),
        (loss.CrossEntropyLoss(reduction)(t, labels, w), [x, classes, weights], nll),
        (
            loss.CategoricalCrossEntropyLoss(reduction)(t, tensor((6, 4), "int64"), w),
            [x, one_hot, weights],
            reduce(-logs * one_hot * weights),
        ),
    ]
    for function, args, expected in cases:
        found = tvms.compile(tvms.IRModule({"loss": function}))["loss"](*args)
        np.testing.assert_allclose(found, expected, rtol=1e-4, atol=1e-6)


def test_losses_refuse_other_arguments() -> None:
    with pytest.raises(ValueError, match=r"^reduction is one of \"mean\", \"sum\", \"none\", not 'max'$"):
        loss.L1Loss("max")  # type: ignore[arg-type]
    with pytest.raises(
        TypeError, match=r"^the targets are R\.Tensor\(\(6, 4\), \"float32\"\); give one-hot rows of integers$"
    ):
        loss.CategoricalCrossEntropyLoss()(tensor((6, 4)), tensor((6, 4)))


def test_a_loss_that_does_not_fit_is_refused() -> None:
    module = tvms.parse(NETWORK)
    cases = [
        (AppendLoss("other", loss.MSELoss()(tensor((2,)), tensor((2,)))), "E0905", "no graph function 'other'"),
        (AppendLoss("backbone", loss.MSELoss()(tensor((2,)), tensor((2,)))), "E0906", "the loss takes R.Tensor((2,)"),
        (AppendLoss("backbone", loss.MSELoss("none")(tensor((8, 4)), tensor((8, 4)))), "E0906", "without dimensions"),
        (AppendLoss("backbone", loss.MSELoss()(tensor((8, 4)), tensor((8, 4))), 2), "E0906", "take 2 results"),
    ]
    for append, code, reason in cases:
        with pytest.raises(tvms.TvmsError) as caught:
            append(module)
        assert code in str(caught.value)
        assert reason in str(caught.value)


# --- Training


def test_training_a_network_takes_the_steps_of_numpy() -> None:
    """Forward pass, gradients and Adam of a perceptron, in float64, next to the trainer."""
    print(f"TVMS_SEED={SEED}")
    numbers = np.random.default_rng(SEED)
    x, classes = numbers.standard_normal((8, 5)).astype("float32"), numbers.integers(0, 4, 8)
    weights = {
        name: numbers.standard_normal(shape).astype("float32")
        for name, shape in (("w", (5, 6)), ("b", (6,)), ("v", (6, 4)))
    }
    infos = tensor((8, 4)), tensor((8,), "int64")
    trainer = trainer_for(NETWORK, loss.CrossEntropyLoss(), optimizer.Adam(0.05), *infos)
    trainer.load_params(weights)
    exact: dict[str, Any] = {name: value.astype("float64") for name, value in weights.items()}
    kept: dict[str, dict[str, Any]] = {name: {} for name in weights}
    losses: list[float] = []
    for _ in range(20):
        hidden = np.tanh(x @ exact["w"] + exact["b"])
        logs = log_softmax(hidden @ exact["v"])
        losses.append(float(trainer.update(x, classes)))
        np.testing.assert_allclose(losses[-1], -logs[np.arange(8), classes].mean(), rtol=1e-4)
        back = (np.exp(logs) - np.eye(4)[classes]) / 8
        inner = (back @ exact["v"].T) * (1 - hidden**2)
        gradients = {"w": x.T @ inner, "b": inner.sum(0), "v": hidden.T @ back}
        exact = {name: adam(exact[name], gradients[name], kept[name], 0.05) for name in exact}
        for name, value in trainer.export_params().items():
            np.testing.assert_allclose(value, exact[name], rtol=1e-3, atol=1e-4)
    assert losses[-1] < losses[0]


def test_states_are_kept_from_step_to_step() -> None:
    trainer = trainer_for(COUNTING, loss.MSELoss("sum"), optimizer.SGD(0.1), tensor((3,)), tensor((3,)))
    x = np.array([1, 2, 3], "float32")
    assert trainer.update(x, x) == 14
    trainer.update([x], [x])
    assert trainer.export_states()["calls"] == 2
    np.testing.assert_array_equal(trainer.predict(x), x * trainer.export_params()["w"])


def test_misuse_of_the_trainer_is_reported() -> None:
    infos = tensor((3,)), tensor((3,))
    trainer = trainer_for(COUNTING, loss.MSELoss(), optimizer.SGD(0.1), *infos, zero_init_param_state=False)
    with pytest.raises(tvms.TvmsError, match=r"error\[E0722\]: 'w' has no value"):
        trainer.predict(np.zeros(3, "float32"))
    with pytest.raises(ValueError, match=r"^the network has no weight 'u'; it has w$"):
        trainer.load_params({"u": np.zeros(3)})
    with pytest.raises(ValueError, match=r"^2 arrays are given for 1 weights$"):
        trainer.load_params([np.zeros(3)] * 2)
    with pytest.raises(ValueError, match=r"^0 inputs are given, but the network has 1$"):
        trainer.predict()


def test_a_network_without_its_attributes_is_refused() -> None:
    setup = SetupTrainer(loss.MSELoss(), optimizer.SGD(0.1), [tensor((3,)), tensor((3,))])
    with pytest.raises(ValueError, match=r"^the module has no graph function 'backbone'$"):
        setup(tvms.IRModule({}))
    with pytest.raises(ValueError, match=r"^the module has no integer attribute 'param_num'$"):
        setup(tvms.parse(COUNTING).without_attr("param_num"))
