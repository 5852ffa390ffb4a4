"""Quantized models, as torch's quantization flow exports them, compute what they do in torch."""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from typing import Any

import numpy as np
import pytest

torch = pytest.importorskip("torch", reason="PyTorch, the extra 'torch', is not installed")

import tvms  # noqa: E402  # after the check that there is anything to test
from torch import nn  # noqa: E402
from tvms.dsl.importers.torch.quantization import ROWS  # noqa: E402
from tvms.relax.frontend.torch import from_exported_program  # noqa: E402

pytestmark = pytest.mark.filterwarnings("ignore::FutureWarning", "ignore::UserWarning")

import_module("torch.ao.quantization.fx._decomposed")  # registers the operators
Q: Any = torch.ops.quantized_decomposed
RANGE = (-128, 127, torch.int8)


def by_numbers(x: Any) -> Any:
    y = Q.quantize_per_tensor(x, 0.037, 3, *RANGE)
    return y, Q.dequantize_per_tensor(y, 0.037, 3, *RANGE)


def by_tensors(x: Any) -> Any:
    scale, zero = Q.choose_qparams.tensor(x, -128, 127, 1e-5, torch.int8)
    y = Q.quantize_per_tensor.tensor(x, scale, zero, *RANGE)
    return scale, zero, y, Q.dequantize_per_tensor.tensor(y, scale, zero, *RANGE)


def by_range(x: Any) -> Any:
    scale, zero, low, high = torch.tensor(0.05), torch.tensor(120), torch.tensor(0), torch.tensor(200)
    y = Q.quantize_per_tensor.tensor2(x, scale, zero, low, high, torch.uint8)
    return y, Q.dequantize_per_tensor.tensor2(y, scale, zero, low, high, torch.uint8)


def by_channel(axis: int, size: int) -> Callable[[Any], Any]:
    def quantize(x: Any) -> Any:
        scales = torch.linspace(0.01, 0.2, size)
        zeros = torch.arange(size)
        y = Q.quantize_per_channel(x, scales, zeros, axis, *RANGE)
        plain = Q.dequantize_per_channel(y, scales, None, axis, *RANGE)
        return y, Q.dequantize_per_channel(y, scales, zeros, axis, *RANGE), plain

    return quantize


def by_token(x: Any) -> Any:
    scales = torch.linspace(0.01, 0.2, 24, dtype=torch.float64).reshape(2, 3, 4, 1)
    zeros = torch.arange(24).reshape(2, 3, 4, 1)
    y = Q.quantize_per_token(x, scales, zeros, *RANGE)
    return y, Q.dequantize_per_token(y, scales, zeros, *RANGE, torch.float32)


def product(x: Any) -> Any:
    wide = (x.reshape(24, 5) * 8).clamp(-127, 127).to(torch.int8)
    return torch._int_mm(wide, wide.t())


CASES: dict[str, Callable[[Any], Any]] = {
    "numbers": by_numbers,
    "tensors": by_tensors,
    "range": by_range,
    "channel": by_channel(1, 3),
    "last channel": by_channel(3, 5),
    "token": by_token,
    "product": product,
}


class Quantized(nn.Module):
    def __init__(self, function: Callable[[Any], Any]) -> None:
        super().__init__()
        self.function = function

    def forward(self, x: Any) -> Any:
        return self.function(x)


def check(model: nn.Module, x: Any) -> Any:
    program = torch.export.export(model.eval(), (x,))
    function = tvms.compile(from_exported_program(program))["main"]
    for got, want in zip(function(x.numpy()), torch.utils._pytree.tree_leaves(model(x)), strict=True):
        assert str(np.asarray(got).dtype) == str(want.dtype).removeprefix("torch.")
        np.testing.assert_allclose(np.asarray(got), want.detach().numpy(), rtol=1e-6, atol=1e-6)
    return program


@pytest.mark.parametrize("name", CASES)
def test_rows(name: str) -> None:
    torch.manual_seed(0)
    check(Quantized(CASES[name]), torch.randn(2, 3, 4, 5) * 4)


def test_every_row_is_tested() -> None:
    used: set[str] = set()
    for function in CASES.values():
        program = torch.export.export(Quantized(function), (torch.randn(2, 3, 4, 5),))
        used.update(str(node.target).removeprefix("aten.") for node in program.graph.nodes)
    assert ROWS.keys() - used == set()


class Linear(nn.Module):
    """A linear layer as the quantization flow leaves it: int8 weights, and inputs rounded to int8."""

    def __init__(self) -> None:
        super().__init__()
        self.register_buffer("weight", torch.randint(-127, 128, (4, 8), dtype=torch.int8))
        self.register_buffer("scales", torch.rand(4) / 10)
        self.register_buffer("zeros", torch.zeros(4, dtype=torch.int64))
        self.bias = nn.Parameter(torch.randn(4))

    def forward(self, x: Any) -> Any:
        rounded = Q.dequantize_per_tensor(Q.quantize_per_tensor(x, 0.02, 3, *RANGE), 0.02, 3, *RANGE)
        weight = Q.dequantize_per_channel(self.weight, self.scales, self.zeros, 0, *RANGE)
        return (nn.functional.linear(rounded, weight, self.bias),)


def test_a_quantized_layer() -> None:
    torch.manual_seed(0)
    check(Linear(), torch.randn(3, 8))
