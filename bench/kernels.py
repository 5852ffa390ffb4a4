"""What compiled kernels cost, beside NumPy: a product, an addition, and the price of one small call.

    python bench/kernels.py

Medians of several runs in one process, on the default (unscheduled) lowering.
"""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable

import numpy as np
import tvms

ADD = """
T.prim_func add(A: T.Buffer(({n},), "float32"), B: T.Buffer(({n},), "float32"), C: T.Buffer(({n},), "float32")):
    T.func_attr({{"tir.noalias": True}})
    for i in range({n}):
        with T.block("add"):
            vi = T.axis.spatial({n}, i)
            C[vi] = A[vi] + B[vi]
"""
MATMUL = """
T.prim_func matmul(A: T.Buffer(({n}, {n}), "float32"), B: T.Buffer(({n}, {n}), "float32"), C: T.Buffer(({n}, {n}), "float32")):
    T.func_attr({{"tir.noalias": True}})
    for i, k, j in T.grid({n}, {n}, {n}):
        with T.block("matmul"):
            vi, vk, vj = T.axis.remap("SRS", [i, k, j])
            with T.init():
                C[vi, vj] = T.float32(0)
            C[vi, vj] = C[vi, vj] + A[vi, vk] * B[vk, vj]
"""


def median_seconds(call: Callable[[], object], repeats: int = 7) -> float:
    """Return the median time of `call`, after one run to warm up."""
    call()
    times: list[float] = []
    for _ in range(repeats):
        start = time.perf_counter()
        call()
        times.append(time.perf_counter() - start)
    return statistics.median(times)


def arrays(*shape: int) -> list[np.ndarray]:
    """Return two random arrays and one for the result."""
    random = np.random.default_rng(0)
    return [random.random(shape, np.float32), random.random(shape, np.float32), np.empty(shape, np.float32)]


def line(name: str, ours: float, numpy: float, amount: float, unit: str) -> None:
    """Print one comparison."""
    print(
        f"  {name:<22} tvms {ours * 1e6:10.1f} µs {amount / ours:9.2f} {unit:<8}"
        f" NumPy {numpy * 1e6:10.1f} µs {amount / numpy:9.2f} {unit:<8} ratio {numpy / ours:5.2f}"
    )


def main() -> None:
    """Print the table."""
    for n in (8, 1 << 22):
        a, b, c = arrays(n)
        add = tvms.compile(tvms.parse(ADD.format(n=n)))["add"]
        ours = median_seconds(lambda add=add, a=a, b=b, c=c: add(a, b, c))
        numpy = median_seconds(lambda a=a, b=b, c=c: np.add(a, b, out=c))
        line(f"add {n}", ours, numpy, 12 * n / 1e9, "GB/s")
    n = 512
    a, b, c = arrays(n, n)
    matmul = tvms.compile(tvms.parse(MATMUL.format(n=n)))["matmul"]
    ours = median_seconds(lambda: matmul(a, b, c))
    line(f"matmul {n}", ours, median_seconds(lambda: np.matmul(a, b, out=c)), 2 * n**3 / 1e9, "GFLOP/s")


if __name__ == "__main__":
    main()
