"""`tvms tune FILE`: search for faster schedules of loop functions, and print them or add them to the file."""

from __future__ import annotations

import argparse
from collections.abc import Mapping, Sequence
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING, Any

from msgspec.structs import replace

from ...ir.base import IRModule, Trivia
from ...ir.diagnostics import Diagnostic, TvmsError, error
from ...ir.sanitize import emit, json_text, say
from ...ir.schedule.text import ScheduleText, kind_of
from . import common_options
from .arguments import split_pairs
from .files import write_module, write_output
from .reporting import UsageError, report_notes, say_list
from .tuning_view import TuningView, check_plot, described, rounded, write_plot

if TYPE_CHECKING:
    from ...codegen.target import Target
    from ...codegen.tuner.runner import Runner
    from ...codegen.tuner.tuning import Plan, Result


def run(arguments: argparse.Namespace) -> int:
    """Tune the functions of a file, and print the result; return 1 if nothing could be measured."""
    from ...codegen.target import get_target
    from ...codegen.tuner.database import Database
    from ...codegen.tuner.tasks import check_tunable, tasks_of
    from ...codegen.tuner.tuning import Tuning

    if arguments.write and arguments.file == "-":
        raise UsageError("--write needs a file, not standard input", help="print the schedules, or use -o")
    if arguments.plot is not None:
        check_plot(arguments.plot)
    module, target = common_options.loaded(arguments), get_target(arguments.target)
    check_tunable(target)
    plan = _plan(arguments)
    tasks, left_out = tasks_of(module, target, arguments.func, plan.sizes)
    if arguments.write:
        _check_writable(arguments.file, module, [name for task in tasks for name in task.names])
    with Database(arguments.db) as database, closing(_runner(arguments)) as runner, TuningView(plan.trials) as view:
        result = Tuning(tasks, target, plan, runner, database, view.show).run(left_out)
        report_notes(tuple(database.notes))
    return _finish(arguments, module, target, result)


def _runner(arguments: argparse.Namespace) -> Runner:
    """Return what measures: a process here, or workers of dask."""
    from ...codegen.tuner.runner import LocalRunner

    if arguments.scheduler is None and arguments.workers is None:
        return LocalRunner()
    from ...codegen.tuner.cluster import DaskRunner

    return DaskRunner(arguments.scheduler, arguments.workers or 0)


def _plan(arguments: argparse.Namespace) -> Plan:
    from ...codegen.tuner.protocol import Limits
    from ...codegen.tuner.tuning import Plan

    sizes: dict[str, int] = {}
    for name, text in split_pairs(arguments.dim, "--dim").items():
        if not text.isdecimal():
            raise error("E0807", f"--dim {name}={text}: not a size", None, "give an integer, such as 8")
        sizes[name] = int(text)
    return Plan(
        arguments.trials, arguments.time or float("inf"), patience=arguments.patience, seed=arguments.seed,
        threads=arguments.threads or 0, sizes=sizes, limits=Limits(arguments.timeout, arguments.memory),
        strategy=arguments.strategy,
    )  # fmt: skip


def _finish(arguments: argparse.Namespace, module: IRModule, target: Target, result: Result) -> int:
    """Print the summary and the schedules, or write them; raise E1101 if nothing was measured."""
    texts = _texts(module, target, result)
    if arguments.json:
        emit(json_text(_summary(result, texts), indent=2))
    else:
        _show(arguments, target, result)
    if not any(state.baseline for state in result.states):
        raise _nothing(result)
    if arguments.plot is not None:
        write_plot(result.states, arguments.plot)
    if arguments.write:
        _write(arguments.file, module, texts)
    elif arguments.output is not None:
        _write_module(arguments, module, target, texts)
    elif texts and not arguments.json:
        write_output("\n" + "\n\n".join([text.script().strip("\n") for text in texts.values()]) + "\n", None)
    return 0


def _texts(module: IRModule, target: Target, result: Result) -> dict[str, ScheduleText]:
    """Return the best schedules by function; the first step of each has a comment on what was measured."""
    taken = [name for name in (*module.functions, *module.schedules) if not name.endswith("_tuned")]
    found: dict[str, ScheduleText] = {}
    for function, text in result.schedules(target, taken).items():
        state = next(state for state in result.states if function in state.task.names)
        first, *rest = text.steps
        trivia = first.trivia or Trivia()
        comment = f"# Tuned: {described(state)}, {state.trials} trials, {target.text}"
        commented = replace(first, trivia=replace(trivia, before=(comment, *trivia.before)))
        found[function] = replace(text, steps=(commented, *rest))
    return found


