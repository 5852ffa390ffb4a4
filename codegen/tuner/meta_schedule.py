"""The tuner under TVM's names (`tvm.meta_schedule`): a work directory holds the database `tvms-tuning.db`.

    with tvms.target.Target("llvm"):
        database = meta_schedule.tune_tir(mod, target="llvm", work_dir="work", max_trials_global=64)
        schedule = meta_schedule.compile_tir(database, mod, target="llvm")

Search and measurements are those of `tvms tune`. Spaces may come from generators with rules (`space_generator`, `schedule_rule`), which
make schedule texts, and with postprocessors (`postproc`). A program may give its own builder, runner and cost model (`builder`, `runner`,
`cost_model`), and functions that see the measurements (`measure_callback`).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from numbers import Integral
from os import PathLike
from pathlib import Path
from typing import Any, ClassVar, TypeVar

from msgspec import Struct
from msgspec.structs import replace

from ...ir import tir
from ...ir.base import IRModule
from ...ir.diagnostics import ArgumentError, ArgumentValueError, Diagnostic, TvmsError
from ...ir.passes.transform import get_pass
from ...ir.programs import as_module
from ...ir.schedule import Schedule
from ...ir.schedule.apply import apply_schedules
from ..current_target import default_target
from ..runtime.specs import kind_of
from ..target import Target, TargetLike, get_target
from ..tuned import with_tuned
from . import runner as runners
from . import tvm_database
from .candidates import Candidate
from .cost_model import Model
from .database import Database
from .mutator import Mutator, PyMutator
from .postproc import Postproc, PyPostproc
from .protocol import Limits, Outcome
from .schedule_rule import PyScheduleRule, ScheduleRule
from .space_generator import PySpaceGenerator, SpaceGenerator, generated_spaces
from .tasks import Task, check_tunable, tasks_of
from .tune_context import SearchStrategy, TuneContext
from .tuning import Plan, TaskState, Tuning
from .tvm_builder import Builder, LocalBuilder, PyBuilder, checked_number, remove_build_dir
from .tvm_cost_model import CostModel, PyCostModel, as_model
from .tvm_measuring import BuiltRunner, MeasureCallback, MeasureCandidate, PyMeasureCallback, measured
from .tvm_records import FAILED, ArgInfo, TuningRecord
from .tvm_runner import LocalRunner, PyRunner, Runner
from .use import tuned_by, tuned_schedules

__all__ = [
    "Builder",
    "CostModel",
    "Database",
    "GradientBased",
    "MeasureCallback",
    "MeasureCandidate",
    "Mutator",
    "Postproc",
    "PyBuilder",
    "PyCostModel",
    "PyMeasureCallback",
    "PyMutator",
    "PyPostproc",
    "PyRunner",
    "PyScheduleRule",
    "PySpaceGenerator",
    "RoundRobin",
    "Runner",
    "ScheduleRule",
    "SearchStrategy",
    "SpaceGenerator",
    "TaskScheduler",
    "TuneContext",
    "compile_tir",
    "derived_object",
    "remove_build_dir",
    "tune_relax",
    "tune_tasks",
    "tune_tir",
]
_Class = TypeVar("_Class", bound=type)
FILE = "tvms-tuning.db"
"""Name of the database in a work directory."""


class TaskScheduler:
    """A way to choose the next function, for `tune_tir` and `tune_tasks`; the subclasses here are all that there are (TVM: `TaskScheduler`)."""

    kind: ClassVar[str] = ""
    """Its name for `tune_tir`."""

    @staticmethod
    def create(kind: str = "gradient", *args: Any, **kwargs: Any) -> TaskScheduler:
        """Return the scheduler of a kind, "gradient" or "round-robin". Raises ArgumentError E0702 for others."""
        if kind not in _KINDS:
            reason = f"argument 'task_scheduler': expected 'gradient' or 'round-robin', got {kind!r}"
            raise ArgumentError([Diagnostic("E0702", reason, None, "pass one of these texts")])
        return _KINDS[kind](*args, **kwargs)


class GradientBased(TaskScheduler):
    """Serves the function of which most is expected: by its time, its calls, and how much its last trials gained (TVM: `GradientBased`)."""

    kind: ClassVar[str] = "gradient"

    def __init__(self, *, alpha: float = 0.2, window_size: int = 3, seed: int = -1) -> None:
        """The arguments are TVM's; they are not used."""
        self.alpha, self.window_size, self.seed = alpha, window_size, seed


