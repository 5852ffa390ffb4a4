"""The loop level in Python (TVM: `tvm.tir`): variables, constants and functions of expressions."""

from __future__ import annotations

from typing import Any

from .. import make, te, tir
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
    truncdiv,
    truncmod,
)
from ..te import floor_divide as floordiv
from ..te import floor_divide as indexdiv
from ..te import floor_mod as floormod
from ..te import floor_mod as indexmod
from ..te import maximum as max
from ..te import minimum as min
from ..te import power as pow
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


def _string_imm(value: str) -> te.Expr:
    """A string, as an argument of a call."""
    return te.Expr(tir.StringImm("handle", value))


def _not(a: te.Value) -> te.Expr:
    """Whether `a` does not hold."""
    return te.Expr(tir.Not("bool", te.node_of(a, "bool")))


def _binary(kind: type[tir.BinaryOp], dtype: str | None = None) -> _Kind:
    """The kind of a node of two operands as it stands, which nothing folds."""

    def make(a: te.Value, b: te.Value) -> te.Expr:
        left, right = te.pair(a, b)
        return te.Expr(kind(dtype or left.dtype, left, right))

    make.__doc__ = f"The node `{kind.__name__}` of two operands, as it stands: nothing is folded."
    return _Kind(make, kind)


Add, Sub, Mul, Div, Mod = map(_binary, (tir.Add, tir.Sub, tir.Mul, tir.Div, tir.Mod))
FloorDiv, FloorMod, Min, Max = map(_binary, (tir.FloorDiv, tir.FloorMod, tir.Min, tir.Max))
EQ, NE, LT, LE, GT, GE, And, Or = (
    _binary(kind, "bool") for kind in (tir.EQ, tir.NE, tir.LT, tir.LE, tir.GT, tir.GE, tir.And, tir.Or)
)
Not = _Kind(_not, tir.Not)
StringImm = _Kind(_string_imm, tir.StringImm)
Var = _Kind(_var, tir.Var)
SizeVar = _Kind(_size_var, tir.SizeVar)
IntImm = _Kind(_int_imm, tir.IntImm)
FloatImm = _Kind(_float_imm, tir.FloatImm)
Cast = _Kind(_cast, tir.Cast)
PrimExpr = _Kind(te.Expr, tir.PrimExpr)


def ceildiv(a: te.Expr | int, b: te.Expr | int) -> te.Expr:
    """The integer quotient, rounded up."""
    return te.floor_divide(te.Expr(te.node_of(a)) + b - 1, b)


def div(a: te.Expr | int, b: te.Expr | int) -> te.Expr:
    """The quotient; of integers, rounded towards zero."""
    return te.Expr(make.div(*te.pair(a, b)))


__all__ = [
    "EQ", "GE", "GT", "LE", "LT", "NE", "Add", "And", "Buffer", "Cast", "Div", "FloatImm", "FloorDiv", "FloorMod",
    "IntImm", "Max", "Min", "Mod", "Mul", "Not", "Or", "PrimExpr", "PrimFunc", "Schedule", "ScheduleError",
    "Select", "SizeVar", "StringImm", "Sub", "TensorIntrin", "Var", "abs", "acos", "acosh", "all", "any", "asin",
    "asinh", "atan", "atanh", "ceil", "ceildiv", "const", "cos", "cosh", "div", "erf", "exp", "floor", "floordiv",
    "floormod", "if_then_else", "indexdiv", "indexmod", "isfinite", "isinf", "isnan", "log", "max", "max_value",
    "min", "min_value", "pow", "power", "round", "rsqrt", "sigmoid", "sin", "sinh", "sqrt", "tan", "tanh", "trunc",
    "truncdiv", "truncmod",
]  # fmt: skip


def __getattr__(name: str) -> Any:
    """Import what makes machine code when it is first asked for: `tir.build` is `tvms.compile`."""
    if name != "build":
        raise AttributeError(f"module 'tvms.tir' has no attribute '{name}'")
    from importlib import import_module

    return import_module("tvms").compile
