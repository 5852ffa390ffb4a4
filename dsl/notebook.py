"""Reads Jupyter notebooks (nbformat 4): the code of their cells, with its place in the JSON of the file."""

from __future__ import annotations

import json
import re
from collections.abc import Container, Iterator
from typing import Any, NamedTuple, cast

from ..ir.diagnostics import Source, Span, error

_STRING = re.compile(r'"(?:[^"\\]|\\.)*"', re.DOTALL)
_MAGIC = re.compile(r"^((?:[^\n#'\"]*=)?[ \t]*)(?:%{1,2}\w|[!?][^\n])|\?(?=[ \t]*$)", re.MULTILINE)
"""Magic commands, commands of the shell and questions, which are not Python."""
_LANGUAGE = re.compile(r"\s*%%(?!(?:time|timeit|capture|prun)\b)(\w+)")
"""The first line of a cell that is not Python."""


class Chunk(NamedTuple):
    """A part of a code cell: its text, and its literal in the file, from `start` to `end`."""

    text: str
    start: int
    end: int


def language_of(text: str) -> str:
    """Return the language of a code cell: "python", or the name of its cell magic, such as "tvms"."""
    found = _LANGUAGE.match(text)
    return found[1] if found else "python"


def chunks_of(source: Source, languages: Container[str] = ("python",)) -> Iterator[Chunk]:
    """Yield the lines of the code cells in `languages`; a line without a place ends each code cell, also in other languages.

    Cells with the tag `raises-exception`, by which notebooks mark cells that show an error, are left out.
    """
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
    for found in _strings(document, "document", languages):
        if found is None:
            yield Chunk("\n", 0, 0)
        else:
            literal, (text, is_code) = next(literals), found
            if is_code:
                yield Chunk(text, *literal.span())


class _Object(list[tuple[str, Any]]):
    """The members of an object in JSON, in order."""


def _strings(value: Any, role: str, languages: Container[str]) -> Iterator[tuple[str, bool] | None]:
    """Yield the strings of a document in order: the text, and whether it is code in `languages`; None ends a code cell.

    `role` is "document", "cells", "cell", "source", or "" for any other part.
    """
    if isinstance(value, str):
        yield value, role == "source"
    elif isinstance(value, _Object):
        parts = _ROLES.get(role, {})
        is_code = role == "cell" and dict(value).get("cell_type") == "code"
        if role == "cell" and not (is_code and _is_read(dict(value), languages)):
            parts = {}
        for key, item in value:
            yield key, False
            yield from _strings(item, parts.get(key, ""), languages)
        if is_code:
            yield None
    elif isinstance(value, list):
        part = {"cells": "cell", "source": "source"}.get(role, "")
        for item in cast("list[Any]", value):
            yield from _strings(item, part, languages)


_ROLES = {"document": {"cells": "cells"}, "cell": {"source": "source"}}
"""Roles of the members of objects by their keys."""


def _is_read(cell: dict[str, Any], languages: Container[str]) -> bool:
    """Return whether a code cell is in one of `languages`, and is not tagged as one that shows an error."""
    metadata = cell.get("metadata")
    tags: Any = dict(metadata).get("tags") if isinstance(metadata, _Object) else None
    shows_error = isinstance(tags, list) and "raises-exception" in tags
    return not shows_error and language_of(_text_of(cell)) in languages


def _text_of(cell: dict[str, Any]) -> str:
    source: Any = cell.get("source", "")
    lines = cast("list[Any]", source) if isinstance(source, list) else [source]
    return "".join(line for line in lines if isinstance(line, str))


def without_magics(text: str) -> str:
    """Return the code of cells with magic commands as comments of the same length."""
    return _MAGIC.sub(lambda found: "#" if found[1] is None else f"{found[1]}0#".ljust(len(found[0]), "#"), text)
