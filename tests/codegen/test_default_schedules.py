"""Default schedules: what unscheduled functions compute with them is what they compute without, and what NumPy does."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import tvms
from tvms.codegen.rules import apply_rules, rules_for
from tvms.codegen.target import get_target
from tvms.ir.equal import structural_equal
from tvms.ir.interp import run


def decide(text: str) -> list[str]:
    """The decisions for the one function of `text`."""
    executable = tvms.compile(tvms.parse(text))
    return [str(decision) for decision in executable.decisions["main"]]


def product(m: int, n: int, k: int, a: str, b: str, dtype: str = "float32", c: str = "vi, vj") -> str:
    sizes = {"vi": m, "vj": n, "vk": k}

    def shape(indices: str) -> str:
        return f"({', '.join(str(sizes[name]) for name in indices.split(', '))})"

    return f"""
T.prim_func main(A: T.Buffer({shape(a)}, "{dtype}"), B: T.Buffer({shape(b)}, "{dtype}"), C: T.Buffer({shape(c)}, "{dtype}")):
    T.func_attr({{"tir.noalias": True}})
    for i, j, k in T.grid({m}, {n}, {k}):
        with T.block("matmul"):
            vi, vj, vk = T.axis.remap("SSR", [i, j, k])
            with T.init():
                C[{c}] = T.{dtype}(0)
            C[{c}] = C[{c}] + A[{a}] * B[{b}]
"""


SHAPES = [
    (64, 64, 64),
    (37, 50, 41),
    (1, 70, 90),
    (3, 129, 400),
    (100, 9, 33),
    (29, 1, 300),
    (15, 33, 700),
    (600, 70, 9),
    (250, 1300, 300),
    (301, 40, 520),
    (413, 1100, 300),
    (200, 33, 271),
]
LAYOUTS = [("vi, vk", "vk, vj"), ("vk, vi", "vk, vj"), ("vi, vk", "vj, vk"), ("vk, vi", "vj, vk")]


@pytest.mark.deep(4)
@pytest.mark.parametrize("number", range(len(SHAPES)))
def test_products_of_any_shape_and_layout(number: int) -> None:
    (m, n, k), (a, b) = SHAPES[number], LAYOUTS[number % 4]
    random = np.random.default_rng(number)
    left, right = random.standard_normal((m, k)), random.standard_normal((k, n))
    for c, dtype in (("vi, vj", "float32"), ("vj, vi", "float64")):
        call = tvms.compile(tvms.parse(product(m, n, k, a, b, dtype, c)))["main"]
        x, y = (left if a == "vi, vk" else left.T), (right if b == "vk, vj" else right.T)
        result = np.full((m, n) if c == "vi, vj" else (n, m), np.nan, dtype)
        call(np.ascontiguousarray(x, dtype), np.ascontiguousarray(y, dtype), result)
        expected = left.astype(dtype).astype("f8") @ right.astype(dtype).astype("f8")
        tolerance = 300 * float(np.finfo(dtype).eps) * k**0.5
        np.testing.assert_allclose(result if c == "vi, vj" else result.T, expected, atol=tolerance)


@pytest.mark.parametrize(("n", "k"), [(70, 90), (8, 1024), (13, 517), (5, 1000), (3, 2000), (301, 16)])
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_a_matrix_times_a_vector(n: int, k: int, dtype: str) -> None:
    text = product(1, n, k, "vi, vk", "vj, vk", dtype)
    assert [decision.partition(" (")[0] for decision in decide(text)] == ["block 'matmul': gemv"]
    random = np.random.default_rng(n)
    vector, matrix = random.standard_normal((1, k)).astype(dtype), random.standard_normal((n, k)).astype(dtype)
    result = np.full((1, n), np.nan, dtype)
    tvms.compile(tvms.parse(text))["main"](vector, matrix, result)
    tolerance = 300 * float(np.finfo(dtype).eps) * k**0.5
    np.testing.assert_allclose(result, vector.astype("f8") @ matrix.astype("f8").T, atol=tolerance)


@pytest.mark.parametrize("k", [16, 512, 784])
def test_where_a_matrix_lies_does_not_change_its_product_with_a_vector(k: int) -> None:
    multiply = tvms.compile(tvms.parse(product(1, 301, k, "vi, vk", "vj, vk")))["main"]
    random = np.random.default_rng(k)
    vector, memory = random.standard_normal((1, k), "f4"), np.empty(301 * k + 16, "f4")
    matrix, results = random.standard_normal((301, k), "f4"), []
    for offset in range(16):
        there = memory[offset : offset + matrix.size].reshape(matrix.shape)
        there[...] = matrix
        results.append(np.full((1, 301), np.nan, "f4"))
        multiply(vector, there, results[-1])
        np.testing.assert_array_equal(results[-1], results[0])


def test_products_with_symbolic_and_joined_axes() -> None:
    text = """
