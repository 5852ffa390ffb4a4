"""The laws hold on a fixed set of examples; `tvms fuzz` reports its work and saves failures."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from tvms.dsl.cli import main
from tvms.dsl.cli.fuzz_command import compiled
from tvms.ir import tir
from tvms.ir.base import Source
from tvms.testing.campaign import Total, read_state, run_batch
from tvms.testing.laws import LAWS, find_law

EXAMPLES = {"codegen": 30, "gpu": 3, "memory": 4, "format": 4, "simplify": 50}
"""Numbers of examples of slow and fast laws."""
REGRESSIONS = sorted(Path(__file__).parents[1].glob("cases/regressions/*.tvms"))


@pytest.mark.parametrize("name", LAWS)
def test_a_law_holds(name: str) -> None:
    batch = run_batch(name, None, 20260101, 0, EXAMPLES.get(name, 8), compiled)
    assert batch.failure is None
    assert batch.checked > 0


@pytest.mark.parametrize("path", REGRESSIONS, ids=lambda path: path.name)
def test_what_failed_once_holds(path: Path) -> None:
    text = path.read_text(encoding="utf-8")
    name = text.removeprefix("# law: ").partition("\n")[0].partition(",")[0]
    law = find_law(name)
    law.check(law.read(Source(str(path), text)), compiled)


def test_a_seed_gives_the_same_examples() -> None:
    one, other = (run_batch("verify", None, 7, 0, 10, compiled) for _ in range(2))
    assert one.constructs == other.constructs
    assert run_batch("verify", None, 8, 0, 10, compiled).constructs != one.constructs


def test_a_failure_is_shrunk_shown_and_kept(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    from tvms.dsl.testing.laws import simplify

    monkeypatch.setattr(simplify, "simplify", lambda expr, domains: tir.IntImm(expr.dtype, 1))
    assert main(["fuzz", "simplify", "--n", "50", "--seed", "1", "--save", str(tmp_path)]) == 1
    said = capsys.readouterr().out
    assert "which is 1, not 0" in said
    path = tmp_path / "simplify_1.tvms"
    assert f"saved as {path}; reproduce with: tvms fuzz simplify {path}" in said
    assert path.read_text().startswith("# law: simplify, seed 1\n")


def test_a_run_goes_on_where_it_was(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    state = tmp_path / "state.json"
    command = ["fuzz", "simplify", "--n", "150", "--seed", "3", "--state", str(state)]
    assert main(command) == 0
    first = capsys.readouterr().out
    assert re.fullmatch(
        r"simplify: 150 examples in \d+\.\d s \(\d+/s\), \d+ discarded, \d+ constructs, seed 3\n", first
    )
    assert main(command) == 0
    assert capsys.readouterr().out == first  # all batches were done
    total, done = read_state(state, "simplify  --n 150 --seed 3")
    assert (total.checked, done) == (150, {0, 1})


def test_examples_that_are_not_what_they_should_be_fail_the_run() -> None:
    total = Total(checked=5000, started=10000, constructs={"Add": 1})
    assert total.faults(frozenset({"Add", "Mul"})) == [
        "50% of the examples were discarded, more than 20%",
        "never met: Mul",
    ]


def test_a_file_is_fuzzed(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "copy.tvms"
    path.write_text(
        'T.prim_func main(A: T.Buffer((4,), "float32"), B: T.Buffer((4,), "float32")):\n'
        "    for i in range(4):\n        B[i] = A[i]\n"
    )
    assert main(["fuzz", "codegen", str(path), "--n", "5", "--seed", "1"]) == 0
    assert main(["fuzz", "parse", str(path), "--n", "20", "--seed", "1"]) == 0


def test_a_law_that_does_not_exist(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["fuzz", "gravity"]) == 2
    assert capsys.readouterr().err == (
        f"error[E0813]: there is no law 'gravity'\n  = help: choose one of: {', '.join(LAWS)}\n"
    )
    assert main(["fuzz"]) == 0
    assert all(name in capsys.readouterr().out for name in ("parse",))
