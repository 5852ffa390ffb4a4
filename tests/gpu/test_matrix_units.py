"""Matrix units: the interpreter, simulated threads and NumPy agree, kernels assemble where GPUs have them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import ml_dtypes
import numpy as np
import pytest
import tvms
from tvms.codegen.build import Settings, prepare
from tvms.codegen.gpu.executable import lowered_for_gpu
from tvms.codegen.gpu.ptxas import assemble, find_ptxas
from tvms.codegen.gpu.races import find_races
from tvms.codegen.target import get_target
from tvms.ir.base import IRModule
from tvms.ir.interp import run
from tvms.ir.matrix_units import DTYPES, PRODUCTS, Product
from tvms.ir.numpy_dtype import numpy_dtype
from tvms.ir.schedule.intrinsics import mma, wmma
from tvms.testing.oracle import assert_equivalent
from tvms.tir import TensorIntrin

PIPELINED = Path(__file__).parents[1] / "cases" / "gpu" / "pipelined_matmul.tvms"
NUMPY: dict[str, Any] = {"bfloat16": ml_dtypes.bfloat16}


def array(shape: tuple[int, ...], dtype: str, seed: int) -> Any:
    """Return small whole numbers, whose products are exact in every dtype."""
    low = 0 if dtype.startswith("uint") else -4
    return np.random.default_rng(seed).integers(low, 5, shape).astype(NUMPY.get(dtype, dtype))


def module(text: str) -> IRModule:
    return tvms.parse("I.ir_module Module:\n" + "\n".join(f"    {line}" for line in text.strip().split("\n")))


def everywhere(program: IRModule, *args: Any) -> Any:
    """Return what the last argument is afterwards, which must be the same interpreted and simulated."""
    results: list[Any] = []
    run(program, "main", [*args[:-1], expected := args[-1].copy()], track=True)
    for order in ("ascending", "random"):
        tvms.compile(program, target=f"cuda -simulate={order}", level=0)["main"](*args[:-1], found := args[-1].copy())
        results.append(found)
    assert all((found == expected).all() for found in results)
    return expected


def check_assembles(program: IRModule, arch: str) -> None:
    ptx, tool = tvms.emit(program, "ptx", f"cuda -arch={arch}"), find_ptxas()
    assert isinstance(ptx, str)
    if tool is not None:
        made = assemble(ptx, arch, tool)
        assert made.image or "is not defined for option" in made.problem, made.problem


# --- Registers of threads ---------------------------------------------------------------------------------------


def product_text(shape: str, product: Product) -> str:
    """Return a kernel of one warp that loads tiles as the formulas of `ir.matrix_units` say, and multiplies them."""
    a, b, c = (DTYPES[name] for name in (product.a, product.b, product.c))
    v = product.packed
    return f"""
