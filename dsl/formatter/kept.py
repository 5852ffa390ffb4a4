"""Parts of a text that its author wants as they are: `# fmt: off` … `# fmt: on`, and `# fmt: skip`."""

from __future__ import annotations

import re

from ..parser.comments import columns

_DIRECTIVE = re.compile(r"#\s*fmt:\s*(off|on|skip)(?!\S)")


def _directive(comment: str) -> str:
    match = _DIRECTIVE.match(comment)
    return match[1] if match else ""


def is_skipped(comment: str) -> bool:
    """Return whether the comment at the end of a logical line keeps that line as it is."""
    return _directive(comment) == "skip"


class Kept:
    """Whether what is being read stays as it is: from a line `# fmt: off` to `# fmt: on` or to the end of the block."""

    def __init__(self) -> None:
        self.level: int | None = None
        """Of the block in which `# fmt: off` stands."""
        self.shift = 0
        """By how many columns the lines move, since the block around them does."""

    def begin(self, comment: str, level: int, shift: int) -> None:
        """Take a comment on a line of its own."""
        if _directive(comment) == "off":
            self.level, self.shift = level, shift

    def goes_on(self, level: int, comment: str = "") -> bool:
        """Return whether what follows stays as it is; here is a block at `level`, and maybe a comment in it."""
        if self.level is not None and (level < self.level or (level == self.level and _directive(comment) == "on")):
            self.level = None
        return self.level is not None

    def moved(self, line: str) -> str:
        """Return a line with a comment, or the white space before a statement, where its block is now."""
        if not self.shift:
            return line
        content = line.lstrip(" \t\f")
        column, _ = columns(line[: len(line) - len(content)])
        return " " * max(0, column + self.shift) + content
