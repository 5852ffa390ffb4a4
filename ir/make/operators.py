"""Arithmetic, logical and bitwise operators, choices, and calls of intrinsics."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from .. import fold, tir
from ..base import Node, Op, Span
from ..diagnostics import error
from ..dtype import is_bool, is_index, is_int, parse_dtype, with_lanes_of
from ..promote import Operand, const, match_types, to_expr
from ..visit import is_larger


def _binary(kind: type[tir.BinaryOp], a: Operand, b: Operand, span: Span | None) -> tir.PrimExpr:
    left, right = match_types(a, b, span)
    folded = fold.fold(kind, left, right, span)
    return kind(left.dtype, left, right, span=span) if folded is None else folded


def _compare(kind: type[tir.CmpOp], a: Operand, b: Operand, span: Span | None) -> tir.PrimExpr:
    left, right = match_types(a, b, span)
    folded = fold.fold(kind, left, right, span)
    return kind(with_lanes_of("bool", left.dtype), left, right, span=span) if folded is None else folded


def integer(value: Operand, what: str, span: Span | None) -> tir.PrimExpr:
    """Return `value` as an expression; E0233 if it is not an integer."""
    value = to_expr(value, span)
    if not (is_int(value.dtype) or is_bool(value.dtype)):
        help = "write / for floats, or T.floor(a / b)" if what == "//" else None
        raise error("E0233", f"{what} takes integers, not {value.dtype}", value.span or span, help)
    return value


def _truth(value: Operand, what: str, span: Span | None) -> tir.PrimExpr:
    value = to_expr(value, span)
    if not is_bool(value.dtype):
        help = "compare it, as in x != 0"
        raise error("E0233", f"{what} takes conditions, not {value.dtype}", value.span or span, help)
    return value


# --- Arithmetic -----------------------------------------------------------------------------------------------


def add(a: Operand, b: Operand, span: Span | None = None) -> tir.PrimExpr:
    """Return `a + b`."""
    return _binary(tir.Add, a, b, span)


def sub(a: Operand, b: Operand, span: Span | None = None) -> tir.PrimExpr:
    """Return `a - b`."""
    return _binary(tir.Sub, a, b, span)


def mul(a: Operand, b: Operand, span: Span | None = None) -> tir.PrimExpr:
    """Return `a * b`."""
    return _binary(tir.Mul, a, b, span)


def div(a: Operand, b: Operand, span: Span | None = None) -> tir.PrimExpr:
    """Return `a / b`; integers are rounded towards zero."""
    return _binary(tir.Div, a, b, span)


def truncdiv(a: Operand, b: Operand, span: Span | None = None) -> tir.PrimExpr:
    """Return the integer quotient, rounded towards zero."""
    return div(integer(a, "truncdiv", span), integer(b, "truncdiv", span), span)


def truncmod(a: Operand, b: Operand, span: Span | None = None) -> tir.PrimExpr:
    """Return the remainder of `truncdiv`, with the sign of `a`."""
    return _binary(tir.Mod, a, b, span)


def floordiv(a: Operand, b: Operand, span: Span | None = None) -> tir.PrimExpr:
    """Return `a // b`."""
    return _binary(tir.FloorDiv, integer(a, "//", span), integer(b, "//", span), span)


def floormod(a: Operand, b: Operand, span: Span | None = None) -> tir.PrimExpr:
    """Return `a % b`, with the sign of `b`."""
    return _binary(tir.FloorMod, integer(a, "%", span), integer(b, "%", span), span)


def ceildiv(a: Operand, b: Operand, span: Span | None = None) -> tir.PrimExpr:
    """Return the integer quotient, rounded up: `(a + b - 1) // b`."""
    b = to_expr(b, span)
    check_repeated("T.ceildiv", b, span)
    return floordiv(sub(add(a, b, span), 1, span), b, span)


LARGEST_REPEATED = 10_000
"""Maximum size, in nodes, of an operand that is duplicated in the result: nesting duplicates grows exponentially."""


def check_repeated(name: str, operand: tir.PrimExpr, span: Span | None) -> None:
    """Refuse an operand that is too large to occur twice in the result of the function `name` (E0010)."""
    if is_larger(operand, LARGEST_REPEATED):
        help = f"bind the operand to a variable first, as in x: T.{operand.dtype} = …"
        raise error("E0010", f"{name} duplicates its operand, which is too large", span or operand.span, help)


def minimum(a: Operand, b: Operand, span: Span | None = None) -> tir.PrimExpr:
    """Return the minimum of both (`T.min`)."""
    return _binary(tir.Min, a, b, span)


def maximum(a: Operand, b: Operand, span: Span | None = None) -> tir.PrimExpr:
    """Return the maximum of both (`T.max`)."""
    return _binary(tir.Max, a, b, span)


def neg(a: Operand, span: Span | None = None) -> tir.PrimExpr:
    """Return `-a`, which TVM writes as `a * -1`."""
    a = to_expr(a, span)
    return mul(a, const(-1, a.dtype, span), span)


# --- Comparisons and logic ------------------------------------------------------------------------------------


def equal(a: Operand, b: Operand, span: Span | None = None) -> tir.PrimExpr:
    """Return `a == b`."""
    return _compare(tir.EQ, a, b, span)


def not_equal(a: Operand, b: Operand, span: Span | None = None) -> tir.PrimExpr:
    """Return `a != b`."""
    return _compare(tir.NE, a, b, span)


def less(a: Operand, b: Operand, span: Span | None = None) -> tir.PrimExpr:
    """Return `a < b`."""
    return _compare(tir.LT, a, b, span)


def less_equal(a: Operand, b: Operand, span: Span | None = None) -> tir.PrimExpr:
    """Return `a <= b`."""
    return _compare(tir.LE, a, b, span)


def greater(a: Operand, b: Operand, span: Span | None = None) -> tir.PrimExpr:
    """Return `a > b`."""
    return _compare(tir.GT, a, b, span)


def greater_equal(a: Operand, b: Operand, span: Span | None = None) -> tir.PrimExpr:
    """Return `a >= b`."""
    return _compare(tir.GE, a, b, span)


def logical_and(a: Operand, b: Operand, span: Span | None = None) -> tir.PrimExpr:
    """Return `a and b`."""
    return _logical(tir.And, _truth(a, "and", span), _truth(b, "and", span), span)


def logical_or(a: Operand, b: Operand, span: Span | None = None) -> tir.PrimExpr:
    """Return `a or b`."""
    return _logical(tir.Or, _truth(a, "or", span), _truth(b, "or", span), span)


def _logical(kind: type[tir.And | tir.Or], a: tir.PrimExpr, b: tir.PrimExpr, span: Span | None) -> tir.PrimExpr:
    folded = fold.fold_logical(kind, a, b)
    if folded is not None:
        return folded
    left, right = match_types(a, b, span)
    return kind(left.dtype, left, right, span=span)


def logical_not(a: Operand, span: Span | None = None) -> tir.PrimExpr:
    """Return `not a`."""
    a = _truth(a, "not", span)
    return tir.IntImm("bool", 1 - a.value, span=span) if isinstance(a, tir.IntImm) else tir.Not(a.dtype, a, span=span)


# --- Bits -----------------------------------------------------------------------------------------------------


def _bitwise(
    name: str, meaning: Callable[[int, int], int], a: Operand, b: Operand, span: Span | None, shift: bool = False
) -> tir.PrimExpr:
    left, right = match_types(integer(a, name, span), integer(b, name, span), span)
    if is_index(left.dtype) and isinstance(right, tir.IntImm):
        bits = parse_dtype(left.dtype).bits
        if shift and not 0 <= right.value < bits:
            message = f"a shift by {right.value} of {left.dtype}"
            raise error("E0231", message, right.span or span, f"shift by 0 to {bits - 1} bits")
        if isinstance(left, tir.IntImm):
            return tir.IntImm(left.dtype, fold.wrap(meaning(left.value, right.value), left.dtype), span=span)
        if shift and right.value == 0:
            return left
    return call(f"tir.{name}", (left, right), left.dtype, span)


def bitwise_and(a: Operand, b: Operand, span: Span | None = None) -> tir.PrimExpr:
    """Return `a & b`."""
    return _bitwise("bitwise_and", int.__and__, a, b, span)


def bitwise_or(a: Operand, b: Operand, span: Span | None = None) -> tir.PrimExpr:
    """Return `a | b`."""
    return _bitwise("bitwise_or", int.__or__, a, b, span)


def bitwise_xor(a: Operand, b: Operand, span: Span | None = None) -> tir.PrimExpr:
    """Return `a ^ b`."""
    return _bitwise("bitwise_xor", int.__xor__, a, b, span)


def left_shift(a: Operand, b: Operand, span: Span | None = None) -> tir.PrimExpr:
    """Return `a << b`."""
    return _bitwise("shift_left", int.__lshift__, a, b, span, shift=True)


def right_shift(a: Operand, b: Operand, span: Span | None = None) -> tir.PrimExpr:
    """Return `a >> b`; the shift of signed integers is arithmetic."""
    return _bitwise("shift_right", int.__rshift__, a, b, span, shift=True)


def bitwise_not(a: Operand, span: Span | None = None) -> tir.PrimExpr:
    """Return `~a`, without folding."""
    a = integer(a, "~", span)
    return call("tir.bitwise_not", (a,), a.dtype, span)


# --- Choices --------------------------------------------------------------------------------------------------


def if_then_else(condition: Operand, a: Operand, b: Operand, span: Span | None = None) -> tir.PrimExpr:
    """Return the value of `a` if the scalar `condition` holds, else of `b`; only one is evaluated."""
    condition = _truth(condition, "T.if_then_else", span)
    left, right = match_types(a, b, span)
    if isinstance(condition, tir.IntImm):
        return left if condition.value else right
    return call("tir.if_then_else", (condition, left, right), left.dtype, span)


def select(condition: Operand, a: Operand, b: Operand, span: Span | None = None) -> tir.PrimExpr:
    """Return `T.Select`: like `if_then_else`, but evaluates both, does not promote dtypes, and does not fold."""
    condition, a, b = _truth(condition, "T.Select", span), to_expr(a, span), to_expr(b, span)
    if a.dtype != b.dtype:
        raise error("E0230", f"T.Select chooses between {a.dtype} and {b.dtype}", span, "cast one of them")
    return tir.Select(a.dtype, condition, a, b, span=span)


# --- Calls ----------------------------------------------------------------------------------------------------


def likely(cond: Operand, span: Span | None = None) -> tir.PrimExpr:
    """Mark a condition as likely true."""
    condition = to_expr(cond, span)
    if isinstance(condition, tir.IntImm):
        return condition
    return call("tir.likely", (condition,), condition.dtype, span)


def ret(value: Operand, span: Span | None = None) -> tir.PrimExpr:
    """Return the expression that returns `value` from the function (`T.ret`)."""
    value = to_expr(value, span)
    return call("tir.ret", (value,), value.dtype, span)


def call(op: str, args: Sequence[tir.PrimExpr | Node], dtype: str, span: Span | None = None) -> tir.Call:
    """Return a call of intrinsic `op`, such as `tir.exp`; `tvms.ir.ops.tir` holds its arity and dtype."""
    return tir.Call(dtype, Op(op), tuple(args), span=span)