T.prim_func main(a: T.handle, b: T.handle, c: T.handle):
    n, m = T.int64(), T.int64()
    A = T.match_buffer(a, (3, n, 40), "float32")
    B = T.match_buffer(b, (40, m), "float32")
    C = T.match_buffer(c, (3, n, m), "float32")
    for h, i, j, k in T.grid(3, n, m, 40):
        with T.block("matmul"):
            vh, vi, vj, vk = T.axis.remap("SSSR", [h, i, j, k])
            with T.init():
                C[vh, vi, vj] = T.float32(0)
            C[vh, vi, vj] = C[vh, vi, vj] + A[vh, vi, vk] * B[vk, vj]
"""
    executable = tvms.compile(tvms.parse(text))
    assert [str(decision) for decision in executable.decisions["main"]] == ["block 'matmul': matmul"]
    random = np.random.default_rng(1)
    for n, m in ((1, 1), (7, 31), (50, 64), (0, 5), (13, 100)):
        a, b = random.standard_normal((3, n, 40)).astype("f4"), random.standard_normal((40, m)).astype("f4")
        c = np.full((3, n, m), np.nan, "f4")
        executable["main"](a, b, c)
        np.testing.assert_allclose(c, a @ b, atol=1e-4)


SOFTMAX = """
T.prim_func main(A: T.Buffer(({m}, {n}), "float32"), B: T.Buffer(({m}, {n}), "float32")):
    M = T.alloc_buffer(({m},), "float32")
    E = T.alloc_buffer(({m}, {n}), "float32")
    S = T.alloc_buffer(({m},), "float32")
    for i, k in T.grid({m}, {n}):
        with T.block("greatest"):
            vi, vk = T.axis.remap("SR", [i, k])
            with T.init():
                M[vi] = T.min_value("float32")
            M[vi] = T.max(M[vi], A[vi, vk])
    for i, k in T.grid({m}, {n}):
        with T.block("exponential"):
            vi, vk = T.axis.remap("SS", [i, k])
            E[vi, vk] = T.exp(A[vi, vk] - M[vi])
    for i, k in T.grid({m}, {n}):
        with T.block("total"):
            vi, vk = T.axis.remap("SR", [i, k])
            with T.init():
                S[vi] = T.float32(0)
            S[vi] = S[vi] + E[vi, vk]
    for i, k in T.grid({m}, {n}):
        with T.block("quotient"):
            vi, vk = T.axis.remap("SS", [i, k])
            B[vi, vk] = E[vi, vk] / S[vi]
