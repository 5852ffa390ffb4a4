"""Conversions between dtypes as LLVM instructions.

Integers wrap around. Floats are rounded towards zero when they are converted to integers; a value outside the
range becomes the nearest bound, and NaN becomes zero. Every value but zero converts to true. Conversion to
bfloat16 rounds to nearest even, as in ml_dtypes.

Floats of at most 8 bits, stored in a byte each, are converted by lookup tables that ml_dtypes computes, since no processor has instructions for all of
them. The table to float32 has 256 entries. The table from float32 has 65,536 entries, indexed by the upper half of the
bits; the last bit of the index is set if the lower half is not zero (round to odd), so that rounding the index gives
the same result as rounding the float32.
"""

from __future__ import annotations

import numpy as np

from ...ir.base import Span
from ...ir.dtype import parse_dtype, with_lanes
from ...ir.numpy_dtype import numpy_dtype
from .api import Builder, LLVMType, Value, ir
from .constants import constant_array
from .operators import intrinsic, kind_of, number
from .types import register_type
from .vectors import by_lane, like


def emit_cast(builder: Builder, value: Value, source: str, target: str, span: Span | None = None) -> Value:
    """Convert `value` from dtype `source` to `target`, which has the same number of lanes."""
    from_type, to_type = parse_dtype(source), parse_dtype(target)
    llvm_type = register_type(target, span)
    if from_type.name == to_type.name:
        return value
    if "handle" in (from_type.code, to_type.code):
        return _cast_pointer(builder, value, llvm_type)
    wide = with_lanes("float32", to_type.lanes)
    if from_type.name == "bfloat16" or _is_tiny_float(source):
        widen = _widen_tiny_float(builder, value, source) if _is_tiny_float(source) else _widen_bfloat16(builder, value)
        return emit_cast(builder, widen, wide, target, span)
    if to_type.name == "bfloat16":
        return _round_to_bfloat16(builder, emit_cast(builder, value, source, wide, span))
    if _is_tiny_float(target):
        return _round_to_tiny_float(builder, emit_cast(builder, value, source, wide, span), target)
    if to_type.code == "bool":
        return _is_not_zero(builder, value, source)
    if (from_type.name, to_type.name) == ("float64", "float16"):
        return builder.fptrunc(_round_to_odd(builder, value), llvm_type)
    if kind_of(source) == "float" and kind_of(target) == "float":
        return (builder.fpext if to_type.bits > from_type.bits else builder.fptrunc)(value, llvm_type)
    if from_type.name == "float16":  # LLVM 22 saturates a float16 NaN to the smallest int16 on x86
        return emit_cast(builder, emit_cast(builder, value, source, wide, span), wide, target, span)
    if kind_of(source) == "float":
        name = "fptosi.sat" if kind_of(target) == "signed" else "fptoui.sat"
        return intrinsic(builder, name, value, result=llvm_type)
    if kind_of(target) == "float":
        return (builder.sitofp if kind_of(source) == "signed" else builder.uitofp)(value, llvm_type)
    if to_type.bits <= from_type.bits:
        return value if to_type.bits == from_type.bits else builder.trunc(value, llvm_type)
    return (builder.sext if kind_of(source) == "signed" else builder.zext)(value, llvm_type)


def _cast_pointer(builder: Builder, value: Value, llvm_type: LLVMType) -> Value:
    if isinstance(llvm_type, ir.PointerType):
        return builder.inttoptr(value, llvm_type)
    return builder.ptrtoint(value, llvm_type)


def _is_not_zero(builder: Builder, value: Value, source: str) -> Value:
    if kind_of(source) == "float":
        return builder.fcmp_unordered("!=", value, number(value.type, 0.0))
    return builder.icmp_unsigned("!=", value, number(value.type, 0))


def _round_to_odd(builder: Builder, value: Value) -> Value:
    """Round a float64 to float32 such that rounding the result to float16 is correct.

    The processor has no instruction for float64 to float16, and the C library may not have the function. Rounding
    to odd truncates the value and sets the last bit if it was inexact, so that the second rounding does not mistake
    it for a tie.
    """
    word = like(value, ir.IntType(32))
    near = builder.fptrunc(value, like(value, ir.FloatType()))
    back = builder.fpext(near, value.type)
    bits = builder.bitcast(near, word)
    is_larger = builder.fcmp_ordered(">", intrinsic(builder, "fabs", back), intrinsic(builder, "fabs", value))
    is_inexact = builder.fcmp_ordered("!=", back, value)
    cut = builder.sub(bits, builder.zext(is_larger, word))
    return builder.bitcast(builder.or_(cut, builder.zext(is_inexact, word)), near.type)


def _widen_bfloat16(builder: Builder, bits: Value) -> Value:
    """Return the float32 whose upper half is the bfloat16 `bits`."""
    word = like(bits, ir.IntType(32))
    shifted = builder.shl(builder.zext(bits, word), number(word, 16))
    return builder.bitcast(shifted, like(bits, ir.FloatType()))


