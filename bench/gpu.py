"""Speed of kernels on the GPU of this machine, compared with cuBLAS and torch if torch is installed.

Products of 4096 × 4096 in float32, float16 and bfloat16, softmax, layer norm, and a transposition with
the copy rate as reference; each is first checked against NumPy or torch. Needs a GPU (`tvms doctor
--gpu`).
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import ml_dtypes
import numpy as np
import tvms
from tvms.codegen.gpu.driver import find_driver, why_missing

KERNELS = Path(__file__).parent / "gpu_kernels"
N, REPEAT, WARM_UP = 4096, 50, 10
_DTYPES = {"f32": np.float32, "f16": np.float16, "bf16": ml_dtypes.bfloat16}


def kernel(name: str, is_scheduled: bool) -> tvms.IRModule:
    """Return a kernel, with or without its schedule; bfloat16 uses the text of float16."""
    text = (KERNELS / f"{name.replace('bf16', 'f16')}.tvms").read_text(encoding="utf-8")
    if name.endswith("bf16"):
        text = text.replace("float16", "bfloat16").replace("_f16_", "_bf16_").replace("f16f16f32", "bf16bf16f32")
    return tvms.parse(text if is_scheduled else text.partition("\n    S.schedule")[0])


def milliseconds(call: Callable[[], object]) -> float:
    """Return the mean time of one call."""
    driver = find_driver()
    for _ in range(WARM_UP):
        call()
    start = driver.event()
    for _ in range(REPEAT):
        call()
    return driver.milliseconds(start, driver.event()) / REPEAT


def on_torch(name: str, arrays: list[Any]) -> Callable[[], Any] | None:
    """Return the same computation in torch, whose products are cuBLAS's; None without torch and a GPU."""
    if find_spec("torch") is None:
        return None
    import torch

    if not torch.cuda.is_available():
        return None
    torch.backends.cuda.matmul.allow_tf32 = False
    given = [torch.from_numpy(array.astype(np.float32)).cuda() for array in arrays]
    if name.endswith("f16"):
        dtype = torch.bfloat16 if name.endswith("bf16") else torch.float16
        given = [item.to(dtype) for item in given]
    functional = torch.nn.functional
    calls: dict[str, Callable[[], Any]] = {
        "softmax": lambda: torch.softmax(given[0], 1), "transpose": lambda: given[0].t().contiguous(),
        "layer_norm": lambda: functional.layer_norm(given[0], (N,), given[1], given[2]),
    }  # fmt: skip
    return calls.get(name, lambda: given[0] @ given[1])


def inputs(name: str) -> list[Any]:
    """Return random arrays for the inputs of a kernel."""
    random = np.random.default_rng(0)
    shapes = {"softmax": [(N, N)], "transpose": [(N, N)], "layer_norm": [(N, N), (N,), (N,)]}.get(name, [(N, N)] * 2)
    dtype = _DTYPES.get(name.rpartition("_")[2], np.float32)
    return [random.standard_normal(shape, np.float32).astype(dtype) for shape in shapes]


def difference(found: Any, expected: Any) -> float:
    """Return the largest difference, relative to the largest value."""
    expected = np.asarray(expected, np.float32)
    return float(np.abs(found - expected).max() / np.abs(expected).max())


def measure(name: str, is_scheduled: bool) -> str:
    """Return a line of text: the time of a kernel, its rate, and the time of torch."""
    driver, arrays = find_driver(), inputs(name)
    program = kernel(name, is_scheduled)
    (function,) = program.functions
    call = tvms.compile(program, target=f"cuda -arch={driver.arch}", bounds="trust")[function]
    device = [tvms.nd.array(value, tvms.cuda()) for value in (*arrays, np.zeros((N, N), np.float32))]
    spent = milliseconds(lambda: call(*device))
    work = (2 * N**3 / spent / 1e9, "TFLOP/s") if name.startswith("matmul") else (2 * 4 * N * N / spent / 1e6, "GB/s")
    line = f"{name:12} {'scheduled' if is_scheduled else 'default':9} {spent:8.3f} ms  {work[0]:8.1f} {work[1]:8}"
    peer = on_torch(name, arrays)
    if peer is None:
        return f"{line}  (no torch to compare with)"
    wrong = difference(device[-1].numpy(), peer().float().cpu().numpy())
    theirs = milliseconds(peer)
    return f"{line}  torch {theirs:8.3f} ms, {theirs / spent:5.2f} × its rate; largest difference {wrong:.1e}"


def copy_rate() -> float:
    """Return the copy rate of the GPU, read and written, in GB/s."""
    driver = find_driver()
    source, target = (tvms.nd.array(np.zeros((N, N), np.float32), tvms.cuda()) for _ in range(2))
    size = 4 * N * N
    spent = milliseconds(lambda: driver.copy(target.address, source.address, size))
    return 2 * size / spent / 1e6


def main() -> int:
    """Print a line for each kernel."""
    missing = why_missing()
    if missing:
        print(f"no usable GPU: {missing}")
        return 0
    driver = find_driver()
    print(f"{driver.name} ({driver.arch}), {N} × {N}")
    print(f"copy {copy_rate():.0f} GB/s")
    for name in ("matmul_f32", "matmul_f16", "matmul_bf16", "softmax", "layer_norm", "transpose"):
        for is_scheduled in (True, False):
            print(measure(name, is_scheduled))
    return 0


if __name__ == "__main__":
    sys.exit(main())
