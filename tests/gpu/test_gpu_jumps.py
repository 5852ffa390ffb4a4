"""Threads that leave loops, or end: `break`, `continue` and `T.thread_return` in kernels."""

from __future__ import annotations

from textwrap import indent
from typing import Any

import numpy as np
import pytest
import tvms
from tvms.codegen.gpu.ptxas import assemble, find_ptxas
from tvms.codegen.gpu.races import find_races
from tvms.ir.interp import run
from tvms.ir.programs import as_module

EACH = "cuda -arch=sm_80 -simulate=each"
KERNEL = """T.prim_func main(A: T.Buffer((64,), "int32"), N: T.Buffer((1,), "int32"), B: T.Buffer((64,), "int32")):
    bx = T.launch_thread("blockIdx.x", 1)
    S_data = T.allocate([64], "int32", "shared")
    x_data = T.allocate([1], "int32", "local")
    tx = T.launch_thread("threadIdx.x", 64)
    S = T.Buffer((64,), "int32", data=S_data, scope="shared")
    x = T.Buffer((1,), "int32", data=x_data, scope="local")
    S[tx] = A[tx]
    x[0] = 0
"""
SHIFT = """T.tvm_storage_sync("shared")
x[0] = S[(tx + 1) % 64]
T.tvm_storage_sync("shared")
S[tx] = x[0] + k
"""
END = """T.tvm_storage_sync("shared")
B[tx] = S[63 - tx] + x[0]
"""


def in_loop(*parts: str, head: str = "for k in range(9):") -> str:
    return head + "\n" + indent("".join(parts), "    ")


def jump(condition: str, statement: str) -> str:
    return f"if {condition}:\n    {statement}\n"


BREAK, CONTINUE, RETURN = "T.break_loop()", "T.continue_loop()", "T.evaluate(T.thread_return())"
WHILE = "while x[0] < 20:"
COUNT = 'x[0] = x[0] + 1\nT.tvm_storage_sync("shared")\n'
PROGRAMS = {
    "break by all at first": in_loop(jump("k == 5", BREAK), SHIFT) + END,
    "break by all at last": in_loop(SHIFT, jump("k == 5", BREAK)) + END,
    "break by all between barriers": in_loop(SHIFT, jump("k == 5", BREAK), SHIFT) + END,
    "break by an argument": in_loop(jump("k == N[0]", BREAK), SHIFT) + END,
    "break by shared memory": in_loop(
        SHIFT, 'T.tvm_storage_sync("shared")\n', jump("S[0] > 40", BREAK), 'T.tvm_storage_sync("shared")\n'
    )
    + END,
    "continue by all": in_loop(jump("k % 3 == 1", CONTINUE), SHIFT) + END,
    "continue and break": in_loop(jump("k % 3 == 1", CONTINUE), SHIFT, jump("k == 6", BREAK), "x[0] = x[0] + k\n")
    + END,
    "break by some without barriers": in_loop("x[0] = x[0] + k\n", jump("k >= tx % 7", BREAK)) + END,
    "continue by some without barriers": in_loop(jump("(k + tx) % 2 == 0", CONTINUE), "x[0] = x[0] + k\n") + END,
    "break of an inner loop by some": in_loop(
        in_loop(jump("j > tx % 4", BREAK), "x[0] = x[0] + j\n", head="for j in range(5):"), SHIFT
    )
    + END,
    "break of an outer loop by all": in_loop(
        in_loop(SHIFT, jump("j == 2", BREAK), head="for j in range(5):"), jump("k == 3", BREAK), "x[0] = x[0] + 1\n"
    )
    + END,
    "break of a while loop": in_loop(COUNT, jump("x[0] == 7", BREAK), "S[tx] = S[tx] + x[0]\n", head=WHILE) + END,
    "continue of a while loop": in_loop(COUNT, jump("x[0] % 3 == 0", CONTINUE), "S[tx] = S[tx] + x[0]\n", head=WHILE)
    + END,
    "break in two branches": in_loop(
        "if k < 4:\n    x[0] = x[0] + 1\n    if k == N[0]:\n        T.break_loop()\nelse:\n    T.break_loop()\n", SHIFT
    )
    + END,
    "end before all barriers": "B[tx] = x[0]\n" + jump("N[0] > 0", RETURN) + in_loop(SHIFT) + END,
    "end in a loop": "B[tx] = x[0]\n"
    + in_loop("x[0] = x[0] + S[tx]\nB[tx] = x[0]\n", jump("x[0] > 60", RETURN))
    + "B[tx] = 0\n",
    "end in two loops": in_loop(
        in_loop("x[0] = x[0] + j\nB[tx] = x[0]\n", jump("j * k > tx", RETURN), head="for j in range(5):"),
        "x[0] = x[0] + 100\n",
    )
    + "B[tx] = x[0] + 1\n",
    "end of all in a loop with barriers": in_loop(SHIFT, "B[tx] = x[0]\n", jump("k == 4", RETURN)) + END,
    "end after the last barrier": in_loop(SHIFT) + jump("tx % 2 == 0", RETURN) + "B[tx] = x[0]\n",
}
WRONG = {
    "break by some at a barrier": in_loop(jump("k == tx % 5", BREAK), SHIFT) + END,
    "continue by some at a barrier": in_loop(jump("(k + tx) % 2 == 0", CONTINUE), SHIFT) + END,
    "end of some before a barrier": jump("tx > 50", RETURN) + END,
}


