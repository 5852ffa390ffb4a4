"""TVM's forms of a trace: JSON, which can be applied to a schedule, and lines of Python.

The JSON form is `[instructions, decisions]`: an instruction is `[kind, inputs, attributes, outputs]`, a decision is
`[index of its instruction, value]`. Blocks, loops and numbers are called `b0`, `l1`, `v2`; other strings
among the inputs are quoted. Index maps and expressions are nested lists of their nodes.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, cast

from msgspec.structs import fields

from .. import tir
from ..base import Node
from ..diagnostics import error
from .declaration import PRIMITIVES, Argument, Instruction, Primitive
from .handles import BlockRV, ExprRV, LoopRV

_INPUTS = (
    "Block",
    "Loop",
    "BlockOrLoop",
    "Location",
    "Blocks",
    "LoopOrBlocks",
    "Factors",
    "Expression",
    "Attribute",
    "IndexMap",
)
"""Kinds of arguments that are inputs, which may contain handles; all others are attributes."""
_KINDS = {"rfactor": "RFactor", "reindex": "ReIndex", "unsafe_set_dtype": "UnsafeSetDType"}
"""TVM's names of instructions that are not the name of the primitive in camel case."""
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
_OURS = {"get_block": ("reads", "writes")}
"""Arguments that TVM's instructions lack."""
_FLATTENED = ("Factors",)


def as_json(insts: Sequence[Instruction]) -> list[Any]:
    """Return instructions as lists, strings and numbers, which `json` can write (TVM: `Trace.as_json`)."""
    names: dict[Any, str] = {}
    found: list[Any] = []
    decisions: list[Any] = []
    for position, inst in enumerate(insts):
        inputs: list[Any] = []
        attributes: list[Any] = []
        for argument in inst.primitive.arguments:
            if argument.name == "decision" or _is_omitted(inst, argument):
                continue
            value = inst.arguments.get(argument.name, argument.default)
            if argument.kind.name == "Blocks" and value is None:
                inputs.append([])
            elif argument.kind.name == "AccessedBuffer" and isinstance(value, tuple | list):
                access, index = cast(Sequence[Any], value)
                attributes += [index, int(access == "write")]
            elif argument.kind.name not in _INPUTS:
                attributes.append(_encoded(value, names, quotes=False))
            elif argument.variadic or argument.kind.name in _FLATTENED:
                inputs.extend([_encoded(item, names) for item in value])
            else:
                inputs.append(_encoded(value, names))
        outputs = [_named(result, names) for result in results_of(inst)]
        found.append([kind_of(inst.primitive), inputs, attributes, outputs])
        if inst.decision is not None:
            chosen = inst.decision
            decisions.append([position, list(chosen) if isinstance(chosen, tuple) else chosen])  # type: ignore[reportUnknownArgumentType]
    return [found, decisions]


def apply_json(json: Any, schedule: Any) -> None:
    """Apply the result of `as_json` to a schedule. Raises E0569 if it is not a trace."""
    try:
        insts, chosen = json
        decisions = dict(chosen)
        steps = [(_primitive(kind), inputs, attributes, outputs) for kind, inputs, attributes, outputs in insts]
    except (TypeError, ValueError) as mismatch:
        raise _no_trace("expected a list of instructions and a list of decisions") from mismatch
    known: dict[str, Any] = {"None": None}
    for position, (primitive, inputs, attributes, outputs) in enumerate(steps):
        args, named = primitive.as_call(_arguments(primitive, list(inputs), list(attributes), known))
        if position in decisions:
            named["decision"] = decisions[position]
        results: Any = schedule.apply(primitive.name, *args, **named)
        known.update(zip(outputs, results if isinstance(results, list) else [results], strict=bool(outputs)))  # type: ignore[reportUnknownArgumentType]


def as_python(insts: Sequence[Instruction]) -> list[str]:
    """Return a line of Python for each instruction (TVM: `Trace.as_python`)."""
    names: dict[Any, str] = {}
    lines: list[str] = []
    for inst in insts:
        parts: list[str] = []
        for argument in inst.primitive.arguments:
            if _is_omitted(inst, argument):
                continue
            value = (
                inst.decision if argument.name == "decision" else inst.arguments.get(argument.name, argument.default)
            )
            if argument.variadic:
                parts.extend([_text(item, names) for item in value])
            elif argument.name != "decision" or value is not None:
                parts.append(f"{argument.name}={_text(value, names)}")
        outputs = [_named(result, names) for result in results_of(inst)]
        left = (
            f"{outputs[0]}, = " if len(outputs) == 1 and isinstance(inst.results, tuple) else ", ".join(outputs) + " = "
        )
        lines.append(f"{left if outputs else ''}sch.{inst.primitive.name}({', '.join(parts)})")
    return lines


