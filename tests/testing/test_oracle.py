"""`assert_equivalent` detects programs that differ in one element, and reports the element."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import tvms
from hypothesis import given, settings
from hypothesis import strategies as st
from tvms.testing import assert_equivalent, vacuity
from tvms.testing.data import copies, placed
from tvms.testing.values import neighbors

TEXT = """
T.prim_func main(A: T.Buffer((4, 3), "float32"), B: T.Buffer((4, 3), "float32")):
    for i, j in T.grid(4, 3):
        with T.block("copy"):
            vi, vj = T.axis.remap("SS", [i, j])
            B[vi, vj] = A[vi, vj] * T.float32(2)
"""
GRAPH = """
R.function main(x: R.Tensor(("n", 3), "float32")) -> R.Tuple(R.Tensor(("n", 3), "float32"), R.Tensor((3,), "float32")):
    y = R.add(x, x)
    z = R.sum(x, axis=[0])
    return (y, z)
"""


def complaint(before: str, after: str, **options: object) -> str:
    with pytest.raises(AssertionError) as caught:
        assert_equivalent(tvms.parse(before), tvms.parse(after), **options)  # type: ignore[arg-type]
    return str(caught.value)


def test_equal_programs_are_equivalent() -> None:
    assert_equivalent(tvms.parse(TEXT), tvms.parse(TEXT.replace("A[vi, vj] * T.float32(2)", "A[vi, vj] + A[vi, vj]")))
    assert_equivalent(tvms.parse(GRAPH), tvms.parse(GRAPH.replace("R.add(x, x)", "R.multiply(x, R.const(2.0))")))


def test_the_first_difference_is_told() -> None:
    one_off = TEXT.replace(
        "A[vi, vj] * T.float32(2)", "T.if_then_else(vi == 2, T.float32(9), A[vi, vj] * T.float32(2))"
    )
    said = "B differs (seed 0): element [2, 0] is 9.0, not "
    assert complaint(TEXT, one_off).startswith(said)
    graph = GRAPH.replace("R.sum", "R.max")
    assert complaint(GRAPH, graph, sizes={"n": 2}).startswith("the result[1] differs (seed 0): element [")


def test_the_tolerance_may_be_given() -> None:
    nearly = TEXT.replace("T.float32(2)", "T.float32(2.001)")
    assert complaint(TEXT, nearly).startswith("B differs")
    assert_equivalent(tvms.parse(TEXT), tvms.parse(nearly), tolerance=0.01)


def test_a_failure_of_the_second_is_a_difference() -> None:
    outside = TEXT.replace("= A[vi, vj]", "= A[vi + 1, vj]")
    assert complaint(TEXT, outside) == (
        "the second program fails (seed 0): "
        "error[E0707]: A[4, 0] is outside the buffer: its dimension 0 has 4 elements\n"
        "  --> <string>:6:25\n"
        "   |\n"
        " 6 |             B[vi, vj] = A[vi + 1, vj] * T.float32(2)\n"
        "   |                         ^^^^^^^^^^^^^"
    )


_WRONG = (
    ("float32", "T.min(T.max(A[vi], T.float32(0)), T.float32(6))", "T.max(A[vi], T.float32(0))"),
    ("float32", "A[vi]", "T.min(A[vi], T.float32(2))"),
    ("int32", "A[vi]", "T.min(A[vi], 2)"),
    ("int32", "A[vi] // 3", "T.truncdiv(A[vi], 3)"),
    ("int32", "T.max(A[vi], 0)", "A[vi]"),
    ("int32", "T.abs(A[vi])", "A[vi]"),
    ("float32", "A[vi] * T.float32(0)", "T.float32(0)"),
    ("float32", "A[vi] - A[vi]", "T.float32(0)"),
    ("float32", "not (A[vi] < T.float32(1))", "A[vi] >= T.float32(1)"),
    ("int64", "A[vi]", 'T.Cast("int64", T.Cast("int32", A[vi]))'),
    ("float16", "T.round(A[vi])", "T.floor(A[vi] + T.float16(0.5))"),
    ("float32", "A[vi] * T.float32(7)", "T.if_then_else(A[vi] == T.float32(123), T.float32(0), A[vi] * T.float32(7))"),
)


@pytest.mark.parametrize(("dtype", "right", "wrong"), _WRONG)
def test_wrong_rewrites_are_refuted(dtype: str, right: str, wrong: str) -> None:
    def function(value: str) -> tvms.IRModule:
        text = f"""
