"""Intrinsics that move and select values and access memory; they are the same on every machine."""

from __future__ import annotations

from ...ir import tir
from ...ir.diagnostics import error
from ...ir.dtype import parse_dtype
from . import vectors
from .api import Value, ir
from .casts import emit_cast
from .checks import emit_checked_index, emit_checked_position
from .expressions import ExpressionEmitter
from .intrinsic_kinds import Intrinsic, Table, named
from .operators import number
from .types import I32, POINTER, register_type


def _if_then_else(emitter: ExpressionEmitter, call: tir.Call) -> Value:
    condition, yes, no = (arg for arg in call.args if isinstance(arg, tir.PrimExpr))
    return emitter.branch(emitter.condition(condition), lambda: emitter.emit(yes), lambda: emitter.emit(no))


def _first(emitter: ExpressionEmitter, call: tir.Call) -> Value:
    return emitter.operands(call)[0]


def _nothing(emitter: ExpressionEmitter, call: tir.Call) -> Value:
    return number(I32, 0)


def _reinterpret(emitter: ExpressionEmitter, call: tir.Call) -> Value:
    (operand,) = (arg for arg in call.args if isinstance(arg, tir.PrimExpr))
    value, target = emitter.emit(operand), register_type(call.dtype, call.span)
    if "handle" in (operand.dtype, call.dtype):
        return emit_cast(emitter.builder, value, operand.dtype, call.dtype, call.span)
    source, wanted = parse_dtype(operand.dtype), parse_dtype(call.dtype)
    if source.bits * source.lanes != wanted.bits * wanted.lanes:
        raise error("E0606", f"'{operand.dtype}' and '{call.dtype}' have different numbers of bits", call.span)
    return emitter.builder.bitcast(value, target)


def _undefined(emitter: ExpressionEmitter, call: tir.Call) -> Value:
    return ir.Constant(register_type(call.dtype, call.span), None)


def _large_unsigned(emitter: ExpressionEmitter, call: tir.Call) -> Value:
    low, high = (arg for arg in call.args if isinstance(arg, tir.IntImm))
    return emitter.emit(tir.IntImm(call.dtype, high.value << 32 | low.value, span=call.span))


def _half_of_vector(is_low: bool) -> Intrinsic:
    def emit(emitter: ExpressionEmitter, call: tir.Call) -> Value:
        value = emitter.operands(call)[-1]
        middle, count = value.type.count // 2, value.type.count
        return vectors.shuffle(emitter.builder, value, value, list(range(middle) if is_low else range(middle, count)))

    return emit


def _combine(emitter: ExpressionEmitter, call: tir.Call) -> Value:
    low, high = emitter.operands(call)
    return vectors.shuffle(emitter.builder, low, high, list(range(low.type.count + high.type.count)))


def _address_of(emitter: ExpressionEmitter, call: tir.Call) -> Value:
    load = call.args[0]
    if not isinstance(load, tir.BufferLoad):
        raise error("E0606", "only an element of a buffer has an address", call.span)
    return emitter.element_address(load, emitter.wide_index(load))


def _access_pointer(emitter: ExpressionEmitter, call: tir.Call) -> Value:
    """Emit `tvm_access_ptr(type annotation, data, offset, extent, rw_mask)`; the offset counts elements."""
    annotation, data, offset, *_ = call.args
    if not (isinstance(annotation, tir.PrimExpr) and isinstance(data, tir.Var) and isinstance(offset, tir.PrimExpr)):
        raise error("E0606", "an access pointer needs a dtype, a buffer variable and an offset", call.span)
    index = emit_cast(emitter.builder, emitter.emit(offset), offset.dtype, "int64")
    return emitter.address(data, annotation.dtype, index, call.span)


def _add_bytes(emitter: ExpressionEmitter, call: tir.Call) -> Value:
    pointer, offset = emitter.operands(call)
    return emitter.builder.gep(pointer, [offset], source_etype=ir.IntType(8))


