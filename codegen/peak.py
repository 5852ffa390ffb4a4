"""Measured peak performance of this machine: float32 multiply-adds in registers, and memory copies."""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable
from functools import cache

import numpy as np

from ..ir import tir
from .rules.build import (
    allocated,
    lanes,
    load,
    loop,
    multiply_add,
    new_buffer,
    parallel,
    splat,
    store,
    times,
    unrolled,
)  # fmt: skip
from .runtime.executable import compile
from .runtime.threads import thread_count
from .target import get_target

_STEPS = 1 << 16
_COPY_BYTES = 1 << 27


def median_seconds(call: Callable[[], object], repeats: int = 7) -> float:
    """Return the median time of `call`, after one warm-up run."""
    call()
    return statistics.median(_timed(call) for _ in range(repeats))


def _least_seconds(call: Callable[[], object], repeats: int = 25) -> float:
    """Return the minimum time of `call`, since other processes only make it longer."""
    return min(_timed(call) for _ in range(repeats))


def _timed(call: Callable[[], object]) -> float:
    start = time.perf_counter()
    call()
    return time.perf_counter() - start


@cache
def peak_flops(threads: int = 0) -> float:
    """Return the peak float32 operations per second on `threads` cores (0: the default number of threads)."""
    machine, count = get_target("llvm").processor, threads or thread_count()
    width, chains = machine.vector_bytes // 4, machine.registers - 4
    data = new_buffer("A", "float32", (count, chains * width))
    sums = new_buffer("sums", "float32", (chains, width), "local")
    factor = splat(tir.FloatImm("float32", 0.5), width)

    def place(chain: tir.Var) -> tir.PrimExpr:
        return lanes(times(chain, width), width)

    def step(chain: tir.Var) -> tir.Stmt:
        value = load(sums, chain, lanes(0, width))
        return store(sums, multiply_add(value, factor, factor, machine.has_fma), chain, lanes(0, width))

    def core(number: tir.Var) -> tir.Stmt:
        begin = unrolled("c", chains, lambda c: store(sums, load(data, number, place(c)), c, lanes(0, width)))
        work = loop("i", _STEPS, lambda i: unrolled("c", chains, step))
        end = unrolled("c", chains, lambda c: store(data, load(sums, c, lanes(0, width)), number, place(c)))
        return allocated([sums], [begin, work, end])

    param = tir.Var("handle", "A_handle")
    body = parallel("core", count, core)
    function = tir.PrimFunc((param,), body, None, {param: data}, attrs={"global_symbol": "peak"})
    call, memory = compile(function, threads=count, bounds="trust")["peak"], np.zeros((count, chains * width), "f4")
    return count * _STEPS * chains * width * 2 / _least_seconds(lambda: call(memory))


@cache
def copy_rate(size: int) -> float:
    """Return the bytes per second that one core reads and writes when it copies half of `size` bytes to the other half."""
    half = max(size // 2, 64)
    source, target = np.ones(half, np.uint8), np.zeros(half, np.uint8)
    repeats = max(1, _COPY_BYTES // half // 256)

    def copy() -> None:
        for _ in range(repeats):
            np.copyto(target, source)

    return 2 * half * repeats / _least_seconds(copy)