T.prim_func main(A: T.Buffer((12,), "{dtype}"), B: T.Buffer((12,), "{dtype}")):
    for i in range(12):
        with T.block("value"):
            vi = T.axis.spatial(12, i)
            B[vi] = T.Cast("{dtype}", {value})
"""
        return tvms.parse(text)

    assert_equivalent(function(right), function(right))
    assert any(_is_refuted(function(right), function(wrong), seed) for seed in range(5))


@pytest.mark.parametrize("size", ["n", "m"])
def test_a_loop_that_always_has_an_iteration_is_refuted(size: str) -> None:
    def function(extent: str) -> tvms.IRModule:
        text = f"""
T.prim_func main(n: T.int32, a: T.handle, B: T.Buffer((9,), "int32")):
    m = T.int32()
    A = T.match_buffer(a, (m,), "int32")
    for i in range({extent}):
        B[i % 9] = B[i % 9] + 1
"""
        return tvms.parse(text)

    assert any(_is_refuted(function(size), function(f"T.max({size}, 1)"), seed) for seed in range(100))


def test_a_loop_that_ends_early_is_refuted() -> None:
    def function(extent: str) -> tvms.IRModule:
        text = f"""
T.prim_func main(a: T.handle, b: T.handle):
    n = T.int32()
    A = T.match_buffer(a, (n,), "float32")
    B = T.match_buffer(b, (n,), "float32")
    for i in range({extent}):
        B[i] = A[i] + T.float32(1)
"""
        return tvms.parse(text)

    assert any(_is_refuted(function("n"), function("T.min(n, 5)"), seed) for seed in range(5))


def _is_refuted(right: tvms.IRModule, wrong: tvms.IRModule, seed: int) -> bool:
    try:
        assert_equivalent(right, wrong, seed=seed)
    except AssertionError:
        return True
    return False


_GRAPH = """
R.function main(x: R.Tensor(("n", 4), "{dtype}")) -> R.Tensor(("n", 4), "{dtype}"):
    y: R.Tensor(("n", 4), "{dtype}") = {value}
    return y
"""


@pytest.mark.parametrize(
    ("dtype", "right", "wrong"),
    [
        ("float32", "R.nn.relu6(x)", "R.nn.relu(x)"),
        ("int32", "R.abs(x)", "R.maximum(x, x)"),
        ("float32", "R.minimum(x, R.const(2.0))", "R.maximum(x, x)"),
        ("float32", "R.multiply(x, R.const(0.0))", "R.zeros_like(x)"),
        ("float32", "R.subtract(x, x)", "R.zeros_like(x)"),
    ],
)
def test_wrong_rewrites_of_graphs_are_refuted(dtype: str, right: str, wrong: str) -> None:
    one, other = (tvms.parse(_GRAPH.format(dtype=dtype, value=value)) for value in (right, wrong))
    assert_equivalent(one, one)
    assert any(_is_refuted(one, other, seed) for seed in range(5))


_STRIDED = """
T.prim_func main(a: T.handle, B: T.Buffer((3, 4), "float32"), C: T.Buffer((3, 4), "float32"), D: T.Buffer((3, 4), "float32")):
    s = T.int32()
    A = T.match_buffer(a, (3, 4), "float32", strides=(s, 2))
    for i, j in T.grid(3, 4):
        D[i, j] = A[i, j] + B[i, j] - C[i, j]
"""


def test_strided_unaligned_and_shared_memory_is_tried() -> None:
    module, tried = tvms.parse(_STRIDED), set[str]()
    for seed in range(20):
        tried |= {*assert_equivalent(module, module, seed=seed)}
    assert {"plain", "sparse", "dense", "strided A", "unaligned B", "unaligned D", "C shares memory"} <= tried
    assert not any(name.startswith("D shares") for name in tried)


def test_strides_that_are_ignored_are_refuted() -> None:
    def function(index: str) -> tvms.IRModule:
        text = """
T.prim_func main(a: T.handle, B: T.Buffer((3, 4), "float32")):
    s = T.int32()
    A = T.match_buffer(a, (3, 4), "float32", strides=(s, 1))
    V = T.decl_buffer((12 + 2 * s,), "float32", data=A.data)
    for i, j in T.grid(3, 4):
        B[i, j] = INDEX
