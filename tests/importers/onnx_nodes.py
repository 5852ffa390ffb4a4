"""The law of the rows of the ONNX importer: what is imported computes what onnx's reference evaluator computes."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import ml_dtypes
import numpy as np
import onnx
from msgspec import Struct
from onnx.reference import ReferenceEvaluator
from tvms import TvmsError
from tvms.relax.frontend.onnx import backend

TOLERANCES = {"float64": 1e-7, "float32": 2e-4, "float16": 1e-2, "bfloat16": 5e-2}
"""Relative and absolute tolerance by dtype."""
NUMBERS = ("float32", "float32", "float64", "float16", "int32", "int64", "int8", "uint8")
INTEGERS = ("int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64")
FLOATS = ("float32", "float32", "float64", "float16")


class Node(Struct):
    """A node with its inputs; those in `constants`, or all those of `parameters` on, are initializers."""

    operator: str
    inputs: Sequence[Any]
    attributes: dict[str, Any] = {}
    parameters: int = 99
    outputs: int = 1
    opset: int = 25


Make = Callable[[np.random.Generator], Node]


def shape(rng: np.random.Generator, low: int = 0, high: int = 4, least: int = 1) -> tuple[int, ...]:
    """Return a random shape of `low` to `high` dimensions."""
    return tuple(int(size) for size in rng.integers(least, 5, int(rng.integers(low, high + 1))))


def choice(rng: np.random.Generator, values: Sequence[Any]) -> Any:
    """Return a random element."""
    return values[int(rng.integers(len(values)))]


def tensor(rng: np.random.Generator, dims: Sequence[int], dtype: str = "float32") -> Any:
    """Return random numbers, small integers among them, so that there are ties."""
    if dtype == "bool":
        return rng.integers(0, 2, dims).astype(bool)
    kind = np.dtype(getattr(ml_dtypes, dtype)) if dtype == "bfloat16" else np.dtype(dtype)
    if dtype.startswith(("int", "uint")):
        return rng.integers(0 if dtype.startswith("u") else -5, 6, dims).astype(kind)
    return np.where(rng.random(dims) < 0.2, rng.integers(-2, 3, dims), rng.normal(0, 2, dims)).astype(kind)


def model_of(node: Node, is_symbolic: bool) -> tuple[Any, list[Any]]:
    """Return the model of a single node, and its inputs; with `is_symbolic`, the sizes of the inputs have names."""
    names = ["" if value is None else f"x{place}" for place, value in enumerate(node.inputs)]
    given: list[Any] = []
    initializers: list[Any] = []
    arrays: list[Any] = []
    for place, (name, value) in enumerate(zip(names, node.inputs, strict=True)):
        if value is None:
            continue
        kind = onnx.helper.np_dtype_to_tensor_dtype(value.dtype)
        if place >= node.parameters:
            initializers.append(onnx.helper.make_tensor(name, kind, value.shape, value.tobytes(), raw=True))
        else:
            dims = [f"{name}_{axis}" for axis in range(value.ndim)] if is_symbolic else value.shape
            given.append(onnx.helper.make_tensor_value_info(name, kind, dims))
            arrays.append(value)
    outputs = [f"y{place}" for place in range(node.outputs)]
    made = onnx.helper.make_node(node.operator, names, outputs, **node.attributes)
    infos = [onnx.helper.make_empty_tensor_value_info(name) for name in outputs]
    graph = onnx.helper.make_graph([made], "law", given, infos, initializers)
    return onnx.helper.make_model(
        graph, opset_imports=[onnx.helper.make_opsetid("", node.opset)], ir_version=11
    ), arrays


def check(node: Node, is_symbolic: bool = False) -> None:
    """Compare the outputs of a node with the reference evaluator's; symbolic sizes may be refused."""
    model, arrays = model_of(node, is_symbolic)
    with np.errstate(all="ignore"):
        expected = ReferenceEvaluator(model).run(
            None, {info.name: x for info, x in zip(model.graph.input, arrays, strict=True)}
        )
    try:
        made = backend.prepare(model, schedule=False, level=0).run(arrays)
    except TvmsError as refused:
        if is_symbolic and refused.diagnostics[0].code == "E1004":
            return  # the operator needs sizes that are numbers
        raise
    about = (
        f"{node.operator} {node.attributes} of {[None if x is None else (x.dtype, x.shape) for x in node.inputs]}, "
        + (f"parameters {[None if x is None else x.tolist() for x in node.inputs[node.parameters :]]}")
    )
    for got, want in zip(made, expected, strict=True):
        want = np.asarray(want)
        assert (got.dtype, got.shape) == (want.dtype, want.shape), about
        tolerance = TOLERANCES.get(str(got.dtype), 0)
        np.testing.assert_allclose(
            got.astype("float64") if tolerance else got, want.astype("float64") if tolerance else want,
            tolerance, tolerance, err_msg=about,
        )  # fmt: skip


def check_family(rng: np.random.Generator, makers: Sequence[Make], count: int) -> None:
    """Check `count` random nodes of each maker, every third one with symbolic sizes."""
    for make in makers:
        for number in range(count):
            check(make(rng), number % 3 == 2)
