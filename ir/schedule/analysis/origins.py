"""Source positions of generated statements: each takes the position of the statement that it implements."""

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
    """The positions in the statements that are replaced."""

    main: Span
    """Position of the first store that does not initialize a reduction."""
    start: Span | None
    """Position of the first initialization of a reduction, if any."""
    stores: dict[tir.Var, Span]
    """Position of the last store to each buffer, by the memory of the buffer."""

    def of(self, stmt: tir.Stmt) -> Span | None:
        """Return the position for a new statement; None to keep its own, which is in the same text."""
        if stmt.span is not None and stmt.span.source is self.main.source:
            return None
        if not isinstance(stmt, tir.BufferStore):
            return self.main
        value = stmt.value.value if isinstance(stmt.value, tir.Broadcast) else stmt.value
        if self.start is not None and isinstance(value, _NUMBER):
            return self.start
        return self.stores.get(stmt.buffer.data, self.main)


def with_origins(new: tir.Stmt, parts: Sequence[tir.Stmt]) -> tir.Stmt:
    """Return `new`, which replaces `parts`, with positions for its statements that have none in the text of `parts`.

    A store takes the position of the last store to the same buffer in `parts`, and a store of a constant that of the
    initialization of a reduction, if there is one. All other statements take the position of the first store in `parts`.
    """
    origins = _origins_of(parts)
    return new if origins is None else with_positions(new, origins.of)


def with_positions(stmt: tir.Stmt, position: Callable[[tir.Stmt], Span | None]) -> tir.Stmt:
    """Return `stmt` with new positions for its stores, calls and loops; where `position` returns None, they keep their own."""

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
