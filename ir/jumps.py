"""Statements that leave a loop before its end: `break` and `continue`."""

from __future__ import annotations

from . import tir
from .base import Node, Op
from .visit import children

BREAK, CONTINUE = Op("tir.break_loop"), Op("tir.continue_loop")


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
