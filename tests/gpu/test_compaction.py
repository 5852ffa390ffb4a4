"""Memory of a thread or a block has the size that its owner needs, also if sizes are symbolic."""

from __future__ import annotations

from typing import Any

import pytest
import tvms
from tvms.codegen import aot
from tvms.testing.oracle import assert_equivalent

ROWS_OF_BLOCKS = """
T.prim_func main(var_A: T.handle, var_B: T.handle):
    T.func_attr({{"tir.noalias": True}})
    {declaration}
    A = T.match_buffer(var_A, (n, m, 64))
    B = T.match_buffer(var_B, (n, m))
    S = T.alloc_buffer((n, m), scope="shared")
    for bx in T.thread_binding(n * m, thread="blockIdx.x"):
        for tx in T.thread_binding(64, thread="threadIdx.x"):
            with T.block("sum"):
                v0 = T.axis.spatial(n, {row})
                v1 = T.axis.spatial(m, bx % m)
                v2 = T.axis.reduce(64, tx)
                with T.init():
                    S[v0, v1] = T.float32(0)
                S[v0, v1] = S[v0, v1] + A[v0, v1, v2]
        for tx in T.thread_binding(64, thread="threadIdx.x"):
            with T.block("out"):
                v0 = T.axis.spatial(n, {row})
                v1 = T.axis.spatial(m, bx % m)
                T.where(tx < 1)
                B[v0, v1] = S[v0, v1] * T.float32(2)
"""
"""A block for each row; its row and column are quotients by a size (as TVM's DLight schedules reductions)."""

ONE_VIRTUAL_THREAD = """
T.prim_func main(var_X: T.handle, var_Y: T.handle):
    T.func_attr({"tir.noalias": True})
    m = T.int32()
    X = T.match_buffer(var_X, (m, 64))
    Y = T.match_buffer(var_Y, (m, 64))
    S = T.alloc_buffer(((m + 15) // 16 * 16, 64), scope="shared")
    for bx in T.thread_binding((m + 15) // 16, thread="blockIdx.x"):
        for v in T.thread_binding(VIRTUAL, thread="vthread.x"):
            for tx in T.thread_binding(16 // VIRTUAL, thread="threadIdx.x"):
                for k in range(4):
                    for y in T.thread_binding(16 // VIRTUAL, thread="threadIdx.x"):
                        for i in range(16 * VIRTUAL):
                            with T.block("S"):
                                v0 = T.axis.spatial((m + 15) // 16 * 16, bx * 16 + (y * (16 * VIRTUAL) + i) // 16)
                                v1 = T.axis.spatial(64, k * 16 + i % 16)
                                S[v0, v1] = T.if_then_else(v0 < m, X[v0, v1], T.float32(0))
                    for i in range(16):
                        with T.block("Y"):
                            v0 = T.axis.spatial((m + 15) // 16 * 16, bx * 16 + v * (16 // VIRTUAL) + tx)
                            v1 = T.axis.spatial(64, k * 16 + i)
                            T.where(bx * 16 + v * (16 // VIRTUAL) + tx < m)
                            Y[v0, v1] = S[v0, v1] + S[v0 // 16 * 16, v1]
"""
"""Tiles whose rows are counted by a virtual thread where they are read, but not where they are written."""

VIRTUAL_THREADS = [ONE_VIRTUAL_THREAD.replace("VIRTUAL", str(count)) for count in (1, 2, 4)]
QUOTIENTS = [
    ROWS_OF_BLOCKS.format(declaration=f"n, m = {kind}(), {kind}()", row=row)
    for kind in ("T.int64", "T.int32")
    for row in ("bx // m", "bx % (m * n) // m")
] + [ROWS_OF_BLOCKS.format(declaration="n, m = T.int64(is_size_var=True), T.int64(is_size_var=True)", row="bx // m")]


def shared_extents(text: str) -> list[str]:
    """Return the extents of the shared memory of the kernels of a program."""
    lines = aot.lowered(tvms.parse(text), "cuda").script().splitlines()
    return [line.split("[")[1].split("]")[0] for line in lines if "T.allocate(" in line and '"shared"' in line]


def simulated(module: tvms.IRModule, entry: str) -> Any:
    return tvms.compile(module, target="cuda -simulate=each", level=1)[entry]


@pytest.mark.parametrize("text", VIRTUAL_THREADS, ids=("1", "2", "4"))
def test_virtual_threads_share_a_tile_of_the_size_of_a_tile(text: str) -> None:
    assert shared_extents(text) == ["16, 16"]
    module = tvms.parse(text)
    for m in (1, 16, 37):
        assert_equivalent(module, module, sizes={"m": m}, execute_after=simulated)


@pytest.mark.parametrize("text", QUOTIENTS)
def test_rows_of_blocks_are_one_element(text: str) -> None:
    assert "T.int64(1), T.int64(1)" in shared_extents(text) or "1, 1" in shared_extents(text)
    module = tvms.parse(text)
    for n, m in ((1, 1), (3, 5), (0, 4), (4, 0)):
        assert_equivalent(module, module, sizes={"n": n, "m": m}, execute_after=simulated)


def test_memory_of_unknown_size_has_no_constant_size() -> None:
    text = QUOTIENTS[0].replace("S[v0, v1] * T.float32(2)", "S[v0, v1] + S[A_row[0], v1]")
    text = text.replace("A = T.match", 'A_row = T.match_buffer(var_R, (1,), "int64")\n    A = T.match').replace(
        "var_A: T.handle", "var_R: T.handle, var_A: T.handle"
    )
    with pytest.raises(tvms.TvmsError) as found:
        tvms.emit(tvms.parse(text), "ptx", "cuda")
    assert found.value.diagnostics[0].message == "'S' has no constant size"
