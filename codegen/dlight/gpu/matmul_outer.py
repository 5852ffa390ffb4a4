"""Products with a number of rows that is not constant, and a matrix with outer reduction, on Android devices."""

from __future__ import annotations

from typing import Any

from ....ir import make, tir
from ....ir.schedule import BlockRV, LoopRV, Schedule
from ..analysis import get_root_block
from ..base import bind, get_extent, largest_divisor
from .matmul_form import main_reduction


def schedule_unpadded_rows(func: tir.PrimFunc, config: Any) -> Schedule | None:
    """Return the schedule of a product that copies tiles of its left operand to a packed buffer first.

    None unless the product has four loops, of which only the number of rows is unknown.
    """
    sch = Schedule(func)
    main = main_reduction(sch)
    if main is None or len(sch.get_loops(main)) != 4:
        return None
    batch, rows, columns, _ = [get_extent(sch, loop) for loop in sch.get_loops(main)]
    if not isinstance(columns, int) or not isinstance(batch, int) or isinstance(rows, int):
        return None
    tile = config.unroll
    vector = min(largest_divisor(columns // config.block_size_x, (1, 2, 4, 8)), config.vector_size)
    blocks = sch.get_child_blocks(get_root_block(sch))
    epilogue = blocks[-1] if sch.get(blocks[-1]) is not sch.get(main) else None
    decode: BlockRV | None = None
    for block in blocks[:-1]:
        if "dequantize" in sch.get(block).name_hint:
            decode = block
        elif sch.get(block) is not sch.get(main):
            sch.compute_inline(block)
    operand = sch.reindex(main, ("read", 0))
    sch.pad_einsum(main, [1, tile, 1, 1])
    sch.compute_inline(operand)
    packed, result = sch.get_producers(main)[0], sch.get_consumers(main)[0]
    if epilogue is not None:
        sch.compute_inline(result)
        result = epilogue
    sch.transform_layout(packed, ("write", 0), _packing(tile))
    _pack(sch, packed, config, tile)
    return _multiply(sch, main, result, decode, config, vector)


def _packing(tile: int) -> tir.IndexMap:
    i0, i1, i2 = (tir.Var("int64", f"i{at}") for at in range(3))
    size = make.const(tile, "int64")
    return tir.IndexMap((i0, i1, i2), (i0, make.floordiv(i1, size), i2, make.floormod(i1, size)))


def _pack(sch: Schedule, packed: BlockRV, config: Any, tile: int) -> None:
    batch, rows, k = sch.get_loops(packed)
    bx, tx = sch.split(k, factors=[None, config.block_size_x])
    by, ty, inner = sch.split(rows, factors=[None, config.block_size_y, tile])
    axes = ["blockIdx.z", "blockIdx.y", "blockIdx.x", "threadIdx.y", "threadIdx.x"]
    bind(sch, [batch, by, bx, ty, tx], axes)
    sch.reorder(batch, by, bx, ty, tx, inner)
    sch.vectorize(inner)


def _multiply(
    sch: Schedule, main: BlockRV, result: BlockRV, decode: BlockRV | None, config: Any, width: int
) -> Schedule:
    batch, rows, columns, k = sch.get_loops(main)
    rows = sch.fuse(batch, rows)
    bx, tx, vector = sch.split(columns, factors=[None, config.block_size_x, width])
    by, ty, own = sch.split(rows, factors=[None, config.block_size_y, config.unroll])
    k1, k2, k3 = sch.split(k, factors=[None, 4, 8])
    sch.reorder(bx, by, tx, ty, k1, k2, k3, own, vector)
    sch.set_scope(main, 0, "local")
    if decode is not None:
        sch.compute_at(decode, k3)
        sch.set_scope(decode, 0, "local")
    axes = ["blockIdx.y", "blockIdx.x", "threadIdx.y", "threadIdx.x", "vector"]
    bind(sch, [by, bx, ty, tx, vector], axes)
    _read_vectors(sch, main, 0, k3)
    sch.unroll(own)
    sch.unroll(k3)
    if decode is not None:
        _read_vectors(sch, decode, 0, k2)
        _read_vectors(sch, decode, 1, k1)
        sch.vectorize(sch.get_loops(decode)[-1])
    sch.reverse_compute_at(result, ty)
    own, vector = sch.get_loops(result)[-2:]
    bind(sch, [vector, own], ["vector", "unroll"])
    sch.decompose_reduction(main, k1)
    return sch


def _read_vectors(sch: Schedule, block: BlockRV, operand: int, loop: LoopRV) -> None:
    """Read an operand into registers under `loop`, as vectors."""
    copy = sch.cache_read(block, read_buffer_index=operand, storage_scope="local")
    sch.compute_at(copy, loop, preserve_unit_loops=True)
    sch.vectorize(sch.get_loops(copy)[-1])
