"""Quantization of ONNX models: random shapes, dtypes, axes and blocks give what onnx's reference evaluator gives."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

pytest.importorskip("onnx", reason="onnx, the extra 'onnx', is not installed")

from tvms.ir.dtype import int_range
from tvms.ir.numpy_dtype import numpy_dtype

sys.path.insert(0, str(Path(__file__).parent))
from onnx_laws import Node, check, generator

DTYPES = ("int8", "uint8", "int16", "uint16", "int4", "uint4", "int2", "uint2")


def drawn(random: np.random.Generator, dtype: str, shape: Any) -> Any:
    low, high = int_range(dtype)
    return random.integers(low, high + 1, shape).astype(numpy_dtype(dtype))


def parameters(random: np.random.Generator, shape: list[int]) -> tuple[list[int], dict[str, int]]:
    """Return the shape of the scales of a tensor, a channel, or blocks, and the attributes."""
    axis = int(random.integers(-len(shape), len(shape)))
    kind = random.choice(["tensor", "channel", "block"])
    if kind == "block":
        size = int(random.integers(1, shape[axis] + 1))
        while shape[axis] % size:
            size -= 1
        return [dim // size if place == axis % len(shape) else dim for place, dim in enumerate(shape)], {
            "axis": axis,
            "block_size": size,
        }
    return ([], {}) if kind == "tensor" else ([shape[axis]], {"axis": axis})


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("operator", ["QuantizeLinear", "DequantizeLinear"])
def test_quantization(operator: str, dtype: str) -> None:
    random = generator()
    shape = [int(size) for size in random.integers(1, 7, int(random.integers(1, 4)))]
    sizes, attributes = parameters(random, shape)
    scale = random.uniform(0.05, 2, sizes).astype("f4")
    zero = drawn(random, dtype, sizes) if random.random() < 0.7 else np.zeros(sizes, numpy_dtype(dtype))
    if operator == "QuantizeLinear":
        x = (random.standard_normal(shape) * 20).astype("f4")
        given = {"x": x, "y_scale": scale, "y_zero_point": zero}
    else:
        given = {"x": drawn(random, dtype, shape), "x_scale": scale, "x_zero_point": zero}
    check(Node(operator, given, attributes), settings={})


@pytest.mark.parametrize("left", ["int8", "uint8"])
@pytest.mark.parametrize("right", ["int8", "uint8"])
def test_integer_products(left: str, right: str) -> None:
    random = generator()
    m, k, n = (int(size) for size in random.integers(1, 9, 3))
    given = {"A": drawn(random, left, (m, k)), "B": drawn(random, right, (k, n))}
    given |= {"a_zero_point": drawn(random, left, ()), "b_zero_point": drawn(random, right, (n,))}
    constants = [name for name in ("B", "a_zero_point", "b_zero_point") if random.random() < 0.5]
    check(Node("MatMulInteger", given, opset=21, constants=constants), settings={})
