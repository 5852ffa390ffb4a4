"""Semantic tokens: the colors of words, from the tokens of the text and the names that it defines."""

from __future__ import annotations

from typing import Any, NamedTuple

from lsprotocol import types as lsp
from pygments.token import Comment, Keyword, Name, Number, Operator, String

from ..highlighting import TvmsLexer
from .chunks import Chunk, per_chunk
from .document import Document
from .lines import Lines

TYPES = (
    "namespace", "type", "parameter", "variable", "property", "function", "macro", "keyword", "comment", "string", "number", "operator", "event",
)  # fmt: skip
MODIFIERS = ("declaration", "readonly", "defaultLibrary")
_KINDS = {
    "function": "function", "schedule": "event", "macro": "macro", "constant": "variable", "module": "namespace", "namespace": "namespace",
    "parameter": "parameter", "variable": "variable", "loop": "variable", "axis": "variable", "buffer": "property", "handle": "variable",
    "dimension": "type", "block": "string",
}  # fmt: skip
_OF_TOKENS: tuple[tuple[Any, str], ...] = (
    (Comment, "comment"), (Keyword.Type, "type"), (Keyword, "keyword"), (Operator.Word, "keyword"), (String, "string"), (Number, "number"),
    (Operator, "operator"), (Name.Builtin, "function"), (Name.Decorator, "keyword"), (Name.Function, "function"),
)  # fmt: skip
_LEXER = TvmsLexer(stripnl=False, ensurenl=False)


class Colored(NamedTuple):
    """A word with a color."""

    start: int
    end: int
    kind: int
    modifiers: int


@per_chunk
def _colored(chunk: Chunk) -> tuple[tuple[int, int, int, int, int], ...]:
    """Return line, character, length, type and modifiers of the tokens of a chunk, by its own lines."""
    named = {found.start: found for found in chunk.names.occurrences if found.symbol.kind != "block"}
    lines = Lines(chunk.text)
    result: list[tuple[int, int, int, int, int]] = []
    for start, kind, text in _LEXER.get_tokens_unprocessed(chunk.text):
        for part in _parts(start, kind, text, named):
            place, end = lines.position(part.start), lines.position(part.end)
            if end.line == place.line:
                size = end.character - place.character
                result.append((place.line, place.character, size, part.kind, part.modifiers))
    return tuple(result)


def _parts(start: int, kind: Any, text: str, named: dict[int, Any]) -> list[Colored]:
    """Return the colored parts of a token: the words of a dotted form apart."""
    found = named.get(start)
    if found is not None and found.symbol.kind != "namespace" and found.end == start + len(text):
        modifiers = 1 if found.is_definition else 0
        return [Colored(start, found.end, TYPES.index(_KINDS[found.symbol.kind]), modifiers)]
    color = next((name for token, name in _OF_TOKENS if kind in token), None)
    if color is None:
        return []
    if "." in text and kind in Name.Builtin:
        namespace, dot, rest = text.partition(".")
        owner = Colored(start, start + len(namespace), TYPES.index("namespace"), 4)
        return (
            [owner, Colored(start + len(namespace) + len(dot), start + len(text), TYPES.index(color), 4)]
            if rest
            else [owner]
        )
    parts: list[Colored] = []
    for line in text.splitlines(keepends=True):
        if line.strip():
            parts.append(Colored(start, start + len(line.rstrip("\r\n")), TYPES.index(color), 0))
        start += len(line)
    return parts


def semantic_tokens(document: Document, within: lsp.Range | None = None) -> list[int]:
    """Return the tokens of a text, or of the lines of a range, each relative to the one before it."""
    data: list[int] = []
    before_line = before_character = 0
    for placed in (document.header, *document.chunks):
        base = document.lines.position(placed.start)
        if within is not None:
            last = document.lines.position(placed.end).line
            if last < within.start.line or base.line > within.end.line:
                continue
        for line, character, length, kind, modifiers in _colored(placed.chunk):
            at = base.line + line
            column = character + (base.character if line == 0 else 0)
            if within is not None and not within.start.line <= at <= within.end.line:
                continue
            data += (
                at - before_line,
                column - before_character if at == before_line else column,
                length,
                kind,
                modifiers,
            )
            before_line, before_character = at, column
    return data


def delta(old: list[int], new: list[int]) -> list[lsp.SemanticTokensEdit]:
    """Return the edit that turns old tokens into new ones."""
    start = 0
    while start < min(len(old), len(new)) and old[start] == new[start]:
        start += 1
    end = 0
    while end < min(len(old), len(new)) - start and old[-1 - end] == new[-1 - end]:
        end += 1
    if start == len(old) == len(new):
        return []
    return [lsp.SemanticTokensEdit(start, len(old) - start - end, new[start : len(new) - end])]
