"""Builders, runners and mutators that do nothing, to test what uses them (TVM: `meta_schedule.testing.dummy_object`)."""

from __future__ import annotations

import random
from collections.abc import Sequence

from ....ir.schedule import Trace
from ..mutator import PyMutator
from ..tvm_builder import BuilderInput, BuilderResult, PyBuilder
from ..tvm_runner import PyRunner, PyRunnerFuture, RunnerInput, RunnerResult

__all__ = ["DummyBuilder", "DummyMutator", "DummyRunner", "DummyRunnerFuture"]


class DummyRunnerFuture(PyRunnerFuture):
    """One to ten random times of 5 to 30 seconds."""

    def done(self) -> bool:
        """Return True."""
        return True

    def result(self) -> RunnerResult:
        """See `PyRunnerFuture`."""
        return RunnerResult([random.uniform(5, 30) for _ in range(random.randint(1, 10))], None)


class DummyBuilder(PyBuilder):
    """Names files that do not exist."""

    def build(self, build_inputs: Sequence[BuilderInput]) -> list[BuilderResult]:
        """See `Builder`."""
        return [BuilderResult("test_path", None) for _ in build_inputs]


class DummyRunner(PyRunner):
    """Gives random times."""

    def run(self, runner_inputs: Sequence[RunnerInput]) -> list[PyRunnerFuture]:
        """See `Runner`."""
        return [DummyRunnerFuture() for _ in runner_inputs]


class DummyMutator(PyMutator):
    """Removes all decisions."""

    def apply(self, trace: Trace, seed: int | None = None) -> Trace | None:
        """See `Mutator`."""
        return Trace(trace.insts, {})
