"""What a position in a text is about: the word under it, and the calls around it. Half-typed texts are usual."""

from __future__ import annotations

import re
from typing import NamedTuple

_PATH = re.compile(r"[^\W\d]\w*(?:\.[^\W\d]\w*)*")
_PIECE = re.compile(
    r"(?P<comment>#[^\n]*)"
    r"|(?P<string>[rR]?(?:\"\"\"(?:[^\\]|\\.)*?(?:\"\"\"|\Z)|\"(?:[^\"\\\n]|\\.)*(?:\"|$)|'(?:[^'\\\n]|\\.)*(?:'|$)))"
    r"|(?P<path>[^\W\d]\w*(?:\.[^\W\d]\w*)*)|(?P<open>[(\[{])|(?P<close>[)\]}])|(?P<comma>,)|(?P<equals>=(?!=))",
    re.MULTILINE,
)
_WINDOW = 20_000
"""Number of characters before a position that are read."""


class Call(NamedTuple):
    """An open bracket before a position: what is called, or subscripted, and the argument that the position is in."""

    name: str
    """The dotted name before the bracket; "" if there is none."""
    bracket: str
    position: int
    keyword: str | None
    """The name of the argument, if it is written."""


class Cursor(NamedTuple):
    """A position in a text."""

    calls: tuple[Call, ...]
    """The calls around it, innermost last."""
    string: str | None
    """The text of the string before it, if it is in a string."""
    is_comment: bool

    @property
    def call(self) -> Call | None:
        """The innermost call around it."""
        return next((call for call in reversed(self.calls) if call.bracket == "(" and call.name), None)


def cursor_at(text: str, offset: int, start: int = 0) -> Cursor:
    """Return what a position is about; `start` is a position before it outside all brackets."""
    stack: list[Call] = []
    name, after_name = "", -1
    for piece in _PIECE.finditer(text, max(start, offset - _WINDOW), len(text)):
        if piece.start() >= offset:
            break
        kind = piece.lastgroup
        if kind in ("comment", "string") and (
            piece.end() > offset or (piece.end() == offset and not _is_closed(piece[0]))
        ):
            body = text[piece.start() : offset].lstrip("rR").lstrip("\"'") if kind == "string" else None
            return Cursor(tuple(stack), body, kind == "comment")
        if kind == "path":
            name, after_name = piece[0], piece.end()
        elif kind == "open":
            stack.append(Call(name if after_name == piece.start() else "", piece[0], 0, None))
        elif kind == "close" and stack:
            stack.pop()
        elif kind == "comma" and stack:
            stack[-1] = stack[-1]._replace(position=stack[-1].position + 1, keyword=None)
        elif kind == "equals" and stack and stack[-1].bracket == "(":
            stack[-1] = stack[-1]._replace(keyword=name)
    return Cursor(tuple(stack), None, False)


def _is_closed(string: str) -> bool:
    body = string.lstrip("rR")
    return len(body) > 1 and body[-1] == body[0]


def path_at(text: str, offset: int) -> tuple[str, int, int] | None:
    """Return the dotted name at an offset up to the end of the word there, with its position: `R.nn` for `R.n|n.relu`."""
    line = text.rfind("\n", 0, offset) + 1
    end = text.find("\n", offset)
    for found in _PATH.finditer(text, line, len(text) if end < 0 else end):
        if found.start() <= offset <= found.end():
            stop = offset
            while stop < found.end() and (text[stop].isalnum() or text[stop] == "_"):
                stop += 1
            return text[found.start() : stop], found.start(), stop
    return None


def path_before(text: str, offset: int) -> str:
    """Return the dotted name that ends at an offset, perhaps with a dot: `R.nn.` or `S.sp`."""
    start = offset
    while start and (text[start - 1].isalnum() or text[start - 1] in "_."):
        start -= 1
    return text[start:offset]
