"""Definitions inside other files: decorated functions and classes of Python programs, notebooks and Markdown pages.

`read_host` finds them with Python's own parser; nothing is executed. What a definition captures from its program is known
where that is a dialect, a macro, or a constant that is assigned once; other values are given by the user.
"""

from __future__ import annotations

import ast
import json
import os
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple

from ...ir.diagnostics import Source
from ..edits import Edit, applied
from ..notebook import Chunk, chunks_of, language_of, without_magics
from .host import Cell, Definition, Host
from .python import definitions_of, is_script, names_a_definition, parsed

__all__ = ["PATTERNS", "Definition", "Host", "edited", "is_host", "read_host", "rewritten"]

PATTERNS = ("*.py", "*.pyi", "*.ipynb", "*.md")
"""The files that may be hosts."""
_FENCE = re.compile(r"^(?P<indent>[ \t]*)(?P<fence>`{3,}|~{3,})[ \t]*\{?\.?(?P<language>[\w+-]*)[^\n`]*$", re.MULTILINE)
_PYTHON = frozenset(("python", "py", "python3"))


def is_host(name: str) -> bool:
    """Return whether a file's name is that of a Python program, a notebook or a Markdown page."""
    return os.path.splitext(name)[1].lower() in {pattern.removeprefix("*") for pattern in PATTERNS}


def read_host(source: Source) -> Host | None:
    """Return the definitions in a host; None for a text that is read as a whole: any other file, or a Python file of
    nothing but definitions and constants, or that is not valid Python.

    Raise E0821 for a file .ipynb that is not a notebook.
    """
    if not is_host(source.name):
        return None
    if source.name.lower().endswith(".ipynb"):
        cells = [_cell(cell.source) for cell in _notebook_cells(source)]
    elif source.name.lower().endswith(".md"):
        cells = list(_blocks(source))
    else:
        cells = [Cell(source, 0, len(source.text))]
        tree = parsed(cells[0])
        if tree is None or is_script(tree):
            return None
        return Host(source, tuple(definitions_of([(cells[0], tree)])))
    return Host(source, tuple(_definitions(cells)))


def _definitions(cells: Sequence[Cell]) -> Iterator[Definition]:
    """Yield the definitions of cells: those of Python code, and whole cells of other code that contain some."""
    programs: list[tuple[Cell, ast.Module]] = []
    texts: list[Definition] = []
    for index, cell in enumerate(cells):
        code = cell.source.text[cell.start : cell.end]
        tree = (parsed(cell) or parsed(cell, without_magics(code))) if cell.is_python else None
        if tree is not None:
            programs.append((cell, tree))
        elif names_a_definition(code) or _is_magic(cell):
            texts.append(Definition(f"block{index + 1}", cell.source, cell.start, cell.end, is_python=cell.is_python))
    places = {id(cell.source): index for index, cell in enumerate(cells)}
    found = [*definitions_of(programs), *texts]
    yield from sorted(found, key=lambda definition: (places[id(definition.source)], definition.start))


def _is_magic(cell: Cell) -> bool:
    """Return whether a cell is the text below `%%tvms`: a module, even if it shows no definition."""
    return not cell.is_python and language_of(cell.source.text) == "tvms"


def _cell(source: Source) -> Cell:
    """Return a cell of a notebook: Python, or the text below a line `%%tvms`."""
    is_python = language_of(source.text) == "python"
    start = 0 if is_python else source.text.find("\n", source.text.index("%%")) + 1
    return Cell(source, start if is_python or start else len(source.text), len(source.text), is_python)


def _blocks(source: Source) -> Iterator[Cell]:
    """Yield the blocks of a page whose language is Python or tvms (CommonMark, fenced code blocks)."""
    text, at = source.text, 0
    while opening := _FENCE.search(text, at):
        closing = re.compile(rf"^[ \t]*{opening['fence'][0]}{{{len(opening['fence'])},}}[ \t]*\r?$", re.MULTILINE)
        start = min(opening.end() + 1, len(text))
        found = closing.search(text, start)
        end = found.start() if found else len(text)
        language = opening["language"].lower()
        if start < end and (language == "tvms" or language in _PYTHON):
            yield Cell(source, start, end, language != "tvms")
        at = found.end() if found else len(text)


class _NotebookCell(NamedTuple):
    """A code cell of a notebook: its text, and the literals of its lines in the file."""

    source: Source
    chunks: list[Chunk]


def _notebook_cells(source: Source) -> list[_NotebookCell]:
    cells: list[_NotebookCell] = []
    chunks: list[Chunk] = []
    number = 1
    for chunk in chunks_of(source, ("python", "tvms")):
        if chunk.end:
            chunks.append(chunk)
            continue
        if chunks:
            text = "".join(piece.text for piece in chunks)
            cells.append(_NotebookCell(Source(f"{source.name}:cell {number}", text), chunks))
        chunks, number = [], number + 1
    return cells


def sources_of(source: Source) -> list[Source]:
    """Return the cells of a notebook that are Python; of any other file, the file itself."""
    if not source.name.lower().endswith(".ipynb"):
        return [source]
    return [cell.source for cell in _notebook_cells(source) if language_of(cell.source.text) == "python"]


def rewritten(host: Host, texts: Mapping[Definition, str]) -> str:
    """Return the text of a host in which definitions have new texts; every other character is unchanged."""
    changes = [
        (definition.source, Edit(definition.start, definition.end, definition.indented(text)))
        for definition, text in texts.items()
    ]
    return edited(host, changes)


def edited(host: Host, changes: Iterable[tuple[Source, Edit]]) -> str:
    """Return the text of a host after edits of its sources, which do not overlap."""
    edits: dict[str, list[Edit]] = {}
    for source, edit in changes:
        edits.setdefault(source.name, []).append(edit)
    own = edits.pop(host.source.name, [])
    if edits:
        for cell in _notebook_cells(host.source):
            inside = edits.get(cell.source.name)
            if inside:
                own.append(_literals(host.source.text, cell, applied(cell.source.text, sorted(inside))))
    return applied(host.source.text, sorted(own))


def _literals(text: str, cell: _NotebookCell, new: str) -> Edit:
    """Return the edit of a notebook that gives a cell a new text; literals of lines that stay are kept as they are."""
    first, last = cell.chunks[0], cell.chunks[-1]
    is_ascii = text[first.start : last.end].isascii()
    known = {chunk.text: text[chunk.start : chunk.end] for chunk in cell.chunks}
    is_list = text[: first.start].rstrip().endswith("[")
    if not is_list:
        return Edit(first.start, first.end, json.dumps(new, ensure_ascii=is_ascii))
    if len(cell.chunks) > 1:
        separator = text[first.end : cell.chunks[1].start]
    else:
        before = text[: first.start]
        separator = "," + (before[len(before.rstrip()) :] or " ")
    lines = new.splitlines(keepends=True) if "\r" not in new else new.split("\n")
    literals = (known.get(line) or json.dumps(line, ensure_ascii=is_ascii) for line in lines)
    return Edit(first.start, last.end, separator.join(literals))