"""


@pytest.mark.parametrize(("m", "n"), [(3, 16), (5, 77), (40, 1000)])
def test_a_softmax_is_computed_row_by_row(m: int, n: int) -> None:
    executable = tvms.compile(tvms.parse(SOFTMAX.format(m=m, n=n)))
    taken = [str(decision) for decision in executable.decisions["main"] if decision.rule]
    assert taken == ["block 'greatest, exponential, total, quotient': rows"]
    a = np.random.default_rng(m).standard_normal((m, n)).astype("f4") * 5
    b = np.empty_like(a)
    executable["main"](a, b)
    e = np.exp(a.astype("f8") - a.max(1, keepdims=True))
    np.testing.assert_allclose(b, e / e.sum(1, keepdims=True), rtol=1e-5)


CHAIN = """
T.prim_func main(A: T.Buffer((31, 45), "float32"), C: T.Buffer((45,), "float32"), B: T.Buffer((31, 45), "float32")):
    X = T.alloc_buffer((31, 45), "float32")
    Y = T.alloc_buffer((31, 45), "float32")
    for i, j in T.grid(31, 45):
        with T.block("scale"):
            vi, vj = T.axis.remap("SS", [i, j])
            X[vi, vj] = A[vi, vj] * T.float32(0.5)
    for i, j in T.grid(31, 45):
        with T.block("bend"):
            vi, vj = T.axis.remap("SS", [i, j])
            Y[vi, vj] = {bend}
    for i, j in T.grid(31, 45):
        with T.block("shift"):
            vi, vj = T.axis.remap("SS", [i, j])
            B[vi, vj] = Y[vi, vj] * C[vj]
"""


def test_chains_become_one_loop(agree: Any, numbers: Any) -> None:
    args = [numbers((31, 45), "float32"), numbers(45, "float32"), numbers((31, 45), "float32")]
    for bend in ("T.tanh(X[vi, vj])", "X[vi, vj] * X[vi, vj]", "T.exp(X[vi, vj]) * X[vi, vj]"):
        text = CHAIN.format(bend=bend)
        agree(text, *args, ulps=4)
        assert decide(text)[-1] == "block 'shift': rows"


REDUCTIONS = """
T.prim_func main(A: T.Buffer((37, 70), "{dtype}"), R: T.Buffer((37,), "{dtype}"), C: T.Buffer((70,), "{dtype}")):
    for i, k in T.grid(37, 70):
        with T.block("rows"):
            vi, vk = T.axis.remap("SR", [i, k])
            with T.init():
                R[vi] = T.{dtype}(1)
            R[vi] = {rows}
    for j, k in T.grid(70, 37):
        with T.block("columns"):
            vj, vk = T.axis.remap("SR", [j, k])
            with T.init():
                C[vj] = T.{dtype}(1)
            C[vj] = {columns}
"""


@pytest.mark.parametrize("dtype", ["float32", "float64", "int32", "int8"])
@pytest.mark.parametrize("combine", ["{0} + {1}", "T.max({0}, {1})", "T.min({1}, {0})"])
def test_reductions_of_rows_and_columns(dtype: str, combine: str, agree: Any, numbers: Any) -> None:
    rows, columns = combine.format("R[vi]", "A[vi, vk]"), combine.format("C[vj]", "A[vk, vj]")
    args = [numbers((37, 70), dtype), numbers(37, dtype), numbers(70, dtype)]
    agree(REDUCTIONS.format(dtype=dtype, rows=rows, columns=columns), *args)


@pytest.mark.parametrize("shape", [(16, 16), (50, 33), (3, 20, 40)])
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_transposes(shape: tuple[int, ...], dtype: str, agree: Any, numbers: Any) -> None:
    rank = len(shape)
    names = [f"v{axis}" for axis in range(rank)]
    swapped = [*names[:-2], names[-1], names[-2]]
    sizes = [*shape[:-2], shape[-1], shape[-2]]
    text = f"""
T.prim_func main(A: T.Buffer({shape}, "{dtype}"), B: T.Buffer({tuple(sizes)}, "{dtype}")):
    for {", ".join(f"i{axis}" for axis in range(rank))} in T.grid{tuple(sizes)}:
        with T.block("swap"):
            {", ".join(names)} = T.axis.remap("{"S" * rank}", [{", ".join(f"i{axis}" for axis in range(rank))}])
            B[{", ".join(names)}] = A[{", ".join(swapped)}]
"""
    agree(text, numbers(shape, dtype), numbers(sizes, dtype))


def test_arguments_that_overlap_run_as_the_program_says(agree: Any) -> None:
    """Only `tir.noalias` promises that arguments do not overlap; without it, each step sees what the one before wrote."""
    text = """
T.prim_func main(A: T.Buffer((64,), "float32"), B: T.Buffer((64,), "float32")):
    for i in range(64):
        with T.block("next"):
            vi = T.axis.spatial(64, i)
            B[vi] = A[vi] + T.float32(1)
