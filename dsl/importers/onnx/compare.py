"""Comparison of an imported module with its model on random inputs, by onnxruntime, or by onnx's reference evaluator."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from importlib import import_module
from importlib.util import find_spec
from typing import Any, TypeAlias, cast

from msgspec import structs

from ....ir import relax
from ....ir.base import IRModule
from ....ir.diagnostics import TvmsError, error
from ....ir.numpy_dtype import numpy_dtype
from ....ir.ops import dims as d
from ..differences import Difference, difference, error_of
from ..values import dims_of, dtype_of
from .files import Model, read_model
from .from_onnx import from_onnx
from .library import library

Execute: TypeAlias = Callable[[IRModule, Sequence[Any]], Any]
"""Executes the function `main` of a module."""
_SIZE = 4
"""The size of dimensions that vary."""
_INTEGERS = 2
"""Exclusive upper bound of random integers, small enough for valid indices of most tables."""
_NOISE = 256.0
"""Changes in the last bit that rounding within a network amounts to: the bound for sums of 512 terms in another order."""
_EVALUATOR = "onnx's reference evaluator"


def random_inputs(module: IRModule, seed: int) -> list[Any]:
    """Return random arrays for the inputs of an imported module; sizes that vary are 4. E1004 if an input is not a tensor."""
    import numpy as np

    function = module["main"]
    assert isinstance(function, relax.Function)
    generator, arrays = np.random.default_rng(seed), list[Any]()
    for param in function.params[: function.attrs.get("num_input", len(function.params))]:
        if not isinstance(param.struct_info, relax.TensorStructInfo):
            reason = f"there are no random values for the input '{param.name_hint}', which is not a tensor of numbers"
            raise error("E1004", reason, None, "import without comparison: --no-check")
        shape = [_SIZE if (size := d.value_of(dim)) is None else size for dim in dims_of(param)]
        dtype = numpy_dtype(dtype_of(param))
        is_integer = dtype.kind in "biu"
        drawn = generator.integers(0, _INTEGERS, shape) if is_integer else generator.standard_normal(shape)
        arrays.append(np.asarray(drawn).astype(dtype))
    return arrays


def compare(path: str, module: IRModule, inputs: Sequence[Any], execute: Execute) -> tuple[str, list[Difference]]:
    """Return the name of the reference, and the differences between the results of `module`, imported from a file, and its.

    Raises TvmsError E1003, which names the first value that differs by more than the tolerance of its dtype and the noise of
    rounding, and E1002 if the reference cannot run the model.
    """
    proto = _whole(read_model(path))
    reference, expected = _run(proto, inputs)
    names = [output.name for output in proto.graph.output]
    found = _judged(proto, inputs, names, _several(execute(module, inputs)), expected)
    if all(part.is_close for part in found):
        return reference, found
    largest = max(found, key=lambda part: part.largest)
    raise _first_difference(proto, inputs, execute) or error_of(largest, reference, None)


def _whole(model: Model) -> Any:
    """Return a model with the weights from its files as a message."""
    for tensor in model.proto.graph.initializer:
        if tensor.data_location == tensor.EXTERNAL:
            tensor.raw_data = model.bytes_of(tensor).tobytes()
            tensor.ClearField("external_data")
            tensor.ClearField("data_location")
    return model.proto


def _run(proto: Any, inputs: Sequence[Any]) -> tuple[str, list[Any]]:
    """Run a model; return the name of what ran it, and its results."""
    initialized = {initializer.name for initializer in proto.graph.initializer}
    names = [given.name for given in proto.graph.input if given.name not in initialized]
    feeds = dict(zip(names, inputs, strict=True))
    try:
        if find_spec("onnxruntime") is not None:
            session = _session(proto)
            return f"onnxruntime {import_module('onnxruntime').__version__}", session.run(None, feeds)
        evaluator = import_module("onnx.reference").ReferenceEvaluator(proto)
        return _EVALUATOR, evaluator.run(None, feeds)
    except Exception as problem:  # both raise many kinds of errors
        reason = (str(problem).strip() or type(problem).__name__).splitlines()[0]
        help = "import without comparison: --no-check"
        raise error("E1002", f"the reference cannot run the model: {reason}", None, help) from None


def _session(proto: Any) -> Any:
    runtime = import_module("onnxruntime")
    options = runtime.SessionOptions()
    options.log_severity_level = 4
    return runtime.InferenceSession(proto.SerializeToString(), options, providers=["CPUExecutionProvider"])


def _several(made: Any) -> Sequence[Any]:
    return cast("Sequence[Any]", made) if isinstance(made, tuple | list) else (made,)


def _differences(names: Sequence[str], made: Sequence[Any], expected: Sequence[Any]) -> list[Difference]:
    triples = zip(names, made, expected, strict=False)
    return [difference(name, got, want) for name, got, want in triples if _is_numeric(want)]


def _judged(
    proto: Any, inputs: Sequence[Any], names: Sequence[str], made: Sequence[Any], expected: Sequence[Any]
) -> list[Difference]:
    """Return the differences, with the noise of each if some exceed their tolerance.

    A model may amplify rounding: a variance that it computes as E[x²] - E[x]² loses its digits where a row is nearly constant.
    Then no two correct systems agree. The noise is what the reference itself changes by if all weights change in their last bit.
    """
    found = _differences(names, made, expected)
    if all(part.is_close for part in found):
        return found
    try:
        _, moved = _run(_rounded_otherwise(proto), inputs)
    except TvmsError:
        return found
    noise = {part.name: _NOISE * part.largest for part in _differences(names, moved, expected)}
    return [structs.replace(part, noise=noise[part.name]) for part in found]


def _rounded_otherwise(proto: Any) -> Any:
    """Return a copy of a model whose float weights differ by up to one unit in the last place."""
    import numpy as np

    moved, helper = library().ModelProto(), import_module("onnx.numpy_helper")
    moved.CopyFrom(proto)
    generator: Any = np.random.default_rng(0)
    for tensor in moved.graph.initializer:
        values: Any = helper.to_array(tensor)
        if values.dtype.kind == "f":
            factors = 1.0 + generator.uniform(-1.0, 1.0, values.shape) * float(np.finfo(values.dtype).eps)
            tensor.CopyFrom(helper.from_array(np.asarray(values * factors, values.dtype), tensor.name))
    return moved


def _is_numeric(value: Any) -> bool:
    return hasattr(value, "dtype") and value.dtype != object


def _first_difference(proto: Any, inputs: Sequence[Any], execute: Execute) -> TvmsError | None:
    """Return the error of the first node with a value that differs, in the order of the graph."""
    onnx, traced = library(), library().ModelProto()
    traced.CopyFrom(proto)
    names = [name for node in proto.graph.node for name in node.output if name]
    del traced.graph.output[:]
    traced.graph.output.extend(onnx.ValueInfoProto(name=name) for name in names)
    try:
        reference, expected = _run(traced, inputs)
        made = _several(execute(from_onnx(traced), inputs))
    except TvmsError:
        return None  # the values of all nodes are not available
    found = _judged(traced, inputs, names, made, expected)
    first = next((part for part in found if not part.is_close), None)
    return None if first is None else error_of(first, reference, None)
