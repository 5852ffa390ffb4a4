"""Programs that copy boxes of a matrix by the copy engine."""

from __future__ import annotations

from typing import Any

import numpy as np
from gpu.warpgroup_programs import NUMPY

BOXES = [
    ("float16", (64, 256, 256), (0, 64), 64), ("bfloat16", (40, 56, 64), (-3, 8), 32), ("float32", (70, 40, 48), (64, 16), 16),
    ("float16", (64, 64, 64), (64, 64), 8),
]  # fmt: skip
"""Dtype; rows, columns and stride of the matrix; place and rows of the box."""

BOX = """
T.prim_func main(A: T.Buffer(({rows}, {stride}), "{dtype}"), P: T.Buffer(({size},), "int32"), B: T.Buffer(({size},), "{dtype}")):
    tx = T.launch_thread("threadIdx.x", 128)
    s = T.allocate([{whole}], "{dtype}", "shared")
    s_1 = T.Buffer(({whole},), "{dtype}", data=s, scope="shared")
    T.create_barriers(2)
    if tx == 0:
        T.ptx_init_barrier_thread_count(1, 1)
    T.tvm_storage_sync("shared")
    if tx == 0:
        T.ptx_arrive_barrier_expect_tx(1, {bytes})
        T.ptx_cp_async_bulk_tensor("{dtype}", s, {start}, A.data, {rows}, {columns}, {stride}, {row}, {column}, {box_rows}, 1)
    T.ptx_wait_barrier(1, 0)
    for i in range({size} // 128):
        B[tx + i * 128] = s_1[P[tx + i * 128]]
"""
"""One box, whose elements lie where P says."""


def box(dtype: str, matrix: tuple[int, int, int], place: tuple[int, int], box_rows: int) -> tuple[str, list[Any], Any]:
    """Return a program that copies a box of a matrix of `rows`, `columns` and `stride`, its arguments but for the result, and that."""
    (rows, columns, stride), kind = matrix, np.dtype(NUMPY.get(dtype, dtype))
    width, start = 128 // kind.itemsize, 1024 // kind.itemsize
    a = np.random.default_rng(3).integers(1, 9, (rows, stride)).astype(kind)
    expected = np.zeros((box_rows, width), kind)
    places = np.zeros((box_rows, width), np.int32)
    for i in range(box_rows):
        for j in range(width):
            row, column = place[0] + i, place[1] + j
            if 0 <= row < rows and 0 <= column < columns:
                expected[i, j] = a[row, column]
            address = 1024 + 128 * i + kind.itemsize * j
            places[i, j] = (address ^ (address >> 7 & 7) << 4) // kind.itemsize
    text = BOX.format(
        dtype=dtype, rows=rows, columns=columns, stride=stride, row=place[0], column=place[1], box_rows=box_rows,
        size=box_rows * width, whole=start + box_rows * width, start=start, bytes=128 * box_rows,
    )  # fmt: skip
    return text, [a, places.ravel()], expected.ravel()


STEPS = """
T.prim_func main(A: T.Buffer((64, 256), "float16"), C: T.Buffer((64, 64), "float16")):
    tx = T.launch_thread("threadIdx.x", 128)
    s = T.allocate([8192], "float16", "shared.dyn")
    s_1 = T.Buffer((8192,), "float16", data=s, scope="shared.dyn")
    c = T.allocate([32], "float16", "local")
    c_1 = T.Buffer((32,), "float16", data=c, scope="local")
    T.create_barriers(2)
    if tx == 0:
        for i in range(2):
            T.ptx_init_barrier_thread_count(i, 1)
    T.tvm_storage_sync("shared")
    for i in range(32):
        c_1[i] = T.float16(0)
    if tx == 0:
        T.ptx_arrive_barrier_expect_tx(0, 8192)
        T.ptx_cp_async_bulk_tensor("float16", s, 0, A.data, 64, 256, 256, 0, 0, 64, 0)
    for step in range(4):
        T.tvm_storage_sync("shared")
        if tx == 0 and step < 3:
            T.ptx_arrive_barrier_expect_tx((step + 1) % 2, 8192)
            T.ptx_cp_async_bulk_tensor("float16", s, (step + 1) % 2 * 4096, A.data, 64, 256, 256, 0, step * 64 + 64, 64, (step + 1) % 2)
        T.ptx_wait_barrier(step % 2, step // 2 % 2)
        for i in range(32):
            c_1[i] = c_1[i] + s_1[step % 2 * 4096 + tx * 32 + i]
    for i in range(32):
        C[tx // 2, tx % 2 * 32 + i] = c_1[i]
"""
"""The sums of four boxes, in the order of shared memory, through two stages."""
