"""Conversions between dtypes as LLVM instructions.

Integers wrap around. Floats are rounded towards zero on their way to integers; one outside the range becomes the
nearest bound, and NaN becomes zero. Anything but zero is true. bfloat16 is rounded to nearest even, as ml_dtypes does.
"""

from __future__ import annotations

from ...ir.base import Span
from ...ir.dtype import parse_dtype, with_lanes
from . import float8
from .api import Builder, LLVMType, Value, ir
from .operators import intrinsic, kind_of, number
from .types import register_type


def emit_cast(builder: Builder, value: Value, source: str, target: str, span: Span | None = None) -> Value:
    """Convert `value` from dtype `source` to `target`, which has as many lanes."""
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
    if from_type.name == "float16":  # LLVM 22 saturates NaN of half to the least int16 on x86
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
    """Return the float32 that a float64 becomes on its way to float16, such that both steps round as one would.

    The processor has no such conversion and the C library need not. What float32 cannot hold is cut off, and the last
    bit says that something was: a second rounding can then not mistake it for a tie.
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
    """A bfloat16 is the upper half of the float32 of the same value."""
    word = _like(bits, ir.IntType(32))
    shifted = builder.shl(builder.zext(bits, word), number(word, 16))
    return builder.bitcast(shifted, _like(bits, ir.FloatType()))


def _round_to_bfloat16(builder: Builder, value: Value) -> Value:
    """Add just less than half of the last place kept, or half where that makes it even; a NaN becomes a quiet one."""
    word, half = _like(value, ir.IntType(32)), _like(value, ir.IntType(16))
    bits = builder.bitcast(value, word)
    upper = builder.lshr(bits, number(word, 16))
    bias = builder.add(builder.and_(upper, number(word, 1)), number(word, 0x7FFF))
    rounded = builder.trunc(builder.lshr(builder.add(bits, bias), number(word, 16)), half)
    sign = builder.and_(builder.trunc(upper, half), number(half, 0x8000))
    quiet = builder.or_(sign, number(half, 0x7FC0))
    return builder.select(builder.fcmp_unordered("uno", value, value), quiet, rounded)
