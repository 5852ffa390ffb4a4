"""Expressions from their operands, with TVM's promotion of dtypes and folding of constants (TVM: `src/tir/op/op.cc`).

Every function takes expressions or Python numbers, and a `span` for the result. Operands that do not go together are
E0230, a value that its dtype cannot hold E0231, a constant division by zero E0232, an operand of a dtype that the
operator does not take E0233.
"""

from __future__ import annotations

import builtins
import math
from collections.abc import Callable, Sequence

from . import fold, tir
from .base import Node, Op, Span
from .diagnostics import error
from .dtype import is_bool, is_float, is_int, parse_dtype
from .promote import (
    Operand,
    broadcast,
    cast,
    const,
    dtype_of,
    largest,
    match_types,
    ramp,
    smallest,
    to_expr,
    vscale,
    with_base,
)

__all__ = ["Operand", "broadcast", "cast", "const", "match_types", "ramp", "to_expr", "vscale", "with_base"]


def _binary(kind: type[tir.BinaryOp], a: Operand, b: Operand, span: Span | None) -> tir.PrimExpr:
    left, right = match_types(a, b, span)
    folded = fold.fold(kind, left, right, span)
    return kind(left.dtype, left, right, span=span) if folded is None else folded


def _compare(kind: type[tir.CmpOp], a: Operand, b: Operand, span: Span | None) -> tir.PrimExpr:
    left, right = match_types(a, b, span)
    folded = fold.fold(kind, left, right, span)
    return kind(with_base(left.dtype, "bool"), left, right, span=span) if folded is None else folded


def _integer(value: Operand, what: str, span: Span | None) -> tir.PrimExpr:
    value = to_expr(value, span)
    if not (is_int(value.dtype) or is_bool(value.dtype)):
        raise error("E0233", f"{what} takes integers, not {value.dtype}", value.span or span)
    return value


def _truth(value: Operand, what: str, span: Span | None) -> tir.PrimExpr:
    value = to_expr(value, span)
    if not is_bool(value.dtype):
        help = "compare it, as in x != 0"
        raise error("E0233", f"{what} takes conditions, not {value.dtype}", value.span or span, help)
    return value


# --- Arithmetic -----------------------------------------------------------------------------------------------


def add(a: Operand, b: Operand, span: Span | None = None) -> tir.PrimExpr:
    """`a + b`."""
    return _binary(tir.Add, a, b, span)


def sub(a: Operand, b: Operand, span: Span | None = None) -> tir.PrimExpr:
    """`a - b`."""
    return _binary(tir.Sub, a, b, span)


def mul(a: Operand, b: Operand, span: Span | None = None) -> tir.PrimExpr:
    """`a * b`."""
    return _binary(tir.Mul, a, b, span)


def div(a: Operand, b: Operand, span: Span | None = None) -> tir.PrimExpr:
    """`a / b`; of integers, rounded towards zero."""
    return _binary(tir.Div, a, b, span)


def truncdiv(a: Operand, b: Operand, span: Span | None = None) -> tir.PrimExpr:
    """The integer quotient, rounded towards zero."""
    return div(_integer(a, "truncdiv", span), _integer(b, "truncdiv", span), span)


def truncmod(a: Operand, b: Operand, span: Span | None = None) -> tir.PrimExpr:
    """The remainder of `truncdiv`, with the sign of `a`."""
    return _binary(tir.Mod, a, b, span)


def floordiv(a: Operand, b: Operand, span: Span | None = None) -> tir.PrimExpr:
    """`a // b`."""
    return _binary(tir.FloorDiv, _integer(a, "//", span), _integer(b, "//", span), span)


def floormod(a: Operand, b: Operand, span: Span | None = None) -> tir.PrimExpr:
    """`a % b`, with the sign of `b`."""
    return _binary(tir.FloorMod, _integer(a, "%", span), _integer(b, "%", span), span)


def ceildiv(a: Operand, b: Operand, span: Span | None = None) -> tir.PrimExpr:
    """The integer quotient, rounded up: `(a + b - 1) // b`."""
    return floordiv(sub(add(a, b, span), 1, span), b, span)


def minimum(a: Operand, b: Operand, span: Span | None = None) -> tir.PrimExpr:
    """The lesser of both (`T.min`)."""
    return _binary(tir.Min, a, b, span)


