"""Loads of vectors whose lanes are not contiguous in memory."""

from __future__ import annotations

from collections.abc import Sequence

from . import vectors
from .api import Builder, LLVMType, Value, ir
from .masks import declared, masked_load
from .operators import number, type_suffix
from .types import I32, POINTER


def gather(builder: Builder, base: Value, index: Value, element: LLVMType, mask: Value | None, align: int) -> Value:
    """Return the elements at the vector `index`, counted from `base`; zero in the lanes where `mask` does not hold."""
    lanes = index.type.count
    addresses = builder.gep(base, [index], source_etype=element)
    addresses.type = ir.VectorType(POINTER, lanes)
    result = ir.VectorType(element, lanes)
    everywhere = number(ir.VectorType(ir.IntType(1), lanes), 1)
    lanes_on: Value = everywhere if mask is None else mask
    symbol = f"llvm.masked.gather.{type_suffix(result)}.v{lanes}p0"
    function = declared(builder, symbol, result, [addresses.type, I32, everywhere.type, result])
    return builder.call(function, [addresses, number(I32, align), lanes_on, number(result, 0)])


def every_second(
    builder: Builder, first: Value, element: LLVMType, lanes: int, mask: Value | None, align: int, has_moves: bool
) -> Value:
    """Return every second element from the address `first`, by two adjacent loads and a shuffle. The second load ends
    with the last lane, so that memory beyond it is not accessed. `has_moves` as in `masked_load`.
    """
    size = ir.VectorType(element, lanes)
    second = builder.gep(first, [number(I32, lanes - 1)], source_etype=element)
    spread = [lane // 2 if lane % 2 == 0 else None for lane in range(2 * lanes - 1)]
    low = _part(builder, first, size, spread[:lanes], mask, align, has_moves)
    high = _part(builder, second, size, spread[lanes - 1 :], mask, align, has_moves)
    picked = [2 * lane if 2 * lane < lanes else lane * 2 + 1 for lane in range(lanes)]
    return vectors.shuffle(builder, low, high, picked)


def _part(
    builder: Builder, address: Value, size: LLVMType, wanted_by: Sequence[int | None], mask: Value | None, align: int,
    has_moves: bool,
) -> Value:  # fmt: skip
    """Load a vector; with a mask, only the elements that an active lane needs."""
    if mask is None:
        return builder.load(address, align=align, typ=size)
    off = number(mask.type, 0)
    spread = vectors.shuffle(builder, mask, off, [size.count if lane is None else lane for lane in wanted_by])
    return masked_load(builder, address, spread, size, align, has_moves)
