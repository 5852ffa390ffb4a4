"""Completion: words of the language, names, keyword arguments, and texts in strings such as the names of blocks."""

from __future__ import annotations

from collections.abc import Iterator

from lsprotocol import types as lsp

from ...ir.dtype import is_dtype
from .cursor import Cursor, cursor_at, path_before
from .document import Document
from .hover import word_named
from .vocabulary import Word, members, vocabulary

_KINDS = {
    "function": lsp.CompletionItemKind.Function,
    "schedule": lsp.CompletionItemKind.Function,
    "macro": lsp.CompletionItemKind.Function,
    "module": lsp.CompletionItemKind.Module,
    "constant": lsp.CompletionItemKind.Constant,
    "buffer": lsp.CompletionItemKind.Field,
}
_SNIPPETS = {
    "T.prim_func": "T.prim_func ${1:name}(${2:A}: T.Buffer((${3:128},), \"float32\")):\n\t$0",
    "R.function": "R.function ${1:main}(${2:x}: R.Tensor((${3:128},), \"float32\")):\n\t$0",
    "S.schedule": "S.schedule ${1:tiled}(${2:function}):\n\tblock = S.get_block(\"$3\")\n\t$0",
    "I.ir_module": "I.ir_module ${1:Module}:\n\t$0",
    "T.block": "with T.block(\"${1:name}\"):\n\t$0",
    "T.grid": "for ${1:i, j} in T.grid(${2:128, 128}):\n\t$0",
    "R.dataflow": "with R.dataflow():\n\t$0",
}  # fmt: skip
_AXIS_KINDS = {"S": "spatial", "R": "reduction", "O": "opaque"}


def complete(document: Document, offset: int) -> list[lsp.CompletionItem]:
    """Return what may be written at an offset."""
    text = document.lines.text
    placed = document.chunk_at(offset)
    cursor = cursor_at(text, offset, placed.start if placed else 0)
    if cursor.is_comment:
        return []
    if cursor.string is not None:
        return list(_in_string(document, cursor))
    path = path_before(text, offset)
    owner, dot, _ = path.rpartition(".")
    if dot:
        return list(_members(document, owner))
    return [*_keywords(cursor), *_names(document, offset), *_namespaces(text, offset - len(path))]


def _in_string(document: Document, cursor: Cursor) -> Iterator[lsp.CompletionItem]:
    """Yield texts for a string: names of blocks, kinds of axes, dtypes."""
    name = cursor.calls[-1].name if cursor.calls else ""
    if name.endswith((".get_block", ".get_sblock")):
        for block in dict.fromkeys(document.blocks()):
            yield lsp.CompletionItem(block, kind=lsp.CompletionItemKind.Value)
    elif name.endswith(".remap"):
        for kind, meaning in _AXIS_KINDS.items():
            yield lsp.CompletionItem(kind, detail=meaning, kind=lsp.CompletionItemKind.EnumMember)
    else:
        for name in members("T"):
            if is_dtype(name):
                yield lsp.CompletionItem(name, kind=lsp.CompletionItemKind.TypeParameter)


def _members(document: Document, owner: str) -> Iterator[lsp.CompletionItem]:
    """Yield what may follow a dot."""
    if owner in ("cls", document.division.module):
        for name in document.definitions():
            yield lsp.CompletionItem(name, kind=lsp.CompletionItemKind.Function)
        return
    found = members(owner)
    if not found and "." not in owner:  # a buffer or an expression
        found = {**members("A"), **members("x")}
    for name, word in found.items():
        if word is None:
            yield lsp.CompletionItem(name, kind=lsp.CompletionItemKind.Module)
        else:
            yield _item(name, word)


def _item(label: str, word: Word, insert: str | None = None) -> lsp.CompletionItem:
    kinds = {"type": lsp.CompletionItemKind.Class, "definition": lsp.CompletionItemKind.Keyword}
    return lsp.CompletionItem(
        label,
        kind=kinds.get(word.kind, lsp.CompletionItemKind.Function),
        detail=f"{word.name}{word.arguments}",
        documentation=lsp.MarkupContent(lsp.MarkupKind.Markdown, word.doc),
        insert_text=insert,
        insert_text_format=lsp.InsertTextFormat.Snippet if insert else None,
    )


def _keywords(cursor: Cursor) -> Iterator[lsp.CompletionItem]:
    """Yield the keyword arguments of the call around."""
    call = cursor.calls[-1] if cursor.calls else None
    word = word_named(call.name) if call and call.bracket == "(" and call.keyword is None else None
    for parameter in word.parameters if word else ():
        name, equals, default = parameter.partition("=")
        if not name.startswith("*"):
            yield lsp.CompletionItem(
                f"{name}=", kind=lsp.CompletionItemKind.Property, detail=f"default: {default}" if equals else None
            )


def _names(document: Document, offset: int) -> Iterator[lsp.CompletionItem]:
    """Yield the names in scope."""
    placed = document.chunk_at(offset)
    if placed is not None:
        for name, symbol in placed.chunk.names.visible(offset - placed.start).items():
            yield lsp.CompletionItem(
                name, kind=_KINDS.get(symbol.kind, lsp.CompletionItemKind.Variable), detail=symbol.kind
            )
    for name in document.definitions():
        yield lsp.CompletionItem(name, kind=lsp.CompletionItemKind.Function)


def _namespaces(text: str, start: int) -> Iterator[lsp.CompletionItem]:
    """Yield the namespaces, and snippets at the start of a line."""
    for letter, meaning in (("T", "loops"), ("R", "graphs"), ("S", "schedules"), ("I", "modules")):
        yield lsp.CompletionItem(letter, kind=lsp.CompletionItemKind.Module, detail=meaning)
    if not text[text.rfind("\n", 0, start) + 1 : start].strip():
        for name, snippet in _SNIPPETS.items():
            yield _item(name, vocabulary()[name], snippet)
