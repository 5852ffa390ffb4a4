"""Shuffles and barriers of warps do what the PTX ISA says, in the interpreter and in the simulation."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import tvms
from tvms.codegen.gpu.races import find_races
from tvms.ir.interp import run
from tvms.ir.programs import as_module

SHUFFLES = {"idx": "", "up": "_up", "down": "_down", "xor": "_xor"}


def source(kind: str, lane: int, operand: int, width: int) -> int:
    """Return the lane that `lane` reads (PTX ISA, `shfl.sync`)."""
    segment, number = 32 - width, operand & 31
    last = (lane & segment) | (31 & ~segment)
    if kind == "up":
        return lane - number if lane - number >= lane & segment else lane
    if kind == "idx":
        return (lane & segment) | (number & ~segment & 31)
    wanted = lane ^ number if kind == "xor" else lane + number
    return wanted if wanted <= last else lane


@pytest.mark.parametrize("width", [1, 4, 16, 32])
@pytest.mark.parametrize("kind", SHUFFLES)
def test_shuffles_read_from_the_lanes_of_the_isa(kind: str, width: int) -> None:
    module = as_module(
        tvms.parse(f"""
T.prim_func main(A: T.Buffer((64,), "int32"), B: T.Buffer((64,), "int32"), n: T.int32):
    tx = T.launch_thread("threadIdx.x", 64)
    B[tx] = T.tvm_warp_shuffle{SHUFFLES[kind]}(T.uint32(0xFFFFFFFF), A[tx], n, {width}, 32)
""")
    )
    values = np.arange(64, dtype=np.int32) * 3 + 1
    simulated = tvms.compile(module, target="cuda -simulate=each", level=0)["main"]
    for operand in (0, 1, 3, 8, 15, 16, 17, 31, 32, 33, -1):
        lanes = [warp * 32 + source(kind, lane, operand, width) for warp in range(2) for lane in range(32)]
        for call in (lambda *args: run(module, "main", args), simulated):
            call(values, found := np.zeros(64, np.int32), operand)
            assert (found == values[lanes]).all(), operand


def barrier(condition: str) -> Any:
    return as_module(
        tvms.parse(f"""
T.prim_func main(A: T.Buffer((72,), "float32"), B: T.Buffer((72,), "float32")):
    tx = T.launch_thread("threadIdx.x", 72)
    S = T.alloc_buffer((72,), "float32", scope="shared")
    B[tx] = T.float32(0)
    if {condition}:
        S[tx] = A[tx]
        T.tvm_storage_sync("warp")
        B[tx] = S[T.bitwise_xor(tx, 1)]
""")
    )


@pytest.mark.parametrize("condition", ["tx < 32", "tx >= 32", "tx // 32 == 1", "tx >= 64"])
def test_whole_warps_may_wait_under_a_condition(condition: str) -> None:
    module = barrier(condition)
    values = np.arange(72, dtype=np.float32)
    taken = [eval(condition, {"tx": tx}) for tx in range(72)]
    expected = np.where(taken, [values[tx ^ 1] for tx in range(72)], 0)
    simulated = tvms.compile(module, target="cuda -simulate=each", level=0)["main"]
    for call in (lambda *args: run(module, "main", args), simulated):
        call(values, found := np.zeros(72, np.float32))
        assert (found == expected).all()
    assert find_races(module, "main", [values, np.zeros(72, np.float32)]) == ()


@pytest.mark.parametrize(("condition", "said"), [("tx < 16", "16 of the 32"), ("tx < 68", "4 of the 8")])
def test_parts_of_warps_wait_in_vain(condition: str, said: str) -> None:
    with pytest.raises(tvms.TvmsError) as found:
        run(barrier(condition), "main", [np.zeros(72, np.float32), np.zeros(72, np.float32)])
    assert str(found.value) == (
        f"error[E0714]: only {said} threads of a warp reach this barrier\n"
        "  --> <string>:8:9\n"
        "   |\n"
        ' 8 |         T.tvm_storage_sync("warp")\n'
        "   |         ^^^^^^^^^^^^^^^^^^^^^^^^^^\n"
        "   = help: move it out of conditions and loops that some threads skip or leave"
    )


ACTIVE = """
T.prim_func main(A: T.Buffer((40,), "uint32"), B: T.Buffer((40,), "float32")):
    tx = T.launch_thread("threadIdx.x", 40)
    A[tx] = T.uint32(0)
    B[tx] = T.float32(0)
    if tx % 3 == 0:
        mask: T.uint32 = T.tvm_warp_activemask()
        A[tx] = mask
        B[tx] = T.tvm_warp_shuffle_down(mask, T.Cast("float32", tx), 3, 32, 32)
"""


def test_the_mask_of_active_threads() -> None:
    module = as_module(tvms.parse(ACTIVE))
    named = [sum(1 << lane for lane in range(32) if lane % 3 == 0), sum(1 << tx - 32 for tx in (33, 36, 39))]
    simulated = tvms.compile(module, target="cuda -simulate=each", level=0)["main"]
    for call in (lambda *args: run(module, "main", args), simulated):
        call(masks := np.zeros(40, np.uint32), found := np.zeros(40, np.float32))
        assert masks.tolist() == [named[tx // 32] if tx % 3 == 0 else 0 for tx in range(40)]
        assert found.tolist() == [
            0 if tx % 3 else tx + 3 if tx // 32 == (tx + 3) // 32 and tx + 3 < 40 else tx for tx in range(40)
        ]


@pytest.mark.parametrize(
    ("mask", "said"),
    [
        ("0xFFFFFFFF", "lane 16 of a warp does not reach this shuffle, which the mask 0xFFFFFFFF names"),
        ("0xFF", "lane 8 of a warp reaches this shuffle, but the mask 0xFF does not name it"),
    ],
)
def test_masks_name_the_threads_that_shuffle(mask: str, said: str) -> None:
    module = as_module(
        tvms.parse(f"""
T.prim_func main(A: T.Buffer((32,), "float32")):
    tx = T.launch_thread("threadIdx.x", 32)
    if tx < 16:
        A[tx] = T.tvm_warp_shuffle_xor(T.uint32({mask}), A[tx], 1, 32, 32)
    T.tvm_storage_sync("shared")
""")
    )
    for call in (lambda *args: run(module, "main", args), lambda *args: find_races(module, "main", args)):
        with pytest.raises(tvms.TvmsError) as found:
            call(np.zeros(32, np.float32))
        (diagnostic,) = found.value.diagnostics
        assert (diagnostic.code, diagnostic.message) == ("E0714", said)
