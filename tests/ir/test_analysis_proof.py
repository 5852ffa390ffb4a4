"""Proofs: what is proven holds at every point, what is refuted fails at the counterexample, affine questions are decided."""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import pytest
from tvms.ir import make, tir
from tvms.ir.analysis.evaluate import evaluate as value_at
from tvms.ir.analysis.proof import Verdict, find_solution, forget, prove
from tvms.ir.base import Op
from tvms.ir.int_set import Interval
from tvms.ir.te import expr as te
from tvms.ir.visit import substitute

sys.path.insert(0, str(Path(__file__).parent))
from evaluate_expressions import Expressions, evaluate, grid

X, Y, Z = (te.var(name) for name in "ijk")
N, M = te.size_var("n"), te.size_var("m")
V = te.var("v")


def ranges(**extents: te.Value) -> dict[tir.Var, tir.Range]:
    variables = {"i": X, "j": Y, "k": Z}
    return {variables[n]: tir.Range(make.const(0), te.operand(e)) for n, e in extents.items()}  # type: ignore[misc]


@pytest.mark.parametrize("dtype", ["int32", "int4"])
def test_answers_agree_with_every_point(dtype: str, random: np.random.Generator) -> None:
    variables = [tir.Var(dtype, name) for name in "ijk"]
    make_one = Expressions(
        random, variables, [c for c in (0, 1, 2, 3, 4, 5, 8, -1, -2, -3) if dtype == "int32" or c < 8]
    )
    unknown = 0
    for _ in range(120):
        condition = make_one.condition(3)
        extents = [int(random.integers(1, 7)) for _ in variables]
        domains = {
            v: tir.Range(tir.IntImm(dtype, 0), tir.IntImm(dtype, e)) for v, e in zip(variables, extents, strict=True)
        }
        proof = prove(condition, domains)
        holds, faults = evaluate(condition, grid({v: range(e) for v, e in zip(variables, extents, strict=True)}))
        if proof.verdict is Verdict.PROVEN:
            assert np.all(holds | faults), condition.script()
        elif proof.verdict is Verdict.REFUTED:
            assert proof.counterexample is not None
            assert value_at(condition, proof.counterexample) == 0, condition.script()
            assert all(0 <= proof.counterexample[v] < e for v, e in zip(variables, extents, strict=True))
        else:
            unknown += 1
            assert np.any(faults), condition.script()
    assert unknown < 20


