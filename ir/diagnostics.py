"""Positions in a text, and diagnostics as data. `dsl.diagnostics` renders them; `ir.codes` lists the codes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal, TypeAlias

from msgspec import Struct

from . import script

Severity: TypeAlias = Literal["error", "warning"]


class Source(Struct, eq=False, frozen=True, gc=False):
    """A source text and the name that messages show for it (a path, or `<string>`)."""

    name: str
    text: str
    written: str | None = None
    """The text as its author wrote it, of the same length, if constants of a program have replaced parts of it."""

    @property
    def shown(self) -> str:
        """The text that messages show."""
        return self.text if self.written is None else self.written

    def __repr__(self) -> str:
        return f"Source({self.name!r})"


class Span(Struct, frozen=True, gc=False):
    """The half-open range of characters `[start, end)` of `source` that a node was parsed from."""

    source: Source
    start: int
    end: int


class Edit(Struct, frozen=True):
    """The replacement text of a span; empty if a statement is to be deleted with its lines."""

    span: Span
    text: str = ""


class CallSpan(Span, frozen=True):
    """Position of a call, and of its arguments: those without a name by their index."""

    places: tuple[tuple[str, Span], ...] = ()

    def of(self, name: str | None, index: int | None) -> Span:
        """Return the position of an argument by its name, and its index if it is variadic; else that of the call."""
        found = [span for key, span in self.places if key == name]
        if len(found) > 1 and index is not None and index < len(self.places):
            return self.places[index][1]
        return found[0] if found else self

    def without(self, place: Span) -> Edit | None:
        """Return the edit that leaves an argument out, with the comma before it; None for the first one."""
        before = max(
            (span for _, span in self.places if span.end <= place.start), key=lambda span: span.end, default=None
        )
        if before is None:
            return None
        return Edit(Span(self.source, before.start, place.end), self.source.shown[before.start : before.end])


class Note(Struct, frozen=True):
    """A secondary position, or a further reason."""

    message: str
    span: Span | None = None


class Diagnostic(Struct, frozen=True):
    """One error or warning: code, one-line reason, position, and remedy."""

    code: str
    message: str
    span: Span | None = None
    help: str | None = None
    notes: tuple[Note, ...] = ()
    severity: Severity = "error"
    listing: str | None = None
    """A rendered program to show at the end, for positions that have no source text."""
    file: str = ""
    """The file that the diagnostic is about, if it has no position in it."""
    edit: Edit | None = None
    """The edit of the text that does what `help` says, if that is exact and safe."""


class TvmsError(RuntimeError):
    """One or more errors in the user's input; `str()` is the rendered text, without color. A RuntimeError, as TVM's `TVMError` is."""

    def __init__(self, diagnostics: Diagnostic | Sequence[Diagnostic]) -> None:
        self.diagnostics = (diagnostics,) if isinstance(diagnostics, Diagnostic) else tuple(dict.fromkeys(diagnostics))
        super().__init__(self.diagnostics)

    def __str__(self) -> str:
        return script.render(self.diagnostics)


class ArgumentError(TvmsError, TypeError):
    """Arguments of a Python call whose number, kinds or dtypes do not fit; also a TypeError."""


class OperandError(ArgumentError, ValueError):
    """An operand of the wrong kind or dtype; also a TypeError and a ValueError, as TVM raises one or the other, by operator."""


class ArgumentValueError(TvmsError, ValueError):
    """An argument of the right kind whose dtype, rank or shape does not fit; also a ValueError."""


class UnknownName(TvmsError, KeyError):
    """A name that a mapping does not contain; also a KeyError."""


class AssertionFailed(TvmsError, AssertionError):
    """An assertion of the program that does not hold (E0711); also an AssertionError."""


_KINDS: dict[str, type[TvmsError]] = {
    **dict.fromkeys(("E0701", "E0702"), ArgumentError),
    **dict.fromkeys(("E0703", "E0704", "E0705", "E0722", "E0728", "E0729"), ArgumentValueError),
    "E0711": AssertionFailed,
}
"""The exceptions of codes that are also exceptions of Python."""


def error(code: str, message: str, span: Span | None = None, help: str | None = None, *notes: Note) -> TvmsError:
    """Return an exception with a single error, for the caller to raise."""
    kind = _KINDS.get(code, TvmsError)
    return kind(Diagnostic(code, message, span, help, notes))


def count(number: int, noun: str) -> str:
    """Return a number with its noun: "1 argument", "2 arguments", "2 indices"."""
    plural = {"index": "indices", "axis": "axes"}.get(noun, f"{noun}s")
    return f"{number} {noun if number == 1 else plural}"
