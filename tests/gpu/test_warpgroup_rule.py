"""The default schedule by warpgroups: interpreter = simulation in three thread orders = NumPy; no spills, no races."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import tvms
from gpu.warpgroup_programs import NUMPY, product
from tvms.codegen.build import Settings, prepare
from tvms.codegen.default_schedules import default_schedules
from tvms.codegen.gpu.executable import lowered_for_gpu
from tvms.codegen.gpu.ptxas import assemble, find_ptxas
from tvms.codegen.gpu.races import find_races
from tvms.codegen.gpu.rules import warpgroups
from tvms.codegen.target import get_target
from tvms.ir.base import IRModule
from tvms.ir.interp import run

TARGET = "cuda -arch=sm_90a"
SIZES = [(64, 64, 64), (72, 136, 88), (128, 200, 200), (65, 64, 72)]


def inputs(m: int, n: int, k: int, dtype: str, layouts: str) -> tuple[list[Any], Any]:
    """Return A and B of small whole numbers, and their product in float32."""
    random = np.random.default_rng(m + n + k)
    a, b = random.integers(-4, 5, (m, k)).astype(NUMPY[dtype]), random.integers(-4, 5, (k, n)).astype(NUMPY[dtype])
    expected = a.astype(np.float32) @ b.astype(np.float32)
    return [np.ascontiguousarray(x.T if turn == "t" else x) for x, turn in zip((a, b), layouts, strict=True)], expected


def lowered(text: str, target: str = TARGET) -> IRModule:
    return lowered_for_gpu(prepare(tvms.parse(text), get_target(target)), get_target(target), Settings())


def check(text: str, args: list[Any], expected: Any) -> None:
    """Check what the function computes, interpreted as a kernel and simulated in three orders."""
    simulated = tvms.compile(tvms.parse(text), target=f"{TARGET} -simulate=each")
    assert {decision.rule for decision in simulated.decisions["main"]} == {"warpgroups"}
    simulated["main"](*args, found := np.zeros_like(expected))
    assert np.array_equal(found, expected)
    flat: list[Any] = [*(x.ravel() for x in args), np.zeros(expected.size, expected.dtype)]
    run(lowered(text), "main", flat, track=True)
    assert np.array_equal(flat[-1].reshape(expected.shape), expected)


@pytest.mark.deep(8)
@pytest.mark.parametrize("size", SIZES[:2], ids=str)
@pytest.mark.parametrize("layouts", ["nn", "nt", "tn", "tt"])
def test_products(size: tuple[int, int, int], layouts: str) -> None:
    dtype = "bfloat16" if layouts[0] == "t" else "float16"
    args, expected = inputs(*size, dtype, layouts)
    check(product(*size, dtype, layouts), args, expected)


@pytest.mark.deep(2)
@pytest.mark.parametrize("size", SIZES[2:], ids=str)
def test_sizes_that_are_not_multiples(size: tuple[int, int, int]) -> None:
    args, expected = inputs(*size, "bfloat16", "nt")
    check(product(*size, "bfloat16", "nt"), args, expected)


def test_results_in_float16_through_an_epilogue() -> None:
    text = """
I.ir_module Module:
    T.prim_func main(A: T.Buffer((64, 64), "float16"), B: T.Buffer((64, 64), "float16"), bias: T.Buffer((64,), "float32"), C: T.Buffer((64, 64), "float16")):
        D = T.alloc_buffer((64, 64), "float32")
        for i, j, k in T.grid(64, 64, 64):
            with T.block("D"):
                vi, vj, vk = T.axis.remap("SSR", [i, j, k])
                with T.init():
                    D[vi, vj] = T.float32(0)
                D[vi, vj] = D[vi, vj] + T.cast(A[vi, vk], "float32") * T.cast(B[vk, vj], "float32")
        for i, j in T.grid(64, 64):
            with T.block("C"):
                vi, vj = T.axis.remap("SS", [i, j])
                C[vi, vj] = T.cast(T.max(D[vi, vj] + bias[vj], T.float32(0)), "float16")
"""
    (a, b), total = inputs(64, 64, 64, "float16", "nn")
    bias = np.arange(64, dtype=np.float32)
    check(text, [a, b, bias], np.maximum(total + bias, 0).astype(np.float16))


def test_batches_and_a_symbolic_size() -> None:
    text = """
I.ir_module Module:
    T.prim_func main(a: T.handle, B: T.Buffer((2, 64, 64), "float16"), c: T.handle):
        n = T.int64()
        A = T.match_buffer(a, (2, n, 64), "float16")
        C = T.match_buffer(c, (2, n, 64), "float32")
        for b, i, j, k in T.grid(2, n, 64, 64):
            with T.block("C"):
                vb, vi, vj, vk = T.axis.remap("SSSR", [b, i, j, k])
                with T.init():
                    C[vb, vi, vj] = T.float32(0)
                C[vb, vi, vj] = C[vb, vi, vj] + T.cast(A[vb, vi, vk], "float32") * T.cast(B[vb, vk, vj], "float32")
