"""Hover and signature help."""

from __future__ import annotations

from lsprotocol import types as lsp

from .cursor import cursor_at, path_at
from .document import Document
from .facts import described, fact_about
from .scopes import Symbol
from .vocabulary import Word, vocabulary


def hover(document: Document, offset: int) -> lsp.Hover | None:
    """Return the description of what is at an offset: a word of the language, or a name with its type."""
    text = document.lines.text
    named = document.name_at(offset)
    if named is not None and named[1].symbol.kind != "namespace":
        placed, found = named
        shown = about(document, found.symbol, placed.start)
        if shown:
            return _hover(document, shown, placed.start + found.start, placed.start + found.end)
    path = path_at(text, offset)
    word = word_named(path[0]) if path else None
    if path is None or word is None:
        return None
    return _hover(document, word.markdown, path[1], path[2])


def _hover(document: Document, markdown: str, start: int, end: int) -> lsp.Hover:
    return lsp.Hover(lsp.MarkupContent(lsp.MarkupKind.Markdown, markdown), document.range(start, end))


def word_named(path: str) -> Word | None:
    """Return the word of the language that a dotted name means; methods are found by their own name."""
    words = vocabulary()
    method = path.rpartition(".")[2]
    return words.get(path) or (
        words.get(f"A.{method}") or words.get(f"x.{method}") if path[:2] not in _DOTTED else None
    )


_DOTTED = ("T.", "R.", "S.", "I.")


def about(document: Document, symbol: Symbol, start: int) -> str | None:
    """Return what is known of a symbol of the chunk at `start`."""
    if symbol.is_global:
        return _about_definition(document, symbol.name)
    placed = document.chunk_at(start)
    node = document.node_of(placed.chunk) if placed else None
    fact = fact_about(symbol, node, placed.chunk.source) if placed and node is not None else None
    return f"```tvms\n{described(symbol, fact)}\n```"


def _about_definition(document: Document, name: str) -> str | None:
    """Return the head of a definition of the module, and the comments above it."""
    found = document.definition_of(name)
    if found is None:
        return None
    placed, symbol = found
    text = placed.chunk.text
    line = text.rfind("\n", 0, symbol.start) + 1
    end = text.find("\n", symbol.end)
    head = text[line : len(text) if end < 0 else end].strip().rstrip(":")
    comments = [part.strip().lstrip("#").strip() for part in text[:line].splitlines() if part.strip().startswith("#")]
    return "\n".join(["```tvms", head, "```", *comments])


def signature_help(document: Document, offset: int) -> lsp.SignatureHelp | None:
    """Return the arguments of the call around an offset."""
    placed = document.chunk_at(offset)
    call = cursor_at(document.lines.text, offset, placed.start if placed else 0).call
    word = word_named(call.name) if call else None
    if call is None or word is None or not word.arguments:
        return None
    parameters = word.parameters
    names = [parameter.lstrip("*").partition("=")[0] for parameter in parameters]
    active = names.index(call.keyword) if call.keyword in names else min(call.position, len(names) - 1)
    signature = lsp.SignatureInformation(
        f"{word.name}{word.arguments}",
        lsp.MarkupContent(lsp.MarkupKind.Markdown, word.doc),
        [lsp.ParameterInformation(parameter) for parameter in parameters],
    )
    return lsp.SignatureHelp([signature], 0, max(active, 0))
