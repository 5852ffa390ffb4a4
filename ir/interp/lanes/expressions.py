"""Loop-level expressions of lanes. Values that are the same in all lanes are computed once, by the scalar operations.

An index that did not change since it was last computed, such as one that does not depend on the loop of a reduction, is
the same array object, so results that depend on it are not computed again.
"""

# NumPy's array types are incomplete for strict checking: isinstance narrows to arrays of unknown elements.
# pyright: reportUnknownVariableType=false, reportUnknownArgumentType=false, reportUnknownMemberType=false

from __future__ import annotations

from collections.abc import Callable
from operator import itemgetter
from typing import Any, TypeAlias, TypeVar

import numpy as np

from ... import tir
from ...base import Op
from ...diagnostics import TvmsError
from ...dtype import is_float, is_int
from ...numpy_dtype import numpy_dtype
from .. import scalars
from ..calls import lane_function
from ..expressions import compile_expr
from ..memory import Array
from . import arithmetic
from .arithmetic import LaneValue
from .state import Doubt, Lanes, Mask, Refused

Expression: TypeAlias = Callable[[Lanes], LaneValue]

_DTYPES = {
    "bool", "float16", "float32", "float64", "bfloat16", "float8_e4m3fn", "float8_e5m2",
    *[f"{code}{bits}" for code in ("int", "uint") for bits in (8, 16, 32, 64)],
}  # fmt: skip
"""Dtypes that arrays hold with the arithmetic of scalars."""

_rules: dict[type[tir.PrimExpr], Callable[[Any], Expression]] = {}
_Rule = TypeVar("_Rule", bound=Callable[[Any], Expression])


def meaning_of(*kinds: type[tir.PrimExpr]) -> Callable[[_Rule], _Rule]:
    """Register the decorated function as the compiler of these kinds of expressions for lanes."""

    def register(rule: _Rule) -> _Rule:
        _rules.update(dict.fromkeys(kinds, rule))
        return rule

    return register


def compile_lanes(expr: tir.PrimExpr) -> Expression:
    """Return a function that evaluates `expr` in all lanes; Refused if lanes do not support it."""
    rule = _rules.get(type(expr))
    if rule is None or (expr.dtype not in _DTYPES and not isinstance(expr, tir.StringImm)):
        raise Refused
    return rule(expr)


def same(a: LaneValue, b: LaneValue) -> bool:
    """Whether two values are known to be equal: the same array, or equal integers."""
    return a is b or (type(a) is int and type(b) is int and a == b)


class Memo:
    """Cache of the last result of a function, valid while its operands and the mask are the same."""

    __slots__ = ("compute", "mask", "operands", "result")

    def __init__(self, compute: Callable[..., LaneValue]) -> None:
        self.compute = compute
        self.operands: tuple[LaneValue, ...] = ()
        self.mask: Mask = None
        self.result: LaneValue = None

    def __call__(self, lanes: Lanes, *operands: LaneValue) -> LaneValue:
        last = self.operands
        if last and self.mask is lanes.mask and all(map(same, operands, last)):
            return self.result
        self.result = self.compute(lanes, *operands)
        self.operands, self.mask = operands, lanes.mask
        return self.result


def is_active(lanes: Lanes, condition: LaneValue) -> bool:
    """Whether `condition` holds in an active lane."""
    if not isinstance(condition, np.ndarray):
        return bool(condition)
    return bool(condition.any() if lanes.mask is None else (condition & lanes.mask).any())


def _inverted(_: Lanes, condition: LaneValue) -> LaneValue:
    return ~condition


def inversion() -> Memo:
    """Return a function that negates a condition, given as an array."""
    return Memo(_inverted)


ALL, SOME, NONE = "all", "some", "none"


def restriction() -> Memo:
    """Return a function from a condition, given as an array, to whether all, some or no active lanes meet it, and their mask."""

    def restrict(lanes: Lanes, condition: Array) -> tuple[str, Mask]:
        if lanes.mask is None:
            return (ALL, None) if condition.all() else (SOME, condition) if condition.any() else (NONE, condition)
        met = condition & lanes.mask
        if not met.any():
            return NONE, met
        return (SOME, met) if (met != lanes.mask).any() else (ALL, lanes.mask)

    return Memo(restrict)


