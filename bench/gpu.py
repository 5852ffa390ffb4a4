"""How fast kernels run on the GPU of this machine: a tiled product, and a transposition against the rate of copies.

Needs a GPU and pycuda (`tvms doctor --gpu`); says so where there is none.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import numpy as np
import tvms
from tvms.codegen.gpu.driver import find_driver, why_missing

REPEAT = 20


def sample(name: str, sizes: dict[str, str]) -> tvms.IRModule:
    """Return a sample with other sizes: what stands for what."""
    text = Path("samples", f"{name}.tvms").read_text(encoding="utf-8")
    for old, new in sizes.items():
        text = text.replace(old, new)
    return tvms.parse(text)


def square_matmul(n: int) -> tvms.IRModule:
    return sample("08_gpu_matmul", {"(64, 64, 64)": f"({n}, {n}, {n})", "(64, 64)": f"({n}, {n})"})


def square_transpose(n: int) -> tvms.IRModule:
    return sample("09_gpu_transpose", dict.fromkeys(("(64, 48)", "(48, 64)"), f"({n}, {n})"))


def milliseconds(call: Any, *arrays: Any) -> float:
    """Return the time of one call, of many."""
    driver = find_driver()
    call(*arrays)
    start = driver.event()
    for _ in range(REPEAT):
        call(*arrays)
    return driver.milliseconds(start, driver.event()) / REPEAT


def main() -> int:
    """Print a line for each kernel."""
    missing = why_missing()
    if missing:
        print(f"there is no GPU here: {missing}")
        return 0
    driver = find_driver()
    target, n = f"cuda -arch={driver.arch}", 4096
    print(f"{driver.name} ({driver.arch})")
    arrays = [tvms.nd.array(np.ones((n, n), np.float32), tvms.cuda()) for _ in range(3)]
    spent = milliseconds(tvms.compile(square_matmul(n), target=target, bounds="trust")["matmul"], *arrays)
    print(f"matmul f32 {n}: {spent:.2f} ms, {2 * n**3 / spent / 1e9:.2f} TFLOP/s")
    call = tvms.compile(square_transpose(n), target=target, bounds="trust")["transpose"]
    spent = milliseconds(call, *arrays[:2])
    print(f"transpose f32 {n}: {spent:.3f} ms, {2 * 4 * n * n / spent / 1e6:.0f} GB/s")
    return 0


if __name__ == "__main__":
    sys.exit(main())
