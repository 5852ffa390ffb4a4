"""Messages for refused primitives: the reason, followed by the current program with carets."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from .. import script, tir
from ..base import Span
from ..diagnostics import CallSpan, Diagnostic, Edit, Note, TvmsError
from ..signature import argument_name
from .conditions import Change, Refused
from .declaration import Primitive
from .handles import Handle, Origin
from .program import Program


class ScheduleError(TvmsError):
    """Refusal of a primitive; the schedule is unchanged."""

    reason = ""
    """Why, without the name of the primitive."""
    wanted: tuple[Span, Handle] | None = None
    """A loop to name at a place, if that is the remedy: only the text knows its name."""


class UnknownHandle(TvmsError, IndexError):
    """A handle of another schedule, or one that was removed (E0501); also an IndexError, as in TVM."""


def refusal(
    primitive: Primitive,
    refused: Refused,
    arguments: Mapping[str, Any],
    program: Program,
    handles: Mapping[Handle, Any],
    place: Span | str | None,
    level: str,
) -> ScheduleError:
    """Return the error for a refused primitive; `arguments` are the values read before the refusal.

    `level` is "detail", or "fast" to leave the program out.
    """
    notes = tuple([Note(text) for node in refused.places for text in _history(node, handles, program)])
    listing = _listing(refused.places, program) if level == "detail" else None
    message = f"{_subject(primitive, refused, arguments)}: {refused.reason}"
    span = place if isinstance(place, Span) else None
    edit = wanted = None
    if isinstance(span, CallSpan):
        name, index = _argument(primitive, refused, arguments)
        is_named = any(argument.name == name and argument.keyword_only for argument in primitive.arguments)
        call, argument = span, span.of(name, None if is_named else index)
        span = _element(argument, refused.element) or argument
        if refused.change is not None:
            edit, wanted = _remedy(refused.change, refused.element, call, argument, handles)
    code = refused.condition.code
    problem = ScheduleError(Diagnostic(code, message, span, refused.help, notes, listing=listing, edit=edit))
    problem.reason, problem.wanted = refused.reason, wanted
    return problem


def _element(place: Span, index: int | None) -> Span | None:
    """Return the position of an element of a list; None if the text shows no such element."""
    places = place.places if isinstance(place, CallSpan) else ()
    return places[index][1] if index is not None and index < len(places) else None


def _remedy(
    change: Change, element: int | None, call: CallSpan, argument: Span, handles: Mapping[Handle, Any]
) -> tuple[Edit | None, tuple[Span, Handle] | None]:
    """Return the edit of the text that a change is, or the place where a loop is to be named."""
    element = element if change.element is None else change.element
    place = argument if element is None else _element(argument, element)
    if place is None:
        return None, None
    if change.loop is None:
        return _edit(call, place, change), None
    loop = next((handle for handle, value in handles.items() if value is change.loop), None)
    return None, (place, loop) if loop is not None and place is not call else None


def _edit(call: CallSpan, place: Span, change: Change) -> Edit | None:
    """Return the edit of the text of a call that a change is; None if the text does not show what to change."""
    text = call.source.shown
    if change.before:
        line = text[text.rfind("\n", 0, call.start) + 1 : call.start]
        if line.strip() or not call.places:
            return None
        first = call.places[0][1]
        step = change.before.replace("{}", text[first.start : first.end])
        return Edit(Span(call.source, call.start, call.end), f"{step}\n{line}{text[call.start : call.end]}")
    if place is call:
        return None
    if not change.text:
        return call.without(place)
    return Edit(Span(place.source, place.start, place.end), change.text.replace("{}", text[place.start : place.end]))


def _subject(primitive: Primitive, refused: Refused, arguments: Mapping[str, Any]) -> str:
    """Return the description of the argument that causes the refusal, or else the name of the primitive."""
    name, index = _argument(primitive, refused, arguments)
    return primitive.name if index is None else argument_name(primitive.name, index + 1, name or "")


def _argument(primitive: Primitive, refused: Refused, arguments: Mapping[str, Any]) -> tuple[str | None, int | None]:
    """Return the name and the index of the argument that causes the refusal; None for both if it is none."""
    if refused.position is not None:
        return refused.argument, refused.position - 1
    index = -1
    for argument in primitive.arguments:
        value = arguments.get(argument.name)
        for item in value if argument.variadic and isinstance(value, tuple) else (value,):  # type: ignore[reportUnknownVariableType]
            index += 1
            is_first = refused.argument is None and bool(refused.places) and item is refused.places[0]
            if is_first or argument.name == refused.argument:
                return argument.name, index
    return None, None


def _history(node: tir.Stmt, handles: Mapping[Handle, Any], program: Program) -> list[str]:
    """Return a note on the primitive that created a loop or block, if there is one."""
    name = node.loop_var.name if isinstance(node, tir.For) else getattr(node, "name_hint", "")
    origins = [_origin(handle) for handle, value in handles.items() if value is node]
    return [f"'{name}' is {origin}" for origin in origins if origin is not None and not origin.is_query][:1]


def _origin(handle: Handle) -> Origin | None:
    return getattr(handle, "origin", None)


def _listing(places: tuple[tir.Stmt, ...], program: Program) -> str | None:
    """Return the function that contains the first place, with carets under all places in it."""
    for place in places:
        if program.function_of(place) is not None:
            return script.underline(program.prim_func_of(place), places)
    return None
