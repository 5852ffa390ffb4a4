"""Loops, blocks, memory and control of loop functions: compiled, they do what the interpreter does."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import tvms
from tvms.codegen.lower import lower
from tvms.ir.tir import PrimFunc

MATMUL = """
T.prim_func main(A: T.Buffer(({n}, {n}), "float32"), B: T.Buffer(({n}, {n}), "float32"), C: T.Buffer(({n}, {n}), "float32")):
    T.func_attr({{"tir.noalias": True}})
    for i, j, k in T.grid({n}, {n}, {n}):
        with T.block("matmul"):
            vi, vj, vk = T.axis.remap("SSR", [i, j, k])
            with T.init():
                C[vi, vj] = T.float32(0)
            C[vi, vj] = C[vi, vj] + A[vi, vk] * B[vk, vj]
"""


def arange(*shape: int, dtype: str = "float32") -> np.ndarray:
    return (np.arange(np.prod(shape)) % 23 - 7).reshape(shape).astype(dtype)


def test_matmul_is_exact(agree: Callable[..., Any]) -> None:
    generator = np.random.default_rng(3)
    a, b = generator.standard_normal((2, 17, 17)).astype("f4")
    _, (_, _, c) = agree(MATMUL.format(n=17), a, b, np.full((17, 17), np.nan, "f4"))
    np.testing.assert_allclose(c, a @ b, rtol=1e-4, atol=1e-5)


def test_the_init_of_a_reduction_leaves_its_loop() -> None:
    function = tvms.parse(MATMUL.format(n=16)).functions["main"]
    assert isinstance(function, PrimFunc)
    text = lower(function).script()
    assert "if" not in text
    assert text.count("for ") == 2  # i and j in one grid, then k


def test_a_split_reduction_with_a_predicate(agree: Callable[..., Any]) -> None:
    text = """
T.prim_func main(A: T.Buffer((10, 13), "float32"), C: T.Buffer((10,), "float32")):
    for i0, k0, i1, k1 in T.grid(4, 4, 3, 4):
        with T.block("sum"):
            vi = T.axis.spatial(10, i0 * 3 + i1)
            vk = T.axis.reduce(13, k0 * 4 + k1)
            T.where(i0 * 3 + i1 < 10 and k0 * 4 + k1 < 13)
            with T.init():
                C[vi] = T.float32(1)
            C[vi] = C[vi] + A[vi, vk]
"""
    a = arange(10, 13)
    _, (_, c) = agree(text, a, np.zeros(10, "f4"))
    np.testing.assert_array_equal(c, 1 + a.sum(1))


def test_buffers_inside_blocks_and_matched_regions(agree: Callable[..., Any]) -> None:
    text = """
T.prim_func main(A: T.Buffer((8, 12), "float32"), C: T.Buffer((8, 12), "float32")):
    B = T.alloc_buffer((8, 12), "float32")
    for i, j in T.grid(2, 3):
        with T.block("outer"):
            vi, vj = T.axis.remap("SS", [i, j])
            T.reads(A[vi * 4:vi * 4 + 4, vj * 4:vj * 4 + 4])
            T.writes(B[vi * 4:vi * 4 + 4, vj * 4:vj * 4 + 4])
            s0 = T.int32()
            s1 = T.int32()
            A_sub = T.match_buffer(A[vi * 4:vi * 4 + 4, vj * 4:vj * 4 + 4], (4, 4), "float32", strides=[s0, s1], offset_factor=1)
            B_sub = T.match_buffer(B[vi * 4:vi * 4 + 4, vj * 4:vj * 4 + 4], (4, 4), "float32", offset_factor=1)
            local = T.alloc_buffer((4, 4), "float32")
            for a, b in T.grid(4, 4):
                local[a, b] = A_sub[b, a]
            for a, b in T.grid(4, 4):
                with T.block("inner"):
                    va, vb = T.axis.remap("SS", [a, b])
                    B_sub[va, vb] = local[va, vb] + T.Cast("float32", s0 * 100 + s1)
    for i, j in T.grid(8, 12):
        with T.block("copy"):
            vi, vj = T.axis.remap("SS", [i, j])
            C[vi, vj] = B[vi, vj]
"""
    agree(text, arange(8, 12), np.zeros((8, 12), "f4"))


def test_loops_over_threads_run_in_order(agree: Callable[..., Any]) -> None:
    text = """
