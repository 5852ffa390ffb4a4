"""The transactions of a warp: planted conflicts are reported, and counts agree with addresses that are listed one by one."""

from pathlib import Path

import numpy as np
import pytest
import tvms
from hypothesis import given
from hypothesis import strategies as st
from tvms.codegen.build import Settings, lower_module, prepare
from tvms.codegen.gpu.kernel import Kernel
from tvms.codegen.gpu.program import build_program, kernels_of
from tvms.codegen.gpu.report import report
from tvms.codegen.gpu.transactions import barrier_count, transactions_of, wasteful
from tvms.codegen.target import get_target

ROOT = Path(__file__).parents[2]
TARGET = get_target("cuda")
BLOCK = """\
T.prim_func f(A: T.Buffer((8192,), "{dtype}"), B: T.Buffer((8192,), "{dtype}"), I: T.Buffer((8192,), "int32")):
    S = T.alloc_buffer(({rows}, {row}), "{dtype}", scope="shared")
    for ty in T.thread_binding(8, thread="threadIdx.y"):
        for tx in T.thread_binding(32, thread="threadIdx.x"):
{lines}
"""


def kernel_of(text: str) -> Kernel:
    hosts, *_ = lower_module(prepare(tvms.parse(text), TARGET), TARGET, Settings())
    (kernel,) = [kernel for host in hosts.values() for kernel in kernels_of(host)]
    return kernel


def block(*lines: str, dtype: str = "float32", rows: int = 32, row: int = 32) -> Kernel:
    body = "\n".join(f"            {line}" for line in lines)
    return kernel_of(BLOCK.format(dtype=dtype, rows=rows, row=row, lines=body))


def found(kernel: Kernel, buffer: str) -> list[tuple[int, int]]:
    items = [item for item in transactions_of(kernel) if item.place.name.startswith(buffer)]
    return [(item.count, item.least) for item in items]


@pytest.mark.parametrize(
    ("index", "dtype", "expected"),
    [
        ("ty * 32 + tx", "float32", (4, 4)),
        ("ty * 32 + tx", "float16", (2, 2)),
        ("ty * 32 + tx", "int8", (1, 1)),
        ("ty * 32 + 31 - tx", "float32", (4, 4)),
        ("ty * 64 + tx * 2", "float32", (8, 4)),
        ("tx * 32 + ty", "float32", (32, 4)),
        ("tx * 32 + ty", "float64", (32, 8)),
        ("ty * 32 + tx + 1", "float32", (5, 4)),
        ("ty", "float32", (1, 1)),
        ("ty * 32 + tx // 2 * 2", "float32", (4, 2)),
    ],
)
def test_sectors_of_global_memory(index: str, dtype: str, expected: tuple[int, int]) -> None:
    assert found(block(f"B[ty * 32 + tx] = A[{index}]", dtype=dtype), "A") == [expected]


@pytest.mark.parametrize(
    ("index", "dtype", "row", "expected"),
    [
        ("ty, tx", "float32", 32, (1, 1)),
        ("tx, ty", "float32", 32, (32, 1)),
        ("tx, ty", "float32", 33, (1, 1)),  # padding
        ("tx, ty", "float16", 32, (16, 1)),
        ("tx, ty", "float64", 32, (32, 2)),
        ("tx, ty", "float64", 33, (2, 2)),
        ("tx // 8, ty", "float32", 32, (4, 1)),
        ("ty, 0", "float32", 32, (1, 1)),  # one word for all threads
        ("ty, tx // 2 * 2", "float32", 32, (1, 1)),
    ],
)
def test_banks_of_shared_memory(index: str, dtype: str, row: int, expected: tuple[int, int]) -> None:
    fill = "S[ty * 4 + k, tx] = A[(ty * 4 + k) * 32 + tx]"
    lines = ("for k in range(4):", f"    {fill}", "T.tvm_storage_sync('shared')", f"B[ty * 32 + tx] = S[{index}]")
    kernel = block(*lines, dtype=dtype, row=row)
    assert found(kernel, "S") == [(2 if dtype == "float64" else 1,) * 2, expected]


