"""Requests that set breakpoints."""

from __future__ import annotations

import os
from typing import Any

from ...ir import tir
from ...ir.base import Source
from ...ir.diagnostics import TvmsError
from ..debugger.breakpoints import Breakpoint, Watch, can_break, parse_hits, resolve
from ..debugger.expressions import compile_text, names_of
from ..debugger.places import Place
from ..debugger.writes import watchable
from .adapter import Adapter, BadRequest, request
from .messages import Json


def sources(adapter: Adapter) -> list[Source]:
    """Return the texts of the program; the number of one in the list plus one is its reference, if it is not a file."""
    places = adapter.session.places.of_module(adapter.session.module)
    return list({place.source.name: place.source for place in places}.values())


def named_source(adapter: Adapter, given: Json) -> Source | None:
    """Return the text that a client means, or None if it is not of this program."""
    texts = sources(adapter)
    reference = given.get("sourceReference")
    if isinstance(reference, int) and 0 < reference <= len(texts):
        return texts[reference - 1]
    path = os.path.realpath(str(given.get("path", "")))
    return next((source for source in texts if is_file(source) and os.path.realpath(source.name) == path), None)


def is_file(source: Source) -> bool:
    """Return whether a text is that of a file."""
    return os.path.isfile(source.name)


@request("setBreakpoints")
def _set_breakpoints(adapter: Adapter, arguments: Json) -> Json:
    """Replace the breakpoints of a text. One in a line without statements moves to the next line with any."""
    source = named_source(adapter, arguments["source"])
    wanted: list[Json] = arguments.get("breakpoints") or []
    if source is None:
        message = "this file is not a part of the program"
        texts = sources(adapter)
        if texts and not is_file(texts[0]):
            message = f"the program is '{texts[0].name}': set breakpoints in that text"
        return {"breakpoints": [{"verified": False, "message": message} for _ in wanted]}
    points = adapter.session.breakpoints
    kept = [point for point in points.all if point.file != source.name]
    answers = [_line_breakpoint(adapter, source, item, kept) for item in wanted]
    points.set(kept)
    return {"breakpoints": answers}


def _line_breakpoint(adapter: Adapter, source: Source, item: Json, points: list[Breakpoint]) -> Json:
    """Append a breakpoint to `points` if it is possible; return what the client is told about it."""
    session = adapter.session
    wanted = int(item["line"]) + 1 - adapter.first_line
    places = list(session.places.of_module(session.module))
    line = resolve(places, source.name, wanted)
    if line is None:
        return {"verified": False, "message": "no statement starts in this line, or after it"}
    point = Breakpoint(session.breakpoints.number(), source.name, line)
    there = [place for place in places if place.line == line and place.source.name == source.name and can_break(place)]
    problem = _configure(point, item, there)
    if problem is not None:
        return {"verified": False, "message": problem}
    points.append(point)
    return {"id": point.number, "verified": True, "line": line - 1 + adapter.first_line}


def _configure(point: Breakpoint, item: Json, places: list[Place]) -> str | None:
    """Give a breakpoint its conditions and its text; return why that is impossible, or None."""
    point.condition, point.when, point.log = (
        item.get(key) or None for key in ("condition", "hitCondition", "logMessage")
    )
    try:
        if point.when is not None:
            parse_hits(point.when)
        if point.condition is not None and places and all(isinstance(place.node, tir.Stmt) for place in places):
            compile_text(point.condition, names_of(places[-1]))
    except TvmsError as problem:
        return problem.diagnostics[0].message
    return None


@request("breakpointLocations")
def _breakpoint_locations(adapter: Adapter, arguments: Json) -> Json:
    source, offset = named_source(adapter, arguments["source"]), 1 - adapter.first_line
    first = int(arguments["line"]) + offset
    last = int(arguments.get("endLine", arguments["line"])) + offset
    places = adapter.session.places.of_module(adapter.session.module)
    name = None if source is None else source.name
    lines = {place.line for place in places if place.source.name == name and can_break(place)}
    return {"breakpoints": [{"line": line - offset} for line in sorted(lines) if first <= line <= last]}


@request("setFunctionBreakpoints")
def _set_function_breakpoints(adapter: Adapter, arguments: Json) -> Json:
    """Replace the breakpoints at functions and blocks."""
    session = adapter.session
    blocks = {getattr(place.node, "name_hint", "") for place in session.places.of_module(session.module)}
    known = {*session.module.functions, *blocks} - {""}
    kept = [point for point in session.breakpoints.all if point.name is None]
    answers: list[Json] = []
    for item in arguments["breakpoints"]:
        point = Breakpoint(session.breakpoints.number(), name=str(item["name"]))
        problem = _configure(point, item, [])
        if point.name not in known:
            problem = f"there is no function or block '{point.name}'"
        if problem is None:
            kept.append(point)
        answers.append({"id": point.number, "verified": problem is None, **({"message": problem} if problem else {})})
    session.breakpoints.set(kept)
    return {"breakpoints": answers}


# --- Writes ---------------------------------------------------------------------------------------------------------


@request("dataBreakpointInfo")
def _data_breakpoint_info(adapter: Adapter, arguments: Json) -> Json:
    """Name a buffer, or the element `[i, j]` of an array that is shown."""
    _, name = adapter.stopped, str(arguments["name"])
    reference = arguments.get("variablesReference")
    prefix = ""
    if isinstance(reference, int) and 0 < reference <= len(adapter.references):
        prefix = getattr(adapter.references[reference - 1], "name", "")
    text = (
        prefix.replace("][", ", ").rstrip("]") + (", " if "[" in prefix else "") + name.lstrip("[") if prefix else name
    )
    if _watch(adapter, {"dataId": text}, 0) is None:
        return {"dataId": None, "description": f"'{name}' is not a buffer or an element of one"}
    return {"dataId": text, "description": text, "accessTypes": ["write"], "canPersist": True}


@request("setDataBreakpoints")
def _set_data_breakpoints(adapter: Adapter, arguments: Json) -> Json:
    points = adapter.session.breakpoints
    watches = [_watch(adapter, item, points.number()) for item in arguments["breakpoints"]]
    points.watches = tuple([watch for watch in watches if watch is not None])
    return {
        "breakpoints": [
            {"verified": False, "message": "this is not a buffer or an element of one"}
            if watch is None
            else {"id": watch.number, "verified": True}
            for watch in watches
        ]
    }


def _watch(adapter: Adapter, item: Json, number: int) -> Watch | None:
    """Return the watch that a request describes: `C` or `C[0, 1]`."""
    name, bracket, rest = str(item["dataId"]).partition("[")
    if name not in watchable(adapter.session.places.of_module(adapter.session.module)):
        return None
    indices: Any = [index.strip() for index in rest.rstrip("]").split(",")] if bracket else None
    if indices is not None and not all(index.isdecimal() for index in indices):
        return None
    chosen = None if indices is None else tuple([int(index) for index in indices])
    return Watch(number, name, chosen, item.get("condition") or None)


def check_source(source: Source | None) -> Source:
    """Return a text that is part of the program."""
    if source is None:
        raise BadRequest("this text is not a part of the program")
    return source
