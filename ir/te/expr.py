"""Expressions of tensor computations with Python operators: thin wrappers around `tir.PrimExpr`.

IR nodes compare by identity; wrappers let functions given to `te.compute` write `i == j`.
"""

from __future__ import annotations

import builtins
from collections.abc import Callable, Sequence
from typing import Any, TypeAlias

from .. import make, tir
from ..base import Op
from ..dtype import is_float, lanes_of, parse_dtype
from ..equal import structural_equal
from ..operators import Arithmetic

Value: TypeAlias = "Expr | tir.PrimExpr | int | float | bool"


class Expr(Arithmetic):
    """A loop-level expression with Python operators; `node` is the IR node."""

    __slots__ = ("node",)

    def __init__(self, node: tir.PrimExpr) -> None:
        self.node = node

    @property
    def dtype(self) -> str:
        return self.node.dtype

    def __getattr__(self, name: str) -> Any:
        """Return a field of the node, such as the name of a variable or the value of a constant."""
        if name == "node":
            raise AttributeError(name)
        return getattr(self.node, name)

    def same_as(self, other: object) -> bool:
        """Whether `other` is the same node."""
        return self.node is (other.node if isinstance(other, Expr) else other)

    def __eq__(self, other: object) -> Any:
        return _binary(make.equal, self, other) if isinstance(other, _VALUES) else NotImplemented

    def __ne__(self, other: object) -> Any:
        return _binary(make.not_equal, self, other) if isinstance(other, _VALUES) else NotImplemented

    def __hash__(self) -> int:
        return hash(self.node)

    def __index__(self) -> int:
        """Return the value of an integer constant."""
        if not isinstance(self.node, tir.IntImm):
            raise TypeError(f"{self} is not a constant")
        return self.node.value

    def __str__(self) -> str:
        return str(self.node)

    def __bool__(self) -> bool:
        """Return the value of a constant, or of a comparison of equal operands; ValueError if it is unknown."""
        match self.node:
            case tir.IntImm():
                return bool(self.node.value)
            case tir.EQ() | tir.NE() if structural_equal(self.node.a, self.node.b):
                return isinstance(self.node, tir.EQ)
            case _:
                raise ValueError("a tensor expression has no truth value; use te.if_then_else, te.all and te.any")


_VALUES = (Expr, tir.PrimExpr, int, float)


def var(name: str = "tindex", dtype: str = "int32") -> Expr:
    """Return a new variable (TVM: `te.var`)."""
    return Expr(tir.Var(dtype, name))


def size_var(name: str = "size", dtype: str = "int32") -> Expr:
    """Return a new variable that is never negative (TVM: `te.size_var`)."""
    return Expr(tir.SizeVar(dtype, name))


def const(value: float, dtype: str | None = None) -> Expr:
    """Return the constant `value` of `dtype`; the default is bool, int32 or float32 by the kind of `value`."""
    kinds = {bool: "bool", float: "float32"}
    return Expr(make.const(value, dtype or kinds.get(type(value), "int32")))


def node_of(value: Value, dtype: str = "int32") -> tir.PrimExpr:
    """Return `value` as a node; a Python number becomes a constant of `dtype`."""
    if isinstance(value, Expr):
        return value.node
    if isinstance(value, tir.PrimExpr):
        return value
    return make.const(value, dtype)


def pair(a: Value, b: Value) -> tuple[tir.PrimExpr, tir.PrimExpr]:
    """Return two operands as nodes; a Python number gets the dtype of the other."""
    if isinstance(a, int | float):
        right = node_of(b)
        return _number(a, right.dtype), right
    left = node_of(a)
    return left, _number(b, left.dtype) if isinstance(b, int | float) else node_of(b)


def _number(value: float, dtype: str) -> tir.PrimExpr:
    """Return a Python number as an operand beside one of `dtype`; a fraction beside an integer is float32, as in TVM."""
    fraction = isinstance(value, float) and not is_float(dtype)
    return make.const(value, "float32" if fraction else dtype)


def _binary(build: Callable[[tir.PrimExpr, tir.PrimExpr], tir.PrimExpr], a: Value, b: Value) -> Expr:
    return Expr(build(*pair(a, b)))


def equal(a: Value, b: Value) -> Expr:
    return _binary(make.equal, a, b)