def _show(arguments: argparse.Namespace, target: Target, result: Result) -> None:
    trials = sum(state.trials for state in result.states)
    say(f"{arguments.file}, {target.text}: {trials} trials in {result.seconds:.0f} s: {result.stopped}")
    rows: list[tuple[str, str]] = []
    for state in result.states:
        outcomes = ", ".join(f"{count} {name}" for name, count in state.outcomes.most_common())
        name = ", ".join(state.task.names[:3]) + (
            f" and {len(state.task.names) - 3} more" if len(state.task.names) > 3 else ""
        )
        rows.append((f"{name}:", f"{described(state)} ({outcomes or 'no trials'})"))
        rows += [
            ("", f"{which}: {note}")
            for which, note in zip(("before", "best"), state.notes, strict=True)
            if note and state.baseline
        ]
        rows += [("", f"space '{space}': every draw was refused: {reason}") for space, reason in state.refused.items()]
        if state.stopped:
            rows.append(("", state.stopped))
    rows += [(f"{name}:", f"not tuned: {reason}") for name, reason in result.left_out.items()]
    say_list(rows, "  ")
    if target.arch:
        _say_estimates(target)


def _say_estimates(target: Target) -> None:
    """Say what the times for a GPU are."""
    from ...codegen.gpu.figures import figures_of
    from ...codegen.gpu.ptxas import find_ptxas

    say(f"Nothing was measured: all times are estimates of a model, for {figures_of(target.arch).gpu}.")
    if find_ptxas() is None:
        say("They do not know the registers, which need ptxas: pip install nvidia-cuda-nvcc")


def _summary(result: Result, texts: Mapping[str, ScheduleText]) -> dict[str, Any]:
    """Return the result as values for JSON; times are in seconds."""
    tasks = [
        {
            "functions": state.task.names, "calls": state.task.calls, "baseline": state.baseline, "best": state.time,
            "trials": state.trials, "outcomes": dict(state.outcomes), "reasons": dict(state.reasons), "refused": state.refused, "stopped": state.stopped,
            "curve": [rounded(value) for value in state.curve],
            **({"is_estimated": True, "notes": state.notes} if state.is_estimated else {}),
        }
        for state in result.states
    ]  # fmt: skip
    scripts = {function: text.script().strip("\n") for function, text in texts.items()}
    return {
        "stopped": result.stopped,
        "seconds": result.seconds,
        "tasks": tasks,
        "left_out": result.left_out,
        "schedules": scripts,
    }


def _nothing(result: Result) -> TvmsError:
    """Return the error for a run that measured nothing, with its most common cause."""
    causes = [reason for state in result.states for reason, _ in state.reasons.most_common(1)]
    causes += list(result.left_out.values())
    reason = max(set(causes), key=causes.count) if causes else "the file has no loop function to tune"
    verb = "estimated" if any(state.is_estimated for state in result.states) else "measured"
    return error("E1101", f"nothing was {verb}: {reason}", None, "mend that, or name other functions with --func")


# --- Writing ----------------------------------------------------------------------------------------------------


def _check_writable(path: str, module: IRModule, names: Sequence[str]) -> None:
    """Raise E0814 if the functions to tune are not in the file: they are made of graph operators."""
    missing = [name for name in names if name not in module.functions]
    if missing:
        reason = f"'{path}' has no function '{missing[0]}', which is made of graph operators"
        help = "write the lowered module with -o OUT.tvms, or compile the file with the database"
        raise error("E0814", f"{reason}: its schedule cannot be added", None, help)


def _write(path: str, module: IRModule, texts: Mapping[str, ScheduleText]) -> None:
    """Add schedules to the file; those that an earlier run added are replaced."""
    from .default_schedule import replace_schedules

    kept: dict[str, ScheduleText] = {}
    problems: list[Diagnostic] = []
    for function, text in texts.items():
        rival = _rival(module, text)
        if rival is None:
            kept[function] = text
        else:
            message = (
                f"function '{function}' has the schedule '{rival.name}' for the same target: the tuned one is not added"
            )
            problems.append(
                Diagnostic(
                    "E0529",
                    message,
                    rival.span,
                    "remove it or give it no target, and tune again: the measurements are kept",
                )
            )
    replace_schedules(path, {text.name: text for text in kept.values()}, module)
    if kept:
        say(f"{path}: added {', '.join(text.name for text in kept.values())}")
    if problems:
        raise TvmsError(problems)


def _rival(module: IRModule, text: ScheduleText) -> ScheduleText | None:
    """Return another schedule of the function that qualifies equally for the target; None if there is none."""
    from ...ir.schedule.apply import draws

    others = [other for other in module.schedules.values() if isinstance(other, ScheduleText) and not draws(other)]
    rivals = [
        other
        for other in others
        if other.function == text.function and other.name != text.name and kind_of(other.target) == kind_of(text.target)
    ]
    return next(iter(rivals), None)


def _write_module(
    arguments: argparse.Namespace, module: IRModule, target: Target, texts: Mapping[str, ScheduleText]
) -> None:
    """Write the module with the schedules; graph operators are lowered first."""
    from ...codegen.build import lower_program

    if any(name not in module.functions for name in texts):
        module = lower_program(module, target)
    named = {text.name: text for text in texts.values()}
    others = {name: text for name, text in module.schedules.items() if name not in named}
    write_module(replace(module, schedules={**others, **named}), "tvms", str(Path(arguments.output)))
