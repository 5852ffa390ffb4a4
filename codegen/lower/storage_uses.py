"""When the statements of a function use the memory that it allocates."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TypeAlias

from msgspec import Struct

from ...ir import tir
from ...ir.base import Node
from ...ir.idioms import is_one
from ...ir.intern import has_effects
from ...ir.variables import defined_variables
from ...ir.visit import children, distinct

Home: TypeAlias = tir.Stmt | None
"""The statement that starts the threads, each of which has its own copy of the memory; None if that is the whole function."""
_OF_THREADS = (tir.ForKind.PARALLEL, tir.ForKind.THREAD_BINDING, tir.ForKind.VECTORIZED)
_ATTRIBUTES = ("thread_extent", "virtual_thread", "pragma_scope")


class Memory(Struct, eq=False):
    """An allocation, and the statements of its own sequence that use it, from the first to the last one."""

    allocation: tir.Allocate
    home: Home
    level: int
    """The number of scopes around the allocation."""
    is_in_threads: bool
    is_fixed: bool = False
    """Whether it may neither move nor share its memory with others."""
    first: int = -1
    last: int = -1
    first_stmt: tir.Stmt | None = None
    last_stmt: tir.Stmt | None = None

    @property
    def var(self) -> tir.Var:
        return self.allocation.buffer_var

    @property
    def scope(self) -> str:
        kind = self.var.type_annotation
        return kind.storage_scope if isinstance(kind, tir.PointerType) else "global"


class _Scope(Struct, eq=False):
    stmt: tir.Stmt
    start: int
    touched: list[Memory]


class MemoryUses:
    """All allocations of `body` in the order of their first uses, in `memory`; `positions` counts statements in program order."""

    def __init__(self, body: tir.Stmt) -> None:
        self._of: dict[tir.Var, Memory] = {}
        self._scopes: list[_Scope] = []
        self._bound: list[set[tir.Var]] = [set()]
        """The variables that are defined within each home, the innermost last."""
        self._homes: list[Home] = [None]
        self._time = 0
        self._visit(body)
        self.memory = sorted(self._of.values(), key=lambda memory: memory.first)

    def _visit(self, stmt: tir.Stmt) -> None:
        self._bound[-1].update(var for var in defined_variables(stmt) if isinstance(var, tir.Var))
        match stmt:
            case tir.SeqStmt():
                for part in stmt.seq:
                    self._visit(part)
            case tir.Allocate():
                self._touch(stmt, (*stmt.extents, stmt.condition))
                self._allocate(stmt)
                self._visit(stmt.body)
            case tir.DeclBuffer():
                self._touch(stmt, (*stmt.buffer.shape, *stmt.buffer.strides))
                self._visit(stmt.body)
            case tir.For() | tir.While() | tir.IfThenElse() | tir.AttrStmt():
                self._enter(stmt)
            case _:
                parts = [part for part in children(stmt) if not isinstance(part, tir.Stmt)]
                self._touch(stmt, parts)
                if isinstance(stmt, tir.LetStmt | tir.BufferStore) and stmt.value.dtype == "handle":
                    self._fix(stmt.value)
                for part in children(stmt):
                    if isinstance(part, tir.Stmt):
                        self._visit(part)

    def _enter(self, stmt: tir.For | tir.While | tir.IfThenElse | tir.AttrStmt) -> None:
        self._time += 1
        scope = _Scope(stmt, self._time, [])
        self._scopes.append(scope)
        self._touch(stmt, [part for part in children(stmt) if not isinstance(part, tir.Stmt)])
        if isinstance(stmt, tir.AttrStmt):
            self._fix(stmt)
        is_home = begins_threads(stmt)
        if is_home:
            self._homes.append(stmt)
            self._bound.append(set())
        for part in children(stmt):
            if isinstance(part, tir.Stmt):
                self._visit(part)
        if is_home:
            self._homes.pop()
            inner = self._bound.pop()
            self._bound[-1] |= inner
        self._scopes.pop()
        self._time += 1
        for memory in scope.touched:
            memory.last, memory.last_stmt = self._time, stmt

    def _allocate(self, stmt: tir.Allocate) -> None:
        sizes = (*stmt.extents, stmt.condition)
        nodes = [node for size in sizes for node in distinct(size)]
        is_own = any(node in self._bound[-1] or isinstance(node, tir.BufferLoad) for node in nodes)
        is_fixed = is_own or not is_one(stmt.condition) or bool(stmt.annotations) or any(map(has_effects, sizes))
        memory = Memory(
            stmt, self._homes[-1], len(self._scopes), len(self._homes) > 1, is_fixed or stmt.buffer_var in self._of
        )
        self._of[stmt.buffer_var] = memory

    def _touch(self, stmt: tir.Stmt, parts: Iterable[Node]) -> None:
        self._time += 1
        for memory in self._mentioned(parts):
            inner = self._scopes[memory.level :]
            start, around = (inner[0].start, inner[0].stmt) if inner else (self._time, stmt)
            if memory.first < 0:
                memory.first, memory.first_stmt = start, around
            memory.last, memory.last_stmt = self._time, around
            if inner:
                inner[0].touched.append(memory)

    def _mentioned(self, parts: Iterable[Node]) -> list[Memory]:
        found = {node: None for part in parts for node in distinct(part) if isinstance(node, tir.Var)}
        return [self._of[var] for var in found if var in self._of]

    def _fix(self, node: Node) -> None:
        """Keep the memory whose pointers may be used later, or that has attributes."""
        parts = (
            [part for part in children(node) if not isinstance(part, tir.Stmt)]
            if isinstance(node, tir.Stmt)
            else [node]
        )
        for memory in self._mentioned(parts):
            memory.is_fixed = True


def begins_threads(stmt: tir.Stmt) -> bool:
    """Return whether threads execute the body of `stmt`, each with its own memory."""
    if isinstance(stmt, tir.For):
        return stmt.kind in _OF_THREADS
    return isinstance(stmt, tir.AttrStmt) and stmt.attr_key in _ATTRIBUTES