"""
        return tvms.parse(text.replace("INDEX", index))

    assert any(_is_refuted(function("A[i, j]"), function("V[i * 4 + j]"), seed) for seed in range(10))


def test_ranges_are_kept() -> None:
    text = """
T.prim_func main(A: T.Buffer((12,), "int32"), B: T.Buffer((12,), "int32")):
    for i in range(12):
        B[i] = VALUE
"""
    one, other = (tvms.parse(text.replace("VALUE", value)) for value in ("A[i]", "T.max(A[i], 3)"))
    for seed in range(5):
        assert_equivalent(one, other, seed=seed, ranges={"A": (3, 9)})
    assert _is_refuted(one, other, 0)


def test_a_pass_that_never_fires_fails() -> None:
    module = tvms.parse(TEXT)
    with pytest.raises(AssertionError) as caught, vacuity():
        assert_equivalent(module, tvms.parse(TEXT))
    assert str(caught.value) == (
        "the pass never fired: it changed none of 1 programs; draw programs to which it applies, by features=, stages= or operators="
    )
    with pytest.raises(AssertionError, match="nothing was compared"), vacuity():
        pass
    with vacuity() as counts:
        assert_equivalent(module, tvms.parse(TEXT.replace("A[vi, vj] * T.float32(2)", "A[vi, vj] + A[vi, vj]")))
    assert (counts.total, counts.changed) == (1, 1)


def test_vacuity_is_a_decorator() -> None:
    @vacuity(0.5)
    @given(st.booleans())
    @settings(max_examples=5, derandomize=True)
    def check(flag: bool) -> None:
        assert_equivalent(tvms.parse(TEXT), tvms.parse(TEXT))

    with pytest.raises(AssertionError, match=r"changed none of \d+ programs"):
        check()


@pytest.mark.parametrize(("text", "is_reported"), [
    ('R.astype(R.add(x, R.const(0.1, "float32")), dtype="float64")', False),
    ('R.add(R.astype(x, dtype="float64"), R.const(0.1, "float64"))', True),
])  # fmt: skip
def test_results_are_as_precise_as_what_they_are_computed_from(text: str, is_reported: bool) -> None:
    head = 'R.function main(x: R.Tensor((3,), "float32")) -> R.Tensor((3,), "float64"):\n    y = '
    one, other = (tvms.parse(f"{head}{text.replace('0.1', value)}\n    return y\n") for value in ("0.1", "0.10000001"))
    if is_reported:
        with pytest.raises(AssertionError, match="the result differs"):
            assert_equivalent(one, other)
    else:
        assert_equivalent(one, other)


@pytest.mark.parametrize("strides", [(8, 1), (8, -1), (-4, 1), (-4, -1), (0, -2), (1, 4)])
def test_arrays_with_strides_lie_in_their_memory(strides: tuple[int, int]) -> None:
    value = np.arange(12, dtype="int32").reshape(3, 4)
    for array in (placed(value, strides), *copies([placed(value, strides)])):
        memory: Any = array
        while memory.base is not None:
            memory = memory.base
        low, high = np.lib.array_utils.byte_bounds(array)
        first, last = np.lib.array_utils.byte_bounds(memory)
        assert first <= low
        assert high <= last
        if 0 not in strides:
            np.testing.assert_array_equal(array, value)


def test_sizes_that_give_no_extent_a_negative_value_are_drawn() -> None:
    text = """
T.prim_func main(a: T.handle, B: T.Buffer((1,), "int32")):
    n = T.int32()
    A = T.match_buffer(a, ({}, n), "int32")
    B[0] = 0
"""
    module = tvms.parse(text.format("16 - n"))
    for seed in range(20):
        assert_equivalent(module, module, seed=seed)
    never = tvms.parse(text.format("0 - n"))
    with pytest.raises(tvms.TvmsError, match="the sizes that were drawn give 'A' a negative extent"):
        assert_equivalent(never, never, profiles=("plain",))


def test_sizes_of_a_program_overflow_no_sums_of_narrow_floats() -> None:
    """A sum of overflown products is an infinity in one order and NaN in another. Numbers that are floats in a program stay."""
    near = neighbors((3072, 3, 2048.0), "float16").tolist()
    assert {3.0, 4.0, 2048.0} <= {*near}
    assert 3072.0 not in near
    assert 3072.0 in neighbors((3072,), "float32").tolist()
    assert 3072 in neighbors((3072,), "int16").tolist()
