"""Evaluation of loop-level expressions. Each is compiled once, to a function from a frame to a value."""

from __future__ import annotations

from collections.abc import Callable
from itertools import chain, repeat
from operator import itemgetter
from typing import Any, TypeAlias, TypeVar

from .. import tir
from ..dtype import is_int, is_vector, parse_dtype
from . import scalars
from .frame import Frame, fault
from .scalars import Value

Expression: TypeAlias = Callable[[Frame], Value]

VSCALE = 1
"""The factor of scalable vectors, which depends on the machine; programs must not rely on it."""


_rules: dict[type[tir.PrimExpr], Callable[[Any], Expression]] = {}
_Rule = TypeVar("_Rule", bound=Callable[[Any], Expression])


def meaning_of(*kinds: type[tir.PrimExpr]) -> Callable[[_Rule], _Rule]:
    """Register the decorated function as the compiler of these kinds of expressions."""

    def register(rule: _Rule) -> _Rule:
        _rules.update(dict.fromkeys(kinds, rule))
        return rule

    return register


def compile_expr(expr: tir.PrimExpr) -> Expression:
    """Return a function that evaluates `expr`; E0712 if the form has no value at run time."""
    rule = _rules.get(type(expr))
    if rule is None:
        raise fault("E0712", f"'{type(expr).__name__}' has no value at run time", expr, "lower the program first")
    return rule(expr)


def compile_all(exprs: tuple[tir.PrimExpr, ...]) -> Expression:
    """Return a function that evaluates all of `exprs` to a tuple."""
    parts = tuple(map(compile_expr, exprs))
    return lambda frame: tuple([part(frame) for part in parts])


# --- Variables and constants ----------------------------------------------------------------------------------


@meaning_of(tir.Var, tir.SizeVar)
def _variable(expr: tir.Var) -> Expression:
    return itemgetter(expr)


@meaning_of(tir.IntImm, tir.FloatImm)
def _number(expr: tir.IntImm | tir.FloatImm) -> Expression:
    value = scalars.constant(expr.value, expr.dtype)
    return lambda frame: value


@meaning_of(tir.StringImm)
def _string(expr: tir.StringImm) -> Expression:
    value = expr.value
    return lambda frame: value


# --- Arithmetic -----------------------------------------------------------------------------------------------


@meaning_of(*scalars.OPERATIONS, *scalars.COMPARISONS)
def _binary(expr: tir.BinaryOp) -> Expression:
    a, b = compile_expr(expr.a), compile_expr(expr.b)
    operate = scalars.operation(type(expr), expr.a.dtype)
    if not isinstance(expr, tir.Div | tir.Mod | tir.FloorDiv | tir.FloorMod) or not is_int(expr.dtype):
        return lambda frame: operate(a(frame), b(frame))

    def divide(frame: Frame) -> Value:
        try:
            return operate(a(frame), b(frame))
        except ZeroDivisionError:
            raise fault("E0708", "division by zero", expr) from None

    return divide


@meaning_of(tir.And)
def _and(expr: tir.And) -> Expression:
    a, b = compile_expr(expr.a), compile_expr(expr.b)
    if is_vector(expr.dtype):
        return lambda frame: tuple([x and y for x, y in zip(a(frame), b(frame), strict=True)])
    return lambda frame: a(frame) and b(frame)


@meaning_of(tir.Or)
def _or(expr: tir.Or) -> Expression:
    a, b = compile_expr(expr.a), compile_expr(expr.b)
    if is_vector(expr.dtype):
        return lambda frame: tuple([x or y for x, y in zip(a(frame), b(frame), strict=True)])
    return lambda frame: a(frame) or b(frame)


@meaning_of(tir.Not)
def _not(expr: tir.Not) -> Expression:
    a = compile_expr(expr.a)
    if is_vector(expr.dtype):
        return lambda frame: tuple([not x for x in a(frame)])
    return lambda frame: not a(frame)


def integer_as_pointer(expr: tir.PrimExpr) -> Expression:
    """Return a function that raises an error: a pointer cast from an integer would point to unknown memory."""

    def refuse(frame: Frame) -> Value:
        raise fault("E0725", "an integer cannot become a pointer", expr, "take the address of an element of a buffer")

    return refuse


@meaning_of(tir.Cast)
def _cast(expr: tir.Cast) -> Expression:
    if parse_dtype(expr.dtype).code == "handle" and parse_dtype(expr.value.dtype).code != "handle":
        return integer_as_pointer(expr)
    value, convert = compile_expr(expr.value), scalars.cast(expr.value.dtype, expr.dtype)
    return lambda frame: convert(value(frame))


@meaning_of(tir.Select)
def _select(expr: tir.Select) -> Expression:
    """Compile a choice. Only the chosen operand is evaluated: programs rely on a Select to guard its loads."""
    if not is_vector(expr.condition.dtype):
        condition, yes, no = map(compile_expr, (expr.condition, expr.true_value, expr.false_value))
        return lambda frame: yes(frame) if condition(frame) else no(frame)
    parts = compile_all((expr.condition, expr.true_value, expr.false_value))

    def choose(condition: bool, yes: Value, no: Value) -> Value:
        return yes if condition else no

    pick = scalars.lanewise(choose, expr.condition.dtype)
    return lambda frame: pick(*parts(frame))


@meaning_of(tir.Let)
def _let(expr: tir.Let) -> Expression:
    value, body, variable = compile_expr(expr.value), compile_expr(expr.body), expr.var

    def evaluate(frame: Frame) -> Value:
        frame[variable] = value(frame)
        return body(frame)

    return evaluate


# --- Vectors --------------------------------------------------------------------------------------------------


def _step(base: int, stride: int, lane: int) -> int:
    return base + stride * lane


@meaning_of(tir.Ramp)
def _ramp(expr: tir.Ramp) -> Expression:
    base, stride, lanes = map(compile_expr, (expr.base, expr.stride, expr.lanes))
    element = expr.base.dtype
    step = scalars.wrapping(_step, parse_dtype(element).name)
    if not is_vector(element):
        return lambda frame: tuple(map(step, repeat(base(frame)), repeat(stride(frame)), range(lanes(frame))))

    def nested(frame: Frame) -> Value:
        pairs = list(zip(base(frame), stride(frame), strict=True))
        return tuple(step(start, stride, lane) for lane in range(lanes(frame)) for start, stride in pairs)

    return nested


@meaning_of(tir.Broadcast)
def _broadcast(expr: tir.Broadcast) -> Expression:
    value, lanes = compile_expr(expr.value), compile_expr(expr.lanes)
    if is_vector(expr.value.dtype):
        return lambda frame: value(frame) * lanes(frame)
    return lambda frame: (value(frame),) * lanes(frame)


@meaning_of(tir.Shuffle)
def _shuffle(expr: tir.Shuffle) -> Expression:
    vectors, indices = compile_all(expr.vectors), compile_all(expr.indices)
    are_vectors = [is_vector(vector.dtype) for vector in expr.vectors]

    def pick(frame: Frame) -> Value:
        sources = zip(vectors(frame), are_vectors, strict=True)
        elements: list[Value] = list(chain(*[value if is_some else (value,) for value, is_some in sources]))
        picked = indices(frame)
        outside = next((index for index in picked if not 0 <= index < len(elements)), None)
        if outside is not None:
            raise fault("E0707", f"a shuffle takes lane {outside} of {len(elements)}", expr)
        lanes = tuple([elements[index] for index in picked])
        return lanes if is_vector(expr.dtype) else lanes[0]

    return pick
