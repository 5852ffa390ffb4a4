"""Hand-written schedules compute the right results, and their tiles become vectors, registers and fused operations."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import tvms
import tvms.codegen.lower.passes  # registers the passes
from hypothesis import Phase, given, note, settings
from hypothesis import strategies as st
from msgspec.structs import replace
from tvms.codegen.lower.contract import contract_reductions
from tvms.ir.equal import structural_equal
from tvms.ir.passes.transform import get_pass
from tvms.ir.schedule import Schedule

SAMPLES = Path(__file__).parents[2] / "samples" / "schedules"
FILES = sorted(SAMPLES.glob("*.tvms"))
FOR_PROCESSORS = [path for path in FILES if 'target="llvm"' in path.read_text()]

PRODUCT = """
T.prim_func main(A: T.Buffer(({m}, {k}), "{dtype}"), B: T.Buffer(({k}, {n}), "{dtype}"), C: T.Buffer(({m}, {n}), "{dtype}")):
    for i, j, k in T.grid({m}, {n}, {k}):
        with T.block("product"):
            vi, vj, vk = T.axis.remap("SSR", [i, j, k])
            with T.init():
                C[vi, vj] = T.Cast("{dtype}", 0)
            C[vi, vj] = C[vi, vj] + A[{row}, vk] * B[vk, vj]
