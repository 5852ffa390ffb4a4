"""`tvms opt`: passes by name from the command line."""

from __future__ import annotations

from pathlib import Path

import pytest
from tvms.dsl.cli import main

PERCEPTRON = str(Path(__file__).parents[2] / "samples" / "04_perceptron.tvms")


def test_passes_run_and_the_module_is_printed(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["opt", PERCEPTRON, "--passes", "LegalizeOps, LegalizeOps()", "--verify-each", "--timing"]) == 0
    out, err = capsys.readouterr()
    assert "R.call_tir(Module.matmul" in out or "R.call_tir(cls.matmul" in out
    assert [line.split(":")[0] for line in err.splitlines()] == ["sequential", "  LegalizeOps", "  LegalizeOps"]


def test_all_passes_are_listed(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["opt", "--list"]) == 0
    assert "\nLegalizeOps  " in capsys.readouterr().out


@pytest.mark.parametrize(
    ("passes", "message"),
    [
        ("A B", "error[E0811]: --passes 'A B' is not a list of passes"),
        ("f(g)", "error[E0811]: --passes 'f(g)' is not a list of passes"),
        ("a.b", "error[E0811]: --passes 'a.b' is not a list of passes"),
        ("A]+[B", "error[E0811]: --passes 'A]+[B' is not a list of passes"),
        ("legalize_ops", "error[E0903]: unknown pass 'legalize_ops'"),
        ("LegalizeOps(level=1)", "error[E0105]: LegalizeOps: unknown argument 'level'"),
    ],
)
def test_a_wrong_list_is_said(passes: str, message: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["opt", PERCEPTRON, "--passes", passes]) in (1, 2)
    out, err = capsys.readouterr()
    assert (out, err.splitlines()[0]) == ("", message)


def test_without_passes_the_usage_is_shown(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["opt", PERCEPTRON]) == 2
    assert "expected a file and --passes, or --list" in capsys.readouterr().err
