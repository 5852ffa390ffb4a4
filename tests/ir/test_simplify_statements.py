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


@pytest.mark.parametrize("stages", [tuple(STAGES), ("statements",)], ids=["blocks", "statements"])
@given(st.data())
@settings(max_examples=25)
def test_functions_do_what_they_did(stages: tuple[str, ...], data: st.DataObject) -> None:
    function = data.draw(prim_funcs(stages=stages))
    simple = simplify_statements(function)
    module = as_module(simple)
    assert structural_equal(parse(str(module)), module)
    assert verify(simple) == verify(function)
    assert_equivalent(function, simple)
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
