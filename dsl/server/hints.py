"""Inlay hints: inferred struct info, the regions of blocks, and what each step of a schedule changed."""

from __future__ import annotations

from typing import TypeGuard

from lsprotocol import types as lsp

from ...ir import relax, tir
from ...ir.base import Node
from ...ir.deep import deep
from ...ir.schedule.text import ScheduleText
from ...ir.visit import walk
from .. import syntax
from .chunks import Chunk, Placed, per_chunk
from .document import Document
from .schedules import Hint, effects, measured
from .structure import statements

_REGIONS = ("reads", "writes")
_BLOCKS = ("block", "sblock")


def hints(document: Document, start: int, end: int) -> list[lsp.InlayHint]:
    """Return the hints between two offsets."""
    found: list[lsp.InlayHint] = []
    for placed in document.chunks:
        node = document.node_of(placed.chunk) if placed.start <= end and placed.end >= start else None
        if node is None:
            continue
        for hint in _hints_of(document, placed, node):
            offset = placed.start + hint.offset
            if start <= offset <= end:
                place = document.lines.position(offset)
                found.append(lsp.InlayHint(place, hint.label, hint.kind, padding_left=hint.kind is None))
    return found


def _hints_of(document: Document, placed: Placed, node: Node) -> tuple[Hint, ...]:
    if isinstance(node, ScheduleText):
        module = document.module
        function = module.functions.get(node.function) if module is not None else None
        if not isinstance(function, tir.PrimFunc):
            return ()
        return (*measured(placed.chunk, node, function), *effects(placed.chunk, node, function))
    return _of_function(placed.chunk, node)


@per_chunk
@deep
def _of_function(chunk: Chunk, node: Node) -> tuple[Hint, ...]:
    """Return the struct info of bindings without annotation, and the regions of blocks that do not declare them."""
    found: list[Hint] = []
    plain = {
        statement.target.start: statement.target.end
        for statement in statements(chunk.file.body)
        if isinstance(statement, syntax.Assign)
    }
    blocks = {statement.start: statement for statement in filter(_is_open_block, statements(chunk.file.body))}
    for part in walk(node):
        span = part.span
        if span is None or span.source is not chunk.source:
            continue
        if isinstance(part, relax.Var) and part.struct_info is not None and plain.get(span.start) == span.end:
            found.append(Hint(span.end, f": {part.struct_info}", lsp.InlayHintKind.Type))
            del plain[span.start]
        elif isinstance(part, tir.Block) and span.start in blocks:
            statement = blocks[span.start]
            end = chunk.text.find("\n", statement.context.end)
            regions = (
                f"reads {_listed(part.reads)}" * bool(part.reads),
                f"writes {_listed(part.writes)}" * bool(part.writes),
            )
            found.append(Hint(len(chunk.text) if end < 0 else end, ", ".join(filter(None, regions))))
    return tuple(found)


def _listed(regions: tuple[tir.BufferRegion, ...]) -> str:
    return ", ".join(map(str, regions))


def _is_open_block(node: syntax.Stmt) -> TypeGuard[syntax.With]:
    """Return whether a statement is a block that declares no regions."""
    return is_block(node) and not any(called(part) in _REGIONS for part in node.body)


def is_block(node: syntax.Stmt) -> TypeGuard[syntax.With]:
    """Return whether a statement is `with T.block(…):`."""
    return isinstance(node, syntax.With) and isinstance(node.context, syntax.Call) and _name(node.context) in _BLOCKS


def called(node: syntax.Stmt) -> str:
    """Return the last name of the form that a statement calls, or ""."""
    value = node.value if isinstance(node, syntax.ExprStmt) else None
    return _name(value) if isinstance(value, syntax.Call) else ""


def _name(call: syntax.Call) -> str:
    return call.func.attr if isinstance(call.func, syntax.Attribute) else ""
