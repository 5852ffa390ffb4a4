"""Whole functions in normal form do what they did; what never runs goes, comments stay."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tvms.dsl.load import parse
from tvms.dsl.testing import prim_funcs
from tvms.dsl.testing.oracle import as_module, assert_equivalent
from tvms.dsl.testing.stages import STAGES
from tvms.ir import tir
from tvms.ir.base import IRModule
from tvms.ir.diagnostics import Diagnostic
from tvms.ir.equal import structural_equal
from tvms.ir.simplify import simplify_statements
from tvms.ir.verify import verify

HEAD = 'T.prim_func f(A: T.Buffer((128, 128), "float32"), B: T.Buffer((128, 128), "float32"), n: T.int32):\n'


def simplified(body: str) -> str:
    """The text of the function that has `body`, simplified, without its head."""
    module = parse(HEAD + "".join(f"    {line}\n" for line in body.splitlines()))
    assert isinstance(module, IRModule)
    (function,) = module.functions.values()
    assert isinstance(function, tir.PrimFunc)
    text = str(simplify_statements(function))
    return "\n".join(line[4:] for line in text.splitlines()[1:])


def errors(function: tir.PrimFunc) -> list[Diagnostic]:
    return [diagnostic for diagnostic in verify(function) if diagnostic.severity == "error"]


@pytest.mark.parametrize("stages", [tuple(STAGES), ("statements",)], ids=["blocks", "statements"])
@given(st.data())
@settings(max_examples=25)
def test_functions_do_what_they_did(stages: tuple[str, ...], data: st.DataObject) -> None:
    function = data.draw(prim_funcs(stages=stages))
    simple = simplify_statements(function)
    module = as_module(simple)
    assert structural_equal(parse(str(module)), module)
    assert errors(simple) == errors(
        function
    )  # a warning may disappear, such as the one about ties, if the index becomes a plain variable
    assert_equivalent(function, simple, integers=(-8, 9))  # sums of indices do not overflow
    assert structural_equal(simplify_statements(simple), simple)


def test_guards_that_hold_go_and_their_comments_stay() -> None:
    body = """
