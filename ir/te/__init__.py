"""Tensor expressions: tensors defined element by element, and functions built from them (TVM: `tvm.te`)."""

from __future__ import annotations

from typing import Any

from .create_prim_func import computations, create_prim_func
from .expr import (
    Expr,
    Value,
    abs,
    acos,
    acosh,
    all,
    any,
    asin,
    asinh,
    atan,
    atanh,
    call,
    cast,
    ceil,
    const,
    cos,
    cosh,
    equal,
    erf,
    exp,
    floor,
    floor_divide,
    floor_mod,
    greatest,
    if_then_else,
    isfinite,
    isinf,
    isnan,
    least,
    log,
    logical_not,
    max_value,
    maximum,
    min_value,
    minimum,
    node_of,
    not_equal,
    pair,
    power,
    round,
    rsqrt,
    select,
    sigmoid,
    sin,
    sinh,
    size_var,
    sqrt,
    tan,
    tanh,
    trunc,
    truncdiv,
    truncmod,
    var,
)
from .extern import ExternOp, extern
from .tensor import (
    ComputeOp,
    PlaceholderOp,
    ReduceAxis,
    Reducer,
    Tensor,
    comm_reducer,
    compute,
    max,
    min,
    placeholder,
    prod,
    reduce_axis,
    sum,
)

__all__ = [
    "ComputeOp", "Expr", "ExternOp", "PlaceholderOp", "ReduceAxis", "Reducer", "Tensor", "Value", "abs", "acos", "acosh", "all", "any", "asin",
    "asinh", "atan", "atanh", "call", "cast", "ceil", "comm_reducer", "computations", "compute", "const", "cos", "cosh",
    "create_prim_func", "equal", "erf", "exp", "extern", "floor", "floor_divide", "floor_mod", "greatest", "if_then_else", "isfinite", "isinf", "isnan", "least", "log", "logical_not", "max", "max_value",
    "maximum", "min", "min_value", "minimum", "node_of", "not_equal", "pair", "placeholder", "power", "prod", "reduce_axis", "round",
    "rsqrt", "select", "sigmoid", "sin", "sinh", "size_var", "sqrt", "sum", "tan", "tanh", "trunc", "truncdiv", "truncmod", "var",
]  # fmt: skip


def __getattr__(name: str) -> Any:
    """Return the function of an intrinsic, as in `tvms.tir`."""
    if name.startswith("__"):
        raise AttributeError(name)
    from ..api import tir

    return getattr(tir, name)
