"""`tvms schedule FILE`: print the scheduled module, or the module with its schedules and a comment on each step."""

from __future__ import annotations

import argparse

from msgspec.structs import replace

from ...ir.base import IRModule, Trivia
from ...ir.diagnostics import TvmsError, error
from ...ir.schedule.text import ScheduleText, Statement, kind_of
from ...ir.spelling import did_you_mean
from ..load import read_source
from . import common_options
from .files import write_module
from .reporting import UsageError


def run(arguments: argparse.Namespace) -> int:
    """Apply the schedules; print or write the module, or print the module with explained schedules."""
    if arguments.default:
        from .default_schedule import run as run_default

        return run_default(arguments)
    for option, value in (("--write", arguments.write), ("--func", arguments.func)):
        if value:
            raise UsageError(f"{option} requires --default", help="add --default to print the default schedules")
    from ...ir.schedule.apply import SEED, apply_each, check_single, schedules_for, without_spaces
    from ...ir.schedule.explain import explain
    from ...ir.schedule.schedule import Schedule

    module = common_options.defined(common_options.loaded(arguments), arguments)
    if arguments.trace is not None:
        write_module(_traced(module, arguments.trace), arguments.dialect, arguments.output)
        return 0
    texts = _chosen(module, arguments.apply, arguments.file)
    if arguments.target is not None:
        texts = schedules_for(replace(module, schedules={text.name: text for text in texts}), arguments.target)
    elif arguments.apply is None:
        texts = without_spaces(texts)
        check_single(texts)
    source, module = module, replace(module, schedules={})
    if arguments.unroll:
        unrolled = {text.name: Schedule(module, seed=SEED).unrolled(text, kind_of(arguments.target)) for text in texts}
        write_module(replace(source, schedules=unrolled), "tvms", arguments.output)
        return 0
    commented: dict[str, ScheduleText] = {}
    refusal: TvmsError | None = None
    for text in texts:
        steps = _until(text.steps, arguments.until)
        if not arguments.explain:
            module = apply_each(module, (replace(text, steps=steps),), arguments.target)
            continue
        explained = explain(module, text, steps)
        module, commented[text.name], refusal = explained.module, explained.text, explained.refusal
        if refusal is not None:
            break
        commented[text.name] = _with_remarks(explained.text, source, arguments.target)
    if arguments.explain:
        write_module(replace(source, schedules=commented), "tvms", None)
    if refusal is not None:
        raise refusal
    if arguments.output is not None or not arguments.explain:
        write_module(module, arguments.dialect, arguments.output)
    return 0


def _traced(module: IRModule, path: str) -> IRModule:
    """Return a module after the trace in a file."""
    from ...ir.schedule import Schedule
    from ..traces import apply_trace

    schedule = Schedule(replace(module, schedules={}))
    apply_trace(read_source(path).text, schedule)
    return schedule.mod


def _with_remarks(text: ScheduleText, source: IRModule, target: str | None) -> ScheduleText:
    """Return a schedule for the processor with remarks on its machine code as last comments."""
    from ...codegen import Settings
    from ...codegen.remarks import remarks
    from ...codegen.target import get_target

    chosen = get_target(target or text.target or "llvm")
    if chosen.is_device:
        return text
    plain = replace(text, trivia=None)
    alone = replace(source, functions={text.function: source.functions[text.function]}, schedules={text.name: plain})
    try:
        found = remarks(alone, chosen, Settings())[text.function]
    except TvmsError:
        return text  # code for it needs other functions, or the processor cannot run it
    trivia = text.trivia or Trivia()
    return replace(
        text, trivia=replace(trivia, end=(*trivia.end, *(f"# in machine code: {remark}" for remark in found)))
    )


def _chosen(module: IRModule, names: list[str] | None, path: str) -> tuple[ScheduleText, ...]:
    """Return the schedules `names`, or all; raise E0814 if one does not exist."""
    known = {name: text for name, text in module.schedules.items() if isinstance(text, ScheduleText)}
    for name in names or ():
        if name not in known:
            help = did_you_mean(name, known) or "use the name of an S.schedule of the file"
            raise error("E0814", f"'{path}' has no schedule '{name}'", None, help)
    if not known:
        raise error("E0814", f"'{path}' contains no schedules", None, "add one, or print the default ones: --default")
    return tuple([text for name, text in known.items() if names is None or name in names])


def _until(steps: tuple[Statement, ...], line: int | None) -> tuple[Statement, ...]:
    """Return the steps up to and including `line` of the file."""
    return tuple([step for step in steps if line is None or _line(step) <= line])


def _line(step: Statement) -> int:
    span = step.span
    return 0 if span is None else span.source.text.count("\n", 0, span.start) + 1
