"""Vectors are as few accesses as their alignment allows, and never misaligned ones."""

from __future__ import annotations

import re

import numpy as np
import pytest
import tvms
from tvms.ir.programs import as_module

PROGRAM = """
T.prim_func main(A: T.Buffer((1024,), "{dtype}"), B: T.Buffer((1024,), "{dtype}")):
    tx = T.launch_thread("threadIdx.x", 32)
    for i in T.vectorized({lanes}):
        B[tx * {step} + i] = A[tx * {step} + {start} + i]
"""


@pytest.mark.parametrize(
    ("dtype", "lanes", "step", "start", "loads", "width"),
    [
        ("float32", 4, 4, 0, 1, 16),
        ("float32", 8, 8, 0, 2, 16),
        ("float32", 16, 16, 4, 4, 16),
        ("float32", 4, 6, 0, 2, 8),
        ("float32", 4, 4, 2, 2, 8),
        ("float32", 4, 4, 1, 4, 4),
        ("float32", 3, 3, 0, 3, 4),
        ("float64", 4, 4, 0, 2, 16),
        ("float16", 16, 16, 0, 2, 16),
        ("float16", 8, 12, 4, 2, 8),
        ("int8", 16, 16, 0, 1, 16),
        ("int8", 8, 8, 4, 2, 4),
    ],
)
def test_accesses(dtype: str, lanes: int, step: int, start: int, loads: int, width: int) -> None:
    module = as_module(tvms.parse(PROGRAM.format(dtype=dtype, lanes=lanes, step=step, start=start)))
    for arch in ("sm_75", "sm_90", "sm_100"):
        ptx = tvms.emit(module, "ptx", f"cuda -arch={arch}")
        assert isinstance(ptx, str)
        found = re.findall(r"ld\.global(?:\.nc)?(?:\.v(\d))?\.[a-z](\d+)", ptx)
        assert [int(count or 1) * int(bits) // 8 for count, bits in found] == [width] * loads, ptx
    values = np.random.default_rng(0).integers(0, 9, 1024).astype(dtype)
    tvms.compile(module, target="cuda -simulate=each", level=0)["main"](values, found := np.zeros_like(values))
    places = np.arange(32)[:, None] * step + np.arange(lanes)
    assert (found[places] == values[places + start]).all()
