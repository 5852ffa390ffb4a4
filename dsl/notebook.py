"""Reads Jupyter notebooks (nbformat 4): the code of their cells, with its place in the JSON of the file."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any, NamedTuple, cast

from ..ir.diagnostics import Source, Span, error

_STRING = re.compile(r'"(?:[^"\\]|\\.)*"', re.DOTALL)
_MAGIC = re.compile(r"^((?:[^\n#'\"]*=)?[ \t]*)(?:%{1,2}\w|[!?][^\n])|\?(?=[ \t]*$)", re.MULTILINE)
"""Magic commands, commands of the shell and questions, which are not Python."""
_FOREIGN = re.compile(r"\s*%%(?!time|timeit|capture|prun)\w")
"""The first line of a cell in another language."""


class Chunk(NamedTuple):
    """A part of a code cell: its text, and its literal in the file, from `start` to `end`."""

    text: str
    start: int
    end: int


def chunks_of(source: Source) -> Iterator[Chunk]:
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
            yield Chunk(text, *literal.span())
            if ends_cell:
                yield Chunk("\n", 0, 0)


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


def without_magics(text: str) -> str:
    """Return the code of cells with magic commands as comments of the same length."""
    return _MAGIC.sub(lambda found: "#" if found[1] is None else f"{found[1]}0#".ljust(len(found[0]), "#"), text)
