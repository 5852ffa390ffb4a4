"""Expressions as objects of their own: equal ones are one node, and a sum is written in one way."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from typing import Any

from .. import tir
from ..base import Op
from ..dtype import int_range, is_int, parse_dtype
from ..fold import wrap
from ..ops.tir import get
from ..visit import field_names
from .sums import Sum


def is_index(dtype: str) -> bool:
    """Whether `dtype` is one of those whose expressions are taken not to overflow."""
    return dtype in ("int32", "int64")


def is_scalar_int(dtype: str) -> bool:
    return is_int(dtype) and parse_dtype(dtype).lanes == 1 and not parse_dtype(dtype).scalable


class Nodes:
    """One object for equal expressions, and the sums that they are."""

    def __init__(self) -> None:
        self.by_key: dict[Any, tir.PrimExpr] = {}
        self.sums: dict[tir.PrimExpr, Sum] = {}

    def intern(self, expr: tir.PrimExpr) -> tir.PrimExpr:
        """Return the one node equal to `expr`, whose operands are interned."""
        return self.by_key.setdefault(self._key(expr), expr)

    def _key(self, expr: tir.PrimExpr) -> Any:
        match expr:
            case tir.Var() | tir.Let() | tir.Reduce() | tir.ProducerLoad():
                return expr
            case tir.Mul() if is_int(expr.dtype):
                return (tir.Mul, expr.dtype, frozenset(Counter(factors(expr)).items()))
            case tir.Min() | tir.Max() if is_int(expr.dtype):
                return (type(expr), frozenset(joined(type(expr), expr)))
            case tir.EQ() | tir.NE():
                return (type(expr), frozenset((expr.a, expr.b)))
            case tir.FloatImm():
                return (tir.FloatImm, expr.dtype, repr(expr.value))
            case tir.Call():
                return expr if expr.annotations or not is_pure_call(expr) else (expr.dtype, expr.op, expr.args)
            case _:
                return (type(expr), *[getattr(expr, name) for name in field_names(type(expr))])


def joined(kind: type[tir.BinaryOp], expr: tir.PrimExpr) -> list[tir.PrimExpr]:
    """Return what is joined by nested operations of one kind in `expr`, in order: itself where it is none."""
    found: list[tir.PrimExpr] = []
    stack = [expr]
    while stack:
        node = stack.pop()
        if isinstance(node, tir.BinaryOp) and type(node) is kind:
            stack += [node.b, node.a]
        else:
            found.append(node)
    return found


def factors(expr: tir.PrimExpr) -> list[tir.PrimExpr]:
    """Return what is multiplied in `expr`: itself where it is no product."""
    return joined(tir.Mul, expr)


def is_pure_call(call: tir.Call) -> bool:
    """Whether a call has no effect and the same result each time."""
    row = get(call.op.name) if isinstance(call.op, Op) else None
    return row is not None and row.is_pure


def render(value: Sum, dtype: str, intern: Callable[[tir.PrimExpr], tir.PrimExpr]) -> tir.PrimExpr | None:
    """Return the expression of a sum: as TVM, what is added, its constant last, then what is subtracted.

    None where an index dtype has no such numbers; those of other dtypes wrap around.
    """
    low, high = int_range(dtype)

    def number(number: int) -> tir.PrimExpr:
        return intern(tir.IntImm(dtype, wrap(number, dtype)))

    def scaled(term: tir.PrimExpr, factor: int) -> tir.PrimExpr:
        return term if factor == 1 else intern(tir.Mul(dtype, term, number(factor)))

    if is_index(dtype) and any(abs(n) > high for n in (*value.terms.values(), value.constant)):
        return None
    constant = value.constant if is_index(dtype) else wrap(value.constant, dtype)
    added = [(term, factor) for term, factor in value.factors() if factor > 0 or -factor > high]
    taken = [(term, -factor) for term, factor in value.factors() if factor < 0 and -factor <= high]
    if not added and taken and constant <= 0 and low <= -taken[0][1]:
        term, factor = taken.pop(0)
        added.append((term, -factor))
    parts = [scaled(term, factor) for term, factor in added]
    if constant > 0 or -constant > high or not parts:
        parts.append(number(constant))
    result = parts[0]
    for part in parts[1:]:
        result = intern(tir.Add(dtype, result, part))
    for term, factor in taken:
        result = intern(tir.Sub(dtype, result, scaled(term, factor)))
    if added and -high <= constant < 0:
        result = intern(tir.Sub(dtype, result, number(-constant)))
    return result
