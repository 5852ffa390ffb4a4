"""Any text is either a program that prints, or has errors with a reason, a position and a remedy."""

from __future__ import annotations

import time
from collections.abc import Iterable, Sequence

from hypothesis import strategies as st

from ....ir.base import Source
from ....ir.codes import CODES
from ....ir.diagnostics import Diagnostic, TvmsError
from ....ir.verify import verify
from ...diagnostics import render
from ...load import parse_source
from ...reports import FORMATS
from ..oracle import Execute
from ..texts import damaged_texts
from .law import Law

SECONDS = 2.0
"""Maximum number of seconds to read and check a text of some lines."""
WHOLE_FILE = ("E0001", "E0002", "E0003", "E0004")
"""Codes of errors without a position in the text."""


def _examples(file: Source | None) -> st.SearchStrategy[str]:
    return damaged_texts(None if file is None else file.text)


def _errors_of(text: str) -> Sequence[Diagnostic]:
    try:
        module = parse_source(Source("example.tvms", text))
        found = verify(module)
        if not any(diagnostic.severity == "error" for diagnostic in found):
            module.script()
    except TvmsError as problem:
        return problem.diagnostics
    return found


def _check(text: str, execute: Execute) -> None:
    start = time.process_time()
    found = _errors_of(text)
    seconds = time.process_time() - start
    assert seconds < SECONDS, f"took {seconds:.1f} s"
    for diagnostic in found:
        check_diagnostic(diagnostic, text)
    assert render(found, color=True) or not found
    for report in FORMATS.values():
        report(found)


def check_diagnostic(diagnostic: Diagnostic, text: str) -> None:
    """Assert that a diagnostic has a known code, a reason, a place in `text`, and help."""
    assert diagnostic.code in CODES, f"{diagnostic.code} is not a known code"
    assert diagnostic.message, f"{diagnostic.code} gives no reason"
    assert diagnostic.span or diagnostic.code in WHOLE_FILE, f"no position: {diagnostic.code} {diagnostic.message}"
    for span in (diagnostic.span, *(note.span for note in diagnostic.notes)):
        assert span is None or 0 <= span.start <= span.end <= len(text), (
            f"outside the text: {diagnostic.code} {diagnostic.message}"
        )


def _constructs(text: str) -> Iterable[str]:
    return {error.code for error in _errors_of(text)} or {"no error"}


LAW = Law(
    _examples, _check, read=lambda source: source.text, constructs=_constructs,
    expected=frozenset(["E0008", "E0009", "E0012", "E0101", "E0103", "E0105", "E0235"]),
)  # fmt: skip
