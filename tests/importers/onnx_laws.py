"""The law of the rows of the ONNX importer: what is imported computes what another implementation computes.

A law is tested on random nodes, in models of one node. The other implementation is onnx's reference evaluator, or onnxruntime for
operators that the evaluator lacks or gets wrong.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import ml_dtypes
import numpy as np
from msgspec import Struct
from onnx import helper
from onnx.reference import ReferenceEvaluator
from tvms import TvmsError
from tvms.relax.frontend.onnx import backend

TOLERANCES = {"float64": 1e-7, "float32": 2e-4, "float16": 1e-2, "bfloat16": 5e-2}
"""Relative and absolute tolerance by dtype."""
NUMBERS = ("float32", "float32", "float64", "float16", "int32", "int64", "int8", "uint8")
INTEGERS = ("int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64")
FLOATS = ("float32", "float32", "float64", "float16")
UNSCHEDULED: dict[str, Any] = {"schedule": False, "level": 0}
"""Settings of `tvms.compile` that compile fast."""


class Node(Struct):
    """A node with its inputs, by name or in order; those in `constants`, or all those of `parameters` on, are initializers."""

    operator: str
    inputs: Sequence[Any] | Mapping[str, Any]
    attributes: Mapping[str, Any] = {}
    parameters: int = 99
    outputs: int | Sequence[str] = 1
    opset: int = 25
    domain: str = ""
    constants: Sequence[str] = ()

    def named(self) -> dict[str, Any]:
        """Return the inputs by name."""
        inputs = self.inputs
        return dict(inputs) if isinstance(inputs, Mapping) else {f"x{place}": x for place, x in enumerate(inputs)}

    def described(self) -> str:
        """Return the node for messages."""
        shown = {name: None if x is None else (str(x.dtype), x.shape) for name, x in self.named().items()}
        values = {name: x.tolist() for name, x in self.named().items() if x is not None and x.size <= 8}
        return f"{self.operator} {dict(self.attributes)} of {shown}, values {values}"


Make = Callable[[np.random.Generator], Node]
Oracle = Callable[[Any, Mapping[str, Any]], Sequence[Any]]
"""Computes the outputs of a model for its inputs by name."""


def generator() -> np.random.Generator:
    """Return a generator of random numbers, and print its seed; `TVMS_SEED` sets it."""
    seed = int(os.environ.get("TVMS_SEED", "0")) or int(np.random.default_rng().integers(1 << 31))
    print(f"TVMS_SEED={seed}")
    return np.random.default_rng(seed)


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


def model_of(node: Node, is_symbolic: bool = False) -> Any:
    """Return the model of a single node; with `is_symbolic`, the sizes of the inputs have names."""
    infos: list[Any] = []
    initializers: list[Any] = []
    for place, (name, value) in enumerate(node.named().items()):
        if value is None:
            continue
        kind = helper.np_dtype_to_tensor_dtype(value.dtype)
        if place >= node.parameters or name in node.constants:
            initializers.append(helper.make_tensor(name, kind, value.shape, value.tobytes(), raw=True))
        else:
            dims = [f"{name}_{axis}" for axis in range(value.ndim)] if is_symbolic else value.shape
            infos.append(helper.make_tensor_value_info(name, kind, dims))
    names = ["" if value is None else name for name, value in node.named().items()]
    outputs = [f"y{place}" for place in range(node.outputs)] if isinstance(node.outputs, int) else list(node.outputs)
    made = helper.make_node(node.operator, names, outputs, domain=node.domain, **node.attributes)
    results = [helper.make_empty_tensor_value_info(name) for name in outputs if name]
    graph = helper.make_graph([made], "law", infos, results, initializers)
    opsets = [helper.make_opsetid(node.domain, node.opset)]
    if node.domain:
        opsets.append(helper.make_opsetid("", 21))
    return helper.make_model(graph, opset_imports=opsets, ir_version=10 if node.domain else 11)


def by_reference(model: Any, inputs: Mapping[str, Any]) -> Sequence[Any]:
    """Return what onnx's reference evaluator computes."""
    with np.errstate(all="ignore"):
        return ReferenceEvaluator(model).run(None, dict(inputs))


def by_onnxruntime(model: Any, inputs: Mapping[str, Any]) -> Sequence[Any]:
    """Return what onnxruntime computes, without rewriting the model; skip the test if it is not installed."""
    import pytest

    library: Any = pytest.importorskip("onnxruntime", reason="onnxruntime, the judge of these laws, is not installed")
    options = library.SessionOptions()
    options.graph_optimization_level = library.GraphOptimizationLevel.ORT_DISABLE_ALL
    options.log_severity_level = 4
    options.intra_op_num_threads = 1
    return library.InferenceSession(model.SerializeToString(), options, ["CPUExecutionProvider"]).run(
        None, dict(inputs)
    )


def check(
    node: Node,
    is_symbolic: bool = False,
    oracle: Oracle = by_reference,
    tolerance: float | None = None,
    settings: Mapping[str, Any] = UNSCHEDULED,
) -> None:
    """Compare the outputs of a node with those of the oracle; symbolic sizes may be refused."""
    model = model_of(node, is_symbolic)
    inputs = {info.name: node.named()[info.name] for info in model.graph.input}
    expected = oracle(model, inputs)
    try:
        made = backend.prepare(model, **settings).run(list(inputs.values()))
    except TvmsError as refused:
        if is_symbolic and refused.diagnostics[0].code == "E1004":
            return  # the operator needs sizes that are numbers
        raise
    assert len(made) == len(expected), node.described()
    for got, want in zip(made, expected, strict=True):
        check_value(got, np.asarray(want), node.described(), tolerance)


def check_value(got: Any, want: Any, about: str, tolerance: float | None = None) -> None:
    """Compare an output with the expected one: the dtype, the shape, and the elements within the tolerance of the dtype."""
    if got.dtype == object:
        assert (got.shape, got.tolist()) == (want.shape, want.tolist()), about
        return
    assert (got.dtype, got.shape) == (want.dtype, want.shape), about
    allowed = TOLERANCES.get(str(got.dtype), 0) if tolerance is None or got.dtype.kind in "iub" else tolerance
    if allowed:
        got, want = got.astype("float64"), want.astype("float64")
    np.testing.assert_allclose(got, want, allowed, allowed, err_msg=about)


def check_family(rng: np.random.Generator, makers: Sequence[Make], count: int) -> None:
    """Check `count` random nodes of each maker, every third one with symbolic sizes."""
    for make in makers:
        for number in range(count):
            check(make(rng), number % 3 == 2)
