"""Kernels that leave it to the compiler where threads wait: they do what their loops do in order, with no barrier too many."""

from __future__ import annotations

from textwrap import indent

import numpy as np
import pytest
import tvms
from tvms.codegen import aot
from tvms.codegen.gpu.races import find_races
from tvms.ir import tir
from tvms.testing.oracle import as_module, assert_equivalent, random_inputs

HEAD = """\
T.prim_func main(A: T.Buffer((2, 64), "float32"), B: T.Buffer((2, 64), "float32"), C: T.Buffer((2, 64), "float32"), N: T.Buffer((1,), "int32"), n: T.int32):
    S = T.alloc_buffer((64,), "float32", scope="shared")
    R = T.alloc_buffer((64,), "float32", scope="shared")
    for bx in T.thread_binding(2, thread="blockIdx.x"):
"""
THREADS = 'for tx in T.thread_binding(64, thread="threadIdx.x"):'


def program(text: str) -> tvms.IRModule:
    """Return a kernel of two blocks with shared memory S and R; `threads:` is a loop over those of a block."""
    return as_module(tvms.parse(HEAD + indent(text.replace("threads:", THREADS), " " * 8)))


WRITE, READ = "threads:\n    S[tx] = A[bx, tx]\n", "threads:\n    B[bx, tx] = S[63 - tx]\n"
KERNELS: dict[str, tuple[int, str]] = {
    "what another one wrote": (1, WRITE + READ),
    "one's own element": (0, WRITE + "threads:\n    B[bx, tx] = S[tx]"),
    "one's own element, turned": (0, "threads:\n    S[63 - tx] = A[bx, tx]\n" + READ),
    "global memory": (1, "threads:\n    C[bx, tx] = A[bx, tx]\nthreads:\n    B[bx, tx] = C[bx, 63 - tx]"),
    "one's own in global memory": (0, "threads:\n    C[bx, tx] = A[bx, tx]\nthreads:\n    B[bx, tx] = C[bx, tx]"),
    "a condition that threads wrote": (
        1, "threads:\n    C[bx, tx] = A[bx, tx]\nif C[bx, 5] > T.float32(0):\n    threads:\n        B[bx, tx] = A[bx, tx]",
    ),
    "the extent of a loop that overwrites it": (
        2, "for k in range(T.if_then_else(C[bx, 5] > T.float32(0), 2, 3)):\n    threads:\n        C[bx, tx] = A[bx, tx]\n"
        "threads:\n    B[bx, tx] = C[bx, 63 - tx]",
    ),
    "the start of threads that overwrite it": (
        1, "for tx in T.thread_binding(T.if_then_else(C[bx, 5] > T.float32(0), 0, 1), "
        "T.if_then_else(C[bx, 5] > T.float32(0), 0, 1) + 64, thread='threadIdx.x'):\n    C[bx, tx % 64] = A[bx, tx % 64]",
    ),
    "a tree": (
        3, WRITE + "threads:\n    if tx < 32:\n        S[tx] = S[tx] + S[tx + 32]\n"
        "threads:\n    if tx < 16:\n        S[tx] = S[tx] + S[tx + 16]\nthreads:\n    B[bx, tx] = S[tx % 16]",
    ),
    "halves that do not meet": (
        0, "threads:\n    if tx < 32:\n        S[tx] = A[bx, tx]\nthreads:\n    if tx >= 32:\n        S[tx] = A[bx, 0]\n"
        "threads:\n    B[bx, tx] = S[tx]",
    ),
    "a loop that does not run": (
        3, WRITE + "for k in range(n - n):\n    threads:\n        R[tx] = S[63 - tx]\n    threads:\n        S[tx] = R[63 - tx]\n" + READ,
    ),
    "the next step of a loop": (
        2, "threads:\n    B[bx, tx] = A[bx, tx]\nfor k in range(3):\n    threads:\n        S[tx] = B[bx, tx]\n"
        "    threads:\n        B[bx, tx] = B[bx, tx] + S[63 - tx]",
    ),
    "steps of a loop that do not meet": (
        0, "for k in range(3):\n    threads:\n        S[tx] = A[bx, tx]\n    threads:\n        B[bx, tx] = S[tx]",
    ),
    "one's own element of halves that alternate": (
        0, "for k in range(3):\n    threads:\n        if tx < 32:\n            S[(k * 3 + 1) % 2 * 32 + tx] = A[bx, tx]\n"
        "    threads:\n        if tx < 32:\n            B[bx, tx] = S[(k + 1) % 2 * 32 + tx]",
    ),
    "halves that alternate": (
        2, "for k in range(3):\n    threads:\n        if tx < 32:\n            S[k % 2 * 32 + tx] = A[bx, tx]\n"
        "    threads:\n        if tx < 32:\n            B[bx, tx] = S[k % 2 * 32 + 31 - tx]",
    ),
    "a loop that all threads leave together": (
        3, "threads:\n    S[tx] = T.float32(0)\nwhile T.tvm_thread_invariant(S[63] < T.float32(3)):\n    threads:\n"
        "        B[bx, tx] = S[63 - tx] + A[bx, tx]\n    threads:\n        S[tx] = S[tx] + T.float32(1)",
    ),
    "a condition that all threads fulfill together": (
        3, "threads:\n    S[tx] = A[bx, tx]\nif T.tvm_thread_invariant(S[5] > T.float32(0)):\n    threads:\n"
        "        S[tx] = S[tx] + T.float32(1)\n    threads:\n        B[bx, tx] = S[63 - tx]\nelse:\n    threads:\n        B[bx, tx] = A[bx, tx]",
    ),
    "an element that differs from block to block": (
        2, "threads:\n    S[tx] = A[bx, tx]\nthreads:\n    if tx == 0:\n        S[bx] = T.float32(7)\nthreads:\n    B[bx, tx] = S[tx]",
    ),
}  # fmt: skip
"""How many barriers each needs."""


