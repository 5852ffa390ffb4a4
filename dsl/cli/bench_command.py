"""`tvms bench FILE`: how long a function takes, and what part that is of what the machine can do."""

from __future__ import annotations

import argparse
import statistics
import time
from typing import Any

from ...ir import tir
from ...ir.dtype import is_float
from ...ir.sanitize import say
from ...ir.visit import substitute, walk
from ..load import load_verified
from . import options
from .arguments import arguments_of, bind_sizes, make_values, read_given, select_entry, split_pairs
from .progress import progress
from .reporting import report_notes

_OPERATIONS = (tir.Add, tir.Sub, tir.Mul, tir.Div, tir.Min, tir.Max)


def run(arguments: argparse.Namespace) -> int:
    """Compile, call, and print the times and rates."""
    from . import table

    module = load_verified(arguments.file)
    entry, function = select_entry(module, arguments.entry)
    params = arguments_of(function)
    given = read_given(params, split_pairs(arguments.arg, "--arg"))
    sizes = bind_sizes(params, given, split_pairs(arguments.dim, "--dim"))
    values = make_values(params, given, sizes, arguments.seed)
    from ...codegen import compile as compile_module

    start = time.perf_counter()
    with progress():
        executable = compile_module(module, **options.settings_of(arguments))
    compiled = time.perf_counter() - start
    report_notes(executable.notes)
    call = executable[entry]
    times = _measure(lambda: call(*values), arguments.seconds)
    median = statistics.median(times)
    low, high = times[len(times) // 10], times[-1 - len(times) // 10]
    say(f"{arguments.file}: {entry}, compiled in {table.duration(compiled)}")
    spread = f"{table.duration(low)} to {table.duration(high)} in 8 of 10 calls, {len(times)} calls"
    say(f"  time    {table.duration(median)} (median; {spread})")
    flops = (
        count_operations(function, {var.name: value for var, value in sizes.items()})
        if isinstance(function, tir.PrimFunc)
        else 0
    )
    _rates(flops, sum(getattr(value, "nbytes", 0) for value in values), median, arguments.threads or 0)
    for name, decisions in executable.decisions.items():
        for decision in decisions:
            say(f"  {name}: {decision}")
    return 0


def _measure(call: Any, seconds: float) -> list[float]:
    """Return the times of calls, in order of length: at least five, and as many as fit in so many seconds."""
    for _ in range(3):
        call()
    times: list[float] = []
    end = time.perf_counter() + seconds
    while len(times) < 5 or time.perf_counter() < end:
        start = time.perf_counter()
        call()
        times.append(time.perf_counter() - start)
    return sorted(times)


def _rates(flops: int, size: int, seconds: float, threads: int) -> None:
    from ...codegen.peak import copy_rate, peak_flops

    if flops:
        peak = peak_flops(threads)
        rate = flops / seconds
        say(f"  compute {rate / 1e9:.1f} GFLOP/s, {rate / peak:.0%} of {peak / 1e9:.0f} (measured, float32)")
    copied = copy_rate()
    say(f"  memory  {size / seconds / 1e9:.1f} GB/s of arguments, {size / seconds / copied:.0%} of a copy on one core")


def count_operations(function: tir.PrimFunc, sizes: dict[str, int]) -> int:
    """Return how many operations of floats a loop-level function does; 0 where its loops have other than known sizes.

    `sizes` are those of the symbolic dimensions, by name. A choice counts with both its sides.
    """

    def count(node: Any) -> int:
        if isinstance(node, tir.For):
            known = {
                var: tir.IntImm(var.dtype, sizes[var.name]) for var in _variables(node.extent) if var.name in sizes
            }
            extent = substitute(node.extent, known)
            return extent.value * count(node.body) if isinstance(extent, tir.IntImm) else 0
        if isinstance(node, tir.SeqStmt):
            return sum(map(count, node.seq))
        if isinstance(node, tir.BlockRealize):
            return count(node.block.body)
        if isinstance(node, tir.IfThenElse):
            return count(node.then_case) + (count(node.else_case) if node.else_case is not None else 0)
        if isinstance(node, tir.BufferStore):
            return sum(isinstance(each, _OPERATIONS) and is_float(each.dtype) for each in walk(node.value))
        body = getattr(node, "body", None)
        return count(body) if isinstance(body, tir.Stmt) else 0

    return count(function.body)


def _variables(expr: tir.PrimExpr) -> list[tir.Var]:
    return [node for node in walk(expr) if isinstance(node, tir.Var)]
