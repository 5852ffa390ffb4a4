"""Evaluation of integer expressions for arrays of values of their variables, such as the indices of all threads of a block."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...ir import tir
from ...ir.base import Op

Values = NDArray[np.int64]

_OPERATIONS: dict[type[tir.PrimExpr], Callable[[Any, Any], Any]] = {
    tir.Add: np.add, tir.Sub: np.subtract, tir.Mul: np.multiply, tir.FloorDiv: np.floor_divide, tir.FloorMod: np.mod,
    tir.Min: np.minimum, tir.Max: np.maximum, tir.EQ: np.equal, tir.NE: np.not_equal, tir.LT: np.less,
    tir.LE: np.less_equal, tir.GT: np.greater, tir.GE: np.greater_equal, tir.And: np.logical_and, tir.Or: np.logical_or,
}  # fmt: skip
_CALLS: dict[str, Callable[[Any, Any], Any]] = {
    "tir.bitwise_and": np.bitwise_and, "tir.bitwise_or": np.bitwise_or, "tir.bitwise_xor": np.bitwise_xor,
    "tir.shift_left": np.left_shift, "tir.shift_right": np.right_shift,
}  # fmt: skip


def evaluate_all(expr: tir.PrimExpr, values: Mapping[tir.Var, Values]) -> Values | None:
    """Return the values of an integer expression for arrays of values of its variables; None if it depends on memory or on a variable
    without values, or if it may divide by 0. Overflow is not considered.
    """
    match expr:
        case tir.IntImm():
            return np.asarray(expr.value, np.int64)
        case tir.Var():
            return values.get(expr)
        case tir.Cast():
            return evaluate_all(expr.value, values)
        case tir.Not():
            return _applied(np.logical_not, (expr.a,), values)
        case tir.Select():
            return _applied(np.where, (expr.condition, expr.true_value, expr.false_value), values)
        case tir.Call(op=Op(name="tir.if_then_else")):
            return _applied(np.where, expr.args, values)
        case tir.Call(op=Op(name="tir.likely" | "tir.checked_index" | "tir.checked_position")):
            return _applied(np.asarray, expr.args[:1], values)
        case tir.Call(op=Op(name=name)) if name in _CALLS:
            return _applied(_CALLS[name], expr.args, values)
        case tir.BinaryOp() if type(expr) in _OPERATIONS:
            divisor = evaluate_all(expr.b, values) if isinstance(expr, tir.FloorDiv | tir.FloorMod) else None
            return (
                None
                if divisor is not None and not divisor.all()
                else _applied(_OPERATIONS[type(expr)], (expr.a, expr.b), values)
            )
        case _:
            return None


def _applied(operate: Callable[..., Any], parts: Sequence[object], values: Mapping[tir.Var, Values]) -> Values | None:
    found: list[Values] = []
    for part in parts:
        value = evaluate_all(part, values) if isinstance(part, tir.PrimExpr) else None
        if value is None:
            return None
        found.append(value)
    return np.asarray(operate(*found), np.int64)
