"""Programs that multiply in tensor memory, and a model of descriptors that is independent of the library."""

from __future__ import annotations

from typing import Any

import numpy as np
from gpu.warpgroup_programs import PTX, address, array

ONE = """
T.prim_func main(A: T.Buffer((2048,), "{dtype}"), B: T.Buffer(({size},), "{dtype}"), PA: T.Buffer((2048,), "int32"), PB: T.Buffer(({size},), "int32"), D: T.Buffer((128, {n}), "float32"), C: T.Buffer((128, {n}), "float32")):
    tx = T.launch_thread("threadIdx.x", 128)
    a = T.allocate([16384], "{dtype}", "shared.dyn")
    b = T.allocate([20480], "{dtype}", "shared.dyn")
    c = T.allocate([128, 512], "float32", "tmem")
    d = T.allocate([128], "float32", "local")
    a_1 = T.Buffer((16384,), "{dtype}", data=a, scope="shared.dyn")
    b_1 = T.Buffer((20480,), "{dtype}", data=b, scope="shared.dyn")
    d_1 = T.Buffer((128,), "float32", data=d, scope="local")
    T.create_barriers(1)
    if tx == 0:
        T.ptx_init_barrier_thread_count(0, 1)
    if tx < 32:
        T.ptx_tcgen05_alloc(c, 512)
        T.ptx_tcgen05_relinquish_alloc_permit()
    for i in range(16):
        a_1[PA[tx + i * 128]] = A[tx + i * 128]
    for i in range({n} // 8):
        b_1[PB[tx + i * 128]] = B[tx + i * 128]
    T.ptx_fence_proxy_async()
    T.tvm_storage_sync("shared")
    if tx == 5:
        T.ptx_tcgen05_mma("float32", "m128n{n}k16", "{a_layout}", "{b_layout}", "{kind}", "{kind}", "fp32", a, {a_start}, b, {b_start}, c, 64, {leading}, {stride}, {leading}, {stride}, False)
        T.ptx_tcgen05_mma("float32", "m128n{n}k16", "{a_layout}", "{b_layout}", "{kind}", "{kind}", "fp32", a, {a_start}, b, {b_start}, c, 64, {leading}, {stride}, {leading}, {stride}, True)
        T.ptx_tcgen05_commit(0)
    T.ptx_wait_barrier(0, 0)
    T.ptx_tcgen05_fence_after_thread_sync()
{loads}
    T.tvm_storage_sync("shared")
    if tx < 32:
        T.ptx_tcgen05_dealloc(c, 512)
"""
"""Twice one product of tiles whose elements lie where PA and PB say, and another matrix."""

LOAD = """    T.ptx_tcgen05_ld("float32", d, 0, c, tx // 32 * 32, {column}, "32x32b", {count})
    T.ptx_tcgen05_wait_ld()
    for i in range({count}):
        C[tx, {first} + i] = d_1[i] + D[tx, {first} + i]
"""


