"""`LowBatchGEMV`: products of a matrix and few vectors, of unknown number (TVM: `tvm.dlight.gpu.LowBatchGEMV`)."""

from __future__ import annotations

from msgspec import Struct
from msgspec.structs import replace

from ....ir import tir
from ....ir.schedule import BlockRV, LoopRV, Schedule
from ...current_target import Target
from ...rules.build import constant
from ..analysis import (
    BlockInfo,
    access_of,
    collect_vars_used_in_prim_expr,
    detect_dominant_read,
    is_broadcast_epilogue,
    normalize_prim_func,
    vector_reads,
)
from ..base import get_extent, split_bind, try_inline_contiguous_spatial
from .base import GPUScheduleRule, is_adreno
from .gemv import (
    Tiling,
    bind_tiles,
    combine,
    fits_shared,
    reduce_in_two_steps,
    share_vector,
    split_results,
    unroll_stages,
)
from .low_batch_columns import schedule_columns


class Product(Struct):
    """Blocks of a product with few vectors: the reduction, the decoding of packed weights, and the padded vectors."""

    main: BlockRV
    decode: BlockRV | None
    padded: BlockRV | None
    vectors: list[tir.Buffer]


class LowBatchGEMV(GPUScheduleRule):
    """Reduce each row by the threads of a warp for `bucket` vectors at a time; their number is padded to a multiple."""

    def __init__(self, bucket: int = 4) -> None:
        self.bucket = bucket

    def schedule(self, func: tir.PrimFunc, target: Target) -> Schedule | None:
        """Return the schedule; None unless one block is such a product, with one spatial dimension of unknown size."""
        sch = Schedule(func)
        infos = normalize_prim_func(sch)
        reductions = [info for info in infos or () if info.is_reduction()]
        if len(reductions) != 1 or _vectors(sch, reductions[0]) is None:
            return None
        padding = [axis.dom if isinstance(axis.dom, int) else self.bucket for axis in reductions[0].iters]
        sch.pad_einsum(reductions[0].block_rv, padding)
        product, remaining = _product(sch)
        if product is None or len(remaining) > 2 or not all(info.is_injective() for info in remaining[1:]):
            return None
        is_inner = _normalize(sch, remaining[0])
        if is_inner is None:
            return None
        if is_inner:
            return _schedule_rows(sch, target, product, _tiling(sch, target, product.main), self.bucket)
        return schedule_columns(sch, target, product, self.bucket) if self.bucket <= 4 else None


def _product(sch: Schedule) -> tuple[Product | None, list[BlockInfo]]:
    """Return the blocks of a padded product, and those that remain after inlining; None if it has another form."""
    infos = normalize_prim_func(sch) or []
    decode = next((info.block_rv for info in reversed(infos) if "dequantize" in info.name), None)
    padded = next(
        (info.block_rv for info in reversed(infos) if _is_padding(info) and not sch.get_producers(info.block_rv)), None
    )
    others = [info for info in infos if "pad" not in info.name and "dequantize" not in info.name]
    remaining = try_inline_contiguous_spatial(sch, others) or []
    vectors = _vectors(sch, remaining[0]) if remaining and len(remaining[0].iters) in (2, 3) else None
    if vectors is None:
        return None, remaining
    return Product(remaining[0].block_rv, decode, padded, vectors), remaining


def _is_padding(info: BlockInfo) -> bool:
    return "pad" in info.name and "dequantize" not in info.name


def _split_iters(block: tir.Block) -> tuple[set[tir.Var], list[tir.IterVar]]:
    """Return the iterators of constant extent, and the others."""
    other = [axis for axis in block.iter_vars if axis.dom is None or constant(axis.dom.extent) is None]
    return {axis.var for axis in block.iter_vars if axis not in other}, other


def _vectors(sch: Schedule, info: BlockInfo) -> list[tir.Buffer] | None:
    """Return the buffers that do not depend on all iterators of constant extent; None if it is not such a product."""
    block = sch.get(info.block_rv)
    fixed, dynamic = _split_iters(block)
    if len(dynamic) != 1 or dynamic[0].iter_type is not tir.IterVarType.DATA_PAR:
        return None
    return vector_reads(block, fixed)


def _normalize(sch: Schedule, info: BlockInfo) -> bool | None:
    """Give a product three loops: vectors, spatial, reduction; return whether the innermost dimension is reduced."""
    block = sch.get(info.block_rv)
    fixed, dynamic = _split_iters(block)
    access = access_of(block, detect_dominant_read(block, fixed))
    own = {axis.var: axis for axis in info.iters}
    if own.keys() & collect_vars_used_in_prim_expr(access.base):
        return None
    variables = [split.source.source for split in access.args]
    if any(not isinstance(variable, tir.Var) or variable not in own for variable in variables):
        return None
    axes = [own[variable] for variable in variables if isinstance(variable, tir.Var)]
    spatial = [axis.loop_rv for axis in axes if axis.kind != "R"]
    reduced = [axis.loop_rv for axis in axes if axis.kind == "R"]
    if not spatial or not reduced:
        return None
    sch.reorder(*[own[axis.var].loop_rv for axis in dynamic], *spatial, *reduced)
    sch.fuse(*spatial)
    sch.fuse(*reduced)
    return axes[-1].kind == "R"


