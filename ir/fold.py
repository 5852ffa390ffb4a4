"""Constant folding as in TVM's operators, so that a text means the same program (TVM: `src/arith/const_fold.h`).

Folds operations on two constants, and on a neutral or absorbing constant; `make` is not a simplifier. Floats are folded
only if the result is the same for every value (docs/arithmetic.md): unlike in TVM, `x * 0.0` and `x + 0.0` stay.
"""

from __future__ import annotations

import math
import operator
import struct
from collections.abc import Callable

from . import tir
from .base import Span
from .diagnostics import error
from .dtype import int_range, is_index, parse_dtype


def _truncated_quotient(a: int, b: int) -> int:
    quotient = abs(a) // abs(b)
    return quotient if (a < 0) == (b < 0) else -quotient


def _truncated_remainder(a: int, b: int) -> int:
    return a - b * _truncated_quotient(a, b)


_INT: dict[type[tir.BinaryOp], Callable[[int, int], int]] = {
    tir.Add: operator.add, tir.Sub: operator.sub, tir.Mul: operator.mul,
    tir.Div: _truncated_quotient, tir.Mod: _truncated_remainder,
    tir.FloorDiv: int.__floordiv__, tir.FloorMod: operator.mod, tir.Min: min, tir.Max: max,
}  # fmt: skip
_FLOAT: dict[type[tir.BinaryOp], Callable[[float, float], float]] = {
    tir.Add: operator.add, tir.Sub: operator.sub, tir.Mul: operator.mul, tir.Div: float.__truediv__,
}  # fmt: skip
_COMPARE: dict[type[tir.BinaryOp], Callable[[float, float], bool]] = {
    tir.EQ: operator.eq, tir.NE: operator.ne, tir.LT: operator.lt,
    tir.LE: operator.le, tir.GT: operator.gt, tir.GE: operator.ge,
}  # fmt: skip
_LEFT: dict[type[tir.BinaryOp], dict[float, str]] = {
    tir.Add: {0: "b"}, tir.Mul: {1: "b", 0: "a"}, tir.Div: {0: "a"}, tir.Mod: {0: "a"},
    tir.FloorDiv: {0: "a"}, tir.FloorMod: {0: "a"},
}  # fmt: skip
"""The operand that an operation folds to, by the constant that is its left operand."""
_RIGHT: dict[type[tir.BinaryOp], dict[float, str]] = {
    tir.Add: {0: "a"}, tir.Sub: {0: "a"}, tir.Mul: {1: "a", 0: "b"}, tir.Div: {1: "a"},
    tir.Mod: {1: "0"}, tir.FloorDiv: {1: "a"}, tir.FloorMod: {1: "0"},
}  # fmt: skip
_RIGHT_OF_FLOATS: dict[type[tir.BinaryOp], float] = {tir.Add: -0.0, tir.Sub: 0.0, tir.Mul: 1.0, tir.Div: 1.0}
_LEFT_OF_FLOATS: dict[type[tir.BinaryOp], float] = {tir.Add: -0.0, tir.Mul: 1.0}
"""The constants that leave every float unchanged, including -0.0, infinities and NaN."""
_DIVISIONS = (tir.Div, tir.Mod, tir.FloorDiv, tir.FloorMod)
_FORMATS = {"float16": "e", "float32": "f", "float64": "d"}


def wrap(value: int, dtype: str) -> int:
    """Wrap `value` to the range of the integer `dtype`."""
    low, high = int_range(dtype)
    return (value - low) % (high - low + 1) + low


def round_float(value: float, dtype: str) -> float | None:
    """Return `value` rounded to the float `dtype`; None if that needs NumPy."""
    if dtype not in _FORMATS:
        return None
    try:
        return struct.unpack(_FORMATS[dtype], struct.pack(_FORMATS[dtype], value))[0]
    except OverflowError:
        return math.inf if value > 0 else -math.inf


def fold(kind: type[tir.BinaryOp], a: tir.PrimExpr, b: tir.PrimExpr, span: Span | None) -> tir.PrimExpr | None:
    """Return what `kind(a, b)` folds to, or None; `a` and `b` have the same dtype.

    An integer division by a constant zero is E0232.
    """
    left = a.value if isinstance(a, tir.IntImm | tir.FloatImm) else None
    right = b.value if isinstance(b, tir.IntImm | tir.FloatImm) else None
    if left is None and right is None:
        return a if a is b and kind in (tir.Min, tir.Max) else None
    if isinstance(a, tir.FloatImm) or isinstance(b, tir.FloatImm):
        return _fold_floats(kind, a, b, span)
    if kind in _COMPARE:
        if left is None or right is None:
            return None
        return tir.IntImm("bool", int(_COMPARE[kind](left, right)), span=span)
    if kind in (tir.Mod, tir.FloorMod) and not is_index(a.dtype):
        return None
    if kind in _DIVISIONS and right == 0:
        raise error("E0232", "division by zero", b.span or span, "divide by something that is not zero")
    if isinstance(a, tir.IntImm) and isinstance(b, tir.IntImm):
        if kind is tir.Sub and parse_dtype(a.dtype).code == "uint" and a.value == 0 < b.value:
            raise error("E0231", f"0 - {b.value} is negative, which {a.dtype} cannot hold", span)
        return tir.IntImm(a.dtype, wrap(_INT[kind](a.value, b.value), a.dtype), span=span)
    choice = None if left is None else _LEFT.get(kind, {}).get(left)
    if choice is None and right is not None:
        choice = _RIGHT.get(kind, {}).get(right)
    if choice == "0":
        return tir.IntImm(a.dtype, 0, span=span)
    return {"a": a, "b": b}.get(choice or "")


def _fold_floats(kind: type[tir.BinaryOp], a: tir.PrimExpr, b: tir.PrimExpr, span: Span | None) -> tir.PrimExpr | None:
    if isinstance(b, tir.FloatImm) and _is_same(b.value, _RIGHT_OF_FLOATS.get(kind)):
        return a
    if isinstance(a, tir.FloatImm) and _is_same(a.value, _LEFT_OF_FLOATS.get(kind)):
        return b
    if not (isinstance(a, tir.FloatImm) and isinstance(b, tir.FloatImm)):
        return None
    left, right = round_float(a.value, a.dtype), round_float(b.value, a.dtype)
    if left is None or right is None:
        return None
    if kind in _COMPARE:
        return tir.IntImm("bool", int(_COMPARE[kind](left, right)), span=span)
    if kind in (tir.Min, tir.Max):
        first = left <= right if kind is tir.Min else left >= right
        return tir.FloatImm(a.dtype, left if first or math.isnan(left) else right, span=span)
    if kind not in _FLOAT or a.dtype == "float16" or (kind is tir.Div and right == 0):
        return None
    value = round_float(_FLOAT[kind](left, right), a.dtype)
    return None if value is None else tir.FloatImm(a.dtype, value, span=span)


def _is_same(value: float, other: float | None) -> bool:
    """Whether two floats are equal and zeros have the same sign."""
    return other is not None and value == other and math.copysign(1, value) == math.copysign(1, other)


def fold_logical(kind: type[tir.And | tir.Or], a: tir.PrimExpr, b: tir.PrimExpr) -> tir.PrimExpr | None:
    """Return the operand that `a and b` or `a or b` folds to if one of them is a constant, or None."""
    neutral = kind is tir.And
    if isinstance(a, tir.IntImm):
        return b if bool(a.value) == neutral else a
    if isinstance(b, tir.IntImm):
        return a if bool(b.value) == neutral else b
    return None
