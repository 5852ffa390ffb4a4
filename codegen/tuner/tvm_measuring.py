"""The objects of TVM's tuner as parts of a tuning: a builder and a runner measure, and callbacks see what was measured."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from math import inf
from typing import Any, TypeVar

from msgspec import Struct
from msgspec.structs import replace

from ...ir import script, tir
from ...ir.base import IRModule
from ...ir.diagnostics import ArgumentError, Diagnostic, TvmsError
from ...ir.schedule import Schedule
from ...ir.schedule.apply import apply_schedules
from ..runtime.specs import kind_of
from ..target import get_target
from .candidates import Candidate
from .protocol import Batch, Outcome, Workload, typical
from .spaces import FUNCTION
from .trial import failure
from .tvm_builder import Builder, BuilderInput, BuilderResult, remove_build_dir
from .tvm_records import ArgInfo
from .tvm_runner import PyRunnerFuture, Runner, RunnerInput, RunnerResult

__all__ = ["MeasureCallback", "MeasureCandidate", "PyMeasureCallback"]
_Result = TypeVar("_Result")


class MeasureCandidate(Struct, frozen=True, eq=False):
    """A schedule to measure, and the arguments of its function (TVM: `MeasureCandidate`)."""

    sch: Schedule
    args_info: Sequence[ArgInfo]


def measure_candidate(workload: IRModule, candidate: Candidate) -> MeasureCandidate:
    """Return a candidate for a workload as TVM's tuner represents it."""
    schedule = Schedule(workload)
    candidate.trace.apply_to_schedule(schedule)
    return MeasureCandidate(schedule, ArgInfo.from_prim_func(candidate.function))


class MeasureCallback(ABC):
    """What is called after each batch; subclasses define `apply` (TVM: `MeasureCallback`, `PyMeasureCallback`)."""

    @abstractmethod
    def apply(
        self, task_scheduler: Any, task_id: int, measure_candidates: Sequence[MeasureCandidate], builder_results: Sequence[BuilderResult],
        runner_results: Sequence[RunnerResult],
    ) -> None:  # fmt: skip
        """Receive the results of a batch of candidates of task `task_id`. `task_scheduler` is the `Tuning`; its `states` describe all
        tasks. The files of the builder have already been removed.
        """
        ...

    def __str__(self) -> str:
        return f"meta_schedule.{type(self).__name__}({id(self):#x})"

    @staticmethod
    def create(kind: str = "default") -> list[MeasureCallback]:
        """Return no callbacks: every measurement is stored, and the cost model learns from it, without any."""
        return []


PyMeasureCallback = MeasureCallback


def measured(
    workload: IRModule, candidate: Candidate, outcome: Outcome
) -> tuple[MeasureCandidate, BuilderResult, RunnerResult]:
    """Return a candidate for a workload, and its outcome, as TVM's tuner represents them."""
    given = measure_candidate(workload, candidate)
    if outcome.status == "ok":
        return given, BuilderResult("", None), RunnerResult(list(outcome.seconds), None)
    reason = f"{outcome.status}: {outcome.message}"
    if outcome.status in ("refused", "compile error"):
        return given, BuilderResult(None, reason), RunnerResult(None, reason)
    return given, BuilderResult("", None), RunnerResult(None, reason)


class BuiltRunner:
    """Measures with a builder and a runner. Results are not compared with those of the baseline, which is measured once."""

    def __init__(self, builder: Builder, runner: Runner) -> None:
        self._builder, self._runner = builder, runner
        self._workloads: dict[str, Workload] = {}
        self._references: dict[str, float] = {}

    def open(self, workload: Workload) -> Outcome:
        """See `runner.Runner`."""
        self._workloads[workload.key] = workload
        ((_, outcome),) = self._measured(workload, [workload.baseline])
        if outcome.status == "ok":
            self._references[workload.key] = typical(outcome.seconds)
        return outcome

    def measure(self, batch: Batch) -> Iterator[tuple[int, Outcome]]:
        """See `runner.Runner`."""
        reference = self._references[batch.key]
        for number, outcome in self._measured(self._workloads[batch.key], batch.programs):
            yield number, replace(outcome, reference=tuple([reference] * len(outcome.seconds)))

    def close(self) -> None:
        """See `runner.Runner`; the builder and the runner belong to the caller."""

    def _measured(self, workload: Workload, programs: Sequence[str]) -> Iterator[tuple[int, Outcome]]:
        target = get_target(workload.target)
        inputs: dict[int, BuilderInput] = {}
        for number, program in enumerate(programs):
            try:
                module = apply_schedules(script.parse(program, "candidate", workload.tensors), target.name)
                inputs[number] = BuilderInput(replace(module, schedules={}), target)
            except TvmsError as problem:
                yield number, failure(problem)
        made: Any = self._builder.build(list(inputs.values()))  # a builder of the user may give anything
        try:
            built = _all_of(BuilderResult, made, len(inputs), self._builder)
        except ArgumentError:
            for result in made if isinstance(made, list | tuple) else ():  # type: ignore[reportUnknownVariableType]
                if isinstance(result, BuilderResult) and result.artifact_path is not None:
                    remove_build_dir(result.artifact_path)
            raise
        results = dict(zip(inputs, built, strict=True))
        for number, result in results.items():
            if result.artifact_path is None:
                yield number, Outcome("compile error", result.error_msg or "the builder gave no file")
        paths = {number: result.artifact_path for number, result in results.items() if result.artifact_path is not None}
        given = [RunnerInput(path, target.name, _arguments(inputs[number].mod)) for number, path in paths.items()]
        try:
            futures = _all_of(PyRunnerFuture, self._runner.run(given), len(given), self._runner)
            for number, future in zip(paths, futures, strict=True):
                (result,) = _all_of(RunnerResult, [future.result()], 1, future)
                yield number, _outcome(result)
        finally:
            for path in paths.values():
                remove_build_dir(path)


def _arguments(module: IRModule) -> list[ArgInfo]:
    function = module.functions[FUNCTION]
    assert isinstance(function, tir.PrimFunc)
    return ArgInfo.from_prim_func(function)


def _all_of(kind: type[_Result], given: object, count: int, giver: object) -> list[_Result]:
    """Return what a builder, a runner or a future of a program gives. Raises ArgumentError E0702 if it is not `count` objects of a kind."""
    found: list[Any] = [*given] if isinstance(given, list | tuple) else [given]  # type: ignore[reportUnknownVariableType]
    wrong = [kind_of(one) for one in found if not isinstance(one, kind)]
    if not wrong and len(found) == count:
        return found
    reason = f"{kind_of(giver)} gave {wrong[0] if wrong else len(found)} instead of {count} {kind.__name__}"
    raise ArgumentError([Diagnostic("E0702", reason, None, f"give a {kind.__name__} for each input, in their order")])


def _outcome(result: RunnerResult) -> Outcome:
    if result.run_secs:
        seconds = tuple([float(seconds) for seconds in result.run_secs])
        if all(0 < one < inf for one in seconds):
            return Outcome("ok", "", seconds)
        return Outcome("crash", f"the runner gave times that are not positive: {', '.join(map(str, seconds))}")
    reason = result.error_msg or "the runner gave no times"
    return Outcome("timeout" if "Timeout" in reason else "crash", reason)
