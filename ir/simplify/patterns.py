"""Rewrite rules as rows: a pattern, its replacement, and a side condition.

A pattern is written with Python's operators over the variables of this file: `x`, `y`, `z`, `w` match any
expression, `c`, `d` integer constants, `f`, `g` floating-point constants, `p`, `q` conditions, `lanes` and
`strides` those of vectors; lanes may be scalable. A variable that occurs twice matches equal expressions.
The replacement is simplified again, so a row need not compute: `c + d` of two constants becomes a constant.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeAlias

from .. import tir
from ..base import Op
from ..dtype import is_bool, parse_dtype, with_lanes_of
from .core import Simplifier

Bindings: TypeAlias = "dict[str, tir.PrimExpr]"
Where: TypeAlias = "Callable[[Simplifier, Bindings], bool]"


class Pattern:
    """Pattern for nodes of one kind; `parts` are the patterns of the named fields."""

    def __init__(self, kind: type[tir.PrimExpr], fields: tuple[str, ...], *parts: Pattern, op: str = "") -> None:
        self.kind, self.fields, self.parts, self.op = kind, fields, parts, op

    def __add__(self, other: Pattern) -> Pattern:
        return _binary(tir.Add, self, other)

    def __sub__(self, other: Pattern) -> Pattern:
        return _binary(tir.Sub, self, other)

    def __mul__(self, other: Pattern) -> Pattern:
        return _binary(tir.Mul, self, other)

    def __truediv__(self, other: Pattern) -> Pattern:
        return _binary(tir.Div, self, other)

    def __floordiv__(self, other: Pattern) -> Pattern:
        return _binary(tir.FloorDiv, self, other)

    def __mod__(self, other: Pattern) -> Pattern:
        return _binary(tir.FloorMod, self, other)

    def __lt__(self, other: Pattern) -> Pattern:
        return _binary(tir.LT, self, other)

    def __le__(self, other: Pattern) -> Pattern:
        return _binary(tir.LE, self, other)

    def __and__(self, other: Pattern) -> Pattern:
        return _binary(tir.And, self, other)

    def __or__(self, other: Pattern) -> Pattern:
        return _binary(tir.Or, self, other)

    def __invert__(self) -> Pattern:
        return Pattern(tir.Not, ("a",), self)

    def match(self, expr: tir.PrimExpr, bindings: Bindings) -> bool:
        """Return whether `expr` matches, and add the values of the variables to `bindings`."""
        if type(expr) is not self.kind:
            return False
        if isinstance(expr, tir.Call):
            named = isinstance(expr.op, Op) and expr.op.name == self.op
            operands: Sequence[object] = expr.args if named else ()
        else:
            operands = [getattr(expr, name) for name in self.fields]
        if len(operands) != len(self.parts):
            return False
        if self._match_all(operands, bindings):
            return True
        return self.kind in _COMMUTATIVE and self._match_all(operands[::-1], bindings)

    def _match_all(self, operands: Sequence[object], bindings: Bindings) -> bool:
        before = dict(bindings)
        for part, operand in zip(self.parts, operands, strict=True):
            if not (isinstance(operand, tir.PrimExpr) and part.match(operand, bindings)):
                bindings.clear()
                bindings.update(before)
                return False
        return True

    def build(self, bindings: Bindings, dtype: str) -> tir.PrimExpr:
        """Return the expression for these values of the variables; `dtype` is that of the replaced expression."""
        inside = parse_dtype(dtype).name if self.kind in (tir.Broadcast, tir.Ramp) else dtype
        parts = [part.build(bindings, inside) for part in self.parts]
        if self.kind is tir.Select:
            return tir.Select(parts[1].dtype, *parts)
        if self.kind is tir.Call:
            return tir.Call(parts[1].dtype, Op(self.op), tuple(parts))
        if self.kind in (tir.Broadcast, tir.Ramp):
            return self.kind(parts[0].dtype + dtype.removeprefix(parse_dtype(dtype).name), *parts)
        own = with_lanes_of("bool", parts[0].dtype) if issubclass(self.kind, tir.CmpOp) else parts[0].dtype
        return self.kind(own, *parts)


def _number(expr: tir.PrimExpr) -> int:
    assert isinstance(expr, tir.IntImm)
    return expr.value


class Variable(Pattern):
    """Pattern variable for any expression that `accepts` admits."""

    def __init__(self, name: str, accepts: Callable[[tir.PrimExpr], bool]) -> None:
        self.name, self.accepts = name, accepts

    def match(self, expr: tir.PrimExpr, bindings: Bindings) -> bool:
        known = bindings.get(self.name)
        if known is not None:
            return known is expr
        if not self.accepts(expr):
            return False
        bindings[self.name] = expr
        return True

    def build(self, bindings: Bindings, dtype: str) -> tir.PrimExpr:
        return bindings[self.name]


class Number(Pattern):
    """Integer constant; it takes the dtype of the expression around it."""

    def __init__(self, value: int) -> None:
        self.value = value

    def match(self, expr: tir.PrimExpr, bindings: Bindings) -> bool:
        return isinstance(expr, tir.IntImm) and expr.value == self.value

    def build(self, bindings: Bindings, dtype: str) -> tir.PrimExpr:
        return tir.IntImm(dtype, self.value)


_COMMUTATIVE = (tir.Add, tir.Mul, tir.Min, tir.Max, tir.EQ, tir.NE)


def _binary(kind: type[tir.PrimExpr], a: Pattern, b: Pattern) -> Pattern:
    return Pattern(kind, ("a", "b"), a, b)


def minimum(a: Pattern, b: Pattern) -> Pattern:
    return _binary(tir.Min, a, b)


def maximum(a: Pattern, b: Pattern) -> Pattern:
    return _binary(tir.Max, a, b)


def equal(a: Pattern, b: Pattern) -> Pattern:
    return _binary(tir.EQ, a, b)


def select(condition: Pattern, a: Pattern, b: Pattern) -> Pattern:
    return Pattern(tir.Select, ("condition", "true_value", "false_value"), condition, a, b)


def call(name: str, *args: Pattern) -> Pattern:
    return Pattern(tir.Call, (), *args, op=f"tir.{name}")


def ramp(base: Pattern, stride: Pattern, lanes: Pattern) -> Pattern:
    return Pattern(tir.Ramp, ("base", "stride", "lanes"), base, stride, lanes)


def broadcast(value: Pattern, lanes: Pattern) -> Pattern:
    return Pattern(tir.Broadcast, ("value", "lanes"), value, lanes)


def _anything(expr: tir.PrimExpr) -> bool:
    return True


def _is_integer_constant(expr: tir.PrimExpr) -> bool:
    return isinstance(expr, tir.IntImm)


x, y, z, w = [Variable(name, _anything) for name in "xyzw"]
c, d = [Variable(name, _is_integer_constant) for name in "cd"]
lanes = Variable("lanes", _anything)
f, g = [Variable(name, lambda expr: isinstance(expr, tir.FloatImm)) for name in "fg"]
p, q = [Variable(name, lambda expr: is_bool(expr.dtype)) for name in "pq"]
zero, one = Number(0), Number(1)


class Row:
    """Rule that rewrites `before` to `after` if the side condition `where` holds."""

    __slots__ = ("after", "before", "where")

    def __init__(self, before: Pattern, after: Pattern, where: Where | None = None) -> None:
        self.before, self.after, self.where = before, after, where


def rewrite(simplifier: Simplifier, expr: tir.PrimExpr, rows: Sequence[Row]) -> tir.PrimExpr:
    """Return the simplified replacement of the first row that matches `expr`, or `expr` if none does."""
    for row in rows:
        bindings: Bindings = {}
        if row.before.match(expr, bindings) and (row.where is None or row.where(simplifier, bindings)):
            return simplifier.visit(row.after.build(bindings, expr.dtype))
    return expr


def value_of(bindings: Bindings, name: str) -> int:
    """Return the value of an integer constant in a match."""
    return _number(bindings[name])
