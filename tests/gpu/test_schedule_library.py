"""The schedules for GPUs in samples/schedules: results in all orders of threads, registers, and estimates beside the default's."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import tvms
from msgspec.structs import replace
from tvms.codegen.build import Settings, prepare
from tvms.codegen.gpu.estimate import estimate
from tvms.codegen.gpu.program import build_program
from tvms.codegen.gpu.ptxas import find_ptxas
from tvms.codegen.target import get_target
from tvms.ir.base import IRModule
from tvms.ir.schedule.apply import apply_schedules, with_parameters

SAMPLES = Path(__file__).parents[2] / "samples" / "schedules"
SMALL: dict[str, tuple[dict[str, str], dict[str, Any]]] = {
    "attention_gpu": ({"HEADS = 16": "HEADS = 1", "KEYS = 1024": "KEYS = 128"}, {}),
    "conv2d_gpu": (
        {"(64, 58, 58)": "(16, 18, 18)", "(64, 64, 3, 3)": "(32, 16, 3, 3)", "(64, 56, 56, 64": "(32, 16, 16, 16", "(64, 56, 56)": "(32, 16, 16)"},
        {},
    ),
    "gemm_gpu": ({"512": "64"}, {}),
    "gemm_tensor_cores": ({"512": "64"}, {"depth": 2}),
    "gemv_gpu": ({"1024": "8", "4096": "1024"}, {}),
    "gemv_int4_gpu": ({"4096": "256", "512": "32", "128)": "8)"}, {}),
    "layer_norm_gpu": ({"(256": "(3", "4096": "512"}, {"threads": 64}),
    "reduction_gpu": ({"4194304": "4096"}, {"blocks": 8, "threads": 64}),
    "softmax_gpu": ({"(256": "(3", "4096": "512"}, {"threads": 64}),
    "transpose_gpu": ({"1024": "64"}, {}),
}  # fmt: skip
"""Smaller sizes and other knobs, with which threads are simulated and programs interpreted."""
LARGE = {"attention_gpu", "conv2d_gpu", "gemm_gpu"}
"""Programs whose smallest sizes take minutes to interpret."""
TARGET = get_target("cuda -arch=sm_80")


def small(name: str) -> IRModule:
    """Return a program of small sizes."""
    sizes, knobs = SMALL[name]
    text = (SAMPLES / f"{name}.tvms").read_text()
    for old, new in sizes.items():
        text = text.replace(old, new)
    return with_parameters(tvms.parse(text), knobs)


def arguments(module: IRModule) -> list[np.ndarray]:
    random = np.random.default_rng(3)
    buffers = list(module["main"].buffer_map.values())
    shapes = [tuple(size.value for size in buffer.shape) for buffer in buffers]
    return [
        random.integers(0, 1 << 32, shape, np.uint32)
        if buffer.dtype == "uint32"
        else (random.random(shape) - 0.5).astype(buffer.dtype)
        for shape, buffer in zip(shapes, buffers, strict=True)
    ]


def test_every_schedule_for_gpus_is_tested() -> None:
    found = {path.stem for path in SAMPLES.glob("*.tvms") if 'target="cuda"' in path.read_text()}
    assert found == SMALL.keys()


@pytest.mark.deep(3)
@pytest.mark.parametrize("name", SMALL)
def test_threads_compute_what_loops_do_in_every_order(name: str) -> None:
    module = small(name)
    assert tvms.verify(module) == ()
    *inputs, wanted = arguments(module)
    found = np.full_like(wanted, np.nan)
    tvms.compile(replace(module, schedules={}), level=0)["main"](*inputs, wanted)
    tvms.compile(module, target="cuda -arch=sm_80 -simulate=each", level=0)["main"](*inputs, found)
    np.testing.assert_allclose(found, wanted, rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("name", sorted(SMALL.keys() - LARGE))
def test_the_scheduled_program_means_the_same(name: str) -> None:
    module = small(name)
    *inputs, wanted = arguments(module)
    found = np.full_like(wanted, np.nan)
    tvms.compile(replace(module, schedules={}), level=0)["main"](*inputs, wanted)
    scheduled = apply_schedules(module, "cuda")
    assert tvms.verify(scheduled) == ()
    tvms.interpret(scheduled, "main", [*inputs, found])
    np.testing.assert_allclose(found, wanted, rtol=1e-4, atol=1e-4)


@pytest.mark.deep(3)
@pytest.mark.skipif(find_ptxas() is None, reason="needs ptxas")
@pytest.mark.parametrize("name", SMALL)
def test_kernels_assemble_and_are_estimated_as_fast_as_the_default(name: str) -> None:
    module = tvms.load(SAMPLES / f"{name}.tvms")
    own, default = (
        build_program(prepare(program, TARGET), TARGET, Settings())
        for program in (module, replace(module, schedules={}))
    )
    mine, other = estimate(own, TARGET), estimate(default, TARGET)
    assert not any(kernel.usage is None or kernel.usage.spill_bytes for kernel in mine.kernels)
    assert mine.seconds <= 1.01 * other.seconds, (mine, other)
