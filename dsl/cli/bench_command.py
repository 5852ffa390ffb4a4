"""`tvms bench FILE`: measure the time of a function, and compare it with the peak rates of the machine."""

from __future__ import annotations

import argparse
import statistics
import time
from typing import TYPE_CHECKING, Any

import msgspec
from msgspec import Struct

from ...ir import relax, tir
from ...ir.diagnostics import error
from ...ir.files import MIB, read_file
from ...ir.sanitize import emit, json_text, say
from ..entries import arguments_of, select_entry
from ..measured import Time, duration, remember
from . import common_options
from .arguments import bind_sizes, make_values, read_given, split_pairs
from .progress import interruptible, progress
from .reporting import report_notes, say_list

if TYPE_CHECKING:
    from ...codegen import Executable
    from ...ir.base import IRModule


class Measurement(Struct, frozen=True):
    """The result of `tvms bench`; times are in seconds, rates per second."""

    file: str
    entry: str
    target: str
    compile_seconds: float
    calls: int
    median: float
    low: float
    """First decile of the times."""
    high: float
    """Last decile of the times."""
    operations: int
    """Floating-point operations of a call; 0 if they are not known."""
    peak: float
    """Measured peak rate of the machine in floating-point operations per second; 0 if it was not measured."""
    argument_bytes: int
    read_rate: float
    """Measured rate in bytes per second at which the same number of cores read a buffer of this size; 0 if it was not
    measured."""
    decisions: dict[str, list[str]]
    """Decisions of the default rules, by function."""


class CompiledCall(Struct, frozen=True):
    """A compiled function of a file, and the values that it is called with. `sizes` are those of symbolic dimensions."""

    module: IRModule
    entry: str
    function: tir.PrimFunc | relax.Function
    values: list[Any]
    sizes: dict[tir.Var, int]
    executable: Executable
    seconds: float
    """Time of the compilation."""


def compile_call(arguments: argparse.Namespace) -> CompiledCall:
    """Compile the file that the command line names, and make the values of a call."""
    from ...codegen import compile as compile_module

    module = common_options.defined(common_options.loaded(arguments), arguments)
    entry, function = select_entry(module, arguments.entry)
    params = arguments_of(function)
    given = read_given(params, split_pairs(arguments.arg, "--arg"))
    sizes = bind_sizes(params, given, split_pairs(arguments.dim, "--dim"))
    values = make_values(params, given, sizes, arguments.seed)
    start = time.perf_counter()
    with progress():
        executable = compile_module(module, arguments.target, **common_options.settings_of(arguments))
    seconds = time.perf_counter() - start
    report_notes(executable.notes)
    return CompiledCall(module, entry, function, values, sizes, executable, seconds)


def run(arguments: argparse.Namespace) -> int:
    """Compile, call, and print the times and rates."""
    baseline = None if arguments.compare is None else _read(arguments.compare)
    found = _measured(arguments)
    if arguments.json:
        emit(json_text(msgspec.to_builtins(found), indent=2))
    else:
        _show(found)
    if baseline is not None:
        _compare(found, baseline)
    return 0


def _measured(arguments: argparse.Namespace) -> Measurement:
    from ...codegen.peak import peak_flops, read_rate
    from ...codegen.profiling.work import count_operations
    from ...codegen.target import get_target

    made = compile_call(arguments)
    call = made.executable[made.entry]
    times = interruptible(_time)(lambda: call(*made.values), arguments.seconds)
    sizes = {var.name: value for var, value in made.sizes.items()}
    if not arguments.no_schedule:
        remember(made.module, made.entry, Time(statistics.median(times), arguments.target, sizes))
    operations = count_operations(made.function, sizes) if isinstance(made.function, tir.PrimFunc) else 0
    size = sum(getattr(value, "nbytes", 0) for value in made.values)
    tenth, machine = len(times) // 10, (arguments.threads or 0, arguments.target)
    is_here = not get_target(arguments.target).is_device
    return Measurement(
        arguments.file, made.entry, arguments.target, made.seconds, len(times), statistics.median(times), times[tenth],
        times[-1 - tenth], operations, peak_flops(*machine) if operations and is_here else 0.0, size,
        read_rate(size, *machine) if size and is_here else 0.0,
        {name: list(map(str, decided)) for name, decided in made.executable.decisions.items()},
    )  # fmt: skip


def _time(call: Any, seconds: float) -> list[float]:
    """Return the sorted times of at least five calls, repeated for `seconds`."""
    for _ in range(3):
        call()
    times: list[float] = []
    end = time.perf_counter() + seconds
    while len(times) < 5 or time.perf_counter() < end:
        start = time.perf_counter()
        call()
        times.append(time.perf_counter() - start)
    return sorted(times)


def _show(found: Measurement) -> None:

    say(f"{found.file}: {found.entry}, compiled in {duration(found.compile_seconds)}")
    spread = f"{duration(found.low)} to {duration(found.high)} in 8 of 10 calls, {found.calls} calls"
    rows = [("time", f"{duration(found.median)} (median; {spread})")]
    if found.operations:
        share = _share(found.operations / found.median, found.peak, "measured, float32")
        rows.append(("compute", f"{found.operations / found.median / 1e9:.1f} GFLOP/s{share}"))
    share = _share(found.argument_bytes / found.median, found.read_rate, "measured reads of as many bytes")
    rows.append(("memory", f"{found.argument_bytes / found.median / 1e9:.1f} GB/s of arguments{share}"))
    say_list(
        [*rows, *((f"{name}:", decision) for name, decided in found.decisions.items() for decision in decided)], "  "
    )


def _share(rate: float, peak: float, what: str) -> str:
    """Return `rate` as a percentage of the peak of the machine; an empty text if that was not measured."""
    return f", {rate / peak:.0%} of {peak / 1e9:.0f} ({what})" if peak else ""


def _read(path: str) -> Measurement:
    """Return a measurement that `--json` printed; raise E0001 if the file is unreadable, E0809 if it is not one."""
    try:
        return msgspec.json.decode(read_file(path, MIB), type=Measurement)
    except OSError as problem:
        raise error(
            "E0001", f"'{path}' cannot be read: {problem.strerror}", None, "check the path and its permissions"
        ) from None
    except msgspec.MsgspecError as problem:
        help = "write one with tvms bench FILE --json > BASELINE.json"
        raise error("E0809", f"'{path}' is not a measurement: {problem}", None, help) from None


def _compare(found: Measurement, baseline: Measurement) -> None:
    """Print the change of the time; a difference within the spread of both measurements is not a change."""

    ratio = found.median / baseline.median
    is_within = found.low <= baseline.high and baseline.low <= found.high
    verdict = "within the spread of the calls" if is_within else "slower" if ratio > 1 else "faster"
    before, now = duration(baseline.median), duration(found.median)
    say(f"  compared with {baseline.file}: {baseline.entry}: {before} before, {now} now, {ratio:.2f} times ({verdict})")
