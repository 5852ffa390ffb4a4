"""The laws hold on a fixed set of examples; `tvms fuzz` reports its work and saves failures."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest
from tvms.dsl.cli import main
from tvms.dsl.cli.fuzz_command import compiled
from tvms.ir import tir
from tvms.ir.base import Source
from tvms.ir.diagnostics import TvmsError
from tvms.testing.campaign import Total, begin, run_batch
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
    path = tmp_path / "state.json"
    command = ["fuzz", "simplify", "--n", "150", "--state", str(path)]
    assert main([*command, "--seed", "3"]) == 0
    first = capsys.readouterr().out
    assert re.fullmatch(
        r"simplify: 150 examples in \d+\.\d s \(\d+/s\), \d+ discarded, \d+ constructs, seed 3\n", first
    )
    for again in ([*command, "--seed", "3"], command):  # the state has the seed
        assert main(again) == 0
        assert capsys.readouterr().out == first  # all batches were done
    state = begin(path, "simplify", 150, None, "", "")
    assert (state.total.checked, state.done, state.seed) == (150, {0, 1}, 3)


@pytest.mark.parametrize(
    ("law", "n", "seed", "file", "text", "reason"),
    [
        ("simplify", 150, 4, "a", "x", "'{0}' holds the state of `tvms fuzz simplify a --n 150 --seed 3`, not of `tvms fuzz simplify a --n 150 --seed 4`"),
        ("simplify", 200, None, "a", "x", "'{0}' holds the state of `tvms fuzz simplify a --n 150 --seed 3`, not of `tvms fuzz simplify a --n 200 --seed 3`"),
        ("passes", 150, None, "a", "x", "'{0}' holds the state of `tvms fuzz simplify a --n 150 --seed 3`, not of `tvms fuzz passes a --n 150 --seed 3`"),
        ("simplify", 150, 3, "", "", "'{0}' holds the state of `tvms fuzz simplify a --n 150 --seed 3`, not of `tvms fuzz simplify --n 150 --seed 3`"),
        ("simplify", 150, None, "a", "y", "'a' has changed since '{0}' was written"),
    ],
)  # fmt: skip
def test_a_run_does_not_go_on_with_other_examples(
    law: str, n: int, seed: int | None, file: str, text: str, reason: str, tmp_path: Path
) -> None:
    path = tmp_path / "state.json"
    begin(path, "simplify", 150, 3, "a", "x").write(path)
    with pytest.raises(TvmsError) as told:
        begin(path, law, n, seed, file, text)
    (found,) = told.value.diagnostics
    assert (found.code, found.message) == ("E0819", reason.format(path))
    assert found.help == "give another file to --state, or delete this one"


@pytest.mark.parametrize("content", [b"", b"[]", b'{"run": "simplify", "total": {}, "done": []}'])
def test_a_file_that_is_no_state_is_kept(content: bytes, tmp_path: Path) -> None:
    path = tmp_path / "notes.json"
    path.write_bytes(content)
    assert main(["fuzz", "simplify", "--n", "1", "--state", str(path)]) == 2
    assert path.read_bytes() == content


def test_a_page_is_not_written_without_runs(tmp_path: Path) -> None:
    script = Path(__file__).with_name("feature_matrix.py")
    done = subprocess.run([sys.executable, str(script), str(tmp_path)], capture_output=True, text=True, check=False)
    assert done.returncode == 1
    assert done.stderr == (
        f"'{tmp_path}' has no states of runs: run `tvms fuzz LAW --state {tmp_path}/LAW.json` for each law first\n"
    )


def test_a_saved_graph_is_checked_with_the_same_passes() -> None:
    law = find_law("each_pass")
    text = """# passes: LegalizeOps, FuseOps, FuseTIR; StaticPlanBlockMemory packed
R.function main(x: R.Tensor((2,), "float32")) -> R.Tensor((2,), "float32"):
    return R.add(x, x)
"""
    example = law.read(Source("saved.tvms", text))
    assert example.chains == (("LegalizeOps", "FuseOps", "FuseTIR"), ("StaticPlanBlockMemory packed",))
    assert law.show(example).startswith("# passes: LegalizeOps, FuseOps, FuseTIR; StaticPlanBlockMemory packed\n")
    assert law.read(Source("saved.tvms", law.show(example))).chains == example.chains


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
