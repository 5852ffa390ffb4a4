"""Rules that divide loops among the threads of a GPU."""

from __future__ import annotations

from collections.abc import Sequence

from ...ir.schedule import BlockRV, ExprRV, LoopRV, Schedule, ScheduleError
from . import block_facts as facts
from .rule import ScheduleRule, drawn
from .threads import EXTENTS, bind_unbound, sampler, thread_of

_THREADS, _WARP = 1024, 32


class AutoBind(ScheduleRule):
    """Bind the outer loops of a block that no thread executes to thread blocks and a drawn number of threads (TVM: `AutoBind`)."""

    def __init__(
        self, max_threadblocks: int = 256, thread_extents: Sequence[int] | None = None, max_threads_per_block: int = _THREADS
    ) -> None:  # fmt: skip
        """`thread_extents` are the numbers of threads that are drawn."""
        self._blocks, self._threads = max_threadblocks, max_threads_per_block
        self._extents = tuple(thread_extents or EXTENTS)

    def apply(self, sch: Schedule, block: BlockRV) -> list[Schedule]:
        """See `ScheduleRule`."""
        made = sch.copy()
        return [made if bind_unbound(made, block, self._blocks, self._threads, sampler(made, self._extents)) else sch]


class CrossThreadReduction(ScheduleRule):
    """Let a drawn number of threads reduce together (TVM: `CrossThreadReduction`). The plain schedule is kept as well."""

    def __init__(self, thread_extents: Sequence[int] | None = None) -> None:
        """`thread_extents` are the numbers of threads that are drawn."""
        self._extents = tuple(thread_extents or EXTENTS)

    def apply(self, sch: Schedule, block: BlockRV) -> list[Schedule]:
        """See `ScheduleRule`."""
        if facts.is_root(sch, block) or not facts.needs_parts(sch, block, _THREADS, _WARP):
            return [sch]
        made = sch.copy()
        try:
            self._reduced(made, block)
        except ScheduleError:
            return [sch]
        return [made, sch]

    def _reduced(self, sch: Schedule, block: BlockRV) -> None:
        threads: int | ExprRV = drawn(sch, self._extents)
        place = _place_in_consumer(sch, block)
        if place is not None:
            consumer, number = place
            loops = sch.get_loops(consumer)
            target = loops[number]
            if any(thread_of(sch, loop).startswith("threadIdx") for loop in loops):
                threads = _threads_of(sch)
            else:
                outer, inner = sch.split(loops[-1], factors=[None, threads])
                sch.bind(inner, "threadIdx.x")
                target = outer if number == len(loops) - 1 else target
            sch.compute_at(block, target, True)
            sch.set_scope(block, 0, "shared")
        reduction, _ = facts.fused_reduction(sch, block)
        _, inner = sch.split(reduction, factors=[None, threads])
        sch.bind(inner, "threadIdx.x")


def _place_in_consumer(sch: Schedule, block: BlockRV) -> tuple[BlockRV, int] | None:
    """Return the first consumer of a block, and the number of its loop in which the block can be computed; None if there is none."""
    consumers = sch.get_consumers(block)
    if (
        len(sch.get(block).writes) != 1
        or facts.is_output(sch, block)
        or not consumers
        or facts.needs_tiles(sch.program(), sch.get(consumers[0]))
    ):
        return None
    common = _common_loop(sch, consumers)
    if len(consumers) > 1 and common is None:
        return None
    kinds, others = facts.loop_kinds(sch, block), [sch.get(loop) for loop in sch.get_loops(consumers[0])]
    count = min(len(kinds), len(others))
    place = count - 1
    for number in range(count):
        if kinds[number] is not facts.SPATIAL:
            place = number - 1
            break
        if len(consumers) > 1 and others[number] is common:
            place = number
            break
    return None if place < 0 else (consumers[0], place)


def _common_loop(sch: Schedule, blocks: Sequence[BlockRV]) -> object | None:
    """Return the innermost loop around all blocks."""
    nests = [[sch.get(loop) for loop in sch.get_loops(block)] for block in blocks]
    shared = [loop for loop in nests[0] if all(any(other is loop for other in nest) for nest in nests)]
    return shared[-1] if shared else None


def _threads_of(sch: Schedule) -> int | ExprRV:
    """Return the number of threads of the loop that the schedule bound to `threadIdx.x`, as its split got it."""
    bound: list[LoopRV] = [
        inst.arguments["loop"]
        for inst in sch.trace.insts
        if inst.primitive.name == "bind" and inst.arguments["thread_axis"] == "threadIdx.x"
    ]
    for inst in sch.trace.insts:
        if inst.primitive.name == "split":
            for loop, factor in zip(inst.results, inst.arguments["factors"], strict=True):
                if loop in bound and factor is not None:
                    return factor
    extent = facts.extent_of(sch, bound[0]) if bound else None
    assert extent is not None
    return extent
