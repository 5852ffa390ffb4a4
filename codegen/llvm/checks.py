"""Bounds checks: a check that fails stores its operands in the fault record and returns from the function."""

from __future__ import annotations

from ...ir import tir
from ...ir.diagnostics import error
from ...ir.dtype import lanes_of, with_lanes_of
from . import vectors
from .api import Builder, Value, ir
from .casts import emit_cast
from .expressions import RECORD_POINTER, ExpressionEmitter
from .faults import MOST_DIMENSIONS, POSITION, Fault, emit_claim
from .operators import intrinsic, kind_of, number
from .types import I32, I64
from .vectors import like


def emit_checked_index(emitter: ExpressionEmitter, call: tir.Call) -> Value:
    """Emit `T.checked_index`: the index, if it is within bounds."""
    index, name, dimension, *rest = call.args
    rank = len(rest) // 2
    if not (isinstance(name, tir.StringImm) and isinstance(dimension, tir.IntImm) and rank <= MOST_DIMENSIONS):
        raise error("E0606", "T.checked_index needs a name, a dimension, and all indices and sizes", call.span)
    parts = [part for part in rest if isinstance(part, tir.PrimExpr)]
    builder, value = emitter.builder, emitter.emit(_expression(index))
    wide = _wide(emitter, value, call.dtype)
    extent = _wide(emitter, emitter.emit(parts[rank + dimension.value]), parts[rank + dimension.value].dtype)
    limit = extent if wide.type == extent.type else _repeated(emitter, extent, wide)
    is_outside = builder.icmp_unsigned(">=", wide, limit)
    if not isinstance(limit, ir.Constant):
        is_outside = builder.or_(is_outside, builder.icmp_signed("<", limit, number(limit.type, 0)))
    unsigned = tuple([at for at, part in enumerate(parts[:rank]) if kind_of(part.dtype) == "unsigned"])
    fault = Fault("E0707", name.value, call.span, rank, dimension.value, unsigned)
    with builder.if_then(emitter.any_lane(is_outside), likely=False):
        lane = _first_lane(emitter, is_outside)
        indices = [_wide(emitter, emitter.emit(part), part.dtype) for part in parts[:rank]]
        scalars = [
            position if position.type == I64 else builder.extract_element(position, lane) for position in indices
        ]
        status = emitter.module.add_fault(fault)
        emit_claim(builder, emitter.values[RECORD_POINTER], status, extent, scalars)
        emitter.leave(number(I32, status))
    return value


def emit_checked_position(emitter: ExpressionEmitter, call: tir.Call) -> Value:
    """Emit `T.checked_position`: the index, if the element is inside its allocation. 128 bits hold every position."""
    index, name, *numbers = call.args
    if not isinstance(name, tir.StringImm) or len(numbers) < 4:
        raise error("E0606", "T.checked_position needs a name, and the extent and offset of its allocation", call.span)
    parts = [part for part in numbers if isinstance(part, tir.PrimExpr)]
    builder, value = emitter.builder, emitter.emit(_expression(index))
    lanes = max(lanes_of(part.dtype) for part in parts)

    def wide(part: tir.PrimExpr) -> Value:
        narrow = _wide(emitter, emitter.emit(part), part.dtype)
        extend = builder.zext if kind_of(part.dtype) == "unsigned" else builder.sext
        found = extend(narrow, like(narrow, _I128))
        return found if lanes_of(part.dtype) == lanes else _repeated_to(emitter, found, lanes)

    size, extent, offset, place, *terms = map(wide, parts)
    for term, stride in zip(terms[::2], terms[1::2], strict=True):
        place = builder.add(place, builder.mul(term, stride))
    start = builder.add(offset, builder.mul(place, size))
    is_before = builder.icmp_signed("<", start, number(start.type, 0))
    is_outside = builder.or_(is_before, builder.icmp_signed(">", builder.add(start, size), extent))
    fault = Fault("E0707", name.value, call.span, 1, POSITION)
    with builder.if_then(emitter.any_lane(is_outside), likely=False):
        lane = _first_lane(emitter, is_outside)
        found = _lane_of(builder, place, lane)
        halves = [builder.trunc(part, I64) for part in (found, builder.ashr(found, number(_I128, 64)))]
        whole, first, item_size = (
            builder.trunc(_lane_of(builder, part, lane), I64) for part in (extent, offset, size)
        )  # divide in 64 bits: a 128-bit division calls a runtime library that may be missing
        item_size = intrinsic(builder, "smax", item_size, number(I64, 1))  # a call in a program may have any size
        held = intrinsic(builder, "smax", builder.sdiv(builder.sub(whole, first), item_size), number(I64, 0))
        status = emitter.module.add_fault(fault)
        emit_claim(builder, emitter.values[RECORD_POINTER], status, held, halves)
        emitter.leave(number(I32, status))
    return value


_I128 = ir.IntType(128)


def _repeated_to(emitter: ExpressionEmitter, value: Value, lanes: int) -> Value:
    return vectors.splat(emitter.builder, value, lanes)


def _lane_of(builder: Builder, value: Value, lane: Value) -> Value:
    return builder.extract_element(value, lane) if hasattr(value.type, "count") else value


def _expression(part: object) -> tir.PrimExpr:
    assert isinstance(part, tir.PrimExpr)
    return part


def _wide(emitter: ExpressionEmitter, value: Value, dtype: str) -> Value:
    return emit_cast(emitter.builder, value, dtype, with_lanes_of("int64", dtype))


def _repeated(emitter: ExpressionEmitter, value: Value, like: Value) -> Value:
    return vectors.splat(emitter.builder, value, like.type.count)


def _first_lane(emitter: ExpressionEmitter, condition: Value) -> Value:
    """Return the index of the first lane in which `condition` holds."""
    count = getattr(condition.type, "count", 1)
    bits = emitter.builder.bitcast(condition, ir.IntType(count)) if count > 1 else condition
    wide = emitter.builder.zext(bits, I64)
    return intrinsic(emitter.builder, "cttz", wide, number(ir.IntType(1), 0))