def maximum(a: Operand, b: Operand, span: Span | None = None) -> tir.PrimExpr:
    """The greater of both (`T.max`)."""
    return _binary(tir.Max, a, b, span)


def neg(a: Operand, span: Span | None = None) -> tir.PrimExpr:
    """`-a`, which TVM writes as `a * -1`."""
    a = to_expr(a, span)
    return mul(a, const(-1, a.dtype, span), span)


# --- Comparisons and logic ------------------------------------------------------------------------------------


def equal(a: Operand, b: Operand, span: Span | None = None) -> tir.PrimExpr:
    """`a == b`."""
    return _compare(tir.EQ, a, b, span)


def not_equal(a: Operand, b: Operand, span: Span | None = None) -> tir.PrimExpr:
    """`a != b`."""
    return _compare(tir.NE, a, b, span)


def less(a: Operand, b: Operand, span: Span | None = None) -> tir.PrimExpr:
    """`a < b`."""
    return _compare(tir.LT, a, b, span)


def less_equal(a: Operand, b: Operand, span: Span | None = None) -> tir.PrimExpr:
    """`a <= b`."""
    return _compare(tir.LE, a, b, span)


def greater(a: Operand, b: Operand, span: Span | None = None) -> tir.PrimExpr:
    """`a > b`."""
    return _compare(tir.GT, a, b, span)


def greater_equal(a: Operand, b: Operand, span: Span | None = None) -> tir.PrimExpr:
    """`a >= b`."""
    return _compare(tir.GE, a, b, span)


def logical_and(a: Operand, b: Operand, span: Span | None = None) -> tir.PrimExpr:
    """`a and b`."""
    return _logical(tir.And, _truth(a, "and", span), _truth(b, "and", span), span)


def logical_or(a: Operand, b: Operand, span: Span | None = None) -> tir.PrimExpr:
    """`a or b`."""
    return _logical(tir.Or, _truth(a, "or", span), _truth(b, "or", span), span)


def _logical(kind: type[tir.And | tir.Or], a: tir.PrimExpr, b: tir.PrimExpr, span: Span | None) -> tir.PrimExpr:
    folded = fold.fold_logical(kind, a, b)
    if folded is not None:
        return folded
    left, right = match_types(a, b, span)
    return kind(left.dtype, left, right, span=span)


def logical_not(a: Operand, span: Span | None = None) -> tir.PrimExpr:
    """`not a`."""
    a = _truth(a, "not", span)
    return tir.IntImm("bool", 1 - a.value, span=span) if isinstance(a, tir.IntImm) else tir.Not(a.dtype, a, span=span)


# --- Bits -----------------------------------------------------------------------------------------------------


def _bitwise(
    name: str, meaning: Callable[[int, int], int], a: Operand, b: Operand, span: Span | None, shift: bool = False
) -> tir.PrimExpr:
    left, right = match_types(_integer(a, name, span), _integer(b, name, span), span)
    if fold.is_index_dtype(left.dtype) and isinstance(right, tir.IntImm):
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
    """`a & b`."""
    return _bitwise("bitwise_and", int.__and__, a, b, span)


def bitwise_or(a: Operand, b: Operand, span: Span | None = None) -> tir.PrimExpr:
    """`a | b`."""
    return _bitwise("bitwise_or", int.__or__, a, b, span)


def bitwise_xor(a: Operand, b: Operand, span: Span | None = None) -> tir.PrimExpr:
    """`a ^ b`."""
    return _bitwise("bitwise_xor", int.__xor__, a, b, span)


def left_shift(a: Operand, b: Operand, span: Span | None = None) -> tir.PrimExpr:
    """`a << b`."""
    return _bitwise("shift_left", int.__lshift__, a, b, span, shift=True)


def right_shift(a: Operand, b: Operand, span: Span | None = None) -> tir.PrimExpr:
    """`a >> b`; of signed integers, arithmetic."""
    return _bitwise("shift_right", int.__rshift__, a, b, span, shift=True)


def bitwise_not(a: Operand, span: Span | None = None) -> tir.PrimExpr:
    """`~a`, never folded."""
    a = _integer(a, "~", span)
    return call("tir.bitwise_not", (a,), a.dtype, span)


# --- Choices --------------------------------------------------------------------------------------------------