"""
    module, memory = tvms.parse(text), np.zeros(65, "f4")
    expected = memory.copy()
    run(module, "main", [expected[:64], expected[1:]])
    tvms.compile(module)["main"](memory[:64], memory[1:])
    np.testing.assert_array_equal(memory, expected)
    np.testing.assert_array_equal(memory, np.arange(65))


def test_the_schedule_is_a_program_like_any_other() -> None:
    """What a rule makes can be printed, read back, interpreted, and compiled from its text."""
    text = product(20, 37, 18, "vi, vk", "vk, vj")
    function: Any = tvms.parse(text).functions["main"]
    scheduled, _ = apply_rules(function, rules_for(get_target("llvm").processor))
    module = tvms.parse(scheduled.script())
    again = module.functions["main"]
    assert structural_equal(scheduled, again)
    random = np.random.default_rng(2)
    a, b = random.standard_normal((20, 18)).astype("f4"), random.standard_normal((18, 37)).astype("f4")
    results: list[np.ndarray[Any, Any]] = []
    for call in (tvms.compile(function)["main"], tvms.compile(again)["main"], lambda *args: run(module, "main", args)):
        results.append(np.zeros((20, 37), "f4"))
        call(a, b, results[-1])
    np.testing.assert_array_equal(results[0], results[1])
    np.testing.assert_array_equal(results[0], results[2])


def test_results_do_not_depend_on_threads() -> None:
    random = np.random.default_rng(3)
    a, b = random.standard_normal((700, 90)).astype("f4"), random.standard_normal((90, 300)).astype("f4")
    results: list[np.ndarray[Any, Any]] = []
    for threads in (1, 2, 3, 5):
        results.append(np.empty((700, 300), "f4"))
        text = product(700, 300, 90, "vi, vk", "vk, vj")
        tvms.compile(tvms.parse(text), threads=threads)["main"](a, b, results[-1])
    for other in results[1:]:
        np.testing.assert_array_equal(results[0], other)


def test_rules_say_why_they_decline() -> None:
    assert decide(product(2, 2, 2, "vi, vk", "vk, vj"))[0].startswith(
        "block 'matmul': not scheduled (matmul: it is too small: fewer than 4096 steps"
    )
    scheduled = product(64, 64, 64, "vi, vk", "vk, vj").replace(
        "for i, j, k in T.grid(64, 64, 64):", "for i in T.parallel(64):\n      for j, k in T.grid(64, 64):"
    )
    assert decide(scheduled) == ["block '': not scheduled (all: loop 'i' is scheduled already)"]


ARGUMENT = """
T.prim_func main(A: T.Buffer(({n}, {m}), "float32"), I: T.Buffer(({n},), "int64"), V: T.Buffer(({n},), "float32")):
    for i, k in T.grid({n}, {m}):
        with T.block("argument"):
            vi, vk = T.axis.remap("SR", [i, k])
            with T.init():
                I[vi] = T.int64(-1)
                V[vi] = T.{start}("float32")
            index: T.int64 = T.Select(V[vi] {sign} A[vi, vk] or V[vi] != V[vi] and A[vi, vk] == A[vi, vk] or (V[vi] {sign}= A[vi, vk] or V[vi] != V[vi]) and I[vi] < T.Cast("int64", vk), I[vi], T.Cast("int64", vk))
            value: T.float32 = T.Select(V[vi] {sign}= A[vi, vk] or V[vi] != V[vi], V[vi], A[vi, vk])
            I[vi] = index
            V[vi] = value
