"""Definitions, references, highlights, and renaming, across functions and the schedules that name their blocks."""

from __future__ import annotations

import re

from lsprotocol import types as lsp

from .chunks import Placed
from .document import Document
from .scopes import Occurrence

_NAME = re.compile(r"[^\W\d]\w*")
_RESERVED = frozenset((
    "and", "as", "assert", "class", "def", "elif", "else", "False", "for", "from", "if", "import", "in", "is", "lambda", "None", "not",
    "or", "pass", "return", "True", "while", "with", "I", "R", "S", "T", "cls",
))  # fmt: skip


class CannotRename(Exception):
    """What is at the position has no name of the user's, or the new name is not possible."""


def definitions(document: Document, offset: int) -> list[lsp.Location]:
    """Return where the name at an offset is defined: the last definition before it, else the first one."""
    named = document.name_at(offset)
    if named is None:
        return []
    placed, found = named
    places = [(start, end) for start, end, is_definition in document.occurrences(placed, found) if is_definition]
    if not places:
        return []
    before = [place for place in places if place[0] <= placed.start + found.start]
    chosen = before[-1] if before and not found.symbol.is_shared else places[0]
    return [lsp.Location(document.uri, document.range(*chosen))]


def references(document: Document, offset: int, with_definition: bool) -> list[lsp.Location]:
    """Return all uses of the name at an offset."""
    named = document.name_at(offset)
    if named is None or named[1].symbol.kind == "namespace":
        return []
    return [
        lsp.Location(document.uri, document.range(start, end))
        for start, end, is_definition in document.occurrences(*named)
        if with_definition or not is_definition
    ]


def highlights(document: Document, offset: int) -> list[lsp.DocumentHighlight]:
    """Return the occurrences of the name at an offset, as writes and reads."""
    named = document.name_at(offset)
    if named is None or named[1].symbol.kind == "namespace":
        return []
    return [
        lsp.DocumentHighlight(
            document.range(start, end),
            lsp.DocumentHighlightKind.Write if is_definition else lsp.DocumentHighlightKind.Read,
        )
        for start, end, is_definition in document.occurrences(*named)
    ]


def renamable(document: Document, offset: int) -> tuple[Placed, Occurrence]:
    """Return the name at an offset; raise CannotRename for words of the language."""
    named = document.name_at(offset)
    if named is None or named[1].symbol.kind == "namespace" or named[1].symbol.name == "cls":
        raise CannotRename("only names that the text defines can be renamed")
    if not any(is_definition for _, _, is_definition in document.occurrences(*named)):
        raise CannotRename(f"'{named[1].symbol.name}' is not defined in this text")
    return named


def rename(document: Document, offset: int, new: str) -> lsp.WorkspaceEdit:
    """Return the edits that rename the name at an offset; raise CannotRename if the new name is not free."""
    placed, found = renamable(document, offset)
    is_block = found.symbol.kind == "block"
    if (not is_block and (not _NAME.fullmatch(new) or new in _RESERVED)) or (
        is_block and not re.fullmatch(r"[^\"'\\\n]+", new)
    ):
        raise CannotRename(f"'{new}' is not a name: use letters, digits and underscores")
    if new != found.symbol.name and _is_taken(document, placed, found, new):
        raise CannotRename(f"'{new}' is already used here")
    edits = [lsp.TextEdit(document.range(start, end), new) for start, end, _ in document.occurrences(placed, found)]
    return lsp.WorkspaceEdit(changes={document.uri: edits})


def _is_taken(document: Document, placed: Placed, found: Occurrence, new: str) -> bool:
    """Return whether a name occurs where the renamed one would be visible."""
    if found.symbol.kind == "block":
        return any(other.symbol.key == ("block", found.symbol.owner, new) for other in placed.chunk.names.occurrences)
    chunks = document.chunks if found.symbol.is_global else (placed,)
    return any(other.symbol.name == new for placed in chunks for other in placed.chunk.names.occurrences)
