"""Dependences between the blocks of a scope, by the memory of buffers (TVM: `BlockScope`)."""

from __future__ import annotations

from collections.abc import Iterable
from enum import Enum
from typing import TypeGuard

from msgspec import Struct

from ... import tir
from ...visit import children, walk
from ..conditions import IN_ORDER, NOT_ROOT
from ..program import Program, child_blocks
from ..tree import statements_in, walk_statements


class DepKind(Enum):
    """Kind of a dependence."""

    RAW = "read after write"
    WAW = "write after write"
    WAR = "write after read"


class Dependency(Struct, frozen=True):
    """Dependence of `dst` on the preceding block `src`: both access the same buffer."""

    src: tir.Block
    dst: tir.Block
    kind: DepKind


class Scope:
    """Outermost blocks in a block or loop, in textual order, and their dependences."""

    def __init__(self, node: tir.Stmt) -> None:
        self.node = node
        self.blocks = child_blocks(node)
        self._writers: dict[tir.Var, list[tir.Block]] = {}
        self._readers: dict[tir.Var, list[tir.Block]] = {}
        self.dependencies: list[Dependency] = []
        self._read_outside, self._written_outside = _touched_outside(node)
        for block in self.blocks:
            self._add(block)

    def _add(self, block: tir.Block) -> None:
        pairs = (
            (block.reads, self._writers, DepKind.RAW),
            (block.writes, self._writers, DepKind.WAW),
            (block.writes, self._readers, DepKind.WAR),
        )
        for regions, others, kind in pairs:
            for region in regions:
                for other in others.get(region.buffer.data, ()):
                    self.dependencies.append(Dependency(other, block, kind))
        for regions, table in ((block.reads, self._readers), (block.writes, self._writers)):
            for region in regions:
                table.setdefault(region.buffer.data, []).append(block)

    def writers(self, buffer: tir.Buffer) -> list[tir.Block]:
        """Return the blocks that write the memory of a buffer, once for each region."""
        return self._writers.get(buffer.data, [])

    def readers(self, buffer: tir.Buffer) -> list[tir.Block]:
        """Return the blocks that read the memory of a buffer, once for each region."""
        return self._readers.get(buffer.data, [])

    def is_used_outside(self, buffer: tir.Buffer) -> bool:
        """Return whether a statement outside of blocks writes a buffer, or reads one that blocks write."""
        data = buffer.data
        return data in self._written_outside or (data in self._read_outside and data in self._writers)

    def before(self, block: tir.Block) -> list[Dependency]:
        """Return the dependences of `block` on others."""
        return [dependency for dependency in self.dependencies if dependency.dst is block]

    def after(self, block: tir.Block) -> list[Dependency]:
        """Return the dependences of others on `block`."""
        return [dependency for dependency in self.dependencies if dependency.src is block]

    def producers(self, block: tir.Block) -> list[tir.Block]:
        """Return the preceding blocks that write what `block` reads or writes (TVM: `GetProducers`)."""
        return _unique(dependency.src for dependency in self.before(block) if dependency.kind is not DepKind.WAR)

    def consumers(self, block: tir.Block) -> list[tir.Block]:
        """Return the following blocks that read or write what `block` writes (TVM: `GetConsumers`)."""
        return _unique(dependency.dst for dependency in self.after(block) if dependency.kind is not DepKind.WAR)


def scope_root(program: Program, node: tir.Stmt) -> tir.Block:
    """Return the block around `node`; refused for the root block (E0523)."""
    scope = program.scope_of(node)
    if scope is None:
        raise NOT_ROOT.refuse("the root block has no block around it", node)
    return scope


def is_output_block(block: tir.Block, scope: tir.Block) -> bool:
    """Return whether a block writes a buffer that is not allocated in its scope (TVM: `IsOutputBlock`)."""
    return any(
        all(region.buffer is not alloc_buffer for alloc_buffer in scope.alloc_buffers) for region in block.writes
    )


def check_known_memory(program: Program, node: tir.Stmt) -> None:
    """Refuse statements that write, if they access memory through a pointer: other buffers may share it (E0534)."""
    facts, question = program.facts_of(node), check_known_memory
    if question not in facts:
        facts[question] = not any(map(_is_pointer, walk_statements(program.prim_func_of(node).body)))
    if facts[question]:
        return
    pointers = {stmt.var for stmt in walk_statements(program.prim_func_of(node).body) if _is_pointer(stmt)}
    accessed = [inner for inner in walk(node) if isinstance(inner, tir.BufferLoad | tir.BufferStore)]
    found = next((access.buffer for access in accessed if access.buffer.data in pointers), None)
    if found is not None and any(isinstance(access, tir.BufferStore) for access in accessed):
        reason = f"'{found.name}' is accessed through the pointer '{found.data.name}', and other buffers may share its memory"
        raise IN_ORDER.refuse(reason, node, help="declare it with the data of a buffer: T.decl_buffer(…, data=A.data)")


def _is_pointer(stmt: tir.Stmt) -> TypeGuard[tir.LetStmt]:
    return isinstance(stmt, tir.LetStmt) and stmt.var.dtype == "handle"


def _touched_outside(node: tir.Stmt) -> tuple[set[tir.Var], set[tir.Var]]:
    """Return the memory that statements outside of blocks read, and that which they write."""
    reads, writes = set[tir.Var](), set[tir.Var]()
    stack = list(statements_in(node))
    while stack:
        statement = stack.pop()
        if isinstance(statement, tir.BufferStore):
            writes.add(statement.buffer.data)
        for part in children(statement):
            if isinstance(part, tir.PrimExpr):
                reads.update(inner.buffer.data for inner in walk(part) if isinstance(inner, tir.BufferLoad))
        if not isinstance(statement, tir.BlockRealize):
            stack.extend(statements_in(statement))
    return reads, writes


def _unique(blocks: Iterable[tir.Block]) -> list[tir.Block]:
    return list(dict.fromkeys(blocks))
