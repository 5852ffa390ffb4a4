"""Operators on values: they compute with plain numbers as Python does, and build nodes as TVM's overloads do."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ...ir import make, tir
from ...ir.base import Span
from ...ir.diagnostics import TvmsError
from ...ir.dtype import is_bool, is_float, is_int, is_vector, parse_dtype, with_lanes_of
from ...ir.schedule.text import Element, Name, Result, TextComparison
from ...ir.signature import describe
from .. import syntax
from .budget import CHARACTERS
from .context import Context
from .convert import Mismatch, constant, expression, is_tuple

_Number = bool | int | float
MAX_BITS = 4096
"""Maximum size of a plain integer: Python's integers are unbounded, but no program needs a larger one."""

_PLAIN: dict[str, Callable[[Any, Any], Any]] = {
    "+": lambda a, b: a + b, "-": lambda a, b: a - b, "*": lambda a, b: a * b, "/": lambda a, b: a / b,
    "//": lambda a, b: a // b, "%": lambda a, b: a % b, "**": lambda a, b: a**b, "<<": lambda a, b: a << b,
    ">>": lambda a, b: a >> b, "&": lambda a, b: a & b, "|": lambda a, b: a | b, "^": lambda a, b: a ^ b,
    "<": lambda a, b: a < b, "<=": lambda a, b: a <= b, ">": lambda a, b: a > b, ">=": lambda a, b: a >= b,
    "==": lambda a, b: a == b, "!=": lambda a, b: a != b, "and": lambda a, b: a and b, "or": lambda a, b: a or b,
}  # fmt: skip
_ARITHMETIC: dict[str, Callable[..., tir.PrimExpr]] = {
    "+": make.add, "-": make.sub, "*": make.mul, "/": make.div, "//": make.floordiv, "%": make.floormod,
    "<<": make.left_shift, ">>": make.right_shift, "&": make.bitwise_and, "|": make.bitwise_or, "^": make.bitwise_xor,
    "**": make.power,
}  # fmt: skip
COMPARISONS: dict[str, type[tir.CmpOp]] = {
    "<": tir.LT, "<=": tir.LE, ">": tir.GT, ">=": tir.GE, "==": tir.EQ, "!=": tir.NE,
}  # fmt: skip
_LOGICAL: dict[str, type[tir.BinaryOp]] = {"and": tir.And, "or": tir.Or}


def binary(context: Context, node: syntax.Binary, left: Any, right: Any) -> Any:
    """Return the value of `left op right`; raise E0206 if the operator does not apply to the operands."""
    _check_bits_between_comparisons(context, node)
    if isinstance(left, _Number | str | None) and isinstance(right, _Number | str | None):
        return _plain(context, node, left, right)
    if is_tuple(left) and is_tuple(right) and node.op == "+":
        context.pay(len(left) + len(right), node)
        return left + right
    span = Span(context.source, node.start, node.end)
    compared = _compared_text(node, left, right, span)
    if compared is not None:
        return compared
    try:
        a, b = _operands(context, node, left, right)
        return combine(node.op, a, b, span)
    except TvmsError as error:
        raise context.report(error, node) from None


def _check_bits_between_comparisons(context: Context, node: syntax.Binary) -> None:
    """Refuse `a == 0 & b < c`, which compares `0 & b` twice; with parentheses it may say so."""
    match node:
        case syntax.Binary(
            op="and", left=syntax.Binary(right=syntax.Binary() as middle), right=syntax.Binary(left=again)
        ) if middle is again and middle.op in "&|^" and middle.start == middle.left.start:
            word = {"&": "and", "|": "or"}.get(middle.op, "!=")
            message = f"'{middle.op}' binds tighter than comparisons: this is an operand of both"
            help = f"put parentheses around each comparison, or join them by `{word}`"
            raise context.error("E0206", message, middle, help)
        case _:
            pass


def _compared_text(node: syntax.Binary, left: Any, right: Any, span: Span) -> TextComparison | None:
    """Return the comparison of a value of a schedule, such as a dtype, with a string; None for other operands."""
    text, value = (left, right) if isinstance(left, str) else (right, left)
    if node.op not in ("==", "!=") or not (isinstance(text, str) and isinstance(value, Name | Element | Result)):
        return None
    return TextComparison("bool", value, text, node.op == "==", span=span)


def combine(op: str, a: tir.PrimExpr, b: tir.PrimExpr, span: Span | None) -> tir.PrimExpr:
    """Return `a op b` as TVM's script does: arithmetic promotes and folds constants, other operators only promote."""
    build = _ARITHMETIC.get(op)
    if build is not None:
        return build(a, b, span=span)
    if op in COMPARISONS:
        return compare(COMPARISONS[op], a, b, span)
    if is_vector(a.dtype) or is_vector(b.dtype):
        return (make.bitwise_and if op == "and" else make.bitwise_or)(a, b, span=span)
    return _LOGICAL[op]("bool", a, b, span=span)


