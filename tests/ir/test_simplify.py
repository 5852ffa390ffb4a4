"""The simplifier: what it returns is equal at every point, in normal form, and what people expect of index arithmetic."""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import pytest
from tvms.ir import make, tir
from tvms.ir.dtype import int_range
from tvms.ir.equal import structural_equal
from tvms.ir.simplify import simplify
from tvms.ir.te import expr as te

sys.path.insert(0, str(Path(__file__).parent))
from evaluate_expressions import Expressions, differ, evaluate, grid

INDEX_CONSTANTS = (0, 1, 2, 3, 4, 5, 6, 7, 8, 12, 16, -1, -2, -3, -4, -8)


def check_random(random: np.random.Generator, dtype: str, number: int) -> None:
    """Compare `number` random expressions with their normal forms at all points of four variables of 4 bits."""
    variables = [tir.Var(dtype, name) for name in "ijkn"]
    low, high = int_range(dtype) if dtype in ("int4", "uint4") else (-6, 9)
    constants = [c for c in INDEX_CONSTANTS if dtype == "int32" or low <= c <= high]
    make_one = Expressions(random, variables, constants)
    for index in range(number):
        expr = make_one.number(4) if index % 3 else make_one.condition(4)
        given = [make_one.condition(1)] if index % 5 == 0 else []
        values, domains = {variable: range(low, high + 1) for variable in variables}, dict[tir.Var, tir.Range]()
        for variable in variables[: index % 4]:
            start, extent = int(random.integers(0, 4)), int(random.integers(1, 5))
            values[variable] = range(start, start + extent)
            domains[variable] = tir.Range(tir.IntImm(dtype, start), tir.IntImm(dtype, extent))
        simple = simplify(expr, domains, given)
        points = grid(values)
        where = np.bool_(True)
        for condition in given:
            holds, faults = evaluate(condition, points)
            where = where & holds & ~faults
        assert not np.any(differ(expr, simple, points, where)), (expr.script(), simple.script())


@pytest.mark.parametrize("dtype", ["int32", "int4", "uint4"])
def test_normal_forms_are_equal_at_every_point(dtype: str, random: np.random.Generator) -> None:
    check_random(random, dtype, 250)
