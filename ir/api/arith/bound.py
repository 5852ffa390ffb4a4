"""Bounds of variables in conditions, and of accesses in statements (TVM: `tvm.arith.bound`)."""

from __future__ import annotations

from collections.abc import Mapping

from ... import tir
from ...analysis import narrowing, solving, touched
from ...te.expr import Value, operand
from .int_set import IntervalSet, intervals_of
from .values import Domain, ranges_of, variable_of


def deduce_bound(
    var: tir.PrimExpr,
    cond: Value,
    hint_map: Mapping[tir.PrimExpr, IntervalSet],
    relax_map: Mapping[tir.PrimExpr, IntervalSet],
) -> IntervalSet:
    """Return the values of `var` for which `cond` holds for all values of the variables of `relax_map` in their sets.

    The sets in `hint_map` determine the signs of factors. Empty if `cond` never holds or cannot be solved for `var`.
    """
    hints, relaxed = intervals_of(hint_map), intervals_of(relax_map)
    return IntervalSet.of(solving.deduce_bound(variable_of(var), operand(cond, "bool"), hints, relaxed))


def domain_touched(
    stmt: tir.Stmt, buffer: tir.Buffer, consider_loads: bool = True, consider_stores: bool = True
) -> tuple[tir.Range, ...]:
    """Return the smallest known box of the elements of `buffer` that `stmt` loads, stores, or both; () for none."""
    return touched.domain_touched(stmt, buffer, consider_loads, consider_stores)


def narrow_predicate_expression(expr: Value, free_parameters: Mapping[tir.PrimExpr, Domain]) -> tir.PrimExpr:
    """Return a condition without `free_parameters` that implies `expr` for all their values."""
    return narrowing.narrow_predicate_expression(operand(expr, "bool"), ranges_of(free_parameters))
