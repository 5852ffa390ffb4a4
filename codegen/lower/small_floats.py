"""Arithmetic on 16-bit and 8-bit floats, computed in float32.

bfloat16 and the 8-bit floats have no arithmetic instructions: every operation widens its operands, computes
in float32 and rounds the result, so that each operation rounds once, as in NumPy with ml_dtypes. float16
has arithmetic instructions, but no functions in the C library. (TVM: `BF16ComputeLegalize`, which keeps
float32 between operations.)
"""

from __future__ import annotations

from typing import Any

from msgspec.structs import replace

from ...ir import tir
from ...ir.base import Op
from ...ir.dtype import DType, parse_dtype, with_lanes
from .rewriter import Rewriter

_ARITHMETIC = (tir.Add, tir.Sub, tir.Mul, tir.Div, tir.Mod, tir.FloorDiv, tir.FloorMod, tir.Min, tir.Max)
_COMPARISONS = (tir.EQ, tir.NE, tir.LT, tir.LE, tir.GT, tir.GE)
_NOT_COMPUTED = {
    "if_then_else", "likely", "reinterpret", "ret", "undef", "address_of", "tvm_access_ptr", "vectorlow",
    "vectorhigh", "vectorcombine", "call_extern", "call_pure_extern", "isnullptr",
    "atomic_add", "tvm_warp_shuffle", "tvm_warp_shuffle_up", "tvm_warp_shuffle_down", "tvm_warp_shuffle_xor",
}  # fmt: skip
"""The intrinsics, without prefix, that only move values or handle small dtypes themselves."""


def compute_small_floats(func: tir.PrimFunc) -> tir.PrimFunc:
    """Return `func` with all arithmetic on small floats computed in float32."""
    return replace(func, body=_Computer().rewrite(func.body))


def _is_emulated(dtype: str) -> bool:
    parsed = parse_dtype(dtype)
    return parsed.code == "bfloat" or _is_tiny(parsed)


def _is_tiny(parsed: DType) -> bool:
    return parsed.code == "float" and parsed.bits < 16


def _widen(value: tir.PrimExpr) -> tir.PrimExpr:
    return tir.Cast(with_lanes("float32", parse_dtype(value.dtype).lanes), value)


class _Computer(Rewriter):
    def __init__(self) -> None:
        super().__init__({**dict.fromkeys((*_ARITHMETIC, *_COMPARISONS), self._binary), tir.Call: self._call})

    def _binary(self, node: tir.BinaryOp) -> tir.PrimExpr:
        node = self.rebuild(node)
        if not _is_emulated(node.a.dtype):
            return node
        if isinstance(node, _COMPARISONS):
            return replace(node, a=_widen(node.a), b=_widen(node.b))
        return tir.Cast(node.dtype, replace(node, dtype=_widen(node).dtype, a=_widen(node.a), b=_widen(node.b)))

    def _call(self, node: tir.Call) -> tir.PrimExpr:
        node = self.rebuild(node)
        if not isinstance(node.op, Op) or node.op.name.removeprefix("tir.") in _NOT_COMPUTED:
            return node
        args = tuple([self._widened(arg) for arg in node.args])
        if all(new is old for new, old in zip(args, node.args, strict=True)):
            return node
        if parse_dtype(node.dtype).code not in ("float", "bfloat"):
            return replace(node, args=args)
        return tir.Cast(node.dtype, replace(node, dtype=_widen(node).dtype, args=args))

    def _widened(self, arg: Any) -> Any:
        if isinstance(arg, tir.PrimExpr) and (_is_emulated(arg.dtype) or parse_dtype(arg.dtype).name == "float16"):
            return _widen(arg)
        return arg
