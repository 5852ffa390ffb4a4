"""Checks of indices: where one fails, its numbers go to the fault record, and the function returns."""

from __future__ import annotations

from ...ir import tir
from ...ir.diagnostics import error
from ...ir.dtype import lanes_of, with_lanes
from .api import Value, ir
from .casts import emit_cast
from .expressions import RECORD_POINTER, ExpressionEmitter
from .faults import MOST_DIMENSIONS, Fault, emit_claim
from .operators import intrinsic, number
from .types import I32, I64


def emit_checked_index(emitter: ExpressionEmitter, call: tir.Call) -> Value:
    """Emit `T.checked_index`: the index, if it is inside."""
    index, name, dimension, *rest = call.args
    rank = len(rest) // 2
    if not (isinstance(name, tir.StringImm) and isinstance(dimension, tir.IntImm) and rank <= MOST_DIMENSIONS):
        raise error("E0606", "a checked index needs a name, a dimension, and the indices and sizes of all", call.span)
    parts = [part for part in rest if isinstance(part, tir.PrimExpr)]
    builder, value = emitter.builder, emitter.emit(_expression(index))
    wide = _wide(emitter, value, call.dtype)
    extent = _wide(emitter, emitter.emit(parts[rank + dimension.value]), parts[rank + dimension.value].dtype)
    limit = extent if wide.type == extent.type else _repeated(emitter, extent, wide)
    is_outside = builder.icmp_unsigned(">=", wide, limit)
    fault = Fault("E0707", name.value, call.span, rank, dimension.value)
    with builder.if_then(emitter.any_lane(is_outside), likely=False):
        lane = _first_lane(emitter, is_outside)
        indices = [_wide(emitter, emitter.emit(part), part.dtype) for part in parts[:rank]]
        scalars = [each if each.type == I64 else builder.extract_element(each, lane) for each in indices]
        status = emitter.module.add_fault(fault)
        emit_claim(builder, emitter.values[RECORD_POINTER], status, extent, scalars)
        emitter.leave(number(I32, status))
    return value


def _expression(part: object) -> tir.PrimExpr:
    assert isinstance(part, tir.PrimExpr)
    return part


def _wide(emitter: ExpressionEmitter, value: Value, dtype: str) -> Value:
    return emit_cast(emitter.builder, value, dtype, with_lanes("int64", lanes_of(dtype)))


def _repeated(emitter: ExpressionEmitter, value: Value, like: Value) -> Value:
    from . import vectors

    return vectors.splat(emitter.builder, value, like.type.count)


def _first_lane(emitter: ExpressionEmitter, condition: Value) -> Value:
    """Return the number of the first lane in which `condition` holds."""
    count = getattr(condition.type, "count", 1)
    bits = emitter.builder.bitcast(condition, ir.IntType(count)) if count > 1 else condition
    wide = emitter.builder.zext(bits, I64)
    return intrinsic(emitter.builder, "cttz", wide, number(ir.IntType(1), 0))