def test_conditions_vectors_and_unknown_indices() -> None:
    assert found(block("if tx < 8:", "    B[tx] = A[tx * 32]"), "A") == [(8, 1)]
    assert found(
        block("for v in T.vectorized(4):", "    B[ty * 128 + tx * 4 + v] = A[ty * 128 + tx * 4 + v]"), "A"
    ) == [(16, 16)]
    kernel = block("B[ty * 32 + tx] = A[I[ty * 32 + tx]]")
    assert (found(kernel, "A"), set(found(kernel, "I"))) == ([], {(4, 4)})  # "I" also by a check of bounds
    assert not wasteful(block("B[ty * 32 + tx] = A[ty * 32 + tx + 1]"))  # one more sector is not reported
    assert not wasteful(block("if ty > 3:", "    B[tx] = A[tx * 32]"))  # the first warp does nothing


@given(
    st.integers(0, 40),
    st.integers(0, 40),
    st.integers(0, 20),
    st.sampled_from(["int8", "float16", "float32", "float64"]),
)
def test_counts_agree_with_addresses(x: int, y: int, start: int, dtype: str) -> None:
    width = np.dtype(dtype).itemsize
    addresses = (np.arange(32) * x + start) * width  # the first warp has ty = 0
    kernel = block(f"B[ty * 32 + tx] = A[tx * {x} + ty * {y} + {start}]", dtype=dtype)
    sectors = len(np.unique(addresses // 32))
    assert found(kernel, "A") == [(sectors, -(-len(np.unique(addresses)) * width // 32))]


@pytest.mark.parametrize(
    ("lines", "expected"),
    [
        (("S[ty, tx] = A[tx]", "B[ty * 32 + tx] = A[ty]"), (0, True)),
        (("T.tvm_storage_sync('shared')",), (1, True)),
        (("for k in range(8):", "    for l in range(2):", "        T.tvm_storage_sync('shared')"), (16, True)),
        (("for k in range(I[0]):", "    T.tvm_storage_sync('shared')"), (1, False)),
        (("if I[0] > 0:", "    T.tvm_storage_sync('shared')"), (1, False)),
    ],
)
def test_barriers_are_counted_as_executed(lines: tuple[str, ...], expected: tuple[int, bool]) -> None:
    assert barrier_count(block(*lines).body) == expected


@pytest.mark.parametrize("name", ["matmul_f16", "matmul_f32", "softmax", "layer_norm", "transpose"])
def test_default_schedules_waste_nothing(name: str) -> None:
    text = (ROOT / "bench" / "gpu_kernels" / f"{name}.tvms").read_text().partition("    S.schedule")[0]
    target = get_target("cuda -arch=sm_80")
    hosts, *_ = lower_module(prepare(tvms.parse(text), target), target, Settings())
    kernels = [kernel for host in hosts.values() for kernel in kernels_of(host)]
    assert kernels
    assert [str(item) for kernel in kernels for item in wasteful(kernel)] == []


def test_the_report_names_the_line_of_each_waste() -> None:
    text = BLOCK.format(
        dtype="float32",
        rows=32,
        row=32,
        lines="            S[ty, tx] = A[tx * 32 + ty]\n            B[tx * 32 + ty] = S[tx // 4, ty]",
    )
    module = prepare(tvms.parse(text), TARGET)
    lines = report(build_program(module, TARGET, Settings()), TARGET).splitlines()
    assert lines[1].split()[:4] == ["kernel", "blocks", "threads", "barriers"]
    assert lines[2].split()[:6] == ["f", "1", "32", "×", "8", "1"]
    assert [line for line in lines if line.startswith("f, line")] == [
        "f, line 5: 'A' in global memory is read without coalescing: 32 sectors of 32 bytes where 4 would do",
        "f, line 6: 'B' in global memory is written without coalescing: 32 sectors of 32 bytes where 4 would do",
        "f, line 6: 'S' in shared memory is read with bank conflicts: 8 transactions where 1 would do",
    ]
