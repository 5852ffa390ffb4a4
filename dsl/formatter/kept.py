"""Parts of a text that keep their layout: `# fmt: off` … `# fmt: on`, and `# fmt: skip`."""

from __future__ import annotations

import re

from ..parser.comments import columns

_DIRECTIVE = re.compile(r"#\s*fmt:\s*(off|on|skip)(?!\S)")


def _directive(comment: str) -> str:
    match = _DIRECTIVE.match(comment)
    return match[1] if match else ""


def is_skipped(comment: str) -> bool:
    """Return whether a comment at the end of a logical line exempts that line from formatting."""
    return _directive(comment) == "skip"


class Kept:
    """Whether the current part is exempt from formatting: from `# fmt: off` to `# fmt: on` or the end of the block."""

    def __init__(self) -> None:
        self.level: int | None = None
        """Level of the block that contains `# fmt: off`."""
        self.shift = 0
        """Number of columns by which the lines move, because the enclosing block moves."""

    def begin(self, comment: str, level: int, shift: int) -> None:
        """Process a comment on a line of its own."""
        if _directive(comment) == "off":
            self.level, self.shift = level, shift

    def goes_on(self, level: int, comment: str = "") -> bool:
        """Return whether the exemption continues after a line at `level`, which may be a comment."""
        if self.level is not None and (level < self.level or (level == self.level and _directive(comment) == "on")):
            self.level = None
        return self.level is not None

    def moved(self, line: str) -> str:
        """Return a comment line, or the white space before a statement, at the new indentation of its block."""
        if not self.shift:
            return line
        content = line.lstrip(" \t\f")
        column, _ = columns(line[: len(line) - len(content)])
        return " " * max(0, column + self.shift) + content
