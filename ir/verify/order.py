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

Number: TypeAlias = int | Fraction
Operands: TypeAlias = Mapping[tir.PrimExpr, Number]
_SAMPLES = 40

_BINARY: dict[type[tir.BinaryOp], Callable[[Number, Number], Number]] = {
    tir.Add: lambda a, b: a + b, tir.Sub: lambda a, b: a - b, tir.Mul: lambda a, b: a * b,
    tir.Min: min, tir.Max: max, tir.EQ: lambda a, b: a == b, tir.NE: lambda a, b: a != b,
    tir.LT: lambda a, b: a < b, tir.LE: lambda a, b: a <= b, tir.GT: lambda a, b: a > b, tir.GE: lambda a, b: a >= b,
    tir.And: lambda a, b: int(bool(a and b)), tir.Or: lambda a, b: int(bool(a or b)),
}  # fmt: skip
_COMMUTE = (tir.Add, tir.Mul, tir.Min, tir.Max, tir.And, tir.Or)


class _Update:
    """An update of one element, and the operands that it combines with it: those that are equal are one."""

    def __init__(self, store: tir.BufferStore) -> None:
        self.store = store
        self.operands: dict[tir.PrimExpr, tir.PrimExpr] = {}
        self._first: dict[int, tir.PrimExpr] = {}

    def is_element(self, expr: tir.PrimExpr) -> bool:
        """Whether `expr` reads the buffer that is updated."""
        return isinstance(expr, tir.BufferLoad) and expr.buffer is self.store.buffer

    def is_plain(self) -> bool:
        """Whether it is the element, combined once by a commutative operation: most are."""
        value = self.store.value
        if not isinstance(value, tir.BinaryOp):
            return False
        for element, other in ((value.a, value.b), (value.b, value.a)):
            commutes = isinstance(value, _COMMUTE) or (isinstance(value, tir.Sub) and element is value.a)
            if commutes and self.is_element(element) and not any(map(self.is_element, _expressions(other))):
                return True
        return False

    def is_exact(self) -> bool:
        """Whether it is computed by exact operations, from operands that are then put aside."""
        return self._collect(self.store.value)

    def _collect(self, expr: tir.PrimExpr) -> bool:
        """Put the operands of `expr` aside; return whether it is computed by exact operations from them."""
        if isinstance(expr, tir.BufferLoad) and self.is_element(expr):
            return structural_equal(expr.indices, self.store.indices)
        if isinstance(expr, tir.BufferLoad | tir.Var):
            key = structural_hash(expr) if isinstance(expr, tir.BufferLoad) else id(expr)
            self.operands[expr] = self._first.setdefault(key, expr)
            return True
        parts = _parts(expr)
        return parts is not None and all(map(self._collect, parts))

    def __call__(self, element: Number, operands: Operands) -> Number:
        """Return the new value of an element."""
        return self._compute(self.store.value, element, operands)

    def _compute(self, expr: tir.PrimExpr, element: Number, operands: Operands) -> Number:
        match expr:
            case tir.IntImm():
                return expr.value
            case tir.FloatImm():
                return Fraction(expr.value)
            case tir.BufferLoad() | tir.Var():
                return element if self.is_element(expr) else operands[self.operands[expr]]
            case _:
                values = [self._compute(part, element, operands) for part in _parts(expr) or ()]
        if isinstance(expr, tir.BinaryOp):
            return _BINARY[type(expr)](*values)
        if len(values) == 3:
            return values[1] if values[0] else values[2]
        return int(not values[0]) if isinstance(expr, tir.Not) else values[0]


def order_matters(store: tir.BufferStore, axes: set[tir.Var]) -> str | None:
    """Return an example of two steps whose order matters, in words, or None where none is found.

    `axes` are the reduction axes: what does not depend on them is the same in both steps. Numbers are taken as exact.
    """
    update = _Update(store)
    if update.is_plain() or not update.is_exact():
        return None
    operands = list(dict.fromkeys(update.operands.values()))
    moving = [each for each in operands if any(part in axes for part in walk(each))]
    numbers = random.Random(0)
    for _ in range(_SAMPLES):
        start = _sample(numbers, store.value.dtype)
        one = {each: _sample(numbers, each.dtype) for each in operands}
        two = {**one, **{each: _sample(numbers, each.dtype) for each in moving}}
        forth, back = update(update(start, one), two), update(update(start, two), one)
        if forth != back:
            first, second = [" and ".join(str(step[each]) for each in moving) for step in (one, two)]
            return f"from {start}, the steps {first}, then {second} give {forth}, the other way round {back}"
    return None


def _sample(numbers: random.Random, dtype: str) -> int:
    return numbers.randint(0, 1) if is_bool(dtype) else numbers.randint(0 if "uint" in dtype else -4, 5)


def _expressions(expr: tir.PrimExpr) -> list[tir.PrimExpr]:
    return [node for node in walk(expr) if isinstance(node, tir.PrimExpr)]


def _parts(expr: tir.PrimExpr) -> tuple[tir.PrimExpr, ...] | None:
    """Return the operands of an operation that rationals have; None for others."""
    match expr:
        case tir.IntImm():
            return ()
        case tir.FloatImm():
            return () if abs(expr.value) < float("inf") else None
        case tir.BinaryOp():
            return (expr.a, expr.b) if type(expr) in _BINARY else None
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
