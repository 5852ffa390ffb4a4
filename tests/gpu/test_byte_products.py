"""Products of bytes on tensor cores: the default schedules, in each order of threads."""

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
from tvms.ir.interp import run
from tvms.ir.programs import as_module

LIMITS = {"int8": (-128, 128), "uint8": (0, 256)}


def product(m: int, n: int, k: int, left: str, right: str, is_transposed: bool = True) -> IRModule:
    """Return the product of A and W, which is n × k if it is transposed."""
    shape, element = ((n, k), "W[vj, vk]") if is_transposed else ((k, n), "W[vk, vj]")
    return tvms.parse(f"""#tvms 1
I.ir_module M:
    T.prim_func f(A: T.Buffer(({m}, {k}), "{left}"), W: T.Buffer({shape}, "{right}"), C: T.Buffer(({m}, {n}), "int32")):
        for i, j, k in T.grid({m}, {n}, {k}):
            with T.block("product"):
                vi, vj, vk = T.axis.remap("SSR", [i, j, k])
                with T.init():
                    C[vi, vj] = T.int32(0)
                C[vi, vj] = C[vi, vj] + T.Cast("int32", A[vi, vk]) * T.Cast("int32", {element})
""")


def steps(module: IRModule, arch: str = "sm_80") -> str:
    (recipe,) = default_schedules(module, get_target(f"cuda -arch={arch}")).values()
    assert recipe.text is not None
    return recipe.text.script()


def drawn(shape: tuple[int, int], dtype: str) -> np.ndarray:
    return np.random.default_rng(0).integers(*LIMITS[dtype], shape).astype(dtype)


@pytest.mark.deep(8)
@pytest.mark.parametrize(("m", "n", "k"), [(64, 64, 128), (40, 72, 100), (130, 31, 64)])
@pytest.mark.parametrize("left", LIMITS)
@pytest.mark.parametrize("right", LIMITS)
def test_sums_of_bytes_are_exact(m: int, n: int, k: int, left: str, right: str) -> None:
    """Also for sizes that tiles do not divide."""
    module = product(m, n, k, left, right)
    assert "S.tensor_core_tiles(product" in steps(module)
    a, w, c = drawn((m, k), left), drawn((n, k), right), np.zeros((m, n), np.int32)
    tvms.compile(module, "cuda -arch=sm_80 -simulate=each")["f"](a, w, c)
    np.testing.assert_array_equal(c, a.astype(np.int32) @ w.astype(np.int32).T)


@pytest.mark.parametrize(
    ("module", "arch"),
    [
        (product(64, 64, 128, "int8", "int8", is_transposed=False), "sm_80"),
        (product(64, 64, 129, "int8", "int8"), "sm_80"),
        (product(64, 64, 128, "int8", "int8"), "sm_75"),
    ],
)
def test_other_products_of_bytes_use_no_tensor_cores(module: IRModule, arch: str) -> None:
    """Bytes across the sum, rows that are not aligned, and older GPUs; the results are the same."""
    assert "tensor_core_tiles" not in steps(module, arch)
    (function,) = module.functions.values()
    a, w, c = (np.ones([size.value for size in buffer.shape], buffer.dtype) for buffer in function.buffer_map.values())  # type: ignore[attr-defined]
    tvms.compile(module, f"cuda -arch={arch} -simulate=ascending")["f"](a, w, c)
    np.testing.assert_array_equal(c, np.full_like(c, a.shape[1]))


def test_a_quantized_layer_is_one_kernel() -> None:
    """With transposed weights, the product, its cast and its scale are fused."""
    module = tvms.parse("""#tvms 1
I.ir_module M:
    R.function main(x: R.Tensor((64, 128), "int8"), w: R.Tensor((96, 128), "int8"), s: R.Tensor((96,), "float32")):
        with R.dataflow():
            t = R.permute_dims(w)
            y = R.matmul(x, t, out_dtype="int32")
            z = R.astype(y, "float32")
            o = R.multiply(z, s)
            R.output(o)
        return o
""")
    x, w, s = drawn((64, 128), "int8"), drawn((96, 128), "int8"), np.linspace(0, 1, 96, dtype=np.float32)
    found = np.asarray(tvms.compile(module, "cuda -arch=sm_80 -simulate=ascending")["main"](x, w, s))
    np.testing.assert_allclose(found, (x.astype(np.int32) @ w.astype(np.int32).T) * s, rtol=1e-6)
    np.testing.assert_allclose(np.asarray(tvms.interpret(module, "main", [x, w, s])), found, rtol=1e-6)
    ptx = str(tvms.emit(module, "ptx", "cuda -arch=sm_80"))
    assert ptx.count(".visible .entry") == 1
    assert "m16n8k32.row.col.s32.s8.s8.s32" in ptx


@pytest.mark.skipif(find_ptxas() is None, reason="needs ptxas")
@pytest.mark.parametrize("arch", ["sm_80", "sm_90"])
def test_no_kernel_spills(arch: str) -> None:
    target = get_target(f"cuda -arch={arch}")
    found = estimate(
        build_program(prepare(product(4096, 4096, 4096, "int8", "int8"), target), target, Settings()), target
    )
    assert all(kernel.usage is not None and not kernel.usage.spill_bytes for kernel in found.kernels)


# --- Dot products of four bytes ---------------------------------------------------------------------------------------

DOT = """T.prim_func main(A: T.Buffer((64, 8), "{a}"), B: T.Buffer((64, 8), "{b}"), C: T.Buffer((64,), "int32")):
    tx = T.launch_thread("threadIdx.x", 64)
    C[tx] = T.dp4a(A[tx, 4:8], B[tx, 0:4], C[tx] + T.dp4a(A[tx, 0:4], B[tx, 4:8]))
"""


@pytest.mark.parametrize("a", ["int8", "uint8"])
@pytest.mark.parametrize("b", ["int8", "uint8"])
def test_dot_products_of_four_bytes(a: str, b: str) -> None:
    module, random = as_module(tvms.parse(DOT.format(a=a, b=b))), np.random.default_rng(0)
    left, right = (random.integers(0, 256, (64, 8), np.uint8).view(dtype) for dtype in (a, b))
    start = random.integers(-(2**31), 2**31, 64, np.int64).astype(np.int32)
    x, y = left.astype(np.int64), right.astype(np.int64)
    expected = (start + (x[:, 4:] * y[:, :4]).sum(1) + (x[:, :4] * y[:, 4:]).sum(1)).astype(np.int32)
    found = [start.copy(), start.copy()]
    run(module, "main", [left, right, found[0]])
    tvms.compile(module, target="cuda -simulate=each")["main"](left, right, found[1])
    for result in found:
        np.testing.assert_array_equal(result, expected)
    ptx = str(tvms.emit(module, "ptx", "cuda -arch=sm_75"))
    assert ptx.count(f"dp4a.{a[0].replace('i', 's')}32.{b[0].replace('i', 's')}32") == 2