@pytest.mark.parametrize("name", KERNELS)
def test_threads_wait_where_they_must(name: str) -> None:
    check(*KERNELS[name])


@pytest.mark.parametrize("name", ["one's own element of halves that alternate", "halves that alternate"])
def test_many_steps_need_as_many_barriers_as_few(name: str) -> None:
    count, text = KERNELS[name]
    lowered = aot.lowered(program(text.replace("range(3)", "range(5000)")), "cuda").script()
    assert lowered.count("T.tvm_storage_sync") == count


def check(count: int, text: str) -> None:
    """Check that a kernel has `count` barriers and no race, and that its threads compute what its loops compute."""
    module = program(text)
    lowered = aot.lowered(module, "cuda").script()
    assert lowered.count("T.tvm_storage_sync") == count, lowered
    simulated = tvms.compile(module, target="cuda -simulate=each", level=0)
    assert_equivalent(module, module, execute_after=lambda _, entry: simulated[entry])
    function = module.functions["main"]
    assert isinstance(function, tir.PrimFunc)
    assert find_races(module, "main", random_inputs(function, np.random.default_rng(0))) == ()


CHOSEN = "T.if_then_else({0} > T.float32(0), 1, 2)"
READS = {
    "value": "threads:\n    B[bx, tx] = {0}",
    "index": f"threads:\n    B[bx, tx] = A[bx, {CHOSEN}]",
    "choice": f"threads:\n    B[bx, tx] = T.Cast('float32', {CHOSEN})",
    "condition": "if {0} > T.float32(0):\n    threads:\n        B[bx, tx] = A[bx, tx]",
    "condition in the threads": "threads:\n    if {0} > T.float32(0):\n        B[bx, tx] = A[bx, tx]",
    "condition that differs": "threads:\n    if {0} > T.float32(0) and tx > 3:\n        B[bx, tx] = A[bx, tx]",
    "both cases": (
        "if {0} > T.float32(0):\n    threads:\n        B[bx, tx] = A[bx, tx]\nelse:\n    threads:\n        B[bx, tx] = T.float32(1)"
    ),
    "extent of a loop": f"for k in range({CHOSEN}):\n    threads:\n        B[bx, tx] = A[bx, tx + k - k]",
    "start of a loop": f"for k in range({CHOSEN}, 3):\n    threads:\n        B[bx, tx] = A[bx, k]",
    "start of the threads": f"for tx in T.thread_binding({CHOSEN} - 1, {CHOSEN} + 63, thread='threadIdx.x'):\n    B[bx, tx % 64] = A[bx, 3]",
    "bound value": "x: T.float32 = {0}\nthreads:\n    B[bx, tx] = x",
    "bound value in the threads": "threads:\n    x: T.float32 = {0}\n    B[bx, tx] = x",
    "assertion": "assert {0} < T.float32(1000), 'large'\nthreads:\n    B[bx, tx] = A[bx, tx]",
    "predicate": (
        "threads:\n    with T.block('b'):\n        v = T.axis.spatial(64, tx)\n        T.where({0} > T.float32(0))\n"
        "        B[bx, v] = A[bx, v]"
    ),
}  # fmt: skip
WRITES = {
    "threads": "threads:\n    {} = A[bx, {}]",
    "threads in a loop": "for k in range(2):\n    threads:\n        {} = A[bx, {}]",
    "threads under a condition": "if n < 100:\n    threads:\n        {} = A[bx, {}]",
    "some threads": "threads:\n    if tx > 2:\n        {} = A[bx, {}]",
}


