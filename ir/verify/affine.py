"""Quasi-affine expressions over integers that do not wrap around: those that proofs understand."""

from __future__ import annotations

from collections.abc import Sequence
from functools import reduce

from .. import tir
from ..base import Op

_LINEAR = (tir.Add, tir.Sub, tir.Min, tir.Max, tir.CmpOp, tir.And, tir.Or)
_DIVISIONS = (tir.FloorDiv, tir.FloorMod, tir.Div, tir.Mod)
_WIDE = ("int32", "int64", "bool")
_NEGATED: dict[type[tir.PrimExpr], type[tir.CmpOp]] = {
    tir.LT: tir.GE, tir.GE: tir.LT, tir.LE: tir.GT, tir.GT: tir.LE, tir.EQ: tir.NE, tir.NE: tir.EQ,
}  # fmt: skip


def is_affine(expr: tir.PrimExpr) -> bool:
    """Whether `expr` is quasi-affine in its variables: sums, constant factors, divisors, comparisons."""
    match expr:
        case tir.Var() | tir.IntImm():
            return expr.dtype in _WIDE
        case tir.Mul():
            factors = (expr.a, expr.b)
            return (
                expr.dtype in _WIDE and any(isinstance(f, tir.IntImm) for f in factors) and all(map(is_affine, factors))
            )
        case tir.BinaryOp() if isinstance(expr, _DIVISIONS):
            return expr.dtype in _WIDE and isinstance(expr.b, tir.IntImm) and expr.b.value > 0 and is_affine(expr.a)
        case tir.BinaryOp() if isinstance(expr, _LINEAR):
            return expr.dtype in _WIDE and is_affine(expr.a) and is_affine(expr.b)
        case tir.Not():
            return is_affine(expr.a)
        case tir.Cast():
            return expr.dtype in _WIDE and expr.value.dtype != "bool" and is_affine(expr.value)
        case tir.Select():
            return all(map(is_affine, (expr.condition, expr.true_value, expr.false_value)))
        case tir.Call(op=Op(name="tir.likely"), args=(tir.PrimExpr() as inner,)):
            return is_affine(inner)
        case _:
            return False


def conjuncts(condition: tir.PrimExpr, holds: bool) -> list[tir.PrimExpr]:
    """Return the conjuncts of `condition` or, unless `holds`, of its negation."""
    found: list[tir.PrimExpr] = []
    waiting = [(condition, holds)]
    while waiting:
        condition, holds = waiting.pop()
        match condition:
            case tir.Call(op=Op(name="tir.likely"), args=(tir.PrimExpr() as inner,)):
                waiting.append((inner, holds))
            case tir.Not():
                waiting.append((condition.a, not holds))
            case tir.And() | tir.Or() if holds == isinstance(condition, tir.And):
                waiting += [(condition.b, holds), (condition.a, holds)]
            case tir.IntImm():
                found.append(tir.IntImm("bool", int(bool(condition.value) == holds)))
            case _:
                found.append(condition if holds else negated(condition))
    return found


def negated(condition: tir.PrimExpr) -> tir.PrimExpr:
    """Return the negation of `condition`."""
    kind = _NEGATED.get(type(condition))
    if kind is not None and isinstance(condition, tir.CmpOp):
        return kind(condition.dtype, condition.a, condition.b)
    return tir.Not("bool", condition)


def all_of(conditions: Sequence[tir.PrimExpr]) -> tir.PrimExpr:
    """Return the conjunction of `conditions`."""
    return reduce(lambda a, b: tir.And("bool", a, b), conditions)


def any_of(conditions: Sequence[tir.PrimExpr]) -> tir.PrimExpr:
    """Return the disjunction of `conditions`."""
    return reduce(lambda a, b: tir.Or("bool", a, b), conditions)