"""


def compiled(module: Any, **options: Any) -> Any:
    return tvms.compile(module, **options)["main"]


@pytest.mark.deep(4)
@pytest.mark.parametrize("path", FOR_PROCESSORS, ids=lambda path: path.stem)
def test_library_computes_what_it_schedules(path: Path) -> None:
    module = tvms.load(path)
    assert tvms.verify(module) == ()
    assert module.schedules
    random = np.random.default_rng(3)
    shapes = [[size.value for size in buffer.shape] for buffer in module["main"].buffer_map.values()]
    *inputs, result = [random.random(shape, np.float32) - np.float32(0.5) for shape in shapes]
    found, wanted = np.full_like(result, np.nan), np.full_like(result, np.nan)
    compiled(module)(*inputs, found)
    compiled(replace(module, schedules={}))(*inputs, wanted)
    np.testing.assert_allclose(found, wanted, rtol=1e-4, atol=1e-3)


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_library_is_printed_and_read(path: Path) -> None:
    module = tvms.load(path)
    assert structural_equal(module, tvms.parse(module.script()))  # some schedules bind a name again


def tile(module: Any, factors: tuple[int, int, int], options: frozenset[str], scope: str) -> Schedule:
    """Tile a product, with packing, a cache of the result, unrolling, or the sum outside, as `options` say."""
    schedule = Schedule(module)
    block = schedule.get_block("product")
    rows, columns, depth = factors
    if "pack" in options:
        schedule.cache_read(block, 1, "global")
        schedule.transform_layout(block, ("read", 1), lambda k, j: (j // columns, k, j % columns))
    result = schedule.cache_write(block, 0, scope) if "cache" in options else None
    i, j, k = schedule.get_loops(block)
    i0, i1 = schedule.split(i, [None, rows])
    j0, j1 = schedule.split(j, [None, columns])
    k0, k1 = schedule.split(k, [None, depth])
    schedule.reorder(*((i0, j0, k0, i1, k1, j1) if "rows outside" in options else (i0, j0, k0, k1, i1, j1)))
    if result is not None:
        schedule.reverse_compute_at(result, j0)
        if "vector result" in options:
            schedule.vectorize(schedule.get_loops(result)[-1])
    if "unroll" in options:
        schedule.unroll(i1)
    schedule.vectorize(j1)
    if "decompose" in options:
        schedule.decompose_reduction(block, k0)
    return schedule


OPTIONS = ("pack", "cache", "rows outside", "vector result", "unroll", "decompose")


@settings(max_examples=40, deadline=None, phases=(Phase.explicit, Phase.generate))
@given(
    sizes=st.tuples(*[st.integers(1, 40)] * 3),
    factors=st.tuples(st.integers(1, 8), st.sampled_from((2, 3, 4, 8, 16, 32)), st.integers(1, 4)),
    options=st.frozensets(st.sampled_from(OPTIONS)),
    scope=st.sampled_from(("local", "global")),
    dtype=st.sampled_from(("float32", "float64", "int32")),
    is_reversed=st.booleans(),
    seed=st.integers(0, 99),
)
def test_tiles_of_any_size_compute_the_product(
    sizes: tuple[int, int, int], factors: tuple[int, int, int], options: frozenset[str], scope: str, dtype: str,
    is_reversed: bool, seed: int,
) -> None:  # fmt: skip
    m, n, k = sizes
    row = f"{m - 1} - vi" if is_reversed else "vi"
    module = tvms.parse(PRODUCT.format(m=m, n=n, k=k, dtype=dtype, row=row))
    try:
        scheduled = tile(tvms.ir.programs.as_module(module), factors, options, scope).mod
    except tvms.ScheduleError as refusal:
        note(str(refusal))
        return
    random = np.random.default_rng(seed)
    a, b = (random.integers(-9, 9, shape).astype(dtype) for shape in ((m, k), (k, n)))
    if dtype != "int32" and seed % 2:
        a[random.random(a.shape) < 0.02] = np.nan
        b[random.random(b.shape) < 0.02] = np.inf
    found = np.full((m, n), 77, dtype)
    compiled(scheduled)(a, b, found)
    with np.errstate(invalid="ignore"):
        wanted = (a[::-1] if is_reversed else a) @ b
    np.testing.assert_array_equal(np.isnan(found), np.isnan(wanted))
    np.testing.assert_array_equal(np.nan_to_num(found), np.nan_to_num(wanted))


def passed(text: str, *passes: str) -> str:
    module = tvms.ir.programs.as_module(tvms.parse(text))
    for name in passes:
        module = get_pass(name)(module)
    return str(module["main"])


PACKED = """
T.prim_func main(A: T.Buffer((64,), "float32"), B: T.Buffer((2, 32), "float32")):
    for i0 in range(2):
        for i1 in T.vectorized(32):
            B[(i0 * 32 + i1) // 32, (i0 * 32 + i1) % 32] = A[i0 * 32 + i1]
"""


def test_divisions_of_tiles_disappear() -> None:
    text = passed(PACKED, "SimplifyDivisions")
    assert "B[i0, i1] = A[i0 * 32 + i1]" in text
    kernel = passed(PACKED, "SimplifyDivisions", "FlattenBuffer", "VectorizeLoop")
    assert "//" not in kernel
    assert "%" not in kernel


@pytest.mark.parametrize(
    "index",
    [
        "(i0 * 31 + i1) // 32",  # a vector crosses the boundary of a panel
        "(i0 * 32 + i1) // (i0 * 32)",  # a division by zero remains a fault
    ],
)
def test_other_divisions_remain(index: str) -> None:
    text = PACKED.replace("(i0 * 32 + i1) // 32", index)
    assert index in passed(text, "SimplifyDivisions")


CACHE = """
T.prim_func main(A: T.Buffer((64, 7), "float32"), B: T.Buffer((64, 32), "float32"), C: T.Buffer((32, 7), "float32")):
    with T.block("root"):
        C_local = T.alloc_buffer(({shape}), "float32", scope="{scope}")
        for f in T.vectorized(32):
            for x in range(7):
                C_local[f, x] = T.float32(0)
        for k, x in T.grid(64, 7):
            for f in T.vectorized(32):
                C_local[f, x] = C_local[f, x] + A[k, x] * B[k, f]
        {use}
        for f, x in T.grid(32, 7):
            C[f, x] = C_local[f, x]
"""


def test_lanes_of_a_cache_become_adjacent() -> None:
    text = passed(CACHE.format(shape="32, 7", scope="local", use=""), "OrderLanes")
    assert "C_local = T.alloc_buffer((7, 32)" in text
    assert "C_local[x, f] = C_local[x, f] + A[k, x] * B[k, f]" in text


@pytest.mark.parametrize(
    ("shape", "scope", "use"),
    [
        ("32, 700", "local", ""),  # it does not fit the stack
        ("32, 7", "shared", ""),  # threads share it
        ("32, 7", "local", "T.evaluate(T.address_of(C_local[0, 0]))"),
        ("32, 7", "local", "T.evaluate(T.isnullptr(C_local.data))"),
    ],
)
def test_other_buffers_keep_their_layout(shape: str, scope: str, use: str) -> None:
    text = CACHE.format(shape=shape, scope=scope, use=use)
    assert f"C_local = T.alloc_buffer(({shape})" in passed(text, "OrderLanes")


def test_only_reductions_in_vectors_are_contracted() -> None:
    text = PRODUCT.format(m=8, n=16, k=4, dtype="float32", row="vi")
    module = tvms.ir.programs.as_module(tvms.parse(text))
    assert contract_reductions(module["main"]) is module["main"]
    schedule = Schedule(module)
    schedule.vectorize(schedule.get_loops("product")[1])
    fused = str(contract_reductions(schedule.mod["main"]))
    assert 'T.call_intrin("float32", "tir.fma", A[vi, vk], B[vk, vj], C[vi, vj])' in fused
    elementwise = str(schedule.mod["main"]).replace('"SSR"', '"SSS"')
    lines = [line for line in elementwise.splitlines() if "init" not in line and ", 0)" not in line]
    spatial = tvms.parse("\n".join(lines))["main"]
    assert contract_reductions(spatial) is spatial


ROWS = frozenset({"rows outside", "decompose"})


@pytest.mark.parametrize(
    ("columns", "dtype", "factors", "options", "fuses"),
    [
        (512, "float32", (32, 32, 4), ROWS, False),  # rows of half a page
        (512, "float32", (32, 32, 4), frozenset(), False),
        (512, "float64", (32, 32, 4), ROWS, False),  # rows of a page
        (1536, "float32", (32, 32, 4), ROWS, False),  # rows of three halves of a page
        (544, "float32", (32, 32, 4), ROWS, True),
        (256, "float32", (32, 32, 4), ROWS, True),  # rows of a quarter of a page
        (512, "float32", (8, 32, 4), ROWS, True),  # the sums of eight rows stay in registers
        (512, "float32", (32, 32, 8), ROWS, True),  # eight steps hide the wait
        (512, "float32", (32, 32, 4), ROWS | {"unroll"}, True),
        (512, "float32", (32, 32, 4), frozenset({"rows outside", "cache"}), True),  # the tile is compact
    ],
)
def test_sums_that_wait_for_a_row_half_a_page_before_are_not_contracted(
    columns: int, dtype: str, factors: tuple[int, int, int], options: frozenset[str], fuses: bool
) -> None:
    text = PRODUCT.format(m=512, n=columns, k=512, dtype=dtype, row="vi")
    module = tile(tvms.ir.programs.as_module(tvms.parse(text)), factors, options, "local").mod
    assert ("tir.fma" in str(contract_reductions(module["main"]))) is fuses


@pytest.mark.parametrize("name", ["gemm_packed", "gemm_register_tile", "gemm_tutorial", "conv2d_direct"])
def test_tiles_become_vectors_and_registers(name: str) -> None:
    target = "llvm -mcpu=x86-64-v4 -mtriple=x86_64-unknown-linux-gnu"
    code = tvms.emit(tvms.load(SAMPLES / f"{name}.tvms"), "asm", target=target)
    assert isinstance(code, str)
    instructions = [line.split()[0] for line in code.splitlines() if line.startswith("\t") and line.strip()]
    fused = sum(name.startswith("vfmadd") for name in instructions)
    assert fused >= 8
    assert not [name for name in instructions if name.startswith(("vgather", "vmulps", "vaddps"))]
