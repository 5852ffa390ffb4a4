"""Memory that matrix units and asynchronous copies reach through pointers: the interpreter and simulated threads
accept the same offsets and strides, up to the last one.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import tvms
from tvms.codegen.gpu.kernel import Launch
from tvms.codegen.gpu.lower import lower_to_kernels
from tvms.codegen.lower.bounds import CHECKED_POSITION, Bounds
from tvms.ir import tir
from tvms.ir.base import IRModule
from tvms.ir.interp import run
from tvms.ir.visit import walk

HEAD = """
I.ir_module Module:
    T.prim_func main(A: T.Buffer((1024,), "float16"), B: T.Buffer((1024,), "float32"), n: T.int32):
        L = T.allocate([64], "float16", "local")
        C = T.allocate([16], "float32", "local")
        S = T.allocate([512], "float16", "shared")
        W = T.allocate([256], "float32", "warp")
        F = T.allocate([256], "float16", "wmma.matrix_a")
        K = T.allocate([256], "float16", "wmma.matrix_b")
        G = T.allocate([256], "float32", "wmma.accumulator")
        tx = T.launch_thread("threadIdx.x", 32)
"""
MMA = 'T.ptx_mma("float32", "m16n8k16", "row", "col", "fp16", "fp16", "fp32", L, {}, L, {}, C, {}, False)'
PRODUCT = """T.tvm_fill_fragment(G, 16, 16, 16, 0, T.float32(0))
T.tvm_load_matrix_sync(F, 16, 16, 16, 0, A.data, 16, "row_major")
T.tvm_load_matrix_sync(K, 16, 16, 16, 0, A.data, 16, "row_major")
T.tvm_mma_sync(G, {}, F, {}, K, {}, G, {})"""
STORE = 'T.tvm_fill_fragment(G, 16, 16, 16, 0, T.float32(0))\nT.tvm_store_matrix_sync(G, 16, 16, 16, {}, B.data, {}, "{}_major")'
COPY = 'T.ptx_cp_async("float16", S, {}, A.data, {}, 16)\nT.ptx_commit_group()\nT.ptx_wait_group(0)'
REACHED: dict[str, tuple[str, int, str]] = {
    "ptx_ldmatrix, registers": ('T.ptx_ldmatrix("float16", False, 4, ".b16", L, n, S, 0)', 56, "L"),
    "ptx_ldmatrix, rows": ('T.ptx_ldmatrix("float16", False, 4, ".b16", L, 0, S, n)', 504, "S"),
    "ptx_stmatrix, registers": ('T.ptx_stmatrix("float16", False, 4, ".b16", L, n, S, 0)', 56, "L"),
    "ptx_stmatrix, rows": ('T.ptx_stmatrix("float16", False, 4, ".b16", L, 0, S, n)', 504, "S"),
    "ptx_ldmatrix, rows of eight threads": ('T.ptx_ldmatrix("float16", False, 1, ".b16", L, 0, S, tx * 8 + n)', 448, "S"),
    "ptx_mma, a": (MMA.format("n", 0, 0), 56, "L"),
    "ptx_mma, b": (MMA.format(0, "n", 0), 60, "L"),
    "ptx_mma, c": (MMA.format(0, 0, "n"), 12, "C"),
    "mma_fill": ('T.mma_fill("float32", 8, C, n)', 8, "C"),
    "mma_fill, memory of a warp": ('T.mma_fill("float32", 8, W, n)', 0, "W"),
    "mma_store, registers": ('T.mma_store("float32", 16, 16, B.data, C, n, 16)', 8, "C"),
    "mma_store, stride": ('T.mma_store("float32", 16, 16, B.data, C, 0, n)', 67, "B"),
    "mma_store, part of a buffer": (
        'T.mma_store("float32", 16, 16, B.access_ptr("w", offset=n), C, 0, 16)', 768, "B",
    ),
    "tvm_fill_fragment": ("T.tvm_fill_fragment(G, 16, 16, 16, n, T.float32(0))", 0, "G"),
    "tvm_load_matrix_sync, number": ('T.tvm_load_matrix_sync(F, 16, 16, 16, n, A.data, 16, "row_major")', 0, "F"),
    "tvm_load_matrix_sync, stride": ('T.tvm_load_matrix_sync(F, 16, 16, 16, 0, A.data, n, "row_major")', 67, "A"),
    "tvm_store_matrix_sync, number": (STORE.format("n", 16, "row"), 0, "G"),
    "tvm_store_matrix_sync, stride": (STORE.format(0, "n", "col"), 67, "B"),
    **{f"tvm_mma_sync, {at}": (PRODUCT.format(*["n" if i == at else 0 for i in range(4)]), 0, "GFKG"[at]) for at in range(4)},
    "ptx_cp_async, target": (COPY.format("n", 0), 504, "S"),
    "ptx_cp_async, source": (COPY.format(0, "n"), 1016, "A"),
}  # fmt: skip


def program_of(lines: str) -> IRModule:
    return tvms.parse(HEAD + "".join(f"        {line}\n" for line in lines.split("\n")))


def arguments(n: int) -> list[Any]:
    return [np.zeros(1024, np.float16), np.zeros(1024, np.float32), n]


@pytest.mark.parametrize("name", REACHED)
def test_offsets_are_accepted_up_to_the_last(name: str) -> None:
    lines, last, memory = REACHED[name]
    program = program_of(lines)
    compiled = tvms.compile(program, target="cuda -simulate=random", level=0)["main"]
    for n in (0, last):
        run(program, "main", arguments(n), track=False)
        compiled(*arguments(n))
    for n in (last + 1, -1, 100_000_000, 2**31 - 1, -(2**31)):
        with pytest.raises(tvms.TvmsError) as interpreted:
            run(program, "main", arguments(n), track=False)
        with pytest.raises(tvms.TvmsError) as simulated:
            compiled(*arguments(n))
        found, expected = simulated.value.diagnostics[0], interpreted.value.diagnostics[0]
        assert (found.code, found.span) == (expected.code, expected.span) == ("E0707", expected.span)
        assert f"of '{memory}' is outside its memory, which holds" in found.message


def checks_in(program: IRModule, bounds: Bounds) -> int:
    func = program.functions["main"]
    assert isinstance(func, tir.PrimFunc)
    lowered, safety = lower_to_kernels(func, "main", bounds)
    kernels = (node.kernel for node in walk(lowered.body) if isinstance(node, Launch))
    calls = (node for kernel in kernels for node in walk(kernel.body) if isinstance(node, tir.Call))
    count = sum(call.op == CHECKED_POSITION for call in calls)
    assert safety.checked == count
    return count


@pytest.mark.parametrize("name", REACHED)
def test_constant_offsets_are_proven(name: str) -> None:
    lines, last, _ = REACHED[name]
    known = program_of(lines.replace("8 + n", f"8 + {last}").replace(" n", f" {last}").replace("=n", f"={last}"))
    is_proven = name != "ptx_ldmatrix, rows of eight threads"  # bounds of a choice do not depend on its condition
    assert (checks_in(known, "prove") == 0) == is_proven
    assert checks_in(known, "check") > 0
    assert checks_in(known, "trust") == 0


def test_a_copy_whose_predicate_is_false_writes_zeros_and_reads_nothing() -> None:
    def both(offsets: tuple[object, object], n: int) -> None:
        program = program_of(COPY.format(*offsets).replace(", 16)", ", 16, n < 100)"))
        run(program, "main", arguments(n), track=False)
        tvms.compile(program, target="cuda -simulate=random", level=0)["main"](*arguments(n))

    both((0, "n"), 99)
    both((0, "n"), 100_000_000)
    program = program_of(COPY.format("n", 0).replace(", 16)", ", 16, n < 100)"))
    compiled = tvms.compile(program, target="cuda -simulate=random", level=0)["main"]
    for call in (lambda: run(program, "main", arguments(505), track=False), lambda: compiled(*arguments(505))):
        with pytest.raises(tvms.TvmsError) as caught:
            call()
        assert caught.value.diagnostics[0].code == "E0707"


def test_offsets_do_not_change_after_their_check() -> None:
    """The product stores into the memory that its offset is read from."""
    program = program_of(
        """c = T.Buffer((16,), "float32", data=C, scope="local")
