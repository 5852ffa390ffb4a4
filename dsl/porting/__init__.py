"""Ports Python programs for Apache TVM: `tvms port`."""

from __future__ import annotations

import json
from collections.abc import Iterator

from msgspec.structs import replace

from ...ir.diagnostics import Diagnostic, Source, Span, TvmsError
from ..edits import Edit, applied
from ..notebook import Chunk, chunks_of, without_magics
from .python import edits_of, port_python

__all__ = ["port"]


def port(source: Source) -> tuple[str, tuple[Diagnostic, ...]]:
    """Return a Python program, or the notebook if its name ends in .ipynb, with imports and names of tvms.

    Nothing is executed. The second result has a warning E0820 for each name that tvms lacks. Raises E0821 if the text is
    not valid Python, or not a notebook.
    """
    return _port_notebook(source) if source.name.endswith(".ipynb") else port_python(source)


def _port_notebook(source: Source) -> tuple[str, tuple[Diagnostic, ...]]:
    """Return the notebook with the names of tvms in its code cells, and a warning E0820 for each name that tvms lacks.

    Cells are read in order, as one program. Lines of magic commands stay, as do cells in other languages. Raises E0821 if
    the file is not a notebook, or its cells are not valid Python.
    """
    chunks = list(chunks_of(source))
    text = "".join(chunk.text for chunk in chunks)
    try:
        edits, findings = _edits(source.name, text)
    except TvmsError as problem:
        raise TvmsError([_placed(found, source, chunks) for found in problem.diagnostics]) from None
    changes: list[Edit] = []
    at = 0
    for chunk in chunks:
        inside = list(_inside(edits, at, at + len(chunk.text)))
        if inside and chunk.end:
            is_ascii = source.text[chunk.start : chunk.end].isascii()
            changes.append(Edit(chunk.start, chunk.end, json.dumps(applied(chunk.text, inside), ensure_ascii=is_ascii)))
        at += len(chunk.text)
    return applied(source.text, changes), tuple(_placed(found, source, chunks) for found in findings)


def _edits(name: str, text: str) -> tuple[list[Edit], tuple[Diagnostic, ...]]:
    try:
        return edits_of(Source(name, text))
    except TvmsError:
        return edits_of(Source(name, without_magics(text)))


def _inside(edits: list[Edit], start: int, end: int) -> Iterator[Edit]:
    """Yield the parts of edits within a chunk, relative to its start; the first part has the new text."""
    for edit in edits:
        first, last = max(edit.start, start), min(edit.end, end)
        if first < last or (edit.start == edit.end and start < first <= end):
            yield Edit(first - start, last - start, edit.text if edit.start >= start else "")


def _placed(found: Diagnostic, source: Source, chunks: list[Chunk]) -> Diagnostic:
    """Return a finding about the joined cells with its line of the notebook."""
    if found.span is None:
        return found
    at = 0
    for chunk in chunks:
        if at <= found.span.start < at + len(chunk.text) and chunk.end:
            return replace(found, span=Span(source, chunk.start, chunk.end))
        at += len(chunk.text)
    return replace(found, span=Span(source, 0, 0))