# --- Variables, constants, arithmetic -------------------------------------------------------------------------


@meaning_of(tir.Var, tir.SizeVar)
def _variable(expr: tir.Var) -> Expression:
    return itemgetter(expr)


@meaning_of(tir.IntImm, tir.FloatImm, tir.StringImm)
def _constant(expr: tir.PrimExpr) -> Expression:
    value = compile_expr(expr)({})  # type: ignore[arg-type]
    return lambda lanes: value


@meaning_of(*scalars.OPERATIONS, *scalars.COMPARISONS)
def _binary(expr: tir.BinaryOp) -> Expression:
    a, b, dtype = compile_lanes(expr.a), compile_lanes(expr.b), expr.a.dtype
    scalar, apply = scalars.operation(type(expr), dtype), arithmetic.binary(type(expr), dtype)
    is_divided = isinstance(expr, tir.Div | tir.Mod | tir.FloorDiv | tir.FloorMod) and not is_float(dtype)
    compute = _dividing(apply, dtype) if is_divided else _ignoring_lanes(apply)
    on_arrays = compute if is_float(dtype) else Memo(compute)

    def evaluate(lanes: Lanes) -> LaneValue:
        x, y = a(lanes), b(lanes)
        if isinstance(x, np.ndarray) or isinstance(y, np.ndarray):
            return on_arrays(lanes, x, y)
        try:
            return scalar(x, y)
        except ZeroDivisionError:
            raise Doubt from None

    return evaluate


def _ignoring_lanes(apply: scalars.Function) -> Callable[..., LaneValue]:
    def evaluate(_: Lanes, *operands: LaneValue) -> LaneValue:
        return apply(*operands)

    return evaluate


def _dividing(apply: scalars.Function, dtype: str) -> Callable[..., LaneValue]:
    """Raise Doubt if an active lane divides by zero; inactive ones divide by one instead."""

    def divide(lanes: Lanes, x: LaneValue, y: LaneValue) -> LaneValue:
        divisor = np.asarray(arithmetic.typed(y, dtype))
        zero = divisor == 0
        if not zero.any():
            return apply(x, y)
        if is_active(lanes, zero):
            raise Doubt
        return apply(x, np.where(zero, divisor.dtype.type(1), divisor))

    return divide


def _both(_: Lanes, x: LaneValue, y: LaneValue) -> LaneValue:
    return x & y


def _either(_: Lanes, x: LaneValue, y: LaneValue) -> LaneValue:
    return x | y


@meaning_of(tir.And, tir.Or)
def _connective(expr: tir.And | tir.Or) -> Expression:
    """Evaluate the second operand in the lanes in which the first does not decide."""
    a, b, is_and = compile_lanes(expr.a), compile_lanes(expr.b), isinstance(expr, tir.And)
    restrict, invert = restriction(), inversion()
    join = Memo(_both if is_and else _either)

    def evaluate(lanes: Lanes) -> LaneValue:
        x = a(lanes)
        if not isinstance(x, np.ndarray):
            return b(lanes) if bool(x) == is_and else x
        open_lanes, mask = restrict(lanes, x if is_and else invert(lanes, x))
        if open_lanes is NONE:
            return x
        with lanes.narrowed(mask):
            y = b(lanes)
        return join(lanes, x, y)

    return evaluate


@meaning_of(tir.Not)
def _not(expr: tir.Not) -> Expression:
    a, invert = compile_lanes(expr.a), inversion()

    def evaluate(lanes: Lanes) -> LaneValue:
        x = a(lanes)
        return invert(lanes, x) if isinstance(x, np.ndarray) else not x

    return evaluate


