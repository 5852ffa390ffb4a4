"""Programs that multiply by warpgroups, and a model of their tiles that is independent of the library."""

from __future__ import annotations

from typing import Any

import ml_dtypes
import numpy as np

NUMPY: dict[str, Any] = {"float16": np.float16, "bfloat16": ml_dtypes.bfloat16}
PTX = {"float16": "fp16", "bfloat16": "bf16"}
DEEP = {"float8_e4m3fn": "e4m3", "float8_e5m2": "e5m2", "float32": "tf32"}
"""PTX types of factors that must be contiguous along k."""
DEEP_NUMPY: dict[str, Any] = {
    "float8_e4m3fn": ml_dtypes.float8_e4m3fn,
    "float8_e5m2": ml_dtypes.float8_e5m2,
    "float32": np.float32,
}
LAYOUTS = [("row", "col"), ("row", "row"), ("col", "col"), ("col", "row")]
"""Layouts of A and B: "row" for A and "col" for B mean that k is contiguous."""


def array(shape: tuple[int, ...], dtype: str, seed: int) -> Any:
    """Return small whole numbers, whose products are exact."""
    return np.random.default_rng(seed).integers(-4, 5, shape).astype({**NUMPY, **DEEP_NUMPY}[dtype])


def address(span: int, depth: int, is_deep: bool, leading: int, stride: int, start: int = 0, size: int = 2) -> int:
    """Return the byte address of an element of `size` bytes by CUTLASS' canonical layouts for 128-byte swizzles, which count 16 bytes:
    ((8, n), 2) : ((8, stride), 1) if k is contiguous, otherwise ((8, n), (8, k)) : ((1, leading), (8, stride)).
    """
    line = 16 // size
    if is_deep:
        lines = span % 8 * 8 + span // 8 * (stride // 16) + depth // line
        inner = depth % line
    else:
        lines = span // 8 % 8 + span // 64 * (leading // 16) + depth % 8 * 8 + depth // 8 * (stride // 16)
        inner = span % 8
    whole = start + 16 * lines
    bits = [whole >> i & 1 for i in range(20)]
    for i in (4, 5, 6):
        bits[i] ^= bits[i + 3]
    return sum(bit << i for i, bit in enumerate(bits)) + size * inner


ONE = """
T.prim_func main(A: T.Buffer((1024,), "{dtype}"), B: T.Buffer(({size},), "{dtype}"), PA: T.Buffer((1024,), "int32"), PB: T.Buffer(({size},), "int32"), C: T.Buffer((64, {n}), "float32")):
    tx = T.launch_thread("threadIdx.x", 128)
    a = T.allocate([4096], "{dtype}", "shared")
    b = T.allocate([16384], "{dtype}", "shared")
    c = T.allocate([{count}], "float32", "local")
    a_1 = T.Buffer((4096,), "{dtype}", data=a, scope="shared")
    b_1 = T.Buffer((16384,), "{dtype}", data=b, scope="shared")
    c_1 = T.Buffer(({count},), "float32", data=c, scope="local")
    for i in range(8):
        a_1[PA[tx + i * 128]] = A[tx + i * 128]
    for i in range({n} // 8):
        b_1[PB[tx + i * 128]] = B[tx + i * 128]
    for i in range({count}):
        c_1[i] = T.float32(2)
    T.ptx_fence_proxy_async()
    T.tvm_storage_sync("shared")
    T.ptx_wgmma_fence()
    T.ptx_wgmma_mma_async("float32", "m64n{n}k16", "{a_layout}", "{b_layout}", "{kind}", "{kind}", "fp32", a, {a_start}, b, {b_start}, c, 0, {leading}, {stride}, {leading}, {stride})
    T.ptx_wgmma_commit_group()
    T.ptx_wgmma_wait_group(0)
    for i in range({count}):
        C[tx // 32 * 16 + tx % 32 // 4 + i // 2 % 2 * 8, i // 4 * 8 + tx % 4 * 2 + i % 2] = c_1[i]
"""
"""One product of tiles whose elements lie where PA and PB say."""


