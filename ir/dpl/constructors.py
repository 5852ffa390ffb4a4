"""Constructors of patterns, with TVM's names."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from .. import tir
from ..base import Node, Op
from .leaves import (
    ConstantPattern,
    DataflowVarPattern,
    ExternFuncPattern,
    GlobalVarPattern,
    PrimArrPattern,
    VarPattern,
)
from .pattern import (
    CallPattern,
    DFPattern,
    ExprPattern,
    NotPattern,
    TupleGetItemPattern,
    TuplePattern,
    UnorderedTuplePattern,
    WildcardPattern,
)


def wildcard() -> DFPattern:
    """Match any expression."""
    return WildcardPattern()


def is_op(op_name: str) -> DFPattern:
    """Match the operator with this full name. Call the pattern to match calls: `is_op("relax.add")(a, b)`."""
    return ExprPattern(Op(op_name))


def is_expr(expr: Node) -> DFPattern:
    """Match expressions that are structurally equal to `expr`."""
    return ExprPattern(expr)


def is_var(name: str = "") -> VarPattern:
    """Match a variable, if `name` is given only one with that name."""
    return VarPattern(name)


def is_dfv(name: str = "") -> DataflowVarPattern:
    """Match a variable of a dataflow block, if `name` is given only one with that name."""
    return DataflowVarPattern(name)


def is_gv(name: str = "") -> GlobalVarPattern:
    """Match a function of the module, if `name` is given only the one with that name."""
    return GlobalVarPattern(name)


def is_const() -> ConstantPattern:
    """Match a constant tensor."""
    return ConstantPattern()


def is_tuple(fields: Sequence[DFPattern], unordered: bool = False) -> TuplePattern | UnorderedTuplePattern:
    """Match a tuple whose fields match, in any order if `unordered`."""
    return UnorderedTuplePattern(fields) if unordered else TuplePattern(fields)


def is_tuple_get_item(tuple_value: DFPattern, index: int | None = None) -> DFPattern:
    """Match a field of a tuple."""
    return TupleGetItemPattern(tuple_value, index)


def is_shape(shape: Sequence[int | tir.PrimExpr]) -> PrimArrPattern:
    """Match a shape with these dimensions."""
    return PrimArrPattern(shape)


def reject(pattern: DFPattern) -> NotPattern:
    """Match an expression that `pattern` does not match."""
    return NotPattern(pattern)


def has_dtype(dtype: str, pattern: DFPattern | None = None) -> DFPattern:
    """Match a tensor of this dtype."""
    return (pattern or wildcard()).has_dtype(dtype)


def has_attr(attrs: Mapping[str, Any], pattern: DFPattern | None = None) -> DFPattern:
    """Match a call that has these attributes."""
    return (pattern or wildcard()).has_attr(attrs)


def _with_args(args: Sequence[DFPattern] | DFPattern | None) -> DFPattern:
    if args is None:
        return wildcard()
    return args if isinstance(args, DFPattern) else TuplePattern(args)


def is_call_tir(
    func_name: str, args: Sequence[DFPattern] | DFPattern | None = None, tir_vars: DFPattern | None = None
) -> CallPattern:
    """Match `R.call_tir` of the function `func_name`."""
    more = () if tir_vars is None else (tir_vars,)
    return is_op("relax.call_tir")(is_gv(func_name), _with_args(args), *more)


def is_call_dps_packed(func_name: str, args: Sequence[DFPattern] | DFPattern | None = None) -> CallPattern:
    """Match `R.call_dps_packed` of the external function `func_name`."""
    return is_op("relax.call_dps_packed")(ExternFuncPattern(func_name), _with_args(args))


def is_call_packed(func_name: str, args: Sequence[DFPattern] | None = None) -> CallPattern:
    """Match a call of the external function `func_name`."""
    return ExternFuncPattern(func_name)(*(args or ()), varg_default_wildcard=args is None)


def make_fused_bias_activation_pattern(
    op_name: str, with_bias: bool = False, activation: str | None = None
) -> DFPattern:
    """Match a binary operator, optionally followed by the addition of a bias and by an activation."""
    out: DFPattern = is_op(op_name)(wildcard(), wildcard())
    if with_bias:
        out = is_op("relax.add")(out, wildcard())
    return is_op(activation)(out) if activation else out
