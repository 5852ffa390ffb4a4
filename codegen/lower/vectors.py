"""Arithmetic on scalar and vector indices that preserves `Ramp` for consecutive elements."""

from __future__ import annotations

from msgspec.structs import replace

from ...ir import make, tir
from ...ir.dtype import is_vector, lanes_of, with_lanes, with_lanes_of


def widen(index: tir.PrimExpr) -> tir.PrimExpr:
    """Return `index` in int64, computed in its own dtype: sums and products of widened indices cannot overflow."""
    if isinstance(index, tir.Ramp):
        return tir.Ramp(with_lanes_of("int64", index.dtype), widen(index.base), widen(index.stride), index.lanes)
    if isinstance(index, tir.Broadcast):
        return tir.Broadcast(with_lanes_of("int64", index.dtype), widen(index.value), index.lanes)
    if isinstance(index, tir.IntImm):
        return tir.IntImm("int64", index.value)
    dtype = with_lanes_of("int64", index.dtype)
    return index if index.dtype == dtype else tir.Cast(dtype, index)


def add(a: tir.PrimExpr, b: tir.PrimExpr) -> tir.PrimExpr:
    """Return `a + b`; the operands have the same dtype except for lanes."""
    if isinstance(a, tir.Broadcast) and not isinstance(b, tir.Broadcast):
        a, b = b, a
    if isinstance(b, tir.Broadcast) and is_vector(a.dtype):
        b = b.value
    if isinstance(b, tir.Ramp) and not is_vector(a.dtype):
        a, b = b, a
    if isinstance(a, tir.Ramp) and not is_vector(b.dtype):
        return tir.Ramp(a.dtype, add(a.base, b), a.stride, a.lanes)
    if isinstance(a, tir.Ramp) and isinstance(b, tir.Ramp):
        return tir.Ramp(a.dtype, add(a.base, b.base), add(a.stride, b.stride), a.lanes)
    if isinstance(a, tir.Broadcast) and not is_vector(b.dtype):
        return tir.Broadcast(a.dtype, add(a.value, b), a.lanes)
    return make.add(a, b)


def subtract(a: tir.PrimExpr, b: tir.PrimExpr) -> tir.PrimExpr:
    """Return `a - b`; the operands have the same dtype except for lanes."""
    if isinstance(b, tir.Ramp):
        zero = make.const(0, b.base.dtype)
        return add(a, tir.Ramp(b.dtype, make.sub(zero, b.base), make.sub(zero, b.stride), b.lanes))
    if isinstance(b, tir.Broadcast) and is_vector(a.dtype):
        b = b.value
    if isinstance(a, tir.Ramp) and not is_vector(b.dtype):
        return tir.Ramp(a.dtype, subtract(a.base, b), a.stride, a.lanes)
    if isinstance(a, tir.Broadcast) and not is_vector(b.dtype):
        return tir.Broadcast(a.dtype, subtract(a.value, b), a.lanes)
    return make.sub(a, b)


def multiply(a: tir.PrimExpr, b: tir.PrimExpr) -> tir.PrimExpr:
    """Return `a * b`; the operands have the same dtype except for lanes."""
    if isinstance(b, tir.Ramp | tir.Broadcast):
        a, b = b, a
    if isinstance(b, tir.Broadcast):
        b = b.value
    if isinstance(a, tir.Ramp) and not is_vector(b.dtype):
        return tir.Ramp(a.dtype, multiply(a.base, b), multiply(a.stride, b), a.lanes)
    if isinstance(a, tir.Broadcast) and not is_vector(b.dtype):
        return tir.Broadcast(a.dtype, multiply(a.value, b), a.lanes)
    return make.mul(a, b)


def where_on(index: tir.PrimExpr, predicate: tir.PrimExpr | None) -> tir.PrimExpr:
    """Return `index` with 0 in the masked lanes."""
    if predicate is None or lanes_of(index.dtype) != lanes_of(predicate.dtype):
        return index
    lanes = tir.IntImm("int32", lanes_of(index.dtype))
    zero = tir.Broadcast(index.dtype, make.const(0, with_lanes(index.dtype, 1)), lanes)
    return tir.Select(index.dtype, predicate, index, zero)


def in_lane(value: tir.PrimExpr, lane: tir.Var) -> tir.PrimExpr | None:
    """Return a scalar with the value of a vector in a lane; None if the lanes are computed in another way. Scalars stay as they are."""
    if not is_vector(value.dtype):
        return value
    match value:
        case tir.Ramp(base=base, stride=stride) if not is_vector(base.dtype):
            return make.add(base, make.mul(make.cast(lane, base.dtype), stride))
        case tir.Broadcast(value=scalar) if not is_vector(scalar.dtype):
            return scalar
        case tir.BinaryOp(a=a, b=b):
            left, right = in_lane(a, lane), in_lane(b, lane)
            is_known = left is not None and right is not None
            return replace(value, dtype=with_lanes(value.dtype, 1), a=left, b=right) if is_known else None
        case _:
            return None
