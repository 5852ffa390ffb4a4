"""`GeneralReduction`: reductions and what is computed from them (TVM: `tvm.dlight.gpu.GeneralReduction`)."""

from __future__ import annotations

from ....ir import make, tir
from ....ir.analysis.proof import prove
from ....ir.schedule import LoopRV, Schedule
from ...current_target import Target
from ...rules.build import constant
from ..analysis import BlockInfo, normalize_prim_func, used_iters
from ..base import try_inline_contiguous_spatial, unroll_up_to
from .base import GPUScheduleRule

_THREADS = {"cuda": (256, 256), "opencl": (256, 64)}
"""Threads of a block, and unrolled steps, by kind of target."""
_OTHER_THREADS = (64, 64)


class GeneralReduction(GPUScheduleRule):
    """Softmax, layer norm, RMS norm and the like: a block for each row, whose threads share each of its reductions.

    Reductions are kept in shared memory. They all have the same kinds of iterators as the first block, and the last
    block uses their results.
    """

    def schedule(self, func: tir.PrimFunc, target: Target) -> Schedule | None:
        """Return the schedule; None if the function does not have this form."""
        threads, steps = _THREADS.get(target.kind, _OTHER_THREADS)
        sch = Schedule(func)
        infos = try_inline_contiguous_spatial(sch, normalize_prim_func(sch))
        if not infos:
            return None
        kinds, last = infos[0].dom_kind(), infos[-1]
        if not last.iters and kinds:
            return _in_one_thread(sch, infos)
        if len(last.iters) < len(kinds):
            sch.transform_block_layout(last.block_rv, _aligned(infos[0], last))
        trailing = len(kinds) - len(kinds.rstrip("R"))
        if not trailing or any(info.dom_kind() != kinds for info in infos[1:-1]):
            return None
        if not last.is_injective() or len(last.iters) > len(kinds):
            return None
        _move_rows_outward(sch, infos)
        return _share(sch, infos, len(kinds) - len(kinds.lstrip("S")), trailing, threads, steps)


def _in_one_thread(sch: Schedule, infos: list[BlockInfo]) -> Schedule:
    """Bind a loop of one iteration around each block, the first to a block of threads, for a result without dimensions."""
    for at, info in enumerate(infos):
        sch.bind(sch.add_unit_loop(info.block_rv), "threadIdx.x" if at else "blockIdx.x")
    return sch


def _aligned(first: BlockInfo, last: BlockInfo) -> tir.IndexMap:
    """Return the map of the iterators of the last block to those of the first: zeros where extents differ."""
    variables = [tir.Var(axis.var.dtype, axis.var.name) for axis in last.iters]
    zero = make.const(0, "int64")
    indices: list[tir.PrimExpr] = []
    matched = 0
    for axis in first.iters:
        if matched < len(last.iters) and prove(make.equal(axis.extent, last.iters[matched].extent)).is_proven:
            indices.append(variables[matched])
            matched += 1
        else:
            indices.append(zero)
    if matched < len(variables):
        indices = [zero] * (len(first.iters) - len(variables)) + list(variables)
    return tir.IndexMap(tuple(variables), tuple(indices))


def _move_rows_outward(sch: Schedule, infos: list[BlockInfo]) -> None:
    """Move the loops of the last block that index results of reductions outward, as the reductions have them."""
    reduced = {region.buffer for info in infos[:-1] for region in sch.get(info.block_rv).writes}
    block, loops = sch.get(infos[-1].block_rv), sch.get_loops(infos[-1].block_rv)
    rows = {
        var for read in block.reads if read.buffer in reduced for var in used_iters(block, read.region)
    }  # fmt: skip

    def is_row(axis: tir.IterVar, loop: LoopRV) -> bool:
        return axis.var in rows or constant(sch.get(loop).extent) == 1

    pairs = list(zip(block.iter_vars, loops, strict=True))
    first = [loop for axis, loop in pairs if is_row(axis, loop)]
    sch.reorder(*first, *[loop for _, loop in pairs if loop not in first])


def _share(sch: Schedule, infos: list[BlockInfo], leading: int, trailing: int, threads: int, steps: int) -> Schedule:
    loops = sch.get_loops(infos[-1].block_rv)
    row = sch.fuse(*loops[:leading])
    inner, tx = sch.split(loops[-1], [None, threads])
    sch.reorder(tx, inner)
    sch.bind(row, "blockIdx.x")
    sch.bind(tx, "threadIdx.x")
    unroll_up_to(sch, inner, steps)
    for info in reversed(infos[:-1]):
        block = info.block_rv
        sch.compute_at(block, row, preserve_unit_loops=True)
        for at in range(len(sch.get(block).writes)):
            sch.set_scope(block, buffer_index=at, storage_scope="shared")
        inner, tx = sch.split(sch.fuse(*sch.get_loops(block)[-trailing:]), [None, threads])
        sch.reorder(tx, inner)
        sch.bind(tx, "threadIdx.x")
        unroll_up_to(sch, inner, steps)
    return sch
