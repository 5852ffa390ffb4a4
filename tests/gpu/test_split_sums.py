"""Products with few results and a long sum: the default schedule divides the sum among more blocks."""

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
