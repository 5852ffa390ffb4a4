"""How subcommands report: diagnostics on standard error, and the exit code that follows from them."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable

from ...ir.diagnostics import Diagnostic
from ...ir.sanitize import emit


class UsageError(Exception):
    """The command line itself is wrong; `help` says what to do where the message does not."""

    def __init__(self, message: str, usage: str = "", help: str = "") -> None:
        super().__init__(message)
        self.usage = usage
        self.help = help


def wants_color(stream: object = None) -> bool:
    """Whether to colour what is written to `stream` (stderr): a terminal, and NO_COLOR is not set."""
    target = sys.stderr if stream is None else stream
    return not os.environ.get("NO_COLOR") and bool(getattr(target, "isatty", lambda: False)())


def report(diagnostics: Iterable[Diagnostic]) -> None:
    """Write diagnostics to standard error."""
    from ..diagnostics import render

    emit(render(tuple(diagnostics), color=wants_color()), sys.stderr)


def report_notes(notes: Iterable[Diagnostic]) -> None:
    """Write the notes of an executable to standard error, if there are any."""
    if found := tuple(notes):
        report(found)


def exit_code(diagnostics: Iterable[Diagnostic]) -> int:
    """2 where a file could not be read or parsed, or the command line is wrong; 1 for other errors; 0 for warnings."""
    codes = [diagnostic.code for diagnostic in diagnostics if diagnostic.severity == "error"]
    if any(code.startswith(("E00", "E08")) for code in codes):
        return 2
    return 1 if codes else 0
