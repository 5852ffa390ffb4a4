"""Statements that leave a loop or a function before its end."""

from __future__ import annotations

from collections.abc import Iterator

from . import tir
from .base import Node, Op
from .visit import children

BREAK, CONTINUE, RETURN = Op("tir.break_loop"), Op("tir.continue_loop"), Op("tir.ret")


def is_jump(node: Node) -> bool:
    """Whether `node` is `break` or `continue`."""
    return isinstance(node, tir.Call) and node.op in (BREAK, CONTINUE)


def has_jump(body: Node, kinds: tuple[Op, ...] = (BREAK, CONTINUE)) -> bool:
    """Whether `body`, that of a loop, contains a jump of one of `kinds` that belongs to this loop, not to an inner one."""
    stack: list[Node] = [body]
    while stack:
        node = stack.pop()
        if isinstance(node, tir.Call) and node.op in kinds:
            return True
        if not isinstance(node, tir.For | tir.While | tir.BufferStore | tir.Buffer):
            stack.extend(children(node))
    return False


def returns(body: tir.Stmt) -> Iterator[tuple[tir.Call, tir.PrimExpr]]:
    """Yield the uses of `T.ret` in the body of a function that return a value, and the values. A stored value contains none."""
    stack: list[Node] = [body]
    seen: set[int] = set()
    while stack:
        node = stack.pop()
        if isinstance(node, tir.BufferStore | tir.Buffer) or id(node) in seen:
            continue
        seen.add(id(node))
        if isinstance(node, tir.Call) and node.op == RETURN and isinstance(node.args[0], tir.PrimExpr):
            yield node, node.args[0]
        stack += children(node)[::-1]


def result_dtype(function: tir.PrimFunc) -> str | None:
    """Return the dtype of the result of a function, which is declared or that of its first `T.ret`; None if it returns nothing.

    A path through the function without `T.ret` returns zero.
    """
    declared = function.ret_type
    if isinstance(declared, tir.PrimType) and declared.dtype not in ("void", "handle"):
        return declared.dtype
    return next((value.dtype for _, value in returns(function.body)), None)
