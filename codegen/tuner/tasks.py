"""Tasks of a module: the loop functions that are tuned, equal ones together, and the order in which they are served."""

from __future__ import annotations

import hashlib
from collections.abc import Collection, Mapping, Sequence
from functools import cache
from pathlib import Path

from msgspec import Struct
from msgspec.structs import replace

from ...ir import relax, script, tir
from ...ir.base import GlobalVar, IRModule
from ...ir.diagnostics import error
from ...ir.schedule.text import ScheduleText
from ...ir.spelling import did_you_mean
from ...ir.visit import walk
from ..build import called_functions, loop_level_functions, lower_program
from ..gpu.figures import figures_of
from ..target import Target, check_runs_here
from .database import WorkloadRow
from .inputs import symbolic_sizes
from .spaces import FUNCTION, Complete, complete_already, key_of, own_schedules, workload_of

ESTIMATES = "estimates"
"""Mark of the rows whose times are not measured."""


class Task(Struct, frozen=True, eq=False):
    """Functions of a module that are equal but for their names. `calls` is the number of their calls in graph functions."""

    names: tuple[str, ...]
    workload: IRModule
    row: WorkloadRow
    calls: int
    own: tuple[ScheduleText, ...] = ()
    """The schedules that the file has for it."""
    complete: Complete = complete_already
    """Completes schedules of `own` whose numbers are drawn."""

    @property
    def name(self) -> str:
        """Name of the first function."""
        return self.names[0]

    def program(self, text: ScheduleText | None) -> str:
        """Return the module of the function with a schedule, as text."""
        return with_schedule(self.row.program, text.script() if text is not None else "")


def with_schedule(program: str, schedule: str) -> str:
    """Return the text of a module with a schedule, which is the text of an `S.schedule`, added at its end."""
    lines = [f"    {line}" if line else "" for line in schedule.strip("\n").split("\n")]
    return program.rstrip() + "\n\n" + "\n".join(lines) + "\n" if schedule else program


def tasks_of(
    module: IRModule, target: Target, functions: Collection[str] = (), sizes: Mapping[str, int] = {}
) -> tuple[list[Task], dict[str, str]]:
    """Return the tasks of a module, and why the other loop functions are not tuned, by name.

    Operators of graph functions are lowered to loop functions first. `functions` are the names of those to tune; all if it
    is empty. Raises E0102 if there is no such function.
    """
    has_graphs = any(isinstance(function, relax.Function) for function in module.functions.values())
    lowered = lower_program(module, target) if has_graphs else module
    found = loop_level_functions(lowered)
    for name in functions:
        if name not in found:
            help = did_you_mean(name, found) or f"the loop functions are {', '.join(found)}"
            raise error("E0102", f"the module has no loop function '{name}'", None, help)
    called, own, calls = called_functions(lowered), own_schedules(lowered, target), _calls(lowered)
    tasks: dict[str, Task] = {}
    left: dict[str, str] = {}
    for name, function in found.items():
        if functions and name not in functions:
            continue
        reason = _why_not(name, function, called, sizes)
        if reason is not None:
            left[name] = reason
            continue
        task = _task(name, function, own.get(name, ()), calls.get(name, 1))
        same = tasks.get(task.row.key)
        tasks[task.row.key] = task if same is None or task.own else _merged(same, task)
    return list(tasks.values()), left


def _task(name: str, function: tir.PrimFunc, own: Sequence[ScheduleText], calls: int) -> Task:
    workload = workload_of(function)
    program, tensors = script.dump(workload)
    renamed = tuple([replace(text, function=FUNCTION) for text in own])
    return Task((name,), workload, WorkloadRow(workload_key(function), program, tensors), calls, renamed)


def workload_key(function: tir.PrimFunc) -> str:
    """Return the key of a function in databases, whatever it is called."""
    (workload,) = workload_of(function).functions.values()
    assert isinstance(workload, tir.PrimFunc)
    return key_of(workload)


def _merged(one: Task, other: Task) -> Task:
    return Task((*one.names, *other.names), one.workload, one.row, one.calls + other.calls, one.own)


def _why_not(name: str, function: tir.PrimFunc, called: set[str], sizes: Mapping[str, int]) -> str | None:
    if not isinstance(function.body, tir.BlockRealize):
        return "it has no blocks"
    if name in called:
        return "another loop function calls it"
    if any(isinstance(node, tir.Call) and isinstance(node.op, GlobalVar) for node in walk(function)):
        return "it calls another function"
    unknown = [size for size in symbolic_sizes(function) if size not in sizes]
    if unknown:
        return "its sizes are symbolic; give them with " + " ".join(f"--dim {size}=N" for size in unknown)
    return None


def _calls(module: IRModule) -> dict[str, int]:
    """Return how often graph functions call each loop function."""
    found: dict[str, int] = {}
    for function in module.functions.values():
        if isinstance(function, relax.Function):
            for node in walk(function):
                callee = node.args[0] if isinstance(node, relax.Call) and node.args else None
                if isinstance(callee, GlobalVar):
                    found[callee.name_hint] = found.get(callee.name_hint, 0) + 1
    return found


def check_tunable(target: Target) -> None:
    """Raise E1104 if times for a target can neither be measured nor estimated: a simulated GPU, or one whose figures are not known;
    E0617 for another processor.
    """
    if target.order:
        reason = f"the times of a simulated GPU say nothing: '{target.text}' cannot be tuned"
        raise error(
            "E1104", reason, None, f"leave -simulate out: times of '{target.name} -arch={target.arch}' are estimated"
        )
    if target.arch:
        figures_of(target.arch)
        return
    check_runs_here(target)


def target_key(target: Target, threads: int) -> str:
    """Return the target of a record: its text, the processor that it is for, and the number of threads; for a GPU, the one whose figures
    the estimates take.
    """
    if target.arch:
        return f"{target.name} -arch={target.arch} [{ESTIMATES} for {figures_of(target.arch).gpu}]"
    machine = target.processor
    number = threads or machine.threads
    return f"{target.text} [{machine.vector_bytes} B vectors, L1 {machine.l1_bytes >> 10} KiB, L2 {machine.l2_bytes >> 10} KiB, threads {number}]"


def is_of_estimates(target: str) -> bool:
    """Return whether the times of the rows for a target, by its key, are estimates."""
    return f" [{ESTIMATES} for " in target


@cache
def rules_version() -> str:
    """Return a digest of the sources that decide what a schedule text means: primitives, composite steps and code generation."""
    room = Path(__file__).parent.parent
    folders = (
        room / "rules",
        room / "gpu",
        room / "gpu" / "rules",
        room / "lower",
        room / "llvm",
        room.parent / "ir" / "schedule" / "primitives",
    )
    digest = hashlib.sha256()
    for path in sorted(path for folder in folders for path in folder.glob("*.py")):
        digest.update(path.read_bytes())
    return digest.hexdigest()[:16]
