"""Runners under TVM's names (`tvm.meta_schedule.runner`): they time the calls of compiled modules in files, which a builder made."""

from __future__ import annotations

import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from numbers import Integral
from typing import Any, NamedTuple

from msgspec import Struct

from ...ir.diagnostics import ArgumentError, Diagnostic
from ..device import device
from ..runtime.executable import load_module
from ..runtime.specs import kind_of
from .jobs import random_sets, time_calls
from .limited import limited
from .protocol import Call, Jobs, Limits, Outcome
from .runner import WorkerProcess
from .tvm_builder import checked_kind, checked_number, registered
from .tvm_records import ArgInfo

__all__ = [
    "EvaluatorConfig",
    "LocalRunner",
    "PyRunner",
    "PyRunnerFuture",
    "Runner",
    "RunnerFuture",
    "RunnerInput",
    "RunnerResult",
    "create",
]


class EvaluatorConfig(NamedTuple):
    """How calls are timed: `repeat` repetitions of `number` calls, or of as many as take `min_repeat_ms` (TVM: `EvaluatorConfig`)."""

    number: int = 3
    repeat: int = 1
    min_repeat_ms: int = 100
    enable_cpu_cache_flush: bool = False
    """Whether the caches are emptied before each repetition."""


class RunnerInput(Struct, frozen=True):
    """The file of a compiled module, the kind of its target, and the arguments of its function (TVM: `RunnerInput`)."""

    artifact_path: str
    device_type: str
    args_info: Sequence[ArgInfo]

    def __post_init__(self) -> None:
        """Raises ArgumentError E0702 for other kinds of objects, and as `tvms.device` does for the name of no device."""
        checked_kind("artifact_path", self.artifact_path, str)
        checked_kind("device_type", self.device_type, str)
        checked_kind("args_info", self.args_info, list | tuple)
        for info in self.args_info:
            checked_kind("args_info", info, ArgInfo)
        device(self.device_type)


class RunnerResult(Struct, frozen=True):
    """Seconds per call of each repetition, or why there are none (TVM: `RunnerResult`)."""

    run_secs: Sequence[float] | None
    error_msg: str | None


class PyRunnerFuture(ABC):
    """A result that may not be there yet; subclasses define both methods (TVM: `PyRunnerFuture`)."""

    @abstractmethod
    def done(self) -> bool:
        """Return whether the result is there."""
        ...

    @abstractmethod
    def result(self) -> RunnerResult:
        """Wait for the result, and return it."""
        ...


class RunnerFuture(PyRunnerFuture):
    """A result that two functions give (TVM: `RunnerFuture`)."""

    def __init__(self, f_done: Callable[[], bool], f_result: Callable[[], RunnerResult]) -> None:
        self._done, self._result = f_done, f_result

    def done(self) -> bool:
        """See `PyRunnerFuture`."""
        return self._done()

    def result(self) -> RunnerResult:
        """See `PyRunnerFuture`."""
        return self._result()


class Runner(ABC):
    """A runner; subclasses define `run` (TVM: `Runner`, `PyRunner`)."""

    @abstractmethod
    def run(self, runner_inputs: Sequence[RunnerInput]) -> Sequence[PyRunnerFuture]:
        """Return the results of timing some files, in their order. A file that cannot be run raises nothing."""
        ...

    @staticmethod
    def create(kind: str = "local", *args: Any, **kwargs: Any) -> Runner:
        """Return a `LocalRunner` with these arguments, for the only kind "local"; TVM's argument `max_workers` is not used. Raises
        ArgumentError E0702 for other kinds.
        """
        if kind != "local":
            reason = f"argument 'kind' to Runner.create: expected 'local', got {kind!r}"
            help = "derive your own runner from PyRunner; 'tvms tune --scheduler' measures on other machines"
            raise ArgumentError([Diagnostic("E0702", reason, None, help)])
        kwargs.pop("max_workers", None)
        return LocalRunner(*args, **kwargs)


PyRunner = Runner
create = Runner.create


