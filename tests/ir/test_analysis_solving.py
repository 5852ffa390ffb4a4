"""What is deduced of variables and regions holds at every point, and nothing less is deduced than there is."""

from __future__ import annotations

import itertools
from collections.abc import Iterator

import numpy as np
import pytest
import tvms
from tvms.ir import make, tir
from tvms.ir.analysis.evaluate import evaluate
from tvms.ir.analysis.narrowing import narrow_predicate_expression
from tvms.ir.analysis.solving import deduce_bound, detect_clip_bound, detect_linear_equation
from tvms.ir.analysis.touched import domain_touched, strict_bound, upper_bound
from tvms.ir.base import IRModule
from tvms.ir.int_set import Interval
from tvms.ir.te import expr as te

A, B, C = te.var("a"), te.var("b"), te.var("c")
NEAR = range(-40, 41)


def variable(name: tir.PrimExpr) -> tir.Var:
    assert isinstance(name, tir.Var)
    return name


def number(end: tir.PrimExpr | None, missing: int) -> int:
    if end is None:
        return missing
    found = evaluate(end, {})
    assert found is not None
    return found


def interval(low: int, high: int) -> Interval:
    return Interval(make.const(low), make.const(high))


def random_side(random: np.random.Generator, scale: int) -> tir.PrimExpr:
    """A sum of a multiple of `a`, perhaps under a division, of `b`, and of a constant."""
    inner = A * scale + int(random.integers(-9, 10))
    part = te.floor_divide(inner, int(random.integers(2, 7))) if random.random() < 0.4 else inner
    return part * int(random.choice([-2, -1, 1, 3])) + B * int(random.integers(-2, 3))


def test_a_variable_is_solved_for(random: np.random.Generator) -> None:
    for _ in range(150):
        left = random_side(random, int(random.choice([-5, -3, 1, 2, 4])))
        limit = int(random.integers(-20, 21))
        condition = (left < limit, left <= limit, left > limit, left >= limit)[int(random.integers(4))]
        found = deduce_bound(variable(A), condition, relaxed={variable(B): interval(2, 5)})
        holds = {a for a in NEAR if all(evaluate(condition, {variable(A): a, variable(B): b}) for b in range(2, 6))}
        if found is None:
            assert not holds
            continue
        low, high = number(found.min, NEAR.start), number(found.max, NEAR.stop - 1)
        assert holds == set(range(max(low, NEAR.start), min(high, NEAR.stop - 1) + 1)), str(condition)


