"""Queries and checks of loops that several primitives share."""

from __future__ import annotations

from ... import make, tir
from ...analysis.proof import prove
from ...dtype import parse_dtype
from ..conditions import PLAIN_LOOP, STARTS_AT_ZERO, Condition, name_of
from ..program import Program

ALONE = Condition(
    "E0558", "the loops around the block contain nothing else", "move other statements out of the loops first"
)


def check_plain(loop: tir.For) -> None:
    """Refuse a loop that is annotated or bound to a thread (E0504)."""
    if loop.thread_binding is not None:
        raise PLAIN_LOOP.refuse(f"{name_of(loop)} is bound to '{loop.thread_binding.thread_tag}'", loop)
    if loop.annotations:
        raise PLAIN_LOOP.refuse(f"{name_of(loop)} is annotated with '{next(iter(loop.annotations))}'", loop)


def check_starts_at_zero(loop: tir.For) -> None:
    """Refuse a loop that does not start at 0 (E0505)."""
    if not prove(make.equal(loop.min, 0)).is_proven:
        raise STARTS_AT_ZERO.refuse(f"{name_of(loop)} starts at {loop.min}", loop)


def not_negative(extent: tir.PrimExpr) -> tir.PrimExpr:
    """Return the extent of an axis or region for a loop with `extent`: 0 if a loop like `range(-1)` has no iterations."""
    return make.const(0, extent.dtype) if isinstance(extent, tir.IntImm) and extent.value < 0 else extent


def widest_dtype(*expressions: tir.PrimExpr) -> str:
    """Return the widest integer dtype of the expressions."""
    return f"int{max(parse_dtype(expression.dtype).bits for expression in expressions)}"


def nest_of(node: tir.Stmt, depth: int) -> list[tir.For]:
    """Return the outermost loops of a perfect nest, at most `depth`."""
    loops: list[tir.For] = []
    while len(loops) < depth and isinstance(node, tir.For):
        loops.append(node)
        node = node.body
    return loops


def outermost_loop(program: Program, block: tir.Block) -> tir.Stmt:
    """Return the outermost loop around a block, or its `BlockRealize`; refused if a loop has other contents (E0558)."""
    inner: tir.Stmt = program.realize_of(block)
    for loop in reversed(program.loops_of(block)):
        if loop.body is not inner:
            raise ALONE.refuse(f"{name_of(loop)} contains more than {name_of(block)}", block, loop)
        inner = loop
    return inner
