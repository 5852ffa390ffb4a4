"""The loop level in Python (TVM: `tvm.tir`): variables, constants and functions of expressions."""

from __future__ import annotations

from typing import Any

from .. import te, tir
from ..schedule import Schedule, ScheduleError
from ..schedule.tensor_intrin import TensorIntrin
from ..te import (
    abs,
    acos,
    acosh,
    all,
    any,
    asin,
    asinh,
    atan,
    atanh,
    ceil,
    const,
    cos,
    cosh,
    erf,
    exp,
    floor,
    if_then_else,
    isfinite,
    isinf,
    isnan,
    log,
    max_value,
    min_value,
    power,
    round,
    rsqrt,
    sigmoid,
    sin,
    sinh,
    sqrt,
    tan,
    tanh,
    trunc,
)
from ..te import floor_divide as floordiv
from ..te import floor_mod as floormod
from ..te import maximum as max
from ..te import minimum as min
from ..te import select as Select
from ..tir import Buffer, PrimFunc
from .constructor import Constructor


class _Kind(Constructor[..., te.Expr]):
    """A kind of expression; `isinstance` also knows the nodes that `te.Expr` wraps."""

    def __instancecheck__(self, value: object) -> bool:
        return isinstance(value.node if isinstance(value, te.Expr) else value, self._kinds)


def _var(name: str, dtype: str = "int32") -> te.Expr:
    """A variable; a dimension of the graph level is an int64."""
    return te.var(name, dtype)


def _size_var(name: str, dtype: str = "int32") -> te.Expr:
    """A variable that is not negative."""
    return te.size_var(name, dtype)


def _int_imm(dtype: str, value: int) -> te.Expr:
    """An integer constant."""
    return te.Expr(tir.IntImm(dtype, value))


def _float_imm(dtype: str, value: float) -> te.Expr:
    """A floating-point constant."""
    return te.Expr(tir.FloatImm(dtype, value))


def _cast(dtype: str, value: te.Expr) -> te.Expr:
    """`value` converted to `dtype`."""
    return te.cast(value, dtype)


Var = _Kind(_var, tir.Var)
SizeVar = _Kind(_size_var, tir.SizeVar)
IntImm = _Kind(_int_imm, tir.IntImm)
FloatImm = _Kind(_float_imm, tir.FloatImm)
Cast = _Kind(_cast, tir.Cast)
PrimExpr = _Kind(te.Expr, tir.PrimExpr)


def ceildiv(a: te.Expr | int, b: te.Expr | int) -> te.Expr:
    """The integer quotient, rounded up."""
    return te.floor_divide(te.Expr(te.node_of(a)) + b - 1, b)


__all__ = [
    "Buffer", "Cast", "FloatImm", "IntImm", "PrimExpr", "PrimFunc", "Schedule", "ScheduleError", "Select", "SizeVar", "TensorIntrin", "Var", "abs", "acos", "acosh",
    "all", "any", "asin", "asinh", "atan", "atanh", "ceil", "ceildiv", "const", "cos", "cosh", "erf", "exp", "floor",
    "floordiv", "floormod", "if_then_else", "isfinite", "isinf", "isnan", "log", "max", "max_value", "min",
    "min_value", "power", "round", "rsqrt", "sigmoid", "sin", "sinh", "sqrt", "tan", "tanh", "trunc",
]  # fmt: skip


def __getattr__(name: str) -> Any:
    """Import what makes machine code when it is first asked for: `tir.build` is `tvms.compile`."""
    if name != "build":
        raise AttributeError(f"module 'tvms.tir' has no attribute '{name}'")
    from importlib import import_module

    return import_module("tvms").compile
