"""The memory layout of buffers."""

from __future__ import annotations

from collections.abc import Callable
from functools import reduce

from ...ir import make, tir
from ...ir.diagnostics import error
from ...ir.dtype import parse_dtype
from ...ir.idioms import is_one
from ...ir.intern import has_effects
from ...ir.simplify import simplify
from .vectors import add, multiply, widen

Convert = Callable[[tir.PrimExpr], tir.PrimExpr]


def strides_of(buffer: tir.Buffer, widen: Convert = widen) -> tuple[tir.PrimExpr, ...]:
    """Return the strides of `buffer` in elements, as int64 or as converted by `widen`; row-major if it declares none."""
    if buffer.strides and len(buffer.strides) != len(buffer.shape):
        reason = f"buffer '{buffer.name}' has {len(buffer.shape)} dimensions, but {len(buffer.strides)} strides"
        raise error("E0606", reason, buffer.span, "declare one stride for every dimension")
    if buffer.strides:
        return tuple(map(widen, buffer.strides))
    strides: list[tir.PrimExpr] = [widen(tir.IntImm("int64", 1))]
    for extent in reversed(buffer.shape[1:]):
        strides.append(multiply(widen(extent), strides[-1]))
    return tuple(reversed(strides[: len(buffer.shape)]))


def span_of(buffer: tir.Buffer) -> tir.PrimExpr:
    """Return the number of elements from the first one of `buffer` to the last one that an index reaches, as int64.

    Negative strides do not count: they reach elements before the first one.
    """
    one, zero = tir.IntImm("int64", 1), tir.IntImm("int64", 0)
    if not buffer.strides:
        return reduce(multiply, map(widen, buffer.shape), one)
    reach = [
        make.maximum(multiply(make.sub(widen(extent), one), stride), zero)
        for extent, stride in zip(buffer.shape, strides_of(buffer), strict=True)
    ]
    is_empty = reduce(make.logical_or, [make.equal(extent, make.const(0, extent.dtype)) for extent in buffer.shape])
    span = reduce(add, reach, one)
    if isinstance(is_empty, tir.IntImm):
        return zero if is_empty.value else span
    return make.select(is_empty, zero, span)


def flat_index(buffer: tir.Buffer, indices: tuple[tir.PrimExpr, ...], widen: Convert = widen) -> tir.PrimExpr:
    """Return the position of the element at `indices`, in elements from `buffer.data`, as int64 or as converted by
    `widen`.
    """
    position = widen(tir.IntImm("int64", 0) if buffer.elem_offset is None else buffer.elem_offset)
    for index, stride in zip(indices, strides_of(buffer, widen), strict=True):
        is_dropped = isinstance(stride, tir.IntImm) and stride.value == 0 and has_effects(index)
        term = tir.Mul(stride.dtype, widen(index), stride) if is_dropped else multiply(widen(index), stride)
        position = add(position, term)  # keep the check of an index even if its stride is 0
    return position


def narrow_index(buffer: tir.Buffer, indices: tuple[tir.PrimExpr, ...]) -> tir.PrimExpr:
    """Return the position of the element at `indices` as int32 if the indices are of int32 and the buffer has a constant
    size that is small enough, otherwise as int64.
    """
    if len(indices) == 1 and not buffer.strides and buffer.elem_offset is None:
        return indices[0]
    offset = tir.IntImm("int64", 0) if buffer.elem_offset is None else buffer.elem_offset
    span, sizes = span_of(buffer), (*buffer.shape, *buffer.strides, offset)
    are_constant = all(isinstance(size, tir.IntImm) and size.value >= 0 for size in sizes)
    is_wide = any(parse_dtype(index.dtype).name != "int32" for index in indices)
    if not isinstance(span, tir.IntImm) or not are_constant or is_wide:
        return flat_index(buffer, indices)
    reach = span.value + offset.value if isinstance(offset, tir.IntImm) else 0
    return flat_index(buffer, indices, _as_int32) if reach < 2**31 else flat_index(buffer, indices)


def _as_int32(index: tir.PrimExpr) -> tir.PrimExpr:
    return tir.IntImm("int32", index.value) if isinstance(index, tir.IntImm) else index


def dimensions_of(buffer: tir.Buffer) -> tuple[tir.PrimExpr, ...] | None:
    """Return the extents of compact memory with the strides of `buffer`; None if no memory with its number of dimensions has these."""
    shape, strides = buffer.shape, buffer.strides
    if len(strides) != len(shape) or not is_one(strides[-1]) or len({size.dtype for size in (*shape, *strides)}) > 1:
        return None
    extents = [shape[0]]
    for size, outer, inner in zip(shape[1:], strides, strides[1:], strict=False):
        rest = make.equal(make.floormod(outer, inner), make.const(0, outer.dtype))
        holds = make.less_equal(make.mul(size, inner), outer)
        if not is_one(simplify(rest)) or not is_one(simplify(holds)):
            return None
        extents.append(simplify(make.floordiv(outer, inner)))
    return tuple(extents)
