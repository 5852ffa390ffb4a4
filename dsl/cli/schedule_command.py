"""`tvms schedule FILE`: the module that its schedules make, or in words what each step of them did."""

from __future__ import annotations

import argparse

from msgspec.structs import replace

from ...ir.base import IRModule
from ...ir.diagnostics import error
from ...ir.sanitize import say
from ...ir.schedule.text import ScheduleText, Step
from ..builder.remedies import did_you_mean
from ..load import load_verified
from .files import write_module


def run(arguments: argparse.Namespace) -> int:
    """Apply the schedules; print or write the module, or explain the steps."""
    from ...ir.schedule.apply import check_single
    from ...ir.schedule.explain import explain

    module = load_verified(arguments.file)
    texts = _chosen(module, arguments.apply, arguments.file)
    if arguments.apply is None:
        check_single(texts)
    module, lines = replace(module, schedules={}), list[str]()
    for text in texts:
        said, module = explain(module, text, _until(text.steps, arguments.until))
        lines += [f"schedule {text.name} of {text.function}", *said]
    if arguments.explain:
        say("\n".join(lines))
    if arguments.output is not None or not arguments.explain:
        write_module(module, arguments.dialect, arguments.output)
    return 0


def _chosen(module: IRModule, names: list[str] | None, path: str) -> tuple[ScheduleText, ...]:
    """Return the schedules called `names`, or all; E0814 where there is none."""
    for name in names or ():
        if name not in module.schedules:
            help = did_you_mean(name, module.schedules) or "see the definitions that begin with S.schedule"
            raise error("E0814", f"'{path}' has no schedule '{name}'", None, help)
    if not module.schedules:
        raise error("E0814", f"'{path}' has no schedule", None, "write one: S.schedule name(function):")
    found = [each for name, each in module.schedules.items() if names is None or name in names]
    return tuple([each for each in found if isinstance(each, ScheduleText)])


def _until(steps: tuple[Step, ...], line: int | None) -> tuple[Step, ...]:
    """Return the steps down to `line` of the file."""
    return tuple([step for step in steps if line is None or _line(step) <= line])


def _line(step: Step) -> int:
    span = step.span
    return 0 if span is None else span.source.text.count("\n", 0, span.start) + 1