def _is_null(emitter: ExpressionEmitter, call: tir.Call) -> Value:
    (pointer,) = emitter.operands(call)
    return emitter.builder.icmp_unsigned("==", pointer, ir.Constant(pointer.type, None))


_HINTS = (("rw", 1), ("locality", 3), ("cache", 1))
"""The hints of a prefetch, with their maximum values: write, temporal locality, data cache."""


def _prefetch(emitter: ExpressionEmitter, call: tir.Call) -> Value:
    """Emit `prefetch(address, rw, locality, cache)`; the last three are constants, as in LLVM."""
    address, *hints = call.args
    numbers = [hint.value for hint in hints if isinstance(hint, tir.IntImm)]
    if not isinstance(address, tir.PrimExpr) or address.dtype != "handle" or len(numbers) != 3:
        raise error("E0606", "a prefetch takes an address and three constants", call.span)
    for (what, most), value in zip(_HINTS, numbers, strict=True):
        if not 0 <= value <= most:
            reason, help = f"a prefetch has {what} = {value}", f"give {what} as a number from 0 to {most}"
            raise error("E0606", reason, call.span, help)
    if numbers[-1] == 0:
        return number(I32, 0)  # not every processor can prefetch instructions
    module, name = emitter.builder.module, "llvm.prefetch.p0"
    kind = ir.FunctionType(ir.VoidType(), [POINTER, I32, I32, I32])
    function = module.globals.get(name) or ir.Function(module, kind, name)
    emitter.builder.call(function, [emitter.emit(address), *(number(I32, hint) for hint in numbers)])
    return number(I32, 0)


def _checked_pointer(emitter: ExpressionEmitter, call: tir.Call) -> Value:
    """Emit `checked_pointer(pointer, message, size, extent, offset)`; the last three count bytes."""
    pointer, message, *rest = call.args
    assert isinstance(pointer, tir.PrimExpr)
    assert isinstance(message, tir.StringImm)
    builder, value = emitter.builder, emitter.emit(pointer)
    size, extent, offset = (emitter.emit(part) for part in rest if isinstance(part, tir.PrimExpr))
    is_short = builder.icmp_signed(">", size, builder.sub(extent, offset))
    is_outside = builder.or_(builder.icmp_unsigned(">", offset, extent), is_short)
    emitter.fail_if(is_outside, "E0707", message.value, call.span)
    return value


def _check(emitter: ExpressionEmitter, call: tir.Call) -> Value:
    condition, code, message = call.args
    assert isinstance(condition, tir.PrimExpr)
    assert isinstance(code, tir.StringImm)
    assert isinstance(message, tir.StringImm)
    emitter.fail_if(emitter.builder.not_(emitter.condition(condition)), code.value, message.value, call.span)
    return number(I32, 0)


def _return(emitter: ExpressionEmitter, call: tir.Call) -> Value:
    return emitter.return_value(call)


MOVES: Table = {
    **named("likely ignore_loop_partition assume tvm_thread_invariant", lambda name: _first),
    **named("start_profile_intrinsic end_profile_intrinsic", lambda name: _nothing),
    "tir.prefetch": _prefetch,
    "tir.checked_index": emit_checked_index,
    "tir.checked_position": emit_checked_position,
    "tir.checked_pointer": _checked_pointer,
    "tir.check": _check,
    "tir.if_then_else": _if_then_else,
    "tir.reinterpret": _reinterpret,
    "tir.undef": _undefined,
    "tir.large_uint_imm": _large_unsigned,
    "tir.vectorlow": _half_of_vector(is_low=True),
    "tir.vectorhigh": _half_of_vector(is_low=False),
    "tir.vectorcombine": _combine,
    "tir.address_of": _address_of,
    "tir.tvm_access_ptr": _access_pointer,
    "tir.handle_add_byte_offset": _add_bytes,
    "tir.isnullptr": _is_null,
    "tir.ret": _return,
    **named("break_loop continue_loop", lambda name: lambda emitter, call: emitter.jump(call)),
}
"""The intrinsics that are the same on every machine, except arithmetic."""
