"""Comparison of an imported module with its model on random inputs."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeAlias, cast

from ....ir.base import IRModule
from ....ir.diagnostics import TvmsError
from ..differences import Difference, difference, error_of
from .exported_program import ProgramImporter
from .library import array_of, library
from .places import Places

Execute: TypeAlias = Callable[[IRModule, Sequence[Any]], Any]
"""Executes the function `main` of a module."""

_INTEGERS = 2
"""Exclusive upper bound of random integers, small enough for valid indices of most tables."""


def random_inputs(program: Any, seed: int, shapes: Mapping[str, Sequence[int]] | None = None) -> list[Any]:
    """Return random tensors for the inputs of an exported program, in their exported sizes, or in those that `shapes` gives
    by input name.
    """
    torch = library()
    generator = torch.Generator().manual_seed(seed)
    names = set(program.graph_signature.user_inputs)
    inputs: list[Any] = []
    for node in program.graph.nodes:
        if node.op != "placeholder" or node.name not in names:
            continue
        value = node.meta["val"]
        if not isinstance(value, torch.Tensor):
            inputs.append(_hint(value))
            continue
        shape = (shapes or {}).get(node.name) or [_hint(size) for size in value.shape]
        if value.dtype.is_floating_point:
            inputs.append(torch.randn(shape, generator=generator).to(value.dtype))
        else:
            inputs.append(torch.randint(0, _INTEGERS, shape, generator=generator).to(value.dtype))
    return inputs


def _hint(size: Any) -> Any:
    """Return the size at which a model was exported."""
    return size.node.hint if hasattr(size, "node") else size


def compare(program: Any, module: IRModule, inputs: Sequence[Any], execute: Execute) -> list[Difference]:
    """Return the differences between the results of `module`, imported from `program`, and torch's.

    Raises TvmsError E1003, which names the first tensor that differs by more than the tolerance of its dtype.
    """
    arrays = [_as_argument(value) for value in inputs]
    results, values = _run(program, inputs)
    found = _differences(_returned_names(program), execute(module, arrays), results)
    if all(part.is_close for part in found):
        return found
    largest = max(found, key=lambda part: part.largest)
    raise _first_difference(program, arrays, values, execute) or error_of(largest, "torch", None)


def _as_argument(value: Any) -> Any:
    return array_of(value) if isinstance(value, library().Tensor) else value


def _returned_names(program: Any) -> list[str]:
    nodes = {node.name: node for node in program.graph.nodes}
    places = Places(nodes.values())
    names = (str(name) for name in program.graph_signature.user_outputs if name is not None)
    return [places.name(nodes[name]) if name in nodes else name for name in names]


def _run(program: Any, inputs: Sequence[Any]) -> tuple[list[Any], dict[Any, Any]]:
    """Run a program in torch; return its results, and the values of all nodes."""
    torch = library()
    values: dict[Any, Any] = {}
    interpreter = torch.fx.Interpreter(program.graph_module)
    run_node = interpreter.run_node

    def recorded(node: Any) -> Any:
        values[node] = run_node(node)
        return values[node]

    interpreter.run_node = recorded
    given = iter(inputs)
    kinds = torch.export.graph_signature.InputKind
    arguments: list[Any] = []
    for spec in program.graph_signature.input_specs:
        is_user = spec.kind == kinds.USER_INPUT
        held = program.state_dict if spec.target in program.state_dict else program.constants
        arguments.append(next(given) if is_user else held.get(spec.target))
    with torch.no_grad():
        outputs = interpreter.run(*arguments)
    output = torch.export.graph_signature.OutputKind.USER_OUTPUT
    specs = program.graph_signature.output_specs
    results = [value for value, spec in zip(outputs, specs, strict=True) if spec.kind == output and value is not None]
    return results, values


def _differences(names: Sequence[str], made: Any, wanted: Sequence[Any]) -> list[Difference]:
    several = cast("Sequence[Any]", made) if isinstance(made, tuple | list) else [made]
    triples = zip(names, several, wanted, strict=False)
    return [difference(name, got, array_of(want)) for name, got, want in triples if isinstance(want, library().Tensor)]


def _first_difference(
    program: Any, arrays: Sequence[Any], values: Mapping[Any, Any], execute: Execute
) -> TvmsError | None:
    """Return the error of the first node whose value differs, in the order of the graph."""
    importer = ProgramImporter(program, False, {})
    module = importer.module(unwrap=False, no_bind=False, trace=True)
    places = Places(program.graph.nodes)
    for node, got in zip(importer.traced, execute(module, arrays), strict=True):
        if isinstance(values[node], library().Tensor):
            found = difference(places.name(node), got, array_of(values[node]))
            if not found.is_close:
                return error_of(found, "torch", places.span(node))
    return None
