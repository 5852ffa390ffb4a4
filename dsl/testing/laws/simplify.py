"""A simplified expression has the same value, a simplified function computes the same, and simplifying either again does not
change it.
"""

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
from ....ir.base import IRModule, Source
from ....ir.diagnostics import TvmsError, error
from ....ir.dtype import is_int, lanes_of, with_lanes
from ....ir.equal import structural_equal
from ....ir.intern import has_effects
from ....ir.passes.transform import map_functions
from ....ir.simplify import simplify, simplify_statements
from ....ir.variables import free_variables
from ....ir.visit import walk
from ...load import parse_source
from ..aliases import aliases
from ..choices import Choices, weighted
from ..constructs import constructs_of
from ..expressions import DTYPES, Leaves, expression, index_expression, leaves_of, variables
from ..oracle import Execute, as_module, assert_equivalent, first_difference, profiles
from ..prim_funcs import prim_funcs
from .law import Law

_EXPRESSIONS = 40
"""Number of expressions that are drawn for each function."""
POINTS = 64
"""Maximum number of points at which an expression is evaluated."""


_STATEMENTS = "# simplify the statements"
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


class Statements(Struct, frozen=True):
    """A loop function whose statements are simplified, and the seed of its inputs."""

    module: IRModule
    seed: int = 0

    def __str__(self) -> str:
        return f"{_STATEMENTS}\n{self.module}"


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


def _examples(file: Source | None) -> st.SearchStrategy[Expression | Statements]:
    if file is not None:
        return st.sampled_from([_read(file)] if file.text.startswith(_STATEMENTS) else expressions_in(file))
    without_blocks = prim_funcs(stages=("statements",), max_blocks=1, max_extent=6).map(as_module)
    modules = weighted((3, without_blocks), (1, prim_funcs(max_blocks=2, max_extent=6).map(as_module)), (1, aliases()))
    whole = st.builds(Statements, modules, st.integers(0, 1000))
    return weighted((_EXPRESSIONS, expressions()), (1, whole))


def _read(file: Source) -> Expression | Statements:
    """Return the function of a file that begins with `_STATEMENTS`, or the first expression of another file."""
    return Statements(parse_source(file)) if _STATEMENTS in file.text else expressions_in(file)[0]


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


def _check(example: Expression | Statements, execute: Execute) -> None:
    if isinstance(example, Expression):
        _check_expression(example)
    else:
        _check_statements(example)


def _check_statements(example: Statements) -> None:
    module, seed = example.module, example.seed
    simple = _simplified(module)
    again = _simplified(simple)
    assert structural_equal(simple, again), f"becomes\n{simple}\nand that becomes\n{again}"
    if simple is not module:
        assert_equivalent(module, simple, seed=seed, profiles=profiles(seed), integers=(-8, 9))


def _simplified(module: IRModule) -> IRModule:
    return map_functions(module, tir.PrimFunc, simplify_statements)


def _check_expression(example: Expression) -> None:
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


def _constructs(example: Expression | Statements) -> Iterable[str]:
    return constructs_of(*([example.expr] if isinstance(example, Expression) else example.module.functions.values()))


_OPERATIONS = (
    "Add", "Sub", "Mul", "Div", "Mod", "FloorDiv", "FloorMod", "Min", "Max", "EQ", "NE", "LT", "LE", "GT", "GE", "And", "Or",
    "Not", "Select", "Cast", "Let", "Call", "Ramp", "Broadcast",
)  # fmt: skip
LAW = Law(
    _examples, _check, read=_read, constructs=_constructs, expected=frozenset([*_OPERATIONS, "LetStmt", "IfThenElse"])
)
