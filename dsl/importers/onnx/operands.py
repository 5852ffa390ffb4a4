"""Rows for elementwise functions of two and more tensors: arithmetic, comparison, logic and bits."""

from __future__ import annotations

from collections.abc import Callable
from functools import reduce
from typing import Any

from ....ir import relax
from ....ir.api.relax import op
from ....ir.building.values import const
from ....ir.dtype import parse_dtype
from ..values import axis_of, dims_of, dtype_of, is_floating, rank_of
from .converter import Converter
from .rows import Convert, Family

ROWS = Family()
_Function = Callable[[relax.Expr, relax.Expr], relax.Expr]

_BINARY: dict[str, _Function] = {
    "Add": op.add, "Sub": op.subtract, "Mul": op.multiply, "Div": op.divide, "And": op.logical_and, "Or": op.logical_or,
    "Xor": op.logical_xor, "Equal": op.equal, "Less": op.less, "Greater": op.greater,
}  # fmt: skip
"""Functions that operators of version 1 to 6 broadcast along an axis."""
_LATER: dict[str, _Function] = {
    "LessOrEqual": op.less_equal, "GreaterOrEqual": op.greater_equal, "BitwiseAnd": op.bitwise_and,
    "BitwiseOr": op.bitwise_or, "BitwiseXor": op.bitwise_xor,
}  # fmt: skip


def _binary(function: _Function) -> Convert:
    return lambda c, a: function(a.A, a.B)


def _along_axis(convert: Convert, left: str, right: str) -> Convert:
    """Return the row for version 1 to 6: with `broadcast`, the second operand's first dimension is the first operand's `axis`;
    by default their last dimensions are the same.
    """

    def converted(c: Converter, a: Any) -> relax.Expr:
        x, y = getattr(a, left), getattr(a, right)
        if a.broadcast and a.axis is not None and rank_of(y):
            behind = rank_of(x) - axis_of(a.axis, rank_of(x)) - rank_of(y)
            if behind < 0:
                raise ValueError(
                    f"the second operand has {rank_of(y)} dimensions, which do not fit behind axis {a.axis}"
                )
            setattr(a, right, op.reshape(y, c.shape((*dims_of(y), *[1] * behind))))
        return convert(c, a)

    return converted


def _power(c: Converter, a: Any) -> relax.Expr:
    """Return `X` to the power of `Y`, in the dtype of `X`."""
    dtype = dtype_of(a.X)
    if is_floating(dtype):
        return op.power(a.X, c.cast(a.Y, dtype))
    return c.cast(op.power(c.cast(a.X, "float64"), c.cast(a.Y, "float64")), dtype)


ROWS.add({name: _binary(function) for name, function in _BINARY.items()}, since=7)
ROWS.add({name: _along_axis(_binary(function), "A", "B") for name, function in _BINARY.items()})
ROWS.add({name: _binary(function) for name, function in _LATER.items()})
ROWS.add({"Pow": _power}, since=7)
ROWS.add({"Pow": _along_axis(_power, "X", "Y")})


@ROWS.row("Mod")
def _mod(c: Converter, a: Any) -> relax.Expr:
    return op.mod(a.A, a.B) if a.fmod else op.floor_mod(a.A, a.B)


@ROWS.row("BitShift")
def _shift(c: Converter, a: Any) -> relax.Expr:
    """Shift by a number of bits; a shift by all bits or more, or by a negative number, leaves only copies of the sign."""
    dtype, is_left = dtype_of(a.X), a.direction == "LEFT"
    bits = parse_dtype(dtype).bits
    shift = op.left_shift if is_left else op.right_shift
    if isinstance(a.Y, relax.Constant) and _is_below(a.Y, bits):
        return shift(a.X, a.Y)
    is_out = op.greater_equal(a.Y, const(bits, dtype))
    if not dtype.startswith("u"):
        is_out = op.logical_or(is_out, op.less(a.Y, const(0, dtype)))
    found = shift(a.X, op.where(is_out, const(bits - 1, dtype), a.Y))
    return found if not is_left and not dtype.startswith("u") else op.where(is_out, const(0, dtype), found)


def _is_below(x: relax.Constant, bits: int) -> bool:
    data = x.data
    return bool(((data >= 0) & (data < bits)).all())


@ROWS.row("Where")
def _where(c: Converter, a: Any) -> relax.Expr:
    return op.where(a.condition, a.X, a.Y)


# --- Any number of tensors --------------------------------------------------------------------------------------


@ROWS.row("Sum")
def _sum(c: Converter, a: Any) -> relax.Expr:
    return reduce(op.add, c.inputs)


@ROWS.row("Mean")
def _mean(c: Converter, a: Any) -> relax.Expr:
    total = _sum(c, a)
    return op.divide(total, const(len(c.inputs), dtype_of(total)))


@ROWS.row("Max")
def _max(c: Converter, a: Any) -> relax.Expr:
    return reduce(op.maximum, c.inputs)


@ROWS.row("Min")
def _min(c: Converter, a: Any) -> relax.Expr:
    return reduce(op.minimum, c.inputs)
