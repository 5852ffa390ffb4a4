"""Products of packed weights whose innermost dimension is not reduced, and few vectors."""

from __future__ import annotations

from typing import Any

from ....ir.schedule import BlockRV, LoopRV, Schedule
from ...current_target import Target
from ..analysis import is_broadcast_epilogue
from ..base import auto_vectorize, bind

_PACK, _SCALED = 8, 4
"""Weights in a word, and words with one scale."""
_AXES = ("threadIdx.x", "threadIdx.y")


def schedule_columns(sch: Schedule, target: Target, product: Any, bucket: int) -> Schedule | None:
    """Schedule a normalized product (`low_batch_gemv.Product`); None without packed weights."""
    columns, threads, vector = (64, 4, 4) if target.kind == "metal" else (32, 4, 1)
    main: BlockRV = product.main
    if product.decode is None:
        return None
    b, s, r = sch.get_loops(main)
    by, batch = sch.split(b, factors=[None, bucket], preserve_unit_iters=True)
    bx, ts = sch.split(s, factors=[None, columns], preserve_unit_iters=True)
    r, tr, scaled, packed = sch.split(r, factors=[None, threads, _SCALED, _PACK], preserve_unit_iters=True)
    sch.reorder(by, bx, ts, r, batch, scaled, tr, packed)
    partial = sch.rfactor(sch.fuse(tr, packed), 0)
    tr, _ = sch.split(sch.get_loops(main)[-1], factors=[threads, _PACK], preserve_unit_iters=True)
    subtotal = sch.rfactor(tr, 0)
    by, bx, ts, r, batch, scaled, lane = sch.get_loops(partial)
    tr, packed = sch.split(lane, factors=[threads, _PACK], preserve_unit_iters=True)
    sch.reorder(by, bx, ts, tr, r, scaled, batch, packed)
    bind(sch, [by, bx, ts, tr], ["blockIdx.y", "blockIdx.x", *_AXES])
    auto_vectorize(sch, packed, vector)
    _decode(sch, product.decode, r, scaled, vector)
    if product.padded is not None and target.kind == "metal":
        _share(sch, partial, product.padded, r, (threads, columns), vector)
    elif product.padded is not None:
        sch.compute_inline(product.padded)
    sch.reverse_compute_at(subtotal, bx, preserve_unit_loops=True)
    tr, packed, batch, ts = sch.get_loops(subtotal)[2:]
    sch.reorder(ts, tr, batch, packed)
    bind(sch, [ts, tr], _AXES)
    sch.reverse_compute_at(main, bx, preserve_unit_loops=True)
    tr, batch, ts = sch.get_loops(main)[2:]
    sch.reorder(batch, ts, tr)
    bind(sch, [ts, tr], _AXES)
    for stage in (partial, subtotal):
        sch.decompose_reduction(stage, sch.get_loops(stage)[4])
        sch.set_scope(stage, buffer_index=0, storage_scope="local")
    return sch if _schedule_epilogue(sch, main, bx) else None


def _decode(sch: Schedule, decode: BlockRV, r: LoopRV, scaled: LoopRV, vector: int) -> None:
    """Decode a word of weights at a time; read the words and scales of a step into registers."""
    sch.compute_at(decode, scaled, preserve_unit_loops=True)
    sch.set_scope(decode, 0, "local")
    auto_vectorize(sch, sch.fuse(*sch.get_loops(decode)[6:]), vector)
    for operand in (0, 1):
        local = sch.cache_read(decode, operand, "local")
        sch.compute_at(local, r, preserve_unit_loops=True)
        auto_vectorize(sch, sch.fuse(*sch.get_loops(local)[5:]), vector)


def _share(sch: Schedule, partial: BlockRV, padded: BlockRV, r: LoopRV, threads: tuple[int, int], vector: int) -> None:
    """Copy the vectors of a step, padded, to shared memory by all threads."""
    shared = sch.cache_read(partial, sch.get(padded).writes[0].buffer, "shared")
    sch.compute_inline(padded)
    sch.compute_at(shared, r, preserve_unit_loops=True)
    sch.storage_align(shared, 0, axis=-2, factor=8, offset=1)
    elements = sch.fuse(*sch.get_loops(shared)[5:])
    tr, ts, own = sch.split(elements, factors=[*threads, None])
    bind(sch, [tr, ts], [_AXES[1], _AXES[0]])
    auto_vectorize(sch, own, vector)


def _schedule_epilogue(sch: Schedule, main: BlockRV, bx: LoopRV) -> bool:
    """Compute the consumer by the same threads; return False if it reads results of other blocks."""
    for epilogue in sch.get_consumers(main)[:1]:
        if is_broadcast_epilogue(sch, main, epilogue):
            return False
        sch.reverse_compute_at(epilogue, bx, preserve_unit_loops=True)
        _, ts = sch.get_loops(epilogue)[2:]
        sch.bind(ts, _AXES[0])
        sch.set_scope(main, 0, "local")
    return True
