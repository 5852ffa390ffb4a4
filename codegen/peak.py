"""Measured peak rates of this machine: float32 multiply-adds in registers, and reads of memory."""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable
from functools import cache

import numpy as np

from ..ir import make, tir
from .rules.build import (
    allocated,
    lanes,
    load,
    loop,
    multiply_add,
    new_buffer,
    parallel,
    plus,
    splat,
    store,
    times,
    unrolled,
)  # fmt: skip
from .runtime.executable import compile
from .runtime.threads import thread_count
from .target import get_target

_STEPS = 1 << 16
_READ_BYTES = 1 << 25
"""Minimum bytes that one call reads when the rate of reads is measured."""
_CALLS, _MOST_SECONDS = 25, 1.0
"""A minimum time is final after this many calls that did not reduce it by more than 1 %, or after this time."""


def median_seconds(call: Callable[[], object], repeats: int = 7) -> float:
    """Return the median time of `call`, after one warm-up run."""
    call()
    return statistics.median(_timed(call) for _ in range(repeats))


def _least_seconds(call: Callable[[], object]) -> float:
    """Return the minimum time of `call`, since other processes only make it longer."""
    least, calls, end = _timed(call), 0, time.perf_counter() + _MOST_SECONDS
    while calls < _CALLS and time.perf_counter() < end:
        seconds = _timed(call)
        calls = 0 if seconds < 0.99 * least else calls + 1
        least = min(least, seconds)
    return least


def _timed(call: Callable[[], object]) -> float:
    start = time.perf_counter()
    call()
    return time.perf_counter() - start


@cache
def peak_flops(threads: int = 0, target: str = "llvm") -> float:
    """Return the peak float32 operations per second of code for `target` on `threads` cores (0: the default number).

    One core is measured, because other processes rarely leave all cores idle at the same time.
    """
    machine, count = get_target(target).processor, threads or thread_count()
    width, chains = machine.vector_bytes // 4, machine.registers - 4
    data, sums = new_buffer("A", "float32", (1, chains * width)), _sums(chains, width)
    factor = splat(tir.FloatImm("float32", 0.5), width)

    def step(chain: tir.Var) -> tir.Stmt:
        value = load(sums, chain, lanes(0, width))
        return store(sums, multiply_add(value, factor, factor, machine.has_fma), chain, lanes(0, width))

    seconds = _seconds_on_cores(data, sums, lambda _: loop("i", _STEPS, lambda _: unrolled("c", chains, step)), target)
    return count * _STEPS * chains * width * 2 / seconds


@cache
def read_rate(size: int, threads: int = 0, target: str = "llvm") -> float:
    """Return the bytes per second at which `threads` cores (0: the default number) read parts of a buffer of `size` bytes.

    Each core reads its part repeatedly, so that small parts are read from caches. Only one core is measured if its part
    fits into its own cache.
    """
    machine, count = get_target(target).processor, threads or thread_count()
    width, chains = machine.vector_bytes // 4, _STREAMS
    steps = max(size // (count * chains * width * 4), 1)
    part = steps * chains * width
    repeats = max(_READ_BYTES // (count * part * 4), 1)
    measured = 1 if part * 4 <= machine.l2_bytes else count
    data, sums = new_buffer("A", "float32", (measured, part)), _sums(chains, width)

    def add(core: tir.Var, step: tir.Var, chain: tir.Var) -> tir.Stmt:
        start = plus(times(times(step, chains), width), times(chain, width))
        value = make.add(load(sums, chain, lanes(0, width)), load(data, core, lanes(start, width)))
        return store(sums, value, chain, lanes(0, width))

    def read(core: tir.Var) -> tir.Stmt:
        return loop(
            "i", repeats, lambda _: loop("j", steps, lambda j: unrolled("c", chains, lambda c: add(core, j, c)))
        )

    return count * part * 4 * repeats / _seconds_on_cores(data, sums, read, target)


_STREAMS = 8
"""Number of independent sums, which hide the latency of an addition."""


def _sums(chains: int, width: int) -> tir.Buffer:
    return new_buffer("sums", "float32", (chains, width), "local")


def _seconds_on_cores(data: tir.Buffer, sums: tir.Buffer, work: Callable[[tir.Var], tir.Stmt], target: str) -> float:
    """Return the time of `work` in parallel for each row of `data`; it changes `sums`, which are read from the row and
    written back to it.
    """
    count, size = [extent.value for extent in data.shape if isinstance(extent, tir.IntImm)]
    chains, width = [extent.value for extent in sums.shape if isinstance(extent, tir.IntImm)]

    def place(chain: tir.Var) -> tir.PrimExpr:
        return lanes(times(chain, width), width)

    def core(number: tir.Var) -> tir.Stmt:
        begin = unrolled("c", chains, lambda c: store(sums, load(data, number, place(c)), c, lanes(0, width)))
        end = unrolled("c", chains, lambda c: store(data, load(sums, c, lanes(0, width)), number, place(c)))
        return allocated([sums], [begin, work(number), end])

    param = tir.Var("handle", "A_handle")
    function = tir.PrimFunc(
        (param,), parallel("core", count, core), None, {param: data}, attrs={"global_symbol": "peak"}
    )
    call, memory = compile(function, target, threads=count, bounds="trust")["peak"], np.zeros((count, size), "f4")
    return _least_seconds(lambda: call(memory))
