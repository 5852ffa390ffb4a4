"""Atomic additions to global and to shared memory: interpreted, simulated, and as instructions of GPUs."""

from __future__ import annotations

import re

import numpy as np
import pytest
import tvms
from tvms.codegen.gpu.ptxas import assemble, find_ptxas
from tvms.codegen.gpu.races import find_races
from tvms.ir.interp import run
from tvms.ir.programs import as_module

PROGRAM = """
T.prim_func main(A: T.Buffer((256,), "{dtype}"), B: T.Buffer((4,), "{dtype}")):
    bx = T.launch_thread("blockIdx.x", 4)
    tx = T.launch_thread("threadIdx.x", 64)
    S = T.alloc_buffer((4,), "{dtype}", scope="shared")
    if tx < 4:
        S[tx] = T.Cast("{dtype}", 0)
    T.tvm_storage_sync("shared")
    T.evaluate(T.call_intrin("{dtype}", "tir.atomic_add", T.address_of(S[tx % 4]), A[bx * 64 + tx]))
    T.tvm_storage_sync("shared")
    if tx < 4:
        T.evaluate(T.call_intrin("{dtype}", "tir.atomic_add", T.address_of(B[tx]), S[tx]))
"""
INSTRUCTIONS = {
    "int32": "add.u32", "uint32": "add.u32", "int64": "add.u64", "uint64": "add.u64",
    "float16": "add.noftz.f16", "float32": "add.f32", "float64": "add.f64",
}  # fmt: skip


@pytest.mark.parametrize("dtype", INSTRUCTIONS)
def test_sums(dtype: str) -> None:
    module = as_module(tvms.parse(PROGRAM.format(dtype=dtype)))
    values = np.random.default_rng(0).integers(0, 5, 256).astype(dtype)
    expected = values.reshape(64, 4).sum(0)
    simulated = tvms.compile(module, target="cuda -simulate=each", level=0)["main"]
    for call in (lambda *args: run(module, "main", args, track=True), simulated):
        call(values, found := np.zeros(4, dtype))
        assert found.tolist() == expected.tolist()
    assert find_races(module, "main", [values, np.zeros(4, dtype)]) == ()


@pytest.mark.parametrize("arch", ["sm_75", "sm_80", "sm_90a", "sm_100"])
@pytest.mark.parametrize("dtype", INSTRUCTIONS)
def test_instructions(dtype: str, arch: str) -> None:
    ptx, tool = tvms.emit(tvms.parse(PROGRAM.format(dtype=dtype)), "ptx", f"cuda -arch={arch}"), find_ptxas()
    assert isinstance(ptx, str)
    assert re.findall(r"atom\.(\w+)\.([\w.]+)", ptx) == [
        ("shared", INSTRUCTIONS[dtype]),
        ("global", INSTRUCTIONS[dtype]),
    ]
    assert tool is None or assemble(ptx, arch, tool).image