@pytest.mark.parametrize(
    ("condition", "extents"),
    [
        (X * 32 + Y < 128, {"i": 4, "j": 32}),
        (te.minimum(X * 8 + Y, N - 1) < N, {"i": N, "j": 8}),
        (te.maximum(X - 3, 0) <= X, {"i": 1000}),
        (te.equal((X // 3 * 3 + X % 3) * 2, X + X), {}),
        (te.equal(((X * 5 + 3) % 64) * 13 % 64, (X + 39) % 64), {"i": 64}),
        (te.if_then_else(X < N, X, N) <= N, {}),
        (X * X < 26, {"i": 6}),
        (X * N + Y < N * N, {"i": N, "j": N}),
        (X // N < 32, {"i": N * 32}),
        (X // N < M, {"i": N * M}),
        (X % N < N, {"i": N * M}),
        (X % V >= 0, {"i": V * 8}),
        (X // V >= 0, {"i": V * 8}),
        (X // V < 8, {"i": V * 8}),
        (te.not_equal(N, 0), {"i": N * M}),
        (X // N + 2 <= M + 1, {"i": N * M}),
        (te.any(te.equal(X, Y), te.not_equal(X // N, Y // N), te.not_equal(X % N, Y % N)), {"i": N * 8, "j": N * 8}),
    ],
)
def test_proven(condition: tir.PrimExpr, extents: dict[str, te.Value]) -> None:
    assert prove(condition, ranges(**extents)).verdict is Verdict.PROVEN


def test_answers_on_divisions_by_sizes_agree_with_small_sizes(random: np.random.Generator) -> None:
    for _ in range(60):
        extent, bound = (int(number) for number in random.integers(-2, 4, 2))
        parts = [X // N, X % N, Y // N, Y % N, X, Y, N]
        a, b = (parts[int(at)] for at in random.integers(0, len(parts), 2))
        compare = (make.less, make.less_equal, make.equal, make.not_equal)[int(random.integers(4))]
        condition = compare(make.add(a, bound), b)
        sizes = (N * (extent + 2), N * M)
        domains = ranges(i=sizes[0], j=sizes[int(random.integers(2))])
        if prove(condition, domains).verdict is not Verdict.PROVEN:
            continue
        for n, m, x, y in np.ndindex(4, 4, 12, 12):
            values = {N: n, M: m, X: x, Y: y}
            ends = [value_at(domain.extent, values) for domain in domains.values()]
            if all(end is not None and values[v] < end for v, end in zip(domains, ends, strict=True)):
                assert value_at(condition, values) != 0, f"{condition.script()} at {values}"


def test_counterexamples_are_small_and_within_all_that_is_given() -> None:
    proof = prove((X * 32 + Y < 128), ranges(i=4, j=33))
    assert proof.counterexample == {X: 3, Y: 32}
    assert prove((X < 10), {}, [(X < N), (N < 12)]).counterexample == {X: 10, N: 11}
    assert prove((X < N), ranges(i=10)).counterexample == {X: 0, N: 0}
    assert find_solution([(X * 4 + Y < 7), (X > 0)], ranges(i=10, j=10)) == {X: 1, Y: 0}
    assert find_solution([(X * 4 + Y < 4), (X > 0)], ranges(i=10, j=10)) is None


def test_what_memory_holds_is_unknown_but_the_same() -> None:
    buffer = tir.Buffer(tir.Var("handle", "A"), "int32", (make.const(8),), "A")
    element = make.buffer_load(buffer, (X,))
    assert prove((element < 8), ranges(i=8)).verdict is Verdict.UNKNOWN
    assert prove((te.minimum(element, 7) < 8), ranges(i=8)).verdict is Verdict.PROVEN
    assert prove(element < element + 1).verdict is Verdict.PROVEN


@pytest.mark.parametrize("op", ["tir.shift_left", "tir.shift_right"])
def test_shifts_beyond_all_bits_are_unknown(op: str) -> None:
    """Computed as Python does, `1 << 2**40` would fill the memory."""
    count = tir.Var("int64", "n")
    shifted = tir.Call("int64", Op(op), (tir.IntImm("int64", 1), count))
    assert value_at(shifted, {count: 2**40}) is None
    assert value_at(shifted, {count: 0}) == 1


def test_questions_asked_again_in_other_variables_have_the_answer_of_questions_asked_first(
    random: np.random.Generator,
) -> None:
    ours, theirs = ([tir.Var("int32", f"{name}{n}") for name in "ij"] for n in range(2))
    make_one = Expressions(random, ours, [0, 1, 2, 3, -1])
    for _ in range(60):
        asked, given = make_one.condition(2), make_one.condition(1)
        least, most = random.permutation(ours)
        for extent in (2, 5):
            domains = {least: tir.Range(make.const(0), make.const(extent)), most: tir.Range(make.const(0), least)}
            names = dict(zip(ours, theirs, strict=True))
            prove(asked, domains, (given,))
            again = prove(substitute(asked, names), {names[v]: substitute(d, names) for v, d in domains.items()},
                          (substitute(given, names),))  # fmt: skip
            forget()
            first = prove(asked, domains, (given,))
            assert again.verdict is first.verdict, asked.script()
            if first.counterexample is not None:
                assert again.counterexample == {names[v]: value for v, value in first.counterexample.items()}


def test_questions_of_other_dtypes_ranges_and_numbers_of_variables_are_others() -> None:
    size, free, byte = tir.SizeVar("int32", "n"), tir.Var("int32", "n"), tir.Var("int8", "n")
    for variable, is_proven in ((free, False), (size, True), (free, False)):
        assert prove(make.greater_equal(variable, 0)).is_proven is is_proven
    for variable, is_proven in ((free, False), (byte, True)):
        assert prove(make.less(make.cast(variable, "int64"), 128)).is_proven is is_proven
    assert prove(make.equal(X, X)).is_proven
    assert prove(make.equal(X, Y)).is_refuted
    zero, eight = make.const(0), make.const(8)
    assert prove(make.less(X, 8), {X: tir.Range(zero, eight)}).is_proven
    assert prove(make.less(X, 8), {X: Interval(zero, eight)}).is_refuted
    assert prove(make.less(X, 8), {}, (make.less(X, 8),)).is_proven
    assert prove(make.less(X, 8)).is_refuted