def if_then_else(condition: Operand, a: Operand, b: Operand, span: Span | None = None) -> tir.PrimExpr:
    """The value of `a` where the scalar `condition` holds, else of `b`; only one is evaluated."""
    condition = _truth(condition, "T.if_then_else", span)
    left, right = match_types(a, b, span)
    if isinstance(condition, tir.IntImm):
        return left if condition.value else right
    return call("tir.if_then_else", (condition, left, right), left.dtype, span)


def select(condition: Operand, a: Operand, b: Operand, span: Span | None = None) -> tir.PrimExpr:
    """`T.Select`: as `if_then_else`, but both are evaluated, dtypes are not promoted, and nothing is folded."""
    condition, a, b = _truth(condition, "T.Select", span), to_expr(a, span), to_expr(b, span)
    if a.dtype != b.dtype:
        raise error("E0230", f"T.Select chooses between {a.dtype} and {b.dtype}", span, "cast one of them")
    return tir.Select(a.dtype, condition, a, b, span=span)


# --- Functions of floats --------------------------------------------------------------------------------------


def power(a: Operand, b: Operand, span: Span | None = None) -> tir.PrimExpr:
    """`a` to the `b`, of floats (`T.pow`)."""
    left, right = match_types(a, b, span)
    if parse_dtype(left.dtype).code != "float":
        help = "cast the operands to a float dtype first"
        raise error("E0233", f"T.pow takes floats, not {left.dtype}", left.span or span, help)
    return call("tir.pow", (left, right), left.dtype, span)


def abs(a: Operand, span: Span | None = None) -> tir.PrimExpr:
    """`T.abs`: `a` or `-a`, whichever is not negative."""
    a = to_expr(a, span)
    if isinstance(a, tir.IntImm | tir.FloatImm):
        return const(builtins.abs(a.value), a.dtype, span)
    parsed = parse_dtype(a.dtype)
    if parsed.code in ("uint", "bool"):
        return a
    if parsed.code == "int":
        zero = const(0, a.dtype)
        minus = tir.IntImm(a.dtype, 0) if parsed.lanes == 1 else zero
        return select(greater_equal(a, zero), a, sub(minus, a, span), span)
    if parsed.code not in ("float", "bfloat"):
        raise error("E0233", f"T.abs takes numbers, not {a.dtype}", a.span or span)
    return call("tir.fabs", (a,), a.dtype, span)


def _rounding(name: str, meaning: Callable[[float], float]) -> Callable[[Operand, Span | None], tir.PrimExpr]:
    def make(a: Operand, span: Span | None = None) -> tir.PrimExpr:
        a = to_expr(a, span)
        if is_int(a.dtype) or is_bool(a.dtype):
            return a
        if isinstance(a, tir.FloatImm):
            return const(meaning(a.value) if math.isfinite(a.value) else a.value, a.dtype, span)
        return call(f"tir.{name}", (a,), a.dtype, span)

    make.__doc__ = f"`T.{name}` of a float; an integer is itself."
    return make


floor = _rounding("floor", math.floor)
ceil = _rounding("ceil", math.ceil)
trunc = _rounding("trunc", math.trunc)
round_even = _rounding("round", round)
nearbyint = _rounding("nearbyint", round)


def isnan(a: Operand, span: Span | None = None) -> tir.PrimExpr:
    """Whether `a` is not a number; false of integers."""
    a = to_expr(a, span)
    truth = with_base(a.dtype, "bool")
    if not is_float(a.dtype):
        return const(False, truth, span)
    if isinstance(a, tir.FloatImm):
        return const(math.isnan(a.value), truth, span)
    if parse_dtype(a.dtype).bits == 16:
        a = cast(a, with_base(a.dtype, "float32"), span)
    return call("tir.isnan", (a,), truth, span)


def isinf(a: Operand, span: Span | None = None) -> tir.PrimExpr:
    """Whether `a` is an infinity; false of integers."""
    a = to_expr(a, span)
    if not is_float(a.dtype):
        return const(False, with_base(a.dtype, "bool"), span)
    is_infinite = equal(abs(a, span), infinity(a.dtype, span), span)
    return logical_and(is_infinite, logical_not(isnan(a, span), span), span)


def isfinite(a: Operand, span: Span | None = None) -> tir.PrimExpr:
    """Whether `a` is neither an infinity nor not a number."""
    return logical_and(logical_not(isinf(a, span), span), logical_not(isnan(a, span), span), span)


