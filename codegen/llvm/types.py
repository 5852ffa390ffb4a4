"""Dtypes as LLVM types, in registers and in memory.

Only bool and integers of 2 or 4 bits differ: i1, i2 or i4 in a register, one byte in memory. Any value of a bool's byte but 0 is true;
of an integer's byte, the lowest bits count, and the others are stored as zero (as in ml_dtypes). bfloat16 and the floats of at most
8 bits are bit patterns (i16, i8) in both; `codegen.lower.small_floats` leaves only conversions of them.
"""

from __future__ import annotations

from functools import lru_cache

from ...ir.base import Span
from ...ir.diagnostics import error
from ...ir.dtype import DType, parse_dtype
from .api import LLVMType, ir

POINTER: LLVMType = ir.PointerType()
I1: LLVMType = ir.IntType(1)
I32: LLVMType = ir.IntType(32)
I64: LLVMType = ir.IntType(64)

_FLOATS: dict[str, LLVMType] = {
    "float16": ir.HalfType(), "float32": ir.FloatType(), "float64": ir.DoubleType(), "bfloat16": ir.IntType(16),
}  # fmt: skip


@lru_cache(maxsize=1024)
def _scalar_type(dtype: DType, in_memory: bool) -> LLVMType | None:
    if dtype.code == "handle":
        return POINTER
    if dtype.code == "bool":
        return ir.IntType(8) if in_memory else I1
    if dtype.code in ("int", "uint"):
        bits = max(dtype.bits, 8) if in_memory else dtype.bits
        return ir.IntType(bits) if dtype.bits in (2, 4, 8, 16, 32, 64) else None
    if dtype.code == "float" and dtype.bits <= 8:
        return ir.IntType(8)
    return _FLOATS.get(dtype.name)


def _llvm_type(dtype: str, span: Span | None, in_memory: bool) -> LLVMType:
    parsed = parse_dtype(dtype)
    scalar = None if parsed.scalable else _scalar_type(parsed, in_memory)
    if scalar is None:
        raise error("E0604", f"values of dtype '{dtype}' cannot be compiled", span)
    return scalar if parsed.lanes == 1 else ir.VectorType(scalar, parsed.lanes)


def register_type(dtype: str, span: Span | None = None) -> LLVMType:
    """Return the LLVM type of a value of `dtype` in a register; TvmsError E0604 if there is none."""
    return _llvm_type(dtype, span, in_memory=False)


def memory_type(dtype: str, span: Span | None = None) -> LLVMType:
    """Return the LLVM type of a buffer element of `dtype`; TvmsError E0604 if there is none."""
    return _llvm_type(dtype, span, in_memory=True)
