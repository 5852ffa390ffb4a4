"""Binding of loops to threads, for the rules and postprocessors of GPUs."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import takewhile

from ...ir import tir
from ...ir.schedule import BlockRV, ExprRV, LoopRV, Schedule
from .sketches import nest_of

Factor = int | ExprRV


def blocks_of(sch: Schedule) -> list[BlockRV]:
    """Return the blocks of a schedule, without its root and those inside other blocks."""
    return list(sch.get_child_blocks(sch.get_block("root")))


def is_bound(sch: Schedule, loop: LoopRV) -> bool:
    """Return whether a loop runs over threads."""
    return sch.get(loop).thread_binding is not None


def drawn_extent(sch: Schedule, extents: Sequence[int]) -> ExprRV:
    """Draw one of several numbers of threads, each with the same probability."""
    return sch.sample_categorical(extents, [1 / len(extents)] * len(extents))


def bind_unbound(
    sch: Schedule, block: BlockRV, max_blocks: int, max_threads: int, factor: Callable[[int], Factor] | None = None
) -> bool:
    """Fuse the outer spatial loops of a block, and bind them to thread blocks and threads; return False if a loop is bound already.

    `factor` returns the number of threads for an upper bound; the bound itself by default. Loops with more iterations than all threads run
    in rounds.
    """
    loops = sch.get_loops(block)
    if any(is_bound(sch, loop) for loop in loops):
        return False
    nest = nest_of(sch, block)
    spatial = [loop for loop in nest.spatial if sch.get(loop).kind is tir.ForKind.SERIAL]
    leading = list(takewhile(spatial.__contains__, nest.loops))
    fused = sch.fuse(*leading) if leading else sch.add_unit_loop(loops[0] if loops else block)
    size = sch.get(fused).extent
    extent = size.value if isinstance(size, tir.IntImm) else max_threads
    if extent <= max_blocks * max_threads:
        most = min(extent, max_threads)
        outer, inner = sch.split(fused, factors=[None, most if factor is None else factor(most)])
    else:
        rounds, outer, inner = sch.split(fused, factors=[None, max_blocks, max_threads])
        sch.reorder(outer, inner, rounds)
    sch.bind(outer, "blockIdx.x")
    sch.bind(inner, "threadIdx.x")
    return True


def try_shared_reduction(sch: Schedule, block: BlockRV, extents: Sequence[int]) -> bool:
    """Divide the reduction loops of a block among a drawn number of threads, and its spatial loops among thread blocks; return whether
    that is done.
    """
    nest = nest_of(sch, block)
    spatial, reduction = list(nest.spatial), list(nest.reduction)
    if (
        not spatial
        or not reduction
        or list(nest.loops) != [*spatial, *reduction]
        or any(is_bound(sch, loop) for loop in nest.loops)
    ):
        return False
    threads = drawn_extent(sch, extents)
    reduced = sch.fuse(*reduction) if len(reduction) > 1 else reduction[0]
    _, inner = sch.split(reduced, factors=[None, threads])
    sch.bind(inner, "threadIdx.x")
    sch.bind(sch.fuse(*spatial) if len(spatial) > 1 else spatial[0], "blockIdx.x")
    return True
