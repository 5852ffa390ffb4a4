"""Rows for optimizers: each takes a step for several tensors at once."""

from __future__ import annotations

from typing import Any

from ....ir import relax
from ....ir.api.relax import op
from ....ir.building.values import const
from ..values import dtype_of
from .converter import Converter
from .rows import TRAINING, Family

ROWS = Family()


class _Step:
    """The rate and the number of a step, in the dtype of the tensors, and groups of tensors: values, gradients, states."""

    def __init__(self, a: Any, parts: int) -> None:
        if not a.inputs or len(a.inputs) % parts:
            raise ValueError(f"it has {len(a.inputs)} tensors, not {parts} for each that it optimizes")
        self.dtype = dtype_of(a.inputs[0])
        count = len(a.inputs) // parts
        self.groups = [a.inputs[place::count] for place in range(count)]
        self.rate = op.reshape(op.astype(a.R, self.dtype), ())
        self.number = op.reshape(op.astype(a.T, self.dtype), ())

    def const(self, value: float) -> relax.Expr:
        return const(value, self.dtype)

    def plus(self, x: relax.Expr, factor: float, y: relax.Expr) -> relax.Expr:
        """Return x + factor * y."""
        return x if factor == 0 else op.add(x, op.multiply(self.const(factor), y))


def _in_order(c: Converter, results: list[tuple[relax.Expr, ...]]) -> list[relax.Expr]:
    """Return the first results of all groups, then the second ones, and so on."""
    return [c.emit(value) for column in zip(*results, strict=True) for value in column]


@ROWS.row("Adagrad", domain=TRAINING)
def _adagrad(c: Converter, a: Any) -> list[relax.Expr]:
    step = _Step(a, 3)
    rate = op.divide(step.rate, op.add(step.const(1), op.multiply(step.number, step.const(a.decay_factor))))
    results: list[tuple[relax.Expr, ...]] = []
    for x, gradient, squares in step.groups:
        slope = c.emit(step.plus(gradient, a.norm_coefficient, x), "_slope")
        total = c.emit(op.add(squares, op.square(slope)), "_squares")
        scale = op.add(op.sqrt(total), step.const(a.epsilon))
        results.append((op.subtract(x, op.divide(op.multiply(rate, slope), scale)), total))
    return _in_order(c, results)


@ROWS.row("Adam", domain=TRAINING)
def _adam(c: Converter, a: Any) -> list[relax.Expr]:
    step = _Step(a, 4)
    one = step.const(1)

    def missing(decay: float) -> relax.Expr:
        return op.subtract(one, op.power(step.const(decay), step.number))

    corrected = op.divide(op.multiply(step.rate, op.sqrt(missing(a.beta))), missing(a.alpha))
    rate = c.emit(op.where(op.greater(step.number, step.const(0)), corrected, step.rate), "_rate")
    results: list[tuple[relax.Expr, ...]] = []
    for x, gradient, mean, squares in step.groups:
        slope = c.emit(step.plus(gradient, a.norm_coefficient, x), "_slope")
        first = c.emit(step.plus(op.multiply(step.const(a.alpha), mean), 1 - a.alpha, slope), "_mean")
        second = c.emit(step.plus(op.multiply(step.const(a.beta), squares), 1 - a.beta, op.square(slope)), "_squares")
        moved = op.subtract(x, op.divide(op.multiply(rate, first), op.add(op.sqrt(second), step.const(a.epsilon))))
        results.append((op.multiply(step.const(1 - a.norm_coefficient_post), moved), first, second))
    return _in_order(c, results)


@ROWS.row("Momentum", domain=TRAINING)
def _momentum(c: Converter, a: Any) -> list[relax.Expr]:
    if a.mode not in ("standard", "nesterov"):
        raise ValueError(f"its mode is '{a.mode}', not 'standard' or 'nesterov'")
    step = _Step(a, 3)
    is_later = op.greater(step.number, step.const(0))
    weight = op.where(is_later, step.const(a.beta), step.const(1))
    results: list[tuple[relax.Expr, ...]] = []
    for x, gradient, velocity in step.groups:
        slope = c.emit(step.plus(gradient, a.norm_coefficient, x), "_slope")
        moved = op.add(op.multiply(step.const(a.alpha), velocity), op.multiply(weight, slope))
        following = c.emit(moved, "_velocity")
        change = following if a.mode == "standard" else step.plus(slope, a.alpha, following)
        results.append((op.subtract(x, op.multiply(step.rate, change)), following))
    return _in_order(c, results)
