"""`break` and `continue`: compiled code leaves loops where the interpreter does, whatever the kind of the loop."""

from __future__ import annotations

from itertools import product
from typing import Any

import numpy as np
import pytest
import tvms

HEAD = 'T.prim_func main(A: T.Buffer((8, 16), "int32"), B: T.Buffer((8, 16), "int32"), n: T.int32):\n'
BODIES = {
    "continue, then a store": """
for i in {outer}(8):
    for j in {inner}(16):
        if A[i, j] > n:
            {jump}
        B[i, j] = A[i, j] + 1
""",
    "a store, then continue": """
for i in {outer}(8):
    for j in {inner}(16):
        B[i, j] = A[i, j] + 1
        if A[i, j] > n:
            {jump}
        B[i, j] = B[i, j] * 2
""",
    "in both branches": """
for i in {outer}(8):
    for j in {inner}(16):
        if A[i, j] > n:
            B[i, j] = 1
            {jump}
        else:
            B[i, j] = 2
            {jump}
        B[i, j] = 3
""",
    "with a buffer on the heap": """
for i in {outer}(8):
    for j in {inner}(16):
        with T.decl_buffer((4096,), "int32") as X:
            X[n] = A[i, j]
            if X[n] > n:
                {jump}
            B[i, j] = X[n]
""",
    "in a loop of one iteration": """
for i in {outer}(8):
    for j in {inner}(16):
        for k in range(1):
            if A[i, j] > n and k < 1:
                {jump}
            B[i, j] = A[i, j]
        B[i, j] = B[i, j] + 1
""",
    "behind a guard": """
for i in {outer}(8):
    for j in {inner}(16):
        if i * 16 + j < 100:
            if A[i, j] > n:
                {jump}
            B[i, j] = A[i, j]
""",
    "in the first iteration": """
for i in {outer}(8):
    for j in {inner}(16):
        if j == 0:
            {jump}
        B[i, j] = A[i, j]
""",
    "with a loop after it": """
for i in {outer}(8):
    for j in {inner}(16):
        if A[i, j] > n:
            for k in range(4):
                B[i, k] = B[i, k] + 1
            {jump}
        B[i, j] = A[i, j]
""",
    "inside while": """
for i in {outer}(8):
    x = T.alloc_buffer((1,), "int32")
    x[0] = 0
    while x[0] < 16:
        x[0] = x[0] + 1
        if A[i, x[0] - 1] > n:
            {jump}
        B[i, x[0] - 1] = A[i, x[0] - 1]
""",
}
KINDS = ("range", "T.unroll", "T.vectorized")


def program(body: str, outer: str, inner: str, jump: str) -> tvms.IRModule:
    lines = body.format(outer=outer, inner=inner, jump=jump).strip().splitlines()
    return tvms.parse(HEAD + "\n".join(f"    {line}" for line in lines))


def results(call: Any, n: int) -> np.ndarray:
    a = np.random.default_rng(n).integers(0, 8, (8, 16)).astype("i4")
    b = np.zeros((8, 16), "i4")
    call(a, b, np.int32(n))
    return b


@pytest.mark.parametrize("name", BODIES)
def test_loops_end_where_the_interpreter_ends_them(name: str) -> None:
    for jump, inner, (outer, level) in product(("break", "continue"), KINDS, (("range", 0), ("T.parallel", 3))):
        module = program(BODIES[name], outer, inner, jump)
        call = tvms.compile(module, level=level)["main"]
        for n in (0, 3, 9):
            expected = results(lambda *args, module=module: tvms.interpret(module, "main", args), n)
            np.testing.assert_array_equal(results(call, n), expected, f"{jump} in {inner} at level {level}")


def test_a_parallel_loop_cannot_end_early() -> None:
    module = program("for i in T.parallel(8):\n    if A[i, 0] > n:\n        break\n    B[i, 0] = 1\n", "", "", "")
    with pytest.raises(tvms.TvmsError) as caught:
        tvms.compile(module)
    (diagnostic,) = caught.value.diagnostics
    assert (diagnostic.code, diagnostic.message) == ("E0606", "the parallel loop over 'i' cannot end early")
    assert diagnostic.help == "make the loop serial, or skip the remaining iterations by a flag"


def test_default_schedules_leave_such_functions_alone() -> None:
    text = HEAD + "    for i, j in T.grid(8, 16):\n        with T.block('b'):\n"
    text += '            vi, vj = T.axis.remap("SS", [i, j])\n            if A[vi, vj] > n:\n                continue\n'
    executable = tvms.compile(tvms.parse(text + "            B[vi, vj] = A[vi, vj]\n"))
    assert [str(decision) for decision in executable.decisions["main"]] == [
        "block 'root': not scheduled (all: a loop of the function may end early)"
    ]