def one_product(n: int, dtype: str, layouts: tuple[str, str]) -> tuple[str, list[Any], Any]:
    """Return a program that adds two equal products of 128 × n to a matrix, its arguments but for the result, and that.

    Deep factors have 64 columns, of which these are the second 16; others start at their second 16 rows.
    """
    is_deep = layouts[0] == "row", layouts[1] == "col"
    starts = [32 if deep else 2048 for deep in is_deep]
    leading, stride = 8192, 1024
    places = [
        np.array([[address(s, k, deep, leading, stride, start) // 2 for k in range(16)] for s in range(span)], np.int32)
        for span, deep, start in zip((128, n), is_deep, starts, strict=True)
    ]
    assert all(len(set(part.ravel().tolist())) == part.size for part in places)
    parts = [size for size in (128, 64, 32, 16) if n & size] if n < 256 else [128, 128]
    loads = [LOAD.format(first=sum(parts[:i]), column=64 + sum(parts[:i]), count=part) for i, part in enumerate(parts)]
    text = ONE.format(
        dtype=dtype, kind=PTX[dtype], n=n, size=n * 16, a_layout=layouts[0], b_layout=layouts[1], loads="".join(loads),
        a_start=starts[0] // 2, b_start=starts[1] // 2, leading=leading, stride=stride,
    )  # fmt: skip
    a, b = array((128, 16), dtype, 1), array((n, 16), dtype, 2)
    d = np.random.default_rng(3).integers(-4, 5, (128, n)).astype(np.float32)
    expected = 2 * (a.astype(np.float32) @ b.astype(np.float32).T) + d
    return text, [a.ravel(), b.ravel(), places[0].ravel(), places[1].ravel(), d], expected


BOXES = """
T.prim_func main(A: T.Buffer((256, 256), "{dtype}"), B: T.Buffer((64, 256), "{dtype}"), C: T.Buffer((256, 64), "float32")):
    bx = T.launch_thread("blockIdx.x", 2)
    tx = T.launch_thread("threadIdx.x", 128)
    a = T.allocate([16384], "{dtype}", "shared.dyn")
    b = T.allocate([8192], "{dtype}", "shared.dyn")
    c = T.allocate([128 * 64], "float32", "tmem")
    d = T.allocate([64], "float32", "local")
    d_1 = T.Buffer((64,), "float32", data=d, scope="local")
    T.create_barriers(5)
    if tx == 0:
        for i in range(5):
            T.ptx_init_barrier_thread_count(i, 1)
    if tx < 32:
        T.ptx_tcgen05_alloc(c, 64)
        T.ptx_tcgen05_relinquish_alloc_permit()
    T.tvm_storage_sync("shared")
    if tx == 0:
        for step in range(4):
            T.ptx_wait_barrier(step % 2 + 2, step // 2 + 1)
            T.ptx_arrive_barrier_expect_tx(step % 2, 24576)
            T.ptx_cp_async_bulk_tensor("{dtype}", a, step % 2 * 8192, A.data, 256, 256, 256, bx * 128, step * 64, 128, step % 2)
            T.ptx_cp_async_bulk_tensor("{dtype}", b, step % 2 * 4096, B.data, 64, 256, 256, 0, step * 64, 64, step % 2)
    if tx == 32:
        for step in range(4):
            T.ptx_wait_barrier(step % 2, step // 2)
            for k in range(4):
                T.ptx_tcgen05_mma("float32", "m128n64k16", "row", "col", "{kind}", "{kind}", "fp32", a, step % 2 * 8192 + k * 16, b, step % 2 * 4096 + k * 16, c, 0, 0, 1024, 0, 1024, step + k > 0)
            T.ptx_tcgen05_commit(step % 2 + 2)
        T.ptx_tcgen05_commit(4)
    T.tvm_storage_sync("warp")
    T.ptx_wait_barrier(4, 0)
    T.ptx_tcgen05_fence_after_thread_sync()
    T.ptx_tcgen05_ld("float32", d, 0, c, tx // 32 * 32, 0, "32x32b", 64)
    T.ptx_tcgen05_wait_ld()
    for i in range(64):
        C[bx * 128 + tx, i] = d_1[i]
    T.tvm_storage_sync("shared")
    if tx < 32:
        T.ptx_tcgen05_dealloc(c, 64)
"""
"""C = A @ B.T: one thread copies boxes into two stages, another one multiplies, and all store."""


def product_of_boxes(dtype: str) -> tuple[str, list[Any], Any]:
    """Return the program, its arguments but for the result, and that."""
    a, b = array((256, 256), dtype, 1), array((64, 256), dtype, 2)
    return BOXES.format(dtype=dtype, kind=PTX[dtype]), [a, b], a.astype(np.float32) @ b.astype(np.float32).T


TILES = """
T.prim_func main(A: T.Buffer((256, 64), "{dtype}"), B: T.Buffer((64, 64), "{dtype}"), C: T.Buffer((256, 64), "float32")):
    tx = T.launch_thread("threadIdx.x", 128)
    a = T.allocate([8192], "{dtype}", "shared.dyn")
    b = T.allocate([4096], "{dtype}", "shared.dyn")
    c = T.allocate([128 * 64], "float32", "tmem")
    d = T.allocate([64], "float32", "local")
    d_1 = T.Buffer((64,), "float32", data=d, scope="local")
    T.create_barriers(1)
    if tx == 0:
        T.ptx_init_barrier_thread_count(0, 1)
    if tx < 32:
        T.ptx_tcgen05_alloc(c, 64)
    for i in range(4):
        T.ptx_cp_async("{dtype}", b, (tx + i * 128) * 8 - tx % 8 * 8 + T.bitwise_xor(tx % 8, (tx + i * 128) // 8 % 8) * 8, B.data, (tx + i * 128) * 8, 16)
    for tile in range(2):
        for i in range(8):
            T.ptx_cp_async("{dtype}", a, (tx + i * 128) * 8 - tx % 8 * 8 + T.bitwise_xor(tx % 8, (tx + i * 128) // 8 % 8) * 8, A.data, tile * 8192 + (tx + i * 128) * 8, 16)
        T.ptx_commit_group()
        T.ptx_wait_group(0)
        T.ptx_fence_proxy_async()
        T.ptx_tcgen05_fence_before_thread_sync()
        T.tvm_storage_sync("shared")
        if tx == 0:
            T.ptx_tcgen05_fence_after_thread_sync()
            for k in range(4):
                T.ptx_tcgen05_mma("float32", "m128n64k16", "row", "col", "{kind}", "{kind}", "fp32", a, k * 16, b, k * 16, c, 0, 0, 1024, 0, 1024, k > 0)
            T.ptx_tcgen05_commit(0)
        T.tvm_storage_sync("warp")
        T.ptx_wait_barrier(0, tile)
        T.ptx_tcgen05_fence_after_thread_sync()
        T.ptx_tcgen05_ld("float32", d, 0, c, tx // 32 * 32, 0, "32x32b", 64)
        T.ptx_tcgen05_wait_ld()
        for i in range(64):
            C[tile * 128 + tx, i] = d_1[i]
    T.tvm_storage_sync("shared")
    if tx < 32:
        T.ptx_tcgen05_dealloc(c, 64)
"""
"""C = A @ B.T: all threads copy, and one of them multiplies two tiles, one after the other, in the same tensor memory."""


def product_of_tiles(dtype: str) -> tuple[str, list[Any], Any]:
    """Return the program, its arguments but for the result, and that."""
    a, b = array((256, 64), dtype, 1), array((64, 64), dtype, 2)
    return TILES.format(dtype=dtype, kind=PTX[dtype]), [a, b], a.astype(np.float32) @ b.astype(np.float32).T


ROLES = """
T.prim_func main(A: T.Buffer((512, 128), "{dtype}"), B: T.Buffer((64, 128), "{dtype}"), C: T.Buffer((512, 64), "float32")):
    tx = T.launch_thread("threadIdx.x", 192)
    a = T.allocate([16384], "{dtype}", "shared.dyn")
    b = T.allocate([8192], "{dtype}", "shared.dyn")
    c = T.allocate([128 * 128], "float32", "tmem")
    d = T.allocate([64], "float32", "local")
    d_1 = T.Buffer((64,), "float32", data=d, scope="local")
    T.create_barriers(8)
    if tx == 0:
        for i in range(6):
            T.ptx_init_barrier_thread_count(i, 1)
        for i in range(2):
            T.ptx_init_barrier_thread_count(i + 6, 128)
    if tx < 32:
        T.ptx_tcgen05_alloc(c, 128)
        T.ptx_tcgen05_relinquish_alloc_permit()
    T.tvm_storage_sync("shared")
    if tx < 32:
        if tx == 0:
            for step in range(8):
                T.ptx_wait_barrier(step % 2 + 2, step // 2 + 1)
                T.ptx_arrive_barrier_expect_tx(step % 2, 24576)
                T.ptx_cp_async_bulk_tensor("{dtype}", a, step % 2 * 8192, A.data, 512, 128, 128, step // 2 * 128, step % 2 * 64, 128, step % 2)
                T.ptx_cp_async_bulk_tensor("{dtype}", b, step % 2 * 4096, B.data, 64, 128, 128, 0, step % 2 * 64, 64, step % 2)
        T.tvm_storage_sync("warp")
    if tx == 32:
        for tile in range(4):
            T.ptx_wait_barrier(tile % 2 + 6, tile // 2 + 1)
            T.ptx_tcgen05_fence_after_thread_sync()
            for step in range(2):
                T.ptx_wait_barrier(step, tile)
                for k in range(4):
                    T.ptx_tcgen05_mma("float32", "m128n64k16", "row", "col", "{kind}", "{kind}", "fp32", a, step * 8192 + k * 16, b, step * 4096 + k * 16, c, tile % 2 * 64, 0, 1024, 0, 1024, step + k > 0)
                T.ptx_tcgen05_commit(step + 2)
            T.ptx_tcgen05_commit(tile % 2 + 4)
    if tx >= 64:
        for tile in range(4):
            T.ptx_wait_barrier(tile % 2 + 4, tile // 2)
            T.ptx_tcgen05_fence_after_thread_sync()
            T.ptx_tcgen05_ld("float32", d, 0, c, tx // 32 % 4 * 32, tile % 2 * 64, "32x32b", 64)
            T.ptx_tcgen05_wait_ld()
            T.ptx_tcgen05_fence_before_thread_sync()
            T.ptx_arrive_barrier(tile % 2 + 6)
            for i in range(64):
                C[tile * 128 + tx // 32 % 4 * 32 + tx % 32, i] = d_1[i]
    T.tvm_storage_sync("shared")
    if tx < 32:
        T.ptx_tcgen05_dealloc(c, 128)
"""
"""C = A @ B.T: a thread of warp 0 copies, one of warp 1 multiplies into two accumulators in turn, and four warps store the results."""


def product_by_roles(dtype: str) -> tuple[str, list[Any], Any]:
    """Return the program, its arguments but for the result, and that."""
    a, b = array((512, 128), dtype, 1), array((64, 128), dtype, 2)
    return ROLES.format(dtype=dtype, kind=PTX[dtype]), [a, b], a.astype(np.float32) @ b.astype(np.float32).T
