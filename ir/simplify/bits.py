"""Bitwise operations: folded for constants, and rewritten to arithmetic where an equivalent exists."""

from __future__ import annotations

from collections.abc import Callable

from .. import tir
from ..base import Op
from ..dtype import parse_dtype
from ..fold import wrap
from ..intern import is_scalar_int
from .core import Simplifier

_MEANING: dict[str, Callable[[int, int], int]] = {
    "tir.bitwise_and": int.__and__, "tir.bitwise_or": int.__or__, "tir.bitwise_xor": int.__xor__,
    "tir.shift_left": int.__lshift__, "tir.shift_right": int.__rshift__,
}  # fmt: skip
_OF_ONE: dict[str, Callable[[int, int], int]] = {
    "tir.bitwise_not": lambda a, bits: ~a,
    "tir.popcount": lambda a, bits: (a % (1 << bits)).bit_count(),
    "tir.clz": lambda a, bits: bits - (a % (1 << bits)).bit_length(),
}
"""Unary operations by name; the arguments are the number and the bits of its dtype."""


def bitwise(s: Simplifier, expr: tir.Call) -> tir.PrimExpr:
    """Return the normal form of a call. `x & (2 ** k - 1)` is `x % 2 ** k`; shifts are products and quotients."""
    new = s.rebuild(expr)
    assert isinstance(new, tir.Call)
    name = new.op.name if isinstance(new.op, Op) else ""
    if not is_scalar_int(new.dtype):
        return new
    dtype, bits = new.dtype, parse_dtype(new.dtype).bits
    if name in _OF_ONE and isinstance(number := new.args[0], tir.IntImm):
        return s.constant(wrap(_OF_ONE[name](number.value, parse_dtype(number.dtype).bits), dtype), dtype)
    meaning = _MEANING.get(name)
    if meaning is None:
        return new
    match new.args:
        case (tir.IntImm(value=a), tir.IntImm(value=b)) if "shift" not in name or 0 <= b < bits:
            return s.constant(wrap(meaning(a, b), dtype), dtype)
        case (tir.PrimExpr() as a, tir.IntImm(value=b)):
            result = _by_constant(s, name, a, b, bits)
            return new if result is None else result
        case (tir.IntImm() as a, tir.PrimExpr() as b) if "bitwise" in name:
            return s.visit(tir.Call(dtype, new.op, (b, a)))
        case (tir.PrimExpr() as a, tir.PrimExpr() as b) if a is b and "bitwise" in name:
            return s.constant(0, dtype) if name == "tir.bitwise_xor" else a
        case _:
            return new


def _by_constant(s: Simplifier, name: str, a: tir.PrimExpr, b: int, bits: int) -> tir.PrimExpr | None:
    dtype = a.dtype
    match name:
        case "tir.shift_right" if 0 <= b < bits - 1:
            return s.visit(tir.FloorDiv(dtype, a, tir.IntImm(dtype, 1 << b)))
        case "tir.shift_left" if 0 <= b < bits - 1:
            return s.visit(tir.Mul(dtype, a, tir.IntImm(dtype, 1 << b)))
        case "tir.bitwise_and" if b >= 0 and b & (b + 1) == 0 and b + 1 < 1 << (bits - 1):
            return s.visit(tir.FloorMod(dtype, a, tir.IntImm(dtype, b + 1)))
        case "tir.bitwise_and" if wrap(b + 1, dtype) == 0:
            return a
        case "tir.bitwise_or" | "tir.bitwise_xor" if b == 0:
            return a
        case _:
            return None
