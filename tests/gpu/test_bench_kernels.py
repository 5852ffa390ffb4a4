"""The kernels that `bench/gpu.py` measures compute what NumPy does, and assemble."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import ml_dtypes
import numpy as np
import pytest
import tvms
from tvms.codegen.gpu.ptxas import assemble, find_ptxas

FOLDER = Path(__file__).parents[2] / "bench" / "gpu_kernels"


ONE_WARP = {
    "factors=[None, 2, 4]": "factors=[None, 1, 2]",
    "factors=[None, 2, 2, 32, 8]": "factors=[None, 1, 1, 32, 8]",
}
"""Smaller tiles of products on matrix units, which are simulated in less time."""


def kernel(name: str, size: int) -> tvms.IRModule:
    """Return a kernel for matrices of `size` × `size`; of bfloat16, the one of float16 says the same."""
    text = (FOLDER / f"{name.replace('bf16', 'f16')}.tvms").read_text(encoding="utf-8").replace("4096", str(size))
    for factors, smaller in ONE_WARP.items():
        text = text.replace(factors, smaller)
    if name.endswith("bf16"):
        text = text.replace("float16", "bfloat16").replace("_f16_", "_bf16_").replace("f16f16f32", "bf16bf16f32")
    return tvms.parse(text)


def rows(x: Any) -> Any:
    return np.exp(x - x.max(1, keepdims=True)) / np.exp(x - x.max(1, keepdims=True)).sum(1, keepdims=True)


def normalized(x: Any, gamma: Any, beta: Any) -> Any:
    return (x - x.mean(1, keepdims=True)) / np.sqrt(x.var(1, keepdims=True) + 1e-5) * gamma + beta


CASES: dict[str, tuple[int, list[int], Any, Any]] = {
    "matmul_f32": (128, [2, 2], np.float32, lambda a, b: a @ b),
    "matmul_f16": (64, [2, 2], np.float16, lambda a, b: a.astype("f4") @ b.astype("f4")),
    "matmul_bf16": (64, [2, 2], ml_dtypes.bfloat16, lambda a, b: a.astype("f4") @ b.astype("f4")),
    "softmax": (256, [2], np.float32, rows),
    "layer_norm": (256, [2, 1, 1], np.float32, normalized),
    "transpose": (64, [2], np.float32, np.transpose),
}


@pytest.mark.parametrize(
    "name", CASES if os.environ.get("TVMS_FUZZ") else [name for name in CASES if "bf16" not in name]
)
def test_kernels(name: str) -> None:
    size, ranks, dtype, expected = CASES[name]
    program, random = kernel(name, size), np.random.default_rng(0)
    values = [random.integers(-4, 5, (size,) * rank).astype(dtype) for rank in ranks]
    result = np.zeros((size, size), np.float32)
    (function,) = program.functions
    tvms.compile(program, target="cuda -simulate=random", level=0)[function](*values, result)
    assert np.allclose(result, expected(*values), rtol=1e-4, atol=1e-4)
    tool = find_ptxas()
    ptx = tvms.emit(program, "ptx", "cuda -arch=sm_80")
    if tool is not None:
        made = assemble(str(ptx), "sm_80", tool)
        (usage,) = made.usage.values()
        assert (usage.stack_bytes, usage.spill_bytes) == (0, 0)
