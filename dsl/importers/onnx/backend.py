"""The interface by which onnx's own tests run models: `onnx.backend.test.BackendTest(backend, __name__)`."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from importlib import import_module
from typing import Any, cast

from ....ir.base import IRModule
from ....ir.diagnostics import TvmsError
from .from_onnx import Importer
from .library import library


class Prepared:
    """A compiled model (onnx: `BackendRep`)."""

    specialized: tuple[str, ...] = ()
    """The inputs for whose values the model was compiled by the last run."""

    def __init__(self, function: Any, outputs: int = 1) -> None:
        self._function, self._outputs = function, outputs

    def run(self, inputs: Sequence[Any], **kwargs: Any) -> tuple[Any, ...]:
        """Return the outputs for inputs in the order of the model's, as arrays, lists of arrays, and None."""
        made = self._function(*map(_array, inputs))
        return tuple(map(_array, (made,) if self._outputs == 1 else made))


class Specialized(Prepared):
    """A model in which operators need some inputs as constants: it is compiled for each combination of their values.

    The suite passes everything as an input of the graph, also the axes of reductions, which models store as initializers.
    """

    def __init__(self, model: Any, compile_module: Callable[[IRModule], Any]) -> None:
        super().__init__(self._called, len(model.graph.output))
        self._model, self._compile = model, compile_module
        self._compiled: list[tuple[dict[str, Any], Any]] = []
        initialized = {initializer.name for initializer in model.graph.initializer}
        self._names = [given.name for given in model.graph.input if given.name not in initialized]

    def _called(self, *inputs: Any) -> Any:
        values = dict(zip(self._names, inputs, strict=True))
        for constants, function in self._compiled:
            if all(_is_same(values[name], value) for name, value in constants.items()):
                self.specialized = tuple(sorted(constants))
                return function(*inputs)
        importer = Importer(self._model)
        importer.specialize(values)
        function = self._compile(importer.module())
        self._compiled.append(({name: values[name].copy() for name in importer.asked}, function))
        self.specialized = tuple(sorted(importer.asked))
        return function(*inputs)


def _is_same(x: Any, y: Any) -> bool:
    return x.dtype == y.dtype and x.shape == y.shape and x.tobytes() == y.tobytes()


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
    """Compile a model; keyword arguments are those of `tvms.compile`. If an operator needs the value of an input, the model is
    compiled when it runs.

    Raises TvmsError as `from_onnx` does.
    """

    def compile_module(module: IRModule) -> Any:
        return import_module("tvms").compile(module, **kwargs)["main"]

    return prepared(model, compile_module)


def prepared(model: Any, compile_module: Callable[[IRModule], Any]) -> Prepared:
    """Return a model whose module `compile_module` makes a function."""
    importer = Importer(model)
    try:
        module = importer.module()
    except TvmsError:
        if not importer.asked:
            raise
        return Specialized(model, compile_module)
    return Prepared(compile_module(module), len(model.graph.output))


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
