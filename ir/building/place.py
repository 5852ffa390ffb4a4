"""Source positions for programs that Python code builds: the expression in the caller's code."""

from __future__ import annotations

import linecache
import sys
from itertools import islice
from pathlib import Path
from types import FrameType

from msgspec.structs import replace

from ..base import Source, Span
from ..diagnostics import ArgumentError, ArgumentValueError, OperandError, TvmsError

_PACKAGE = str(Path(__file__).resolve().parents[2])
_OURS = tuple(f"{_PACKAGE}/{room}/" for room in ("ir", "dsl", "codegen"))
_KINDS: tuple[tuple[type[TvmsError], frozenset[str]], ...] = (
    (OperandError, frozenset(("E0322", "E0324"))),
    (ArgumentError, frozenset(("E0105", "E0321", "E0322", "E0324"))),
    (ArgumentValueError, frozenset(("E0323", "E0325", "E0326"))),
)
"""Kinds of errors, with their codes: the number, kinds or dtypes of arguments, and their ranks, axes or shapes."""


def with_place(problem: TvmsError) -> TvmsError:
    """Return `problem` with the caller's expression as the position of diagnostics that have none."""
    span = _caller()
    found = {diagnostic.code for diagnostic in problem.diagnostics}
    kind = next((kind for kind, codes in _KINDS if found <= codes), TvmsError)
    return kind(
        tuple(diagnostic if diagnostic.span else replace(diagnostic, span=span) for diagnostic in problem.diagnostics)
    )


def _caller() -> Span | None:
    """Return the expression that the innermost frame outside this package evaluates, if its source is available."""
    frame: FrameType | None = sys._getframe(1)  # type: ignore[reportPrivateUsage]
    while frame is not None and frame.f_code.co_filename.startswith(_OURS):
        frame = frame.f_back
    return None if frame is None else _span(frame)


def _span(frame: FrameType) -> Span | None:
    lines = linecache.getlines(frame.f_code.co_filename, frame.f_globals)
    line, end_line, column, end_column = next(islice(frame.f_code.co_positions(), frame.f_lasti // 2, None))
    if line is None or end_line is None or column is None or end_column is None or not lines:
        return None
    source = Source(frame.f_code.co_filename, "".join(lines))
    return Span(source, _offset(lines, line, column), _offset(lines, end_line, end_column))


def _offset(lines: list[str], line: int, column: int) -> int:
    """Return the index of the character at byte `column` of `line`."""
    before = lines[line - 1].encode()[:column].decode(errors="ignore")
    return sum(map(len, lines[: line - 1])) + len(before)