def not_equal(a: Value, b: Value) -> Expr:
    return _binary(make.not_equal, a, b)


def truncdiv(a: Value, b: Value) -> Expr:
    """Return the quotient of integers, rounded towards zero."""
    return _binary(make.truncdiv, a, b)


def truncmod(a: Value, b: Value) -> Expr:
    """Return the remainder of `truncdiv`, with the sign of `a`."""
    return _binary(make.truncmod, a, b)


def floor_divide(a: Value, b: Value) -> Expr:
    """Return the quotient, rounded down; for floats from the exact remainder, as in NumPy."""
    x, y = pair(a, b)
    if not is_float(x.dtype):
        return Expr(make.floordiv(x, y))

    def quotient(x: Expr, y: Expr, rest: Expr) -> Expr:
        def rounded(near: Expr) -> Expr:
            whole = call("floor", near)
            up = select(near - whole > 0.5, whole + 1, whole)
            return select(equal(near, 0), call("copysign", const(0, x.dtype), x / y), up)

        one = select(_is_opposite(rest, y), const(1, x.dtype), const(0, x.dtype))
        return select(equal(y, 0), x / y, _let("near", (x - rest) / y - one, rounded))

    return _by_remainder(x, y, quotient)


def floor_mod(a: Value, b: Value) -> Expr:
    """Return the remainder of `floor_divide`, with the sign of `b`."""
    x, y = pair(a, b)
    if not is_float(x.dtype):
        return Expr(make.floormod(x, y))

    def remainder(x: Expr, y: Expr, rest: Expr) -> Expr:
        moved = select(_is_opposite(rest, y), rest + y, rest)
        return select(all(equal(rest, 0), not_equal(y, 0)), call("copysign", const(0, x.dtype), y), moved)

    return _by_remainder(x, y, remainder)


def _by_remainder(x: tir.PrimExpr, y: tir.PrimExpr, result: Callable[[Expr, Expr, Expr], Expr]) -> Expr:
    """Return `result(x, y, rest)` for the remainder `rest` of `x / y`; floats narrower than float32 are computed in float32."""
    wide = x.dtype if parse_dtype(x.dtype).bits >= 32 else "float32"
    left, right = (cast(Expr(each), wide) for each in (x, y))
    rest = Expr(make.truncmod(left.node, right.node))
    return cast(_let("rest", rest, lambda rest: result(left, right, rest)), x.dtype)


def _is_opposite(rest: Expr, y: Expr) -> Expr:
    """Return whether a nonzero remainder has the opposite sign of the divisor."""
    return select(y < 0, rest > 0, rest < 0)


def _let(name: str, value: Expr, body: Callable[[Expr], Expr]) -> Expr:
    var = tir.Var(value.dtype, name)
    result = body(Expr(var)).node
    return Expr(tir.Let(result.dtype, var, value.node, result))


def maximum(a: Value, b: Value) -> Expr:
    return _binary(make.maximum, a, b)


def minimum(a: Value, b: Value) -> Expr:
    return _binary(make.minimum, a, b)


def all(*conditions: Value) -> Expr:
    """Return the conjunction of `conditions`."""
    result = conditions[0]
    for condition in conditions[1:]:
        result = _binary(make.logical_and, result, condition)
    return result if isinstance(result, Expr) else Expr(node_of(result, "bool"))


def any(*conditions: Value) -> Expr:
    """Return the disjunction of `conditions`."""
    result = conditions[0]
    for condition in conditions[1:]:
        result = _binary(make.logical_or, result, condition)
    return result if isinstance(result, Expr) else Expr(node_of(result, "bool"))


def logical_not(a: Value) -> Expr:
    return Expr(make.logical_not(node_of(a, "bool")))


def if_then_else(condition: Value, then: Value, otherwise: Value) -> Expr:
    """Return `then` if `condition` holds, else `otherwise`; only the chosen one is evaluated."""
    a, b = pair(then, otherwise)
    return Expr(make.if_then_else(node_of(condition, "bool"), a, b))


def select(condition: Value, then: Value, otherwise: Value) -> Expr:
    """Return `then` if `condition` holds, else `otherwise`; both are evaluated."""
    a, b = pair(then, otherwise)
    return Expr(make.select(node_of(condition, "bool"), a, b))