def _is_omitted(inst: Instruction, argument: Argument) -> bool:
    """Return whether an argument has no value and no place in TVM's form of the instruction."""
    return argument.name in _OURS.get(inst.primitive.name, ()) and inst.arguments.get(argument.name) is None


def kind_of(primitive: Primitive) -> str:
    """Return TVM's name of the instruction for a primitive."""
    return _KINDS.get(primitive.name) or "".join([part.capitalize() for part in primitive.name.split("_")])


def results_of(inst: Instruction) -> list[Any]:
    """Return the handles that an instruction returned, in order."""
    return list(inst.results) if isinstance(inst.results, tuple) else [] if inst.results is None else [inst.results]  # type: ignore[reportUnknownArgumentType]


def _named(handle: Any, names: dict[Any, str]) -> str:
    """Return the unique name of a handle."""
    if handle is None:
        return "_"
    letter = "b" if isinstance(handle, BlockRV) else "l" if isinstance(handle, LoopRV) else "v"
    return names.setdefault(handle, f"{letter}{len(names)}")


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
            raise _no_trace(f"'{value.name}' is a variable of the program, which a trace cannot name")
        return names[value]
    if not isinstance(value, Node):
        return value
    own = [field.name for field in fields(value) if field.name not in ("span", "trivia", "struct_info")]
    return [type(value).__name__, *[_node(getattr(value, name), names) for name in own]]


def _primitive(kind: str) -> Primitive:
    older = kind.replace("SBlock", "Block")  # names of 0.27
    found = next((primitive for primitive in PRIMITIVES.values() if kind_of(primitive) in (kind, older)), None)
    if found is None:
        raise _no_trace(f"unknown instruction '{kind}'")
    return found


def _arguments(
    primitive: Primitive, inputs: list[Any], attributes: list[Any], known: Mapping[str, Any]
) -> dict[str, Any]:
    given: dict[str, Any] = {}
    for argument in primitive.arguments:
        if argument.name == "decision":
            continue
        is_input = argument.kind.name in _INPUTS
        rest = inputs if is_input else attributes
        if argument.variadic or argument.kind.name in _FLATTENED:
            given[argument.name] = tuple([_decoded(item, known) for item in rest])
            rest.clear()
        elif rest:
            value = rest.pop(0)
            if argument.kind.name == "Blocks" and value == []:
                value = "None"  # TVM has no other form of it
            if argument.kind.name == "AccessedBuffer" and isinstance(value, int) and rest:
                value = ["write" if rest.pop(0) else "read", value]  # TVM: index and kind are two attributes
            given[argument.name] = _decoded(value, known) if is_input else _attribute(argument, value, known)
    return given


def _attribute(argument: Argument, value: Any, known: Mapping[str, Any]) -> Any:
    match value:
        case [str(kind), *_] if kind in TERMS:
            return _decoded(value, known)  # type: ignore[reportUnknownArgumentType]
        case _:
            return bool(value) if argument.kind.name == "Flag" else value


def _decoded(value: Any, known: Mapping[str, Any]) -> Any:
    match value:
        case str():
            if len(value) > 1 and value[0] == value[-1] == '"':
                return value[1:-1]
            if value not in known:
                raise _no_trace(f"'{value}' is not the result of an earlier instruction")
            return known[value]
        case ["IndexMap", [*names], [*indices]]:
            own = {name: tir.Var("int64", name) for name in names}
            inside = {**known, **own}
            return tir.IndexMap(tuple(own.values()), tuple([_decoded(index, inside) for index in indices]))
        case [str(kind), *parts] if kind in _NODES:
            made = _NODES[kind]
            return made(*[part if index == 0 or not isinstance(part, list | str) else _decoded(part, known) for index, part in enumerate(parts)])  # fmt: skip
        case list():
            return tuple([_decoded(item, known) for item in value])  # type: ignore[reportUnknownVariableType]
        case dict():
            return {key: _decoded(item, known) for key, item in value.items()}  # type: ignore[reportUnknownVariableType]
        case _:
            return value


def _text(value: Any, names: Mapping[Any, str]) -> str:
    match value:
        case BlockRV() | LoopRV() | ExprRV():
            return names[value]
        case list() | tuple():
            return f"[{', '.join([_text(item, names) for item in value])}]"  # type: ignore[reportUnknownVariableType]
        case dict():
            return f"{{{', '.join([f'{_text(key, names)}: {_text(item, names)}' for key, item in value.items()])}}}"  # type: ignore[reportUnknownVariableType]
        case str():
            return f'"{value}"'
        case float():
            return f"{value:g}"
        case _:
            return str(value)


def _no_trace(reason: str) -> Exception:
    return error("E0569", f"invalid trace: {reason}", None, "pass the result of trace.as_json()")