l = T.Buffer((64,), "float16", data=L, scope="local")
for i in range(64):
    l[i] = T.float16(4096)
for i in range(16):
    c[i] = T.float32(0)
"""
        + MMA.format(0, 0, 'T.Cast("int32", c[0])')
        + "\nB[tx] = c[3]"
    )
    expected, found = arguments(0), arguments(0)
    run(program, "main", expected)
    tvms.compile(program, target="cuda -simulate=ascending", level=0)["main"](*found)
    assert (found[1] == expected[1]).all()
    assert expected[1][0] == 4096.0**2 * 16


def test_a_copy_of_nothing_reads_nothing() -> None:
    text = """
T.prim_func main(a: T.handle, B: T.Buffer((8,), "float16")):
    m = T.int32()
    A = T.match_buffer(a, (m,), "float16")
    tx = T.launch_thread("threadIdx.x", 1)
    S = T.allocate([8], "float16", "shared")
    S_1 = T.Buffer((8,), "float16", data=S, scope="shared")
    T.ptx_cp_async("float16", S, 0, A.data, 0, 16, 8 <= m)
    T.ptx_commit_group()
    T.ptx_wait_group(0)
    for i in range(8):
        B[i] = S_1[i]
"""
    for size, expected in ((0, 0), (8, 1)):
        result = np.full(8, 2, np.float16)
        tvms.compile(tvms.parse(text), target="cuda -simulate=each")["main"](np.ones(size, np.float16), result)
        assert result.tolist() == [expected] * 8
