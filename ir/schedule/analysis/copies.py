"""Statements that are to stand twice: a copy brings its own variables, blocks and buffers into being."""

from __future__ import annotations

from typing import Any

from msgspec.structs import replace

from ... import tir
from ...base import Node
from ...visit import substitute, walk


def fresh_copy(node: tir.Stmt, mapping: dict[Any, Node]) -> Any:
    """Return `node` with `mapping` applied, and with new loop variables, iterators and allocated buffers, which are
    called as the old ones."""
    renamed: dict[Any, Node] = {}
    for each in walk(node):
        match each:
            case (
                tir.For(loop_var=variable)
                | tir.IterVar(var=variable)
                | tir.LetStmt(var=variable)
                | tir.Let(var=variable)
            ):
                renamed[variable] = replace(variable)
            case tir.Block():
                for buffer in (*each.alloc_buffers, *[match.buffer for match in each.match_buffers]):
                    renamed[buffer.data] = replace(buffer.data)
            case _:
                pass
    return substitute(node, {**renamed, **mapping})


def buffers_of(node: tir.Stmt) -> tuple[tir.Buffer, ...]:
    """Return the buffers that `node` accesses and does not allocate, in the order of their first mention."""
    found: dict[tir.Buffer, None] = {}
    own: set[tir.Buffer] = set()
    for each in walk(node):
        if isinstance(each, tir.Buffer):
            found[each] = None
        elif isinstance(each, tir.Block):
            own.update(each.alloc_buffers, [match.buffer for match in each.match_buffers])
    return tuple([buffer for buffer in found if buffer not in own])
