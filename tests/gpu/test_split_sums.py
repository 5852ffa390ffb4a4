"""Products and other reductions with few results and many terms: the default schedule divides the terms among more blocks."""

from __future__ import annotations

import numpy as np
import pytest
import tvms
from tvms.codegen.build import Settings, prepare
from tvms.codegen.default_schedules import default_schedules
from tvms.codegen.gpu.estimate import estimate
from tvms.codegen.gpu.program import build_program
from tvms.codegen.gpu.ptxas import find_ptxas
from tvms.codegen.target import get_target
from tvms.ir.base import IRModule


def product(m: int, n: int, k: int, dtype: str = "float32", out: str = "float32", bias: bool = False) -> IRModule:
    factors = [term if dtype == out else f'T.Cast("{out}", {term})' for term in ("A[vi, vk]", "B[vk, vj]")]
    text = f"""#tvms 1
I.ir_module M:
    T.prim_func f(A: T.Buffer(({m}, {k}), "{dtype}"), B: T.Buffer(({k}, {n}), "{dtype}"), D: T.Buffer(({m}, {n}), "{out}")):
        C = T.alloc_buffer(({m}, {n}), "{out}")
        for i, j, k in T.grid({m}, {n}, {k}):
            with T.block("product"):
                vi, vj, vk = T.axis.remap("SSR", [i, j, k])
                with T.init():
                    C[vi, vj] = T.{out}(0)
                C[vi, vj] = C[vi, vj] + {" * ".join(factors)}
        for i, j in T.grid({m}, {n}):
            with T.block("bias"):
                vi, vj = T.axis.remap("SS", [i, j])
                D[vi, vj] = C[vi, vj] + T.{out}(1)
"""
    if not bias:
        text = text[: text.index("        for i, j in")].replace(
            f'        C = T.alloc_buffer(({m}, {n}), "{out}")\n', ""
        )
        text = text.replace("D: T.Buffer", "C: T.Buffer")
    return tvms.parse(text)


def parts_of(module: IRModule, arch: str = "sm_80") -> int:
    """Return the number of parts in the default schedule."""
    text = default_schedules(module, get_target(f"cuda -arch={arch}"))["f"].text
    assert text is not None
    script = text.script()
    return int(script.partition("factors=[")[2].partition(",")[0]) if "rfactor" in script else 1


@pytest.mark.deep(4)
@pytest.mark.parametrize("dtype", ["float32", "float16"])
@pytest.mark.parametrize("bias", [False, True])
@pytest.mark.parametrize(("m", "n"), [(32, 32), (40, 24)])
def test_parts_are_summed(dtype: str, bias: bool, m: int, n: int) -> None:
    """In each order of threads, also for sizes that tiles do not divide, and with an epilogue."""
    module = product(m, n, 4096, dtype, bias=bias)
    assert parts_of(module) > 1
    random = np.random.default_rng(0)
    a, b = ((random.random(shape) - 0.5).astype(dtype) for shape in ((m, 4096), (4096, n)))
    c = np.zeros((m, n), np.float32)
    tvms.compile(module, "cuda -arch=sm_80 -simulate=each")["f"](a, b, c)
    expected = a.astype(np.float64) @ b.astype(np.float64) + bias
    np.testing.assert_allclose(c, expected, rtol=1e-3, atol=1e-3)


@pytest.mark.parametrize(
    ("shape", "dtype", "out", "is_divided"),
    [
        ((128, 128, 65536), "float32", "float32", True),
        ((128, 128, 65536), "float16", "float32", True),
        ((64, 64, 4096), "float32", "float32", True),
        ((256, 256, 16384), "float32", "float32", True),
        ((256, 256, 16384), "float16", "float32", True),
        ((1024, 1024, 1024), "float32", "float32", False),
        ((4096, 4096, 65536), "float32", "float32", False),
        ((128, 128, 256), "float32", "float32", False),
        ((128, 128, 65537), "float32", "float32", False),
        ((128, 128, 65536), "float16", "float16", False),
    ],
)
def test_the_sum_is_divided_if_that_pays_off(
    shape: tuple[int, int, int], dtype: str, out: str, is_divided: bool
) -> None:
    """Not for many results, short sums, sums without a suitable divisor, and sums that float16 would round."""
    assert (parts_of(product(*shape, dtype, out)) > 1) == is_divided


@pytest.mark.deep(4)
@pytest.mark.skipif(find_ptxas() is None, reason="needs ptxas")
@pytest.mark.parametrize("arch", ["sm_80", "sm_90"])
@pytest.mark.parametrize("dtype", ["float32", "float16"])
def test_divided_sums_are_estimated_to_be_faster(dtype: str, arch: str) -> None:
    """And no kernel spills registers."""
    target, times = get_target(f"cuda -arch={arch}"), list[float]()
    for steps in (
        "",
        "S.tensor_core_tiles(block, rows=32, columns=32, arch=80)"
        if dtype == "float16"
        else "S.thread_tiles(block, rows=32, columns=32)",
    ):
        module = product(128, 128, 65536, dtype)
        if steps:
            text = (
                module.script() + f'\n    S.schedule one(f):\n        block = S.get_block("product")\n        {steps}\n'
            )
            module = tvms.parse(text)
        found = estimate(build_program(prepare(module, target), target, Settings()), target)
        assert all(kernel.usage is not None and not kernel.usage.spill_bytes for kernel in found.kernels)
        times.append(found.seconds)
    assert times[0] < times[1] / 2


