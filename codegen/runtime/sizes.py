"""Symbolic sizes at run time: integers in the slots of a frame, and expressions over them.

A frame is a list with a slot for each variable, which is None until the first argument with that size
binds it.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterable
from typing import Any, TypeAlias

from ...ir import tir
from ...ir.base import Op
from ...ir.diagnostics import error
from ...ir.dtype import int_range
from ...ir.fold import wrap
from ...ir.visit import walk

Frame: TypeAlias = list[Any]
Slots: TypeAlias = dict[Any, int]
"""The slot of each variable."""
Size: TypeAlias = Callable[[Frame], int]

_IF_THEN_ELSE = Op("tir.if_then_else")
_OPERATIONS: dict[type[tir.PrimExpr], tuple[str, Callable[[int, int], int]]] = {
    tir.Add: ("+", operator.add), tir.Sub: ("-", operator.sub), tir.Mul: ("*", operator.mul),
    tir.FloorDiv: ("//", lambda a, b: a // b), tir.FloorMod: ("%", lambda a, b: a % b),
    tir.Div: ("/", lambda a, b: abs(a) // abs(b) * (1 if (a < 0) == (b < 0) else -1)),
    tir.Mod: ("%", lambda a, b: (abs(a) % abs(b)) * (1 if a >= 0 else -1)),
    tir.Min: ("min", min), tir.Max: ("max", max),
    tir.EQ: ("==", operator.eq), tir.NE: ("!=", operator.ne), tir.LT: ("<", operator.lt),
    tir.LE: ("<=", operator.le), tir.GT: (">", operator.gt), tir.GE: (">=", operator.ge),
    tir.And: ("and", lambda a, b: a and b), tir.Or: ("or", lambda a, b: a or b),
}  # fmt: skip


def compile_size(expr: tir.PrimExpr, slots: Slots) -> Size:
    """Return a function that computes `expr` from a frame; E0605 if nothing determines a variable of it, E0606
    if it is not an integer expression.
    """
    if isinstance(expr, tir.IntImm):
        value = expr.value
        return lambda frame: value
    if isinstance(expr, tir.Var):
        if expr not in slots:
            raise error("E0605", f"no argument determines '{expr.name}'", expr.span)
        slot = slots[expr]
        return lambda frame: frame[slot]
    if isinstance(expr, tir.Cast):
        value_of, dtype = compile_size(expr.value, slots), expr.dtype
        return lambda frame: wrap(value_of(frame), dtype)
    if isinstance(expr, tir.Select) or (isinstance(expr, tir.Call) and expr.op == _IF_THEN_ELSE):
        parts = (expr.condition, expr.true_value, expr.false_value) if isinstance(expr, tir.Select) else expr.args
        condition, yes, no = (compile_size(part, slots) for part in parts if isinstance(part, tir.PrimExpr))
        return lambda frame: yes(frame) if condition(frame) else no(frame)
    if isinstance(expr, tir.BinaryOp) and type(expr) in _OPERATIONS:
        return _compile_operation(expr, slots)
    raise error("E0606", f"a size cannot be computed by '{type(expr).__name__}'", expr.span)


def _compile_operation(expr: tir.BinaryOp, slots: Slots) -> Size:
    """Compile an operation that wraps around in its dtype, as in machine code."""
    operate, dtype = _OPERATIONS[type(expr)][1], expr.dtype
    a, b = compile_size(expr.a, slots), compile_size(expr.b, slots)
    low, high = int_range(dtype)

    def evaluate(frame: Frame) -> int:
        try:
            value = operate(a(frame), b(frame))
            return value if low <= value <= high else wrap(value, dtype)
        except ZeroDivisionError:
            raise error("E0708", "division by zero in a size", expr.span) from None

    return evaluate


def size_text(expr: tir.PrimExpr) -> str:
    """Return `expr` in short form for messages: plain numbers and names."""
    if isinstance(expr, tir.IntImm):
        return str(expr.value)
    if isinstance(expr, tir.Var):
        return expr.name
    if isinstance(expr, tir.Cast):
        return size_text(expr.value)
    if isinstance(expr, tir.BinaryOp) and type(expr) in _OPERATIONS:
        sign, sides = _OPERATIONS[type(expr)][0], [size_text(expr.a), size_text(expr.b)]
        if sign.isalpha() and sign in ("min", "max"):
            return f"{sign}({', '.join(sides)})"
        nested = [
            f"({side})" if isinstance(part, tir.BinaryOp) else side
            for part, side in zip((expr.a, expr.b), sides, strict=True)
        ]
        return f" {sign} ".join(nested)
    return "?"


def size_variables_in(exprs: Iterable[tir.PrimExpr]) -> list[tir.Var]:
    """Return the variables that occur in `exprs`, in order."""
    return list(dict.fromkeys(node for expr in exprs for node in walk(expr) if isinstance(node, tir.Var)))
