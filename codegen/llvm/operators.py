"""The operators of the loop level as LLVM instructions: a row per operator, a column per kind of number.

Signed integers wrap around. `Div` and `Mod` round towards zero, `FloorDiv` and `FloorMod` towards minus
infinity. `Min` and `Max` of floats return NaN if either operand is NaN, and either zero if both are zeros with
different signs.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from functools import lru_cache, reduce
from typing import Literal

from ...ir import tir
from ...ir.dtype import parse_dtype
from .api import Builder, LLVMType, Value, ir
from .vectors import uniform

Kind = Literal["signed", "unsigned", "float"]
Emit = Callable[[Builder, Value, Value], Value]


def kind_of(dtype: str) -> Kind:
    """Return the column of the tables for `dtype`; bool and handles are unsigned."""
    code = parse_dtype(dtype).code
    return "signed" if code == "int" else "float" if code in ("float", "bfloat") else "unsigned"


def number(value_type: LLVMType, value: float) -> Value:
    """Return a constant of `value_type`, the same in every lane."""
    if isinstance(value, int):
        return _integer(value_type, value)
    lanes = getattr(value_type, "count", None)
    return ir.Constant(value_type, value) if lanes is None else uniform(ir.Constant(value_type.element, value), lanes)


@lru_cache(maxsize=4096)
def _integer(value_type: LLVMType, value: int) -> Value:
    lanes = getattr(value_type, "count", None)
    return ir.Constant(value_type, value) if lanes is None else uniform(ir.Constant(value_type.element, value), lanes)


def intrinsic(
    builder: Builder, name: str, *operands: Value, result: LLVMType | None = None, fast: tuple[str, ...] = ()
) -> Value:
    """Call `llvm.<name>` with flags `fast`; it is overloaded on its result, if given, and on its first operand."""
    types = [operand.type for operand in operands]
    overloads = [types[0]] if result is None else [result, types[0]]
    symbol = ".".join(["llvm", name, *(type_suffix(overload) for overload in overloads)])
    function = builder.module.globals.get(symbol)
    if function is None:
        function = ir.Function(builder.module, ir.FunctionType(result or types[0], types), symbol)
    return builder.call(function, operands, fastmath=fast)


def type_suffix(value_type: LLVMType) -> str:
    """Return the spelling of `value_type` in the name of an overloaded intrinsic: "f32", "v4i64"."""
    lanes = getattr(value_type, "count", None)
    return value_type.intrinsic_name if lanes is None else f"v{lanes}{value_type.element.intrinsic_name}"


# --- Division: the only operators that may trap ----------------------------------------------------------------


def _signed_divide(builder: Builder, a: Value, b: Value) -> Value:
    """Divide; the one quotient that overflows, minimum / -1, wraps around instead of trapping."""
    if isinstance(b, ir.Constant):
        return builder.sdiv(a, b)
    is_minus_one = builder.icmp_signed("==", b, number(b.type, -1))
    quotient = builder.sdiv(a, builder.select(is_minus_one, number(b.type, 1), b))
    return builder.select(is_minus_one, builder.neg(a), quotient)


def _signed_remainder(builder: Builder, a: Value, b: Value) -> Value:
    """Return the remainder. A divisor of -1 is replaced by 1, which also gives 0 and does not trap."""
    if isinstance(b, ir.Constant):
        return builder.srem(a, b)
    is_minus_one = builder.icmp_signed("==", b, number(b.type, -1))
    return builder.srem(a, builder.select(is_minus_one, number(b.type, 1), b))


def _is_rounded_up(builder: Builder, remainder: Value, b: Value) -> Value:
    """Return whether rounding towards zero rounded up: the remainder is not zero, and its sign differs from that of
    `b`.
    """
    zero = number(b.type, 0)
    is_inexact = builder.icmp_signed("!=", remainder, zero)
    return builder.and_(is_inexact, builder.icmp_signed("<", builder.xor(remainder, b), zero))


def _floor_divide(builder: Builder, a: Value, b: Value) -> Value:
    quotient = _signed_divide(builder, a, b)
    is_rounded_up = _is_rounded_up(builder, _signed_remainder(builder, a, b), b)
    return builder.select(is_rounded_up, builder.sub(quotient, number(b.type, 1)), quotient)


def _floor_remainder(builder: Builder, a: Value, b: Value) -> Value:
    remainder = _signed_remainder(builder, a, b)
    return builder.select(_is_rounded_up(builder, remainder, b), builder.add(remainder, b), remainder)


def _float_floor_divide(builder: Builder, a: Value, b: Value) -> Value:
    return intrinsic(builder, "floor", builder.fdiv(a, b))


def _float_floor_remainder(builder: Builder, a: Value, b: Value) -> Value:
    return builder.fsub(a, builder.fmul(_float_floor_divide(builder, a, b), b))


# --- The tables -----------------------------------------------------------------------------------------------


def _instruction(name: str) -> Emit:
    return lambda builder, a, b: getattr(builder, name)(a, b)


def _compare(method: str, sign: str) -> Emit:
    return lambda builder, a, b: getattr(builder, method)(sign, a, b)


def _comparisons(sign: str) -> dict[Kind, Emit]:
    ordered = "fcmp_unordered" if sign == "!=" else "fcmp_ordered"
    return {
        "signed": _compare("icmp_signed", sign),
        "unsigned": _compare("icmp_unsigned", sign),
        "float": _compare(ordered, sign),
    }


def _choice(sign: str, of_floats: str) -> dict[Kind, Emit]:
    def choose(kind: Kind) -> Emit:
        compare = _comparisons(sign)[kind]
        return lambda builder, a, b: builder.select(compare(builder, a, b), a, b)

    return {"signed": choose("signed"), "unsigned": choose("unsigned"), "float": _extremum(of_floats)}


def _extremum(name: str) -> Emit:
    """Return an emitter of `llvm.minimum` or `llvm.maximum`, which propagate NaN. `nsz` saves the instructions that
    order signed zeros.
    """

    return lambda builder, a, b: intrinsic(builder, name, a, b, fast=("nsz",))


_FEW = 4


def extremum_of(builder: Builder, sign: str, operands: Sequence[Value]) -> Value:
    """Return the maximum (">") or minimum ("<") of floats, or NaN if any of them is NaN.

    Many operands use a tree of selects, for which x86 has an instruction, and comparisons that test two operands
    for NaN at once. Few operands are combined first half with second half, which keeps elements of two rows
    contiguous.
    """
    first, *rest = operands
    if len(rest) <= _FEW:
        name = "maximum" if sign == ">" else "minimum"
        while len(rest) > 1:
            half = len(rest) // 2
            halves = zip(rest[:half], rest[half : 2 * half], strict=True)
            rest = [intrinsic(builder, name, a, b, fast=("nsz",)) for a, b in halves] + rest[2 * half :]
        return intrinsic(builder, name, rest[0], first, fast=("nsz",))
    pairs = zip(operands[::2], [*operands[1::2], operands[-1]], strict=False)
    are_numbers = reduce(builder.and_, [builder.fcmp_ordered("ord", a, b) for a, b in pairs])
    rest = list(operands)
    while len(rest) > 1:
        halves = zip(rest[::2], rest[1::2], strict=False)
        chosen = [builder.select(builder.fcmp_ordered(sign, a, b), a, b) for a, b in halves]
        rest = chosen + rest[2 * len(chosen) :]
    return builder.select(are_numbers, rest[0], number(rest[0].type, math.nan))


def _unsigned_add(builder: Builder, a: Value, b: Value) -> Value:
    """Add; the sum of two bools is whether one of them is true, as in NumPy."""
    is_bool = getattr(a.type, "element", a.type).width == 1
    return builder.or_(a, b) if is_bool else builder.add(a, b)


def _row(signed: Emit | str, unsigned: Emit | str, floating: Emit | str) -> dict[Kind, Emit]:
    columns: dict[Kind, Emit | str] = {"signed": signed, "unsigned": unsigned, "float": floating}
    return {kind: _instruction(emit) if isinstance(emit, str) else emit for kind, emit in columns.items()}


BINARY: dict[type[tir.PrimExpr], dict[Kind, Emit]] = {
    tir.Add: _row("add", _unsigned_add, "fadd"),
    tir.Sub: _row("sub", "sub", "fsub"),
    tir.Mul: _row("mul", "mul", "fmul"),
    tir.Div: _row(_signed_divide, "udiv", "fdiv"),
    tir.Mod: _row(_signed_remainder, "urem", "frem"),
    tir.FloorDiv: _row(_floor_divide, "udiv", _float_floor_divide),
    tir.FloorMod: _row(_floor_remainder, "urem", _float_floor_remainder),
    tir.Min: _choice("<", "minimum"),
    tir.Max: _choice(">", "maximum"),
    tir.EQ: _comparisons("=="),
    tir.NE: _comparisons("!="),
    tir.LT: _comparisons("<"),
    tir.LE: _comparisons("<="),
    tir.GT: _comparisons(">"),
    tir.GE: _comparisons(">="),
}
"""Emitter of each binary operator, by the kind of its operands."""

DIVISIONS = (tir.Div, tir.Mod, tir.FloorDiv, tir.FloorMod)


MOST_CHEAP = 100
"""Maximum number of nodes of an expression that may be evaluated speculatively."""


def is_cheap(expr: tir.PrimExpr) -> bool:
    """Return whether `expr` may be evaluated speculatively: it does not read memory, trap or call, and is small."""
    stack, count = [expr], 0
    while stack:
        node = stack.pop()
        count += 1
        if count > MOST_CHEAP or isinstance(node, (tir.BufferLoad, tir.Call, tir.Let, *DIVISIONS)):
            return False
        if isinstance(node, tir.BinaryOp):
            stack += (node.a, node.b)
        elif isinstance(node, tir.Select):
            stack += (node.condition, node.true_value, node.false_value)
        elif isinstance(node, tir.Not):
            stack.append(node.a)
        elif isinstance(node, tir.Cast):
            stack.append(node.value)
    return True
