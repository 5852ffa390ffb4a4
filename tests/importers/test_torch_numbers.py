"""Numbers that tensors hold (`x.max().item()`), and quotients of sizes, take part in the model's arithmetic."""

from __future__ import annotations

import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

torch = pytest.importorskip("torch", reason="PyTorch, the extra 'torch', is not installed")

import tvms  # noqa: E402  # after the check that there is anything to test
from torch import nn  # noqa: E402
from tvms.relax.frontend.torch import from_exported_program  # noqa: E402

pytestmark = pytest.mark.filterwarnings("ignore::FutureWarning", "ignore::UserWarning")

Compute = Callable[[Any, Any], tuple[Any, ...]]


class Model(nn.Module):
    def __init__(self, compute: Compute) -> None:
        super().__init__()
        self.compute = compute

    def forward(self, x: Any, y: Any) -> Any:
        return self.compute(x, y)


def normalized(x: Any, y: Any) -> Any:
    high, low = x.max().item(), x.min().item()
    return (y - low) / (high - low + 1e-6), y * high**0.5, -low * y, y - (high % 1)


def arguments(x: Any, y: Any) -> Any:
    a = x.sum().item()
    return (
        torch.where(y > a, y, a),
        y.masked_fill(y < a, a),
        torch.add(y, y, alpha=a),
        a - y,
        a / y,
        torch.tensor(a) + y,
    )


def integers(x: Any, y: Any) -> Any:
    a = x.sum().to(torch.int64).item()
    return y * a, y * (a / 3), y + torch.sqrt(torch.tensor(a / 2)), torch.tensor(a) // 2


@pytest.mark.parametrize("compute", [normalized, arguments, integers])
def test_numbers_from_tensors(compute: Compute, random: np.random.Generator) -> None:
    x = torch.tensor(random.uniform(0.5, 2, 4), dtype=torch.float32)
    y = torch.tensor(random.uniform(0.5, 2, 3), dtype=torch.float32)
    model = Model(compute)
    module = from_exported_program(torch.export.export(model, (x, y)))
    assert tvms.verify(module) == ()
    x = x + 1
    for made in (
        tvms.interpret(module, "main", [x.numpy(), y.numpy()]),
        tvms.compile(module)["main"](x.numpy(), y.numpy()),
    ):
        for got, want in zip(made, model(x, y), strict=True):
            np.testing.assert_allclose(np.asarray(got), want.numpy(), rtol=1e-6)


def test_a_number_that_is_only_returned_keeps_its_dtype() -> None:
    class Item(nn.Module):
        def forward(self, x: Any) -> Any:
            return x.item()

    x = torch.tensor([0.1])
    module = from_exported_program(torch.export.export(Item(), (x,)))
    (number,) = tvms.compile(module)["main"](x.numpy())
    assert np.asarray(number).dtype == np.float32
    assert float(np.asarray(number)) == x.item()


class Steep(nn.Module):
    def forward(self, x: Any, y: Any) -> Any:
        return nn.functional.leaky_relu(y, x.sum().item())


def test_numbers_that_must_be_known() -> None:
    with pytest.raises(tvms.TvmsError) as raised:
        from_exported_program(torch.export.export(Steep(), (torch.ones(2), torch.ones(2))))
    line = "        return nn.functional.leaky_relu(y, x.sum().item())"
    place = Path(__file__).read_text(encoding="utf-8").splitlines().index(line) + 1
    reason = "'negative_slope' is a number that a tensor holds, but must be known before the call"
    assert str(raised.value).replace(__file__, "model.py").splitlines() == [
        f"error[E1004]: aten.leaky_relu.default: {reason}",
        f"   --> model.py:{place}:9",
        "    |",
        f" {place} | {line}",
        "    |         ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^",
        "    = help: compute with the tensor, or make the number a constant of the model",
    ]


def test_quotients_of_sizes() -> None:
    def halves(x: Any, y: Any) -> Any:
        rows = x.shape[0]
        return y * math.floor(rows / 3), y * math.ceil(rows / 3), x.sum() / (rows / 3), y * rows

    rows = torch.export.Dim("rows", min=4, max=64)
    model = Model(halves)
    program = torch.export.export(model, (torch.ones(6), torch.ones(2)), dynamic_shapes={"x": {0: rows}, "y": None})
    function = tvms.compile(from_exported_program(program))["main"]
    for count in (4, 7, 20):
        x, y = torch.arange(float(count)), torch.ones(2)
        for got, want in zip(function(x.numpy(), y.numpy()), model(x, y), strict=True):
            np.testing.assert_allclose(np.asarray(got), want.numpy(), rtol=1e-6)
