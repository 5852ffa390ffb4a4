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


def sums_of(given: Any, pad: int, stride: int) -> Any:
    """The convolution of the codes less their zero points, in int32; padding is 0 after the subtraction."""
    x, w = given["x"].astype("int32") - given["x_zero_point"], given["w"].astype("int32") - given["w_zero_point"]
    x = np.pad(x, ((0, 0), (0, 0), (pad, pad), (0, 1)))
    windows = np.lib.stride_tricks.sliding_window_view(x, w.shape[2:], (2, 3))[:, :, :, ::stride]
    return np.einsum("nchwij,ocij->nohw", windows, w).astype("int32")


def requantized(given: Any, sums: Any) -> Any:
    scale = given["x_scale"] * given["w_scale"] / given["y_scale"]
    scaled = np.rint((sums + given["B"].reshape(-1, 1, 1)).astype("f4") * scale) + given["y_zero_point"].astype("f4")
    low, high = int_range(str(given["y_zero_point"].dtype))
    return np.clip(scaled, low, high).astype(given["y_zero_point"].dtype)


@pytest.mark.deep(4)
@pytest.mark.parametrize("image", ["int8", "uint8"])
@pytest.mark.parametrize("kernel", ["int8", "uint8"])
@pytest.mark.parametrize("operator", ["ConvInteger", "QLinearConv"])
def test_integer_convolutions(operator: str, image: str, kernel: str) -> None:
    """Constant and other zero points, of images and kernels, are subtracted; padding counts as the zero point."""
    random = generator()
    for _ in range(3):
        inputs, outputs, window, pad = (int(size) for size in (*random.integers(1, 6, 2), *random.integers(1, 4, 2)))
        shape = 2, inputs, *(int(size) for size in random.integers(window, 9, 2))
        weights = (outputs, inputs, window, window)
        zeros = drawn(random, image, ()), drawn(random, kernel, ()) * np.dtype(kernel).type(random.integers(2))
        x, w = drawn(random, image, shape), drawn(random, kernel, weights)
        stride = int(random.integers(1, 3))
        attributes = {"pads": [pad, 0, pad, 1], "strides": [1, stride]}
        given = {"x": x, "x_zero_point": zeros[0], "w": w, "w_zero_point": zeros[1]}
        if operator == "ConvInteger":
            given = {name: given[name] for name in ("x", "w", "x_zero_point", "w_zero_point")}
            expected = sums_of(given, pad, stride)
        else:
            scales = dict(
                zip(("x_scale", "w_scale", "y_scale"), random.uniform(0.01, 0.1, 3).astype("f4"), strict=True)
            )
            given |= scales | {
                "y_zero_point": drawn(random, image, ()),
                "B": drawn(random, "int16", (outputs,)).astype("int32"),
            }
            order = ("x", "x_scale", "x_zero_point", "w", "w_scale", "w_zero_point", "y_scale", "y_zero_point", "B")
            given = {name: given[name] for name in order}
            expected = requantized(given, sums_of(given, pad, stride))
        constants = [name for name in given if name != "x" and random.random() < 0.7]
        node = Node(
            operator, {name: np.asarray(value) for name, value in given.items()}, attributes, constants=constants
        )
        check(node, oracle=lambda model, inputs, expected=expected: [expected], settings={})
