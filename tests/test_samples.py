"""Every sample is checked, printed, formatted back, interpreted, compiled, and compared with NumPy."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import tvms
from msgspec.structs import replace

SAMPLES = Path(__file__).parent.parent / "samples"
FILES = sorted(SAMPLES.glob("*.tvms"))
NETWORK = "12_resnet18"
LIBRARY = "fused_relax_permute_dims_relax_matmul_relax_add_relax_nn_relu_cublas"


def relu(x: np.ndarray) -> np.ndarray:
    return np.maximum(x, 0)


def softmax(a: np.ndarray) -> np.ndarray:
    power = np.exp(a - a.max(axis=1, keepdims=True))
    return power / power.sum(axis=1, keepdims=True)


def perceptron(x: np.ndarray, w1: np.ndarray, b1: np.ndarray, w2: np.ndarray) -> np.ndarray:
    return relu(x @ w1.T + b1) @ w2.T


PERCEPTRON = [(1, 784), (256, 784), (256,), (10, 256)]
REFERENCES: list[tuple[str, str, list[tuple[int, ...]], Callable[..., np.ndarray]]] = [
    ("01_elementwise_add", "add", [(128, 64), (128, 64)], np.add),
    ("02_matmul", "matmul", [(48, 64), (64, 32)], np.matmul),
    ("03_matmul_relu", "matmul_relu", [(32, 48), (48, 40)], lambda a, b: relu(a @ b)),
    ("04_perceptron", "main", PERCEPTRON, perceptron),
    ("04_perceptron", "main_loops", PERCEPTRON, perceptron),
    ("05_dynamic_batch", "main", [(1, 32), (32, 16), (16,)], lambda x, w, b: relu(x @ w + b)),
    ("05_dynamic_batch", "main", [(7, 32), (32, 16), (16,)], lambda x, w, b: relu(x @ w + b)),
    ("05_dynamic_batch", "main", [(0, 32), (32, 16), (16,)], lambda x, w, b: relu(x @ w + b)),
    ("06_gpu_default_schedule", "main", PERCEPTRON, perceptron),
    ("06_gpu_default_schedule", "forward", PERCEPTRON, perceptron),
    ("06_gpu_default_schedule", "matmul", [(1, 256), (256, 10)], np.matmul),
    ("06_gpu_default_schedule", "transpose", [(10, 256)], np.transpose),
    ("07_schedule", "matmul", [(64, 64), (64, 64)], np.matmul),
    ("08_gpu_matmul", "matmul", [(64, 64), (64, 64)], np.matmul),
    ("09_gpu_transpose", "transpose", [(64, 48)], np.transpose),
    ("10_gpu_softmax", "softmax", [(8, 128)], softmax),
    ("11_gpu_tensor_cores", "matmul", [(128, 32), (32, 64)], np.matmul),
]


@pytest.fixture(autouse=True)
def library() -> None:
    """Stand in for the GPU library that sample 06 calls: registered as a user would."""

    def dense_bias_relu(weight: np.ndarray, x: np.ndarray, bias: np.ndarray, out: np.ndarray) -> None:
        out[...] = relu(x @ weight.T + bias)

    tvms.register_func(LIBRARY, dense_bias_relu, override=True)


def call(
    function: Callable[..., Any], module: Any, entry: str, inputs: list[np.ndarray], shape: tuple[int, ...]
) -> Any:
    """Call a graph function for its value, or a loop function with a buffer for its result."""
    if isinstance(module[entry], tvms.Function):
        return function(*inputs)
    result = np.full(shape, np.nan, np.float32)
    function(*inputs, result)
    return result


@pytest.mark.parametrize(("name", "entry", "shapes", "reference"), REFERENCES)
def test_sample_agrees_with_numpy(
    name: str, entry: str, shapes: list[tuple[int, ...]], reference: Callable[..., np.ndarray]
) -> None:
    module = tvms.load(SAMPLES / f"{name}.tvms")
    random = np.random.default_rng(7)
    dtypes = [buffer.dtype for buffer in getattr(module[entry], "buffer_map", {}).values()] or ["float32"] * len(shapes)
    inputs = [(random.random(shape) - 0.5).astype(dtype) for shape, dtype in zip(shapes, dtypes, strict=False)]
    expected = reference(*(operand.astype(np.float32) for operand in inputs))
    compiled = call(tvms.compile(module)[entry], module, entry, inputs, expected.shape)
    np.testing.assert_allclose(compiled, expected, rtol=1e-4, atol=1e-5)
    interpreted = call(lambda *a: tvms.interpret(module, entry, a), module, entry, inputs, expected.shape)
    np.testing.assert_allclose(compiled, interpreted, rtol=1e-5, atol=1e-5)


def test_network_agrees_with_the_interpreter() -> None:
    text = (SAMPLES / f"{NETWORK}.tvms").read_text().replace("(1, 3, 224, 224)", "(1, 3, 32, 32)")
    module = tvms.parse(text)
    random = np.random.default_rng(7)
    shapes = [[size.value for size in param.struct_info.shape.values] for param in module["main"].params]
    inputs = [(random.random(shape) - 0.5).astype(np.float32) for shape in shapes]
    interpreted = tvms.interpret(module, "main", inputs)
    compiled = np.asarray(tvms.compile(module)["main"](*inputs))
    assert interpreted.shape == (1, 1000)
    np.testing.assert_allclose(compiled, interpreted, rtol=1e-4, atol=1e-5 * np.abs(interpreted).max())


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_sample_is_valid_and_commented(path: Path) -> None:
    module = tvms.load(path)
    assert tvms.verify(module) == ()
    text = path.read_text()
    assert text.startswith("#tvms 1\n#")
    printed = module.script()
    for line in text.splitlines():
        if line.strip().startswith("#"):
            assert line.strip() in printed


@pytest.mark.parametrize("dialect", ["tvms", "tvm-0.21", "tvm-0.27"])
@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_sample_comes_back_from_every_dialect(path: Path, dialect: str) -> None:
    module = tvms.load(path)
    text = module.script(dialect)
    again = tvms.parse(text)
    if dialect != "tvms":
        module = replace(module, schedules={})  # TVM has no text for schedules
    assert tvms.structural_equal(module, again)
    assert again.script(dialect) == text


def test_every_sample_is_run() -> None:
    assert {path.stem for path in FILES} == {NETWORK, *(name for name, *_ in REFERENCES)}
