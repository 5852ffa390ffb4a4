"""Edits of a text: replacements of ranges of its characters."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple


class Edit(NamedTuple):
    """A replacement of the characters from `start` to `end` of a text."""

    start: int
    end: int
    text: str


def applied(text: str, edits: Sequence[Edit]) -> str:
    """Return `text` after edits in order that do not overlap."""
    parts: list[str] = []
    at = 0
    for edit in edits:
        parts += text[at : edit.start], edit.text
        at = edit.end
    return "".join([*parts, text[at:]])
