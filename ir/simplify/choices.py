"""Choices: `T.Select`, `T.if_then_else`, `T.likely`. Each branch is simplified under its condition."""

from __future__ import annotations

from .. import tir
from ..base import Op
from ..dtype import is_bool, is_vector
from ..intern import is_scalar_int
from .bits import bitwise
from .core import Simplifier, simplifies
from .elementwise import elementwise


@simplifies(tir.Select)
def select(s: Simplifier, expr: tir.Select) -> tir.PrimExpr:
    """Return the normal form of a select, which evaluates both branches."""
    if is_vector(expr.condition.dtype):
        return elementwise(s, expr)
    return _choose(s, expr, expr.condition, expr.true_value, expr.false_value)


@simplifies(tir.Call)
def call(s: Simplifier, expr: tir.Call) -> tir.PrimExpr:
    match expr:
        case tir.Call(
            op=Op(name="tir.if_then_else"),
            args=(tir.PrimExpr() as condition, tir.PrimExpr() as yes, tir.PrimExpr() as no),
        ):
            return _choose(s, expr, condition, yes, no)
        case tir.Call(op=Op(name="tir.likely"), args=(tir.PrimExpr() as condition,)):
            condition = s.visit(condition)
            return condition if isinstance(condition, tir.IntImm) else s.rebuild(expr)
        case _:
            return bitwise(s, expr)


@simplifies(tir.Let)
def let(s: Simplifier, expr: tir.Let) -> tir.PrimExpr:
    """Inline a variable bound to a variable or a constant; otherwise keep the `let` and use the bounds of its value."""
    value, inner = s.visit(expr.value), s.inside()
    if isinstance(value, tir.Var | tir.IntImm | tir.FloatImm):
        inner.values[expr.var] = value
        return inner.visit(expr.body)
    if is_scalar_int(value.dtype):
        inner.learn_bounds(expr.var, s.bounds(value))
        inner.learn_residue(expr.var, s.residue_of_sum(s.exact(value)))
    body = inner.visit(expr.body)
    return s.intern(tir.Let(body.dtype, expr.var, value, body))


def _choose(
    s: Simplifier, expr: tir.Select | tir.Call, condition: tir.PrimExpr, yes: tir.PrimExpr, no: tir.PrimExpr
) -> tir.PrimExpr:
    condition = s.visit(condition)
    if isinstance(condition, tir.IntImm):
        return s.visit(yes if condition.value else no)
    if isinstance(condition, tir.Not):
        condition, yes, no = condition.a, no, yes
    yes, no = _branch(s, expr, condition, yes, True), _branch(s, expr, condition, no, False)
    if yes is no and s.is_total(condition):
        return s.visit(yes)
    if is_bool(yes.dtype) and isinstance(yes, tir.IntImm) and isinstance(no, tir.IntImm):
        return s.visit(condition if yes.value else tir.Not(condition.dtype, condition))
    if isinstance(expr, tir.Select):
        return s.intern(tir.Select(yes.dtype, condition, yes, no))
    match yes:
        case tir.Call(op=expr.op, args=(tir.PrimExpr() as inner, tir.PrimExpr() as value, other)) if other is no:
            both = tir.And(condition.dtype, condition, inner)
            return s.visit(tir.Call(expr.dtype, expr.op, (both, value, no)))
        case _:
            pass
    return s.intern(tir.Call(expr.dtype, expr.op, (condition, yes, no)))


def _branch(
    s: Simplifier, expr: tir.Select | tir.Call, condition: tir.PrimExpr, branch: tir.PrimExpr, holds: bool
) -> tir.PrimExpr:
    """Return a branch simplified under its condition. In a select it must not fault, as it is always evaluated."""
    if isinstance(expr, tir.Select) and not s.is_total(branch):
        branch = s.visit(branch)
        if not s.is_total(branch):
            return branch
    return s.assuming(condition, holds).visit(branch)