@meaning_of(tir.Cast)
def _cast(expr: tir.Cast) -> Expression:
    value, source, target = compile_lanes(expr.value), expr.value.dtype, expr.dtype
    scalar, convert = scalars.cast(source, target), arithmetic.cast(source, target)
    compute = _ignoring_lanes(convert)
    on_arrays = Memo(compute) if is_int(source) and is_int(target) else compute

    def evaluate(lanes: Lanes) -> LaneValue:
        x = value(lanes)
        return on_arrays(lanes, x) if isinstance(x, np.ndarray) else scalar(x)

    return evaluate


@meaning_of(tir.Let)
def _let(expr: tir.Let) -> Expression:
    value, body, variable = compile_lanes(expr.value), compile_lanes(expr.body), expr.var

    def evaluate(lanes: Lanes) -> LaneValue:
        lanes[variable] = value(lanes)
        return body(lanes)

    return evaluate


@meaning_of(tir.Select)
def _select(expr: tir.Select) -> Expression:
    return choice(expr.condition, expr.true_value, expr.false_value)


def choice(condition: tir.PrimExpr, if_true: tir.PrimExpr, if_false: tir.PrimExpr) -> Expression:
    """Return a function that evaluates each operand in the lanes that choose it."""
    test, yes, no = map(compile_lanes, (condition, if_true, if_false))
    dtype = if_true.dtype
    restrict, restrict_others, invert = restriction(), restriction(), inversion()

    def evaluate(lanes: Lanes) -> LaneValue:
        chosen = test(lanes)
        if not isinstance(chosen, np.ndarray):
            return yes(lanes) if chosen else no(lanes)
        how_many, mask = restrict(lanes, chosen)
        if how_many is ALL:
            return yes(lanes)
        if how_many is NONE:
            return no(lanes)
        with lanes.narrowed(mask):
            a = yes(lanes)
        _, mask = restrict_others(lanes, invert(lanes, chosen))
        with lanes.narrowed(mask):
            b = no(lanes)
        return np.where(chosen, arithmetic.typed(a, dtype), arithmetic.typed(b, dtype))

    return evaluate


# --- Calls ----------------------------------------------------------------------------------------------------

_SAME = ("tir.likely", "tir.ignore_loop_partition", "tir.assume", "tir.checked_index", "tir.tvm_thread_invariant")
_SHIFTS = ("tir.shift_left", "tir.shift_right")


@meaning_of(tir.Call)
def _call(call: tir.Call) -> Expression:
    args = [arg for arg in call.args if isinstance(arg, tir.PrimExpr)]
    if not isinstance(call.op, Op) or len(args) != len(call.args):
        raise Refused
    name = call.op.name
    if name == "tir.if_then_else":
        return choice(*args)
    operands = [compile_lanes(arg) for arg in args]
    if name in _SAME:
        return operands[0]
    if name == "tir.reinterpret":
        return _reinterpret(operands[0], args[0].dtype, call.dtype)
    scalar = lane_function(name.removeprefix("tir."), call)
    if scalar is None:
        raise Refused
    return _lane_call(name, scalar, operands, tuple([arg.dtype for arg in args]), call.dtype)


def _reinterpret(operand: Expression, source: str, target: str) -> Expression:
    if numpy_dtype(source).itemsize != numpy_dtype(target).itemsize:
        raise Refused
    scalar, kind = scalars.reinterpret(source, target), numpy_dtype(target)

    def evaluate(lanes: Lanes) -> LaneValue:
        value = operand(lanes)
        return np.ascontiguousarray(value).view(kind) if isinstance(value, np.ndarray) else scalar(value)

    return evaluate


def _lane_call(
    name: str, scalar: scalars.Function, operands: list[Expression], dtypes: tuple[str, ...], result: str
) -> Expression:
    on_arrays = arithmetic.function(name.removeprefix("tir."), dtypes, result, scalar)

    def evaluate(lanes: Lanes) -> LaneValue:
        values = [operand(lanes) for operand in operands]
        try:
            if not any(isinstance(value, np.ndarray) for value in values):
                return scalar(*values)
            if name in _SHIFTS and is_active(lanes, values[1] < 0):
                raise Doubt
            return on_arrays(*values)
        except TvmsError:
            raise
        except (ValueError, ZeroDivisionError):
            raise Doubt from None

    return evaluate
