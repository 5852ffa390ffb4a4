"""Floating point: only rules that are exact for every value, including infinities, signed zeros and NaN."""

from __future__ import annotations

import math
import struct
from collections.abc import Sequence

from .. import tir
from ..dtype import int_range, is_float, parse_dtype
from ..fold import wrap
from .core import Simplifier
from .patterns import Bindings, Row, Where, f, maximum, minimum, x, y

_SIGNIFICAND = {"float16": 11, "bfloat16": 8, "float32": 24, "float64": 53}
"""Number of bits of the integers that a dtype represents exactly."""
_FORMAT = {"float16": "e", "float32": "f", "float64": "d"}
_WIDER = {("float16", "float32"), ("float16", "float64"), ("bfloat16", "float32"), ("bfloat16", "float64"), ("float32", "float64")}  # fmt: skip


def _is(value: float) -> Where:
    def check(s: Simplifier, bindings: Bindings) -> bool:
        constant = bindings["f"]
        assert isinstance(constant, tir.FloatImm)
        return constant.value == value and math.copysign(1, constant.value) == math.copysign(1, value)

    return check


ROWS: dict[type[tir.PrimExpr], Sequence[Row]] = {
    tir.Add: (Row(x + f, x, _is(-0.0)),),
    tir.Sub: (Row(x - f, x, _is(0.0)),),
    tir.Mul: (Row(x * f, x, _is(1.0)),),
    tir.Div: (Row(x / f, x, _is(1.0)),),
    tir.Min: (Row(minimum(x, x), x), Row(minimum(minimum(x, y), y), minimum(x, y))),
    tir.Max: (Row(maximum(x, x), x), Row(maximum(maximum(x, y), y), maximum(x, y))),
}
"""Rules by operator. `x + 0.0` (turns -0.0 into 0.0), `x * 0.0` and `x - x` (NaN for infinities) have no rule."""


def may_fold(expr: tir.BinaryOp) -> bool:
    """Return whether the operation has two constant operands and the same result on every machine."""
    a, b = expr.a, expr.b
    if not (isinstance(a, tir.FloatImm) and isinstance(b, tir.FloatImm)):
        return False
    if not (math.isfinite(a.value) and math.isfinite(b.value)):
        return False
    if isinstance(expr, tir.Div):
        return b.value != 0
    return a.value != b.value if isinstance(expr, tir.Min | tir.Max) else True


def keeps_value(source: str, middle: str, target: str) -> bool:
    """Return whether a cast from `source` over `middle` to `target` equals the cast from `source` to `target`."""
    first, between, last = map(parse_dtype, (source, middle, target))
    if is_float(source):
        return (first.name, between.name) in _WIDER
    if first.code not in ("int", "uint", "bool"):
        return False
    low, high = int_range(first.name)
    if is_float(middle):
        if last.code in ("int", "uint") and not (int_range(last.name)[0] <= low and high <= int_range(last.name)[1]):
            return False  # casts saturate floats but wrap integers
        return first.bits <= _SIGNIFICAND.get(between.name, 0)
    if between.code not in ("int", "uint"):
        return False
    return int_range(between.name)[0] <= low and high <= int_range(between.name)[1]


def cast_constant(value: tir.IntImm | tir.FloatImm, dtype: str) -> tir.PrimExpr | None:
    """Return a scalar constant cast to `dtype`, or None if the cast is inexact or depends on the machine."""
    number, target = value.value, parse_dtype(dtype)
    if target.code == "bool":
        return tir.IntImm(dtype, int(number != 0))
    if target.code in ("int", "uint"):
        if isinstance(value, tir.IntImm):
            return tir.IntImm(dtype, wrap(value.value, dtype))
        low, high = int_range(dtype)
        is_inside = math.isfinite(number) and low <= int(number) <= high
        return tir.IntImm(dtype, int(number)) if is_inside else None
    if target.name not in _FORMAT or (isinstance(value, tir.IntImm) and abs(number) > 1 << _SIGNIFICAND[target.name]):
        return None
    try:
        rounded = struct.unpack(_FORMAT[target.name], struct.pack(_FORMAT[target.name], number))[0]
    except OverflowError:
        return None
    return tir.FloatImm(dtype, float(number)) if rounded == number else None
