"""Arithmetic on 16-bit and 8-bit floats, computed in float32.

bfloat16 and the 8-bit floats have no arithmetic instructions: every operation widens its operands, computes
in float32 and rounds the result, so that each operation rounds once, as in NumPy with ml_dtypes. float16
has arithmetic instructions, but no functions in the C library. (TVM: `BF16ComputeLegalize`, which keeps
float32 between operations.)
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from msgspec.structs import replace

from ...ir import tir
from ...ir.base import Op
from ...ir.dtype import parse_dtype, with_lanes
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
    return replace(func, body=Computer(_is_emulated).rewrite(func.body))


def _is_emulated(dtype: str) -> bool:
    return is_bfloat(dtype) or is_tiny(dtype)


def is_bfloat(dtype: str) -> bool:
    """Return whether the elements of `dtype` are bfloat16."""
    return parse_dtype(dtype).code == "bfloat"


def is_tiny(dtype: str) -> bool:
    """Return whether the elements of `dtype` are floats of at most 8 bits."""
    parsed = parse_dtype(dtype)
    return parsed.code == "float" and parsed.bits < 16


class Computer(Rewriter):
    """Computes operations on the dtypes for which `is_emulated` holds in the dtype `wide`; `with_half`, also functions of float16 in
    float32.
    """

    def __init__(self, is_emulated: Callable[[str], bool], wide: str = "float32", with_half: bool = True) -> None:
        rules: dict[type[Any], Callable[[Any], Any]] = {
            **dict.fromkeys((*_ARITHMETIC, *_COMPARISONS), self._binary),
            tir.Call: self.call,
            **self.more_rules(),
        }
        super().__init__(rules)
        self.is_emulated, self.wide, self._with_half = is_emulated, wide, with_half

    def more_rules(self) -> dict[type[Any], Callable[[Any], Any]]:
        """Return the rules of a derived class."""
        return {}

    def widen(self, value: tir.PrimExpr) -> tir.PrimExpr:
        """Return `value` in the wide dtype."""
        return tir.Cast(self.widened(value.dtype), value)

    def round(self, dtype: str, value: tir.PrimExpr) -> tir.PrimExpr:
        """Return `value`, of the wide dtype, rounded to `dtype`."""
        return tir.Cast(dtype, value)

    def widened(self, dtype: str) -> str:
        """Return the wide dtype with the lanes of `dtype`."""
        return with_lanes(self.wide, parse_dtype(dtype).lanes)

    def _binary(self, node: tir.BinaryOp) -> tir.PrimExpr:
        node = self.rebuild(node)
        if not self.is_emulated(node.a.dtype):
            return node
        a, b = self.widen(node.a), self.widen(node.b)
        if isinstance(node, _COMPARISONS):
            return replace(node, a=a, b=b)
        return self.round(node.dtype, replace(node, dtype=self.widened(node.dtype), a=a, b=b))

    def call(self, node: tir.Call) -> tir.PrimExpr:
        """Compute a call of an intrinsic in the wide dtype."""
        node = self.rebuild(node)
        if not isinstance(node.op, Op) or node.op.name.removeprefix("tir.") in _NOT_COMPUTED:
            return node
        args = tuple([self._wide_argument(arg) for arg in node.args])
        if all(new is old for new, old in zip(args, node.args, strict=True)):
            return node
        if parse_dtype(node.dtype).code not in ("float", "bfloat"):
            return replace(node, args=args)
        return self.round(node.dtype, replace(node, dtype=self.widened(node.dtype), args=args))

    def _wide_argument(self, arg: Any) -> Any:
        if not isinstance(arg, tir.PrimExpr):
            return arg
        is_half = self._with_half and parse_dtype(arg.dtype).name == "float16"
        return self.widen(arg) if is_half or self.is_emulated(arg.dtype) else arg
