"""Source positions of statements that steps build: each has that of the statement whose work it does."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from msgspec import Struct
from msgspec.structs import replace

from ... import tir
from ...base import Node, Span
from ...visit import rewrite
from ..tree import walk_statements

_NUMBER = tir.IntImm | tir.FloatImm


class _Origins(Struct, frozen=True):
    """The positions of the statements that others replace."""

    main: Span
    """That of the first one that is not the initialization of a reduction."""
    start: Span | None
    """That of the first initialization of a reduction, if any."""
    stores: dict[tir.Var, Span]
    """The last position that stores to a buffer, by the memory of the buffer."""

    def of(self, stmt: tir.Stmt) -> Span | None:
        """Return the position for a new statement; None if it has one in the same text."""
        if stmt.span is not None and stmt.span.source is self.main.source:
            return None
        if not isinstance(stmt, tir.BufferStore):
            return self.main
        value = stmt.value.value if isinstance(stmt.value, tir.Broadcast) else stmt.value
        if self.start is not None and isinstance(value, _NUMBER):
            return self.start
        return self.stores.get(stmt.buffer.data, self.main)


def with_origins(new: tir.Stmt, parts: Sequence[tir.Stmt]) -> tir.Stmt:
    """Return a statement that replaces `parts`, with positions of `parts` where it has none in their text.

    A store gets that of the statement that stores to the same buffer. Stores to new buffers, and other statements, get that
    of the first statement; a constant, if a reduction starts with one, that of the initialization.
    """
    origins = _origins_of(parts)
    return new if origins is None else with_positions(new, origins.of)


def with_positions(stmt: tir.Stmt, position: Callable[[tir.Stmt], Span | None]) -> tir.Stmt:
    """Return a statement whose stores, calls and loops have the positions that a function returns; None keeps their own."""

    def placed(node: Node) -> Node | None:
        if not isinstance(node, tir.BufferStore | tir.Evaluate | tir.For):
            return None
        span = position(node)
        return None if span is None else replace(node, span=span)

    return rewrite(stmt, placed)  # type: ignore[no-any-return]


def _origins_of(parts: Sequence[tir.Stmt]) -> _Origins | None:
    statements = [stmt for part in parts for stmt in walk_statements(part)]
    starts = [stmt.init for stmt in statements if isinstance(stmt, tir.Block) and stmt.init is not None]
    initial = dict.fromkeys(stmt for init in starts for stmt in walk_statements(init))
    stores = [stmt for stmt in statements if isinstance(stmt, tir.BufferStore) and stmt not in initial]
    stored = {stmt.buffer.data: stmt.span for stmt in stores if stmt.span is not None}
    main = next((stmt.span for stmt in stores if stmt.span is not None), None)
    if main is None:
        return None
    return _Origins(main, next((stmt.span for stmt in initial if stmt.span is not None), None), stored)
