"""Products of matrices on tensor cores (TVM: `MatmulTensorization`, `MatmulInt8Tensorization`)."""

from __future__ import annotations

from ....ir import tir
from ....ir.schedule import BlockRV, LoopRV, Schedule, ScheduleError
from ...current_target import Target
from ..base import auto_inline_consumer_chain, auto_inline_producers, bind, is_accepted, split_bind
from .base import GPUScheduleRule
from .matmul_form import main_reduction, normalize_matmul

_FRAGMENT, _WARP, _VECTOR = 16, 32, 4
_WARPS, _FRAGMENTS = 4, 2
"""Warps of a block along each dimension of the result, and fragments of each warp."""

_PIPELINES = (([0, 3, 1, 4, 5, 2, 6], [0, 0, 0, 0, 0, 1, 1]), ([0, 1, 2], [0, 0, 1]))
"""Order and stage of the statements of the outer and the inner loop over the reduction."""


class MatmulTensorization(GPUScheduleRule):
    """float16 products, with float16 or float32 sums. Functions with `dlight.do_not_tensorize` are left alone."""

    operand = "float16"
    sums: tuple[str, ...] = ("float32", "float16")
    steps = 4
    """Fragments along the reduction between two copies to shared memory."""
    align = (16, 8)
    """Factor and offset of the pitch of the operands in shared memory, in elements."""

    def schedule(self, func: tir.PrimFunc, target: Target) -> Schedule | None:
        """Return the schedule; None if the function is not such a product."""
        if "dlight.do_not_tensorize" in func.attrs:
            return None
        for sums in self.sums:
            try:
                return self._scheduled(func, sums)
            except ScheduleError:
                continue
        return None

    def _scheduled(self, func: tir.PrimFunc, sums: str) -> Schedule | None:
        sch = Schedule(func)
        main = main_reduction(sch)
        if main is None:
            return None
        normalize_matmul(sch, main)
        tile = _FRAGMENT * _WARPS * _FRAGMENTS
        sch.pad_einsum(main, [1, tile, tile, _FRAGMENT * self.steps])
        batch, i, j, k = sch.get_loops(main)
        (i, i_in), (j, j_in), (k, k_in) = (sch.split(loop, factors=[None, _FRAGMENT]) for loop in (i, j, k))
        sch.reorder(i, j, k, i_in, j_in, k_in)
        outer = sch.blockize(i_in)
        warp, k0, k1 = self._distribute(sch, batch, i, j, k)
        for copy in [self._fetch(sch, outer, operand, k0) for operand in (0, 1)]:
            auto_inline_producers(sch, copy)
        operands = [sch.cache_read(outer, at, f"wmma.matrix_{name}") for at, name in enumerate("ab")]
        for operand in operands:
            sch.compute_at(operand, k1)
        result = sch.cache_write(outer, 0, "shared.dyn")
        sch.storage_align(result, 0, -2, 16, 4)
        store = sch.cache_write(outer, 0, "wmma.accumulator")
        sch.reverse_compute_at(store, warp)
        sch.reverse_compute_at(result, warp)
        fragments = _in_fragments(sch, store)
        init = sch.get_child_blocks(sch.decompose_reduction(outer, k0))[0]
        names = intrinsics(self.operand, sums)
        for operand, load in zip(operands, ("load_a", "load_b"), strict=True):
            io, jo, ii, _ = _in_fragments(sch, operand)
            sch.unroll(io)
            sch.unroll(jo)
            sch.tensorize(ii, names[load])
        sch.tensorize(sch.get_loops(init)[-2], names["init"])
        sch.tensorize(fragments[2], names["store"])
        sch.tensorize(sch.get_loops(main)[-3], names["compute"])
        if not auto_inline_consumer_chain(sch, result):
            return None
        elements = sch.fuse(*sch.get_loops(result)[-2:])
        split_bind(sch, elements, [None, _WARP, _VECTOR], [None, "threadIdx.x", "vector"])
        for loop, (order, stage) in zip((k0, k1), _PIPELINES, strict=True):
            _pipeline(sch, loop, order, stage)
        return sch

    def _distribute(
        self, sch: Schedule, batch: LoopRV, i: LoopRV, j: LoopRV, k: LoopRV
    ) -> tuple[LoopRV, LoopRV, LoopRV]:
        """Bind the fragments to blocks and warps; return the loop of warps and those of steps, outer and inner."""
        i0, i1, i2, i3 = sch.split(i, factors=[None, 1, _WARPS, _FRAGMENTS])
        j0, j1, j2, j3 = sch.split(j, factors=[1, None, _WARPS, _FRAGMENTS])
        k0, k1 = sch.split(k, factors=[None, self.steps])
        sch.reorder(i0, j0, i1, j1, j2, i2, k0, k1, i3, j3)
        bx, by, warp = sch.fuse(i0, j0), sch.fuse(i1, j1), sch.fuse(j2, i2)
        bind(sch, [batch, bx, by, warp], ["blockIdx.z", "blockIdx.x", "blockIdx.y", "threadIdx.y"])
        return warp, k0, k1

    def _fetch(self, sch: Schedule, block: BlockRV, operand: int, step: LoopRV) -> BlockRV:
        """Copy a tile of an operand to shared memory by all threads of a block."""
        copy = sch.cache_read(block, operand, "shared.dyn")
        sch.compute_at(copy, step)
        elements = sch.fuse(*sch.get_loops(copy)[-2:])
        factors = [None, _WARPS * _WARPS, _WARP, _VECTOR]
        split_bind(sch, elements, factors, [None, "threadIdx.y", "threadIdx.x", "vector"])
        factor, offset = self.align
        sch.storage_align(copy, 0, axis=-2, factor=factor, offset=offset)
        sch.annotate(copy, "tir.manifest_shared_memory_local_stage", 1)
        sch.annotate(copy, "double_buffer_scope", 0)
        return copy


class MatmulInt8Tensorization(MatmulTensorization):
    """int8 products with int32 sums."""

    operand = "int8"
    sums = ("int32",)
    steps = 1
    align = (32, 16)


def _pipeline(sch: Schedule, loop: LoopRV, order: list[int], stage: list[int]) -> None:
    """Overlap copies and products, unless the loop cannot run as this pipeline."""
    if is_accepted(sch.annotate, loop, "software_pipeline_stage", stage) and not is_accepted(
        sch.annotate, loop, "software_pipeline_order", order
    ):
        sch.unannotate(loop, "software_pipeline_stage")


def intrinsics(operand: str, sums: str) -> dict[str, str]:
    """Return the names of the intrinsics for fragments in dynamic shared memory, with a transposed right operand."""
    short = {"float16": "f16", "float32": "f32", "int8": "s8", "int32": "s32"}
    shape = "16x16x16"
    a, c = short[operand], short[sums]
    return {
        "load_a": f"wmma_load_{shape}_{a}_a_shared_dyn",
        "load_b": f"wmma_load_{shape}_{a}_b_trans_shared_dyn",
        "init": f"wmma_fill_{shape}_{c}",
        "store": f"wmma_store_{shape}_{c}_shared_dyn",
        "compute": f"wmma_sync_{shape}_{a}{a}{c}_trans",
    }


def _in_fragments(sch: Schedule, block: BlockRV) -> list[LoopRV]:
    """Split the innermost two loops of a block into loops over fragments and loops over their elements."""
    i, j = sch.get_loops(block)[-2:]
    (i0, i1), (j0, j1) = sch.split(i, factors=[None, _FRAGMENT]), sch.split(j, factors=[None, _FRAGMENT])
    sch.reorder(i0, j0, i1, j1)
    return [i0, j0, i1, j1]