def program(body: str) -> tvms.IRModule:
    return as_module(tvms.parse(KERNEL + indent(body, "    ")))


def arguments() -> list[Any]:
    random = np.random.default_rng(0)
    return [random.integers(0, 20, 64, np.int32), np.array([3], np.int32), np.zeros(64, np.int32)]


@pytest.mark.parametrize("name", PROGRAMS)
def test_simulated_threads_do_what_interpreted_ones_do(name: str) -> None:
    module, found, expected = program(PROGRAMS[name]), arguments(), arguments()
    run(module, "main", expected)
    tvms.compile(module, target=EACH)["main"](*found)
    np.testing.assert_array_equal(found[2], expected[2])
    assert find_races(module, "main", arguments()) == ()


@pytest.mark.parametrize("name", PROGRAMS)
def test_assemblers_take_them(name: str) -> None:
    tool = find_ptxas()
    if tool is None:
        pytest.skip("there is no ptxas")
    made = assemble(str(tvms.emit(program(PROGRAMS[name]), "ptx", "cuda -arch=sm_80")), "sm_80", tool)
    assert not made.problem
    (usage,) = made.usage.values()
    assert (usage.stack_bytes, usage.spill_bytes) == (0, 0)


@pytest.mark.parametrize("name", WRONG)
def test_all_threads_must_reach_a_barrier(name: str) -> None:
    module = program(WRONG[name])
    with pytest.raises(tvms.TvmsError, match=r"E0714.*threads reach this barrier"):
        run(module, "main", arguments())
    with pytest.raises(tvms.TvmsError, match=r"E0714.*not all threads of the block reach this barrier"):
        tvms.compile(module, target=EACH)["main"](*arguments())


SOME_OF_A_WARP = {
    "a condition": 'if tx < 48:\n    T.tvm_storage_sync("warp")\n',
    "a break": in_loop(jump("k == tx % 2", BREAK), 'T.tvm_storage_sync("warp")\n'),
    "an end": jump("tx == 40", RETURN) + 'T.tvm_storage_sync("warp")\n',
}


@pytest.mark.parametrize("name", SOME_OF_A_WARP)
def test_all_threads_of_a_warp_must_reach_its_barrier(name: str) -> None:
    module = program(SOME_OF_A_WARP[name])
    with pytest.raises(tvms.TvmsError, match=r"E0714.*of the 32 threads of a warp reach this barrier"):
        run(module, "main", arguments())
    for order in ("each", "random"):
        with pytest.raises(tvms.TvmsError) as caught:
            tvms.compile(module, target=f"cuda -arch=sm_80 -simulate={order}")["main"](*arguments())
        found = caught.value.diagnostics[0]
        assert (found.code, found.message) == ("E0714", "not all threads of the warp reach this barrier")


def test_one_warp_of_two_may_reach_a_barrier_of_its_own() -> None:
    module, found = (
        program(in_loop(jump("k == tx // 32", BREAK), 'T.tvm_storage_sync("warp")\n') + "B[tx] = 1\n"),
        arguments(),
    )
    tvms.compile(module, target=EACH)["main"](*found)
    assert found[2].tolist() == [1] * 64


def test_loops_without_barriers_keep_their_jumps() -> None:
    ptx = str(tvms.emit(program(PROGRAMS["break by some without barriers"]), "ptx", "cuda -arch=sm_80"))
    assert "st.local" not in ptx
