"""Patterns of what a graph function computes."""

from __future__ import annotations

from collections.abc import Mapping

from .. import relax
from ..base import GlobalVar, Op
from ..infer import infer_struct_info
from .pattern import CallPattern, DFPattern, ExprPattern, TupleGetItemPattern, TuplePattern, WildcardPattern


def pattern_of(function: relax.Function) -> tuple[list[DFPattern], DFPattern]:
    """Return the patterns of the parameters of a function, and that of its result."""
    known: dict[relax.Var, DFPattern] = {}
    params: list[DFPattern] = []
    for param in function.params:
        inner = WildcardPattern()
        params.append(inner)
        info = infer_struct_info(param)
        known[param] = inner if isinstance(info, relax.ObjectStructInfo) else inner.has_struct_info(info)
    for block in function.body.blocks:
        for binding in block.bindings:
            known[binding.var] = _pattern(binding.value, known)
    return params, _pattern(function.body.body, known)


def _pattern(expr: relax.Expr, known: Mapping[relax.Var, DFPattern]) -> DFPattern:
    match expr:
        case relax.Var():
            return known[expr]
        case relax.Call(op=op):
            callee = ExprPattern(op) if isinstance(op, Op) else _pattern(op, known)
            call: DFPattern = CallPattern(callee, [_pattern(arg, known) for arg in expr.args])
            given = {name: value for name, value in expr.attrs.items() if value is not None}
            return call.has_attr(given) if given else call
        case relax.Tuple():
            return TuplePattern([_pattern(field, known) for field in expr.fields])
        case relax.TupleGetItem():
            return TupleGetItemPattern(_pattern(expr.tuple_value, known), expr.index)
        case relax.PrimValue() | relax.ShapeExpr():
            return WildcardPattern().has_struct_info(infer_struct_info(expr))
        case relax.Constant() | relax.ExternFunc() | GlobalVar() | relax.StringImm() | relax.DataTypeImm():
            return ExprPattern(expr)
        case _:
            raise TypeError(f"the pattern of a rewriter consists of calls and tuples, not of a {type(expr).__name__}")
