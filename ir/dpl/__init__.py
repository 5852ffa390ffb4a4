"""The dataflow pattern language: patterns of subgraphs that a rewrite or a library handles (TVM: `tvm.relax.dpl`)."""

from __future__ import annotations

from .constructors import (
    has_attr,
    has_dtype,
    is_call_dps_packed,
    is_call_packed,
    is_call_tir,
    is_const,
    is_dfv,
    is_expr,
    is_gv,
    is_op,
    is_shape,
    is_tuple,
    is_tuple_get_item,
    is_var,
    make_fused_bias_activation_pattern,
    wildcard,
)
from .context import PatternContext, PatternSequence
from .pattern import (
    AndPattern,
    CallPattern,
    DFPattern,
    ExprPattern,
    FunctionPattern,
    NotPattern,
    OrPattern,
    TupleGetItemPattern,
    TuplePattern,
    WildcardPattern,
)
from .rewrite import rewrite_bindings, rewrite_call

__all__ = [
    "AndPattern",
    "CallPattern",
    "DFPattern",
    "ExprPattern",
    "FunctionPattern",
    "NotPattern",
    "OrPattern",
    "PatternContext",
    "PatternSequence",
    "TupleGetItemPattern",
    "TuplePattern",
    "WildcardPattern",
    "has_attr",
    "has_dtype",
    "is_call_dps_packed",
    "is_call_packed",
    "is_call_tir",
    "is_const",
    "is_dfv",
    "is_expr",
    "is_gv",
    "is_op",
    "is_shape",
    "is_tuple",
    "is_tuple_get_item",
    "is_var",
    "make_fused_bias_activation_pattern",
    "rewrite_bindings",
    "rewrite_call",
    "wildcard",
]
