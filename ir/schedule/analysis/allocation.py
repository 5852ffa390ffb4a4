"""Buffers allocated by blocks, and their replacement."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from msgspec.structs import replace

from ... import make, tir
from ...base import Node
from ...buffers import data_pointer
from ...visit import walk
from ..conditions import STAGE_PIPELINE, Condition, name_of
from ..program import Program
from ..tree import walk_statements
from .order import Pair, accesses, check_independent, is_across_threads, is_reduced_over, is_shared
from .pipeline import is_region_covered
from .scope import Scope

ALLOCATED = Condition(
    "E0582",
    "a block of the function allocates the buffer",
    "choose a buffer of T.alloc_buffer; cache_write creates one",
)


def allocating_block(program: Program, block: tir.Block, buffer: tir.Buffer) -> tir.Block:
    """Return the block that allocates `buffer`: `block` or one around it; refused if there is none (E0582)."""
    for value in (block, *program.around(block)):
        if isinstance(value, tir.Block) and any(own is buffer for own in value.alloc_buffers):
            return value
    raise ALLOCATED.refuse(f"'{buffer.name}' is a parameter, or a view of another buffer", block)


def pointers_of(site: tir.Block, buffer: tir.Buffer) -> dict[tir.Var, tir.Buffer]:
    """Return the pointers to the memory of `buffer`, which `site` allocates, and of its views, with their buffers."""
    found = {buffer.data: buffer}
    for node in walk(site):
        if isinstance(node, tir.MatchBufferRegion) and node.source.buffer.data in found:
            found[node.buffer.data] = node.buffer
    return found


def change_buffer(
    program: Program,
    site: tir.Block,
    buffer: tir.Buffer,
    change: Callable[[tir.Buffer], tir.Buffer],
    access: Callable[[Node], Node] = lambda node: node,
) -> None:
    """Replace `buffer`, which `site` allocates, and its views by the results of `change`.

    `access` is applied to the rewritten loads and stores.
    """
    mapping = {pointer: change(array).data for pointer, array in pointers_of(site, buffer).items()}
    made = set(mapping.values())

    def changed(node: Any) -> Node | None:
        match node:
            case tir.Var():
                return mapping.get(node)
            case tir.Buffer() if node.data in made:
                return replace(change(node), data=node.data)
            case tir.BufferLoad() | tir.BufferStore() if node.buffer.data in made:
                return access(node)
            case _:
                return None

    program.replace(site, program.rewrite(site, changed))


def with_scope(buffer: tir.Buffer, scope: str) -> tir.Buffer:
    """Return a copy of a buffer in another storage scope."""
    return replace(buffer, data=data_pointer(buffer.data.name, buffer.dtype, scope), scope=scope)


def check_threads(program: Program, site: tir.Block, buffer: tir.Buffer) -> None:
    """Refuse a scope that hides writes from threads that read them (E0517) or that makes threads race (E0534)."""
    touching = [stmt for stmt in walk_statements(site) if isinstance(stmt, tir.Block) and _touches(stmt, buffer)]
    for loop in walk_statements(program.prim_func_of(site).body):
        if not isinstance(loop, tir.For) or loop.thread_binding is None:
            continue
        thread, inside = loop.thread_binding.thread_tag, set(walk_statements(loop))
        if is_shared(buffer.scope, thread):
            check_independent(program, loop, thread)
            continue
        under = [stmt for stmt in touching if stmt in inside]
        outside = [stmt for stmt in touching if stmt not in inside and loop not in set(walk_statements(stmt))]
        scope = Scope(loop)
        for reader in scope.readers(buffer):
            before = [other.src for other in scope.before(reader) if any(w.buffer is buffer for w in other.src.writes)]
            if not before or not is_region_covered(program, scope, reader):
                outside.append(reader)
        foreign = [
            other for other in outside if not all(_in_same_thread(program, thread, own, other, buffer) for own in under)
        ]
        if foreign:
            reason = f"each thread of {name_of(loop)} would have its own '{buffer.name}', and {name_of(foreign[0])}"
            raise STAGE_PIPELINE.refuse(f"{reason} needs elements that another thread writes", foreign[0], loop)


def _in_same_thread(program: Program, axis: str, a: tir.Block, b: tir.Block, buffer: tir.Buffer) -> bool:
    """Return whether blocks under loops on a thread axis access an element of `buffer` only in the same thread.

    All threads that share a reduction have its result.
    """
    (first, loops), (second, others) = _threads_of(program, axis, a), _threads_of(program, axis, b)
    for loop, block in ((first, a), (second, b)):
        writes = any(region.buffer is buffer for region in block.writes)
        if loop is not None and writes and is_across_threads(axis) and is_reduced_over(program, block, loop):
            return True
    if first is None or second is None:
        return False
    for mine in accesses(program.realize_of(a)):
        for other in accesses(program.realize_of(b)):
            if mine.buffer is buffer and mine.touches(other):
                pair = Pair(mine, loops, other, others)
                one, two = pair.mine[loops.index(first)], pair.other[others.index(second)]
                if not all(pair.is_apart([case]) for case in (make.less(one, two), make.less(two, one))):
                    return False
    return True


def _threads_of(program: Program, axis: str, block: tir.Block) -> tuple[tir.For | None, tuple[tir.For, ...]]:
    """Return the loop around a block that is bound to a thread axis, and all loops around it within its scope."""
    loops = program.loops_of(block)
    bound = [loop for loop in loops if loop.thread_binding is not None and loop.thread_binding.thread_tag == axis]
    return (bound[-1] if bound else None), loops


def _touches(block: tir.Block, buffer: tir.Buffer) -> bool:
    return any(region.buffer is buffer for region in (*block.reads, *block.writes))
