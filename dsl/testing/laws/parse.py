"""Any text is either a program that prints, or has errors with a reason, a position and a remedy. A text that is also Python
computes what Python does.
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Sequence
from typing import TypeAlias

from hypothesis import strategies as st

from ....ir.base import Source
from ....ir.codes import CODES
from ....ir.diagnostics import Diagnostic, TvmsError
from ....ir.verify import verify
from ...diagnostics import render
from ...load import parse_source
from ...reports import FORMATS
from ..choices import drawn
from ..oracle import Execute
from ..python_texts import PythonText, python_text
from ..texts import damaged_texts
from .law import Law

SECONDS = 2.0
"""Maximum number of seconds to read and check a text of some lines."""
WHOLE_FILE = ("E0001", "E0002", "E0003", "E0004")
"""Codes of errors without a position in the text."""


_Example: TypeAlias = str | PythonText


def _examples(file: Source | None) -> st.SearchStrategy[_Example]:
    damaged = damaged_texts(None if file is None else file.text)
    if file is not None:
        return damaged
    return drawn(lambda choose: python_text(choose) if choose.rarely(3) else choose.draw(damaged))


def _errors_of(text: str) -> Sequence[Diagnostic]:
    try:
        module = parse_source(Source("example.tvms", text))
        found = verify(module)
        if not any(diagnostic.severity == "error" for diagnostic in found):
            module.script()
    except TvmsError as problem:
        return problem.diagnostics
    return found


def _check(example: _Example, execute: Execute) -> None:
    if isinstance(example, PythonText):
        return _check_meaning(example)
    text, start = example, time.process_time()
    found = _errors_of(text)
    seconds = time.process_time() - start
    assert seconds < SECONDS, f"took {seconds:.1f} s"
    for diagnostic in found:
        check_diagnostic(diagnostic, text)
    assert render(found, color=True) or not found
    for report in FORMATS.values():
        report(found)
    return None


def _check_meaning(example: PythonText) -> None:
    import numpy as np

    from ....ir.interp import run

    module = parse_source(Source("example.tvms", example.text))
    memory = np.zeros(len(example.expected()), "int32")
    run(module, "main", [memory, example.x, example.y])
    found = memory.tolist()
    assert found == example.expected(), f"computes {found}, but Python computes {example.expected()}"


def check_diagnostic(diagnostic: Diagnostic, text: str) -> None:
    """Assert that a diagnostic has a known code, a reason, a place in `text`, and help."""
    assert diagnostic.code in CODES, f"{diagnostic.code} is not a known code"
    assert diagnostic.message, f"{diagnostic.code} gives no reason"
    assert diagnostic.span or diagnostic.code in WHOLE_FILE, f"no position: {diagnostic.code} {diagnostic.message}"
    for span in (diagnostic.span, *(note.span for note in diagnostic.notes)):
        assert span is None or 0 <= span.start <= span.end <= len(text), (
            f"outside the text: {diagnostic.code} {diagnostic.message}"
        )


def _constructs(example: _Example) -> Iterable[str]:
    if isinstance(example, PythonText):
        return {"Python"}
    return {error.code for error in _errors_of(example)} or {"no error"}


LAW = Law(
    _examples, _check, read=lambda source: PythonText.read(source.text) or source.text, constructs=_constructs,
    expected=frozenset(["Python", "E0008", "E0009", "E0012", "E0101", "E0103", "E0105", "E0235"]),
)  # fmt: skip