"""
    random = np.random.default_rng(7)
    a, b = (random.integers(-4, 5, shape).astype(np.float16) for shape in ((2, 70, 64), (2, 64, 64)))
    simulated = tvms.compile(tvms.parse(text), target=f"{TARGET} -simulate=each")
    assert [decision.rule for decision in simulated.decisions["main"]] == ["warpgroups"]
    simulated["main"](a, b, found := np.zeros((2, 70, 64), np.float32))
    assert np.array_equal(found, a.astype(np.float32) @ b.astype(np.float32))


@pytest.mark.deep(4)
@pytest.mark.parametrize("layouts", ["nn", "nt", "tn", "tt"])
@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
def test_large_products_assemble_without_spills(dtype: str, layouts: str) -> None:
    ptx = str(tvms.emit(tvms.parse(product(4096, 4096, 4096, dtype, layouts)), "ptx", TARGET))
    assert ptx.count("wgmma.mma_async.sync.aligned.m64n256k16") == 4
    assert "mma.sync.aligned.m16" not in ptx
    assert "st.local" not in ptx
    tool = find_ptxas()
    if tool is not None:
        made = assemble(ptx, "sm_90a", tool)
        if "is not defined for option" not in made.problem:
            (usage,) = made.usage.values()
            assert (usage.spill_bytes, usage.stack_bytes, made.warnings) == (0, 0, ())
            assert usage.registers <= 255


def test_kernels_have_no_races(monkeypatch: pytest.MonkeyPatch) -> None:
    args, expected = inputs(64, 64, 320, "float16", "nn")
    flat = [*(x.ravel() for x in args), np.zeros(expected.size, np.float32)]
    assert not find_races(lowered(product(64, 64, 320)), "main", flat)
    # Copies that start three steps ahead overwrite the stage that the last products may still read.
    monkeypatch.setattr(warpgroups, "AHEAD", 3)
    found = find_races(
        lowered(product(64, 64, 328)), "main", [*(x.ravel() for x in inputs(64, 64, 328, "float16", "nn")[0]), flat[2]]
    )
    assert {problem.code for problem in found} == {"E0723"}


def test_the_schedule_is_a_text() -> None:
    module = tvms.parse(product(4096, 4096, 4096))
    text = default_schedules(module, get_target(TARGET))["main"].text
    assert text is not None
    assert "S.warpgroup_tiles(C, rows=128, columns=256)" in str(text)
    chosen = f'{product(64, 64, 64)}\n    S.schedule chosen(main, target="cuda"):\n        S.warpgroup_tiles(S.get_block("C"), rows=64, columns=64)\n'
    args, expected = inputs(64, 64, 64, "float16", "nn")
    executable = tvms.compile(tvms.parse(chosen), target="cuda -arch=sm_90a -simulate=each")
    executable["main"](*args, found := np.zeros_like(expected))
    assert np.array_equal(found, expected)
    with pytest.raises(tvms.TvmsError) as caught:
        tvms.emit(tvms.parse(chosen), "ptx", "cuda -arch=sm_80")
    assert caught.value.diagnostics[0].code == "E0602"


DECLINED = {
    "another dtype": (product(128, 128, 128, "float32"), "warpgroups do not multiply 'float32' and 'float32' into 'float32'"),
    "rows of 260 bytes": (product(128, 130, 128), "the rows of the second factor are not proven to consist of aligned parts of 16 bytes"),
}  # fmt: skip


@pytest.mark.parametrize("name", DECLINED)
def test_other_products_are_declined(name: str) -> None:
    text, reason = DECLINED[name]
    own = "\n    S.schedule chosen(main):\n        S.warpgroup_tiles(S.get_block('C'), rows=64, columns=64)\n"
    with pytest.raises(tvms.TvmsError) as caught:
        tvms.emit(tvms.parse(text + own), "ptx", TARGET)
    assert reason in caught.value.diagnostics[0].message
    decisions = default_schedules(tvms.parse(text), get_target(TARGET))["main"].decisions
    assert "warpgroups" not in [decision.rule for decision in decisions]


def test_few_rows_have_another_rule() -> None:
    decisions = default_schedules(tvms.parse(product(32, 128, 128)), get_target(TARGET))["main"].decisions
    assert [decision.rule for decision in decisions] == ["tensor cores"]


def test_other_architectures_have_another_rule() -> None:
    module = tvms.parse(product(4096, 4096, 4096))
    for target in ("cuda -arch=sm_90", "cuda -arch=sm_80", "cuda -arch=sm_100"):
        decisions = default_schedules(module, get_target(target))["main"].decisions
        assert [decision.rule for decision in decisions] == ["tensor cores"]
