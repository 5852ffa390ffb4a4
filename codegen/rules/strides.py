"""Strides of accesses along the axes of a nest."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from ...ir import tir
from ...ir.linear import simplify
from ...ir.visit import substitute, walk
from ..lower.layout import strides_of
from ..lower.vectors import widen
from .build import constant, plus, times
from .nest import Axis, Declined

Access = tir.BufferLoad | tir.BufferStore
Steps = Mapping[tir.Var, tir.PrimExpr]

ZERO = tir.IntImm("int64", 0)


def plain_steps(access: Access, axes: Iterable[Axis]) -> dict[tir.Var, tir.PrimExpr]:
    """Return the stride along each axis that is an index of `access` by itself.

    Declined if an index is neither an axis, used once, nor 0.
    """
    steps: dict[tir.Var, tir.PrimExpr] = {}
    known = {axis.var for axis in axes}
    for position, step in zip(access.indices, strides_of(access.buffer), strict=True):
        if isinstance(position, tir.IntImm) and position.value == 0:
            continue
        if not isinstance(position, tir.Var) or position not in known or position in steps:
            raise Declined(f"an index of '{access.buffer.name}' is not an axis")
        steps[position] = step
    return steps


def linear_steps(access: Access, axes: Iterable[Axis]) -> tuple[dict[tir.Var, tir.PrimExpr], tir.PrimExpr]:
    """Return the stride along each axis that `access` depends on, and its position when all axes are zero.

    Declined if an index is not a sum of axes times numbers.
    """
    steps: dict[tir.Var, tir.PrimExpr] = {}
    start: tir.PrimExpr = ZERO if access.buffer.elem_offset is None else widen(access.buffer.elem_offset)
    variables = [axis.var for axis in axes]
    for position, step in zip(access.indices, strides_of(access.buffer), strict=True):
        for var in variables:
            factor = _factor(position, var)
            if factor is None:
                raise Declined(f"an index of '{access.buffer.name}' is not a sum of axes")
            if factor:
                steps[var] = plus(steps.get(var, ZERO), times(factor, step))
        zeros = {var: tir.IntImm(var.dtype, 0) for var in variables}
        start = plus(start, times(widen(simplify(substitute(position, zeros))), step))
    return steps, start


def step_along(access: Access, var: tir.Var) -> int | None:
    """Return the stride of `access` along `var`; None if it is not constant."""
    total = 0
    for position, step in zip(access.indices, strides_of(access.buffer), strict=True):
        if not any(node is var for node in walk(position)):
            continue
        factor, size = _factor(position, var), constant(step)
        if factor is None or size is None:
            return None
        total += factor * size
    return total


def _factor(expr: tir.PrimExpr, var: tir.Var) -> int | None:
    """Return the coefficient of `var` in a sum; None if the expression does not have that form."""
    if expr is var:
        return 1
    if not any(node is var for node in walk(expr)):
        return 0
    if isinstance(expr, tir.Add | tir.Sub):
        left, right = _factor(expr.a, var), _factor(expr.b, var)
        if left is None or right is None:
            return None
        return left + right if isinstance(expr, tir.Add) else left - right
    if isinstance(expr, tir.Mul):
        number, other = (expr.b, expr.a) if isinstance(expr.b, tir.IntImm) else (expr.a, expr.b)
        inner = _factor(other, var)
        return None if inner is None or not isinstance(number, tir.IntImm) else inner * number.value
    return _factor(expr.value, var) if isinstance(expr, tir.Cast) else None
