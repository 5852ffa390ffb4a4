"""Idioms of the loop level: the constants zero and one, conjunctions, sequences of statements, and uses of loop variables."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from . import tir
from .base import Node
from .dtype import is_bool
from .visit import walk

NOTHING = tir.Evaluate(tir.IntImm("int32", 0))
"""The empty statement."""


def is_zero(expr: tir.PrimExpr) -> bool:
    """Return whether `expr` is the constant 0, or false."""
    return isinstance(expr, tir.IntImm) and expr.value == 0


def is_one(expr: tir.PrimExpr) -> bool:
    """Return whether `expr` is the constant 1, or true."""
    return isinstance(expr, tir.IntImm) and expr.value == 1


def without_casts(expr: Node) -> Node:
    """Return the expression below the casts at the top of `expr`."""
    while isinstance(expr, tir.Cast):
        expr = expr.value
    return expr


def changes_no_byte(dtype: str) -> bool:
    """Return whether storing a loaded value of `dtype` leaves memory as it is. Bytes of true bools become 1."""
    return not is_bool(dtype)


def conjuncts(condition: tir.PrimExpr) -> list[tir.PrimExpr]:
    """Return the operands of a conjunction in order, without constants that hold; none for a constant that holds."""
    found: list[tir.PrimExpr] = []
    waiting = [condition]
    while waiting:
        part = waiting.pop()
        if isinstance(part, tir.And):
            waiting += [part.b, part.a]
        elif not is_one(part):
            found.append(part)
    return found


def flattened(statements: Iterable[tir.Stmt]) -> list[tir.Stmt]:
    """Return the statements in order, with those of sequences among them."""
    return [stmt for part in statements for stmt in (part.seq if isinstance(part, tir.SeqStmt) else (part,))]


def sequence(statements: Iterable[tir.Stmt]) -> tir.Stmt:
    """Return statements as one flat statement, or the empty statement for none (TVM: `SeqStmt::Flatten`)."""
    flat = flattened(statements)
    return flat[0] if len(flat) == 1 else tir.SeqStmt(tuple(flat)) if flat else NOTHING


def uses(node: Node, loops: Sequence[tir.For]) -> bool:
    """Return whether `node` contains the variable of one of `loops`."""
    return any(inner is loop.loop_var for inner in walk(node) for loop in loops)