T.prim_func main(A: T.Buffer((64,), "float32"), C: T.Buffer((64,), "float32")):
    shared = T.alloc_buffer((64,), "float32", scope="shared")
    for bx in T.thread_binding(4, thread="blockIdx.x"):
        for tx in T.thread_binding(16, thread="threadIdx.x"):
            with T.block("load"):
                v = T.axis.spatial(64, bx * 16 + tx)
                shared[v] = A[v] * T.float32(2)
        for tx in T.thread_binding(16, thread="threadIdx.x"):
            with T.block("use"):
                v = T.axis.spatial(64, bx * 16 + tx)
                C[v] = shared[bx * 16 + (15 - tx)]
    for i in T.parallel(64):
        C[i] = C[i] + T.float32(1)
"""
    agree(text, arange(64), np.zeros(64, "f4"))


def test_control_flow(agree: Callable[..., Any]) -> None:
    text = """
T.prim_func main(A: T.Buffer((32,), "int32"), C: T.Buffer((32,), "int32")):
    n = T.alloc_buffer((1,), "int32")
    count = T.alloc_buffer((1,), "int32")
    for i in range(32):
        x: T.int32 = A[i] * 3
        n[0] = 0
        count[0] = x
        while count[0] > 0:
            n[0] = n[0] + count[0]
            count[0] = count[0] // 2
        if i % 3 == 0 and A[i] > 2:
            C[i] = n[0]
        elif i % 3 == 1:
            C[i] = 0 - n[0]
        else:
            with T.LetStmt(n[0] + 1) as y:
                C[i] = y * y
"""
    agree(text, arange(32, dtype="int32"), np.zeros(32, "i4"))


def test_vectors_that_are_written_out(agree: Callable[..., Any]) -> None:
    text = """
T.prim_func main(A: T.Buffer((64,), "float32"), C: T.Buffer((64,), "float32"), D: T.Buffer((16,), "float32x4")):
    for i in range(8):
        C[T.Ramp(i * 8, 1, 8)] = A[T.Ramp(56 - i * 8, 1, 8)] * T.Broadcast(T.float32(2), 8)
    for i in range(4):
        C[T.Ramp(i, 4, 16)] = A[T.Ramp(i, 4, 16)] + T.Cast("float32x16", T.Ramp(i, 2, 16))
    for i in range(16):
        D[i] = A[T.Ramp(i * 4, 1, 4)]
"""
    agree(text, arange(64), np.zeros(64, "f4"), np.zeros((16, 4), "f4"))


def test_a_vectorized_loop_that_depends_on_itself_stays_sequential(agree: Callable[..., Any]) -> None:
    text = """
T.prim_func main(A: T.Buffer((17,), "float32"), S: T.Buffer((1,), "float32")):
    for i in T.vectorized(16):
        A[i + 1] = A[i] + T.float32(1)
    for i in T.vectorized(16):
        S[0] = S[0] + A[i]
"""
    _, (a, _) = agree(text, np.zeros(17, "f4"), np.zeros(1, "f4"))
    np.testing.assert_array_equal(a, np.arange(17))


def test_symbolic_shapes_and_strides(agree: Callable[..., Any]) -> None:
    text = """
