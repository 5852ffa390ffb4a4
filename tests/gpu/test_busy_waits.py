"""Loops that wait for what another thread writes: the interpreter lets the other thread run, kernels are refused."""

from __future__ import annotations

import numpy as np
import pytest
import tvms
from tvms.codegen.gpu.races import find_races
from tvms.ir.base import IRModule
from tvms.ir.interp import run
from tvms.ir.programs import as_module

LOOPS = {
    "of a flag": "while F[{other}] == 0:\n            T.evaluate(0)",
    "of a copy of a flag": "f[0] = 0\n        while f[0] == 0:\n            f[0] = F[{other}]",
    "that is left": "while True:\n            if F[{other}] != 0:\n                break",
    "of a counter": 'while T.call_intrin("int32", "tir.atomic_add", T.address_of(F[{other}]), 0) < 1:\n            T.evaluate(0)',
}
KERNEL = """
T.prim_func main(A: T.Buffer((64,), "int32"), B: T.Buffer((64,), "int32"), F: T.Buffer((2,), "int32")):
    bx = T.launch_thread("blockIdx.x", 2)
    tx = T.launch_thread("threadIdx.x", 32)
    f = T.alloc_buffer((1,), "int32", scope="local")
    if {condition}:
        {wait}
        B[bx * 32 + tx] = A[(1 - bx) * 32 + tx]
    else:
        A[bx * 32 + tx] = 7
        {note}
"""


def between_blocks(wait: str, waiting: int = 1) -> IRModule:
    """Return a kernel in which block `waiting` waits for the other one."""
    return as_module(
        tvms.parse(KERNEL.format(condition=f"bx == {waiting}", wait=wait.format(other="0"), note="F[0] = 1"))
    )


def arguments() -> list[np.ndarray]:
    return [np.zeros(64, np.int32), np.zeros(64, np.int32), np.zeros(2, np.int32)]


@pytest.mark.parametrize("name", LOOPS)
def test_the_interpreter_lets_the_others_run(name: str) -> None:
    run(between_blocks(LOOPS[name]), "main", args := arguments())
    assert args[1].tolist() == [0] * 32 + [7] * 32
    half = KERNEL.format(
        condition="tx < 16", wait=LOOPS[name].format(other="bx"), note="if tx == 31:\n            F[bx] = 1"
    )
    run(as_module(tvms.parse(half)), "main", args := arguments())
    assert args[2].tolist() == [1, 1]


@pytest.mark.parametrize("name", LOOPS)
def test_a_wait_for_a_block_that_has_not_run_is_an_error(name: str) -> None:
    with pytest.raises(tvms.TvmsError) as found:
        run(between_blocks(LOOPS[name], waiting=0), "main", arguments())
    (diagnostic,) = found.value.diagnostics
    assert (diagnostic.code, diagnostic.message) == ("E0714", "this loop waits in vain for another thread")
    assert diagnostic.help == "split the kernel where blocks wait for each other"


@pytest.mark.parametrize("name", LOOPS)
def test_kernels_do_not_wait_for_memory_to_change(name: str) -> None:
    module = between_blocks(LOOPS[name])
    for call in (
        lambda: tvms.emit(module, "ptx", "cuda"),
        lambda: tvms.compile(module, target="cuda -simulate=each"),
        lambda: find_races(module, "main", arguments()),
    ):
        with pytest.raises(tvms.TvmsError) as found:
            call()
        (diagnostic,) = found.value.diagnostics
        assert (diagnostic.code, diagnostic.message) == (
            "E0613", "this loop waits until another thread changes memory that it reads",
        )  # fmt: skip
        assert diagnostic.help == (
            'wait at T.tvm_storage_sync("shared") for threads of the block; split the kernel to wait for other blocks'
        )


@pytest.mark.parametrize(
    "body",
    [
        "while A[i[0]] > 0:\n        i[0] += 1",
        "while A[tx] > 0:\n        A[tx] = A[tx] - 1",
        "while True:\n        i[0] += 1\n        if A[i[0]] == 0:\n            break",
        'while T.call_intrin("int32", "tir.atomic_add", T.address_of(F[0]), 1) < 9:\n        A[tx] = A[tx] - 1',
    ],
)
def test_other_loops_compile(body: str) -> None:
    text = f"""
T.prim_func main(A: T.Buffer((64,), "int32"), B: T.Buffer((64,), "int32"), F: T.Buffer((2,), "int32")):
    tx = T.launch_thread("threadIdx.x", 32)
    i = T.alloc_buffer((1,), "int32", scope="local")
    i[0] = tx
    {body}
"""
    tvms.emit(tvms.parse(text), "ptx", "cuda")
    run(as_module(tvms.parse(text)), "main", arguments())
