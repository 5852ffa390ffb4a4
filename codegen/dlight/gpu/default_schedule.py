"""Default schedule of loop functions for GPUs (TVM: `tir.transform.DefaultGPUSchedule`)."""

from __future__ import annotations

from msgspec.structs import replace

from ....ir import tir
from ....ir.base import IRModule
from ....ir.schedule import BlockRV, Schedule
from ...current_target import Target
from ..base import max_threads_per_block, target_of

_BLOCKS = 256
"""The number of thread blocks of a large function; each thread then computes several elements."""


def schedule_for_gpu(func: tir.PrimFunc) -> tir.PrimFunc:
    """Return `func` with the spatial loops of its innermost blocks bound to threads; a scheduled function, one for a
    processor, or one without a target, is unchanged.
    """
    if "target" not in func.attrs and Target.current() is None:
        return func
    target = target_of(func)
    if func.attrs.get("tir.is_scheduled") or "gpu" not in target.keys:
        return func
    sch = Schedule(IRModule({"main": func}))
    threads = max_threads_per_block(target)
    for block in _blocks(sch):
        _bind(sch, block, threads)
    scheduled = sch.mod.functions["main"]
    assert isinstance(scheduled, tir.PrimFunc)
    return replace(scheduled, attrs={**scheduled.attrs, "tir.is_scheduled": True})


def _blocks(sch: Schedule) -> list[BlockRV]:
    """Return the blocks without blocks inside."""
    found, waiting = list[BlockRV](), [sch.get_block("root")]
    while waiting:
        block = waiting.pop(0)
        inner = sch.get_child_blocks(block)
        waiting = [*inner, *waiting]
        if not inner:
            found.append(block)
    return found


def _bind(sch: Schedule, block: BlockRV, threads: int) -> None:
    loops = sch.get_loops(block)
    axes = sch.get(block).iter_vars
    if (loops and len(loops) != len(axes)) or any(sch.get(loop).thread_binding is not None for loop in loops):
        return
    kinds = [axis.iter_type for axis in axes] if loops else []
    spatial = [loop for loop, kind in zip(loops, kinds, strict=True) if kind is tir.IterVarType.DATA_PAR]
    if not spatial:
        spatial = [sch.add_unit_loop(loops[0] if loops else block)]  # one thread executes all
    fused = sch.fuse(*spatial, preserve_unit_iters=False)
    extent = sch.get(fused).extent
    if not isinstance(extent, tir.IntImm) or extent.value > threads * _BLOCKS:
        rest, outer, inner = sch.split(fused, [None, _BLOCKS, threads])
        sch.reorder(outer, inner, rest)
    else:
        outer, inner = sch.split(fused, [None, min(extent.value, threads)])
    sch.bind(outer, "blockIdx.x")
    sch.bind(inner, "threadIdx.x")
