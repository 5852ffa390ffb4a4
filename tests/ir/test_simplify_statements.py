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
