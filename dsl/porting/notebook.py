"""Changes the names in the code cells of a Jupyter notebook (nbformat 4); everything else stays byte for byte."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any, NamedTuple, cast

from msgspec.structs import replace

from ...ir.diagnostics import Diagnostic, Source, Span, TvmsError, error
from .python import Edit, applied, edits_of

_STRING = re.compile(r'"(?:[^"\\]|\\.)*"', re.DOTALL)
_MAGIC = re.compile(r"^((?:[^\n#'\"]*=)?[ \t]*)(?:%{1,2}\w|[!?][^\n])|\?(?=[ \t]*$)", re.MULTILINE)
"""Magic commands, commands of the shell and questions, which are not Python."""
_FOREIGN = re.compile(r"\s*%%(?!time|timeit|capture|prun)\w")
"""The first line of a cell in another language."""


class _Chunk(NamedTuple):
    """A part of a code cell: its text, and its literal in the file, from `start` to `end`."""

    text: str
    start: int
    end: int


def port_notebook(source: Source) -> tuple[str, tuple[Diagnostic, ...]]:
    """Return the notebook with the names of tvms in its code cells, and a warning E0820 for each name that tvms lacks.

    Cells are read in order, as one program. Lines of magic commands stay, as do cells in other languages. Raises E0821 if
    the file is not a notebook, or its cells are not valid Python.
    """
    chunks = list(_chunks(source))
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
        without = _MAGIC.sub(lambda found: "#" if found[1] is None else f"{found[1]}0#".ljust(len(found[0]), "#"), text)
        return edits_of(Source(name, without))


def _inside(edits: list[Edit], start: int, end: int) -> Iterator[Edit]:
    """Yield the parts of edits within a chunk, relative to its start; the first part has the new text."""
    for edit in edits:
        first, last = max(edit.start, start), min(edit.end, end)
        if first < last or (edit.start == edit.end and start < first <= end):
            yield Edit(first - start, last - start, edit.text if edit.start >= start else "")


def _chunks(source: Source) -> Iterator[_Chunk]:
    """Yield the lines of the code cells of a notebook; a line without a place ends each cell."""
    try:
        document = json.loads(source.text, object_pairs_hook=_Object)
    except (json.JSONDecodeError, RecursionError) as problem:
        at = problem.pos if isinstance(problem, json.JSONDecodeError) else 0
        help = "give a file of Jupyter (.ipynb)"
        raise error("E0821", "this notebook is not valid JSON", Span(source, at, at), help) from None
    cells = dict(document).get("cells") if isinstance(document, _Object) else None
    if not isinstance(cells, list):
        help = "open it in Jupyter and save it in format 4"
        raise error("E0821", "this file has no list of cells", Span(source, 0, 0), help)
    literals = _STRING.finditer(source.text)
    for (text, is_code, ends_cell), literal in zip(_strings(document, "document"), literals, strict=True):
        if is_code:
            yield _Chunk(text, *literal.span())
            if ends_cell:
                yield _Chunk("\n", 0, 0)


class _Object(list[tuple[str, Any]]):
    """The members of an object in JSON, in order."""


def _strings(value: Any, role: str) -> Iterator[tuple[str, bool, bool]]:
    """Yield the strings of a document in order: the text, whether it is code, and whether it is the last line of a cell.

    `role` is "document", "cells", "cell", "source", or "" for any other part.
    """
    if isinstance(value, str):
        yield value, role in ("source", "end"), role == "end"
    elif isinstance(value, _Object):
        parts = _ROLES.get(role, {})
        if role == "cell" and not _is_python(dict(value)):
            parts = {}
        for key, item in value:
            yield key, False, False
            part = parts.get(key, "")
            yield from _strings(item, "end" if part == "source" and isinstance(item, str) else part)
    elif isinstance(value, list):
        part = {"cells": "cell", "source": "source"}.get(role, "")
        lines = cast("list[Any]", value)
        for index, item in enumerate(lines):
            yield from _strings(item, "end" if part == "source" and index == len(lines) - 1 else part)


_ROLES = {"document": {"cells": "cells"}, "cell": {"source": "source"}}
"""Roles of the members of objects by their keys."""


def _is_python(cell: dict[str, Any]) -> bool:
    source = cell.get("source", "")
    text = "".join(cast("list[str]", source)) if isinstance(source, list) else source
    return cell.get("cell_type") == "code" and not _FOREIGN.match(text)


def _placed(found: Diagnostic, source: Source, chunks: list[_Chunk]) -> Diagnostic:
    """Return a finding about the joined cells with its line of the notebook."""
    if found.span is None:
        return found
    at = 0
    for chunk in chunks:
        if at <= found.span.start < at + len(chunk.text) and chunk.end:
            return replace(found, span=Span(source, chunk.start, chunk.end))
        at += len(chunk.text)
    return replace(found, span=Span(source, 0, 0))
