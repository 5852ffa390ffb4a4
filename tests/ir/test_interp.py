"""The interpreter's loop level against NumPy: blocks, loops, buffers, views, vectors, threads."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import tvms
from tvms.ir import tir
from tvms.ir.base import Op
from tvms.ir.interp import call_prim_func, run
from tvms.ir.interp.frame import ThreadOrder
from tvms.ir.numpy_dtype import numpy_dtype


def call(text: str, *args: Any, **options: Any) -> Any:
    """Call the function `main` of `text`."""
    return run(tvms.parse(text), "main", args, **options)


MATMUL = """
T.prim_func main(A: T.Buffer((5, 7), "float32"), B: T.Buffer((7, 3), "float32"), C: T.Buffer((5, 3), "float32")):
    for i, j, k in T.grid(5, 3, 7):
        with T.block("matmul"):
            vi, vj, vk = T.axis.remap("SSR", [i, j, k])
            with T.init():
                C[vi, vj] = T.float32(0)
            C[vi, vj] = C[vi, vj] + A[vi, vk] * B[vk, vj]
"""


def test_a_reduction_starts_from_its_init(random: np.random.Generator) -> None:
    a, b = random.random((5, 7), "float32"), random.random((7, 3), "float32")
    c = np.full((5, 3), np.nan, "float32")
    call(MATMUL, a, b, c)
    np.testing.assert_allclose(c, a @ b, rtol=1e-5)


def test_a_function_by_itself_is_called_as_it_is_compiled() -> None:
    (function,) = tvms.parse(MATMUL).functions.values()
    a, b, c = np.ones((5, 7), "float32"), np.ones((7, 3), "float32"), np.zeros((5, 3), "float32")
    tvms.interpret(function, "main", [a, b, c])
    np.testing.assert_array_equal(c, np.full((5, 3), 7))


def test_init_runs_where_all_reduction_iterators_are_at_their_minimum() -> None:
    """Also where the domain does not start at zero, where two iterators reduce, and in any order of the loops."""
    text = """
T.prim_func main(A: T.Buffer((8, 8), "int32"), B: T.Buffer((), "int32")):
    for k, l in T.grid(3, 4):
        with T.block("sum"):
            vk = T.axis.reduce((2, 5), k + 2)
            vl = T.axis.reduce((1, 5), l + 1)
            with T.init():
                B[()] = 100
            B[()] = B[()] + A[vk, vl]
"""
    a, b = np.arange(64, dtype="int32").reshape(8, 8), np.zeros((), "int32")
    call(text, a, b)
    assert b == 100 + a[2:5, 1:5].sum()


def test_a_block_runs_only_where_its_predicate_holds() -> None:
    text = """
T.prim_func main(A: T.Buffer((10,), "int32")):
    for i, j in T.grid(3, 4):
        with T.block("fill"):
            vi = T.axis.spatial(10, i * 4 + j)
            T.where(i * 4 + j < 10)
            A[vi] = vi
"""
    a = np.zeros(10, "int32")
    call(text, a)
    assert a.tolist() == list(range(10))


def test_statements() -> None:
    text = """
T.prim_func main(A: T.Buffer((10,), "int32"), B: T.Buffer((10,), "int32")):
    for i in range(10):
        if A[i] % 3 == 0:
            B[i] = -1
        elif A[i] % 3 == 1:
            B[i] = 0
        else:
            x = T.let("int32", A[i] * 2)
            B[i] = x + 1
    n = T.alloc_buffer((1,), "int32")
    n[0] = 0
    while n[0] < 5:
        B[n[0]] += 100
        n[0] += 1
    assert n[0] == 5, "five"
"""
    text = text.replace('x = T.let("int32", A[i] * 2)', "x: T.int32 = A[i] * 2")
    a, b = np.arange(10, dtype="int32"), np.zeros(10, "int32")
    call(text, a, b)
    expected = [(-1, 0, i * 2 + 1)[i % 3] for i in range(10)]
    assert b.tolist() == [value + 100 * (i < 5) for i, value in enumerate(expected)]


def test_symbolic_shapes_take_their_size_from_the_arguments(random: np.random.Generator) -> None:
    text = """
