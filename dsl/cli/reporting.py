"""How subcommands report: diagnostics on standard error, and the exit code."""

from __future__ import annotations

import os
import shutil
import sys
from collections.abc import Generator, Iterable
from contextlib import contextmanager
from textwrap import wrap

from ...ir.diagnostics import Diagnostic, TvmsError
from ...ir.sanitize import emit, say, wants_color


class UsageError(Exception):
    """An error of the command line itself; `help` is the remedy if the message does not imply it."""

    def __init__(self, message: str, usage: str = "", help: str = "") -> None:
        super().__init__(message)
        self.usage = usage
        self.help = help


COLORS = ("auto", "always", "never")


def choose_colors(when: str) -> None:
    """Make this process and its children use colors `when` (one of `COLORS`); `auto` follows the environment."""
    if when == "auto":
        return
    for variable in ("NO_COLOR", "FORCE_COLOR", "CLICOLOR_FORCE"):
        os.environ.pop(variable, None)
    os.environ["FORCE_COLOR" if when == "always" else "NO_COLOR"] = "1"


def report(diagnostics: Iterable[Diagnostic]) -> None:
    """Write diagnostics to standard error."""
    from ..diagnostics import render

    emit(render(tuple(diagnostics), color=wants_color(sys.stderr)), sys.stderr)


def report_internal(error: Exception, file: str = "") -> int:
    """Report an internal error, met in `file` if given, and return its exit code."""
    if os.environ.get("TVMS_DEBUG"):
        raise error
    place = f" in '{file}'" if file else ""
    say(
        f"internal error{place}: {type(error).__name__}: {error}\n"
        "  = help: this is a bug in tvms; set TVMS_DEBUG=1 for a traceback, and please report it with the file",
        sys.stderr,
    )
    return 3


class Findings:
    """What a command finds in its files, where an error in one of them does not keep it from the others."""

    def __init__(self) -> None:
        self.diagnostics: list[Diagnostic] = []
        self.failed = 0
        """Number of files that were given up because of an error."""
        self._is_internal = False

    @contextmanager
    def inside(self, file: str) -> Generator[None]:
        """Collect the errors of a file: its diagnostics, and an internal error, which is reported with its name."""
        try:
            yield
        except TvmsError as problem:
            self.diagnostics += problem.diagnostics
            self.failed += 1
        except (UsageError, OSError, MemoryError):
            raise
        except Exception as error:
            report_internal(error, file)
            self.failed += 1
            self._is_internal = True

    def exit_code(self) -> int:
        """Return 3 after an internal error, else that of the diagnostics."""
        return 3 if self._is_internal else exit_code(self.diagnostics)


def report_notes(notes: Iterable[Diagnostic]) -> None:
    """Write the notes of an executable to standard error, if there are any."""
    if found := tuple(notes):
        report(found)


def terminal_width() -> int | None:
    """Return the columns of standard output: COLUMNS, or those of the terminal; None if it is a file or a pipe."""
    return shutil.get_terminal_size().columns if os.environ.get("COLUMNS") or sys.stdout.isatty() else None


def say_list(rows: Iterable[tuple[str, str]], indent: str = "") -> None:
    """Print names and their descriptions in two columns; wrap descriptions at the width of the terminal.

    If the terminal is too narrow for two columns, each description is below its name.
    """
    rows = tuple(rows)
    width, column = terminal_width(), len(indent) + max([len(name) for name, _ in rows], default=0) + 2
    is_narrow = width is not None and width - column < _LEAST_COLUMN
    for name, text in rows:
        head = f"{indent}{name}" if is_narrow else f"{indent}{name}".ljust(column)
        hanging = " " * (len(indent) + 2 if is_narrow else column)
        room = None if width is None else max(width - len(hanging), 1)
        lines = [text] if room is None else wrap(text, room, break_long_words=False, break_on_hyphens=False)
        if is_narrow:
            say("\n".join([head, *(f"{hanging}{line}" for line in lines)]))
        else:
            say(f"{head}{f'{chr(10)}{hanging}'.join(lines)}".rstrip())


_LEAST_COLUMN = 24
"""Minimum columns of a description beside its name."""


def exit_code(diagnostics: Iterable[Diagnostic]) -> int:
    """Return 2 if a file cannot be read or parsed or the command line is wrong, 1 for other errors, 0 for warnings."""
    errors = [diagnostic for diagnostic in diagnostics if diagnostic.severity == "error"]
    if any(_is_usage(diagnostic) for diagnostic in errors):
        return 2
    return 1 if errors else 0


def _is_usage(diagnostic: Diagnostic) -> bool:
    """Return whether the command line or a file is at fault: also an unknown target or pass, unless a text names it."""
    if diagnostic.code in ("E0601", "E0903"):
        return diagnostic.span is None
    return diagnostic.code.startswith(("E00", "E08", "E1002"))
