"""`Fallback`: one thread for each element (TVM: `tvm.dlight.gpu.Fallback`)."""

from __future__ import annotations

from ....ir import tir
from ....ir.schedule import BlockRV, LoopRV, Schedule
from ...current_target import Target
from ..analysis import BlockInfo, normalize_prim_func
from ..base import max_threads_per_block, split_bind, try_inline
from .base import GPUScheduleRule


class Fallback(GPUScheduleRule):
    """Inline all blocks that can be; compute each element of the others in a thread, and its reduction in sequence."""

    def schedule(self, func: tir.PrimFunc, target: Target) -> Schedule | None:
        """Return the schedule; None if the iterators of a block are not its loops."""
        sch = Schedule(func)
        blocks = normalize_prim_func(sch)
        if blocks is None:
            return None
        reductions = [_spread(sch, info, max_threads_per_block(target)) for info in try_inline(sch, blocks)]
        for block, reduced in filter(None, reductions):
            sch.decompose_reduction(block, reduced)
        return sch


def _spread(sch: Schedule, info: BlockInfo, threads: int) -> tuple[BlockRV, LoopRV] | None:
    """Bind the spatial loops of a block; return the block and its outermost reduction loop, if it has one."""
    block, loops = info.block_rv, sch.get_loops(info.block_rv)
    if not loops or any(sch.get(loop).thread_binding is not None for loop in loops):
        return None
    of_kind = {kind: [loop for loop, own in zip(loops, info.dom_kind(), strict=False) if own == kind] for kind in "SRO"}
    spatial = of_kind["S"] or [sch.add_unit_loop(block)]
    sch.reorder(*spatial, *of_kind["R"], *of_kind["O"])
    split_bind(sch, sch.fuse(*spatial), [None, threads], ["blockIdx.x", "threadIdx.x"])
    return (block, of_kind["R"][0]) if of_kind["R"] else None