class RoundRobin(TaskScheduler):
    """Serves all functions in turn (TVM: `RoundRobin`)."""

    kind: ClassVar[str] = "round-robin"


_CALLBACKS = ("default", "none")
"""Texts for `measure_callbacks`: both mean none besides the tuner's own storing and learning."""
_KINDS: dict[str, type[TaskScheduler]] = {"gradient": GradientBased, "round-robin": RoundRobin}


def tune_tir(
    mod: IRModule | tir.PrimFunc,
    target: TargetLike | None,
    work_dir: str | PathLike[str],
    max_trials_global: int,
    *,
    max_trials_per_task: int | None = None,
    num_trials_per_iter: int = 16,
    builder: Builder | str = "local",
    runner: Runner | str = "local",
    database: tvm_database.Database | str = "json",
    cost_model: CostModel | str = "xgb",
    measure_callbacks: MeasureCallback | Sequence[MeasureCallback] | str = "default",
    task_scheduler: TaskScheduler | str = "gradient",
    space: SpaceGenerator | Callable[[Schedule], Any] | str = "post-order-apply",
    strategy: SearchStrategy | str = "evolutionary",
    num_tuning_cores: int | str = "physical",
    seed: int | None = None,
    num_threads: int = 0,
    special_space: Mapping[str, SpaceGenerator | Callable[[Schedule], Any] | str | None] | None = None,
) -> Database | tvm_database.Database:
    """Tune the loop functions of a module, and return the database with the measurements (TVM: `meta_schedule.tune_tir`).

    `max_trials_global` counts the trials of all functions, `max_trials_per_task` those of one without a faster schedule after
    which its search ends. `space` makes the spaces beside the default schedules, and `special_space` the spaces of single functions by name
    (None: the function is left out); "post-order-apply" means the tuner's own, and a function is a `ScheduleFn`. `num_threads` is the number
    of threads of a parallel loop (0: all cores). Functions that cannot be tuned are left out; if none remains, that is an
    ArgumentValueError E0702.

    The tuner's own builder and runner ("local", or objects of these classes without functions of their own, whose time limits count) check the results of
    each schedule, and time it in turn with the schedule without tuning; others are trusted. `cost_model` may be "xgb" (the tuner's own),
    "random" or a `CostModel`, `task_scheduler` a `TaskScheduler` or its kind ("gradient", "round-robin"), and `strategy` a `SearchStrategy` or its kind. If `database` is
    an object of `meta_schedule.database`, or "memory", it gets the measurements too, and is returned. `num_tuning_cores` is not used.

    Raises E1103 if the database cannot be written, E1104 for simulated GPUs, and ArgumentError E0702 for other arguments.
    """
    chosen = get_target(default_target(target))
    check_tunable(chosen)
    tasks, left_out = tasks_of(as_module(mod), chosen)
    spaces = dict(special_space or {})
    left_out |= {task.name: "special_space says so" for task in tasks if spaces.get(task.name, space) is None}
    kept = [_with_space(task, spaces.get(task.name, space), chosen) for task in tasks if task.name not in left_out]
    given = strategy if isinstance(strategy, SearchStrategy) else SearchStrategy.create(strategy)
    plan = _plan(max_trials_global, max_trials_per_task, num_trials_per_iter, given, task_scheduler, seed or 0)
    parts = _Parts(builder, runner, database, cost_model, measure_callbacks)
    return _tuned(kept, left_out, chosen, replace(plan, threads=num_threads), work_dir, parts)


