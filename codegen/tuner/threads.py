"""Binding of loops to threads, for the rules and postprocessors of GPUs."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from ...ir import tir
from ...ir.schedule import BlockRV, ExprRV, LoopRV, Schedule
from . import block_facts as facts
from .rule import drawn

Factor = int | ExprRV
EXTENTS = (32, 64, 128, 256, 512, 1024)
"""Numbers of threads that are drawn."""


def blocks_of(sch: Schedule) -> list[BlockRV]:
    """Return the blocks of a schedule, without its root and those inside other blocks."""
    return list(sch.get_child_blocks(sch.get_block("root")))


def thread_of(sch: Schedule, loop: LoopRV) -> str:
    """Return the name of the threads that a loop runs over; empty if it runs over none."""
    binding = sch.get(loop).thread_binding
    return "" if binding is None else binding.thread_tag


def is_bound(sch: Schedule, loop: LoopRV) -> bool:
    """Return whether a loop runs over threads."""
    return sch.get(loop).thread_binding is not None


def sampler(sch: Schedule, extents: Sequence[int]) -> Callable[[int], Factor]:
    """Return a function that draws a number of threads up to a bound, which is the only choice if all others are larger."""

    def factor(most: int) -> Factor:
        fitting = [extent for extent in extents if extent <= most]
        return drawn(sch, fitting) if len(fitting) > 1 else fitting[0] if fitting else most

    return factor


def bind_unbound(
    sch: Schedule, block: BlockRV, max_blocks: int, max_threads: int, factor: Callable[[int], Factor]
) -> bool:
    """Fuse the outer spatial loops of a block, and bind them to thread blocks and threads; return False if nothing is left to bind.

    `factor` returns the number of threads for an upper bound. Loops with more iterations than all threads run in rounds.
    """
    loops, node = list(sch.get_loops(block)), sch.get(block)
    if facts.is_root(sch, block) or facts.TILED in node.annotations:
        return False
    tags = [thread_of(sch, loop) for loop in loops]
    at_block = next((place for place, tag in enumerate(tags) if tag.startswith("blockIdx")), None)
    at_thread = next((place for place, tag in enumerate(tags) if tag.startswith("threadIdx")), None)
    if at_block is not None:
        return False
    kinds = facts.loop_kinds(sch, block)
    spatial = next((place for place, kind in enumerate(kinds) if kind is not facts.SPATIAL), len(loops))
    if not spatial:
        loops.insert(0, sch.add_unit_loop(loops[0] if loops else block))
        spatial, at_thread = 1, None if at_thread is None else at_thread + 1
    count = min(spatial, _fusible(sch, loops), len(loops) if at_thread is None else at_thread)
    fused = sch.fuse(*loops[:count]) if count else sch.add_unit_loop(loops[0])
    if at_thread is not None:
        sch.bind(fused, "blockIdx.x")
        return True
    extent = facts.extent_of(sch, fused)
    if extent is not None and extent <= max_blocks * max_threads:
        outer, inner = sch.split(fused, factors=[None, factor(min(extent, max_threads))])
    else:
        rounds, outer, inner = sch.split(fused, factors=[None, max_blocks, max_threads])
        sch.reorder(outer, inner, rounds)
    sch.bind(outer, "blockIdx.x")
    sch.bind(inner, "threadIdx.x")
    return True


def _fusible(sch: Schedule, loops: Sequence[LoopRV]) -> int:
    """Return the number of outer loops that can be fused."""
    for place, loop in enumerate(loops):
        node = sch.get(loop)
        if node.kind is not tir.ForKind.SERIAL:
            return place
        if not facts.is_single(node):
            return place + 1
    return len(loops)
