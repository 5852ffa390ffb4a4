"""A long run goes on where it was broken off, past failures and batches that kill their process."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))
import long_run
from tvms.testing.campaign import Batch, Failure


def test_a_run_goes_on_until_all_examples_are_checked(tmp_path: Path) -> None:
    long_run.run_apart(tmp_path, "texts", 120, 5, 0.0)
    assert long_run.left(long_run.state_of(tmp_path, "texts", 120, 5)) == [1]
    long_run.run_apart(tmp_path, "texts", 120, 5, 0.0)
    assert long_run.report(tmp_path, "texts", 120, 5) == "texts: 120 of 120 examples, 0 discarded, 0 failures"


def test_failures_are_kept_and_counted(tmp_path: Path) -> None:
    state = long_run.state_of(tmp_path, "texts", 300, 5)
    failure = Failure("R.function main():\n    return R.tuple()\n", "AssertionError: one\ntwo", 0.1)
    long_run.finish(tmp_path, state, Batch(1, checked=7, started=8, failure=failure))
    text = (tmp_path / "texts_1.tvms").read_text()
    assert text.startswith("# law: texts, seed 5, batch 1\n# AssertionError: one\n# two\nR.function main():\n")
    assert long_run.report(tmp_path, "texts", 300, 5) == (
        "texts: 7 of 300 examples, 0 discarded, 1 failures: texts_1.tvms"
    )


def test_a_batch_that_kills_its_process_counts_as_a_failure(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def killed(*_: object, **__: object) -> subprocess.CompletedProcess[str]:
        (tmp_path / "texts.running").write_text("2")
        return subprocess.CompletedProcess([], -11, "", "a fault")

    monkeypatch.setattr(subprocess, "run", killed)
    long_run.run_apart(tmp_path, "texts", 300, 5, 0.0)
    assert long_run.left(long_run.state_of(tmp_path, "texts", 300, 5)) == [0, 1]
    assert (tmp_path / "texts_2.txt").read_text() == "ended with exit code -11\na fault"
    assert (
        long_run.report(tmp_path, "texts", 300, 5) == "texts: 0 of 300 examples, 0 discarded, 1 failures: texts_2.txt"
    )


def test_laws_may_follow_the_options(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(sys, "argv", ["long_run.py", str(tmp_path), "--n", "300", "--report", "texts", "format"])
    long_run.main()
    assert capsys.readouterr().out == (
        "texts: 0 of 300 examples, 0 discarded, 0 failures\nformat: 0 of 300 examples, 0 discarded, 0 failures\n"
    )
