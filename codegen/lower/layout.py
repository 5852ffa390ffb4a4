"""The memory layout of buffers."""

from __future__ import annotations

from functools import reduce

from ...ir import make, tir
from ...ir.diagnostics import error
from ...ir.intern import has_effects
from .vectors import add, multiply, widen


def strides_of(buffer: tir.Buffer) -> tuple[tir.PrimExpr, ...]:
    """Return the strides of `buffer` in elements, as int64; row-major if it declares none."""
    if buffer.strides and len(buffer.strides) != len(buffer.shape):
        reason = f"buffer '{buffer.name}' has {len(buffer.shape)} dimensions, but {len(buffer.strides)} strides"
        raise error("E0606", reason, buffer.span, "declare one stride for every dimension")
    if buffer.strides:
        return tuple(map(widen, buffer.strides))
    strides: list[tir.PrimExpr] = [tir.IntImm("int64", 1)]
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


def flat_index(buffer: tir.Buffer, indices: tuple[tir.PrimExpr, ...]) -> tir.PrimExpr:
    """Return the position of the element at `indices`, in elements from `buffer.data`, as int64."""
    position: tir.PrimExpr = tir.IntImm("int64", 0) if buffer.elem_offset is None else widen(buffer.elem_offset)
    for index, stride in zip(indices, strides_of(buffer), strict=True):
        is_dropped = isinstance(stride, tir.IntImm) and stride.value == 0 and has_effects(index)
        term = tir.Mul("int64", widen(index), stride) if is_dropped else multiply(widen(index), stride)
        position = add(position, term)  # keep the check of an index even if its stride is 0
    return position
