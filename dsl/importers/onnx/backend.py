"""The interface by which onnx's own tests run models: `onnx.backend.test.BackendTest(backend, __name__)`."""

from __future__ import annotations

from collections.abc import Sequence
from importlib import import_module
from typing import Any, cast

from .from_onnx import from_onnx
from .library import library


class Prepared:
    """A compiled model (onnx: `BackendRep`)."""

    def __init__(self, function: Any, outputs: int = 1) -> None:
        self._function, self._outputs = function, outputs

    def run(self, inputs: Sequence[Any], **kwargs: Any) -> tuple[Any, ...]:
        """Return the outputs for inputs in the order of the model's, as arrays, lists of arrays, and None."""
        made = self._function(*map(_array, inputs))
        return tuple(map(_array, (made,) if self._outputs == 1 else made))


def _array(value: Any) -> Any:
    import numpy as np

    if isinstance(value, tuple | list):
        return [_array(item) for item in cast("Sequence[Any]", value)]
    return None if value is None else np.asarray(value)


def is_compatible(model: Any, device: str = "CPU", **kwargs: Any) -> bool:
    """Return whether models like this one can be prepared; `prepare` reports what is not supported."""
    return supports_device(device)


def supports_device(device: str) -> bool:
    """Return whether models run on a device; "CPU" only."""
    return device.partition(":")[0] == "CPU"


def prepare(model: Any, device: str = "CPU", **kwargs: Any) -> Prepared:
    """Compile a model; keyword arguments are those of `tvms.compile`.

    Raises TvmsError as `from_onnx` does.
    """
    return Prepared(import_module("tvms").compile(from_onnx(model), **kwargs)["main"], len(model.graph.output))


def run_model(model: Any, inputs: Sequence[Any], device: str = "CPU", **kwargs: Any) -> tuple[Any, ...]:
    """Compile a model, and run it once."""
    return prepare(model, device, **kwargs).run(inputs)


def run_node(
    node: Any, inputs: Sequence[Any], device: str = "CPU", outputs_info: Any = None, **kwargs: Any
) -> tuple[Any, ...]:
    """Compile a model of a single node in the newest version of the operator set, and run it once."""
    import numpy as np

    onnx = library()
    helper, values = onnx.helper, [np.asarray(value) for value in inputs]
    names = [name for name in node.input if name]
    given = [
        helper.make_tensor_value_info(name, helper.np_dtype_to_tensor_dtype(value.dtype), value.shape)
        for name, value in zip(names, values, strict=True)
    ]
    outputs = [helper.make_empty_tensor_value_info(name) for name in node.output]
    graph = helper.make_graph([node], "node", given, outputs)
    return run_model(helper.make_model(graph), values, device, **kwargs)