def logaddexp(a: Operand, b: Operand, span: Span | None = None) -> tir.PrimExpr:
    """`log(exp(a) + exp(b))`."""
    left, right = match_types(a, b, span)
    total = add(call("tir.exp", (left,), left.dtype, span), call("tir.exp", (right,), right.dtype, span), span)
    return call("tir.log", (total,), left.dtype, span)


# --- Limits, access, calls ------------------------------------------------------------------------------------


def min_value(dtype: str, span: Span | None = None) -> tir.PrimExpr:
    """The least finite value of a scalar dtype."""
    return const(smallest(dtype), dtype, span)


def max_value(dtype: str, span: Span | None = None) -> tir.PrimExpr:
    """The greatest finite value of a scalar dtype."""
    return const(largest(dtype), dtype, span)


def infinity(dtype: str, span: Span | None = None) -> tir.PrimExpr:
    """Infinity; of integer dtypes there is none: E0233."""
    if dtype_of(dtype, span).code not in ("float", "bfloat"):
        raise error("E0233", f"{dtype} has no infinity", span)
    return const(math.inf, dtype, span)


def reinterpret(dtype: str, value: Operand, span: Span | None = None) -> tir.PrimExpr:
    """The bits of `value` read as `dtype`, which has as many: else E0233."""
    value = to_expr(value, span)
    if value.dtype == dtype:
        return value
    source, target = parse_dtype(value.dtype), dtype_of(dtype, span)
    scalable = source.scalable or target.scalable
    same_bits = source.bits * source.lanes == target.bits * target.lanes
    if not (scalable or same_bits or source.bytes * source.lanes == target.bytes * target.lanes):
        raise error("E0233", f"{value.dtype} has not as many bits as {dtype}", value.span or span)
    return call("tir.reinterpret", (value,), dtype, span)


def likely(condition: Operand, span: Span | None = None) -> tir.PrimExpr:
    """`condition`, which mostly holds."""
    condition = to_expr(condition, span)
    if isinstance(condition, tir.IntImm):
        return condition
    return call("tir.likely", (condition,), condition.dtype, span)


def ret(value: Operand, span: Span | None = None) -> tir.PrimExpr:
    """The expression that returns `value` from the function (`T.ret`)."""
    value = to_expr(value, span)
    return call("tir.ret", (value,), value.dtype, span)


def call(op: str, args: Sequence[tir.PrimExpr | Node], dtype: str, span: Span | None = None) -> tir.Call:
    """A call of intrinsic `op`, such as `tir.exp`; `tvms.ir.ops.tir` knows its arity and dtype."""
    return tir.Call(dtype, Op(op), tuple(args), span=span)


def buffer_load(
    buffer: tir.Buffer, indices: Sequence[Operand], predicate: tir.PrimExpr | None = None, span: Span | None = None
) -> tir.BufferLoad:
    """The element, or the vector, of `buffer` at `indices`, of which the last may be a vector.

    An index count that is not the buffer's rank is E0235, an index that is no integer E0233.
    """
    checked = check_indices(buffer, indices, span)
    return tir.BufferLoad(access_dtype(buffer, checked), buffer, checked, predicate, span=span)


def check_indices(buffer: tir.Buffer, indices: Sequence[Operand], span: Span | None = None) -> tuple[tir.PrimExpr, ...]:
    """Return `indices` as expressions; errors as in `buffer_load`."""
    if len(indices) != len(buffer.shape):
        message = f"buffer '{buffer.name}' has {len(buffer.shape)} dimensions but is indexed by {len(indices)}"
        raise error("E0235", message, span, "give one index for every dimension")
    checked = tuple([_integer(index, "an index", span) for index in indices])
    for index in checked[:-1]:
        if parse_dtype(index.dtype).lanes != 1:
            raise error("E0233", "only the last index may be a vector", index.span or span)
    return checked


def access_dtype(buffer: tir.Buffer, indices: Sequence[tir.PrimExpr]) -> str:
    """Return the dtype of what stands in `buffer` at `indices`."""
    if not indices or indices[-1].dtype in ("int32", "int64"):
        return buffer.dtype
    element, index = parse_dtype(buffer.dtype), parse_dtype(indices[-1].dtype)
    lanes = element.lanes * index.lanes
    if element.scalable or index.scalable:
        return f"{element.name}xvscalex{lanes}"
    return element.name if lanes == 1 else f"{element.name}x{lanes}"