def one_product(n: int, dtype: str, layouts: tuple[str, str]) -> tuple[str, list[Any], Any]:
    """Return a program with one product of 64 × n, its arguments but for C, and C.

    Deep factors have 64 columns, of which these are the second 16; others start at their second 16 rows, if there is room.
    """
    is_deep = layouts[0] == "row", layouts[1] == "col"
    starts = [32 if deep else 2048 for deep in is_deep]
    if not is_deep[1] and n > 192:
        starts[1] = 0
    leading, stride = 8192, 1024
    places = [
        np.array([[address(s, k, deep, leading, stride, start) // 2 for k in range(16)] for s in range(span)], np.int32)
        for span, deep, start in zip((64, n), is_deep, starts, strict=True)
    ]
    assert all(len(set(part.ravel().tolist())) == part.size for part in places)
    text = ONE.format(
        dtype=dtype, kind=PTX[dtype], n=n, size=n * 16, count=n // 2, a_layout=layouts[0], b_layout=layouts[1],
        a_start=starts[0] // 2, b_start=starts[1] // 2, leading=leading, stride=stride,
    )  # fmt: skip
    a, b = array((64, 16), dtype, 1), array((n, 16), dtype, 2)
    expected = a.astype(np.float32) @ b.astype(np.float32).T + 2
    return text, [a.ravel(), b.ravel(), places[0].ravel(), places[1].ravel()], expected


DEEP_ONE = """
T.prim_func main(A: T.Buffer((64, {k}), "{a}"), B: T.Buffer(({n}, {k}), "{b}"), PA: T.Buffer((64, {k}), "int32"), PB: T.Buffer(({n}, {k}), "int32"), C: T.Buffer((64, {n}), "float32")):
    tx = T.launch_thread("threadIdx.x", 128)
    a = T.allocate([{row} * 64], "{a}", "shared")
    b = T.allocate([{row} * 256], "{b}", "shared")
    c = T.allocate([{count}], "float32", "local")
    a_1 = T.Buffer(({row} * 64,), "{a}", data=a, scope="shared")
    b_1 = T.Buffer(({row} * 256,), "{b}", data=b, scope="shared")
    c_1 = T.Buffer(({count},), "float32", data=c, scope="local")
    if tx < 64:
        for i in range({k}):
            a_1[PA[tx, i]] = A[tx, i]
    for j in range(2):
        if tx + j * 128 < {n}:
            for i in range({k}):
                b_1[PB[tx + j * 128, i]] = B[tx + j * 128, i]
    for i in range({count}):
        c_1[i] = T.float32(2)
    T.ptx_fence_proxy_async()
    T.tvm_storage_sync("shared")
    T.ptx_wgmma_fence()
    T.ptx_wgmma_mma_async("float32", "m64n{n}k{k}", "row", "col", "{a_kind}", "{b_kind}", "fp32", a, {k}, b, {k}, c, 0, 0, 1024, 0, 1024)
    T.ptx_wgmma_commit_group()
    T.ptx_wgmma_wait_group(0)
    for i in range({count}):
        C[tx // 32 * 16 + tx % 32 // 4 + i // 2 % 2 * 8, i // 4 * 8 + tx % 4 * 2 + i % 2] = c_1[i]
"""
"""One product of tiles that are contiguous along k, the second part of rows of 128 bytes."""


def deep_product(n: int, a: str, b: str) -> tuple[str, list[Any], Any]:
    """Return a program with one product of 64 × n of factors with 32 bytes for each row or column, its arguments but for C, and C."""
    size = np.dtype(DEEP_NUMPY[a]).itemsize
    k = 32 // size
    places = [
        np.array([[address(s, d, True, 0, 1024, 32, size) // size for d in range(k)] for s in range(span)], np.int32)
        for span in (64, n)
    ]
    text = DEEP_ONE.format(n=n, k=k, a=a, b=b, row=128 // size, count=n // 2, a_kind=DEEP[a], b_kind=DEEP[b])
    left, right = array((64, k), a, 1), array((n, k), b, 2)
    expected = left.astype(np.float32) @ right.astype(np.float32).T + 2
    if a == "float32":
        left = left * np.float32(1 + 2**-15)  # bits that tf32 does not have
    return text, [left, right, *places], expected


STEPS = """
T.prim_func main(A: T.Buffer((128, 256), "{dtype}"), B: T.Buffer((256, 64), "{dtype}"), C: T.Buffer((128, 64), "float32")):
    tx = T.launch_thread("threadIdx.x", 256)
    a = T.allocate([{a_size}], "{dtype}", "shared.dyn")
    b = T.allocate([{b_size}], "{dtype}", "shared.dyn")
    c = T.allocate([32], "float32", "local")
    c_1 = T.Buffer((32,), "float32", data=c, scope="local")
    for i in range(32):
        c_1[i] = T.float32(0)
    for step in range(5):
        if step < 4:
            for i in range(4):
                T.ptx_cp_async("{dtype}", a, step % 2 * 8192 + (tx + i * 256) * 8 - tx % 8 * 8 + T.bitwise_xor(tx % 8, (tx + i * 256) // 8 % 8) * 8, A.data, (tx + i * 256) // 8 * 256 + step * 64 + tx % 8 * 8, 16)
            for i in range(2):
                T.ptx_cp_async("{dtype}", b, step % 2 * 4096 + (tx + i * 256) * 8 - tx % 8 * 8 + T.bitwise_xor(tx % 8, (tx + i * 256) // 8 % 8) * 8, B.data, step * 4096 + (tx + i * 256) * 8, 16)
        T.ptx_commit_group()
        if step > 0:
            T.ptx_wait_group(1)
            T.ptx_fence_proxy_async()
            T.tvm_storage_sync("shared")
            T.ptx_wgmma_fence()
            for k in range(4):
                T.ptx_wgmma_mma_async("float32", "m64n64k16", "row", "row", "{kind}", "{kind}", "fp32", a, (step - 1) % 2 * 8192 + tx // 128 * 4096 + k * 16, b, (step - 1) % 2 * 4096 + k * 1024, c, 0, 0, 1024, 0, 1024)
            T.ptx_wgmma_commit_group()
            T.ptx_wgmma_wait_group(0)
            T.tvm_storage_sync("shared")
    for i in range(32):
        C[tx // 32 * 16 + tx % 32 // 4 + i // 2 % 2 * 8, i // 4 * 8 + tx % 4 * 2 + i % 2] = c_1[i]
"""
"""Two warpgroups, four steps of 64, and two stages."""


def product(m: int, n: int, k: int, dtype: str = "float16", layouts: str = "nn", result: str = "float32") -> str:
    """Return the text of a product; `layouts` says whether A and B are transposed ("t") or not ("n")."""
    shapes = [
        f"({k}, {m})" if layouts[0] == "t" else f"({m}, {k})",
        f"({n}, {k})" if layouts[1] == "t" else f"({k}, {n})",
    ]
    a, b = "A[vk, vi]" if layouts[0] == "t" else "A[vi, vk]", "B[vj, vk]" if layouts[1] == "t" else "B[vk, vj]"
    return f"""
I.ir_module Module:
    T.prim_func main(A: T.Buffer({shapes[0]}, "{dtype}"), B: T.Buffer({shapes[1]}, "{dtype}"), C: T.Buffer(({m}, {n}), "{result}")):
        for i, j, k in T.grid({m}, {n}, {k}):
            with T.block("C"):
                vi, vj, vk = T.axis.remap("SSR", [i, j, k])
                with T.init():
                    C[vi, vj] = T.cast(T.float32(0), "{result}")
                C[vi, vj] = C[vi, vj] + T.cast({a}, "{result}") * T.cast({b}, "{result}")
"""
