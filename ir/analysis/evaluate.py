"""Evaluation of integer expressions for given values of their variables."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from .. import tir
from ..base import Op
from ..dtype import is_bool, is_int
from ..fold import wrap
from .const_bounds import truncdiv

Values = Mapping[tir.Var, int]

_OPERATIONS: dict[type[tir.PrimExpr], Callable[[int, int], int]] = {
    tir.Add: lambda a, b: a + b, tir.Sub: lambda a, b: a - b, tir.Mul: lambda a, b: a * b,
    tir.FloorDiv: lambda a, b: a // b, tir.FloorMod: lambda a, b: a % b,
    tir.Div: truncdiv, tir.Mod: lambda a, b: a - b * truncdiv(a, b), tir.Min: min, tir.Max: max,
    tir.EQ: lambda a, b: a == b, tir.NE: lambda a, b: a != b, tir.LT: lambda a, b: a < b,
    tir.LE: lambda a, b: a <= b, tir.GT: lambda a, b: a > b, tir.GE: lambda a, b: a >= b,
}  # fmt: skip
_BITS: dict[str, Callable[[int, int], int]] = {
    "tir.bitwise_and": int.__and__, "tir.bitwise_or": int.__or__, "tir.bitwise_xor": int.__xor__,
    "tir.shift_left": lambda a, b: a << _count(b), "tir.shift_right": lambda a, b: a >> _count(b),
}  # fmt: skip
_INDEX_LIMITS = {"int32": 1 << 31, "int64": 1 << 63}
"""The first number beyond the range of each dtype of indices."""


def _count(bits: int) -> int:
    """Return the number of bits of a shift; ValueError if it is out of range, since the result could exhaust the memory."""
    if bits >= 64:
        raise ValueError
    return bits


def evaluate(expr: tir.PrimExpr, values: Values) -> int | None:
    """Return the value of `expr`; None if it is unknown, if it faults, or if an index overflows.

    Only integers and conditions are evaluated: loads, floats, vectors and calls of functions are unknown.
    """
    match expr:
        case tir.IntImm():
            return expr.value
        case tir.Var():
            return values.get(expr)
        case tir.BinaryOp() if (operate := _OPERATIONS.get(type(expr))) is not None:
            return _binary(operate, expr.a, expr.b, expr.dtype, values)
        case tir.And() | tir.Or():
            a = evaluate(expr.a, values)
            if a is None or bool(a) == isinstance(expr, tir.Or):
                return a
            return evaluate(expr.b, values)
        case tir.Not():
            a = evaluate(expr.a, values)
            return None if a is None else 1 - a
        case tir.Select():
            return _choice(expr.condition, expr.true_value, expr.false_value, values)
        case tir.Cast():
            inner = evaluate(expr.value, values)
            whole = is_int(expr.dtype) or is_bool(expr.dtype)
            return None if inner is None or not whole else _fit(inner, expr.dtype)
        case tir.Let():
            value = evaluate(expr.value, values)
            return None if value is None else evaluate(expr.body, {**values, expr.var: value})
        case tir.Call():
            return _call(expr, values)
        case _:
            return None


def _fit(value: int, dtype: str) -> int | None:
    """Return `value` wrapped around to `dtype`; None for an index dtype that cannot hold it."""
    if dtype in _INDEX_LIMITS:
        return value if -_INDEX_LIMITS[dtype] <= value < _INDEX_LIMITS[dtype] else None
    if dtype == "bool":
        return int(value != 0)
    return wrap(value, dtype)


def _choice(condition: tir.PrimExpr, yes: tir.PrimExpr, no: tir.PrimExpr, values: Values) -> int | None:
    holds = evaluate(condition, values)
    return None if holds is None else evaluate(yes if holds else no, values)


def _binary(
    operate: Callable[[int, int], int], a: tir.PrimExpr, b: tir.PrimExpr, dtype: str, values: Values
) -> int | None:
    if not (dtype in _INDEX_LIMITS or is_int(dtype) or is_bool(dtype)):
        return None
    left, right = evaluate(a, values), evaluate(b, values)
    if left is None or right is None:
        return None
    try:
        return _fit(operate(left, right), dtype)
    except (ZeroDivisionError, ValueError):
        return None


def _call(expr: tir.Call, values: Values) -> int | None:
    match expr:
        case tir.Call(
            op=Op(name="tir.if_then_else"),
            args=(tir.PrimExpr() as condition, tir.PrimExpr() as yes, tir.PrimExpr() as no),
        ):
            return _choice(condition, yes, no, values)
        case tir.Call(op=Op(name="tir.likely"), args=(tir.PrimExpr() as inner,)):
            return evaluate(inner, values)
        case tir.Call(op=Op(name=name), args=(tir.PrimExpr() as a, tir.PrimExpr() as b)) if name in _BITS:
            return _binary(_BITS[name], a, b, expr.dtype, values)
        case _:
            return None
