"""Comments of declarations: statements such as `T.reads(…)` or `C = T.alloc_buffer(…)`, which do not become nodes.

The trivia of the enclosing block or function hold them by a key that is the same for the statement that is read and
the line that is printed: the first name that a declaration binds, or the form that it calls.
"""

from __future__ import annotations

import re

from ..ir.base import Trivia
from . import syntax

_LINE = re.compile(
    r"\s*(?:(?P<names>\w+(?:, \w+)*)(?:: [^=]*)? = |(?P<word>return)\b|(?:with )?[\w.]*?\b(?P<form>\w+)\()"
)

_ROOT = re.compile(r'\s*# with T\.s?block\("root"\):$')
"""The comment that the printer puts above the body of a root block."""


def declaration_key(statement: syntax.Stmt) -> str | None:
    """Return the key of a declaration; None if the statement cannot be one."""
    if isinstance(statement, syntax.Assign | syntax.AnnAssign):
        target = statement.target
        if isinstance(target, syntax.Tuple | syntax.List) and target.elements:
            target = target.elements[0]
        return target.id if isinstance(target, syntax.Name) else None
    if isinstance(statement, syntax.Return):
        return "return"
    call = statement.context if isinstance(statement, syntax.With) else getattr(statement, "value", None)
    if isinstance(call, syntax.Call) and isinstance(call.func, syntax.Attribute):
        return _form(call.func.attr)
    return None


def _form(name: str) -> str:
    return name.removeprefix("s") if name.startswith("sblock") else name


def _line_keys(line: str) -> tuple[str, ...]:
    match = _LINE.match(line)
    if match is None:
        return ()
    if match["names"]:
        return tuple(match["names"].split(", "))
    return (match["word"] or _form(match["form"]),)


def place_comments(lines: list[object], indent: str, trivia: Trivia | None) -> None:
    """Put the comments of declarations back above and beside the declaring lines; other comments go to the top.

    `lines` holds the lines of a body and lists of lines for nested bodies; it is changed in place.
    """
    if trivia is None or not trivia.parts:
        return
    left: dict[str, list[Trivia]] = {}
    for key, part in trivia.parts:
        left.setdefault(key, []).append(part)
    placed: list[object] = []
    ends: tuple[str, ...] = ()
    for line in lines:
        if not isinstance(line, str):
            placed.append([*line, *(f"{indent}    {comment}" for comment in ends)] if ends else line)  # type: ignore[misc]
            ends = ()
            continue
        parts = [part for key in _line_keys(line) for part in left.pop(key, ())]
        placed.extend(indent + comment for part in parts for comment in (*part.before, *_beside(part, parts[-1])))
        placed.append(f"{line}  {parts[-1].after}" if parts and parts[-1].after else line)
        ends = tuple(comment for part in parts for comment in part.end)
    unplaced = [part for parts in left.values() for part in parts]
    top = [indent + comment for part in unplaced for comment in (*part.before, *_beside(part, None), *part.end)]
    first = 1 if placed and isinstance(placed[0], str) and _ROOT.match(placed[0]) else 0
    lines[:] = placed[:first] + top + placed[first:]


def _beside(part: Trivia, last: Trivia | None) -> tuple[str, ...]:
    return (part.after,) if part.after and part is not last else ()
