"""Trials in processes of their own: planted bad programs are named, and the next ones are measured."""

from __future__ import annotations

import os
import time
from collections.abc import Generator, Iterator
from itertools import cycle
from pathlib import Path
from typing import Any

import pytest
import tvms
from tvms.codegen.tuner.protocol import Batch, Build, Jobs, Limits, Workload
from tvms.codegen.tuner.runner import LocalRunner, WorkerProcess
from tvms.codegen.tuner.trial import Call, timed
from tvms.meta_schedule.builder import BuilderInput, LocalBuilder

HEAD = """I.ir_module Workload:
    T.prim_func main(A: T.Buffer((64,), "float32"), B: T.Buffer((64,), "float32")):
"""
GOOD = (
    HEAD
    + """        for i in range(64):
            with T.block("twice"):
                vi = T.axis.spatial(64, i)
                B[vi] = A[vi] * T.float32(2)
"""
)
LARGE = """        X = T.alloc_buffer((13000000000,), "float32")
        for i in range(13000000000):
            with T.block("fill"):
                vi = T.axis.spatial(13000000000, i)
                X[vi] = A[0]
        for i in range(64):
            with T.block("read"):
                vi = T.axis.spatial(64, i)
                B[vi] = X[vi * 200000000]
"""
BAD = {
    "wrong": (GOOD.replace("float32(2)", "float32(3)"), "wrong", "argument 2 differs by 0.5 from that of the baseline"),
    "endless": (
        HEAD + "        while T.bool(True):\n            B[0] = A[0]\n", "timeout",
        "it took more than 16 times as long as the baseline",
    ),
    "50 GB": (HEAD + LARGE, "out of memory", "E0717: there is no memory left for buffer 'X'"),
    "outside": (
        GOOD.replace("A[vi] *", 'A[vi + T.Cast("int32", T.abs(A[0]) * T.float32(1e6)) + 1] *'), "crash",
        "E0707: A[{}] is outside the buffer: its dimension 0 has 64 elements",
    ),
    "refused": (
        GOOD + '\n    S.schedule s(main):\n        b = S.get_block("nope")\n', "refused",
        "E0502: argument 1, 'name' to get_block: no block is called 'nope' in function 'main'",
    ),
    "unknown": (
        GOOD.replace("B[vi] =", 'T.call_extern("int32", "no_such_function")\n                B[vi] ='), "compile error",
        "E0603: unknown external function 'no_such_function'",
    ),
    "text": ("I.ir_module X", "refused", "E0008: expected '(' or ':', found the end of the line"),
}  # fmt: skip


@pytest.fixture(scope="module")
def runner() -> Generator[LocalRunner]:
    found = LocalRunner()
    assert found.open(Workload("key", GOOD, b"", "llvm", 1, limits=Limits(60, 4096))).status == "ok"
    yield found
    found.close()


def test_bad_candidates_are_named(runner: LocalRunner) -> None:
    """Each planted fault has its own outcome and message; good programs around them are measured."""
    programs = [GOOD, *(program for program, _, _ in BAD.values()), GOOD]
    outcomes = dict(runner.measure(Batch("key", tuple(programs))))
    assert sorted(outcomes) == list(range(len(programs)))
    for number, (name, (_, status, message)) in enumerate(BAD.items(), 1):
        start, _, end = message.partition("{}")
        assert outcomes[number].status == status, name
        assert outcomes[number].message.startswith(start)
        assert outcomes[number].message.endswith(end)
    for number in (0, len(programs) - 1):
        assert outcomes[number].status == "ok"
        assert 0 < outcomes[number].ratio < float("inf")


def test_a_worker_that_dies_is_replaced(runner: LocalRunner) -> None:
    """The trials that it had are crashes; the next ones are measured by a new worker."""
    assert runner.process is not None
    runner.process.kill()
    runner.process.wait()
    assert [outcome.status for _, outcome in runner.measure(Batch("key", (GOOD, GOOD)))] == ["crash", "crash"]
    assert [outcome.status for _, outcome in runner.measure(Batch("key", (GOOD,)))] == ["ok"]


def test_a_baseline_that_cannot_run_is_told(runner: LocalRunner) -> None:
    """The baseline has the same outcomes as a trial."""
    program, status, message = BAD["unknown"]
    found = runner.open(Workload("other", program, b"", "llvm", 1))
    assert (found.status, found.message) == (status, message)


def test_slow_candidates_are_measured_shortly(monkeypatch: pytest.MonkeyPatch) -> None:
    """Repetitions end as soon as each shows that a function is slower than the best one, or much slower than the reference."""
    clock = [0.0]
    monkeypatch.setattr("tvms.codegen.tuner.trial.time.perf_counter", lambda: clock[0])

    def takes(*seconds: float) -> Call:
        """Return a function that takes one time after the other."""
        times = cycle(seconds)

        def call(*arguments: object) -> None:
            clock[0] += next(times)

        return call

    def repetitions(own: Call, best: float) -> int:
        return len(timed(own, takes(4e-3), [], 1.0, best)[0])

    assert repetitions(takes(16e-3), 1.0) == 2
    assert repetitions(takes(6e-3), 1.0) == 3
    assert repetitions(takes(4e-3), 1.0) >= 5
    assert repetitions(takes(4e-3), 0.5) == 3
    assert repetitions(takes(6e-3, 4e-3), 1.0) >= 5  # one of the first repetitions was disturbed


def _builds(folder: Path, *names: str) -> Jobs:
    return Jobs(tuple([Build("#tvms 1\n" + GOOD, b"", "llvm", str(folder / name)) for name in names]), Limits(60), 1)


def test_outcomes_that_nobody_took_do_not_answer_the_next_request(tmp_path: Path) -> None:
    """Ctrl-C during a request, and then another one: the worker ends with its forks, and a new one answers."""
    worker = WorkerProcess()
    outcomes = worker.ask_all(_builds(tmp_path, "a", "b", "c"), 3)
    assert next(outcomes)[1].status == "ok"
    assert worker.process is not None
    group = worker.process.pid
    outcomes.close()  # type: ignore[reportAttributeAccessIssue]
    assert worker.process is None
    deadline = time.monotonic() + 10
    while time.monotonic() < deadline:
        try:
            os.killpg(group, 0)
        except ProcessLookupError:
            break
        time.sleep(0.02)
    else:
        pytest.fail("a process of the worker goes on")
    ((number, outcome),) = worker.ask_all(_builds(tmp_path, "d"), 1)
    assert (number, outcome.status, (tmp_path / "d").exists()) == (0, "ok", True)
    worker.close()


def test_an_interrupted_builder_leaves_no_files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupted(*_: Any) -> Iterator[Any]:
        assert len(list(tmp_path.iterdir())) == 2
        raise KeyboardInterrupt

    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    builder = LocalBuilder()
    monkeypatch.setattr(builder._worker, "ask_all", interrupted)  # type: ignore[reportPrivateUsage]
    with pytest.raises(KeyboardInterrupt):
        builder.build([BuilderInput(tvms.parse("#tvms 1\n" + GOOD), "llvm")] * 2)
    assert not list(tmp_path.iterdir())