T.prim_func main(a: T.handle, b: T.handle):
    n = T.int64()
    m = T.int64()
    A = T.match_buffer(a, (n, m), "float32")
    B = T.match_buffer(b, (m, n * 2), "float32")
    for i, j in T.grid(n, m):
        with T.block("transpose"):
            vi, vj = T.axis.remap("SS", [i, j])
            B[vj, vi * T.int64(2)] = A[vi, vj]
"""
    a, b = random.random((3, 5), "float32"), np.zeros((5, 6), "float32")
    call(text, a, b)
    np.testing.assert_array_equal(b[:, ::2], a.T)


def test_strides_of_an_argument_are_bound(random: np.random.Generator) -> None:
    text = """
T.prim_func main(a: T.handle, B: T.Buffer((4, 3), "float32")):
    s0 = T.int32()
    s1 = T.int32()
    A = T.match_buffer(a, (4, 3), "float32", strides=[s0, s1])
    for i, j in T.grid(4, 3):
        with T.block("copy"):
            vi, vj = T.axis.remap("SS", [i, j])
            B[vi, vj] = A[vi, vj]
"""
    whole, b = random.random((3, 8), "float32"), np.zeros((4, 3), "float32")
    call(text, whole.T[::2], b)
    np.testing.assert_array_equal(b, whole.T[::2])


def test_a_matched_buffer_is_a_view_of_a_region(random: np.random.Generator) -> None:
    text = """
T.prim_func main(A: T.Buffer((8, 8), "float32")):
    for i, j in T.grid(2, 2):
        with T.block("tile"):
            vi, vj = T.axis.remap("SS", [i, j])
            T.reads(A[vi * 4 : vi * 4 + 4, vj * 4 : vj * 4 + 4])
            T.writes(A[vi * 4 : vi * 4 + 4, vj * 4 : vj * 4 + 4])
            s0 = T.int32()
            s1 = T.int32()
            tile = T.match_buffer(A[vi * 4 : vi * 4 + 4, vj * 4 : vj * 4 + 4], (4, 4), strides=[s0, s1], offset_factor=1)
            for k in range(4):
                tile[k, k] = T.Cast("float32", s0 * 100 + s1)
"""
    a = random.random((8, 8), "float32")
    expected = a.copy()
    expected[np.abs(np.subtract.outer(range(8), range(8))) % 4 == 0] = 801
    call(text, a)
    np.testing.assert_array_equal(a, expected)


def test_buffers_that_share_memory_may_differ_in_dtype() -> None:
    text = """
T.prim_func main(A: T.Buffer((4,), "float32"), B: T.Buffer((4,), "int32")):
    bits = T.decl_buffer((4,), "int32", data=A.data)
    for i in range(4):
        B[i] = bits[i]
"""
    a, b = np.array([0, 1, -2, np.inf], "float32"), np.zeros(4, "int32")
    call(text, a, b)
    np.testing.assert_array_equal(b, a.view("int32"))


@pytest.mark.parametrize("dtype", ["float32", "int32", "bool", "bfloat16"])
def test_vectors(dtype: str, random: np.random.Generator) -> None:
    text = f"""
T.prim_func main(A: T.Buffer((16,), "{dtype}"), B: T.Buffer((16,), "{dtype}")):
    for i in range(4):
        B[T.Ramp(i * 4, 1, 4)] = A[T.Ramp(15 - i * 4, -1, 4)]
    B[T.Ramp(0, 2, 4)] = T.Broadcast(A[3], 4)
"""
    a = random.integers(0, 2, 16).astype(numpy_dtype(dtype))
    b = np.zeros_like(a)
    call(text, a, b)
    expected = a[::-1].copy()
    expected[0:8:2] = a[3]
    np.testing.assert_array_equal(b, expected)


def test_functions_call_each_other_and_return() -> None:
    text = """
I.ir_module Module:
    T.prim_func square(x: T.int32) -> T.int32:
        T.ret(x * x)

    T.prim_func main(A: T.Buffer((4,), "int32")):
        for i in range(4):
            A[i] = Module.square(A[i])
"""
    a = np.array([1, 2, 3, 70000], "int32")
    call(text, a)
    assert a.tolist() == [1, 4, 9, 70000**2 - 2**32]


def test_memory_that_nobody_wrote_is_poison() -> None:
    text = """
T.prim_func main(A: T.Buffer((4,), "float32"), B: T.Buffer((4,), "int32")):
    x = T.alloc_buffer((4,), "float32")
    y = T.alloc_buffer((4,), "int32")
    for i in range(4):
        A[i] = x[i]
        B[i] = y[i]
