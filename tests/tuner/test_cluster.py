"""Workers of dask: those that end or do not answer change nothing but the time of a run."""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator
from functools import partial
from pathlib import Path

import pytest
from tvms.codegen.tuner.database import Database
from tvms.codegen.tuner.protocol import Batch, Outcome, Workload
from tvms.codegen.tuner.tuning import Plan
from tvms.dsl.cli import main
from tvms.ir.diagnostics import TvmsError

from tests.tuner.workloads import ROWS, SimulatedRunner, tuned

pytest.importorskip("distributed", reason="needs dask (extra dask)")

from distributed import LocalCluster
from tvms.codegen.tuner.cluster import RESOURCE, DaskRunner, measure_part

PLAN = Plan(trials=16, batch=8, seed=3)


class FaultyRunner(SimulatedRunner):
    """Simulated costs; the first measurement of a signal stops or ends this process. `folder` keeps what was sent."""

    def __init__(self, folder: Path) -> None:
        super().__init__(failures=1)
        self._folder = folder

    def measure(self, batch: Batch) -> Iterator[tuple[int, Outcome]]:
        for number in (signal.SIGKILL, signal.SIGSTOP):
            try:
                (self._folder / number.name).touch(exist_ok=False)
            except FileExistsError:
                continue
            os.kill(os.getpid(), number)
        yield from super().measure(batch)


def test_lost_workers_change_nothing(tmp_path: Path) -> None:
    """Of four workers, one is killed and one is stopped while they measure: the same rows, curve and best schedule."""
    expected = tuned(ROWS, PLAN, SimulatedRunner(failures=1)).states[0]
    runner = DaskRunner(workers=4, factory=partial(FaultyRunner, tmp_path), patience=2)
    try:
        with Database(tmp_path / "a.db") as database:
            state = tuned(ROWS, PLAN, runner, database).states[0]
            rows = database.records()
    finally:
        runner.close()
    assert sorted(path.name for path in tmp_path.glob("SIG*")) == ["SIGKILL", "SIGSTOP"]
    assert state.curve == expected.curve
    assert state.outcomes == expected.outcomes
    assert state.chosen is not None
    assert expected.chosen is not None
    assert state.chosen.script() == expected.chosen.script()
    assert len({row.program for row in rows}) == state.trials


def test_a_scheduler_that_runs_already_is_used(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The workers with the resource measure; without any, or without a scheduler, the command says so within seconds."""
    (tmp_path / "a.tvms").write_text("#tvms 1" + ROWS, encoding="utf-8")
    command = ["tune", str(tmp_path / "a.tvms"), "--db", str(tmp_path / "a.db"), "--scheduler"]
    options = {
        "processes": False,
        "n_workers": 1,
        "threads_per_worker": 2,
        "protocol": "tcp",
        "dashboard_address": "127.0.0.1:0",
    }
    with LocalCluster(**options, resources={RESOURCE: 1}) as cluster:
        runner = DaskRunner(cluster.scheduler_address, factory=partial(SimulatedRunner, 1))
        state = tuned(ROWS, PLAN, runner).states[0]
        runner.close()
    assert state.curve == tuned(ROWS, PLAN, SimulatedRunner(failures=1)).states[0].curve
    with pytest.MonkeyPatch.context() as patch, LocalCluster(**options) as cluster:
        patch.setattr("tvms.codegen.tuner.cluster._CONNECTING", 0.5)
        assert main([*command, cluster.scheduler_address]) == 1
        help = f"dask worker {cluster.scheduler_address} --nthreads 1 --resources device=1"
        assert capsys.readouterr().err == (
            f"error[E1104]: the scheduler has no worker with the resource 'device'\n  = help: start one: {help}\n"
        )
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("tvms.codegen.tuner.cluster._CONNECTING", 0.5)
        for address, reason in (
            ("tcp://127.0.0.1:9", "Timed out trying to connect"),
            ("http://a:1", "unknown address scheme"),
        ):
            assert main([*command, address]) == 1
            assert f"error[E1104]: the scheduler '{address}' cannot be reached: {reason}" in capsys.readouterr().err


def test_machines_of_other_kinds_are_refused() -> None:
    """A measurement is never stored for a machine on which it was not made."""
    with pytest.raises(TvmsError, match=r"a worker has another processor: llvm .*, not llvm .64 B vectors.") as caught:
        measure_part(Workload("key", "", b"", "llvm", 1), None, "llvm [64 B vectors, L1 1 KiB]", SimulatedRunner)
    assert caught.value.diagnostics[0].code == "E1104"
