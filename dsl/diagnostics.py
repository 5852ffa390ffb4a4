"""Diagnostics as text for people: the reason first, then the place with a caret under it, then what to do."""

from __future__ import annotations

import unicodedata
from collections.abc import Iterator, Sequence

from msgspec import Struct

from ..ir.base import Span
from ..ir.diagnostics import Diagnostic

MAX_WIDTH = 120
"""Columns of a source line that are shown; of a longer line, the part around the caret."""
TAB = 4

RED, GREEN, YELLOW, BLUE, CYAN, BOLD = "31", "32", "33", "34", "36", "1"
SEVERITY_COLOURS = {"error": RED, "warning": YELLOW}


def render(diagnostics: Sequence[Diagnostic], color: bool = False) -> str:
    """Return the text of `diagnostics`, sorted by their place and without duplicates; `color` adds ANSI codes.

    Columns are counted in code points from 1. Control characters, and those that reorder text, are shown escaped.
    """
    return "\n\n".join("\n".join(_Report(diagnostic, color).lines()) for diagnostic in in_order(diagnostics))


def in_order(diagnostics: Sequence[Diagnostic]) -> tuple[Diagnostic, ...]:
    """Return `diagnostics` sorted by their place, without duplicates."""
    unique = {_key(diagnostic): diagnostic for diagnostic in diagnostics}
    return tuple(unique[key] for key in sorted(unique))


def summary(diagnostics: Sequence[Diagnostic]) -> str:
    """Return how many there are, such as `1 error, 2 warnings`."""
    counts: dict[str, int] = {}
    for severity, _ in {(diagnostic.severity, _key(diagnostic)) for diagnostic in diagnostics}:
        counts[severity] = counts.get(severity, 0) + 1
    return ", ".join(f"{count} {severity}{'s' * (count > 1)}" for severity, count in sorted(counts.items()))


def _key(diagnostic: Diagnostic) -> tuple[str, int, int, str, str]:
    span = diagnostic.span
    name, start, end = (span.source.name, span.start, span.end) if span else ("", -1, -1)
    return name, start, end, diagnostic.code, diagnostic.message


class _Place(Struct, frozen=True):
    """A span in one line: its line and column from 1, the text of the line, and the offsets of the span in that."""

    name: str
    line: int
    column: int
    text: str
    end: int

    @staticmethod
    def of(span: Span) -> _Place:
        text = span.source.text
        start = min(max(span.start, 0), len(text))
        begin = text.rfind("\n", 0, start) + 1
        stop = text.find("\n", start)
        line = text[begin : len(text) if stop < 0 else stop].removesuffix("\r")
        end = min(span.end - begin, len(line.rstrip()))
        return _Place(span.source.name, text.count("\n", 0, start) + 1, start - begin + 1, line, end)


class _Report:
    """The lines of one diagnostic."""

    def __init__(self, diagnostic: Diagnostic, color: bool) -> None:
        self.diagnostic = diagnostic
        self.color = color
        spans = [diagnostic.span, *(note.span for note in diagnostic.notes)]
        self.places = {span: _Place.of(span) for span in spans if span}
        self.width = max((len(str(place.line)) for place in self.places.values()), default=0)

    def paint(self, text: str, *codes: str) -> str:
        return f"\x1b[{';'.join(codes)}m{text}\x1b[0m" if self.color and text else text

    def lines(self) -> Iterator[str]:
        diagnostic = self.diagnostic
        colour = SEVERITY_COLOURS[diagnostic.severity]
        title = self.paint(f"{diagnostic.severity}[{diagnostic.code}]", BOLD, colour)
        yield title + self.paint(f": {escape(diagnostic.message)}", BOLD)
        if diagnostic.span:
            yield from self.snippet(self.places[diagnostic.span], colour)
        for note in diagnostic.notes:
            if not note.span:
                yield from self.remark("note", note.message)
        if diagnostic.help:
            yield from self.remark("help", diagnostic.help)
        for note in diagnostic.notes:
            if note.span:
                yield self.paint("note", BOLD, GREEN) + f": {escape(note.message)}"
                yield from self.snippet(self.places[note.span], BLUE)
        if diagnostic.listing:
            yield from diagnostic.listing.split("\n")

    def snippet(self, place: _Place, colour: str) -> Iterator[str]:
        margin = " " * (self.width + 1)
        bar = self.paint("|", BOLD, BLUE)
        shown, indent, length = _excerpt(place.text, place.column - 1, place.end)
        yield f"{margin}{self.paint('-->', BOLD, BLUE)} {escape(place.name)}:{place.line}:{place.column}"
        yield f"{margin} {bar}"
        yield f" {self.paint(str(place.line).rjust(self.width), BOLD, BLUE)} {bar} {shown}".rstrip()
        yield f"{margin} {bar} {' ' * indent}{self.paint('^' * length, BOLD, colour)}"

    def remark(self, kind: str, message: str) -> Iterator[str]:
        first, *rest = escape(message).split("\n")
        margin = " " * (self.width + 2)
        yield f"{margin}{self.paint('=', BOLD, BLUE)} {self.paint(kind, BOLD, CYAN)}: {first}"
        for line in rest:
            yield f"{margin}  {' ' * len(kind)}  {line}"


def _excerpt(line: str, start: int, end: int) -> tuple[str, int, int]:
    """Return a line as it is shown, the column under which the caret starts, and how many carets there are."""
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
        text, columns = _shown(character, width)
        shown, width = shown + text, width + columns
    left = width if left is None else left
    right = width if right is None and end > start else right
    return shown + "..." * (high < len(line)), left, max(1, (right or 0) - left)


def _shown(character: str, column: int) -> tuple[str, int]:
    """Return a character as it is shown, and how many columns that takes."""
    if character == "\t":
        count = TAB - column % TAB
        return " " * count, count
    text = escape(character)
    if text == character and unicodedata.category(character) in ("Mn", "Me"):
        return text, 0
    return text, len(text) + (unicodedata.east_asian_width(character) in "WF" and text == character)


def escape(text: str) -> str:
    """Return `text` with control characters (but line ends) and invisible or reordering ones as escapes."""
    return text if text.isprintable() else "".join(map(_escape, text))


def _escape(character: str) -> str:
    if character.isprintable() or character == "\n":
        return character
    if unicodedata.category(character) == "Zs":
        return " "
    return character.encode("unicode_escape").decode("ascii")
