"""TVM's traces as schedules: its JSON form, or lines of Python that call methods of the schedule `sch`."""

from __future__ import annotations

import json
import re
from typing import Any

from msgspec.structs import replace

from ..ir import tir
from ..ir.base import IRModule
from ..ir.diagnostics import error
from ..ir.schedule import Schedule, Trace
from ..ir.schedule.text import ScheduleText
from .load import parse

_CALL = re.compile(r"^(\s*(?:[^=()#]*=\s*)?)sch\.(?=\w+\()")
"""Start of a line that applies a primitive, with the names of its results."""
_INDEX_MAP = re.compile(r"\b(?:tvm\.)?tirx?\.IndexMap\.from_func\(")
"""Index map as TVM's traces write it."""
_GRAPH = re.compile(r'\s*\{\s*"root(_index)?"')
"""Start of a text that holds the graph of a node."""


def apply_trace(text: str, schedule: Schedule) -> None:
    """Apply a trace to a schedule; nothing in it is executed as Python.

    Raises E0569 if it is neither JSON nor lines of calls, syntax errors, and refusals of primitives.
    """
    if text.lstrip().startswith("["):
        try:
            found: Any = json.loads(text)
        except ValueError as wrong:
            raise _no_trace(f"it is not JSON ({wrong})") from None
        Trace.apply_json_to_schedule(_with_index_maps(found), schedule)
        return
    schedule.replay(text_of(text, schedule.mod, schedule.func_working_on or "main"))


def text_of(text: str, module: IRModule, function: str) -> ScheduleText:
    """Return lines of Python that apply primitives as a schedule of a function; other lines are omitted."""
    calls = [
        _INDEX_MAP.sub("T.index_map(", _CALL.sub(r"\1S.", line.strip()))
        for line in text.splitlines()
        if _CALL.match(line)
    ]
    if not calls:
        raise _no_trace("no line calls a method of 'sch'")
    empty = replace(module, schedules={"trace": ScheduleText("trace", function, None, ())})
    written, _, _ = str(empty).rpartition("pass")
    indent = written[written.rindex("\n") + 1 :]
    found = parse(written + f"\n{indent}".join(calls) + "\n", "trace").schedules["trace"]
    assert isinstance(found, ScheduleText)
    return found


# --- Index maps in the JSON of TVM ----------------------------------------------------------------------------------

_OPERATORS = ("Add", "Sub", "Mul", "Div", "Mod", "FloorDiv", "FloorMod", "Min", "Max")


def _with_index_maps(value: Any) -> Any:
    """Return a trace with index maps for the texts in it that hold their graphs, as `tvm.ir.save_json` of 0.21
    or 0.27 writes them.
    """
    if isinstance(value, list):
        return [_with_index_maps(item) for item in value]  # type: ignore[reportUnknownVariableType]
    if not (isinstance(value, str) and _GRAPH.match(value)):
        return value
    try:
        graph = json.loads(value)
        is_older = "root" in graph
        nodes = _newer(graph["nodes"]) if is_older else graph["nodes"]
        return _decoded(nodes, int(graph["root" if is_older else "root_index"]), {})
    except (AttributeError, ValueError, LookupError, TypeError) as wrong:
        raise _no_trace(f"an index map cannot be read ({wrong})") from None


def _newer(older: list[Any]) -> list[Any]:
    """Return JSON nodes of TVM up to 0.21, whose fields are strings and whose literals are not nodes, in the newest form."""
    found: list[Any] = []
    literals: list[Any] = []
    for node in older:
        kind, fields = node.get("type_key", "").rpartition(".")[2], node.get("attrs", {})
        match kind:
            case "":
                found.append({"type": "None"})
            case "Array":
                found.append({"type": kind, "data": node.get("data", [])})
            case "String":
                found.append({"type": kind, "data": node.get("repr_str", "")})
            case _:
                data: dict[str, int] = {}
                for name, text in fields.items():
                    if name in ("dtype", "value"):
                        is_type = name == "dtype"
                        data["ty" if is_type else name] = len(older) + len(literals)
                        literals.append(
                            {"type": "PrimType", "data": {name: text}}
                            if is_type
                            else {"type": "int", "data": int(text)}
                        )
                    else:
                        data[name] = 0 if text == "null" else int(text)
                found.append({"type": kind, "data": data})
    return found + literals


def _decoded(nodes: list[Any], at: int, known: dict[int, Any]) -> Any:
    """Return node `at` of a graph; nodes that occur twice, such as variables, are decoded once."""
    if at not in known:
        kind, data = nodes[at]["type"].rpartition(".")[2], nodes[at].get("data")
        known[at] = _node(nodes, kind, data, known)
    return known[at]


def _node(nodes: list[Any], kind: str, data: Any, known: dict[int, Any]) -> Any:
    def part(name: str) -> Any:
        return _decoded(nodes, data[name], known)

    match kind:
        case "None":
            return None
        case "int" | "String":
            return data
        case "PrimType":
            return data["dtype"]
        case "Array":
            return tuple([_decoded(nodes, item, known) for item in data])
        case "Var":
            return tir.Var(part("ty"), part("name"))
        case "IntImm":
            return tir.IntImm(part("ty"), part("value"))
        case "IndexMap":
            return tir.IndexMap(part("initial_indices"), part("final_indices"), part("inverse_index_map"))
        case _ if kind in _OPERATORS:
            return getattr(tir, kind)(part("ty"), part("a"), part("b"))
        case _:
            raise ValueError(f"'{kind}' is not part of an index")


def _no_trace(reason: str) -> Exception:
    return error(
        "E0569",
        f"invalid trace: {reason}",
        None,
        "pass the result of trace.as_json(), or the lines of trace.as_python()",
    )
