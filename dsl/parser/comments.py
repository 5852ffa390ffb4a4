"""Assigns comments: each becomes part of the trivia of exactly one statement, or of the header or footer of the file.

Comments above a statement and inside its brackets are `before` it, one at the end of its line is `after` it, and
those below the last statement of a block, indented as deep as the block, are the `end` of the statement that owns the
block. A comment on an `else` (above it, no deeper than the branch before it, or at the end of its line) is `before` the first
statement under it.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from msgspec import Struct

from ...ir.base import Trivia

PRINTED = re.compile(
    r'#\s*(?:from tvm\.(?:script|tirx\.layout) import .*|Metadata omitted\..*|with T\.s?block\("root"\):)$'
)
"""Comments that the printers add themselves."""


class Block(Struct, frozen=True):
    """An indented block: its column, its column if a tab is one column wide, and the start of its statement."""

    column: int
    tabless: int
    opener: int


def columns(indentation: str) -> tuple[int, int]:
    """Return the width of white space: with tab stops at every eighth column, and with tabs one column wide."""
    indentation = indentation.rpartition("\f")[2]
    return len(indentation.expandtabs(8)), len(indentation)


def _comment(line: str) -> tuple[str, ...]:
    text = line.strip()
    return (text,) if text and not PRINTED.match(text) else ()


class Comments:
    """Collects the comments of a text while it is lexed, by the offset of their statement."""

    def __init__(self) -> None:
        self.header: tuple[str, ...] = ()
        self.anchor = 0
        self.pending: list[str] = []
        self._before: dict[int, list[str]] = {}
        self._after: dict[int, str] = {}
        self._end: dict[int, list[str]] = {}
        self._decorating = False

    def lead(self, text: str) -> None:
        """Collect the lines at the top: those followed by a blank line, and `#tvms 1`, are the header."""
        lines = text.lstrip("\ufeff\f \t\r\n").split("\n")[:-1]
        blank = max((index for index, line in enumerate(lines) if not line.strip()), default=-1)
        if blank < 0 and lines and lines[0].startswith("#tvms"):
            blank = 0
        self.header = tuple(comment for line in lines[: blank + 1] for comment in _comment(line))
        self.pending = [comment for line in lines[blank + 1 :] for comment in _comment(line)]

    def inside_brackets(self, text: str) -> None:
        """Collect the comments of a line end inside brackets."""
        self.pending.extend(comment for line in text.split("\n") for comment in _comment(line))

    def close_line(self, start: int, word: str, comment: str) -> None:
        """Collect the comment at the end of the logical line that starts at `start` with `word`."""
        if not self._decorating:
            self.anchor = start
        self._decorating = word == "@"
        if self.pending and word != "else":
            self._before.setdefault(self.anchor, []).extend(self.pending)
            self.pending = []
        for text in _comment(comment):
            if self._decorating or word == "else":
                self.pending.append(text)
            else:
                self._after[self.anchor] = text

    def own_lines(self, lines: list[str], closed: list[Block], before_else: bool) -> None:
        """Collect the comments between two logical lines; `closed` are the blocks that end there, innermost first."""
        level = 0
        for line in lines:
            comment = _comment(line)
            if not comment:
                continue
            column, _ = columns(line[: len(line) - len(line.lstrip())])
            while level < len(closed) and column < closed[level].column:
                level += 1
            if level == len(closed) or (before_else and level == len(closed) - 1):
                self.pending.extend(comment)
            else:
                self._end.setdefault(closed[level].opener, []).extend(comment)

    def trivia(self, start: int, *more: int) -> Trivia | None:
        """Return the trivia of the statement at `start`; `more` are the starts of its other heads, such as `else`."""
        if not (self._before or self._after or self._end):
            return None
        before, after = self._before.pop(start, ()), self._after.pop(start, None)
        end: Sequence[str] = [comment for offset in (start, *more) for comment in self._end.pop(offset, ())]
        return Trivia(tuple(before), after, tuple(end)) if before or after or end else None
