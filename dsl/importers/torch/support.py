"""Coverage of a model by the table: operators without a row are decomposed by torch, or all reported in one error."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from importlib import import_module
from typing import Any

from ....ir.diagnostics import Diagnostic, Note, TvmsError, error
from .control_flow import OPERATORS as BRANCHING
from .converter import custom_of, is_constant, row_name
from .library import library
from .places import Places
from .recurrent import sequences_of_any_length
from .table import ROWS

_ROUNDS = 8
"""Maximum number of rounds of decomposition."""


def prepared(program: Any, custom: Mapping[Any, Any], decompose: bool) -> Any:
    """Return an exported program all of whose operators have a converter; E1001 names the operators without one."""
    if decompose and any(_needs_decomposition(node, custom) for node in _calls(program.graph_module)):
        program = _decomposed(program, {})
        for _ in range(_ROUNDS):
            table = _decompositions([node.target for node in _unsupported(program.graph_module, custom)])
            if not table:
                break
            program = _decomposed(program, table)
    missing = list(_unsupported(program.graph_module, custom))
    if missing:
        raise _unsupported_error(missing, Places(program.graph.nodes))
    return program


def _decomposed(program: Any, table: dict[Any, Any]) -> Any:
    try:
        with sequences_of_any_length():
            return program.run_decompositions(table)
    except Exception as problem:  # torch raises many kinds of errors
        reason = (str(problem).strip() or type(problem).__name__).splitlines()[0]
        raise error("E1004", f"torch cannot decompose the program: {reason}") from None


def _calls(graph_module: Any) -> Iterator[Any]:
    """Yield the nodes of a graph and of its branches that call functions."""
    for module in graph_module.modules():
        for node in module.graph.nodes if hasattr(module, "graph") else ():
            if node.op == "call_function":
                yield node


def _unsupported(graph_module: Any, custom: Mapping[Any, Any]) -> Iterator[Any]:
    """Yield the nodes without a row or a custom converter, in the graph and in its branches."""
    return (node for node in _calls(graph_module) if not _is_supported(node, custom))


def _needs_decomposition(node: Any, custom: Mapping[Any, Any]) -> bool:
    """Return whether a node changes a tensor, has branches, or has neither a row nor a custom converter."""
    if not _is_supported(node, custom) or str(node.target) in BRANCHING:
        return True
    schema = getattr(node.target, "_schema", None)
    if schema is None:
        return False
    names = [argument.name for argument in schema.arguments]
    given = dict(zip(names, node.args, strict=False)) | dict(node.kwargs)
    updates_moments = any(given.get(name) for name in ("training", "use_input_stats")) and "running_mean" in given
    return bool(schema.is_mutable or (updates_moments and given["running_mean"] is not None))


def _is_supported(node: Any, custom: Mapping[Any, Any]) -> bool:
    torch = library()
    name = getattr(node.target, "__name__", "")
    if custom_of(node.target, custom) is not None or name == "getitem":
        return True
    value = node.meta.get("val")
    is_number = isinstance(value, torch.SymInt | torch.SymBool | torch.SymFloat | int | float)
    return is_number or row_name(node.target) in ROWS or is_constant(node)


def _decompositions(targets: list[Any]) -> dict[Any, Any]:
    """Return torch's decompositions of `targets`, where it has some."""
    if not targets:
        return {}
    known: Any = import_module("torch._decomp").decomposition_table
    default: Any = library().export.default_decompositions()  # torch loads rules when they are indexed, not by `get`
    found = {target: known[target] for target in targets if target in known}
    return found | {target: default[target] for target in targets if target in default}


def _unsupported_error(nodes: list[Any], places: Places) -> TvmsError:
    """Return one error that names every operator without a converter, and its line in the model."""
    first: dict[str, Any] = {}
    for node in nodes:
        first.setdefault(row_name(node.target), node)
    name, node = next(iter(first.items()))
    several = f"{len(first)} operators of the model have no converter" if len(first) > 1 else "an operator has none"
    message = f"{several}: {', '.join(first)}" if len(first) > 1 else f"the operator {name} has no converter"
    notes = tuple(Note(f"{other} is used here", places.span(node)) for other, node in list(first.items())[1:])
    help = f'give a function that converts it: custom_convert_map={{"{name}": lambda node, converter: …}}'
    return TvmsError(Diagnostic("E1001", message, places.span(node), help, notes))
