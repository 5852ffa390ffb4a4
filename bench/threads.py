"""Threads beside the threads of other libraries: products called alone, after a call of NumPy or torch, and after idle gaps.

    python bench/threads.py [--threads N] [--load N] [SIZE ...]

Each row is a float32 product of SIZE × SIZE matrices. The columns are medians of wall-clock times in milliseconds, on one thread
and on N, and their ratio; a ratio below 1 means that more threads are slower. All variants run in alternation, in one process.
Under load, a call that is interrupted takes several times as long as others, and the median of a few such times is arbitrary:
the last column is the ratio of mean times. NumPy's and torch's threads spin for a while after a call, on the core that our
second thread needs. The rows with torch appear if it is installed. The last rows of each size are measured while `--load` other
processes compute.
"""

from __future__ import annotations

import argparse
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Generator
from contextlib import contextmanager, suppress
from typing import Any, TypeAlias

import numpy as np
import tvms

TEXT = """
T.prim_func main(A: T.Buffer(({n}, {n}), "float32"), B: T.Buffer(({n}, {n}), "float32"), C: T.Buffer(({n}, {n}), "float32")):
    T.func_attr({{"tir.noalias": True}})
    for i, j, k in T.grid({n}, {n}, {n}):
        with T.block("matmul"):
            vi, vj, vk = T.axis.remap("SSR", [i, j, k])
            with T.init():
                C[vi, vj] = T.float32(0)
            C[vi, vj] = C[vi, vj] + A[vi, vk] * B[vk, vj]
"""
ROUNDS, SECONDS = 25, 2.0
"""The rounds of a row, and its time, whichever is longer."""

Between: TypeAlias = Callable[[np.ndarray, np.ndarray], Any]
"""What happens before each product, given its operands."""


def measure(size: int, threads: int, others: dict[str, Between], load: int) -> None:
    """Print the rows of one size."""
    module = tvms.parse(TEXT.format(n=size))
    versions = {count: tvms.compile(module, threads=count) for count in (1, threads)}
    random = np.random.default_rng(0)
    a, b = (random.random((size, size), np.float32) for _ in range(2))
    c = np.empty_like(a)
    for processes in (0, load) if load else (0,):
        with loaded(processes):
            for name, other in others.items():
                times: dict[int, list[float]] = {count: [] for count in versions}
                end = time.perf_counter() + SECONDS
                while len(times[1]) < ROUNDS or time.perf_counter() < end:
                    for count, executable in versions.items():
                        other(a, b)
                        start = time.perf_counter()
                        executable["main"](a, b, c)
                        times[count].append(time.perf_counter() - start)
                one, several = (statistics.median(found) * 1e3 for found in times.values())
                mean = statistics.fmean(times[1]) / statistics.fmean(times[threads])
                row = f"{name}, load {processes}" if processes else name
                print(f"{size:5}  {row:24} {one:9.3f} {several:9.3f} {one / several:7.2f} {mean:7.2f}", flush=True)


@contextmanager
def loaded(count: int) -> Generator[None]:
    """Let `count` other processes compute in the meantime."""
    processes = [subprocess.Popen([sys.executable, "-c", "while True: pass"]) for _ in range(count)]
    try:
        yield
    finally:
        for process in processes:
            process.kill()
            process.wait()


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("sizes", nargs="*", type=int, default=[64, 256, 512, 1024])
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--load", type=int, default=4, help="number of processes that compute during the last rows")
    arguments = parser.parse_args()
    others: dict[str, Between] = {
        "alone": lambda a, b: None,
        "after np.matmul": np.matmul,
        "after 1 ms": lambda a, b: time.sleep(0.001),
        "after 50 ms": lambda a, b: time.sleep(0.05),
    }
    with suppress(ModuleNotFoundError):
        import torch

        others["after torch"] = lambda a, b: torch.from_numpy(a) @ torch.from_numpy(b)
    print(
        f"{'size':>5}  {'called':24} {'1 thread':>9} {f'{arguments.threads} threads':>9} {'ratio':>7} {'of means':>7}"
    )
    for size in arguments.sizes:
        measure(size, arguments.threads, others, arguments.load)


if __name__ == "__main__":
    main()
