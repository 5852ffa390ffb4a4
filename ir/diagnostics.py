"""What is said of a mistake: data only. `dsl.diagnostics` renders it; `ir.codes` lists the codes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Literal, TypeAlias

from msgspec import Struct

from . import script

if TYPE_CHECKING:
    from .base import Span

Severity: TypeAlias = Literal["error", "warning"]


class Note(Struct, frozen=True):
    """A second place that is involved, or a further reason."""

    message: str
    span: Span | None = None


class Diagnostic(Struct, frozen=True):
    """One mistake: its code, the reason in one line, where it is, and what to do about it."""

    code: str
    message: str
    span: Span | None = None
    help: str | None = None
    notes: tuple[Note, ...] = ()
    severity: Severity = "error"
    listing: str | None = None
    """A program to show below everything, as it is to be shown: where the place is in no text that was read."""
    file: str = ""
    """The file that it is about as a whole, where it has no place in it."""


class TvmsError(Exception):
    """One or more errors in what the user gave; `str()` is the rendered text, without colour."""

    def __init__(self, diagnostics: Diagnostic | Sequence[Diagnostic]) -> None:
        self.diagnostics = (diagnostics,) if isinstance(diagnostics, Diagnostic) else tuple(diagnostics)
        super().__init__(self.diagnostics)

    def __str__(self) -> str:
        return script.render(self.diagnostics)


class ArgumentError(TvmsError, TypeError):
    """Arguments of a call in Python whose number, kinds or dtypes do not fit: a TypeError, too."""


class UnknownName(TvmsError, KeyError):
    """A name that a mapping does not have: a KeyError, too."""


def error(code: str, message: str, span: Span | None = None, help: str | None = None, *notes: Note) -> TvmsError:
    """Return the exception of a single error, to be raised."""
    return TvmsError(Diagnostic(code, message, span, help, notes))
