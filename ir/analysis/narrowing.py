"""Conditions that hold for all values of some variables (TVM: `NarrowPredicateExpression`)."""

from __future__ import annotations

from collections.abc import Mapping

from .. import tir
from ..deep import deep
from .solving import uses


@deep
def narrow_predicate_expression(condition: tir.PrimExpr, free_parameters: Mapping[tir.Var, tir.Range]) -> tir.PrimExpr:
    """Return a condition without `free_parameters` that implies `condition` for all their values.

    A comparison that is not monotone in a parameter (a remainder, a buffer element) becomes false, which implies
    everything. The result is not simplified.
    """
    return _Narrower(free_parameters).condition(condition, True)


class _NotMonotoneError(Exception):
    pass


class _Narrower:
    def __init__(self, parameters: Mapping[tir.Var, tir.Range]) -> None:
        self.parameters = parameters

    def condition(self, expr: tir.PrimExpr, implies: bool) -> tir.PrimExpr:
        """Return a condition that implies `expr` or, if `implies` is False, one that `expr` implies."""
        if not uses(expr, self.parameters):
            return expr
        match expr:
            case tir.And() | tir.Or():
                return type(expr)(expr.dtype, self.condition(expr.a, implies), self.condition(expr.b, implies))
            case tir.Not():
                return tir.Not(expr.dtype, self.condition(expr.a, not implies))
            case tir.EQ(dtype=dtype, a=a, b=b):
                return self.condition(tir.And(dtype, tir.LE(dtype, a, b), tir.LE(dtype, b, a)), implies)
            case tir.NE(dtype=dtype, a=a, b=b):
                return self.condition(tir.Or(dtype, tir.LT(dtype, a, b), tir.LT(dtype, b, a)), implies)
            case tir.LT() | tir.LE() | tir.GT() | tir.GE():
                is_left_greater = isinstance(expr, tir.LT | tir.LE) == implies
                try:
                    a, b = self.extreme(expr.a, is_left_greater), self.extreme(expr.b, not is_left_greater)
                    return type(expr)(expr.dtype, a, b)
                except _NotMonotoneError:
                    return tir.IntImm("bool", int(not implies))
            case _:
                return tir.IntImm("bool", int(not implies))

    def extreme(self, expr: tir.PrimExpr, is_greatest: bool) -> tir.PrimExpr:
        """Return the maximum (or minimum) of `expr` over all values of the parameters."""
        if not uses(expr, self.parameters):
            return expr
        match expr:
            case tir.Var():
                domain = self.parameters[expr]
                return _last(domain) if is_greatest else domain.min
            case tir.Add() | tir.Min() | tir.Max():
                return type(expr)(expr.dtype, self.extreme(expr.a, is_greatest), self.extreme(expr.b, is_greatest))
            case tir.Sub():
                return tir.Sub(expr.dtype, self.extreme(expr.a, is_greatest), self.extreme(expr.b, not is_greatest))
            case tir.Mul(b=tir.IntImm(value=factor)):
                return tir.Mul(expr.dtype, self.extreme(expr.a, is_greatest == (factor > 0)), expr.b)
            case tir.FloorDiv(b=tir.IntImm(value=divisor)) | tir.Div(b=tir.IntImm(value=divisor)) if divisor:
                return type(expr)(expr.dtype, self.extreme(expr.a, is_greatest == (divisor > 0)), expr.b)
            case _:
                raise _NotMonotoneError


def _last(domain: tir.Range) -> tir.PrimExpr:
    if isinstance(domain.min, tir.IntImm) and isinstance(domain.extent, tir.IntImm):
        return tir.IntImm(domain.min.dtype, domain.min.value + domain.extent.value - 1)
    end = tir.Add(domain.min.dtype, domain.min, domain.extent)
    return tir.Sub(end.dtype, end, tir.IntImm(end.dtype, 1))