@pytest.mark.parametrize(
    ("condition", "low", "high"),
    [
        (te.equal(A // 8, 3), "24", "31"),
        (A * B + C >= 0, "(c * -1 - 1) // b + 1", "None"),
        (te.equal(A * 4, B), "(b + 3) // 4", "b // 4"),
        (te.minimum(A, 16) < 10, "None", "9"),
        (B * 2 - A > A + B, "None", "(b + 1) // 2 - 1"),
    ],
)
def test_symbolic_bounds(condition: tir.PrimExpr, low: str, high: str) -> None:
    found = deduce_bound(variable(A), condition, hints={variable(B): interval(1, 9)})
    assert found is not None
    assert [str(found.min), str(found.max)] == [low, high]


@pytest.mark.parametrize("condition", [A % 8 < 3, A * A < 9, te.maximum(A, 5) < 0, te.equal(A * 2, 7), A])
def test_what_is_not_solved(condition: te.Value) -> None:
    assert deduce_bound(variable(A), te.operand(condition)) is None


def test_linear_forms_are_what_they_are_of(random: np.random.Generator) -> None:
    for _ in range(50):
        x, y, z = (int(integer) for integer in random.integers(-4, 5, 3))
        expr = (A * x + B) * C + (A + y) * z + B * (C + 1)
        found = detect_linear_equation(expr, [variable(A), variable(B)])
        assert found is not None
        for a, b, c in random.integers(-9, 10, (5, 3)).tolist():
            at = {variable(A): a, variable(B): b, variable(C): c}
            of_a, of_b, rest = [evaluate(term, at) or 0 for term in found]
            assert of_a * a + of_b * b + rest == evaluate(expr, at)
    assert detect_linear_equation((A * B), [variable(A), variable(B)]) is None
    assert detect_linear_equation((A // 2), [variable(A)]) is None


def test_clips_are_bounds_of_each_variable() -> None:
    both = [variable(A), variable(B)]
    found = detect_clip_bound(te.all(te.minimum(A, B) > 3, A < 10, B * 2 <= C), both)
    assert [[str(bound.min), str(bound.max)] for bound in found or ()] == [["4", "9"], ["4", "c // 2"]]
    assert detect_clip_bound((A < B), both) is None


def random_condition(random: np.random.Generator, depth: int) -> tir.PrimExpr:
    if depth == 0:
        sides = [
            te.floor_divide(A * int(random.integers(-2, 3)) + B * int(random.integers(-2, 3)), 3) + A % 4,
            te.maximum(B - A, C * int(random.integers(-2, 3))),
            C - B % 3,
        ]
        left, right = (sides[int(n)] for n in random.integers(3, size=2))
        compare = [te.equal, te.not_equal, lambda x, y: x < y, lambda x, y: x >= y][int(random.integers(4))]
        return compare(left, right + int(random.integers(-3, 4)))
    a, b = random_condition(random, depth - 1), random_condition(random, depth - 1)
    return [te.all(a, b), te.any(a, b), te.logical_not(a)][int(random.integers(3))]


def points(*ranges: range) -> Iterator[dict[tir.Var, int]]:
    for point in itertools.product(*ranges):
        yield dict(zip((variable(A), variable(B), variable(C)), point, strict=False))


def test_narrowed_conditions_imply(random: np.random.Generator) -> None:
    count = 0
    for _ in range(40):
        condition = random_condition(random, int(random.integers(3)))
        narrowed = narrow_predicate_expression(condition, {variable(C): tir.Range(make.const(2), make.const(4))})
        for at in points(range(-3, 4), range(-3, 4)):
            if evaluate(narrowed, at):
                count += 1
                assert all(evaluate(condition, {**at, variable(C): c}) for c in range(2, 6))
    assert count > 50


def test_regions_are_boxes_exactly_or_at_most(random: np.random.Generator) -> None:
    exact = 0
    for _ in range(80):
        extents = [int(random.choice([1, 2, 3, 4, 8])) for _ in range(2)]
        domains = {variable(v): tir.Range(make.const(0), make.const(e)) for v, e in zip((A, B), extents, strict=True)}
        factor, size = int(random.integers(1, 6)), int(random.integers(1, 5))
        start = [A * factor + B, (A * 8 + B) // factor, B * 4 - 3, A - B][int(random.integers(4))]
        region = [tir.Range(start, make.const(size))]
        touched = {(evaluate(start, at) or 0) + n for at in points(*map(range, extents)) for n in range(size)}
        (most,), strict = upper_bound(region, domains), strict_bound(region, domains)
        assert touched <= set(range(number(most.min, 0), number(most.max, 0) + 1))
        if strict is not None:
            exact += 1
            assert touched == set(range(number(strict[0].min, 0), number(strict[0].max, 0) + 1))
    assert exact > 20


def test_what_a_statement_touches() -> None:
    module = tvms.parse(
        'T.prim_func main(A: T.Buffer((99, "m"), "float32"), B: T.Buffer((99, "m"), "float32"), m: T.int32):\n'
        "    for i, j in T.grid(100, m):\n"
        "        A[i, j] = B[i - 1, j + 1] + A[i - 1, j - 1]\n"
    )
    assert isinstance(module, IRModule)
    (function,) = module.functions.values()
    assert isinstance(function, tir.PrimFunc)
    a, b = [buffer for _, buffer in sorted(function.buffer_map.items(), key=lambda item: item[1].name)]
    found = [domain_touched(function.body, a, loads, stores) for loads, stores in ((1, 0), (0, 1), (1, 1))]
    assert [[f"{axis.min}+{axis.extent}" for axis in region] for region in found] == [
        ["-1+100", "-1+m"],
        ["0+100", "0+m"],
        ["-1+101", "-1+m + 1"],
    ]
    assert domain_touched(function.body, b, loads=False) == ()
