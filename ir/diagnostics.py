"""Diagnostics as data. `dsl.diagnostics` renders them; `ir.codes` lists the codes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Literal, TypeAlias

from msgspec import Struct

from . import script

if TYPE_CHECKING:
    from .base import Span

Severity: TypeAlias = Literal["error", "warning"]


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


class TvmsError(Exception):
    """One or more errors in the user's input; `str()` is the rendered text, without color."""

    def __init__(self, diagnostics: Diagnostic | Sequence[Diagnostic]) -> None:
        self.diagnostics = (diagnostics,) if isinstance(diagnostics, Diagnostic) else tuple(diagnostics)
        super().__init__(self.diagnostics)

    def __str__(self) -> str:
        return script.render(self.diagnostics)


class ArgumentError(TvmsError, TypeError):
    """Arguments of a Python call whose number, kinds or dtypes do not fit; also a TypeError."""


class UnknownName(TvmsError, KeyError):
    """A name that a mapping does not contain; also a KeyError."""


def error(code: str, message: str, span: Span | None = None, help: str | None = None, *notes: Note) -> TvmsError:
    """Return an exception with a single error, for the caller to raise."""
    return TvmsError(Diagnostic(code, message, span, help, notes))


def count(number: int, noun: str) -> str:
    """Return a number with its noun: "1 argument", "2 arguments", "2 indices"."""
    plural = {"index": "indices", "axis": "axes"}.get(noun, f"{noun}s")
    return f"{number} {noun if number == 1 else plural}"
