"""TVM's forms of a trace: JSON, which can be applied to a schedule, and lines of Python.

The JSON form is `[instructions, decisions]`: an instruction is `[kind, inputs, attributes, outputs]`, a decision is
`[index of its instruction, value]`. Blocks, loops and numbers are called `b0`, `l1`, `v2`; other strings
among the inputs are quoted. Index maps and expressions are nested lists of their nodes.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from msgspec.structs import fields

from .. import tir
from ..base import Node
from ..visit import substitute, walk
from .declaration import Primitive
from .handles import BlockRV, ExprRV, LoopRV
from .instruction import Instruction, InstructionKind, arguments_of, letter_of, no_trace

_NODES = {
    term.__name__: term
    for term in (
        tir.IntImm, tir.FloatImm, tir.StringImm, tir.Cast, tir.Add, tir.Sub, tir.Mul, tir.FloorDiv, tir.FloorMod,
        tir.Min, tir.Max, tir.EQ, tir.NE, tir.LT, tir.LE, tir.GT, tir.GE, tir.And, tir.Or, tir.Not, tir.Select,
    )
}  # fmt: skip
"""Expressions that JSON can contain; no other nodes are created from it."""
TERMS = ("IndexMap", *_NODES)
"""First items of the lists that are terms."""


def as_json(insts: Sequence[Instruction]) -> list[Any]:
    """Return instructions as lists, strings and numbers, which `json` can write (TVM: `Trace.as_json`)."""
    names: dict[Any, str] = {}
    found: list[Any] = []
    decisions: list[Any] = []
    for position, inst in enumerate(insts):
        inputs = [_encoded(item, names) for item in inst.inputs]
        attributes = [_encoded(item, names, quotes=False) for item in inst.attrs]
        found.append([inst.kind.name, inputs, attributes, [_named(handle, names) for handle in inst.outputs]])
        if inst.decision is not None:
            chosen = inst.decision
            decisions.append([position, list(chosen) if isinstance(chosen, tuple) else chosen])  # type: ignore[reportUnknownArgumentType]
    return [found, decisions]


def apply_json(json: Any, schedule: Any) -> None:
    """Apply the result of `as_json` to a schedule. Raises E0569 if it is not a trace."""
    try:
        insts, chosen = json
        decisions = dict(chosen)
        steps = [(InstructionKind.get(kind).primitive, *parts) for kind, *parts in insts]
        steps = [(primitive, inputs, attributes, outputs) for primitive, inputs, attributes, outputs in steps]
    except (AttributeError, TypeError, ValueError) as mismatch:
        raise no_trace("expected a list of instructions and a list of decisions") from mismatch
    known: dict[str, Any] = {"None": None}
    for position, (primitive, inputs, attributes, outputs) in enumerate(steps):
        args, named = primitive.as_call(_arguments(primitive, inputs, attributes, known))
        if position in decisions:
            named["decision"] = decisions[position]
        results: Any = schedule.apply(primitive.name, *args, **named)
        known.update(zip(outputs, results if isinstance(results, list) else [results], strict=bool(outputs)))  # type: ignore[reportUnknownArgumentType]


def as_python(insts: Sequence[Instruction]) -> list[str]:
    """Return a line of Python for each instruction (TVM: `Trace.as_python`)."""
    names: dict[Any, str] = {}
    lines: list[str] = []
    for inst in insts:
        for handle in inst.outputs:
            _named(handle, names)
        lines.append(inst.line(names))
    return lines


def _named(handle: Any, names: dict[Any, str]) -> str:
    """Return the unique name of a handle."""
    return "_" if handle is None else names.setdefault(handle, f"{letter_of(handle)}{len(names)}")


def _encoded(value: Any, names: Mapping[Any, str], quotes: bool = True) -> Any:
    match value:
        case BlockRV() | LoopRV() | ExprRV():
            return names[value]
        case str():
            return f'"{value}"' if quotes else value
        case None:
            return "None" if quotes else None
        case list() | tuple():
            return [_encoded(item, names, quotes) for item in value]  # type: ignore[reportUnknownVariableType]
        case dict():
            return {key: _encoded(item, names, quotes) for key, item in value.items()}  # type: ignore[reportUnknownVariableType]
        case tir.IndexMap():
            own = {**names, **{initial_index: initial_index.name for initial_index in value.initial_indices}}
            return ["IndexMap", [initial_index.name for initial_index in value.initial_indices], [_node(final_index, own) for final_index in value.final_indices]]  # fmt: skip
        case tir.PrimExpr():
            return _node(value, names)
        case _:
            return value


def _node(value: Any, names: Mapping[Any, str]) -> Any:
    if isinstance(value, tir.Var):
        if value not in names:
            raise no_trace(f"'{value.name}' is a variable of the program, which a trace cannot name")
        return names[value]
    if not isinstance(value, Node):
        return value
    own = [field.name for field in fields(value) if field.name not in ("span", "trivia", "struct_info")]
    return [type(value).__name__, *[_node(getattr(value, name), names) for name in own]]


def _arguments(
    primitive: Primitive, inputs: Sequence[Any], attributes: Sequence[Any], known: Mapping[str, Any]
) -> dict[str, Any]:
    decoded: list[Any] = [[] if value == [] else _decoded(value, known) for value in inputs]
    return arguments_of(primitive, decoded, [_attribute(value, known) for value in attributes])


def _with_results(index: tir.PrimExpr, known: Mapping[str, Any]) -> tir.PrimExpr:
    """Return an index of a map with the results of earlier instructions for variables with their names, as TVM."""
    names = {node: node.name for node in walk(index) if isinstance(node, tir.Var)}
    return substitute(index, {node: known[name] for node, name in names.items() if isinstance(known.get(name), ExprRV)})


def _attribute(value: Any, known: Mapping[str, Any]) -> Any:
    match value:
        case [str(kind), *_] if kind in TERMS:
            return _decoded(value, known)  # type: ignore[reportUnknownArgumentType]
        case _:
            return value


def _decoded(value: Any, known: Mapping[str, Any]) -> Any:
    match value:
        case str():
            if len(value) > 1 and value[0] == value[-1] == '"':
                return value[1:-1]
            if value not in known:
                raise no_trace(f"'{value}' is not the result of an earlier instruction")
            return known[value]
        case ["IndexMap", [*names], [*indices]]:
            own = {name: tir.Var("int64", name) for name in names}
            inside = {**known, **own}
            return tir.IndexMap(tuple(own.values()), tuple([_decoded(index, inside) for index in indices]))
        case [str(kind), *parts] if kind in _NODES:
            made = _NODES[kind]
            return made(*[part if index == 0 or not isinstance(part, list | str) else _decoded(part, known) for index, part in enumerate(parts)])  # fmt: skip
        case tir.IndexMap():
            return tir.IndexMap(
                value.initial_indices, tuple([_with_results(index, known) for index in value.final_indices])
            )
        case list():
            return tuple([_decoded(item, known) for item in value])  # type: ignore[reportUnknownVariableType]
        case dict():
            return {key: _decoded(item, known) for key, item in value.items()}  # type: ignore[reportUnknownVariableType]
        case _:
            return value