@pytest.mark.parametrize(
    ("shape", "dtype", "arch", "parts"),
    [
        ((1024, 1024, 16384), "float32", "sm_80", 8), ((1024, 1024, 16384), "float32", "sm_90", 1),
        ((512, 512, 4096), "float32", "sm_80", 1), ((512, 512, 4096), "float32", "sm_90", 8),
        ((512, 512, 4096), "float16", "sm_80", 8), ((512, 512, 4096), "float16", "sm_100", 8),
        ((1024, 1024, 16384), "float32", "sm_75", 8), ((1024, 1024, 16384), "float32", "sm_87", 16),
    ],
)  # fmt: skip
def test_the_machine_decides(shape: tuple[int, int, int], dtype: str, arch: str, parts: int) -> None:
    """64 tiles for 108 and for 132 multiprocessors, and 32 times as many multiply-adds by tensor cores. Without figures, the last
    machine with some counts; sm_75 is also the code for any newer one.
    """
    assert parts_of(product(*shape, dtype), arch) == parts


FORMS = {
    "whole": ("i, k in T.grid({m}, {n})", '"RR", [i, k]', "B[()]", "A[vi, vk]", "({m}, {n})", "()"),
    "rows": ("i, k in T.grid({m}, {n})", '"SR", [i, k]', "B[vi]", "A[vi, vk]", "({m}, {n})", "({m},)"),
    "columns": ("i, k in T.grid({m}, {n})", '"SR", [i, k]', "B[vi]", "A[vk, vi]", "({n}, {m})", "({m},)"),
}
"""The loops, axes, result, element and shapes of reductions over m × n elements."""
OPERATIONS = {
    "sum": ("{a} + {b}", "T.{dtype}(0)"),
    "max": ("T.max({a}, {b})", 'T.min_value("{dtype}")'),
    "min": ("T.min({a}, {b})", 'T.max_value("{dtype}")'),
    "limited": ("T.max({a}, {b})", "T.{dtype}(2)"),
}


def reduction(form: str, m: int, n: int, operation: str = "sum", dtype: str = "float32") -> IRModule:
    loops, axes, result, element, source, target = (part.format(m=m, n=n) for part in FORMS[form])
    update, start = OPERATIONS[operation]
    return tvms.parse(f"""#tvms 1
I.ir_module M:
    T.prim_func f(A: T.Buffer({source}, "{dtype}"), B: T.Buffer({target}, "{dtype}")):
        for {loops}:
            with T.block("block"):
                vi, vk = T.axis.remap({axes})
                with T.init():
                    {result} = {start.format(dtype=dtype)}
                {result} = {update.format(a=result, b=element)}
""")


@pytest.mark.deep(8)
@pytest.mark.parametrize("dtype", ["float32", "float64", "int32"])
@pytest.mark.parametrize("operation", ["sum", "max", "min"])
@pytest.mark.parametrize(("form", "m", "n"), [("whole", 480, 512), ("rows", 2, 98304), ("columns", 40, 49152)])
def test_parts_of_reductions_are_combined(form: str, m: int, n: int, operation: str, dtype: str) -> None:
    module = reduction(form, m, n, operation, dtype)
    assert parts_of(module) > 1
    shape = (n, m) if form == "columns" else (m, n)
    a = np.random.default_rng(1).integers(-4, 5, shape).astype(dtype)
    b = np.zeros(() if form == "whole" else (m,), dtype)
    tvms.compile(module, "cuda -arch=sm_80 -simulate=each")["f"](a, b)
    axis = None if form == "whole" else 0 if form == "columns" else 1
    np.testing.assert_array_equal(b, getattr(a, operation)(axis=axis))


@pytest.mark.parametrize(
    ("form", "m", "n", "operation", "dtype", "is_divided"),
    [
        ("whole", 4096, 4096, "sum", "float32", True),
        ("rows", 8, 1 << 20, "sum", "float32", True),
        ("rows", 8, 1 << 20, "max", "float16", True),
        ("rows", 8, 1 << 20, "sum", "float16", False),
        ("rows", 8, 1 << 20, "limited", "float32", False),
        ("rows", 8, (1 << 20) + 7, "sum", "float32", False),
        ("rows", 4096, 4096, "sum", "float32", False),
        ("rows", 16, 8192, "sum", "float32", False),
        ("whole", 64, 64, "sum", "float32", False),
        ("columns", 64, 1 << 20, "sum", "float32", True),
        ("columns", 4096, 4096, "sum", "float32", False),
    ],
)
def test_a_reduction_is_divided_if_that_pays_off(
    form: str, m: int, n: int, operation: str, dtype: str, is_divided: bool
) -> None:
    """Not if there are enough rows, few elements, or no suitable divisor, if float16 would round the parts, or without a neutral start."""
    assert (parts_of(reduction(form, m, n, operation, dtype)) > 1) == is_divided


def test_divided_reductions_are_estimated_to_be_faster() -> None:
    target = get_target("cuda -arch=sm_80")
    for form, m, n, step in (("whole", 4096, 4096, "block_rows"), ("columns", 64, 1 << 20, "warp_columns")):
        module = reduction(form, m, n)
        knobs = "shared=0, threads=256" if step == "block_rows" else "parts=16"
        text = f'\n    S.schedule one(f):\n        block = S.get_block("block")\n        S.{step}(block, {knobs})\n'
        found = [
            estimate(build_program(prepare(program, target), target, Settings()), target).seconds
            for program in (module, tvms.parse(module.script() + text))
        ]
        assert found[0] < found[1] / 10
