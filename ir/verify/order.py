"""Whether two steps of an update may be taken in either order, by computing both exactly on a few values."""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping
from fractions import Fraction
from typing import TypeAlias

from .. import tir
from ..base import Op
from ..dtype import is_bool, is_float, is_int
from ..equal import structural_equal, structural_hash
from ..visit import walk

Operands: TypeAlias = "Mapping[int, Fraction]"
_SAMPLES = 60


class _NotExact(Exception):
    """The update computes something that rationals do not have."""


_BINARY: dict[type[tir.BinaryOp], Callable[[Fraction, Fraction], Fraction | bool]] = {
    tir.Add: lambda a, b: a + b, tir.Sub: lambda a, b: a - b, tir.Mul: lambda a, b: a * b,
    tir.Min: min, tir.Max: max, tir.EQ: lambda a, b: a == b, tir.NE: lambda a, b: a != b,
    tir.LT: lambda a, b: a < b, tir.LE: lambda a, b: a <= b, tir.GT: lambda a, b: a > b, tir.GE: lambda a, b: a >= b,
    tir.And: lambda a, b: bool(a and b), tir.Or: lambda a, b: bool(a or b),
}  # fmt: skip


def order_matters(update: tir.BufferStore, axes: set[tir.Var]) -> str | None:
    """Return an example of two steps whose order matters, in words, or None where none is found.

    `axes` are the reduction axes: what does not depend on them is the same in both steps. Numbers are taken as exact.
    """
    operands: dict[int, tir.PrimExpr] = {}
    if not _collect(update.value, update, operands):
        return None
    moving = {key for key, node in operands.items() if any(part in axes for part in walk(node))}
    numbers = random.Random(0)
    for _ in range(_SAMPLES):
        start = _sample(numbers, update.value.dtype)
        one = {key: _sample(numbers, node.dtype) for key, node in operands.items()}
        two = {key: _sample(numbers, operands[key].dtype) if key in moving else value for key, value in one.items()}
        try:
            forth, back = [_run(update, steps, start) for steps in ((one, two), (two, one))]
        except _NotExact:
            return None
        if forth != back:
            first, second = [" and ".join(str(each[key]) for key in operands if key in moving) for each in (one, two)]
            return f"from {start}, the steps {first}, then {second} give {forth}, the other way round {back}"
    return None


def _sample(numbers: random.Random, dtype: str) -> Fraction:
    return Fraction(numbers.randint(0, 1) if is_bool(dtype) else numbers.randint(0 if "uint" in dtype else -4, 5))


def _run(update: tir.BufferStore, steps: tuple[Operands, ...], value: Fraction) -> Fraction:
    for operands in steps:
        value = _compute(update.value, update, value, operands)
    return value


def _collect(expr: tir.PrimExpr, update: tir.BufferStore, found: dict[int, tir.PrimExpr]) -> bool:
    """Put the operands of `expr` into `found`; return whether it is computed by exact operations from them."""
    match expr:
        case tir.BufferLoad() if expr.buffer is update.buffer:
            return structural_equal(expr.indices, update.indices)
        case tir.BufferLoad() | tir.Var():
            found[structural_hash(expr) if isinstance(expr, tir.BufferLoad) else id(expr)] = expr
            return True
        case tir.BinaryOp() if type(expr) in _BINARY:
            return _collect(expr.a, update, found) and _collect(expr.b, update, found)
        case _:
            inner = _parts(expr)
            return inner is not None and all(_collect(part, update, found) for part in inner)


def _parts(expr: tir.PrimExpr) -> tuple[tir.PrimExpr, ...] | None:
    match expr:
        case tir.IntImm() | tir.FloatImm():
            return ()
        case tir.Cast(value=value) if is_float(expr.dtype) or (is_int(expr.dtype) and is_int(value.dtype)):
            return (value,)
        case tir.Not():
            return (expr.a,)
        case tir.Select():
            return expr.condition, expr.true_value, expr.false_value
        case tir.Call(
            op=Op(name="tir.if_then_else"), args=(tir.PrimExpr() as a, tir.PrimExpr() as b, tir.PrimExpr() as c)
        ):
            return a, b, c
        case _:
            return None


def _compute(expr: tir.PrimExpr, update: tir.BufferStore, element: Fraction, operands: Operands) -> Fraction:
    def of(part: tir.PrimExpr) -> Fraction:
        return _compute(part, update, element, operands)

    match expr:
        case tir.IntImm() | tir.FloatImm():
            if isinstance(expr, tir.FloatImm) and not abs(expr.value) < float("inf"):
                raise _NotExact
            return Fraction(expr.value)
        case tir.BufferLoad() if expr.buffer is update.buffer:
            return element
        case tir.BufferLoad():
            return operands[structural_hash(expr)]
        case tir.Var():
            return operands[id(expr)]
        case tir.BinaryOp():
            return Fraction(_BINARY[type(expr)](of(expr.a), of(expr.b)))
        case tir.Not():
            return Fraction(not of(expr.a))
        case tir.Cast():
            return of(expr.value)
        case _:
            condition, yes, no = map(of, _parts(expr) or (expr, expr, expr))
            return yes if condition else no
