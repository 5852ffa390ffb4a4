"""Conversions between dtypes as LLVM instructions.

Integers wrap around. Floats are rounded towards zero when they are converted to integers; a value outside the
range becomes the nearest bound, and NaN becomes zero. Every value but zero converts to true. Conversion to
bfloat16 rounds to nearest even, as in ml_dtypes.
"""

from __future__ import annotations

from ...ir.base import Span
from ...ir.dtype import parse_dtype, with_lanes
from . import float8
from .api import Builder, LLVMType, Value, ir
from .operators import intrinsic, kind_of, number
from .types import register_type


def emit_cast(builder: Builder, value: Value, source: str, target: str, span: Span | None = None) -> Value:
    """Convert `value` from dtype `source` to `target`, which has the same number of lanes."""
    from_type, to_type = parse_dtype(source), parse_dtype(target)
    llvm_type = register_type(target, span)
    if from_type.name == to_type.name:
        return value
    if "handle" in (from_type.code, to_type.code):
        return _cast_pointer(builder, value, llvm_type)
    wide = with_lanes("float32", to_type.lanes)
    if from_type.name == "bfloat16" or float8.is_float8(source):
        widen = float8.widen(builder, value, source) if float8.is_float8(source) else _widen_bfloat16(builder, value)
        return emit_cast(builder, widen, wide, target, span)
    if to_type.name == "bfloat16":
        return _round_to_bfloat16(builder, emit_cast(builder, value, source, wide, span))
    if float8.is_float8(target):
        return float8.round_to(builder, emit_cast(builder, value, source, wide, span), target)
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


def _like(value: Value, element: LLVMType) -> LLVMType:
    lanes = getattr(value.type, "count", None)
    return element if lanes is None else ir.VectorType(element, lanes)


def _round_to_odd(builder: Builder, value: Value) -> Value:
    """Round a float64 to float32 such that rounding the result to float16 is correct.

    The processor has no instruction for float64 to float16, and the C library may not have the function. Rounding
    to odd truncates the value and sets the last bit if it was inexact, so that the second rounding does not mistake
    it for a tie.
    """
    word = _like(value, ir.IntType(32))
    near = builder.fptrunc(value, _like(value, ir.FloatType()))
    back = builder.fpext(near, value.type)
    bits = builder.bitcast(near, word)
    is_larger = builder.fcmp_ordered(">", intrinsic(builder, "fabs", back), intrinsic(builder, "fabs", value))
    is_inexact = builder.fcmp_ordered("!=", back, value)
    cut = builder.sub(bits, builder.zext(is_larger, word))
    return builder.bitcast(builder.or_(cut, builder.zext(is_inexact, word)), near.type)


def _widen_bfloat16(builder: Builder, bits: Value) -> Value:
    """Return the float32 whose upper half is the bfloat16 `bits`."""
    word = _like(bits, ir.IntType(32))
    shifted = builder.shl(builder.zext(bits, word), number(word, 16))
    return builder.bitcast(shifted, _like(bits, ir.FloatType()))


def _round_to_bfloat16(builder: Builder, value: Value) -> Value:
    """Round to nearest even by adding a bias of half a unit in the last kept place, less one if that place is even. A
    NaN becomes quiet.
    """
    word, half = _like(value, ir.IntType(32)), _like(value, ir.IntType(16))
    bits = builder.bitcast(value, word)
    upper = builder.lshr(bits, number(word, 16))
    bias = builder.add(builder.and_(upper, number(word, 1)), number(word, 0x7FFF))
    rounded = builder.trunc(builder.lshr(builder.add(bits, bias), number(word, 16)), half)
    sign = builder.and_(builder.trunc(upper, half), number(half, 0x8000))
    quiet = builder.or_(sign, number(half, 0x7FC0))
    return builder.select(builder.fcmp_unordered("uno", value, value), quiet, rounded)
