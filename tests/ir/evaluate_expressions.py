"""Integer expressions evaluated at many points at once, and random ones: what the laws of arithmetic are tested with.

A value is an array that has an axis for every variable and is broadcast along those it does not depend on, and an array
of the same kind that says where evaluating it faults (a division by zero) or an int32 overflows.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from tvms.ir import make, tir
from tvms.ir.base import Op
from tvms.ir.dtype import int_range, parse_dtype
from tvms.ir.equal import structural_equal
from tvms.ir.simplify import simplify

Array = Any
NEVER = np.zeros((), bool)
_PLAIN = {
    tir.Add: np.add, tir.Sub: np.subtract, tir.Mul: np.multiply, tir.Min: np.minimum, tir.Max: np.maximum,
    tir.EQ: np.equal, tir.NE: np.not_equal, tir.LT: np.less, tir.LE: np.less_equal, tir.GT: np.greater,
    tir.GE: np.greater_equal,
}  # fmt: skip
_BITS = {"tir.bitwise_and": np.bitwise_and, "tir.bitwise_or": np.bitwise_or, "tir.bitwise_xor": np.bitwise_xor}


def grid(values: Mapping[tir.Var, Sequence[int]]) -> dict[tir.Var, Array]:
    """Return the arrays of all combinations of these values of the variables."""
    axes = np.ix_(*[np.array(value, np.int64) for value in values.values()])
    return dict(zip(values, axes, strict=True))


def evaluate(expr: tir.PrimExpr, at: Mapping[tir.Var, Array], strict: bool = True) -> tuple[Array, Array]:
    """Return the values of `expr`, as int64, and where it faults or, if `strict`, an int32 overflows."""
    match expr:
        case tir.IntImm():
            return np.int64(expr.value), NEVER
        case tir.Var():
            return at[expr], NEVER
        case tir.And() | tir.Or():
            (a, wrong), (b, also) = evaluate(expr.a, at, strict), evaluate(expr.b, at, strict)
            decides = a == isinstance(expr, tir.Or)
            return (a & b if isinstance(expr, tir.And) else a | b), wrong | (also & ~decides)
        case tir.Not():
            a, wrong = evaluate(expr.a, at, strict)
            return ~a, wrong
        case tir.Select():
            parts = [evaluate(term, at, strict) for term in (expr.condition, expr.true_value, expr.false_value)]
            return np.where(*[value for value, _ in parts]), parts[0][1] | parts[1][1] | parts[2][1]
        case tir.Cast():
            value, wrong = evaluate(expr.value, at, strict)
            return wrap(np.asarray(value), expr.dtype), wrong
        case tir.Call(op=Op(name="tir.if_then_else")):
            condition, yes, no = [evaluate(arg, at, strict) for arg in expr.args]  # type: ignore[arg-type]
            wrong = condition[1] | np.where(condition[0], yes[1], no[1])
            return np.where(condition[0], yes[0], no[0]), wrong
        case tir.Call(op=Op(name="tir.likely")):
            return evaluate(expr.args[0], at, strict)  # type: ignore[arg-type]
        case tir.Call():
            (a, wrong), (b, also) = [evaluate(arg, at, strict) for arg in expr.args]  # type: ignore[arg-type]
            if expr.op.name in _BITS:
                return _BITS[expr.op.name](a, b), wrong | also
            shift = np.left_shift if expr.op.name == "tir.shift_left" else np.right_shift
            return wrap(shift(a, b), expr.dtype), wrong | also
        case tir.BinaryOp():
            (a, wrong), (b, also) = evaluate(expr.a, at, strict), evaluate(expr.b, at, strict)
            if type(expr) in _PLAIN:
                value = _PLAIN[type(expr)](a, b)
                return (
                    (value, wrong | also)
                    if isinstance(expr, tir.CmpOp)
                    else _fit(value, expr.dtype, wrong | also, strict)
                )
            zero = b == 0
            return _fit(_divide(type(expr), a, np.where(zero, 1, b)), expr.dtype, wrong | also | zero, strict)
        case _:
            raise AssertionError(expr)


def _fit(value: Array, dtype: str, wrong: Array, strict: bool) -> tuple[Array, Array]:
    wrapped = wrap(value, dtype)
    return wrapped, wrong | (wrapped != value) if strict and dtype == "int32" else wrong


def _divide(kind: type[tir.PrimExpr], a: Array, b: Array) -> Array:
    if kind is tir.FloorDiv:
        return a // b
    if kind is tir.FloorMod:
        return a - a // b * b
    quotient = np.abs(a) // np.abs(b) * np.sign(a) * np.sign(b)
    return quotient if kind is tir.Div else a - quotient * b


def wrap(value: Array, dtype: str) -> Array:
    """Return `value` in the range of `dtype`; 64 bits wrap around by themselves."""
    if dtype == "bool":
        return value != 0
    if parse_dtype(dtype).bits == 64:
        return value
    low, high = int_range(dtype)
    return (value - low) % (high - low + 1) + low


def differ(a: tir.PrimExpr, b: tir.PrimExpr, at: Mapping[tir.Var, Array], where: Array = True) -> Array:
    """Return where `a` has a value and `b` has not the same; sums and products in `b` may overflow on the way to it."""
    (x, wrong), (y, also) = evaluate(a, at), evaluate(b, at, strict=False)
    return ~wrong & ((x != y) | also) & where


_WIDE_CONSTANTS = (0, 1, 2, 3, 4, 5, 7, 8, 12, 16, 32, 100, 128, -1, -2, -3, -4, -8, -16)


def check_narrow(random: np.random.Generator, dtype: str, number: int) -> None:
    """Compare random expressions with their normal forms at all points of four variables of 4 bits."""
    variables = [tir.Var(dtype, name) for name in "ijkn"]
    low, high = int_range(dtype) if dtype in ("int4", "uint4") else (-6, 9)
    constants = [c for c in (*range(-4, 9), 12, 16, -8) if dtype == "int32" or low <= c <= high]
    make_one = Expressions(random, variables, constants)
    for index in range(number):
        values, domains = {variable: range(low, high + 1) for variable in variables}, dict[tir.Var, tir.Range]()
        for variable in variables[: index % 4]:
            start, extent = int(random.integers(0, 4)), int(random.integers(1, 5))
            values[variable] = range(start, start + extent)
            domains[variable] = tir.Range(tir.IntImm(dtype, start), tir.IntImm(dtype, extent))
        check_equal(make_one, index, domains, grid(values))


def check_wide(random: np.random.Generator, dtype: str, number: int) -> None:
    """Compare random expressions with their normal forms at random points of all sizes."""
    variables = [tir.Var(dtype, name) for name in "ijkn"]
    low, high = int_range(dtype)
    if dtype == "int32":  # an index does not overflow, and stays away from where it would
        low, high = low >> 7, high >> 7
    make_one = Expressions(random, variables, [c for c in _WIDE_CONSTANTS if low <= c <= high])
    for index in range(number):
        points = {v: random.integers(low, high, 64, endpoint=True) >> random.integers(0, 24, 64) for v in variables}
        check_equal(make_one, index, {}, points)


def check_equal(
    make_one: Expressions, index: int, domains: dict[tir.Var, tir.Range], points: dict[tir.Var, Array]
) -> None:
    """Simplify an expression, or every third time a condition, sometimes with a condition given: nothing may differ."""
    expr = make_one.number(4) if index % 3 else make_one.condition(4)
    given = [make_one.condition(1)] if index % 5 == 0 else []
    simple = simplify(expr, domains, given)
    where = np.bool_(True)
    for condition in given:
        holds, faults = evaluate(condition, points)
        where = where & holds & ~faults
    assert not np.any(differ(expr, simple, points, where)), f"{expr}  became  {simple}  given {[*map(str, given)]}"
    again = simplify(simple, domains, given)
    assert structural_equal(again, simple), f"{expr}  became  {simple}  and then  {again}  given {[*map(str, given)]}"


class Expressions:
    """Random expressions of one dtype over some variables, with the constants that make rules apply."""

    KINDS = (tir.Add, tir.Sub, tir.Mul, tir.FloorDiv, tir.FloorMod, tir.Min, tir.Max, tir.Div, tir.Mod)
    COMPARISONS = (tir.EQ, tir.NE, tir.LT, tir.LE, tir.GT, tir.GE)

    def __init__(self, random: np.random.Generator, variables: Sequence[tir.Var], constants: Sequence[int]) -> None:
        self.random, self.variables, self.constants = random, variables, constants
        self.dtype = variables[0].dtype

    def pick(self, choices: Sequence[Any]) -> Any:
        return choices[int(self.random.integers(len(choices)))]

    def number(self, depth: int) -> tir.PrimExpr:
        """Return an integer expression nested up to `depth` deep."""
        roll = self.random.random()
        if depth == 0 or roll < 0.1:
            return self.pick(self.variables) if self.random.random() < 0.75 else self.constant()
        if roll < 0.42:
            return tir.Add(self.dtype, self.number(depth - 1), self.number(depth - 1))
        if roll < 0.58:
            kind = self.pick((tir.Mul, tir.FloorDiv, tir.FloorMod))
            return kind(self.dtype, self.number(depth - 1), self.constant())
        if roll < 0.68:
            choose = make.select if self.random.random() < 0.5 else make.if_then_else
            return choose(self.condition(depth - 1), self.number(depth - 1), self.number(depth - 1))
        kind = self.pick(self.KINDS)
        return kind(self.dtype, self.number(depth - 1), self.number(depth - 1))

    def constant(self) -> tir.PrimExpr:
        return tir.IntImm(self.dtype, self.pick(self.constants))

    def condition(self, depth: int) -> tir.PrimExpr:
        """Return a condition nested up to `depth` deep."""
        roll = self.random.random()
        if depth == 0 or roll < 0.6:
            return self.pick(self.COMPARISONS)("bool", self.number(max(depth - 1, 0)), self.number(max(depth - 1, 0)))
        if roll < 0.7:
            return tir.Not("bool", self.condition(depth - 1))
        kind = tir.And if roll < 0.85 else tir.Or
        return kind("bool", self.condition(depth - 1), self.condition(depth - 1))
