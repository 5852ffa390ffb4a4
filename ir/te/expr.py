"""Functions of expressions, by the names of `tvm.te`."""

from __future__ import annotations

import builtins
import functools
from collections.abc import Callable, Sequence
from typing import TypeAlias

from .. import make, tir
from ..base import Op
from ..dtype import DEFAULT_WIDTHS, is_float, lanes_of, parse_dtype
from ..promote import operand, operands

Value: TypeAlias = tir.PrimExpr | tir.IterVar | int | float | bool
"""An expression, an iterator, or a Python number."""


def var(name: str = "tindex", dtype: str = "int32") -> tir.Var:
    """Return a new variable (TVM: `te.var`)."""
    if not isinstance(name, str):  # type: ignore[reportUnnecessaryIsInstance]  # callers are not all type-checked
        raise TypeError(f"expected the name of a variable, got {name!r}")
    return tir.Var(DEFAULT_WIDTHS.get(dtype, dtype), name)


def size_var(name: str = "size", dtype: str = "int32") -> tir.SizeVar:
    """Return a new variable that is never negative (TVM: `te.size_var`)."""
    return tir.SizeVar(dtype, name)


def const(value: float, dtype: str | None = None) -> tir.PrimExpr:
    """Return the constant `value` of `dtype`; the default is that of a scalar of NumPy, else bool, int32 or float32 by the kind of
    `value`, or int64 or float64 if these cannot hold it.
    """
    return make.const(value, dtype)


def _binary(build: Callable[[tir.PrimExpr, tir.PrimExpr], tir.PrimExpr], a: Value, b: Value) -> tir.PrimExpr:
    return build(*operands(a, b))


def equal(a: Value, b: Value) -> tir.PrimExpr:
    return _binary(make.equal, a, b)


def not_equal(a: Value, b: Value) -> tir.PrimExpr:
    return _binary(make.not_equal, a, b)


def truncdiv(a: Value, b: Value) -> tir.PrimExpr:
    """Return the quotient of integers, rounded towards zero."""
    return _binary(make.truncdiv, a, b)


def truncmod(a: Value, b: Value) -> tir.PrimExpr:
    """Return the remainder of `truncdiv`, with the sign of `a`."""
    return _binary(make.truncmod, a, b)


def floor_divide(a: Value, b: Value) -> tir.PrimExpr:
    """Return the quotient, rounded down; for floats from the exact remainder, as in NumPy."""
    x, y = operands(a, b)
    if not is_float(x.dtype):
        return make.floordiv(x, y)

    def quotient(x: tir.PrimExpr, y: tir.PrimExpr, rest: tir.PrimExpr) -> tir.PrimExpr:
        def rounded(near: tir.PrimExpr) -> tir.PrimExpr:
            whole = call("floor", near)
            up = select(near - whole > 0.5, whole + 1, whole)
            return select(equal(near, 0), call("copysign", const(0, x.dtype), x / y), up)

        one = select(_is_opposite(rest, y), const(1, x.dtype), const(0, x.dtype))
        return select(equal(y, 0), x / y, _let("near", (x - rest) / y - one, rounded))

    return _by_remainder(x, y, quotient)


def floor_mod(a: Value, b: Value) -> tir.PrimExpr:
    """Return the remainder of `floor_divide`, with the sign of `b`."""
    x, y = operands(a, b)
    if not is_float(x.dtype):
        return make.floormod(x, y)

    def remainder(x: tir.PrimExpr, y: tir.PrimExpr, rest: tir.PrimExpr) -> tir.PrimExpr:
        moved = select(_is_opposite(rest, y), rest + y, rest)
        return select(all(equal(rest, 0), not_equal(y, 0)), call("copysign", const(0, x.dtype), y), moved)

    return _by_remainder(x, y, remainder)


def _by_remainder(
    x: tir.PrimExpr, y: tir.PrimExpr, result: Callable[[tir.PrimExpr, tir.PrimExpr, tir.PrimExpr], tir.PrimExpr]
) -> tir.PrimExpr:
    """Return `result(x, y, rest)` for the remainder `rest` of `x / y`; floats narrower than float32 are computed in float32."""
    wide = x.dtype if parse_dtype(x.dtype).bits >= 32 else "float32"
    left, right = (cast(expr, wide) for expr in (x, y))
    rest = make.truncmod(left, right)
    return cast(_let("rest", rest, lambda rest: result(left, right, rest)), x.dtype)


def _is_opposite(rest: tir.PrimExpr, y: tir.PrimExpr) -> tir.PrimExpr:
    """Return whether a nonzero remainder has the opposite sign of the divisor."""
    return select(y < 0, rest > 0, rest < 0)


def _let(name: str, value: tir.PrimExpr, body: Callable[[tir.PrimExpr], tir.PrimExpr]) -> tir.PrimExpr:
    var = tir.Var(value.dtype, name)
    result = body(var)
    return tir.Let(result.dtype, var, value, result)


def maximum(a: Value, b: Value) -> tir.PrimExpr:
    return _binary(make.maximum, a, b)


def minimum(a: Value, b: Value) -> tir.PrimExpr:
    return _binary(make.minimum, a, b)


def _condition(value: Value) -> tir.PrimExpr:
    return make.const(value, "bool") if isinstance(value, bool) else operand(value, "bool")


def _combined(build: Callable[..., tir.PrimExpr], conditions: Sequence[Value]) -> tir.PrimExpr:
    if not conditions:
        raise ValueError("expected at least one condition")
    return functools.reduce(build, map(_condition, conditions))


def all(*conditions: Value) -> tir.PrimExpr:
    """Return the conjunction of `conditions`."""
    return _combined(make.logical_and, conditions)


