"""Rows for the model's arithmetic on numbers that tensors hold (`x.max().item() / 2`): tensors of float64 without dimensions."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ....ir import relax
from ....ir.api.relax import op
from .converter import Convert, Converter


def _same(x: relax.Expr) -> relax.Expr:
    return x


_OPERATORS: dict[str, Callable[..., relax.Expr]] = {
    "add": op.add, "sub": op.subtract, "mul": op.multiply, "truediv": op.divide, "floordiv": op.floor_divide, "mod": op.floor_mod,
    "pow": op.power, "neg": op.negative, "abs": op.abs, "sym_max": op.maximum, "sym_min": op.minimum, "_sym_sqrt": op.sqrt,
    **{f"_sym_{name}": getattr(op, name) for name in ("cos", "cosh", "sin", "sinh", "tan", "tanh", "acos", "asin", "atan")},
    **dict.fromkeys(("sym_float", "pos"), _same),
    "lt": op.less, "le": op.less_equal, "gt": op.greater, "ge": op.greater_equal, "eq": op.equal, "ne": op.not_equal,
}  # fmt: skip
"""Functions of numbers in torch's graphs."""


def _number(function: Callable[..., relax.Expr]) -> Convert:
    def convert(c: Converter, a: Any) -> relax.Expr:
        return c.emit(function(*(c.tensor(arg, "float64") for arg in a.args)))

    return convert


ROWS: dict[str, Convert] = {f"number.{name}": _number(function) for name, function in _OPERATORS.items()}
