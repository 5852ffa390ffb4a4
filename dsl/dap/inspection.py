"""Requests that show the state of a stopped run: stack, variables, expressions, buffers, texts."""

from __future__ import annotations

import os
import re
from typing import TYPE_CHECKING, Any, cast

from msgspec import Struct

from ...ir.base import Source
from ..debugger.expressions import array_of
from ..debugger.stack import Level, Variable, levels, scopes
from ..debugger.tables import check_array, head, heat_map, heat_map_html, summarize, table
from ..debugger.timeline import Step
from ..debugger.values import brief
from .adapter import Adapter, BadRequest, request
from .messages import Json
from .points import check_source, is_file, named_source, sources

if TYPE_CHECKING:
    from ...ir.interp.memory import Array

_WORD_BEFORE = re.compile(r"\w+$")
PAGE = 1000
"""Children of an array that are sent to a client that asks for all."""


class Group(Struct, frozen=True):
    """The variables of a scope."""

    variables: tuple[Variable, ...]
    name: str = ""


class Part(Struct, frozen=True):
    """An array, or a tuple of values, with children by number; `name` denotes it, such as `C` or `C[0]`."""

    items: Any
    name: str


@request("stackTrace")
def _stack_trace(adapter: Adapter, arguments: Json) -> Json:
    stack = _levels(adapter)
    texts = {source.name: number for number, source in enumerate(sources(adapter), 1)}
    first, count = int(arguments.get("startFrame") or 0), int(arguments.get("levels") or 0)
    shown = list(enumerate(stack))[first : first + count if count else None]
    frames = [
        {
            "id": number + 1,
            "name": level.title,
            "line": level.place.line - 1 + adapter.first_line,
            "column": 1,
            "source": _source(level.place.source, texts),
        }
        for number, level in shown
    ]
    return {"stackFrames": frames, "totalFrames": len(stack)}


def _levels(adapter: Adapter) -> list[Level]:
    return list(levels(adapter.stopped.timeline.shown))


def _source(source: Source, texts: dict[str, int]) -> Json:
    name = source.name.replace("\\", "/").rpartition("/")[2]
    if is_file(source):
        return {"name": name, "path": os.path.abspath(source.name)}
    return {"name": name, "sourceReference": texts.get(source.name, 0)}


@request("source")
def _text(adapter: Adapter, arguments: Json) -> Json:
    given: Json = arguments.get("source") or {"sourceReference": arguments.get("sourceReference")}
    return {"content": check_source(named_source(adapter, given)).shown, "mimeType": "text/x-tvms"}


def _step(adapter: Adapter, arguments: Json) -> Step:
    """Return the step of the stack frame that a request is about; without one, the innermost."""
    stack, number = _levels(adapter), arguments.get("frameId") or 1
    if not 0 < number <= len(stack):
        raise BadRequest(f"there is no stack frame {number}")
    return stack[number - 1].step


@request("scopes")
def _scopes(adapter: Adapter, arguments: Json) -> Json:
    found = scopes(_step(adapter, arguments))
    return {
        "scopes": [
            {
                "name": kind,
                "variablesReference": _reference(adapter, Group(tuple(variables))),
                "namedVariables": len(variables),
                "expensive": False,
            }
            for kind, variables in found.items()
        ]
    }


def _reference(adapter: Adapter, item: Group | Part) -> int:
    adapter.references.append(item)
    return len(adapter.references)


@request("variables")
def _variables(adapter: Adapter, arguments: Json) -> Json:
    _ = adapter.stopped
    number = arguments["variablesReference"]
    if not 0 < number <= len(adapter.references):
        raise BadRequest(f"there are no variables {number}: the program has run on")
    item = adapter.references[number - 1]
    if isinstance(item, Group):
        shown = item.variables if arguments.get("filter") != "indexed" else ()
        return {"variables": [_variable(adapter, variable.name, variable.value, variable.name) for variable in shown]}
    first, count = int(arguments.get("start") or 0), int(arguments.get("count") or 0) or PAGE
    if arguments.get("filter") == "named":
        return {"variables": []}
    numbers = range(len(item.items))[first : first + count]
    return {"variables": [_variable(adapter, f"[{at}]", item.items[at], f"{item.name}[{at}]") for at in numbers]}


def _variable(adapter: Adapter, name: str, value: Any, expression: str) -> Json:
    return {"name": name, "evaluateName": expression.replace("][", ", "), **_shown(adapter, value, expression, "value")}


def _shown(adapter: Adapter, value: Any, expression: str, key: str) -> Json:
    """Return a value as its text under `key`, its type, and a reference to its children."""
    import numpy as np

    from ...ir.interp.memory import View

    text = brief(value)
    if isinstance(value, View):
        value = array_of(value, expression)
    children: Any = None
    if isinstance(value, np.ndarray):
        array = cast("Array", value)
        kind = f"{array.dtype.name}[{', '.join(map(str, array.shape))}]"
        children = array if array.ndim else array.reshape(1)
        if array.size <= 8 and array.ndim == 1:
            text = str(array.tolist())
    elif isinstance(value, tuple):
        kind, children = "tuple", cast("tuple[Any, ...]", value)
    else:
        kind = getattr(getattr(value, "dtype", None), "name", type(value).__name__)
    if children is None:
        return {key: text, "type": kind, "variablesReference": 0}
    reference = _reference(adapter, Part(children, expression))
    return {key: text, "type": kind, "variablesReference": reference, "indexedVariables": len(children)}


@request("evaluate")
def _evaluate(adapter: Adapter, arguments: Json) -> Json:
    text = str(arguments["expression"])
    value = adapter.stopped.evaluator.value(text, _step(adapter, arguments))
    return _shown(adapter, value, text.strip(), "result")


@request("completions")
def _completions(adapter: Adapter, arguments: Json) -> Json:
    """Return the variables whose name begins with the word before the cursor."""
    before = str(arguments["text"])[: max(int(arguments["column"]) - 1, 0)]
    match = _WORD_BEFORE.search(before)
    word = match[0] if match else ""
    names = [variable.name for found in scopes(_step(adapter, arguments)).values() for variable in found]
    targets = [{"label": name, "type": "variable"} for name in sorted(names) if name.startswith(word)]
    return {"targets": [{**target, "start": len(before) - len(word), "length": len(word)} for target in targets]}


@request("exceptionInfo")
def _exception_info(adapter: Adapter, arguments: Json) -> Json:
    fault = adapter.stopped.fault
    code = "NaN" if fault is None else fault.diagnostics[0].code
    return {"exceptionId": code, "description": adapter.stop_text, "breakMode": "always"}


@request("tvms/buffer")
def _buffer(adapter: Adapter, arguments: Json) -> Json:
    """Return what is known of a buffer, or of a part such as `C[0, :, :]`, with a table and a heat map.

    `format` is "text" or "html", for the heat map.
    """
    text = str(arguments["expression"])
    value = adapter.stopped.evaluator.value(text, _step(adapter, arguments))
    summary = summarize(check_array(value, text))
    form = arguments.get("format", "text")
    if form not in ("text", "html"):
        raise BadRequest(f"there is no format '{form}': write text or html")
    return {
        "title": head(summary, text),
        "shape": list(summary.shape),
        "dtype": summary.dtype,
        "slice": summary.part,
        "min": summary.minimum,
        "max": summary.maximum,
        "nans": summary.nans,
        "table": table(summary),
        "heatMap": heat_map_html(summary) if form == "html" else heat_map(summary),
    }
