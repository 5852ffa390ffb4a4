"""`tvms run FILE`: compile, call, show; `--verify` compares the result with the interpreter's."""

from __future__ import annotations

import argparse
import re
import time
from collections.abc import Callable
from itertools import chain, count
from typing import TYPE_CHECKING, Any, cast

from ...ir import relax
from ...ir.base import IRModule
from ...ir.sanitize import say
from ..entries import Argument, Function, arguments_of, needed_for, select_entry
from ..measured import duration
from . import common_options
from .arguments import bind_sizes, make_values, read_given, split_pairs
from .files import write_output
from .progress import interruptible, progress
from .reporting import UsageError, report, report_notes
from .verification import Reference, compare_results, copy_of

if TYPE_CHECKING:
    from ...ir.interp.frame import ThreadOrder

Results = dict[str, Any]
_UNSAFE, _LONGEST = re.compile(r"[^\w\[\].-]|^\."), 60
"""Characters that are replaced in the file name of a result, and its maximum length."""


def _flatten(name: str, value: Any) -> Results:
    if not isinstance(value, tuple | list):
        return {name: value}
    parts = cast("tuple[Any, ...]", value)
    return {key: item for i, part in enumerate(parts) for key, item in _flatten(f"{name}[{i}]", part).items()}


def _returned_name(function: relax.Function) -> str:
    body = function.body.body
    return body.name_hint if isinstance(body, relax.Var) else "result"


def _call(
    call: Callable[..., Any], function: Function, arguments: tuple[Argument, ...], values: list[Any]
) -> tuple[Results, float]:
    """Call with copies of `values`; return the returned or written values by name, and the time in seconds."""
    own = [copy_of(value) for value in values]
    start = time.perf_counter()
    returned = call(*own)
    seconds = time.perf_counter() - start
    if isinstance(function, relax.Function):
        return _flatten(_returned_name(function), returned), seconds
    results = {a.name: value for a, value in zip(arguments, own, strict=True) if a.is_result}
    return results or _flatten("result", returned), seconds


def _save(results: Results, folder: str) -> None:
    import io

    import numpy as np

    used: set[str] = set()
    for name, value in results.items():
        payload = io.BytesIO()
        np.save(payload, np.asarray(value), allow_pickle=False)
        write_output(payload.getvalue(), _file_name(name, used), below=folder)


def _file_name(name: str, used: set[str]) -> str:
    """Return a file name for a result that differs from those in `used`, and add it to them."""
    stem = _UNSAFE.sub("_", name)[:_LONGEST]
    names = chain([stem], (f"{stem}_{number}" for number in count(2)))
    chosen = next(candidate for candidate in names if candidate not in used)
    used.add(chosen)
    return f"{chosen}.npy"


def _interpreted(module: IRModule, entry: str, order: ThreadOrder, is_trapped: bool) -> Callable[..., Any]:
    from ...ir import interp

    trap = interp.Trap(module) if is_trapped else None
    return lambda *values: interp.run(module, entry, values, track=is_trapped, thread_order=order, observer=trap)


def _compiled(module: IRModule, entry: str, target: str, settings: dict[str, Any]) -> tuple[Callable[..., Any], float]:
    from ...codegen import compile as compile_module

    start = time.perf_counter()
    with progress():
        executable = compile_module(module, target=target, **settings)
    report_notes(executable.notes)
    return interruptible(executable[entry]), time.perf_counter() - start


def _target(arguments: argparse.Namespace) -> tuple[str, str]:
    """Return the target to compile for, and its description; without a GPU, its threads are simulated."""
    from ...codegen.gpu.driver import why_missing
    from ...codegen.target import get_target

    target = get_target(arguments.target)
    if arguments.simulate and not target.arch:
        raise UsageError("--simulate is for the threads of a GPU: give --target cuda")
    if not target.is_device:
        return arguments.target, ""
    missing = "" if arguments.simulate else why_missing()
    if not (arguments.simulate or missing):
        return arguments.target, " on the GPU"
    reason = f"; no GPU: {missing}" if missing else ""
    order = arguments.simulate or "ascending"
    return f"{target.text} -simulate={order}", f" (threads simulated on the CPU, {order}{reason})"


def _find_races(module: IRModule, entry: str, function: Function, values: list[Any], order: ThreadOrder) -> int:
    """Report races between threads; return 1 if there are any."""
    from ...codegen.gpu.races import find_races

    if isinstance(function, relax.Function):
        raise UsageError(
            f"--races needs a loop function, and '{entry}' is a graph function: choose another with --entry"
        )
    races = find_races(module, entry, values, order)
    report(races) if races else say(f"{entry}: no races")
    return 1 if races else 0


def run(arguments: argparse.Namespace) -> int:
    """Run one function and show its inputs and results."""
    from . import table

    module = common_options.defined(common_options.loaded(arguments), arguments)
    entry, function = select_entry(module, arguments.entry)
    module = needed_for(module, entry)
    params = arguments_of(function)
    given = read_given(params, split_pairs(arguments.arg, "--arg"))
    sizes = bind_sizes(params, given, split_pairs(arguments.dim, "--dim"))
    values = make_values(params, given, sizes, arguments.seed)
    if arguments.sandbox and arguments.out:
        raise UsageError("--out writes files, which --sandbox refuses", help="use only one of them")
    if arguments.trap and not arguments.interpret:
        raise UsageError("--trap requires --interpret")
    if arguments.races:
        return _find_races(module, entry, function, values, arguments.thread_order)
    reference = _interpreted(module, entry, arguments.thread_order, arguments.trap)
    if arguments.interpret:
        results, seconds = _call(reference, function, params, values)
        summary = f"interpreted in {duration(seconds)}"
    else:
        target, where = _target(arguments)
        call, compile_seconds = _compiled(module, entry, target, common_options.settings_of(arguments))
        results, seconds = _call(call, function, params, values)
        summary = f"compiled in {duration(compile_seconds)}, ran in {duration(seconds)}{where}"
    if arguments.out:
        _save(results, arguments.out)
    inputs = {p.name: value for p, value in zip(params, values, strict=True) if not p.is_result}
    table.show(f"{arguments.file}: {entry}", inputs, results, summary)
    if arguments.verify and not arguments.interpret:
        checked = Reference(module, entry, arguments.thread_order, arguments.seed, arguments.verify == "full")
        expected, _ = _call(checked, function, params, values)
        return compare_results(results, expected, checked, {var.name: size for var, size in sizes.items()})
    return 0
