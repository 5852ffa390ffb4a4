"""`tvms profile FILE`: show the time of each kernel and source line, and its share of the machine's limit."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING

import msgspec

from ...ir.diagnostics import error
from ...ir.files import MIB, read_file, write_together
from ...ir.sanitize import say
from .bench_command import compile_call
from .progress import interruptible
from .reporting import UsageError

if TYPE_CHECKING:
    from ...codegen.profiling.report import Report


def run(arguments: argparse.Namespace) -> int:
    """Measure a profile and print it, or compare two."""
    if arguments.compare is not None:
        from ...codegen.profiling.report import compared

        say(compared(*map(_read, arguments.compare)))
        return 0
    if arguments.file is None:
        raise UsageError("give a FILE to profile, or two profiles with --compare")
    report = _measured(arguments)
    _write_pictures(report, arguments)
    if arguments.json:
        say(report.json())
    else:
        _show(report)
    return 0


def _measured(arguments: argparse.Namespace) -> Report:
    from ...codegen.profiling.profiler import Profiler, measured_roofline
    from ...codegen.runtime.threads import thread_count

    call = compile_call(arguments)
    profiler = Profiler(call.executable)
    report = interruptible(profiler.measure)(profiler.entries[call.entry], call.values, arguments.seconds)
    threads = str(arguments.threads or thread_count())
    configuration = {"file": arguments.file, "entry": call.entry, "target": arguments.target, "threads": threads}
    report = msgspec.structs.replace(report, configuration=configuration)
    is_device = call.executable.target.is_device
    return report if is_device else report.bounded(measured_roofline(arguments.threads or 0, arguments.target))


def _write_pictures(report: Report, arguments: argparse.Namespace) -> None:
    from ...codegen.profiling.page import page, picture

    title = f"{arguments.file}: {report.configuration['entry']}"
    wanted = ((arguments.html, page), (arguments.svg, picture))
    write_together([(draw(report, title), path) for path, draw in wanted if path is not None])


def _show(report: Report) -> None:
    say(report.table())
    say(f"\n{report.table(by_line=True)}")
    machine = report.machine
    if machine is not None:
        rates = f"{machine.rates[0][1] / 1e9:.0f} GB/s in the first cache, {machine.rates[-1][1] / 1e9:.0f} in memory"
        threads = report.configuration["threads"]
        say(f"\nLimit: measured on {threads} threads, {machine.flops / 1e9:.0f} GFLOP/s (float32) and {rates}")
    say(f"Mean of {report.samples} calls")


def _read(path: str) -> Report:
    """Return a profile that `--json` printed; raise E0001 if the file is unreadable, E0809 if it is not one."""
    from ...codegen.profiling.report import Report

    try:
        return Report.from_json(read_file(path, 64 * MIB))
    except OSError as problem:
        help = "check the path and its permissions"
        raise error("E0001", f"'{path}' cannot be read: {problem.strerror}", None, help) from None
    except msgspec.MsgspecError as problem:
        help = "write one with tvms profile FILE --json > PROFILE.json"
        raise error("E0809", f"'{path}' is not a profile: {problem}", None, help) from None
