"""`GEMV`: products of a matrix and a vector (TVM: `tvm.dlight.gpu.GEMV`)."""

from __future__ import annotations

from msgspec import Struct
from msgspec.structs import replace

from ....ir import tir
from ....ir.dtype import element_bytes
from ....ir.schedule import BlockRV, LoopRV, Schedule
from ...current_target import Target
from ..analysis import Extent, is_broadcast_epilogue, is_gemv, normalize, normalize_prim_func
from ..base import get_extent, largest_divisor, split_bind, try_inline_contiguous_spatial, unroll_up_to
from .base import GPUScheduleRule, is_adreno
from .gemv_columns import schedule_columns

POWERS = (1, 2, 4, 8)


class Tiling(Struct, frozen=True):
    """How the threads of a block share a product: knobs of `GEMV` and `LowBatchGEMV`.

    `rows` threads along the results, `threads` along the reduction; each computes `tile_rows` results, from `tile`
    consecutive elements of each row at a time, in vectors of `vector` elements.
    """

    rows: int = 1
    threads: int = 64
    tile_rows: int = 1
    tile: int = 1
    vector: int = 1
    load: int = 1
    """Bytes of the matrix that a thread reads at once; 1 for single elements."""
    shares_vector: bool = False
    """Whether the threads read the vector into shared memory first."""
    shared_load: int = -1
    """Maximum elements of the vector that a thread copies at once."""
    unroll: int = 64
    has_shuffles: bool = False
    """Whether threads exchange partial sums without shared memory."""
    is_transposed: bool = False
    """Whether `threadIdx.x` runs along the results, not along the reduction."""

    @property
    def axes(self) -> tuple[str, str]:
        """Return the thread axes along the results and along the reduction."""
        return ("threadIdx.x", "threadIdx.y") if self.is_transposed else ("threadIdx.y", "threadIdx.x")

    def within(self, most: int) -> Tiling:
        """Return the tiling with at most `most` threads: first fewer along the results, then along the reduction."""
        rows, threads = self.rows, self.threads
        while rows * threads > most:
            rows, threads = (rows // 2, threads) if rows > 1 else (rows, threads // 2)
        return replace(self, rows=rows, threads=threads)

    def for_reduction(self, packed: Extent, length: Extent) -> Tiling:
        """Return the tiling with the tile of a reduction of `length` words of `packed` elements."""
        whole = largest_divisor(length, [self.threads * power for power in POWERS]) // self.threads
        tile = packed if isinstance(packed, int) and packed > 1 else max(whole, 1)
        return replace(self, tile=tile, vector=min(largest_divisor(tile, POWERS), self.vector))


class GEMV(GPUScheduleRule):
    """Each row is reduced by the threads of a warp; packed weights are decoded on the way, an epilogue follows."""

    def schedule(self, func: tir.PrimFunc, target: Target) -> Schedule | None:
        """Return the schedule; None if the function is not such a product, or has its columns in memory order."""
        sch = Schedule(func)
        infos = try_inline_contiguous_spatial(sch, normalize_prim_func(sch))
        if not infos or len(infos) > 2 or not all(info.is_injective() for info in infos[1:]):
            return None
        info, epilogue = infos[0], infos[1].block_rv if infos[1:] else None
        vectors = is_gemv(sch, info) if len(info.iters) in (2, 3) else None
        is_inner = None if vectors is None else normalize(sch, info)
        if vectors is None or is_inner is None:
            return None
        if not is_inner:
            return schedule_columns(sch, target, info.block_rv, vectors, epilogue)
        batch, s, r, c = [get_extent(sch, loop) for loop in sch.get_loops(info.block_rv)]
        tiling = _tiling(target, _product(batch, s), _product(r, c)).within(int(target.max_num_threads))
        return _schedule_rows(sch, target, info.block_rv, vectors, epilogue, tiling.for_reduction(c, r))


def _product(a: Extent, b: Extent) -> int | None:
    """Return the product of extents; None if it is not constant."""
    return a * b if isinstance(a, int) and isinstance(b, int) else None


def _tiling(target: Target, results: int | None, length: int | None) -> Tiling:
    """Return the tiling of a target for a number of results and a length of the reduction."""
    is_long = results is not None and length is not None and results > length
    chosen = {
        "cuda": Tiling(16, 32, vector=4, load=4, shares_vector=True, shared_load=8, unroll=256, has_shuffles=True),
        "metal": Tiling(4 if is_long else 2, 16 if is_long else 64, unroll=256, has_shuffles=True, is_transposed=True),
        "rocm": Tiling(1 if is_long else 8, 128 if is_long else 64, vector=4, shared_load=8, unroll=256),
        "vulkan": Tiling(4 if is_long else 16, 32, vector=4, shares_vector=True, shared_load=4, unroll=256),
    }.get(target.kind)
    if chosen is not None:
        return chosen if results is not None else replace(chosen, rows=1, threads=64)
    if is_adreno(target):
        return Tiling(2, 32, vector=8, unroll=8, is_transposed=True)
    return Tiling(vector=8) if target.kind == "opencl" and "mali" in str(target) else Tiling()


def bind_tiles(sch: Schedule, loops: list[LoopRV], t: Tiling) -> tuple[LoopRV, LoopRV, LoopRV, LoopRV]:
    """Bind the loops of a partial sum, from the blocks of results inwards, to blocks and threads; vectorize its lanes.

    Returns the loops over blocks, threads along the results, threads along the reduction, and reduction steps.
    """
    bx, ts, tile_s, r, vectors_of_tile, lane = loops
    tr, vector = sch.split(lane, factors=[t.threads, None], preserve_unit_iters=True)
    sch.reorder(bx, ts, tr, r, tile_s, vectors_of_tile, vector)
    axis_s, axis_r = t.axes
    sch.bind(bx, "blockIdx.x")
    sch.bind(ts, axis_s)
    sch.bind(tr, axis_r)
    sch.vectorize(vector)
    return bx, ts, tr, r


def _schedule_rows(
    sch: Schedule, target: Target, block: BlockRV, vectors: list[tir.Buffer], epilogue: BlockRV | None, t: Tiling
) -> Schedule | None:
    batch, s, r, c = sch.get_loops(block)
    s, r = sch.fuse(batch, s), sch.fuse(r, c)
    sch.split(s, factors=[None, t.rows, t.tile_rows], preserve_unit_iters=True)
    partial, subtotal = reduce_in_two_steps(sch, block, r, t)
    bx, _, tr, r = bind_tiles(sch, sch.get_loops(partial), t)
    _load_matrix(sch, partial, r, t.load)
    shared = None
    if t.shares_vector and fits_shared(target, vectors, 0 if t.has_shuffles else t.rows * t.threads):
        if len(vectors) != 1:
            return None
        shared = share_vector(sch, partial, tr, t)
    for stage, is_subtotal in ((subtotal, True), (block, False)):
        sch.reverse_compute_at(stage, bx, preserve_unit_loops=True)
        tr, *rest = sch.get_loops(stage)[1:]
        combine(sch, t, tr, rest[1:] if is_subtotal else rest, rest[:1] if is_subtotal else [], [])
    unroll_stages(sch, partial, subtotal, 3, t.unroll)
    if shared is not None:
        _annotate_copy(sch, shared, t.unroll)
    if epilogue is not None:
        _schedule_epilogue(sch, block, epilogue, bx, t)
    return sch


def reduce_in_two_steps(sch: Schedule, block: BlockRV, r: LoopRV, t: Tiling) -> tuple[BlockRV, BlockRV]:
    """Factor a reduction: partial sums of each lane of each thread, and subtotals of each thread; return both blocks."""
    outer, tr, vectors_of_tile, vector = sch.split(
        r, factors=[None, t.threads, t.tile // t.vector, t.vector], preserve_unit_iters=True
    )
    sch.reorder(outer, vectors_of_tile, tr, vector)
    partial = sch.rfactor(sch.fuse(tr, vector), 0)
    lane = sch.get_loops(block)[-1]
    tr, _ = sch.split(lane, factors=[t.threads, None], preserve_unit_iters=True)
    return partial, sch.rfactor(tr, 0)


def _load_matrix(sch: Schedule, partial: BlockRV, r: LoopRV, load: int) -> None:
    """Read the matrix into registers, in vectors of `load` bytes."""
    local = sch.cache_read(partial, read_buffer_index=1, storage_scope="local")
    sch.compute_at(local, r, preserve_unit_loops=True)
    width = max(1, load // element_bytes(sch.get(local).reads[0].buffer.dtype))
    fused = sch.fuse(*sch.get_loops(local)[-2:])
    split_bind(sch, fused, [None, width], [None, "vector"], preserve_unit_iters=True)


def fits_shared(target: Target, vectors: list[tir.Buffer], partial_sums: int = 0) -> bool:
    """Return whether shared memory holds the vectors, and `partial_sums` elements of the dtype of each."""
    used = 0
    for buffer in vectors:
        count = 1
        for extent in buffer.shape:
            if not isinstance(extent, tir.IntImm):
                return False
            count *= extent.value
        used += (count + partial_sums) * element_bytes(buffer.dtype)
    return used <= int(target.max_shared_memory_per_block)


def share_vector(sch: Schedule, partial: BlockRV, loop: LoopRV, t: Tiling) -> BlockRV:
    """Copy the vector to shared memory by all threads under `loop`, without predicates if its length allows."""
    shared = sch.cache_read(partial, read_buffer_index=0, storage_scope="shared")
    sch.compute_at(shared, loop, preserve_unit_loops=True)
    elements = sch.get_loops(shared)[-1]
    length, threads = get_extent(sch, elements), t.rows * t.threads
    width = t.shared_load
    if isinstance(length, int):
        whole = largest_divisor(length, [threads * power for power in POWERS]) // threads
        width = max(min(whole, t.shared_load), 1)
    factors = [None, t.threads, t.rows, width] if t.is_transposed else [None, t.rows, t.threads, width]
    axes = [None, "threadIdx.y", "threadIdx.x", "vector"]
    split_bind(sch, elements, factors, axes, preserve_unit_iters=True)
    return shared


def combine(
    sch: Schedule, t: Tiling, tr: LoopRV, results: list[LoopRV], lanes: list[LoopRV], batch: list[LoopRV]
) -> None:
    """Order and bind the loops of a block that adds partial sums: over `lanes` of a thread, or over threads."""
    axis_s, axis_r = t.axes
    ts, tile = split_results(sch, sch.fuse(*results), t)
    vectors: list[LoopRV] = []
    if lanes:
        width = largest_divisor(t.tile_rows, POWERS)
        tile, *vectors = sch.split(tile, factors=[None, width], preserve_unit_iters=True)
        sch.reorder(ts, tr, tile, *batch, *vectors, *lanes)
    else:
        sch.reorder(tile, *batch, ts, tr)
    sch.bind(ts, axis_s)
    sch.bind(tr, axis_r)
    for vector in vectors:
        sch.vectorize(vector)


def split_results(sch: Schedule, results: LoopRV, t: Tiling) -> tuple[LoopRV, LoopRV]:
    """Split the results of a block into threads and the tile of each."""
    outer, ts, tile = sch.split(results, factors=[None, t.rows, t.tile_rows], preserve_unit_iters=True)
    return sch.fuse(outer, ts), tile


def unroll_stages(sch: Schedule, partial: BlockRV, subtotal: BlockRV, depth: int, steps: int) -> None:
    """Separate the inits of both blocks, keep their results in registers, and unroll the loops from `depth` on."""
    sch.decompose_reduction(partial, sch.get_loops(partial)[depth])
    sch.decompose_reduction(subtotal, sch.get_loops(subtotal)[-1])
    for block in (partial, subtotal):
        sch.set_scope(block, buffer_index=0, storage_scope="local")
    for block in (partial, subtotal):
        unroll_up_to(sch, sch.get_loops(block)[depth], steps)


def _annotate_copy(sch: Schedule, shared: BlockRV, steps: int) -> None:
    loop = sch.get_loops(shared)[-4]
    sch.annotate(loop, "pragma_unroll_explicit", steps)
    sch.annotate(loop, "pragma_vectorize", 1)


def _schedule_epilogue(sch: Schedule, block: BlockRV, epilogue: BlockRV, bx: LoopRV, t: Tiling) -> None:
    if is_broadcast_epilogue(sch, block, epilogue):
        sch.reverse_compute_at(epilogue, bx)
        sch.set_scope(block, 0, "shared")
        elements = sch.fuse(*sch.get_loops(epilogue)[1:])
        threads = t.rows if t.is_transposed else t.threads
        split_bind(sch, elements, [None, threads], [None, "threadIdx.x"])
        return
    sch.reverse_compute_at(epilogue, bx, preserve_unit_loops=True)
    sch.fuse(*sch.get_loops(epilogue)[1:])
    ts, _ = split_results(sch, sch.get_loops(epilogue)[-1], t)
    sch.bind(ts, t.axes[0])
    sch.set_scope(block, 0, "local")