"""


@pytest.mark.deep(3)
@pytest.mark.parametrize(("sign", "start"), [(">", "min_value"), ("<", "max_value")])
@pytest.mark.parametrize(("n", "m"), [(3, 16), (5, 131), (300, 259)])
def test_the_first_of_the_greatest_is_found_by_vectors(
    sign: str, start: str, n: int, m: int, agree: Any, numbers: Any
) -> None:
    text = ARGUMENT.format(n=n, m=m, sign=sign, start=start)
    assert decide(text) == ["block 'argument': argument"]
    rows = np.random.default_rng(m).integers(-9, 9, (n, m)).astype("f4")
    call = tvms.compile(tvms.parse(text))["main"]
    index, value = np.zeros(n, "i8"), np.zeros(n, "f4")
    call(rows, index, value)
    find = np.argmax if sign == ">" else np.argmin
    np.testing.assert_array_equal(index, find(rows, 1))
    np.testing.assert_array_equal(value, np.take_along_axis(rows, find(rows, 1)[:, None], 1)[:, 0])
    if n < 300:
        agree(text, rows, index, value)
        rows[:, ::7] = np.nan
        agree(text, rows, index, value)


def test_a_gather_runs_by_vectors_and_checks_what_it_reads() -> None:
    text = """
T.prim_func main(A: T.Buffer((10, 48), "float32"), I: T.Buffer((7,), "int32"), B: T.Buffer((7, 48), "float32")):
    for i, j in T.grid(7, 48):
        with T.block("take"):
            vi, vj = T.axis.remap("SS", [i, j])
            B[vi, vj] = A[I[vi], vj]
"""
    assert decide(text)[-1] == "block 'take': rows"
    call = tvms.compile(tvms.parse(text))["main"]
    a, places, b = (
        np.random.default_rng(0).random((10, 48)).astype("f4"),
        np.arange(7, dtype="i4"),
        np.zeros((7, 48), "f4"),
    )
    call(a, places, b)
    np.testing.assert_array_equal(b, a[:7])
    for wrong in (10, -1):
        places[3] = wrong
        with pytest.raises(tvms.TvmsError) as caught:
            call(a, places, b)
        (problem,) = caught.value.diagnostics
        assert problem.message == f"A[{wrong}, 0] is outside the buffer: its dimension 0 has 10 elements"


TWO_SUMS = """
T.prim_func main(A: T.Buffer((6, 300), "float32"), S: T.Buffer((6,), "float32"), Q: T.Buffer((6,), "float32")):
    for i, k in T.grid(6, 300):
        with T.block("sums"):
            vi, vk = T.axis.remap("SR", [i, k])
            with T.init():
                S[vi] = T.float32(0)
                Q[vi] = T.float32(0)
            first: T.float32 = S[vi] + A[vi, vk]
            second: T.float32 = Q[vi] + A[vi, vk] * {factor}
            S[vi] = first
            Q[vi] = second
"""


@pytest.mark.parametrize(("factor", "is_separate"), [("A[vi, vk]", True), ("S[vi]", False)])
def test_two_sums_of_a_block_are_separate_if_they_are_independent(factor: str, is_separate: bool, agree: Any) -> None:
    text = TWO_SUMS.format(factor=factor)
    decisions = decide(text)
    assert ("block 'sums, sums': rows" in decisions) == is_separate
    assert any("'sums' contains more than one store" in decision for decision in decisions) != is_separate
    values = np.random.default_rng(6).standard_normal((6, 300), np.float32)
    agree(text, values, np.zeros(6, np.float32), np.zeros(6, np.float32))


def test_a_group_normalization_reads_its_data_in_place() -> None:
    text = """
R.function main(x: R.Tensor((2, 6, 16, 16), "float32"), g: R.Tensor((6,), "float32"), b: R.Tensor((6,), "float32")):
    return R.nn.group_norm(x, g, b, num_groups=3, channel_axis=1, axes=[2, 3])
"""
    module, random = tvms.parse(text), np.random.default_rng(7)
    executable = tvms.compile(module)
    (decisions,) = (found for name, found in executable.decisions.items() if name != "main")
    assert any(found.rule == "rows" and found.block.startswith("x_red_temp, x_red_temp") for found in decisions)
    assert not any(found.rule and found.block.startswith("T_reshape, x_red_temp") for found in decisions)
    arrays = [random.standard_normal(shape, np.float32) for shape in ((2, 6, 16, 16), (6,), (6,))]
    expected = tvms.interpret(module, "main", arrays)
    np.testing.assert_allclose(executable["main"](*arrays), expected, rtol=1e-4, atol=1e-5)