def cast(value: Value, dtype: str) -> Expr:
    return Expr(make.cast(node_of(value), dtype))


def call(name: str, *args: Value, dtype: str | None = None) -> Expr:
    """Return a call of the intrinsic `tir.<name>`; `dtype` defaults to that of its first argument."""
    first = node_of(args[0])
    nodes = (first, *(node_of(arg, first.dtype) for arg in args[1:]))
    return Expr(tir.Call(dtype or first.dtype, Op(f"tir.{name}"), nodes))


def min_value(dtype: str) -> Expr:
    """Return the minimum finite value of `dtype`."""
    return Expr(make.min_value(dtype))


def max_value(dtype: str) -> Expr:
    """Return the maximum finite value of `dtype`."""
    return Expr(make.max_value(dtype))


def least(dtype: str) -> Expr:
    """Return the lower bound of `dtype`: -inf if it has infinities."""
    return Expr(make.least(dtype))


def greatest(dtype: str) -> Expr:
    """Return the upper bound of `dtype`: inf if it has infinities."""
    return Expr(make.greatest(dtype))


def unary(name: str) -> Callable[[Value], Expr]:
    """Return a unary function that calls the intrinsic `tir.<name>`."""

    def apply(value: Value) -> Expr:
        return call(name, value)

    apply.__name__ = name
    apply.__doc__ = f"The intrinsic `T.{name}` of a value."
    return apply


exp, log, sqrt, rsqrt, tanh, sigmoid, erf = map(unary, ("exp", "log", "sqrt", "rsqrt", "tanh", "sigmoid", "erf"))
sin, cos, tan, sinh, cosh, asin, acos, atan = map(unary, ("sin", "cos", "tan", "sinh", "cosh", "asin", "acos", "atan"))
asinh, acosh, atanh, floor, ceil, trunc, round = map(
    unary, ("asinh", "acosh", "atanh", "floor", "ceil", "trunc", "round")
)


def power(a: Value, b: Value) -> Expr:
    return _binary(make.power, a, b)


def abs(value: Value) -> Expr:
    """Return the absolute value; an unsigned value is returned unchanged."""
    return Expr(make.abs(node_of(value)))


def isnan(value: Value) -> Expr:
    return Expr(make.isnan(node_of(value)))


def isinf(value: Value) -> Expr:
    return Expr(make.isinf(node_of(value)))


def isfinite(value: Value) -> Expr:
    return Expr(make.isfinite(node_of(value)))


def access(buffer: tir.Buffer, indices: Sequence[Value | slice]) -> Expr | tir.BufferRegion:
    """Return the element of `buffer` at `indices`, or a region if some of them are slices."""
    if not builtins.any(isinstance(index, slice) for index in indices):
        return load(buffer, indices)  # type: ignore[reportArgumentType]
    return tir.BufferRegion(buffer, tuple(map(_range, indices, buffer.shape)))


def _range(index: Value | slice, extent: tir.PrimExpr) -> tir.Range:
    if not isinstance(index, slice):
        start = node_of(index, extent.dtype)
        return tir.Range(start, make.const(1, start.dtype))
    start = node_of(0 if index.start is None else index.start, extent.dtype)
    stop = extent if index.stop is None else node_of(index.stop, extent.dtype)
    return tir.Range(start, make.sub(stop, start))


def load(buffer: tir.Buffer, begin: Sequence[Value], dtype: str | None = None, predicate: Value | None = None) -> Expr:
    """Return a load of `dtype` from `buffer` at `begin`: one element per lane."""
    indices = [node_of(index) for index in begin]
    places = make.vector_indices(indices, lanes_of(dtype or buffer.dtype) // lanes_of(buffer.dtype)) if indices else ()
    return Expr(make.buffer_load(buffer, places, None if predicate is None else node_of(predicate)))


def store(buffer: tir.Buffer, begin: Sequence[Value], value: Value, predicate: Value | None = None) -> tir.BufferStore:
    """Return the statement that stores `value`, which may be a vector, in `buffer` from `begin` on."""
    node = node_of(value, buffer.dtype)
    places = make.vector_indices([node_of(index) for index in begin], lanes_of(node.dtype) // lanes_of(buffer.dtype))
    return tir.BufferStore(buffer, node, places, None if predicate is None else node_of(predicate))
