"""Products of a matrix and a vector whose innermost dimension is not reduced, on GPUs of Apple and Android devices."""

from __future__ import annotations

from msgspec import Struct

from ....ir import tir
from ....ir.schedule import BlockRV, LoopRV, Schedule
from ...current_target import Target
from ..analysis import is_broadcast_epilogue
from ..base import auto_vectorize, bind, get_extent, largest_divisor, split_bind, unroll_up_to
from .base import is_adreno

_PACK = 8
"""Weights in a word."""
_SCALED = 4
"""Words with one scale."""
_MOST_RESULTS = 96000
_AXES = ("threadIdx.x", "threadIdx.y")


class _Columns(Struct, frozen=True):
    columns: int
    threads: int
    vector: int
    unroll: int
    shares_vector: bool = False
    shared_load: int = 4
    shared_tiles: int = 1


def schedule_columns(
    sch: Schedule, target: Target, block: BlockRV, vectors: list[tir.Buffer], epilogue: BlockRV | None
) -> Schedule | None:
    """Schedule a normalized product whose matrix has the reduction in an outer dimension; None for other targets."""
    _, s, r, c = [get_extent(sch, loop) for loop in sch.get_loops(block)]
    chosen = {"metal": _Columns(128, 4, 4, 8)}.get(target.kind, _Columns(64, 4, 8, 8) if is_adreno(target) else None)
    if chosen is None:
        return None
    if isinstance(r, int) and r >= chosen.shared_tiles * chosen.threads * _SCALED * _PACK:
        if not isinstance(s, int):
            chosen = _Columns(256, 1, chosen.vector, chosen.unroll, shares_vector=True)
        if not isinstance(s, int) or s <= _MOST_RESULTS:
            whole = largest_divisor(r, [chosen.threads * power for power in (1, 2, 4, 8)]) // chosen.threads
            tile = c if isinstance(c, int) and c > 1 else max(whole, 1)
            load = min(largest_divisor(tile, (1, 2, 4, 8)), chosen.shared_load)
            return _reduce_by_threads(sch, block, epilogue, chosen, load)
    return _in_vectors(sch, block, vectors, epilogue) if is_adreno(target) else None


def _reduce_by_threads(sch: Schedule, block: BlockRV, epilogue: BlockRV | None, t: _Columns, load: int) -> Schedule:
    batch, s, r, c = sch.get_loops(block)
    s, r = sch.fuse(batch, s), sch.fuse(r, c)
    bx, ts = sch.split(s, factors=[None, t.columns], preserve_unit_iters=True)
    r, shared_tile, tr, scaled, packed = sch.split(
        r, factors=[None, t.shared_tiles, t.threads, _SCALED, _PACK], preserve_unit_iters=True
    )
    sch.reorder(bx, ts, r, shared_tile, scaled, tr, packed)
    partial = sch.rfactor(sch.fuse(tr, packed), 0)
    tr, _ = sch.split(sch.get_loops(block)[-1], factors=[t.threads, None], preserve_unit_iters=True)
    subtotal = sch.rfactor(tr, 0)
    bx, ts, r, shared_tile, scaled, lane = sch.get_loops(partial)
    tr, packed = sch.split(lane, factors=[t.threads, _PACK])
    sch.reorder(bx, ts, tr, r, shared_tile, scaled, packed)
    bind(sch, [bx, ts, tr], ["blockIdx.x", *_AXES])
    auto_vectorize(sch, packed, t.vector)
    if len(sch.get(partial).reads) >= 3:
        scales = sch.cache_read(partial, read_buffer_index=2, storage_scope="local")
        sch.compute_at(scales, shared_tile, preserve_unit_loops=True)
    weights = sch.cache_read(partial, read_buffer_index=1, storage_scope="local")
    sch.compute_at(weights, scaled, preserve_unit_loops=True)
    if t.shares_vector:
        shared = sch.cache_read(partial, read_buffer_index=0, storage_scope="shared")
        sch.compute_at(shared, r, preserve_unit_loops=True)
        parts = sch.split(
            sch.get_loops(shared)[-1],
            factors=[None, t.shared_tiles, t.columns, t.threads, load],
            preserve_unit_iters=True,
        )
        bind(sch, [parts[3], parts[2]], [_AXES[1], _AXES[0]])
        auto_vectorize(sch, parts[4], load)
    sch.reverse_compute_at(subtotal, bx, preserve_unit_loops=True)
    tr, packed, ts = sch.get_loops(subtotal)[1:]
    sch.reorder(ts, tr, packed)
    bind(sch, [ts, tr], _AXES)
    sch.reverse_compute_at(block, bx, preserve_unit_loops=True)
    tr, ts = sch.get_loops(block)[1:]
    sch.reorder(ts, tr)
    bind(sch, [ts, tr], _AXES)
    sch.decompose_reduction(partial, sch.get_loops(partial)[2])
    sch.decompose_reduction(subtotal, sch.get_loops(subtotal)[-1])
    for stage in (partial, subtotal):
        sch.set_scope(stage, buffer_index=0, storage_scope="local")
    unroll_up_to(sch, sch.get_loops(subtotal)[3], t.unroll)
    if epilogue is not None:
        _schedule_epilogue(sch, block, epilogue, bx, t.columns)
    return sch


def _schedule_epilogue(sch: Schedule, block: BlockRV, epilogue: BlockRV, bx: LoopRV, columns: int) -> None:
    if is_broadcast_epilogue(sch, block, epilogue):
        sch.reverse_compute_at(epilogue, bx)
        sch.set_scope(block, 0, "shared")
        split_bind(sch, sch.fuse(*sch.get_loops(epilogue)[1:]), [None, columns], [None, _AXES[0]])
        return
    sch.reverse_compute_at(epilogue, bx, preserve_unit_loops=True)
    sch.fuse(*sch.get_loops(epilogue)[1:])
    split_bind(sch, sch.get_loops(epilogue)[-1], [columns, None], [_AXES[0], None], preserve_unit_iters=True)
    sch.set_scope(block, 0, "local")


_THREADS = 128
_ROWS = 4


def _in_vectors(sch: Schedule, block: BlockRV, vectors: list[tir.Buffer], epilogue: BlockRV | None) -> Schedule:
    """Compute vectors of results in each thread, without a reduction across threads."""
    batch, s, r, c = sch.get_loops(block)
    length = get_extent(sch, s)
    width = (4 if length > 4096 else 2) if isinstance(length, int) else 1
    bx, tx, vector = sch.split(s, factors=[None, _THREADS, width])
    outer, inner = sch.split(r, factors=[None, _ROWS])
    bind(sch, [batch, bx, tx], ["blockIdx.y", "blockIdx.x", "threadIdx.x"])
    sch.reorder(bx, tx, outer, inner, c, vector)
    unroll_up_to(sch, tx, 8)
    shared = sch.cache_read(block, vectors[0], storage_scope="shared")
    sch.compute_at(shared, bx, preserve_unit_loops=True)
    elements = sch.get_loops(shared)[-1]
    split_bind(
        sch, elements, [None, _THREADS, 8], [None, "threadIdx.x", "vector"], preserve_unit_iters=True
    )  # fmt: skip
    sch.vectorize(vector)
    if epilogue is not None:
        sch.reverse_compute_at(epilogue, bx, preserve_unit_loops=True)
        results = sch.get_loops(epilogue)[-1]
        split_bind(sch, results, [_THREADS, width], ["threadIdx.x", "vector"], preserve_unit_iters=True)
        sch.set_scope(block, 0, "local")
    sch.decompose_reduction(block, outer)
    return sch