@pytest.mark.deep(4)
@pytest.mark.parametrize("memory", ["C[bx, {}]", "S[{}]"])
@pytest.mark.parametrize("write", WRITES)
@pytest.mark.parametrize("read", READS)
def test_threads_wait_between_a_write_and_a_read_wherever_they_stand(read: str, write: str, memory: str) -> None:
    before, after = (WRITES[write].format(memory.format("tx"), index) for index in ("tx", "63 - tx"))
    first = "threads:\n    S[tx] = A[bx, tx]\n" if memory.startswith("S") else ""
    check(2, "\n".join([first, before, READS[read].format(memory.format(5)), after]))


SUM = """\
threads:
    if A[bx, tx] > T.float32(0):
        with T.block("sum"):
            vi = T.axis.spatial(2, bx)
            vk = T.axis.reduce(64, tx)
            with T.init():
                B[vi, 0] = T.float32(0)
            B[vi, 0] = B[vi, 0] + A[vi, vk]
"""
NEEDS_BARRIER = "threads need a barrier between accesses to '{}'"
REFUSED = [
    (
        NEEDS_BARRIER.format("S"),
        "threads:\n    if A[bx, tx] > T.float32(0):\n        S[tx] = A[bx, tx]\n        B[bx, tx] = S[63 - tx]",
    ),
    (
        NEEDS_BARRIER.format("C"),
        "threads:\n    for k in range(tx + 1):\n        C[bx, tx] = A[bx, tx]\n        B[bx, tx] = C[bx, 63 - tx]",
    ),
    (NEEDS_BARRIER.format("C"), "threads:\n    if C[bx, 5] > T.float32(0) and tx > 0:\n        C[bx, tx] = A[bx, tx]"),
    (
        NEEDS_BARRIER.format("R"),
        'threads:\n    x: T.int32 = T.call_intrin("int32", "tir.atomic_add", T.address_of(N[0]), 1)\n'
        "    if x > 30:\n        R[tx] = A[bx, tx]\n        B[bx, tx] = R[63 - tx]",
    ),
    ("threads of a block synchronize", SUM),
]


@pytest.mark.parametrize(("reason", "text"), REFUSED)
def test_where_not_all_threads_come_none_can_wait(reason: str, text: str) -> None:
    with pytest.raises(tvms.TvmsError) as caught:
        tvms.emit(program(text), "ptx", "cuda")
    (found,) = caught.value.diagnostics
    assert (found.code, found.message) == (
        "E0613",
        f"{reason} here, but not all of them execute this, or not equally often",
    )
    assert found.span is not None
    assert found.help == "guard single accesses by the condition, or make it the same for all threads"


def test_the_simulator_refuses_a_barrier_inside_of_an_expression() -> None:
    text = """\
T.prim_func main(B: T.Buffer((8,), "int32")):
    tx = T.launch_thread("threadIdx.x", 8)
    B[tx] = T.min(T.tvm_storage_sync("shared"), tx)
"""
    with pytest.raises(tvms.TvmsError, match=r"E0613.*synchronize here, inside of an expression"):
        tvms.compile(tvms.parse(text), target="cuda -simulate=each")


def test_checked_indices_need_no_barrier_more() -> None:
    """With `bounds="check"`, indices are calls, whose values are known: threads below 32 add what those above wrote."""
    halved = "threads:\n    if tx < 32:\n        S[tx] = S[tx] + S[tx + 32]\n"
    module = program(f"{WRITE}{halved}threads:\n    B[bx, tx] = S[tx % 32]")
    checked = tvms.compile(module, target="cuda -simulate=each", bounds="check")
    assert_equivalent(module, module, execute_after=lambda _, name: checked[name])
