"""The lines of source texts that nodes were written in."""

from __future__ import annotations

import re
from bisect import bisect_right

from .base import IRModule, Source, Span


class SourceLines:
    """The line numbers of offsets in texts."""

    def __init__(self) -> None:
        self._starts: dict[Source, list[int]] = {}

    def line(self, source: Source, offset: int) -> int:
        """Return the number of the line with the character at `offset`; the first is 1."""
        if source not in self._starts:
            self._starts[source] = [0, *[match.end() for match in re.finditer("\n", source.text)]]
        return bisect_right(self._starts[source], offset)

    def line_of(self, span: Span | None, source: Source) -> int | None:
        """Return the line where `span` starts; None if it is not in `source`."""
        return None if span is None or span.source is not source else self.line(source, span.start)


def source_of(module: IRModule) -> Source | None:
    """Return the text of a module; None if it was not read from one."""
    nodes = (*module.functions.values(), *module.schedules.values())
    return next((node.span.source for node in nodes if node.span is not None), None)
