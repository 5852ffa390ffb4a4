"""Training beside torch: a perceptron on scikit-learn's digits, with the same data, weights, batches and steps of Adam.

    python bench/training.py [--seed SEED]

Needs torch and scikit-learn. The network is 64-128-10 with ReLU; 1440 of the 1797 images are for training, in 10 epochs of 45
batches of 32, the rest for the test. A difference is the largest absolute one after any step, of the loss and of the weights.
In rows "each step", ours starts each step with torch's weights; in the others both only start training with the same weights, so
that differences of rounding accumulate. Seconds are processor time of the steps, with one thread each.
"""

from __future__ import annotations

import argparse
from importlib.util import find_spec
from time import process_time
from typing import Any

import numpy as np
import tvms
from tvms import relax
from tvms.relax.training import SetupTrainer, Trainer
from tvms.relax.training.loss import CrossEntropyLoss
from tvms.relax.training.optimizer import Adam

_BATCH, _HIDDEN, _TRAINED, _EPOCHS, _RATE = 32, 128, 1440, 10, 5e-3
_NETWORK = """
I.ir_module Perceptron:
    I.module_attrs({{"param_num": 4, "state_num": 0}})

    R.function backbone(x: R.Tensor(({batch}, 64), "{dtype}"), w1: R.Tensor((64, {hidden}), "{dtype}"), b1: R.Tensor(({hidden},), "{dtype}"), w2: R.Tensor(({hidden}, 10), "{dtype}"), b2: R.Tensor((10,), "{dtype}")):
        with R.dataflow():
            hidden = R.nn.relu(R.matmul(x, w1) + b1)
            logits = R.matmul(hidden, w2) + b2
            R.output(logits)
        return logits
"""
Weights = dict[str, Any]
HEADER = """
| dtype | same weights at | accuracy | torch | loss differs by | weights differ by | seconds | torch |
| --- | --- | --- | --- | --- | --- | --- | --- |"""


class Ours:
    """The perceptron, trained by tvms."""

    def __init__(self, weights: Weights, dtype: str) -> None:
        text = _NETWORK.format(batch=_BATCH, hidden=_HIDDEN, dtype=dtype)
        infos = relax.TensorStructInfo((_BATCH, 10), dtype), relax.TensorStructInfo((_BATCH,), "int64")
        module = SetupTrainer(CrossEntropyLoss(), Adam(_RATE), infos)(tvms.parse(text))
        machine = relax.VirtualMachine(tvms.compile(module), tvms.cpu())
        self._trainer = Trainer(module, machine, tvms.cpu(), zero_init_param_state=False)
        self.load = self._trainer.load_params
        self.load(weights)

    def step(self, x: Any, classes: Any) -> float:
        """Return the loss before one step of Adam."""
        return float(self._trainer.update(x, classes).numpy())

    def weights(self) -> Weights:
        """Return the weights by name."""
        return {name: value.numpy() for name, value in self._trainer.export_params().items()}

    def predict(self, x: Any) -> Any:
        """Return the classes of any number of images; the last batch is padded."""
        padded = np.concatenate([x, np.zeros((-len(x) % _BATCH, 64), x.dtype)])
        batches = padded.reshape(-1, _BATCH, 64)
        return np.concatenate([self._trainer.predict(batch).numpy().argmax(1) for batch in batches])[: len(x)]


class Torch:
    """The same perceptron, trained by torch."""

    def __init__(self, weights: Weights) -> None:
        import torch

        self._torch = torch
        self._weights = {name: torch.tensor(value, requires_grad=True) for name, value in weights.items()}
        self._adam = torch.optim.Adam(list(self._weights.values()), lr=_RATE)

    def _logits(self, x: Any) -> Any:
        w1, b1, w2, b2 = self._weights.values()
        return self._torch.relu(self._torch.from_numpy(x) @ w1 + b1) @ w2 + b2

    def step(self, x: Any, classes: Any) -> float:
        """Return the loss before one step of Adam."""
        loss = self._torch.nn.functional.cross_entropy(self._logits(x), self._torch.from_numpy(classes))
        self._adam.zero_grad()
        loss.backward()
        self._adam.step()
        return loss.item()

    def weights(self) -> Weights:
        """Return the weights by name."""
        return {name: value.detach().numpy() for name, value in self._weights.items()}

    def predict(self, x: Any) -> Any:
        """Return the classes of images."""
        return self._logits(x).detach().numpy().argmax(1)


def digits(numbers: np.random.Generator) -> tuple[Any, Any]:
    """Return the images, with values from 0 to 1, and their classes, in random order."""
    from sklearn.datasets import load_digits

    images, classes = load_digits(return_X_y=True)
    order = numbers.permutation(len(images))
    return images[order] / 16, classes[order].astype("int64")


def initial(numbers: np.random.Generator) -> Weights:
    """Return the first weights: normal with variance 2 / inputs (He et al., 2015), and zero biases."""
    return {
        "w1": numbers.standard_normal((64, _HIDDEN)) * np.sqrt(2 / 64),
        "b1": np.zeros(_HIDDEN),
        "w2": numbers.standard_normal((_HIDDEN, 10)) * np.sqrt(2 / _HIDDEN),
        "b2": np.zeros(10),
    }


def measure(seed: int, dtype: str, each_step: bool) -> str:
    """Train both and return a row of the table."""
    numbers = np.random.default_rng(seed)
    images, classes = digits(numbers)
    images = images.astype(dtype)
    weights = {name: value.astype(dtype) for name, value in initial(numbers).items()}
    both = Ours(weights, dtype), Torch(weights)
    seconds, loss_gap, weight_gap = [0.0, 0.0], 0.0, 0.0
    for _ in range(_EPOCHS):
        for batch in numbers.permutation(_TRAINED).reshape(-1, _BATCH):
            losses: list[float] = []
            if each_step:
                both[0].load(both[1].weights())
            for index, side in enumerate(both):
                start = process_time()
                losses.append(side.step(images[batch], classes[batch]))
                seconds[index] += process_time() - start
            ours, theirs = (side.weights() for side in both)
            loss_gap = max(loss_gap, abs(losses[0] - losses[1]))
            weight_gap = max(weight_gap, *(float(np.abs(ours[name] - theirs[name]).max()) for name in ours))
    rights = [float((side.predict(images[_TRAINED:]) == classes[_TRAINED:]).mean()) for side in both]
    return (
        f"| {dtype} | {'each step' if each_step else 'the start'} | {rights[0]:.1%} | {rights[1]:.1%} | {loss_gap:.1e} | {weight_gap:.1e} | "
        f"{seconds[0]:.2f} | {seconds[1]:.2f} |"
    )


def main() -> None:
    """Print accuracies, differences and times for both dtypes."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seed", type=int, default=0)
    seed = parser.parse_args().seed
    for module, name in (("torch", "torch"), ("sklearn", "scikit-learn")):
        if find_spec(module) is None:
            print(f"{name} is not installed")
            return
    import torch

    torch.set_num_threads(1)
    print(f"TVMS_SEED={seed}", HEADER, sep="\n")
    for dtype in ("float32", "float64"):
        for each_step in (True, False):
            print(measure(seed, dtype, each_step), flush=True)


if __name__ == "__main__":
    main()
