"""Positions of the protocol, lines and UTF-16 code units, in a text."""

from __future__ import annotations

import re
from bisect import bisect_right
from functools import cached_property

from lsprotocol.types import Position, Range

_LINE_END = re.compile(r"\r\n|\n|\r")


class Lines:
    """A text by its lines. Offsets count characters; positions count UTF-16 code units, as every client supports."""

    def __init__(self, text: str) -> None:
        self.text = text

    @cached_property
    def starts(self) -> list[int]:
        """The offset of each line."""
        return [0, *(end.end() for end in _LINE_END.finditer(self.text))]

    def line(self, number: int) -> str:
        """Return a line with its end; "" beyond the text."""
        if number >= len(self.starts):
            return ""
        end = self.starts[number + 1] if number + 1 < len(self.starts) else len(self.text)
        return self.text[self.starts[number] : end]

    def position(self, offset: int) -> Position:
        """Return the position of an offset."""
        offset = min(max(offset, 0), len(self.text))
        number = bisect_right(self.starts, offset) - 1
        before = self.text[self.starts[number] : offset]
        return Position(
            number, len(before) if before.isascii() else len(before.encode("utf-16-le", "surrogatepass")) // 2
        )

    def offset(self, position: Position) -> int:
        """Return the offset of a position; one beyond the end of a line means its end."""
        if position.line >= len(self.starts):
            return len(self.text)
        line = _LINE_END.sub("", self.line(position.line))
        start = self.starts[position.line]
        if line.isascii():
            return start + min(position.character, len(line))
        units = line.encode("utf-16-le", "surrogatepass")[: 2 * position.character]
        return start + len(units.decode("utf-16-le", "ignore"))

    def range(self, start: int, end: int) -> Range:
        """Return the range between two offsets."""
        return Range(self.position(start), self.position(end))

    def edited(self, range: Range | None, new: str) -> Lines:
        """Return the text after one change of the protocol; without a range it replaces the whole text."""
        if range is None:
            return Lines(new)
        start, end = sorted((self.offset(range.start), self.offset(range.end)))
        return Lines(self.text[:start] + new + self.text[end:])
