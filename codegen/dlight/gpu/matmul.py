"""`Matmul`: products of matrices (TVM: `tvm.dlight.gpu.Matmul`)."""

from __future__ import annotations

from msgspec import Struct

from ....ir import tir
from ....ir.schedule import BlockRV, LoopRV, Schedule
from ...current_target import Target
from ...rules.build import constant
from ..base import auto_inline_consumer_chain, auto_inline_producers, bind, split_bind, unroll_up_to
from .base import GPUScheduleRule, is_adreno
from .matmul_form import main_reduction, matmul_maps, normalize_matmul
from .matmul_outer import schedule_unpadded_rows
from .matmul_tensor_cores import MatmulInt8Tensorization, MatmulTensorization

_SMALLEST_TENSORIZED = 64
"""A dimension of at most this constant extent leaves tensor cores idle."""


class Config(Struct, frozen=True):
    """Tiles of a matrix product: threads of a block and elements of each, along both dimensions of the result."""

    block_size_x: int = 8
    block_size_y: int = 8
    vthread_x: int = 1
    vthread_y: int = 1
    micro_size_x: int = 4
    micro_size_y: int = 4
    micro_size_k: int = 8
    vector_size: int = 1
    unroll: int = 256
    """Maximum number of unrolled steps; 0 does not unroll."""
    use_shared: bool = True
    storage_align: bool = False
    inner_x: bool = False
    """Whether x is the inner dimension of the result."""


class Matmul(GPUScheduleRule):
    """Tiles of the result in registers, tiles of the operands in shared memory; or tensor cores, if they are busy."""

    Config = Config

    def get_configs(self, target: Target) -> Config:
        """Return the tiles for a target."""
        if target.kind in ("cuda", "rocm"):
            return Config(8, 16, micro_size_k=16, vector_size=2, storage_align=True)
        if is_adreno(target):
            return Config(32, 4, 1, 1, 8, 2, 16, 8, 16, use_shared=False, inner_x=True)
        return Config()

    def schedule(self, func: tir.PrimFunc, target: Target) -> Schedule | None:
        """Return the schedule; None unless one block is a product, and all others are spatial."""
        sch = Schedule(func)
        config = self.get_configs(target)
        main = main_reduction(sch)
        if main is None or matmul_maps(sch.get(main)) is None:
            return None
        if is_adreno(target) and not _is_inner_reduction(sch.get(main)):
            unpadded = schedule_unpadded_rows(func, config)
            if unpadded is not None:
                return unpadded
        normalize_matmul(sch, main)
        tensorized = _tensorized(sch, main, func, target)
        return tensorized if tensorized is not None else _tile(sch, main, config)


def _is_inner_reduction(block: tir.Block) -> bool:
    """Return whether the last index of the right operand is a reduction."""
    last = block.reads[-1].region[-1].min
    return any(axis.var is last and axis.iter_type is tir.IterVarType.COMM_REDUCE for axis in block.iter_vars)


def _tensorized(sch: Schedule, main: BlockRV, func: tir.PrimFunc, target: Target) -> Schedule | None:
    """Return the schedule for tensor cores; None if the product is small or of other dtypes, or the GPU has none."""
    block = sch.get(main)
    extents = [constant(axis.dom.extent) for axis in block.iter_vars[1:] if axis.dom is not None]
    if target.kind != "cuda" or not _has_tensor_cores(str(target.attrs.get("arch", ""))):
        return None
    if any(extent is not None and extent <= _SMALLEST_TENSORIZED for extent in extents):
        return None
    dtypes = block.reads[0].buffer.dtype, block.writes[0].buffer.dtype
    if dtypes == ("int8", "int32"):
        return MatmulInt8Tensorization().schedule(func, target)
    if dtypes in (("float16", "float16"), ("float16", "float32")):
        return MatmulTensorization().schedule(func, target)
    return None


def _has_tensor_cores(arch: str) -> bool:
    number = arch.removeprefix("sm_").rstrip("a")
    return number.isdecimal() and int(number) >= 70


def _tile(sch: Schedule, main: BlockRV, config: Config) -> Schedule | None:
    y_size = config.vthread_y * config.block_size_y * config.micro_size_y
    x_size = config.vthread_x * config.block_size_x * config.micro_size_x
    sizes = [y_size, x_size] if config.inner_x else [x_size, y_size]
    sch.pad_einsum(main, [1, *sizes, config.micro_size_k])
    batch, outer, inner, k = sch.get_loops(main)
    x, y = (inner, outer) if config.inner_x else (outer, inner)
    by, vy, ty, yi = sch.split(y, factors=[None, config.vthread_y, config.block_size_y, config.micro_size_y])
    bx, vx, tx, xi = sch.split(x, factors=[None, config.vthread_x, config.block_size_x, config.micro_size_x])
    ko, ki = sch.split(k, factors=[None, config.micro_size_k])
    own = [yi, xi] if config.inner_x else [xi, yi]
    sch.reorder(by, bx, vy, vx, ty, tx, ko, ki, *own)
    by = sch.fuse(batch, by)
    axes = ["blockIdx.x", "blockIdx.y", "vthread.y", "vthread.x", "threadIdx.y", "threadIdx.x"]
    bind(sch, [bx, by, vy, vx, ty, tx], axes)
    if (config.micro_size_x if config.inner_x else config.micro_size_y) % config.vector_size == 0:
        split_bind(sch, own[-1], [None, config.vector_size], [None, "vector"])
    if config.unroll > 0:
        unroll_up_to(sch, tx, config.unroll)
    result = sch.cache_write(main, 0, "local")
    sch.reverse_compute_at(result, tx, preserve_unit_loops=True)
    if config.micro_size_x % config.vector_size == 0:
        split_bind(sch, sch.get_loops(result)[-1], [None, config.vector_size], [None, "vector"])
    if config.use_shared:
        for copy in [_fetch(sch, main, operand, ko, config) for operand in (0, 1)]:
            auto_inline_producers(sch, copy)
    else:
        auto_inline_producers(sch, main)
    if not auto_inline_consumer_chain(sch, result):
        return None
    sch.decompose_reduction(main, ko)
    return sch


def _fetch(sch: Schedule, main: BlockRV, operand: int, step: LoopRV, config: Config) -> BlockRV:
    """Copy a tile of an operand to shared memory by all threads of a block."""
    copy = sch.cache_read(main, operand, "shared")
    count = len(sch.get_loops(copy))
    sch.compute_at(copy, step, preserve_unit_loops=True)
    elements = sch.fuse(*sch.get_loops(copy)[-count:])
    factors = [config.block_size_y, config.block_size_x, None, config.vector_size]
    ty, tx, _, vector = sch.split(elements, factors=factors)
    bind(sch, [vector, ty, tx], ["vector", "threadIdx.y", "threadIdx.x"])
    if config.storage_align:
        sch.storage_align(copy, 0, axis=1, factor=8, offset=config.vector_size)
    return copy