T.prim_func main(A: T.Buffer(({product.m}, {product.k}), "{a}"), B: T.Buffer(({product.k}, 8), "{b}"), C: T.Buffer(({product.m}, 8), "{c}")):
    tx = T.launch_thread("threadIdx.x", 32)
    a = T.allocate([{product.a_count}], "{a}", "local")
    b = T.allocate([{product.b_count}], "{b}", "local")
    c = T.allocate([4], "{c}", "local")
    a_1 = T.Buffer(({product.a_count},), "{a}", data=a, scope="local")
    b_1 = T.Buffer(({product.b_count},), "{b}", data=b, scope="local")
    c_1 = T.Buffer((4,), "{c}", data=c, scope="local")
    for i in range({product.a_count}):
        a_1[i] = A[tx // 4 + i // {v} % 2 * 8, tx % 4 * {v} + i % {v} + i // {v} // 2 * {4 * v}]
    for i in range({product.b_count}):
        b_1[i] = B[tx % 4 * {v} + i % {v} + i // {v} * {4 * v}, tx // 4]
    for i in range(4):
        c_1[i] = C[tx // 4 + i // 2 * 8, tx % 4 * 2 + i % 2]
    T.ptx_mma("{c}", "{shape}", "row", "col", "{product.a}", "{product.b}", "{product.c}", a, 0, b, 0, c, 0, False)
    for i in range(4):
        C[tx // 4 + i // 2 * 8, tx % 4 * 2 + i % 2] = c_1[i]
"""


@pytest.mark.parametrize("name", PRODUCTS, ids="-".join)
def test_products(name: tuple[str, str, str, str]) -> None:
    product = PRODUCTS[name]
    program = module(product_text(name[0], product))
    a, b = array((product.m, product.k), DTYPES[product.a], 1), array((product.k, 8), DTYPES[product.b], 2)
    c = array((product.m, 8), DTYPES[product.c], 3)
    wide = np.int64 if product.c == "s32" else np.float32
    assert (everywhere(program, a, b, c) == (a.astype(wide) @ b.astype(wide) + c.astype(wide)).astype(c.dtype)).all()
    check_assembles(program, "sm_80")


def test_tf32_leaves_out_bits_and_sums_of_integers_may_stop() -> None:
    name = ("m16n8k8", "tf32", "tf32", "f32")
    a, b = np.full((16, 8), 1 + 2.0**-20, np.float32), np.ones((8, 8), np.float32)
    assert (everywhere(module(product_text(name[0], PRODUCTS[name])), a, b, np.zeros((16, 8), np.float32)) == 8).all()
    name = ("m16n8k16", "s8", "s8", "s32")
    text = product_text(name[0], PRODUCTS[name])
    ones, most = np.ones((16, 16), np.int8), np.full((16, 8), 2**31 - 1, np.int32)
    wrapped = everywhere(module(text), ones, np.ones((16, 8), np.int8), most)
    assert (wrapped == -(2**31) + 15).all()
    assert (
        everywhere(module(text.replace("c, 0, False", "c, 0, True")), ones, np.ones((16, 8), np.int8), most)
        == 2**31 - 1
    ).all()


# --- Fragments --------------------------------------------------------------------------------------------------

FRAGMENTS = """
T.prim_func main(A: T.Buffer(({m}, {k}), "{dtype}"), B: T.Buffer(({n}, {k}), "{dtype}"), C: T.Buffer(({n}, {m}), "{result}")):
    for i in T.thread_binding(1, thread="blockIdx.x"):
        with T.block("whole"):
            a = T.alloc_buffer(({m}, {k}), "{dtype}", scope="wmma.matrix_a")
            b = T.alloc_buffer(({n}, {k}), "{dtype}", scope="wmma.matrix_b")
            c = T.alloc_buffer(({m}, {n}), "{result}", scope="wmma.accumulator")
            T.tvm_fill_fragment(c.data, {m}, {n}, {k}, 0, T.float32(1))
            T.tvm_load_matrix_sync(a.data, {m}, {n}, {k}, 0, A.access_ptr("r"), {k}, "row_major")
            T.tvm_load_matrix_sync(b.data, {m}, {n}, {k}, 0, B.access_ptr("r"), {k}, "col_major")
            T.tvm_mma_sync(c.data, 0, a.data, 0, b.data, 0, c.data, 0)
            T.tvm_store_matrix_sync(c.data, {m}, {n}, {k}, 0, C.access_ptr("w"), {m}, "col_major")
"""


@pytest.mark.parametrize(
    ("m", "n", "k", "dtype", "result"),
    [
        (16, 16, 16, "float16", "float32"), (32, 8, 16, "float16", "float16"), (8, 32, 16, "bfloat16", "float32"),
        (16, 16, 8, "float32", "float32"), (16, 16, 16, "int8", "int32"), (32, 8, 16, "uint8", "int32"),
    ],
)  # fmt: skip
def test_fragments(m: int, n: int, k: int, dtype: str, result: str) -> None:
    program = module(FRAGMENTS.format(m=m, n=n, k=k, dtype=dtype, result=result))
    a, b, c = array((m, k), dtype, 1), array((n, k), dtype, 2), np.zeros((n, m), NUMPY.get(result, result))
    expected = (a.astype(np.float32) @ b.astype(np.float32).T + 1).T
    assert (everywhere(program, a, b, c) == expected.astype(c.dtype)).all()
    check_assembles(program, "sm_80")


TURNED = """
T.prim_func main(A: T.Buffer(({rows}, {columns}), "float32"), B: T.Buffer(({m}, {n}), "float32")):
    for i in T.thread_binding(1, thread="blockIdx.x"):
        with T.block("whole"):
            c = T.alloc_buffer(({m}, {n}), "float32", scope="wmma.accumulator")
            T.tvm_load_matrix_sync(c.data, {m}, {n}, 16, 0, A.access_ptr("r"), {columns}, "{layout}")
            T.tvm_store_matrix_sync(c.data, {m}, {n}, 16, 0, B.access_ptr("w"), {n}, "row_major")
"""


@pytest.mark.parametrize(("m", "n"), [(16, 16), (32, 8), (8, 32)])
@pytest.mark.parametrize("layout", ["row_major", "col_major"])
def test_accumulators_are_loaded_by_rows_or_by_columns(m: int, n: int, layout: str) -> None:
    rows, columns = (m, n) if layout == "row_major" else (n, m)
    program = module(TURNED.format(m=m, n=n, rows=rows, columns=columns, layout=layout))
    a = np.arange(m * n, dtype=np.float32).reshape(rows, columns)
    found = everywhere(program, a, np.zeros((m, n), np.float32))
    assert (found == (a if layout == "row_major" else a.T)).all()
    check_assembles(program, "sm_80")


# --- Intrinsics -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", ["wmma_load", "wmma_fill", "wmma_store", "wmma_sync", "mma_ldmatrix", "mma_f16", "mma_bf16", "mma_i8", "mma_fill", "mma_store"])  # fmt: skip
def test_intrinsics_read_and_verify(kind: str) -> None:
    names = [name for name in (*mma.TEXTS, *wmma.TEXTS) if name.startswith(kind)]
    assert names
    for name in names[:: 1 if len(names) < 5 else 4]:
        found = TensorIntrin.get(name)
        assert found is not None
        for function in (found.desc, found.impl):
            assert not tvms.verify(IRModule({"main": function}))


@pytest.mark.parametrize("name", ["wmma_load_16x16x16_s8_a_trans_shared_dyn", "wmma_store_16x16x16_f16_global", "mma_ldmatrix_bf16_a", "mma_ldmatrix_i8_b_dyn", "mma_i8i8i32", "mma_fill_16x16_f16", "mma_store_16x16_i32_shared_simple_", "mma_store_16x16_f32_global_"])  # fmt: skip
def test_intrinsics_do_what_they_say(name: str) -> None:
    found = TensorIntrin.get(name)
    assert found is not None
    assert_equivalent(IRModule({"main": found.desc}), IRModule({"main": found.impl}), integers=(-8, 9))


# --- Copies that go on by themselves ------------------------------------------------------------------------------

COPIES = """
T.prim_func main(A: T.Buffer((32, 4), "float32"), B: T.Buffer((32, 4), "float32")):
    S = T.allocate([{size}], "float32", "{scope}")
    tx = T.launch_thread("threadIdx.x", 32)
    S_1 = T.Buffer(({size},), "float32", data=S, scope="{scope}")
    T.ptx_cp_async("float32", S, tx * 4, A.data, tx * 4, 16{predicate})
    T.ptx_commit_group()
    T.ptx_wait_group({left})
    T.tvm_storage_sync("shared")
    for i in range(4):
        B[tx, i] = S_1[(31 - tx) * 4 + i]
"""


def copies(left: int = 0, scope: str = "shared", size: int = 128, predicate: str = "") -> IRModule:
    return module(COPIES.format(left=left, scope=scope, size=size, predicate=predicate))


def test_copies_arrive_when_they_are_waited_for() -> None:
    a, b = np.arange(128, dtype=np.float32).reshape(32, 4), np.zeros((32, 4), np.float32)
    assert (everywhere(copies(), a, b) == a[::-1]).all()
    where = everywhere(copies(predicate=", tx < 16"), a, b)
    assert (where[16:] == a[15::-1]).all()
    assert (where[:16] == 0).all()
    with pytest.raises(tvms.TvmsError) as caught:
        run(copies(left=1), "main", [a, b], track=True)
    assert caught.value.diagnostics[0].code == "E0710"


OTHER_DTYPES = {
    "address of bytes": ("int8", "T.address_of(A[32])", 8),
    "address of doubles": ("float64", "T.address_of(A[4])", 8),
    "access to bytes": ("int8", 'A.access_ptr("r", offset=32)', 8),
    "access to lanes": ("float32", 'T.tvm_access_ptr(T.type_annotation("float32x4"), A.data, 2, 16, 1)', 8),
    "the same dtype": ("float32", 'A.access_ptr("r", offset=8)', 8),
    "the data": ("int8", "A.data", 0),
}
"""The dtype of a source, a pointer to it, and the number of floats before the pointer."""


@pytest.mark.parametrize("name", OTHER_DTYPES)
def test_pointers_count_elements_of_their_own_dtype(name: str) -> None:
    dtype, pointer, before = OTHER_DTYPES[name]
    size = 64 * 4 // np.dtype(dtype).itemsize
    program = module(
        COPIES.format(size=128, scope="shared", left=0, predicate="")
        .replace('A: T.Buffer((32, 4), "float32")', f'A: T.Buffer(({size},), "{dtype}")')
        .replace("A.data, tx * 4", f"{pointer}, tx % 8 * 4")
    )
    a = np.arange(64, dtype=np.float32)
    copied = np.stack([a[before + lane % 8 * 4 :][:4] for lane in range(32)])
    assert (everywhere(program, a.view(dtype), np.zeros((32, 4), np.float32)) == copied[::-1]).all()


def test_pointers_into_elements_are_refused() -> None:
    program = module(
        COPIES.format(size=128, scope="shared", left=0, predicate="")
        .replace('A: T.Buffer((32, 4), "float32")', 'A: T.Buffer((512,), "int8")')
        .replace("A.data,", "T.address_of(A[tx]),")
    )
    with pytest.raises(tvms.TvmsError) as caught:
        tvms.compile(program, target="cuda -simulate=ascending", level=0)
    (found,) = caught.value.diagnostics
    assert found.code == "E0606"
    assert found.message == "this pointer counts elements of int8, and is not proven to point to an element of float32"


def test_older_gpus_copy_at_once() -> None:
    newer, older = (tvms.emit(copies(), "ptx", f"cuda -arch={arch}") for arch in ("sm_80", "sm_75"))
    assert "cp.async.cg.shared.global" in str(newer)
    assert "cp.async" not in str(older)
    check_assembles(copies(predicate=", tx < 16"), "sm_80")


# --- Shared memory whose size the launch says ---------------------------------------------------------------------


def test_launches_ask_for_memory(driver: Any) -> None:
    program = copies(scope="shared.dyn", size=16384)
    executable = tvms.compile(program, target="cuda -arch=sm_80")
    driver.show(executable)
    a, b = np.arange(128, dtype=np.float32).reshape(32, 4), np.zeros((32, 4), np.float32)
    executable["main"](a, b)
    assert (b == a[::-1]).all()
    assert ("function", "tvms_main", 65536) in driver.asked
    assert next(asked for asked in driver.asked if asked[0] == "launch")[-1] == 65536
    check_assembles(program, "sm_80")


# --- Matrices from registers to shared memory ------------------------------------------------------------------------

MOVED = """
T.prim_func main(A: T.Buffer((32, {row}), "{dtype}"), B: T.Buffer((32, {row}), "{dtype}")):
    bx = T.launch_thread("blockIdx.x", 1)
    S_data = T.allocate([{size}], "{dtype}", "shared")
    D_data = T.allocate([{size}], "{dtype}", "shared")
    r_data = T.allocate([{row}], "{dtype}", "local")
    tx = T.launch_thread("threadIdx.x", 32)
    S = T.Buffer(({size},), "{dtype}", data=S_data, scope="shared")
    D = T.Buffer(({size},), "{dtype}", data=D_data, scope="shared")
    for i in range({row}):
        S[tx * {row} + i] = A[tx, i]
        D[tx * {row} + i] = T.Cast("{dtype}", 7)
    T.tvm_storage_sync("shared")
    T.ptx_ldmatrix("{dtype}", {loads_turned}, {count}, ".b16", r_data, 0, S_data, tx * {row})
    T.ptx_stmatrix("{dtype}", {stores_turned}, {count}, ".b16", r_data, 0, D_data, (31 - tx) * {row})
    {wait}
    for i in range({row}):
        B[tx, i] = D[tx * {row} + i]
"""
WAIT = 'T.tvm_storage_sync("shared")'


@pytest.mark.parametrize(
    ("dtype", "is_turned"),
    [("float16", True), ("bfloat16", True), ("int16", True), ("int8", False), ("float8_e4m3fn", False)],
)
@pytest.mark.parametrize("count", [1, 2, 4])
def test_stored_matrices(dtype: str, is_turned: bool, count: int) -> None:
    """Row r of matrix m goes to the row of lane 8 * m + r: here the matrices and their rows are reversed."""
    row = 16 if dtype in ("int8", "float8_e4m3fn") else 8
    random = np.random.default_rng(0)
    a = random.integers(0, 100, (32, row)).astype(numpy_dtype(dtype))
    for loads_turned, stores_turned in [
        (False, False),
        *([(True, False), (False, True), (True, True)] if is_turned else []),
    ]:
        program = module(MOVED.format(
            dtype=dtype, row=row, size=32 * row, count=count, loads_turned=loads_turned, stores_turned=stores_turned, wait=WAIT,
        ))  # fmt: skip
        expected = np.full((32, row), 7, numpy_dtype(dtype))
        for matrix in range(count):
            one = a[8 * matrix : 8 * matrix + 8]
            one = one.T if loads_turned != stores_turned else one
            expected[24 - 8 * matrix : 32 - 8 * matrix] = one[::-1]
        found = np.zeros_like(a), np.zeros_like(a)
        run(program, "main", [a, found[0]])
        tvms.compile(program, target="cuda -simulate=each", level=0)["main"](a, found[1])
        for result in found:
            assert result.tobytes() == expected.tobytes()
        assert find_races(program, "main", [a, found[0]]) == ()
        check_assembles(program, "sm_90")


def test_stored_matrices_are_read_behind_a_barrier() -> None:
    program = module(
        MOVED.format(dtype="float16", row=8, size=256, count=4, loads_turned=False, stores_turned=False, wait="")
    )
    races = find_races(program, "main", [np.zeros((32, 8), np.float16)] * 2)
    assert {race.code for race in races} == {"E0723"}
    assert races[0].message == (
        "threads 4 and 6 of a block race on element 48 of 'D': one writes it, the other reads it, without a barrier between"
    )


@pytest.mark.parametrize(
    ("moved", "name", "at"),
    [("S_data, tx * 8", "ptx_ldmatrix", 4), ("D_data, (31 - tx) * 8", "ptx_stmatrix", 1)],
)
def test_rows_of_matrices_are_aligned(moved: str, name: str, at: int) -> None:
    text = MOVED.format(dtype="float16", row=8, size=264, count=4, loads_turned=False, stores_turned=False, wait=WAIT)
    program = module(text.replace(moved, f"{moved} + {at}"))
    for check in (run, find_races):
        with pytest.raises(tvms.TvmsError) as caught:
            check(program, "main", [np.zeros((32, 8), np.float16)] * 2)
        found = caught.value.diagnostics[0]
        first = 2 * at if name == "ptx_ldmatrix" else 16 * 31 + 2 * at
        assert (found.code, found.message) == ("E0712", f"a row of T.{name} starts at byte {first}")
        assert (found.help, found.span is not None) == ("start at a multiple of 16", True)


# --- What no GPU does -----------------------------------------------------------------------------------------------

WARP = """
T.prim_func main(A: T.Buffer((32,), "float32"), B: T.Buffer((32,), "float32"), n: T.int32):
    tx = T.launch_thread("threadIdx.x", {threads})
    a = T.allocate([64], "float16", "local")
    c = T.allocate([16], "float32", "local")
    f = T.allocate([256], "float16", "wmma.matrix_a")
    g = T.allocate([256], "float32", "wmma.accumulator")
    f_1 = T.Buffer((256,), "float16", data=f, scope="wmma.matrix_a")
    {line}
"""
MMA = 'T.ptx_mma("float32", "{}", "{}", "col", "{}", "fp16", "fp32", a, 0, a, 8, c, 0, False)'
FILL = "T.tvm_fill_fragment(g, 16, 16, 16, 0, T.float32(0))"
REFUSED: dict[str, tuple[str, str]] = {
    "a shape that there is not": (MMA.format("m8n8k8", "row", "fp16"), "E0606"),
    "a shape of another dtype": (MMA.format("m16n8k32", "row", "fp16"), "E0606"),
    "a factor by columns": (MMA.format("m16n8k16", "col", "fp16"), "E0606"),
    "a dtype that there is not": (MMA.format("m16n8k16", "row", "fp64"), "E0606"),
    "text in the place of a dtype": (MMA.format("m16n8k16", "row", "f16; exit;"), "E0606"),
    "three matrices": ('T.ptx_ldmatrix("float16", False, 3, ".b16", a, 0, A.data, 0)', "E0606"),
    "n matrices": ('T.ptx_ldmatrix("float16", False, n, ".b16", a, 0, A.data, 0)', "E0443"),
    "bytes transposed": ('T.ptx_ldmatrix("int8", True, 4, ".b16", a, 0, A.data, 0)', "E0606"),
    "a stored matrix of none": ('T.ptx_stmatrix("float16", False, 0, ".b16", a, 0, A.data, 0)', "E0606"),
    "stored bytes, transposed": ('T.ptx_stmatrix("int8", True, 4, ".b16", a, 0, A.data, 0)', "E0606"),
    "matrices stored to global memory": ('T.ptx_stmatrix("float16", False, 4, ".b16", a, 0, A.data, 0)', "E0606"),
    "matrices of 8 bits": ('T.ptx_ldmatrix("float16", False, 4, ".b8", a, 0, A.data, 0)', "E0606"),
    "a fragment of another size": ("T.tvm_fill_fragment(g, 16, 16, 4, 0, T.float32(0))", "E0606"),
    "a fragment of size n": ("T.tvm_fill_fragment(g, n, 16, 16, 0, T.float32(0))", "E0443"),
    "what is no fragment": ("T.tvm_fill_fragment(c, 16, 16, 16, 0, T.float32(0))", "E0606"),
    "a layout that there is not": ('T.tvm_load_matrix_sync(f, 16, 16, 16, 0, A.data, 16, "diagonal")', "E0606"),
    "a fragment with nothing in it": ("T.tvm_mma_sync(g, 0, f, 0, f, 0, g, 0)", "E0606"),
    "an element of a fragment": ("f_1[tx] = T.float16(0)", "E0606"),
    "three bytes": ('T.ptx_cp_async("float32", c, 0, A.data, 0, 3)', "E0606"),
    "n bytes": ('T.ptx_cp_async("float32", c, 0, A.data, 0, n)', "E0443"),
    "n groups": ("T.ptx_wait_group(n)", "E0606"),
    "a sparse product": ('T.ptx_mma_sp("float32", "m16n8k16", "row", "col", "fp16", "fp16", "fp32", a, 0, a, 0, c, 0, a, 0, 0, False)', "E0602"),
    "a barrier that is not created": ("T.ptx_init_barrier_thread_count(0, 32)", "E0606"),
}  # fmt: skip


def refusal(line: str, threads: int = 32, arch: str = "sm_80") -> Any:
    with pytest.raises(tvms.TvmsError) as caught:
        tvms.emit(module(WARP.format(line=line, threads=threads)), "ptx", f"cuda -arch={arch}")
    return caught.value.diagnostics[0]


@pytest.mark.parametrize("name", REFUSED)
def test_is_refused_where_it_stands(name: str) -> None:
    line, code = REFUSED[name]
    found = refusal(line)
    assert (found.code, found.span is not None) == (code, True), found


def test_older_gpus_and_parts_of_warps_are_refused() -> None:
    assert str(refusal(MMA.format("m16n8k16", "row", "fp16"), arch="sm_75").message) == (
        "products m16n8k16 of f16 need sm_80 or newer; the target is sm_75"
    )
    assert refusal(FILL, threads=16).message == (
        "T.tvm_fill_fragment needs whole warps, but threadIdx.x has 16 threads"
    )


def test_more_memory_than_the_gpu_has() -> None:
    with pytest.raises(tvms.TvmsError) as caught:
        tvms.emit(copies(scope="shared.dyn", size=1 << 15), "ptx", "cuda -arch=sm_86")
    assert caught.value.diagnostics[0].message == (
        "kernel 'main' needs 131072 bytes of shared.dyn memory; the limit is 101376"
    )


PIPELINE = """
T.prim_func main(A: T.Buffer((32, 64), "float32"), B: T.Buffer((32, 64), "float32")):
    for tx in T.thread_binding(32, thread="threadIdx.x"):
        for i in T.serial(16, annotations={"software_pipeline_stage": [0, 1], "software_pipeline_order": [0, 1], "software_pipeline_async_stages": [0]}):
            with T.block("step"):
                T.reads(A[tx, i * 4:i * 4 + 4])
                T.writes(B[tx, i * 4:i * 4 + 4])
                S = T.alloc_buffer((32, 4), scope="shared")
                for v in T.vectorized(4):
                    with T.block("load"):
                        S[tx, v] = A[tx, i * 4 + v]
                for v in range(4):
                    with T.block("use"):
                        B[tx, i * 4 + v] = S[tx, v] + T.float32(1)
"""


def test_pipelines_copy_while_threads_compute() -> None:
    program, a = module(PIPELINE), np.arange(32 * 64, dtype=np.float32).reshape(32, 64)
    assert (everywhere(program, a, np.zeros_like(a)) == a + 1).all()
    newer, older = (str(tvms.emit(program, "ptx", f"cuda -arch={arch}")) for arch in ("sm_80", "sm_75"))
    assert newer.count("cp.async.cg.shared.global") == 2
    assert newer.count("cp.async.wait_group") == newer.count("bar.sync")
    assert "cp.async" not in older
    check_assembles(program, "sm_80")


def test_pipelines_of_tiles_that_threads_share() -> None:
    """What is copied two steps ahead is waited for when it is read: threads that wait for too few read what is not there."""
    module = tvms.load(PIPELINED)
    a, b = (np.random.default_rng(0).integers(-8, 9, shape).astype("f4") / 4 for shape in ((16, 48), (48, 16)))
    tvms.compile(module, target="cuda -simulate=each", level=0)["matmul"](a, b, c := np.zeros((16, 16), "f4"))
    assert np.array_equal(c, a @ b)
    target = get_target("cuda -arch=sm_80")
    lowered = lowered_for_gpu(prepare(module, target), target, Settings())
    text = lowered.script()
    assert [text.count(f"T.ptx_wait_group({n})") for n in (0, 2, 4)] == [1, 1, 1]
    run(lowered, "matmul", [a.ravel(), b.ravel(), found := np.zeros(16 * 16, "f4")])
    assert np.array_equal(found, c.ravel())
    check_assembles(module, "sm_80")
