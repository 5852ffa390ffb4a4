"""What the tests of ONNX rows share: random models of one operator, run compiled and by onnx's reference evaluator."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import onnx
from onnx import helper
from onnx.reference import ReferenceEvaluator
from tvms.relax.frontend.onnx import backend


def generator() -> np.random.Generator:
    """Return a generator of random numbers, and print its seed; `TVMS_SEED` sets it."""
    seed = int(os.environ.get("TVMS_SEED", "0")) or int(np.random.default_rng().integers(1 << 31))
    print(f"TVMS_SEED={seed}")
    return np.random.default_rng(seed)


def model_of(
    operator: str,
    inputs: Mapping[str, Any],
    outputs: Sequence[str],
    opset: int,
    domain: str = "",
    constants: Sequence[str] = (),
    **attributes: Any,
) -> Any:
    """Return a model of one node; `inputs` by name, "" for one that is left out, are inputs or `constants` of the model."""
    names = [name if value is not None else "" for name, value in inputs.items()]
    node = helper.make_node(operator, names, list(outputs), domain=domain, **attributes)
    given = {name: value for name, value in inputs.items() if value is not None}
    infos = [
        helper.make_tensor_value_info(name, helper.np_dtype_to_tensor_dtype(value.dtype), value.shape)
        for name, value in given.items()
        if name not in constants
    ]
    initializers = [onnx.numpy_helper.from_array(given[name], name) for name in constants if name in given]
    results = [helper.make_empty_tensor_value_info(name) for name in outputs if name]
    graph = helper.make_graph([node], "graph", infos, results, initializers)
    opsets = [
        helper.make_opsetid("", 24 if domain else opset),
        *([helper.make_opsetid(domain, opset)] if domain else []),
    ]
    return helper.make_model(graph, opset_imports=opsets, ir_version=11)


def check_reference(model: Any, inputs: Mapping[str, Any], rtol: float = 1e-4, atol: float = 1e-5) -> None:
    """Assert that the compiled model computes what onnx's reference evaluator does."""
    names = [given.name for given in model.graph.input]
    expected = ReferenceEvaluator(model).run(None, {name: inputs[name] for name in names})
    found = backend.run_model(model, [inputs[name] for name in names])
    for one, other in zip(found, expected, strict=True):
        assert one.dtype == np.asarray(other).dtype
        assert one.shape == np.shape(other)
        if "float" in one.dtype.name:
            np.testing.assert_allclose(one.astype("f8"), np.asarray(other).astype("f8"), rtol=rtol, atol=atol)
        else:
            np.testing.assert_array_equal(one, other)
