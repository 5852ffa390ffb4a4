"""Removal of blocks, together with loops that become empty. Their comments stay."""

from __future__ import annotations

from msgspec.structs import replace

from ... import tir
from ...base import Node, Trivia
from ...idioms import sequence
from ...visit import children, walk
from ..conditions import Condition, name_of
from ..program import Program
from .trivia import joined

ONLY_LEAF = Condition("E0545", "another block remains in the scope", "keep the block: its scope would be empty")
OPAQUE = Condition(
    "E0544", "the buffer is accessed only by its elements", "access it by its elements, not by its address or a view"
)


def remove_leaf(program: Program, block: tir.Block) -> tir.Stmt:
    """Remove a block and the loops that contain nothing else, and return them.

    Refused if the scope would be empty (E0545). TVM: `LeafBlockRemovalPlan`.
    """
    nest: tir.Stmt = program.realize_of(block)
    around = program.statement_around(nest)
    while isinstance(around, tir.For):
        nest, around = around, program.statement_around(around)
    if not isinstance(around, tir.SeqStmt):
        raise ONLY_LEAF.refuse(f"nothing would remain in the place of {name_of(block)}", block)
    program.replace(around, sequence([stmt for stmt in around.seq if stmt is not nest]))
    return nest


def comments_in(node: Node) -> tuple[str, ...]:
    """Return all comments in `node`, in textual order."""
    return tuple([line for inner in walk(node) for line in _lines(getattr(inner, "trivia", None))])


def _lines(trivia: Trivia | None) -> tuple[str, ...]:
    if trivia is None:
        return ()
    parts = [line for _, part in trivia.parts for line in _lines(part)]
    return (*trivia.before, *((trivia.after,) if trivia.after else ()), *parts, *trivia.end)


def add_comments(program: Program, node: tir.Stmt, comments: tuple[str, ...]) -> None:
    """Add comments above a block or another statement."""
    if comments:
        statement = program.realize_of(node) if isinstance(node, tir.Block) else node
        program.replace(statement, replace(statement, trivia=joined(Trivia(comments), statement.trivia)))


def check_not_opaque(node: tir.Stmt, buffer: tir.Buffer, copied_to: str | None = None) -> None:
    """Refuse a buffer whose address is used, or that has views (E0544).

    If a copy in scope `copied_to` will replace it, a nested block that declares an access to it may use its address,
    if it has no strides, and view a part of it in the same scope.
    """
    reason = why_opaque(node, buffer, copied_to)
    if reason is not None:
        raise OPAQUE.refuse(reason)


def why_opaque(node: tir.Stmt, buffer: tir.Buffer, copied_to: str | None = None) -> str | None:
    """Return why accesses in `node` cannot be redirected to a copy of a part of the buffer, or None if they can."""
    stack: list[tuple[Node, bool]] = [(child, False) for child in children(node)]
    while stack:
        part, is_declared = stack.pop()
        if isinstance(part, tir.Block) and copied_to is not None:
            is_declared = is_declared or any(region.buffer is buffer for region in (*part.reads, *part.writes))
        if isinstance(part, tir.MatchBufferRegion) and part.source.buffer is buffer:
            if not (is_declared and part.buffer.scope == copied_to):
                return f"'{part.buffer.name}' is a view of a part of '{buffer.name}'"
        elif isinstance(part, tir.Buffer):
            if part is not buffer and part.data is buffer.data:
                return f"'{part.name}' is also a view of '{buffer.name}'"
        elif part is buffer.data:
            if not is_declared or buffer.strides:
                return f"the address of '{buffer.name}' is used"
        else:
            defines = (part.buffer_var,) if isinstance(part, tir.AllocateConst) else ()
            stack.extend([(child, is_declared) for child in children(part) if child not in defines])
    return None


def uses_address(block: tir.Block, buffer: tir.Buffer) -> bool:
    """Return whether a block uses the address of a buffer or of a view; only its regions then describe the accesses."""
    pointers = {
        buffer.data,
        *[match_buffer.buffer.data for match_buffer in block.match_buffers if match_buffer.source.buffer is buffer],
    }
    stack = list(children(block.body))
    while stack:
        part = stack.pop()
        if part in pointers:
            return True
        if not isinstance(part, tir.Buffer):
            stack.extend(children(part))
    return False


def without_buffer(program: Program, scope: tir.Block, buffer: tir.Buffer) -> None:
    """Remove the allocation of `buffer` from `scope`."""
    realize = program.realize_of(scope)
    kept = tuple([alloc_buffer for alloc_buffer in scope.alloc_buffers if alloc_buffer is not buffer])
    block = replace(scope, alloc_buffers=kept)
    program.replace(realize, replace(realize, block=block), {scope: block})