def _round_to_bfloat16(builder: Builder, value: Value) -> Value:
    """Round to nearest even by adding a bias of half a unit in the last kept place, less one if that place is even. A
    NaN becomes quiet.
    """
    word, half = like(value, ir.IntType(32)), like(value, ir.IntType(16))
    bits = builder.bitcast(value, word)
    upper = builder.lshr(bits, number(word, 16))
    bias = builder.add(builder.and_(upper, number(word, 1)), number(word, 0x7FFF))
    rounded = builder.trunc(builder.lshr(builder.add(bits, bias), number(word, 16)), half)
    sign = builder.and_(builder.trunc(upper, half), number(half, 0x8000))
    quiet = builder.or_(sign, number(half, 0x7FC0))
    return builder.select(builder.fcmp_unordered("uno", value, value), quiet, rounded)


_BYTE, _HALF, _WORD, _FLOAT = ir.IntType(8), ir.IntType(16), ir.IntType(32), ir.FloatType()


def _is_tiny_float(dtype: str) -> bool:
    """Return whether `dtype` is a float of at most 8 bits."""
    parsed = parse_dtype(dtype)
    return parsed.code == "float" and parsed.bits <= 8


def _widen_tiny_float(builder: Builder, value: Value, dtype: str) -> Value:
    """Convert a small float of `dtype`, or a vector of them, to float32."""
    name = parse_dtype(dtype).name
    table = np.arange(256, dtype=np.uint8).view(numpy_dtype(name)).astype(np.float32)
    address = constant_array(builder, table, f"{name}.to.float32")
    return by_lane(builder, value, lambda lane: _look_up(builder, address, lane, _FLOAT))


def _round_to_tiny_float(builder: Builder, value: Value, dtype: str) -> Value:
    """Convert a float32, or a vector of them, to the nearest float of `dtype`."""
    name = parse_dtype(dtype).name
    with np.errstate(all="ignore"):
        halves = np.arange(1 << 16, dtype=np.uint32) << 16
        table = halves.view(np.float32).astype(numpy_dtype(name)).view(np.uint8)
    address = constant_array(builder, table, f"float32.to.{name}")
    return by_lane(builder, value, lambda lane: _look_up(builder, address, _upper_half(builder, lane), _BYTE))


def _upper_half(builder: Builder, value: Value) -> Value:
    bits = builder.bitcast(value, _WORD)
    has_rest = builder.icmp_unsigned("!=", builder.trunc(bits, _HALF), number(_HALF, 0))
    return builder.or_(builder.trunc(builder.lshr(bits, number(_WORD, 16)), _HALF), builder.zext(has_rest, _HALF))


def _look_up(builder: Builder, table: Value, index: Value, element: object) -> Value:
    place = builder.gep(table, [builder.zext(index, ir.IntType(64))], source_etype=element)
    return builder.load(place, typ=element)


HALF_CONVERSIONS = """
define weak_odr float @__extendhfsf2(half %x) nounwind {
entry:
  %bits = bitcast half %x to i16
  %word = zext i16 %bits to i32
  %sign.low = and i32 %word, 32768
  %sign = shl i32 %sign.low, 16
  %magnitude = and i32 %word, 32767
  %shifted = shl i32 %magnitude, 13
  %scaled = bitcast i32 %shifted to float
  %finite = fmul float %scaled, 0x46F0000000000000
  %finite.bits = bitcast float %finite to i32
  %special = or i32 %shifted, 2139095040
  %quiet = or i32 %special, 4194304
  %is.nan = icmp ugt i32 %magnitude, 31744
  %is.special = icmp uge i32 %magnitude, 31744
  %special.bits = select i1 %is.nan, i32 %quiet, i32 %special
  %result.bits = select i1 %is.special, i32 %special.bits, i32 %finite.bits
  %signed = or i32 %result.bits, %sign
  %result = bitcast i32 %signed to float
  ret float %result
}

define weak_odr half @__truncsfhf2(float %x) nounwind {
entry:
  %word = bitcast float %x to i32
  %sign.high = lshr i32 %word, 16
  %sign = and i32 %sign.high, 32768
  %magnitude = and i32 %word, 2147483647
  %value = bitcast i32 %magnitude to float
  %aligned = fadd float %value, 5.000000e-01
  %aligned.bits = bitcast float %aligned to i32
  %subnormal = sub i32 %aligned.bits, 1056964608
  %last.high = lshr i32 %magnitude, 13
  %last = and i32 %last.high, 1
  %rebased = add i32 %magnitude, 3355447295
  %biased = add i32 %rebased, %last
  %normal = lshr i32 %biased, 13
  %payload = lshr i32 %magnitude, 13
  %payload.low = and i32 %payload, 1023
  %nan = or i32 %payload.low, 32256
  %is.nan = icmp ugt i32 %magnitude, 2139095040
  %is.large = icmp uge i32 %magnitude, 1199570944
  %is.subnormal = icmp ult i32 %magnitude, 947912704
  %finite = select i1 %is.subnormal, i32 %subnormal, i32 %normal
  %bounded = select i1 %is.large, i32 31744, i32 %finite
  %any = select i1 %is.nan, i32 %nan, i32 %bounded
  %signed = or i32 %any, %sign
  %bits = trunc i32 %signed to i16
  %result = bitcast i16 %bits to half
  ret half %result
}
"""
"""The functions by which LLVM converts between float16 and float32 where the processor has no instructions for it (x86 without F16C). A
process need not have loaded the library of a C compiler that contains them.

`__extendhfsf2` multiplies the moved bits by 2^112, which also normalizes subnormal numbers. `__truncsfhf2` rounds to nearest even: it adds
half a unit in the last kept place, less one if that place is even; to a subnormal result it adds 0.5, whose last place has the value of
that of a subnormal float16.
"""