class LocalRunner(Runner):
    """Runs in forked processes on this machine, one at a time (TVM: `LocalRunner`).

    `f_alloc_argument(device, args_info, alloc_repeat)` returns lists of arguments, where `args_info` is as `ArgInfo.as_json` gives it,
    `f_run_evaluator(executable, device, evaluator_config, repeated_args)` the seconds per call, and `f_cleanup()` is called at the end.
    Each may be the name of a registered function, which `initializer` may register. With one of them, calls run in a thread of this
    process: after the time limit their results are ignored.
    """

    def __init__(
        self, timeout_sec: float = 30, evaluator_config: EvaluatorConfig | None = None, cooldown_sec: float = 0.0, alloc_repeat: int = 1,
        f_alloc_argument: Callable[..., Any] | str | None = None, f_run_evaluator: Callable[..., Any] | str | None = None,
        f_cleanup: Callable[..., Any] | str | None = None, initializer: Callable[[], None] | None = None,
    ) -> None:  # fmt: skip
        """`timeout_sec` limits each run, `cooldown_sec` are waited after it, and `alloc_repeat` is the number of sets of arguments. Raises a
        ValueError, E0702, if no function is registered under a name, or for other numbers.
        """
        self.timeout_sec = checked_number("timeout_sec", timeout_sec, 0)
        self.cooldown_sec = checked_number("cooldown_sec", cooldown_sec, 0)
        self.alloc_repeat = checked_number("alloc_repeat", alloc_repeat, 1, Integral)
        self.evaluator_config = _checked_config(evaluator_config)
        if initializer is not None:
            initializer()
        self.f_alloc_argument = registered(f_alloc_argument, "f_alloc_argument")
        self.f_run_evaluator = registered(f_run_evaluator, "f_run_evaluator")
        self.f_cleanup = registered(f_cleanup, "f_cleanup")
        self._worker = WorkerProcess()

    @property
    def is_plain(self) -> bool:
        """Whether no function was given."""
        return self.f_alloc_argument is None and self.f_run_evaluator is None and self.f_cleanup is None

    def run(self, runner_inputs: Sequence[RunnerInput]) -> list[PyRunnerFuture]:
        """See `Runner`. Floats are uniform in [-0.5, 0.5), integers from 0 to 3."""
        found: list[PyRunnerFuture] = []
        for given in runner_inputs:
            result = self._by_worker(given) if self.is_plain else self._by_functions(given)
            found.append(RunnerFuture(lambda: True, lambda result=result: result))
            time.sleep(self.cooldown_sec)
        return found

    def _by_worker(self, given: RunnerInput) -> RunnerResult:
        how = self.evaluator_config
        arguments = tuple([(str(info.dtype), tuple(map(int, info.shape))) for info in given.args_info])
        job = Call(
            given.artifact_path,
            arguments,
            how.number,
            how.repeat,
            how.min_repeat_ms,
            self.alloc_repeat,
            how.enable_cpu_cache_flush,
        )
        ((_, outcome),) = self._worker.ask_all(Jobs((job,), Limits(self.timeout_sec)), 1)
        return self._result(outcome)

    def _result(self, outcome: Outcome) -> RunnerResult:
        if outcome.status == "ok":
            return RunnerResult(list(outcome.seconds), None)
        return _late(self.timeout_sec) if outcome.status == "timeout" else _failed(outcome.message)

    def _by_functions(self, given: RunnerInput) -> RunnerResult:
        try:
            return RunnerResult(limited(lambda: self._called(given), self.timeout_sec), None)
        except TimeoutError:
            return _late(self.timeout_sec)
        except Exception as problem:  # a function of the user may raise anything
            return _failed(str(problem))

    def _called(self, given: RunnerInput) -> list[float]:
        allocate, evaluate = (
            self.f_alloc_argument or default_alloc_argument,
            self.f_run_evaluator or default_run_evaluator,
        )
        try:
            executable, where = load_module(given.artifact_path, trust=True), device(given.device_type)
            arguments = allocate(where, [info.as_json() for info in given.args_info], self.alloc_repeat)
            return [float(value) for value in evaluate(executable, where, self.evaluator_config, arguments)]
        finally:
            if self.f_cleanup is not None:
                self.f_cleanup()


def _checked_config(given: object) -> EvaluatorConfig:
    if given is None:
        return EvaluatorConfig()
    if not isinstance(given, EvaluatorConfig):
        reason = f"argument 'evaluator_config': expected an EvaluatorConfig, got {kind_of(given)}"
        raise ArgumentError([Diagnostic("E0702", reason, None, "pass EvaluatorConfig(number=3, repeat=1)")])
    return EvaluatorConfig(
        checked_number("number", given.number, 1, Integral),
        checked_number("repeat", given.repeat, 1, Integral),
        checked_number("min_repeat_ms", given.min_repeat_ms, 0),
        bool(given.enable_cpu_cache_flush),
    )


def default_alloc_argument(device: Any, args_info: Sequence[Any], alloc_repeat: int) -> list[list[Any]]:
    """Return `alloc_repeat` lists of random arrays for arguments as `ArgInfo.as_json` gives them."""
    infos = [ArgInfo.from_json(info) for info in args_info]
    return random_sets([(info.dtype, info.shape) for info in infos], alloc_repeat)


def default_run_evaluator(
    rt_mod: Any, device: Any, evaluator_config: EvaluatorConfig, repeated_args: Sequence[Sequence[Any]]
) -> list[float]:
    """Return the seconds per call of each repetition, for all lists of arguments."""
    return list(time_calls(rt_mod, repeated_args, *evaluator_config))


def _failed(reason: str) -> RunnerResult:
    return RunnerResult(None, f"LocalRunner: An exception occurred\n{reason}")


def _late(seconds: float) -> RunnerResult:
    return RunnerResult(None, f"LocalRunner: Timeout, killed after {seconds:g} seconds")
