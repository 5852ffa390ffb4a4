"""Instructions are emitted once where their value is known, and again where it is not."""

from __future__ import annotations

import numpy as np
import tvms
from msgspec.structs import replace
from tvms.codegen.build import Settings, build, prepare
from tvms.codegen.target import get_target
from tvms.ir import tir
from tvms.ir.base import IRModule

HEAD = 'T.prim_func f(A: T.Buffer((64,), "int32"), B: T.Buffer((64,), "int32"), n: T.int32):\n'


def text_of(module: IRModule) -> str:
    target = get_target("llvm")
    settings = Settings(schedule=False, bounds="trust")
    return build(prepare(module, target), target, settings, for_c=False).emitted.text


def run(module: IRModule, n: int, first: int = 0) -> np.ndarray:
    a, b = np.zeros(64, "int32"), np.zeros(64, "int32")
    a[0] = first
    tvms.compile(module, schedule=False)["f"](a, b, n)
    return b


def test_unrolled_statements_share_indices() -> None:
    body = "    for i in range(4):\n        for u in T.unroll(8):\n            B[i * 13 + u] = A[i * 13 + u]\n"
    text = text_of(tvms.parse(HEAD + body))
    assert text.count(" mul ") == 1
    assert text.count("getelementptr") == 16  # an address in A and one in B for each copy


def test_values_of_a_branch_are_unknown_after_it() -> None:
    body = "    if n > 3:\n        B[0] = n * 7\n    else:\n        B[1] = n * 7\n    B[2] = n * 7\n    if n > 4:\n        B[3] = n * 7\n"
    module = tvms.parse(HEAD + body)
    assert text_of(module).count(" mul ") == 3  # one for each branch, one for all that follows
    for n in (2, 4, 5):
        assert run(module, n)[:4].tolist() == [n * 7 * (n > 3), n * 7 * (n <= 3), n * 7, n * 7 * (n > 4)]


def test_values_of_a_loop_are_unknown_after_it() -> None:
    body = "    for i in range(n):\n        B[i] = n * 7 + i\n    B[63] = n * 7\n    while B[62] < n * 9:\n        B[62] = n * 9\n"
    module = tvms.parse(HEAD + body)
    assert run(module, 3)[[0, 1, 2, 62, 63]].tolist() == [21, 22, 23, 27, 21]
    assert run(module, 0)[[0, 62, 63]].tolist() == [0, 0, 0]


def test_a_shared_let_is_evaluated_at_each_occurrence() -> None:
    """The same expression object reads memory that changes between its two occurrences."""
    module = tvms.parse(HEAD + "    B[0] = A[0]\n    A[0] = 5\n    B[1] = A[0]\n")
    function = module["f"]
    assert isinstance(function, tir.PrimFunc)
    assert isinstance(function.body, tir.SeqStmt)
    first, change, second = function.body.seq
    assert isinstance(first, tir.BufferStore)
    assert isinstance(second, tir.BufferStore)
    x = tir.Var("int32", "x")
    let = tir.Let("int32", x, first.value, tir.Add("int32", x, x))
    stores = (replace(first, value=let), change, replace(second, value=let))
    shared = replace(function, body=replace(function.body, seq=stores))
    assert run(IRModule({"f": shared}), 0, 3)[:2].tolist() == [6, 10]
