"""The outline of a text: symbols, folding, selection ranges, links, calls, code lenses."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

from lsprotocol import types as lsp

from ...ir.deep import deep
from .. import syntax
from ..sidecar import sidecar_of
from .chunks import Placed
from .document import Document
from .scopes import children

_KINDS = {
    "function": lsp.SymbolKind.Function,
    "schedule": lsp.SymbolKind.Event,
    "macro": lsp.SymbolKind.Operator,
    "constant": lsp.SymbolKind.Constant,
    "block": lsp.SymbolKind.Struct,
    "buffer": lsp.SymbolKind.Field,
}
_CONSTANT = re.compile(r"\bI\.constant\(\s*[\"'][^\"'\n]*[\"']")


def symbols(document: Document) -> list[lsp.DocumentSymbol]:
    """Return the module with its definitions, their blocks and buffers."""
    found = [symbol for placed in document.chunks for symbol in _symbols_of(document, placed)]
    name = document.division.module
    if name is None or not found:
        return found
    whole = lsp.Range(document.lines.position(0), found[-1].range.end)
    at = document.division.header.rfind(name)
    return [lsp.DocumentSymbol(name, lsp.SymbolKind.Module, whole, document.range(at, at + len(name)), children=found)]


def _symbols_of(document: Document, placed: Placed) -> Iterator[lsp.DocumentSymbol]:
    names = placed.chunk.names
    ranges = {
        node.name_start: (node.start, node.end)
        for node in placed.chunk.outline.body
        if isinstance(node, syntax.Definition)
    }
    for occurrence in names.globals:
        start, end = ranges.get(occurrence.start, (occurrence.start, occurrence.end))
        parts: list[lsp.DocumentSymbol] = []
        for inner in names.occurrences:
            if inner.is_definition and inner.symbol.kind in ("block", "buffer") and start <= inner.start < end:
                place = document.range(placed.start + inner.start, placed.start + inner.end)
                parts.append(lsp.DocumentSymbol(inner.symbol.name, _KINDS[inner.symbol.kind], place, place))
        yield lsp.DocumentSymbol(
            occurrence.symbol.name,
            _KINDS.get(occurrence.symbol.kind, lsp.SymbolKind.Function),
            document.range(placed.start + start, placed.start + end),
            document.range(placed.start + occurrence.start, placed.start + occurrence.end),
            children=parts,
        )


def folding(document: Document) -> list[lsp.FoldingRange]:
    """Return the ranges of bodies, and of comments of several lines."""
    found: list[lsp.FoldingRange] = []
    for placed in document.chunks:
        for node in statements(placed.chunk.outline.body):
            if getattr(node, "body", None):
                first = document.lines.position(placed.start + node.start).line
                last = document.lines.position(placed.start + node.end).line
                if last > first:
                    found.append(lsp.FoldingRange(first, last))
    return [*found, *_comments(document)]


def _comments(document: Document) -> Iterator[lsp.FoldingRange]:
    start: int | None = None
    lines = document.lines.text.split("\n")
    for number, line in enumerate([*lines, ""]):
        is_comment = line.lstrip().startswith("#")
        if is_comment and start is None:
            start = number
        elif not is_comment and start is not None:
            if number - 1 > start:
                yield lsp.FoldingRange(start, number - 1, kind=lsp.FoldingRangeKind.Comment)
            start = None


def statements(body: tuple[syntax.Stmt, ...]) -> Iterator[syntax.Stmt]:
    """Yield statements and those in their bodies, from the outside in."""
    queue = list(body)
    for node in queue:
        yield node
        queue += [*getattr(node, "body", ()), *getattr(node, "orelse", ())]


_OUTERMOST, _INNERMOST = 50, 150
"""Maximum number of selection ranges of each kind: encoders of JSON, here and in editors, recurse into nested ranges."""


@deep
def selection(document: Document, offset: int) -> lsp.SelectionRange:
    """Return the ranges of the nodes around an offset, from the smallest to the whole text.

    If nodes are nested deeper than that, those in the middle are left out.
    """
    ranges = [(0, len(document.lines.text))]
    placed = document.chunk_at(offset)
    if placed is not None:
        nodes: list[syntax.Syntax] = list(placed.chunk.outline.body)
        while inside := [node for node in nodes if node.start <= offset - placed.start <= node.end]:
            node = min(inside, key=lambda part: part.end - part.start)
            span = placed.start + node.start, placed.start + node.end
            if span != ranges[-1]:
                ranges.append(span)
            nodes = list(children(node))
    if len(ranges) > _OUTERMOST + _INNERMOST:
        ranges[_OUTERMOST:-_INNERMOST] = []
    found: lsp.SelectionRange | None = None
    for start, end in ranges:
        found = lsp.SelectionRange(document.range(start, end), found)
    assert found is not None
    return found


def links(document: Document) -> list[lsp.DocumentLink]:
    """Return links from `I.constant("name")` to the file of tensors beside the text."""
    sidecar = sidecar_of(Path(document.name))
    if not sidecar.exists():
        return []
    return [
        lsp.DocumentLink(document.range(*found.span()), target=sidecar.resolve().as_uri())
        for found in _CONSTANT.finditer(document.lines.text)
    ]


def lenses(document: Document) -> list[lsp.CodeLens]:
    """Return the commands above each definition; a client runs them in processes of their own."""
    found: list[lsp.CodeLens] = []
    for name, (placed, symbol) in document.definitions().items():
        place = document.range(placed.start + symbol.start, placed.start + symbol.end)
        commands = {"function": ("Run", "Verify", "Show LLVM", "Show PTX", "Bench"), "schedule": ("Schedule",)}.get(
            symbol.kind, ()
        )
        for title in commands:
            command = lsp.Command(title, f"tvms.{title.replace(' ', '').lower()}", arguments=[document.uri, name])
            found.append(lsp.CodeLens(place, command))
    return found


# --- Calls


def call_item(document: Document, name: str) -> lsp.CallHierarchyItem | None:
    """Return a function of the module as an item of the hierarchy of calls."""
    found = document.definition_of(name)
    if found is None:
        return None
    placed, symbol = found
    place = document.range(placed.start + symbol.start, placed.start + symbol.end)
    kind = _KINDS.get(symbol.kind, lsp.SymbolKind.Function)
    return lsp.CallHierarchyItem(name, kind, document.uri, document.range(placed.start, placed.end), place)


def calls(document: Document) -> Iterator[tuple[str, str, lsp.Range]]:
    """Yield caller, callee and place of each reference from one definition to another."""
    known = document.definitions()
    for caller, (placed, definition) in known.items():
        for occurrence in placed.chunk.names.occurrences:
            symbol = occurrence.symbol
            if (
                symbol.is_global
                and not occurrence.is_definition
                and symbol.name in known
                and symbol.name != definition.name
            ):
                start, end = placed.start + occurrence.start, placed.start + occurrence.end
                yield caller, symbol.name, document.range(start, end)


def grouped(document: Document, name: str, incoming: bool) -> list[tuple[lsp.CallHierarchyItem, list[lsp.Range]]]:
    """Return the callers of a definition, or its callees, each with the places of the calls."""
    found: dict[str, list[lsp.Range]] = {}
    for caller, callee, place in calls(document):
        here, other = (callee, caller) if incoming else (caller, callee)
        if here == name:
            found.setdefault(other, []).append(place)
    items = {other: call_item(document, other) for other in found}
    return [(item, found[other]) for other, item in items.items() if item is not None]
