"""Applies the edits of diagnostics to a text: what they point at is replaced, and statements are deleted with their lines."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence

from ..ir.base import IRModule, Source
from ..ir.diagnostics import Diagnostic, Edit, TvmsError
from ..ir.lints import lint
from ..ir.verify import verify
from .load import parse_source

_ROUNDS = 20
"""Maximum number of rounds: a deletion may leave another variable unused. Another call continues."""
_BEFORE = re.compile(r"[ \t]*(?:\w+[ \t]*(?::[^=\n]*)?=[ \t]*)?")
"""Pattern of the text before the expression in a line: indentation and an assignment."""


CheckSchedules = Callable[[IRModule], tuple[Diagnostic, ...]]
"""Returns the errors of the schedules of a module, such as an unknown target or a refused step."""


def fixed(source: Source, check_schedules: CheckSchedules) -> str:
    """Return a text with the edits of its lints and of the refused steps of its schedules applied; unchanged if there are none,
    or if it has other errors.
    """

    def found_in(text: str) -> Sequence[Diagnostic] | None:
        return _found(Source(source.name, text), check_schedules)

    text = source.text
    for _ in range(_ROUNDS):
        edits = [found.edit for found in found_in(text) or () if found.edit is not None]
        for chosen in (edits, *([edit] for edit in edits)):
            changed = _edited(text, chosen)
            if changed != text and found_in(changed) is not None:
                break
        else:
            return text
        text = changed
    return text


def _found(source: Source, check_schedules: CheckSchedules) -> Sequence[Diagnostic] | None:
    """Return the errors of the schedules of a text, and its lints; None if it has other errors."""
    try:
        module: IRModule = parse_source(source)
    except TvmsError:
        return None
    if any(diagnostic.severity == "error" for diagnostic in verify(module)):
        return None
    return (*check_schedules(module), *lint(module))


def _edited(text: str, edits: Sequence[Edit]) -> str:
    """Return `text` after the edits, last one first; overlapping edits are skipped."""
    limit = len(text) + 1
    for edit in sorted(set(edits), key=lambda fix: -fix.span.start):
        start, end = range_of(text, edit.span.start, edit.span.end, edit.text)
        if start < end <= limit:
            text, limit = text[:start] + edit.text + text[end:], start
    return text


def range_of(text: str, start: int, end: int, new: str) -> tuple[int, int]:
    """Return the range that an edit replaces: for a deletion the lines of the statement, or nothing if it has a body or shares
    its lines, for example with a comment.
    """
    if new:
        return start, end
    written = text[start:end]
    if "\n" in written or written.startswith("with"):
        return 0, 0
    line = text.rfind("\n", 0, start) + 1
    stop = text.find("\n", end)
    stop = len(text) if stop < 0 else stop + 1
    is_alone = _BEFORE.fullmatch(text, line, start) and not text[end:stop].strip()
    return (line, stop) if is_alone else (0, 0)