"""
    results = []
    for seed in (1, 1, 2):
        a, b = np.zeros(4, "float32"), np.zeros(4, "int32")
        call(text, a, b, seed=seed)
        assert np.isnan(a).all()
        results.append(b.tolist())
    assert results[0] == results[1] != results[2]


def test_a_program_may_nest_ten_thousand_deep() -> None:
    value: tir.PrimExpr = tir.IntImm("int32", 0)
    for _ in range(10_000):
        value = tir.Add("int32", tir.IntImm("int32", 1), value)
    body: tir.Stmt = tir.Evaluate(tir.Call("int32", Op("tir.ret"), (value,)))
    for _ in range(10_000):
        one = tir.IntImm("int32", 1)
        body = tir.For(tir.Var("int32", "i"), tir.IntImm("int32", 0), one, tir.ForKind.SERIAL, body)
    assert call_prim_func(tir.PrimFunc((), body), []) == 10_000


# --- Threads --------------------------------------------------------------------------------------------------

REVERSE = """
T.prim_func main(A: T.Buffer((32,), "int32"), B: T.Buffer((32,), "int32")):
    bx = T.launch_thread("blockIdx.x", 4)
    shared = T.allocate([8], "int32", "shared")
    tile = T.decl_buffer((8,), "int32", data=shared, scope="shared")
    tx = T.launch_thread("threadIdx.x", 8)
    tile[tx] = A[bx * 8 + tx]
    T.tvm_storage_sync("shared")
    B[bx * 8 + tx] = tile[7 - tx]
"""


@pytest.mark.parametrize("order", ["ascending", "descending", "random"])
def test_threads_wait_at_barriers(order: ThreadOrder) -> None:
    a, b = np.arange(32, dtype="int32"), np.zeros(32, "int32")
    call(REVERSE, a, b, thread_order=order)
    np.testing.assert_array_equal(b.reshape(4, 8), a.reshape(4, 8)[:, ::-1])


def test_shared_memory_is_the_blocks_wherever_it_is_allocated() -> None:
    lines = REVERSE.splitlines()
    lines.insert(3, lines.pop(5))  # launch the threads first
    assert "threadIdx" in lines[3]
    a, b = np.arange(32, dtype="int32"), np.zeros(32, "int32")
    call("\n".join(lines), a, b)
    np.testing.assert_array_equal(b.reshape(4, 8), a.reshape(4, 8)[:, ::-1])


def test_barriers_in_loops_over_two_thread_axes() -> None:
    """A tree reduction: what one step writes, the next reads from other threads."""
    text = """
T.prim_func main(A: T.Buffer((4, 8), "int32"), B: T.Buffer((1,), "int32")):
    shared = T.allocate([32], "int32", "shared")
    tile = T.decl_buffer((32,), "int32", data=shared, scope="shared")
    ty = T.launch_thread("threadIdx.y", 4)
    tx = T.launch_thread("threadIdx.x", 8)
    tile[ty * 8 + tx] = A[ty, tx]
    for step in range(5):
        T.tvm_storage_sync("shared")
        if ty * 8 + tx < T.shift_right(16, step):
            tile[ty * 8 + tx] = tile[ty * 8 + tx] + tile[ty * 8 + tx + T.shift_right(16, step)]
    if ty * 8 + tx == 0:
        B[0] = tile[0]
"""
    a, b = np.arange(32, dtype="int32").reshape(4, 8), np.zeros(1, "int32")
    call(text, a, b, thread_order="random")
    assert b[0] == a.sum()


def test_local_memory_belongs_to_each_thread() -> None:
    text = """
T.prim_func main(B: T.Buffer((8,), "int32")):
    bx = T.launch_thread("blockIdx.x", 1)
    local = T.allocate([1], "int32", "local")
    mine = T.decl_buffer((1,), "int32", data=local, scope="local")
    tx = T.launch_thread("threadIdx.x", 8)
    mine[0] = tx
    T.tvm_storage_sync("shared")
    B[tx] = mine[0]
"""
    b = np.zeros(8, "int32")
    call(text, b)
    assert b.tolist() == list(range(8))


def test_loops_bound_to_threads_are_loops_before_lowering() -> None:
    """Sibling loops over the same threads run one after the other, and memory is one, whatever its scope."""
    text = """
