"""Graphs of `torch.fx` and of torch.compile as modules (TVM: `relax.frontend.torch.{from_fx,relax_dynamo}`).

A graph is exported first, which turns its modules, functions and methods into the overloads of the table.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Sequence
from contextlib import contextmanager
from copy import deepcopy
from importlib import import_module
from typing import Any, cast

from msgspec.structs import replace

from ....ir import tir
from ....ir.base import IRModule
from ....ir.diagnostics import error
from .exported_program import CustomConverts, ProgramImporter
from .library import array_of, check_kind, library
from .recurrent import sequences_of_any_length
from .support import prepared

InputInfo = Sequence[tuple[Sequence[Any], str]]
"""The shape and dtype of each input; a size that is a loop-level variable is dynamic."""


def from_fx(
    model: Any,
    input_info: InputInfo,
    *,
    keep_params_as_input: bool = False,
    unwrap_unit_return_tuple: bool = False,
    no_bind_return_tuple: bool = False,
    custom_convert_map: CustomConverts | None = None,
) -> IRModule:
    """Return the module whose function `main` computes what a `torch.fx.GraphModule` computes in inference.

    `input_info` gives the shape and dtype of each input; the inputs are named `inp_0`, `inp_1`, … The other arguments are
    those of `from_exported_program`, except that a graph that returns one tensor becomes a function that returns one.

    Raises TvmsError: E1001 for operators without a converter, E1004 if torch cannot export the graph.
    """
    torch = library()
    check_kind(model, torch.fx.GraphModule, "trace it first: torch.fx.symbolic_trace(model)")
    inputs = [
        torch.zeros([_try_size(size) for size in shape], dtype=_dtype(torch, dtype)) for shape, dtype in input_info
    ]
    varying = tuple(
        {axis: torch.export.Dim.DYNAMIC for axis, size in enumerate(shape) if _variable(size) is not None}
        for shape, _ in input_info
    )
    kept = _without_dropping(torch, model)
    program = prepared(exported(kept, inputs, varying if any(varying) else None), custom_convert_map or {}, True)
    importer = ProgramImporter(program, keep_params_as_input, custom_convert_map or {})
    sizes = [size for shape, _ in input_info for size in shape]
    importer.name_inputs([f"inp_{number}" for number in range(len(inputs))], [_variable(size) for size in sizes])
    returned = _returned(model)
    is_tuple = isinstance(returned, tuple | list)
    importer.use_conventions_of_fx(not is_tuple, hasattr(getattr(returned, "target", None), "_schema"))
    return importer.module(unwrap_unit_return_tuple or not is_tuple, no_bind_return_tuple)


def _dtype(torch: Any, dtype: Any) -> Any:
    """Return a dtype, given by name or as a torch dtype."""
    return getattr(torch, dtype) if isinstance(dtype, str) else dtype


def _variable(size: Any) -> tir.Var | None:
    return size if isinstance(size, tir.Var) else None


def _try_size(size: Any) -> int:
    """Return a size for tracing: neither 0 nor 1, which torch treats specially."""
    return 4 if _variable(size) is not None else int(size)


_DROPPING = (
    "dropout",
    "dropout1d",
    "dropout2d",
    "dropout3d",
    "alpha_dropout",
    "feature_alpha_dropout",
    "stochastic_depth",
)
"""Functions that return their first argument in inference; a trace may hold that they were called in training."""


def _without_dropping(torch: Any, model: Any) -> Any:
    """Return a graph module without calls of functions that drop elements at random."""
    graph = deepcopy(model.graph)
    for node in graph.nodes:
        if node.op == "call_function" and getattr(node.target, "__name__", "") in _DROPPING:
            node.replace_all_uses_with(node.args[0] if node.args else node.kwargs["input"])
            graph.erase_node(node)
    return torch.fx.GraphModule(model, graph)


def _returned(graph_module: Any) -> Any:
    return next(node.args[0] for node in graph_module.graph.nodes if node.op == "output")


def exported(model: Any, inputs: Sequence[Any], dynamic_shapes: Any = None) -> Any:
    """Return the exported program of a graph in inference mode; E1004 if torch cannot export it."""
    torch = library()
    with _evaluating(model), sequences_of_any_length():
        try:
            return torch.export.export(model, tuple(inputs), dynamic_shapes=dynamic_shapes)
        except Exception as problem:  # torch raises many kinds of errors
            reason = (str(problem).strip() or type(problem).__name__).splitlines()[0]
            raise error(
                "E1004", f"torch cannot export the graph: {reason}", None, "check the shapes and dtypes"
            ) from None


@contextmanager
def _evaluating(model: Any) -> Generator[None]:
    """Switch all modules to inference within a `with`."""
    training = {module: module.training for module in model.modules()}
    model.eval()
    try:
        yield
    finally:
        for module, was in training.items():
            module.training = was


# --- torch.compile ------------------------------------------------------------------------------------------------


def dynamo_capture_subgraphs(model: Any, *params: Any, **kwargs: Any) -> IRModule:
    """Return the module with a function `subgraph_0`, `subgraph_1`, … for each graph that torch.compile finds in a call
    of `model` with `params` (TVM: `relax.frontend.torch.dynamo_capture_subgraphs`)."""
    torch = library()
    keep = bool(kwargs.pop("keep_params_as_input", False))
    functions: dict[str, Any] = {}

    def capture(graph_module: Any, example_inputs: Sequence[Any]) -> Callable[..., Any]:
        module = _imported(graph_module, example_inputs, keep, True)
        for name, function in module.functions.items():
            own = f"subgraph_{len(functions)}" if name == "main" else name
            attrs = {**function.attrs, "global_symbol": own} if name == "main" else function.attrs
            functions[own] = replace(function, attrs=attrs)
        return graph_module.forward

    with _one_graph_each(torch):
        torch.compile(model, backend=capture)(*params, **kwargs)
    return IRModule(functions)


def relax_dynamo(pipeline: Any = None) -> Callable[[Any, Sequence[Any]], Callable[..., Any]]:
    """Return a backend of torch.compile that compiles graphs for this processor, for inference
    (TVM: `relax.frontend.torch.relax_dynamo`): `torch.compile(model, backend=relax_dynamo())`.

    `pipeline` is a pass that is applied to each module before it is compiled.
    """

    def backend(graph_module: Any, example_inputs: Sequence[Any]) -> Callable[..., Any]:
        module = _imported(graph_module, example_inputs, False, False)
        if pipeline is not None:
            module = pipeline(module)
        function = import_module("tvms").compile(module)["main"]
        torch = library()

        def run(*inputs: Any) -> Any:
            made = function(*(array_of(value) if isinstance(value, torch.Tensor) else value for value in inputs))
            several = cast("Sequence[Any]", made) if isinstance(made, tuple | list) else (made,)
            return tuple(torch.from_dlpack(value) for value in several)

        return run

    return backend


def _imported(graph_module: Any, inputs: Sequence[Any], keep_params: bool, unwrap: bool) -> IRModule:
    program = prepared(exported(graph_module, inputs), {}, True)
    return ProgramImporter(program, keep_params, {}).module(unwrap, False)


@contextmanager
def _one_graph_each(torch: Any) -> Generator[None]:
    """Recompile within a `with`, with the parameters in the graphs and without gradients."""
    dynamo: Any = import_module("torch._dynamo")
    dynamo.reset()
    with torch.no_grad(), dynamo.config.patch(inline_inbuilt_nn_modules=False):
        yield
    dynamo.reset()