for i, j in T.grid(8, 16):
    # the guard
    if i * 16 + j < 128:
        B[0, i * 16 + j] = A[(i * 16 + j) // 128, (i * 16 + j) % 128]"""
    assert simplified(body[1:]) == body[1:].replace("(i * 16 + j) // 128, (i * 16 + j) % 128", "0, i * 16 + j").replace(
        "    if i * 16 + j < 128:\n        ", "    "
    )


def test_what_never_runs_or_does_nothing_goes() -> None:
    body = "A[0, 0] = T.float32(1)\nfor i in range(n - n):\n    A[i, 0] = T.float32(2)\nif n < n:\n    A[0, 1] = T.float32(2)\nA[n + 0, 0] = A[n, 0]"
    assert simplified(body) == "A[0, 0] = T.float32(1)"


def test_an_empty_reduction_keeps_its_init() -> None:
    body = """
for k in range(0):
    with T.block("sum"):
        vk = T.axis.reduce(0, k)
        T.reads(A[0, vk])
        T.writes(B[0, 0])
        with T.init():
            B[0, 0] = T.float32(0)
        B[0, 0] = B[0, 0] + A[0, vk]"""
    assert simplified(body[1:]) == body[1:]


def test_what_memory_holds_may_change() -> None:
    body = (
        "if A[0, 0] == B[0, 0]:\n    A[0, 0] = T.float32(1)\n    if A[0, 0] == B[0, 0]:\n        B[0, 0] = T.float32(2)"
    )
    assert simplified(body) == body


def test_ranges_with_symbols_and_blocks() -> None:
    body = """
for i in range(n):
    if i < n:
        with T.block("b"):
            vi = T.axis.spatial(n, i + 0)
            T.reads(A[T.min(vi, n), 0])
            T.writes(B[vi, 0])
            B[T.max(vi, 0), 0] = A[T.min(vi, n), 0]"""
    wanted = """
for i in range(n):
    with T.block("b"):
        vi = T.axis.spatial(n, i)
        T.reads(A[vi, 0])
        T.writes(B[vi, 0])
        B[vi, 0] = A[vi, 0]"""
    assert simplified(body[1:]) == wanted[1:]


def test_values_of_boolean_variables_prove_conditions() -> None:
    body = """\
for i in range(128):
    inside = i < 100
    also = inside and n < 5
    if inside or i >= 100:
        A[i, 0] = B[i, 0]
    if i < 100:
        if inside:
            A[i, 1] = B[i, 1]
    if also:
        if i < 100 and n < 6:
            A[i, 2] = B[i, 2]
        if not inside:
            A[i, 3] = B[i, 3]
    if inside:
        A[i, 4] = T.Select(inside, B[i, 4], B[i, 5])
"""
    assert (
        simplified(body)
        == """\
for i in range(128):
    inside: T.bool = i < 100
    also: T.bool = inside and n < 5
    A[i, 0] = B[i, 0]
    if i < 100:
        A[i, 1] = B[i, 1]
    if also:
        A[i, 2] = B[i, 2]
    if inside:
        A[i, 4] = B[i, 4]"""
    )


def test_variables_with_trivial_values_are_inlined() -> None:
    body = """\
# the number of rows
rows: T.int32 = 4 + 6
m: T.int32 = n
k: T.int32 = rows * m
C = T.decl_buffer((m,), "float32", data=A.data)
for i in range(rows):
    if i < 12 and rows == 10:
        C[m - 1] = B[i, k]
"""
    assert (
        simplified(body)
        == """\
# the number of rows
m: T.int32 = n
k: T.int32 = m * 10
C = T.decl_buffer((m,), data=A.data)
for i in range(10):
    C[m - 1] = B[i, k]"""
    )


def test_long_chains_of_variables_take_linear_time() -> None:
    lines = ["c0: T.bool = n < 5", *(f"c{k}: T.bool = c{k - 1} and c{k - 1}" for k in range(1, 200))]
    lines += [
        "v0: T.int32 = n",
        *(f"v{k}: T.int32 = v{k - 1}" for k in range(1, 200)),
        "if c199:",
        "    A[v199, 0] = B[0, 0]",
    ]
    assert "A[n, 0] = B[0, 0]" in simplified("\n".join(lines) + "\n")


@pytest.mark.parametrize(
    ("written", "stated"),
    [
        ("n <= 5", "n <= 5"),
        ("n < 6", "n < 6"),
        ("0 < n", "0 < n"),
        ("n >= 1", "1 <= n"),
        ("n + 1 <= 6", "n <= 5"),
        ("not n < 6", "6 <= n"),
        ("not (n <= 5 and m < 3)", "5 < n or 3 <= m"),
        ("n <= m + 5", "n <= m + 5"),
        ("n < m + 6 and m <= 2", "n < m + 6 and m <= 2"),
        ("T.if_then_else(n <= 5, m < 3, m <= 1)", "T.if_then_else(n <= 5, m < 3, m <= 1)"),
    ],
)
def test_comparisons_are_as_strict_as_they_are_written(written: str, stated: str) -> None:
    found = simplified(f"m = T.int32()\nif {written}:\n    A[0, 0] = T.float32(1)").removeprefix("m = T.int32()\n")
    assert found == f"if {stated}:\n    A[0, 0] = T.float32(1)"


@pytest.mark.parametrize(
    ("known", "written", "stated"),
    [
        ("n <= m", "m <= n", "m == n"),
        ("n <= 0", "0 <= n", "n == 0"),
        ("n <= m", "n != m", "n < m"),
        ("n != m", "m <= n", "m < n"),
        ("n != 0", "n <= 0", "n < 0"),
        ("n <= m", "n < m", "n < m"),
        ("n < m + 1", "n != m", "n < m"),
    ],
)
def test_comparisons_are_as_narrow_as_what_is_known_allows(known: str, written: str, stated: str) -> None:
    body = "if {}:\n    if {}:\n        A[0, 0] = T.float32(1)"
    found = simplified("m = T.int32()\n" + body.format(known, written)).removeprefix("m = T.int32()\n")
    assert found == body.format(known, stated)


def test_an_inequality_of_an_equal_value_is_known() -> None:
    body = "m = T.int32()\nk = T.int32()\nif n == m and m + 2 != k:\n    if {}:\n        A[0, 0] = T.float32(1)"
    assert simplified(body.format("n + 2 != k")).count("if") == 1
    assert simplified(body.format("n + 1 != k")).count("if") == 2


def test_statements_rely_on_an_assumption_before_them() -> None:
    body = "T.assume(n < 4)\nif n < 5:\n    A[0, 0] = T.float32(1)"
    assert simplified(body) == "T.assume(n < 4)\nA[0, 0] = T.float32(1)"
    inner = "if n == 2:\n    T.assume(n < 4)\n    T.evaluate(n)\nif n < 5:\n    A[0, 0] = T.float32(1)"
    assert "if n < 5" in simplified(inner)


def test_sizes_of_arguments_are_not_negative() -> None:
    text = 'T.prim_func f(a: T.handle):\n    n = T.int32()\n    A = T.match_buffer(a, (n * 4 - 1,), "int32")\n    A[T.min(n, {})] = 0\n'
    for most, index in ((1, "A[1]"), (0, "A[0]"), (2, "A[T.min(n, 2)]")):
        (function,) = parse(text.format(most)).functions.values()
        assert index in str(simplify_statements(function))


def test_bounds_of_shifts_by_a_variable() -> None:
    body = "for i in range(16):\n    if {}:\n        A[0, 0] = T.float32(1)"
    for condition, is_known in (
        ("T.shift_left(1, i) >= 1", True),
        ("T.shift_left(31, i) <= 1015808", True),
        ("T.shift_left(31, i) <= 1015807", False),
        ("T.shift_left(i - 2, i) >= -65536", True),
        ("T.shift_left(i - 2, i) >= -65535", False),
        ("T.shift_left(1000000, i) >= 0", False),
        ("T.shift_left(1, i - 1) >= 0", False),
    ):
        assert ("if" not in simplified(body.format(condition))) == is_known, condition
