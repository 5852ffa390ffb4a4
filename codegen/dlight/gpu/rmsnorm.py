"""`RMSNorm`: root mean square normalization (TVM: `tvm.dlight.gpu.RMSNorm`)."""

from __future__ import annotations

from ....ir import tir
from ....ir.base import Op
from ....ir.schedule import BlockRV, Schedule, ScheduleError
from ...current_target import Target
from ..analysis import get_root_block
from ..base import ScheduleRule, Space

_THREADS = {"cuda": 512, "opencl": 256}
_VECTOR = 8
"""Elements that a thread reads at once."""


class RMSNorm(ScheduleRule):
    """A block of threads for each row, which reads the row once, as vectors, and keeps it in registers."""

    def apply(self, func: tir.PrimFunc, target: Target, tunable: bool) -> Space:
        """Return the schedule; None if no block takes the reciprocal square root, or there are other blocks."""
        sch = Schedule(func)
        try:
            root = get_root_block(sch)
        except ValueError:
            return None
        blocks = sch.get_child_blocks(root)
        if not any(_is_rsqrt(sch.get(block)) for block in blocks):
            return None
        try:
            return _scheduled(sch, root, blocks, _THREADS.get(target.kind, 64))
        except ScheduleError:
            return None


def _scheduled(sch: Schedule, root: BlockRV, blocks: list[BlockRV], threads: int) -> Schedule | None:
    sch.cache_read(blocks[0], read_buffer_index=0, storage_scope="local")
    sch.cache_write(blocks[-1], write_buffer_index=0, storage_scope="local")
    for block in blocks:
        if _is_copy_or_cast(sch.get(block)):
            sch.compute_inline(block)
    stages = sch.get_child_blocks(root)
    if len(stages) != 6 or not _is_rsqrt(sch.get(stages[3])):
        return None
    for block in stages:
        sch.fuse(*sch.get_loops(block)[:-1])
    read, square, total, rsqrt, norm, write = stages
    row, columns = sch.get_loops(read)
    tx, _, vector = sch.split(columns, factors=[threads, None, _VECTOR], preserve_unit_iters=True)
    sch.bind(row, "blockIdx.x")
    sch.bind(tx, "threadIdx.x")
    sch.vectorize(vector)
    sch.reverse_compute_at(square, tx)
    sch.reverse_compute_at(total, tx)
    sch.reverse_compute_at(rsqrt, row, index=-1)
    sch.reverse_compute_at(norm, row, index=-1)
    _, columns = sch.get_loops(norm)
    tx, _, _ = sch.split(columns, factors=[threads, None, _VECTOR], preserve_unit_iters=True)
    sch.bind(tx, "threadIdx.x")
    sch.reverse_compute_at(write, tx, index=-1)
    sch.vectorize(sch.get_loops(write)[-1])
    for block, scope in ((square, "local"), (total, "local"), (rsqrt, "shared"), (norm, "local")):
        sch.set_scope(block, buffer_index=0, storage_scope=scope)
    return sch


def _is_copy_or_cast(block: tir.Block) -> bool:
    """Return whether a block copies or casts the elements of one buffer to the same indices of another."""
    if len(block.reads) != 1 or len(block.writes) != 1 or not isinstance(block.body, tir.BufferStore):
        return False
    value = block.body.value
    load = value.value if isinstance(value, tir.Cast) else value
    return (
        isinstance(load, tir.BufferLoad)
        and len(load.indices) == len(block.body.indices)
        and all(a is b for a, b in zip(load.indices, block.body.indices, strict=True))
    )


def _is_rsqrt(block: tir.Block) -> bool:
    """Return whether a block computes the reciprocal square root of one buffer."""
    if len(block.reads) != 1 or len(block.writes) != 1:
        return False
    match block.body:
        case tir.BufferStore(value=tir.Call(op=Op(name="tir.rsqrt"))):
            return True
        case _:
            return False
