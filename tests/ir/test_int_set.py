"""Intervals of expressions contain every value that the expressions take."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from tvms.ir import make, tir
from tvms.ir.analysis.evaluate import evaluate
from tvms.ir.int_set import Interval, eval_set, point

X = tir.Var("int32", "x")
OPERATIONS = (
    make.truncmod,
    make.floormod,
    make.truncdiv,
    make.floordiv,
    make.mul,
    make.minimum,
    make.maximum,
    make.sub,
)


@pytest.mark.parametrize("operation", OPERATIONS, ids=lambda operation: operation.__name__)
def test_every_value_is_inside(operation: Callable[..., tir.PrimExpr]) -> None:
    for first in range(-7, 8):
        for count in (1, 2, 5, 9):
            domains = {X: Interval(make.const(first), make.const(first + count - 1))}
            for operand in (-4, -3, -1, 1, 2, 3, 4):
                expr = operation(X, make.const(operand))
                found = eval_set(point(expr), domains)
                values = [evaluate(expr, {X: x}) for x in range(first, first + count)]
                for value in values:
                    assert value is not None
                    assert found.min is None or (isinstance(found.min, tir.IntImm) and found.min.value <= value)
                    assert found.max is None or (isinstance(found.max, tir.IntImm) and value <= found.max.value)