def compare(kind: type[tir.CmpOp], a: tir.PrimExpr, b: tir.PrimExpr, span: Span | None) -> tir.PrimExpr:
    """Return a comparison of promoted operands, never folded."""
    if a.dtype != b.dtype:
        a, b = make.match_types(a, b)
    return kind(with_lanes_of("bool", a.dtype), a, b, span=span)


def unary(context: Context, node: syntax.Unary, value: Any) -> Any:
    """Return the value of `op value`; raise E0206 if the operator does not apply to the operand."""
    op, span = node.op, context.span(node)
    if isinstance(value, bool | int | float):
        if op == "not":
            return not value
        if op == "~" and not isinstance(value, float):
            return ~int(value)
        return -value if op == "-" else value
    try:
        operand = expression(value, span)
        if op == "+":
            return operand
        if op == "-":
            return make.mul(operand, make.const(-1, operand.dtype), span=span)
        return (
            make.bitwise_not(operand, span=span)
            if op == "~"
            else tir.Not(with_lanes_of("bool", operand.dtype), operand, span=span)
        )
    except TvmsError as error:
        raise context.report(error, node) from None
    except Mismatch:
        raise context.error("E0206", f"'{op}' does not apply to {describe(value)}", node) from None


def _operands(context: Context, node: syntax.Binary, left: Any, right: Any) -> tuple[tir.PrimExpr, tir.PrimExpr]:
    op = node.op
    a, b = (_operand(context, op, value, side) for value, side in ((left, node.left), (right, node.right)))
    if isinstance(a, tir.PrimExpr):
        b = b if isinstance(b, tir.PrimExpr) else _beside(op, b, a, context.span(node.right))
    else:
        assert isinstance(b, tir.PrimExpr)
        a = _beside(op, a, b, context.span(node.left))
    if op == "/" and not (is_float(a.dtype) or is_float(b.dtype)):
        help = "write // to round down, T.truncdiv(a, b) to round towards zero, or T.Div(a, b) for the plain node"
        raise context.error("E0206", "'/' between integers is ambiguous", node, help)
    return a, b


def _operand(context: Context, op: str, value: Any, side: syntax.Expr) -> tir.PrimExpr | _Number:
    if isinstance(value, bool | int | float):
        return value
    try:
        return expression(value, context.span(side))
    except Mismatch:
        raise context.error("E0206", f"'{op}' does not apply to {describe(value)}", side) from None


def _beside(op: str, value: _Number, other: tir.PrimExpr, span: Span) -> tir.PrimExpr:
    """Return a plain number as an operand: in a comparison it gets the dtype of the other side, as in TVM's script."""
    if op in COMPARISONS and (is_int(other.dtype) or is_float(other.dtype)):
        scalar = parse_dtype(other.dtype).name
        if not isinstance(value, float) or is_float(scalar):
            return make.const(value, scalar, span=span)
    return constant(value, span)


def _plain(context: Context, node: syntax.Binary, left: Any, right: Any) -> Any:
    try:
        _check_size(context, node, left, right)
        return _PLAIN[node.op](left, right)
    except ZeroDivisionError:
        raise context.error("E0232", "division by zero", node, "divide by another number") from None
    except (TypeError, ValueError, OverflowError):
        message = f"'{node.op}' does not apply to {describe(left)} and {describe(right)}"
        raise context.error("E0206", message, node) from None


def _check_size(context: Context, node: syntax.Binary, left: Any, right: Any) -> None:
    """Check that an operator on plain values does not create a huge value; raise TypeError for string formatting."""
    op = node.op
    if isinstance(left, str) or isinstance(right, str):
        if op == "%":
            raise TypeError
        if op in ("+", "*"):
            context.pay(_characters(left, right, op) // CHARACTERS, node)
    elif isinstance(left, int) and isinstance(right, int) and _bits(left, right, op) > MAX_BITS:
        message = f"'{op}' makes an integer of more than {MAX_BITS:,} bits"
        raise context.error("E0010", message, node, "use an integer of at most 64 bits")


def _characters(left: Any, right: Any, op: str) -> int:
    if isinstance(left, str) and isinstance(right, str):
        return len(left) + len(right) if op == "+" else 0
    text, times = (left, right) if isinstance(left, str) else (right, left)
    return len(text) * max(times, 0) if isinstance(times, int) else 0


def _bits(left: int, right: int, op: str) -> int:
    """Return an upper bound on the bits of the result; 0 for an operator whose result is at most as large as its operands."""
    if op in ("**", "<<"):
        return left.bit_length() * max(right, 1) if op == "**" else left.bit_length() + right
    return left.bit_length() + right.bit_length() if op in ("*", "+", "-") else 0


def is_condition(value: tir.PrimExpr) -> bool:
    """Return whether `value` can be a condition."""
    return is_bool(value.dtype) or is_int(value.dtype)
