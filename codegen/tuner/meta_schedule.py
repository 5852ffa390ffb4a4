"""The tuner under TVM's names (`tvm.meta_schedule`): a work directory holds the database `tvms-tuning.db`.

    with tvms.target.Target("llvm"):
        database = meta_schedule.tune_tir(mod, target="llvm", work_dir="work", max_trials_global=64)
        schedule = meta_schedule.compile_tir(database, mod, target="llvm")

Search and measurements are those of `tvms tune`; TVM's objects for them (`Builder`, `Runner`, `CostModel`) do not exist. Spaces may
come from generators with rules (`space_generator`, `schedule_rule`), which make schedule texts, and with postprocessors (`postproc`).
"""

from __future__ import annotations

from os import PathLike
from pathlib import Path
from typing import Any, TypeVar

from msgspec.structs import replace

from ...ir import tir
from ...ir.base import IRModule
from ...ir.diagnostics import ArgumentError, Diagnostic
from ...ir.passes.transform import get_pass
from ...ir.programs import as_module
from ...ir.schedule import Schedule
from ...ir.schedule.apply import apply_schedules
from ..current_target import default_target
from ..target import TargetLike, get_target
from ..tuned import with_tuned
from . import tvm_database
from .database import Database
from .mutator import Mutator, PyMutator
from .postproc import Postproc, PyPostproc
from .runner import LocalRunner
from .schedule_rule import PyScheduleRule, ScheduleRule
from .space_generator import PySpaceGenerator, SpaceGenerator, TuneContext, generated_spaces
from .tasks import check_tunable, tasks_of
from .tuning import Plan, Tuning
from .use import tuned_by, tuned_schedules

__all__ = [
    "Database",
    "Mutator",
    "Postproc",
    "PyMutator",
    "PyPostproc",
    "PyScheduleRule",
    "PySpaceGenerator",
    "ScheduleRule",
    "SpaceGenerator",
    "TuneContext",
    "compile_tir",
    "derived_object",
    "tune_relax",
    "tune_tir",
]
_Class = TypeVar("_Class", bound=type)
FILE = "tvms-tuning.db"
"""Name of the database in a work directory."""


def tune_tir(
    mod: IRModule | tir.PrimFunc,
    target: TargetLike | None,
    work_dir: str | PathLike[str],
    max_trials_global: int,
    *,
    max_trials_per_task: int | None = None,
    num_trials_per_iter: int = 16,
    seed: int | None = None,
    num_threads: int = 0,
    space: SpaceGenerator | str = "post-order-apply",
    strategy: str = "evolutionary",
) -> Database:
    """Tune the loop functions of a module, and return the database with the measurements (TVM: `meta_schedule.tune_tir`).

    `max_trials_global` counts the trials of all functions, `max_trials_per_task` those of one without a faster schedule after
    which its search ends. `space` makes the spaces beside those of the default schedules; a text means the tuner's own. `num_threads` is the number of threads of a parallel loop (0: all cores). Functions that cannot be tuned are left
    out. Raises E1103 if the database cannot be written, E1104 for GPUs.
    """
    chosen = get_target(default_target(target))
    check_tunable(chosen)
    if strategy != "evolutionary":
        reason = f"argument 'strategy' to tune_tir: expected 'evolutionary', got {strategy!r}"
        raise ArgumentError([Diagnostic("E0702", reason, None, "leave it out")])
    tasks, left_out = tasks_of(as_module(mod), chosen)
    if not isinstance(space, str):
        tasks = [
            replace(task, own=generated_spaces(space, task.workload, chosen), complete=space.complete) for task in tasks
        ]
    folder = Path(work_dir)
    folder.mkdir(parents=True, exist_ok=True)
    database, runner = Database(folder / FILE), LocalRunner()
    plan = Plan(
        max_trials_global, batch=num_trials_per_iter, patience=max_trials_per_task or max_trials_global, seed=seed or 0,
        threads=num_threads,
    )  # fmt: skip
    try:
        Tuning(tasks, chosen, plan, runner, database).run(left_out)
    finally:
        runner.close()
    return database


def tune_relax(
    mod: IRModule, params: dict[str, Any] | None, target: TargetLike | None, work_dir: str | PathLike[str], max_trials_global: int,
    **options: Any,
) -> Database:  # fmt: skip
    """Tune the kernels of the graph functions of a module (TVM: `meta_schedule.relax_integration.tune_relax`).

    `params` are bound to the parameters of `main` first. `options` are those of `tune_tir`.
    """
    if params:
        mod = get_pass("BindParams", "main", params)(mod)
    return tune_tir(mod, target, work_dir, max_trials_global, **options)


def compile_tir(
    database: Database | tvm_database.Database, mod: IRModule | tir.PrimFunc, target: TargetLike | None
) -> Schedule | None:
    """Return the best schedule of a module of one loop function; None if the database has none (TVM:
    `meta_schedule.tir_integration.compile_tir`).
    """
    chosen = get_target(default_target(target))
    if isinstance(database, tvm_database.Database):
        return database.query_schedule(as_module(mod), chosen)
    schedule = Schedule(mod)
    texts = tuned_schedules(schedule.mod, chosen, database)
    for text in texts.values():
        schedule.replay(text)
    return schedule if texts else None


def derived_object(cls: _Class) -> _Class:
    """Return the class: rules and generators of users are plain subclasses (TVM: `meta_schedule.derived_object`)."""
    return cls


def tune_functions(module: IRModule, work_dir: str, trials: int, per_task: int | None) -> IRModule:
    """Tune for the current target, and return the module unchanged: what the passes `MetaScheduleTune…` do."""
    tune_tir(module, None, work_dir, trials, max_trials_per_task=per_task).close()
    return module


def apply_database(module: IRModule, work_dir: str) -> IRModule:
    """Return the module with the best schedules for the current target applied: what the pass `MetaScheduleApplyDatabase` does."""
    target = get_target(default_target(None))
    with tuned_by(Path(work_dir) / FILE):
        tuned = with_tuned(replace(module, schedules={}), target)
    return replace(apply_schedules(tuned, target.name), schedules=module.schedules) if tuned.schedules else module
