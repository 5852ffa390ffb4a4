"""`Transpose`: transposition of a matrix through shared memory (TVM: `tvm.dlight.gpu.Transpose`)."""

from __future__ import annotations

from ....ir import tir
from ....ir.equal import structural_equal
from ....ir.schedule import BlockRV, Schedule
from ...current_target import Target
from ...rules.build import constant
from ..analysis import access_of, detect_dominant_read, normalize_prim_func
from ..base import bind, split_bind, try_inline_contiguous_spatial, unroll_up_to
from .base import GPUScheduleRule

_TILES = {"cuda": (16, 8, 256), "opencl": (16, 8, 64)}
"""Threads along x and y, and unrolled steps, by kind of target."""
_OTHER_TILE = (8, 4, 64)
_VECTOR = 4
"""Maximum number of elements that a thread writes at once."""


class Transpose(GPUScheduleRule):
    """Read tiles of rows into shared memory, whose pitch avoids bank conflicts, and write them as columns.

    The block before the transposition, such as the decoding of packed weights, is computed while reading.
    """

    def schedule(self, func: tir.PrimFunc, target: Target) -> Schedule | None:
        """Return the schedule; None unless the last block, or the last before spatial ones, transposes a matrix."""
        sch = Schedule(func)
        blocks = normalize_prim_func(sch)
        if blocks is None:
            return None
        at = next(
            (n for n in reversed(range(len(blocks))) if _is_transpose(sch, blocks[n].block_rv) or not blocks[n].is_injective()),
            None,
        )  # fmt: skip
        if at is None or not _is_transpose(sch, blocks[at].block_rv) or len(sch.get_loops(blocks[at].block_rv)) != 2:
            return None
        prologue = blocks[at - 1].block_rv if at else None
        if at and try_inline_contiguous_spatial(sch, blocks[: at - 1]):
            return None
        packed = 1 if prologue is None else _packed(sch.get(prologue))
        _tile(sch, blocks[at].block_rv, packed, _TILES.get(target.kind, _OTHER_TILE))
        if prologue is not None:
            sch.compute_inline(prologue)
        return sch


def _is_transpose(sch: Schedule, block: BlockRV) -> bool:
    """Return whether a block copies elements to the same indices in another order."""
    match sch.get(block).body:
        case tir.BufferStore(indices=to, value=tir.BufferLoad(indices=source)):
            left = list(source)
            for index in to:
                match = next((other for other in left if structural_equal(index, other)), None)
                if match is None:
                    return False
                left.remove(match)
            return not left and not all(map(structural_equal, to, source))
        case _:
            return False


def _packed(block: tir.Block) -> int:
    """Return the number of consecutive elements that a block decodes from the same word."""
    access = access_of(block, detect_dominant_read(block))
    return (constant(access.args[0].lower_factor) or 1) if access.args else 1


def _tile(sch: Schedule, block: BlockRV, packed: int, tile: tuple[int, int, int]) -> None:
    len_x, len_y, steps = tile
    rows, columns = sch.get_loops(block)
    rows, inner = sch.split(rows, factors=[None, packed], preserve_unit_iters=True)
    by, ty = sch.split(rows, factors=[None, len_y], preserve_unit_iters=True)
    bx, tx = sch.split(columns, factors=[None, len_x], preserve_unit_iters=True)
    sch.reorder(by, bx, ty, tx, inner)
    bind(sch, [by, bx, ty, tx], ["blockIdx.y", "blockIdx.x", "threadIdx.y", "threadIdx.x"])
    width = min(_VECTOR, packed)
    _, inner = sch.split(inner, factors=[None, width])
    if width > 1:
        sch.vectorize(inner)
    shared = sch.cache_read(block, read_buffer_index=0, storage_scope="shared")
    sch.compute_at(shared, bx)
    copied = sch.fuse(*sch.get_loops(shared)[2:])
    split_bind(sch, copied, [None, len_y, len_x, packed], [None, "threadIdx.y", "threadIdx.x", "unroll"])
    sch.storage_align(shared, buffer_index=0, axis=0, factor=32, offset=1)
    unroll_up_to(sch, by, steps)
