"""Messages for refused primitives: the reason, followed by the current program with carets."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from .. import script, tir
from ..base import Span
from ..diagnostics import CallSpan, Diagnostic, Note, TvmsError
from ..signature import argument_name
from .conditions import Refused
from .declaration import Primitive
from .handles import Handle, Origin
from .program import Program


class ScheduleError(TvmsError):
    """Refusal of a primitive; the schedule is unchanged."""

    reason = ""
    """Why, without the name of the primitive."""


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
    if isinstance(span, CallSpan):
        name, index = _argument(primitive, refused, arguments)
        is_named = any(argument.name == name and argument.keyword_only for argument in primitive.arguments)
        span = span.of(name, None if is_named else index)
    problem = ScheduleError(Diagnostic(refused.condition.code, message, span, refused.help, notes, listing=listing))
    problem.reason = refused.reason
    return problem


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