T.prim_func main(a: T.handle, b: T.handle, k: T.int32):
    n = T.int32()
    m = T.int32()
    s = T.int32()
    A = T.match_buffer(a, (n, m), "float32", strides=[s, 1])
    B = T.match_buffer(b, (m, n * 2), "float32")
    for i, j in T.grid(m, n * 2):
        with T.block("copy"):
            vi, vj = T.axis.remap("SS", [i, j])
            B[vi, vj] = A[vj // 2, vi] * T.Cast("float32", k)
"""
    base = arange(6, 10)
    agree(text, base[:, :7], np.zeros((7, 12), "f4"), 5)


def test_memory_on_the_heap_and_of_symbolic_size(agree: Callable[..., Any]) -> None:
    text = """
T.prim_func main(a: T.handle, c: T.handle):
    n = T.int64()
    A = T.match_buffer(a, (n,), "float64")
    C = T.match_buffer(c, (n,), "float64")
    B = T.alloc_buffer((n,), "float64")
    D = T.alloc_buffer((5000,), "float64")
    for i in range(n):
        B[i] = A[n - i - 1]
    for i in range(n):
        D[i] = B[i] * T.float64(2)
    for i in range(n):
        C[i] = D[i]
"""
    agree(text, arange(100, dtype="float64"), np.zeros(100))


def test_values_are_returned_and_functions_called(agree: Callable[..., Any]) -> None:
    text = """
I.ir_module Module:
    T.prim_func square(x: T.int32) -> T.int32:
        return x * x

    T.prim_func main(C: T.Buffer((8,), "int32")):
        for i in range(8):
            C[i] = Module.square(i) + 1
"""
    agree(text, 7, name="square")
    agree(text, np.zeros(8, "i4"))


def test_a_path_without_return_returns_zero(agree: Callable[..., Any]) -> None:
    text = """
I.ir_module Module:
    T.prim_func chosen(n: T.int32) -> T.float64:
        if n > 3:
            return T.float64(7)

    T.prim_func main(A: T.Buffer((8,), "float64"), n: T.int32):
        for i in range(8):
            A[i] = Module.chosen(n + i)
        if n == 2:
            return 5
"""
    for n in (1, 2, 9):
        agree(text, n, name="chosen")
        result, _ = agree(text, np.full(8, 3.0), n)
        assert result == (5 if n == 2 else 0)


@pytest.mark.parametrize("head", ["T.prim_func main()", "T.prim_func main() -> T.int64"])
def test_a_return_that_is_never_reached_leaves_a_result_of_zero(agree: Callable[..., Any], head: str) -> None:
    result, _ = agree(f"{head}:\n    for i in range(0):\n        return T.int64(1)\n")
    assert result == 0


def test_results_of_two_dtypes_are_refused() -> None:
    text = """
T.prim_func main(n: T.int32, x: T.int64):
    if n > 3:
        return n
    return x
"""
    with pytest.raises(tvms.TvmsError) as problem:
        tvms.compile(tvms.parse(text), target="llvm")
    assert (
        str(problem.value)
        == """error[E0606]: the function returns int64 here, but its result is int32
  --> <string>:5:5
   |
 5 |     return x
   |     ^^^^^^^^
   = help: convert the value: T.Cast("int32", …)"""
    )


def test_bools_are_bytes_in_memory(agree: Callable[..., Any]) -> None:
    text = """
T.prim_func main(A: T.Buffer((40,), "int32"), P: T.Buffer((40,), "bool"), Q: T.Buffer((40,), "bool"), C: T.Buffer((40,), "int32")):
    for i in range(40):
        P[i] = A[i] > 2 or not (A[i] != 0)
    for i in T.vectorized(40):
        Q[i] = P[i] and A[i] < 9
    for i in range(40):
        C[i] = T.Cast("int32", Q[i]) + T.if_then_else(P[i], 10, 20)
"""
    agree(text, arange(40, dtype="int32"), np.zeros(40, bool), np.zeros(40, bool), np.zeros(40, "i4"))


def test_indices_beyond_31_bits_do_not_wrap_around() -> None:
    """The address is computed in 64 bits, though the indices are 32: here two of them, each in range."""
    text = """
T.prim_func main(C: T.Buffer((65536, 65536), "int8")):
    C[50000, 3] = T.int8(1)
"""
    function = tvms.parse(text).functions["main"]
    assert isinstance(function, PrimFunc)
    assert "T.int64(3276800003)" in lower(function).script()


@pytest.mark.parametrize("kind", ["llvm", "asm"])
def test_emit_shows_mangled_names(kind: str) -> None:
    text = tvms.emit(tvms.parse(MATMUL.format(n=8)), kind)
    assert "tvms_main" in text


def test_emit_gives_an_object_file() -> None:
    assert tvms.emit(tvms.parse(MATMUL.format(n=8)), "obj").startswith(b"\x7fELF")


def test_names_never_reach_the_linker_as_they_are() -> None:
    from tvms.codegen.names import mangle

    assert mangle("exit") == "tvms_exit"
    assert mangle('a"\nb') == "tvms_a$22$$a$b"
    assert len({mangle(name) for name in ("a$b", "a$24$b", "a_b", "a b")}) == 4


def test_programs_may_nest_deep() -> None:
    """An expression of 10,000 nested additions: compiled, and right."""
    value = "A[0]" + " + T.int32(1)" * 10_000
    text = f'T.prim_func main(A: T.Buffer((1,), "int32"), C: T.Buffer((1,), "int32")):\n    C[0] = {value}\n'
    c = np.zeros(1, "i4")
    tvms.compile(tvms.parse(text))["main"](np.array([5], "i4"), c)
    assert c[0] == 10_005