def _tiling(sch: Schedule, target: Target, block: BlockRV) -> Tiling:
    results, length = [get_extent(sch, loop) for loop in sch.get_loops(block)[1:]]
    is_long = isinstance(results, int) and isinstance(length, int) and results > length
    chosen = {
        "cuda": Tiling(*((4, 64) if is_long else (16, 32)), vector=4, shares_vector=True, shared_load=8, unroll=256),
        "metal": Tiling(8, 32, vector=4, unroll=8, is_transposed=not is_long),
        "rocm": Tiling(*((1, 128) if is_long else (8, 64)), vector=4, shares_vector=True, shared_load=8, unroll=256),
        "vulkan": Tiling(4 if is_long else 16, 32, vector=4, shares_vector=True, shared_load=4, unroll=256),
    }.get(target.kind)
    if chosen is None and is_adreno(target):
        chosen = Tiling(2, 32, vector=8, unroll=8, is_transposed=True)
    if chosen is None:
        chosen = Tiling(vector=8) if target.kind == "opencl" and "mali" in str(target) else Tiling()
    if not isinstance(results, int):
        chosen = replace(chosen, rows=1, threads=64)
    chosen = replace(chosen, tile_rows=2).within(int(target.max_num_threads))
    return chosen.for_reduction(1, length)


def _schedule_rows(sch: Schedule, target: Target, product: Product, t: Tiling, bucket: int) -> Schedule:
    main = product.main
    _, s, r = sch.get_loops(main)
    sch.split(s, factors=[None, t.rows, t.tile_rows], preserve_unit_iters=True)
    partial, subtotal = reduce_in_two_steps(sch, main, r, t)
    vectors, *tiles = sch.get_loops(partial)
    bx, ts, tr, r = bind_tiles(sch, tiles, t)
    by, batch = sch.split(vectors, factors=[None, bucket])
    sch.bind(by, "blockIdx.y")
    sch.reorder(bx, ts, tr, r, batch)
    if product.decode is not None:
        _decode(sch, product.decode, r, t.load)
    shared = None
    if t.shares_vector and len(product.vectors) == 1 and fits_shared(target, product.vectors):
        shared = share_vector(sch, partial, tr, t)
    if product.padded is not None:
        sch.compute_inline(product.padded)
    for stage, is_subtotal in ((subtotal, True), (main, False)):
        sch.reverse_compute_at(stage, bx, preserve_unit_loops=True)
        tr, *rest = sch.get_loops(stage)[2:]
        lanes, (batch, *results) = (rest[:1], rest[1:]) if is_subtotal else ([], rest)
        combine(sch, t, tr, results, lanes, [batch])
    unroll_stages(sch, partial, subtotal, 4, t.unroll)
    if shared is not None:
        loop = sch.get_loops(shared)[-4]
        sch.annotate(loop, "pragma_unroll_explicit", t.unroll)
        sch.annotate(loop, "pragma_vectorize", 1)
    consumers = sch.get_consumers(main)
    if consumers:
        _schedule_epilogue(sch, main, consumers[0], bx, t)
    return sch


def _decode(sch: Schedule, decode: BlockRV, r: LoopRV, load: int) -> None:
    """Decode the weights of a step into registers."""
    sch.compute_at(decode, r, preserve_unit_loops=True)
    sch.set_scope(decode, 0, "local")
    s, length = sch.get_loops(decode)[-2:]
    s, vector = sch.split(s, factors=[None, load], preserve_unit_iters=True)
    sch.reorder(s, length, vector)
    sch.vectorize(vector)


def _schedule_epilogue(sch: Schedule, main: BlockRV, epilogue: BlockRV, bx: LoopRV, t: Tiling) -> None:
    if is_broadcast_epilogue(sch, main, epilogue):
        sch.reverse_compute_at(epilogue, bx)
        sch.set_scope(main, 0, "shared")
        threads = t.rows if t.is_transposed else t.threads
        split_bind(sch, sch.fuse(*sch.get_loops(epilogue)[3:]), [None, threads], [None, t.axes[0]])
        return
    sch.reverse_compute_at(epilogue, bx, preserve_unit_loops=True)
    sch.fuse(*sch.get_loops(epilogue)[3:])
    ts, _ = split_results(sch, sch.get_loops(epilogue)[-1], t)
    sch.bind(ts, t.axes[0])
    sch.set_scope(main, 0, "local")
