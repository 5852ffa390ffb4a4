"""Diagnostics as text: the reason first, then the position with a caret under it, then the remedy."""

from __future__ import annotations

import unicodedata
from collections.abc import Iterator, Sequence
from typing import LiteralString

from msgspec import Struct

from ..ir.base import Span
from ..ir.diagnostics import Diagnostic
from ..ir.sanitize import Safe, fill, joined, painted, visible

MAX_WIDTH = 120
"""Maximum number of columns of a source line that are shown; longer lines are cut around the caret."""
TAB = 4

RED, GREEN, YELLOW, BLUE, CYAN, BOLD = "31", "32", "33", "34", "36", "1"
SEVERITY_COLOURS: dict[str, LiteralString] = {"error": RED, "warning": YELLOW}


def render(diagnostics: Sequence[Diagnostic], color: bool = False) -> Safe:
    """Return the text of `diagnostics`, sorted by position and without duplicates; `color` adds ANSI codes.

    Columns are counted in code points from 1. Control characters, and those that reorder text, are shown escaped.
    """
    return joined("\n\n", [joined("\n", _Report(diagnostic, color).lines()) for diagnostic in in_order(diagnostics)])


def in_order(diagnostics: Sequence[Diagnostic]) -> tuple[Diagnostic, ...]:
    """Return `diagnostics` sorted by position, without duplicates."""
    unique = {_key(diagnostic): diagnostic for diagnostic in diagnostics}
    return tuple(unique[key] for key in sorted(unique))


def summary(diagnostics: Sequence[Diagnostic]) -> str:
    """Return the number of diagnostics by severity, such as `1 error, 2 warnings`."""
    counts: dict[str, int] = {}
    for severity, _ in {(diagnostic.severity, _key(diagnostic)) for diagnostic in diagnostics}:
        counts[severity] = counts.get(severity, 0) + 1
    return ", ".join(f"{count} {severity}{'s' * (count > 1)}" for severity, count in sorted(counts.items()))


def _key(diagnostic: Diagnostic) -> tuple[str, int, int, str, str]:
    span = diagnostic.span
    name, start, end = (span.source.name, span.start, span.end) if span else (diagnostic.file, -1, -1)
    return name, start, end, diagnostic.code, diagnostic.message


class _Location(Struct, frozen=True):
    """A span in one line: line and column from 1, the text of the line, and the end of the span in it."""

    name: str
    line: int
    column: int
    text: str
    end: int

    @staticmethod
    def of(span: Span) -> _Location:
        text = span.source.shown
        start = min(max(span.start, 0), len(text))
        begin = text.rfind("\n", 0, start) + 1
        stop = text.find("\n", start)
        line = text[begin : len(text) if stop < 0 else stop].removesuffix("\r")
        end = min(span.end - begin, len(line.rstrip()))
        return _Location(span.source.name, text.count("\n", 0, start) + 1, start - begin + 1, line, end)


class _Report:
    """The lines of one diagnostic."""

    def __init__(self, diagnostic: Diagnostic, color: bool) -> None:
        self.diagnostic = diagnostic
        self.color = color
        spans = [diagnostic.span, *(note.span for note in diagnostic.notes)]
        self.places = {span: _Location.of(span) for span in spans if span}
        self.width = max((len(str(place.line)) for place in self.places.values()), default=0)

    def paint(self, text: Safe, *codes: LiteralString) -> Safe:
        return painted(text, *codes) if self.color and text else text

    def lines(self) -> Iterator[Safe]:
        diagnostic = self.diagnostic
        color = SEVERITY_COLOURS[diagnostic.severity]
        title = self.paint(visible(f"{diagnostic.severity}[{diagnostic.code}]"), BOLD, color)
        yield fill("{}{}", title, self.paint(visible(f": {diagnostic.message}"), BOLD))
        if diagnostic.span:
            yield from self.snippet(self.places[diagnostic.span], color)
        for note in diagnostic.notes:
            if not note.span:
                yield from self.remark(visible("note"), note.message)
        if diagnostic.help:
            yield from self.remark(visible("help"), diagnostic.help)
        for note in diagnostic.notes:
            if note.span:
                yield fill("{}: {}", self.paint(visible("note"), BOLD, GREEN), visible(note.message))
                yield from self.snippet(self.places[note.span], BLUE)
        if diagnostic.listing:
            yield from map(visible, diagnostic.listing.split("\n"))

    def snippet(self, place: _Location, color: LiteralString) -> Iterator[Safe]:
        margin = visible(" " * (self.width + 1))
        bar = self.paint(visible("|"), BOLD, BLUE)
        shown, indent, length = _excerpt(place.text, place.column - 1, place.end)
        where = visible(f"{place.name}:{place.line}:{place.column}")
        yield fill("{}{} {}", margin, self.paint(visible("-->"), BOLD, BLUE), where)
        yield fill("{} {}", margin, bar)
        number = self.paint(visible(str(place.line).rjust(self.width)), BOLD, BLUE)
        text = visible(shown.rstrip())
        yield fill(" {} {} {}", number, bar, text) if text else fill(" {} {}", number, bar)
        yield fill("{} {} {}{}", margin, bar, visible(" " * indent), self.paint(visible("^" * length), BOLD, color))

    def remark(self, kind: Safe, message: str) -> Iterator[Safe]:
        first, *rest = map(visible, message.split("\n"))
        margin = visible(" " * (self.width + 2))
        yield fill("{}{} {}: {}", margin, self.paint(visible("="), BOLD, BLUE), self.paint(kind, BOLD, CYAN), first)
        for line in rest:
            yield fill("{}{}{}", margin, visible(" " * (len(kind) + 4)), line)


def _excerpt(line: str, start: int, end: int) -> tuple[str, int, int]:
    """Return a line as shown, the column of the first caret, and the number of carets."""
    low = 0 if len(line) <= MAX_WIDTH else max(0, min(start - MAX_WIDTH // 3, len(line) - MAX_WIDTH))
    high = low + MAX_WIDTH
    shown = "..." if low else ""
    width = len(shown)
    left = right = None
    for offset, character in enumerate(line[low:high], low):
        if offset == start:
            left = width
        if offset == end:
            right = width
        text, columns = (character, 1) if " " <= character <= "~" else _shown(character, width)
        shown, width = shown + text, width + columns
    left = width if left is None else left
    right = width if right is None and end > start else right
    return shown + "..." * (high < len(line)), left, max(1, (right or 0) - left)


def _shown(character: str, column: int) -> tuple[str, int]:
    """Return a character as shown, and its width in columns."""
    if character == "\t":
        count = TAB - column % TAB
        return " " * count, count
    text = visible(character)
    if text == character and unicodedata.category(character) in ("Mn", "Me"):
        return text, 0
    return text, len(text) + (unicodedata.east_asian_width(character) in "WF" and text == character)
