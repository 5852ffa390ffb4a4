"""A simplified expression has the same value, and simplifying it again does not change it."""

from __future__ import annotations

import random
import re
from collections.abc import Iterable, Iterator
from itertools import product
from math import prod
from typing import Any

from hypothesis import strategies as st
from msgspec import Struct

from ....ir import make, tir
from ....ir.base import Source
from ....ir.diagnostics import TvmsError, error
from ....ir.dtype import is_int, lanes_of, with_lanes
from ....ir.equal import structural_equal
from ....ir.intern import has_effects
from ....ir.simplify import simplify
from ....ir.variables import free_variables
from ....ir.visit import walk
from ...load import parse_source
from ..choices import Choices
from ..constructs import constructs_of
from ..expressions import DTYPES, Leaves, expression, index_expression, leaves_of, variables
from ..oracle import Execute, first_difference
from .law import Law

POINTS = 64
"""Maximum number of points at which an expression is evaluated."""


_RANGE = re.compile(r"(\w+) in \[(-?\d+), (-?\d+)\]")


class Expression(Struct, frozen=True):
    expr: tir.PrimExpr
    ranges: dict[tir.Var, range]

    def __str__(self) -> str:
        """Return a function that stores the value, with the ranges of its variables in a comment."""
        where = ", ".join(f"{var.name} in [{ends[0]}, {ends[-1]}]" for var, ends in self.ranges.items())
        scalars = "".join(f", {var.name}: T.{var.dtype}" for var in self.ranges)
        lanes = lanes_of(self.expr.dtype)
        head = f'T.prim_func main(A: T.Buffer(({lanes},), "{with_lanes(self.expr.dtype, 1)}"){scalars}):'
        return f"# {where}\n{head}\n    A[{f'0:{lanes}' if lanes > 1 else 0}] = {self.expr}"


@st.composite
def expressions(draw: st.DrawFn) -> Expression:
    choose = Choices(draw)
    scope = variables("x", "y", "z")[: choose.number(1, 3)]
    leaves, size = leaves_of(scope), choose.number(1, 14)
    match choose.number(0, 6):
        case 0 | 1:
            expr = index_expression(choose, leaves, size)
        case 6:
            expr = _vector(choose, leaves, size // 2, choose.pick((2, 4, 3, 8)))
        case _:
            expr = expression(choose, choose.pick(("int32", "bool", *DTYPES)), leaves, size)
    starts = [choose.pick((0, 0, -4, 1, 120, 252, 32765, 0)) for _ in scope]
    return Expression(
        expr, {var: range(s, s + choose.pick((1, 4, 8, 9))) for var, s in zip(scope, starts, strict=True)}
    )


_OPERATORS = (
    make.add, make.sub, make.floordiv, make.floormod, make.minimum, make.maximum, make.less, make.less_equal, make.equal,
    make.mul,
)  # fmt: skip


def _vector(choose: Choices, leaves: Leaves, size: int, lanes: int) -> tir.PrimExpr:
    """Return an operator on vectors of indices: ramps and broadcasts, as vectorized loops have them."""
    dtype, count = with_lanes("int32", lanes), make.const(lanes)

    def part(base: tir.PrimExpr, stride: int) -> tir.PrimExpr:
        return tir.Ramp(dtype, base, make.const(stride), count) if stride else tir.Broadcast(dtype, base, count)

    a = part(index_expression(choose, leaves, size), choose.pick((1, 2, 4, 0, -1, 3)))
    for _ in range(choose.number(1, 2)):
        operator = choose.pick(_OPERATORS)
        is_constant = operator in (make.floordiv, make.floormod, make.mul)
        base = make.const(choose.pick((1, 2, 4, 3, 8))) if is_constant else index_expression(choose, leaves, size)
        a = operator(a, part(base, 0 if is_constant else choose.pick((0, 0, 1, 2))))
        if a.dtype != dtype:
            return a
    return a


def _examples(file: Source | None) -> st.SearchStrategy[Expression]:
    return expressions() if file is None else st.sampled_from(expressions_in(file))


def _read(file: Source) -> Expression:
    """Return the first expression of a file."""
    return expressions_in(file)[0]


def expressions_in(file: Source) -> list[Expression]:
    """Return the values and indices of stores in a file that depend on scalars only. Variables range from 0 to 7, or as
    a comment says; E0813 if there are none.
    """
    stores = [node for node in walk(parse_source(file)) if isinstance(node, tir.BufferStore)]
    exprs = [expr for store in stores for expr in (store.value, *store.indices) if _is_of_scalars(expr)]
    if not exprs:
        message = "no stored value or index of this program depends only on scalars"
        raise error("E0813", message, None, "give a program with an expression of variables, such as A[0] = x * 2 % n")
    said = {name: range(int(low), int(high) + 1) for name, low, high in _RANGE.findall(file.text)}
    return [
        Expression(
            expr,
            {
                variable: said.get(variable.name, range(8))
                for variable in free_variables(expr)
                if isinstance(variable, tir.Var)
            },
        )
        for expr in exprs
    ]


def _is_of_scalars(expr: tir.PrimExpr) -> bool:
    return not any(
        isinstance(node, tir.BufferLoad | tir.Buffer | tir.StringImm)
        or (isinstance(node, tir.Var) and not is_int(node.dtype))
        for node in walk(expr)
    ) and not has_effects(expr)


def points(ranges: dict[tir.Var, range]) -> Iterator[dict[tir.Var, int]]:
    if prod(map(len, ranges.values())) <= POINTS:
        yield from (dict(zip(ranges, values, strict=True)) for values in product(*ranges.values()))
        return
    chosen = random.Random(0)
    for _ in range(POINTS):
        yield {var: chosen.choice(values) for var, values in ranges.items()}


def _check(example: Expression, execute: Execute) -> None:
    import numpy as np

    from ....ir.interp.expressions import compile_expr

    domains = {
        var: tir.Range(tir.IntImm(var.dtype, ends[0]), tir.IntImm(var.dtype, len(ends)))
        for var, ends in example.ranges.items()
    }
    simple = simplify(example.expr, domains)
    again = simplify(simple, domains)
    assert structural_equal(simple, again), f"becomes {simple}, and that becomes {again}"
    before, after = compile_expr(example.expr), compile_expr(simple)
    for values in points(example.ranges):
        frame: Any = dict(values)
        with np.errstate(all="ignore"):
            expected = before(frame)
            try:
                found = after(frame)
            except TvmsError as problem:
                raise AssertionError(f"becomes {simple}, which fails: {problem}") from problem
        place = ", ".join(f"{var.name} = {value}" for var, value in values.items())
        difference = first_difference(found, expected, tolerance=0.0)
        assert difference is None, f"becomes {simple}, which is {found}, not {expected}, where {place}"


def _constructs(example: Expression) -> Iterable[str]:
    return constructs_of(example.expr)


LAW = Law(
    _examples, _check, read=_read, constructs=_constructs,
    expected=frozenset(
        ["Add", "Sub", "Mul", "Div", "Mod", "FloorDiv", "FloorMod", "Min", "Max", "EQ", "NE", "LT", "LE", "GT", "GE", "And", "Or", "Not", "Select", "Cast", "Let", "Call", "Ramp", "Broadcast"]
    ),
)  # fmt: skip