def tune_tasks(
    *,
    tasks: Sequence[TuneContext],
    task_weights: Sequence[float],
    work_dir: str | PathLike[str],
    max_trials_global: int,
    max_trials_per_task: int | None = None,
    num_trials_per_iter: int = 16,
    builder: Builder | str = "local",
    runner: Runner | str = "local",
    database: tvm_database.Database | str = "json",
    cost_model: CostModel | str = "xgb",
    measure_callbacks: MeasureCallback | Sequence[MeasureCallback] | str = "default",
    task_scheduler: TaskScheduler | str = "gradient",
) -> Database | tvm_database.Database:
    """Tune the functions of contexts, with weights that are rounded to numbers of calls (TVM: `meta_schedule.tune_tasks`).

    The first context gives the target, the strategy and the seed. See `tune_tir` for the other arguments, and for the errors.
    """
    if not tasks or len(tasks) != len(task_weights):
        reason = f"{len(tasks)} tasks have {len(task_weights)} weights"
        raise ArgumentValueError([Diagnostic("E0702", reason, None, "give at least one task, and a weight for each")])
    first, found = tasks[0], list[Task]()
    check_tunable(first.target)
    for context, weight in zip(tasks, task_weights, strict=True):
        calls = max(round(checked_number("task_weights", weight, 0)), 1)
        task = replace(_task_of(context), names=(context.task_name,), calls=calls)
        found.append(_with_space(task, context.space_generator if context.has_generator else None, context.target))
    plan = _plan(
        max_trials_global, max_trials_per_task, num_trials_per_iter, first.search_strategy, task_scheduler, first.seed
    )
    parts = _Parts(builder, runner, database, cost_model, measure_callbacks)
    return _tuned(found, {}, first.target, plan, work_dir, parts)


def _task_of(context: TuneContext) -> Task:
    kept, left_out = tasks_of(context.workload(), context.target)
    if kept:
        return kept[0]
    (why,) = left_out.values()
    reason = f"the task '{context.task_name}' cannot be tuned: {why}"
    raise ArgumentValueError([Diagnostic("E0702", reason, None, "leave it out")])


class _Parts(Struct, frozen=True, eq=False):
    builder: Builder | str
    runner: Runner | str
    database: tvm_database.Database | str
    cost_model: CostModel | str
    measure_callbacks: MeasureCallback | Sequence[MeasureCallback] | str


def _tuned(
    tasks: Sequence[Task], left_out: dict[str, str], target: Target, plan: Plan, work_dir: str | PathLike[str], parts: _Parts
) -> Database | tvm_database.Database:  # fmt: skip
    """Run a tuning with the parts that a program gave."""
    _check(parts)
    if not tasks:
        whys = "; ".join(f"'{name}': {why}" for name, why in left_out.items()) or "the module has no loop functions"
        help = "give a loop function with constant sizes, or a graph function that calls operators"
        raise ArgumentValueError([Diagnostic("E0702", f"there is nothing to tune: {whys}", None, help)])
    runner, limits = _runner(parts.builder, parts.runner)
    callbacks = parts.measure_callbacks
    callbacks = (
        [callbacks] if isinstance(callbacks, MeasureCallback) else [] if isinstance(callbacks, str) else callbacks
    )
    other = parts.database
    other = None if other == "json" else tvm_database.Database.create(other) if isinstance(other, str) else other
    folder = Path(work_dir)
    folder.mkdir(parents=True, exist_ok=True)
    database = Database(folder / FILE)

    def listen(tuning: Tuning, state: TaskState, found: Sequence[tuple[Candidate, Outcome]]) -> None:
        if callbacks:
            shown = [measured(state.task.workload, candidate, outcome) for candidate, outcome in found]
            for callback in callbacks:
                callback.apply(tuning, tuning.states.index(state), *map(list, zip(*shown, strict=True)))
        if other is not None:
            _record(other, state.task.workload, target, found)

    def make_model(task: Task) -> Model:
        return as_model(parts.cost_model, TuneContext(task.workload, target=target, task_name=task.name), task.workload)

    try:
        Tuning(tasks, target, replace(plan, limits=limits), runner, database, listen=listen, make_model=make_model).run(
            left_out
        )
    finally:
        runner.close()
    if other is None:
        return database
    database.close()
    return other