def any(*conditions: Value) -> tir.PrimExpr:
    """Return the disjunction of `conditions`."""
    return _combined(make.logical_or, conditions)


def logical_not(a: Value) -> tir.PrimExpr:
    return make.logical_not(operand(a, "bool"))


def if_then_else(condition: Value, then: Value, otherwise: Value) -> tir.PrimExpr:
    """Return `then` if `condition` holds, else `otherwise`; only the chosen one is evaluated."""
    a, b = operands(then, otherwise)
    return make.if_then_else(operand(condition, "bool"), a, b)


def select(condition: Value, then: Value, otherwise: Value) -> tir.PrimExpr:
    """Return `then` if `condition` holds, else `otherwise`; both are evaluated."""
    a, b = operands(then, otherwise)
    return make.select(operand(condition, "bool"), a, b)


def cast(value: Value, dtype: str) -> tir.PrimExpr:
    return make.cast(operand(value), dtype)


def call(name: str, *args: Value, dtype: str | None = None) -> tir.PrimExpr:
    """Return a call of the intrinsic `tir.<name>`; `dtype` defaults to that of its first argument."""
    first = operand(args[0])
    nodes = (first, *(operand(arg, first.dtype) for arg in args[1:]))
    return tir.Call(dtype or first.dtype, Op(f"tir.{name}"), nodes)


def min_value(dtype: str) -> tir.PrimExpr:
    """Return the minimum finite value of `dtype`."""
    return make.min_value(dtype)


def max_value(dtype: str) -> tir.PrimExpr:
    """Return the maximum finite value of `dtype`."""
    return make.max_value(dtype)


def least(dtype: str) -> tir.PrimExpr:
    """Return the lower bound of `dtype`: -inf if it has infinities."""
    return make.least(dtype)


def greatest(dtype: str) -> tir.PrimExpr:
    """Return the upper bound of `dtype`: inf if it has infinities."""
    return make.greatest(dtype)


def unary(name: str) -> Callable[[Value], tir.PrimExpr]:
    """Return a unary function that calls the intrinsic `tir.<name>`."""

    def apply(value: Value) -> tir.PrimExpr:
        return call(name, value)

    apply.__name__ = name
    apply.__doc__ = f"The intrinsic `T.{name}` of a value."
    return apply


exp, log, sqrt, rsqrt, tanh, sigmoid, erf = map(unary, ("exp", "log", "sqrt", "rsqrt", "tanh", "sigmoid", "erf"))
sin, cos, tan, sinh, cosh, asin, acos, atan = map(unary, ("sin", "cos", "tan", "sinh", "cosh", "asin", "acos", "atan"))
asinh, acosh, atanh = map(unary, ("asinh", "acosh", "atanh"))


def _rounding(name: str, fold: Callable[[tir.PrimExpr, None], tir.PrimExpr]) -> Callable[[Value], tir.PrimExpr]:
    def apply(value: Value) -> tir.PrimExpr:
        node = operand(value)
        return fold(node, None) if isinstance(node, tir.FloatImm) else call(name, node)

    apply.__name__ = name
    apply.__doc__ = f"The intrinsic `T.{name}` of a value; constants are folded."
    return apply


floor, ceil = _rounding("floor", make.floor), _rounding("ceil", make.ceil)
trunc, round = _rounding("trunc", make.trunc), _rounding("round", make.round_even)


def power(a: Value, b: Value) -> tir.PrimExpr:
    return _binary(make.power, a, b)


def abs(value: Value) -> tir.PrimExpr:
    """Return the absolute value; an unsigned value is returned unchanged."""
    return make.abs(operand(value))


def isnan(value: Value) -> tir.PrimExpr:
    return make.isnan(operand(value))


def isinf(value: Value) -> tir.PrimExpr:
    return make.isinf(operand(value))


def isfinite(value: Value) -> tir.PrimExpr:
    return make.isfinite(operand(value))


def access(buffer: tir.Buffer, indices: Sequence[Value | slice]) -> tir.PrimExpr | tir.BufferRegion:
    """Return the element of `buffer` at `indices`, or a region if some of them are slices."""
    if not builtins.any(isinstance(index, slice) for index in indices):
        return load(buffer, indices)  # type: ignore[reportArgumentType]
    return tir.BufferRegion(buffer, tuple(map(_range, indices, buffer.shape)))


def _range(index: Value | slice, extent: tir.PrimExpr) -> tir.Range:
    if not isinstance(index, slice):
        start = operand(index, extent.dtype)
        return tir.Range(start, make.const(1, start.dtype))
    start = operand(0 if index.start is None else index.start, extent.dtype)
    stop = extent if index.stop is None else operand(index.stop, extent.dtype)
    return tir.Range(start, make.sub(stop, start))


def load(
    buffer: tir.Buffer, begin: Sequence[Value], dtype: str | None = None, predicate: Value | None = None
) -> tir.PrimExpr:
    """Return a load of `dtype` from `buffer` at `begin`: one element per lane."""
    indices = [operand(index) for index in begin]
    places = make.vector_indices(indices, lanes_of(dtype or buffer.dtype) // lanes_of(buffer.dtype)) if indices else ()
    return make.buffer_load(buffer, places, None if predicate is None else operand(predicate))


def store(buffer: tir.Buffer, begin: Sequence[Value], value: Value, predicate: Value | None = None) -> tir.BufferStore:
    """Return the statement that stores `value`, which may be a vector, in `buffer` from `begin` on."""
    node = operand(value, buffer.dtype)
    places = make.vector_indices([operand(index) for index in begin], lanes_of(node.dtype) // lanes_of(buffer.dtype))
    return tir.BufferStore(buffer, node, places, None if predicate is None else operand(predicate))