T.prim_func main(A: T.Buffer((4, 8), "int32"), B: T.Buffer((4,), "int32")):
    partial = T.alloc_buffer((4, 8), "int32", scope="local")
    for i in T.thread_binding(4, thread="blockIdx.x"):
        for j in T.thread_binding(8, thread="threadIdx.x"):
            with T.block("square"):
                vi, vj = T.axis.remap("SS", [i, j])
                partial[vi, vj] = A[vi, vj] * A[vi, vj]
        for j in T.thread_binding(8, thread="threadIdx.x"):
            with T.block("sum"):
                vi, vj = T.axis.remap("SR", [i, j])
                with T.init():
                    B[vi] = 0
                B[vi] = B[vi] + partial[vi, vj]
"""
    a, b = np.arange(32, dtype="int32").reshape(4, 8), np.zeros(4, "int32")
    call(text, a, b)
    np.testing.assert_array_equal(b, (a * a).sum(1))


def test_a_reduction_across_threads() -> None:
    text = """
T.prim_func main(A: T.Buffer((4, 8), "int32"), B: T.Buffer((4,), "int32")):
    ty = T.launch_thread("threadIdx.y", 4)
    tx = T.launch_thread("threadIdx.x", 8)
    local = T.allocate([1], "int32", "local")
    total = T.decl_buffer((1,), "int32", data=local, scope="local")
    with T.attr(T.comm_reducer(lambda x, y: x + y, [0]), "reduce_scope", T.reinterpret("handle", T.uint64(0))):
        T.tvm_thread_allreduce(T.uint32(1), A[ty, tx], T.bool(True), total[0], tx)
    if tx == 0:
        B[ty] = total[0]
"""
    a, b = np.arange(32, dtype="int32").reshape(4, 8), np.zeros(4, "int32")
    call(text, a, b, thread_order="random")
    np.testing.assert_array_equal(b, a.sum(1))


def test_warps_shuffle_while_others_wait_at_a_barrier() -> None:
    text = """
T.prim_func main(A: T.Buffer((64,), "int32"), B: T.Buffer((64,), "int32")):
    tx = T.launch_thread("threadIdx.x", 64)
    B[tx] = A[tx]
    if tx < 32:
        B[tx] = T.tvm_warp_shuffle_down(T.uint32(0xFFFFFFFF), A[tx], 1, 32, 32)
    T.tvm_storage_sync("shared")
    B[tx] = B[tx] + 1
"""
    a, b = np.arange(64, dtype="int32") * 10, np.zeros(64, "int32")
    call(text, a, b)
    np.testing.assert_array_equal(b[:31], a[1:32] + 1)
    np.testing.assert_array_equal(b[31:], a[31:] + 1)


def test_lanes_that_are_off_touch_nothing() -> None:
    text = """
T.prim_func main(A: T.Buffer((6,), "int32"), B: T.Buffer((8,), "int32")):
    B.vstore([T.Ramp(0, 1, 8)], A.vload([T.Ramp(0, 1, 8)], predicate=T.get_active_lane_mask("boolx8", 0, 6)), predicate=T.get_active_lane_mask("boolx8", 0, 7))
"""
    a, b = np.arange(1, 7, dtype="int32"), np.full(8, -1, "int32")
    call(text, a, b)
    assert b.tolist() == [1, 2, 3, 4, 5, 6, 0, -1]


def test_a_reduction_across_a_loop_over_threads() -> None:
    """The result may also go to where a pointer points."""
    text = """
T.prim_func main(A: T.Buffer((4, 64), "int32"), B: T.Buffer((4,), "int32")):
    total = T.alloc_buffer((1,), "int32", scope="local")
    partial = T.alloc_buffer((1,), "int32", scope="local")
    for i in range(4):
        for ki in T.thread_binding(32, thread="threadIdx.x"):
            partial[0] = 0
            for ko in range(2):
                partial[0] = partial[0] + A[i, ko * 32 + ki]
            with T.attr(T.comm_reducer(lambda x, y: x + y, [0]), "reduce_scope", T.reinterpret("handle", T.uint64(0))):
                T.tvm_thread_allreduce(T.uint32(1), partial[0], T.bool(True), total.data, ki)
            B[i] = total[0]
"""
    a, b = np.arange(256, dtype="int32").reshape(4, 64), np.zeros(4, "int32")
    call(text, a, b, thread_order="random")
    np.testing.assert_array_equal(b, a.sum(1))