def _check(parts: _Parts) -> None:
    """Raise ArgumentError E0702 for an object that is not of the class of its part."""
    callbacks = parts.measure_callbacks or "none"
    several = () if callbacks in _CALLBACKS else callbacks if isinstance(callbacks, list | tuple) else (callbacks,)
    given: list[tuple[str, object, type[object], bool]] = [
        ("builder", parts.builder, Builder, True),
        ("runner", parts.runner, Runner, True),
        ("cost_model", parts.cost_model or "xgb", CostModel, True),
        *[("measure_callbacks", one, MeasureCallback, False) for one in several],
    ]
    for name, part, kind, may_be_name in given:
        if not isinstance(part, kind) and not (may_be_name and isinstance(part, str)):
            got = repr(part) if isinstance(part, str) else kind_of(part)
            reason = f"argument '{name}': expected a {kind.__name__}, got {got}"
            help = f"pass an object of a class that is derived from {kind.__name__}"
            raise ArgumentError([Diagnostic("E0702", reason, None, help)])


def _runner(builder: Builder | str, runner: Runner | str) -> tuple[runners.Runner, Limits]:
    """Return what measures, and its limits: the tuner's own unless the program gave a builder or a runner with functions of its own."""
    build = Builder.create(builder) if isinstance(builder, str) else builder
    run = Runner.create(runner) if isinstance(runner, str) else runner
    is_own = type(build) is LocalBuilder and build.is_plain and type(run) is LocalRunner and run.is_plain
    if not isinstance(build, LocalBuilder) or not isinstance(run, LocalRunner) or not is_own:
        return BuiltRunner(build, run), Limits()
    given = [part.timeout_sec for part, name in ((build, builder), (run, runner)) if not isinstance(name, str)]
    return runners.LocalRunner(), Limits(min(given)) if given else Limits()


def _plan(
    trials: int,
    per_task: int | None,
    batch: int,
    strategy: SearchStrategy,
    task_scheduler: TaskScheduler | str,
    seed: int,
) -> Plan:
    given = task_scheduler if isinstance(task_scheduler, TaskScheduler) else TaskScheduler.create(task_scheduler)
    trials = checked_number("max_trials_global", trials, 0, Integral)
    batch = checked_number("num_trials_per_iter", batch, 1, Integral)
    return Plan(
        trials, batch=batch, patience=per_task or trials, seed=seed, strategy=strategy.kind, fresh=strategy.fresh,
        in_turn=given.kind == "round-robin",
    )  # fmt: skip


def _with_space(task: Task, space: SpaceGenerator | Callable[[Schedule], Any] | str | None, target: Target) -> Task:
    if space is None or space == "post-order-apply":  # the spaces of the tuner
        return task
    generator = space if isinstance(space, SpaceGenerator) else SpaceGenerator.create(space)
    return replace(task, own=generated_spaces(generator, task.workload, target), complete=generator.complete)


def _record(
    database: tvm_database.Database, workload: IRModule, target: Target, found: Sequence[tuple[Candidate, Outcome]]
) -> None:
    """Add measurements to a database of TVM's kind. Files leave out traces of which TVM has no form."""
    known = database.commit_workload(workload)
    for candidate, outcome in found:
        seconds = list(outcome.seconds) if outcome.status == "ok" else [FAILED]
        infos = ArgInfo.from_prim_func(candidate.function)
        with suppress(TvmsError):
            database.commit_tuning_record(TuningRecord(candidate.trace, known, seconds, target, infos))


def tune_relax(
    mod: IRModule, params: dict[str, Any] | None, target: TargetLike | None, work_dir: str | PathLike[str], max_trials_global: int,
    **options: Any,
) -> Database | tvm_database.Database:  # fmt: skip
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
    database = tune_tir(module, None, work_dir, trials, max_trials_per_task=per_task)
    assert isinstance(database, Database)
    database.close()
    return module


def apply_database(module: IRModule, work_dir: str) -> IRModule:
    """Return the module with the best schedules for the current target applied: what the pass `MetaScheduleApplyDatabase` does."""
    target = get_target(default_target(None))
    with tuned_by(Path(work_dir) / FILE):
        tuned = with_tuned(replace(module, schedules={}), target)
    return replace(apply_schedules(tuned, target.name), schedules=module.schedules) if tuned.schedules else module
