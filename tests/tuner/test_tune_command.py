"""`tvms tune` and `tvms db`, on files."""

from __future__ import annotations

import json
import re
from functools import partial
from pathlib import Path

import numpy as np
import pytest
import tvms
from tvms.codegen.tuner.database import Database
from tvms.dsl.cli import main

from tests.tuner.workloads import MATMUL, SMALL, SPACE, SimulatedRunner

COMMENT = "# The product.\n"


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (tmp_path / "a.tvms").write_text("#tvms 1\n" + COMMENT + (MATMUL + SPACE).lstrip(), encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture
def measured(folder: Path) -> Path:
    """A folder whose file has a small product, to be measured."""
    (folder / "a.tvms").write_text("#tvms 1\n" + COMMENT + (SMALL + SPACE).lstrip(), encoding="utf-8")
    return folder


def test_a_file_is_tuned_and_compiled_with_the_result(measured: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Without --write the file stays as it is; the database serves compilations."""
    before = (measured / "a.tvms").read_text(encoding="utf-8")
    assert main(["tune", "a.tvms", "--trials", "6", "--threads", "1", "--json"]) == 0
    (task,) = json.loads(capsys.readouterr().out)["tasks"]
    assert (task["functions"], task["trials"]) == (["matmul"], 6)
    assert task["outcomes"]["ok"] >= 1
    assert (measured / "a.tvms").read_text(encoding="utf-8") == before
    with Database("tvms-tuning.db", read_only=True) as database:
        assert len(database.records()) >= 6
    call = tvms.compile(tvms.parse("#tvms 1\n" + SMALL), database="tvms-tuning.db", threads=1)["matmul"]
    a, b = np.random.default_rng(0).random((2, 16, 16), np.float32) - 0.5
    c = np.zeros((16, 16), np.float32)
    call(a, b, c)
    np.testing.assert_allclose(c, a @ b, rtol=1e-4, atol=1e-5)


def test_a_space_without_schedules_is_told(measured: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A space of the file of which every draw is refused is named with the reason, although the default space has schedules."""
    text = (measured / "a.tvms").read_text(encoding="utf-8")
    (measured / "a.tvms").write_text(text.replace("S.vectorize(j1)", "S.vectorize(k)"), encoding="utf-8")
    assert main(["tune", "a.tvms", "--trials", "8", "--threads", "1"]) == 0
    shown = " ".join(capsys.readouterr().out.split())
    assert "space 'space': every draw was refused: argument 1, 'loop' to vectorize: it is in 'vk' of" in shown


@pytest.mark.parametrize("name", ["curves.svg", "curves.png"])
def test_the_curves_of_a_run_are_drawn(folder: Path, name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """The plot of the same run is the same file, but for the times; an earlier file is replaced."""
    pytest.importorskip("matplotlib", reason="needs matplotlib (extra tune)")
    monkeypatch.setattr("tvms.codegen.tuner.runner.LocalRunner", SimulatedRunner)
    (folder / name).write_text("earlier", encoding="utf-8")
    assert main(["tune", "a.tvms", "--trials", "6", "--plot", name]) == 0
    data = (folder / name).read_bytes()
    assert data.startswith(b"<?xml" if name.endswith(".svg") else b"\x89PNG")
    assert len(data) > 5000


def test_what_a_plot_needs_is_checked_before_the_search(
    folder: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nothing is measured if the plot could not be written."""
    assert main(["tune", "a.tvms", "--plot", "curves.bmp"]) == 2
    assert "--plot curves.bmp: expected a name that ends in .svg or .png\n" in capsys.readouterr().err
    monkeypatch.setattr("tvms.dsl.cli.tuning_view.find_spec", lambda name: None)
    assert main(["tune", "a.tvms", "--plot", "curves.svg"]) == 2
    assert capsys.readouterr().err == (
        "error[E0812]: tvms tune --plot needs matplotlib, which is not installed\n"
        "  = help: pip install 'tvms-lang[tune]'\n"
    )
    assert not (folder / "tvms-tuning.db").exists()


def test_the_best_schedule_is_written_once(
    folder: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """A later run replaces the schedule that an earlier one added; everything else in the file stays."""
    before = (folder / "a.tvms").read_text(encoding="utf-8")
    texts: list[str] = []
    for offset, gain in ((0.5, "[12]"), (0.001, "[0-9]+")):
        monkeypatch.setattr("tvms.codegen.tuner.runner.LocalRunner", partial(SimulatedRunner, offset=offset))
        assert main(["tune", "a.tvms", "--trials", "6", "--write", "--db", f"{offset}.db"]) == 0
        assert "a.tvms: added matmul_tuned\n" in capsys.readouterr().out
        texts.append((folder / "a.tvms").read_text(encoding="utf-8"))
        added = texts[-1].removeprefix(before)
        assert re.match(
            r'\n    S\.schedule matmul_tuned\(matmul, target="llvm"\):\n'
            rf"        # Tuned: .* to .*, {gain}\.\d\d times as fast, 6 trials, llvm\n",
            added,
        )
        assert texts[-1].count("S.schedule matmul_tuned") == 1
    assert texts[0] != texts[1]
    assert main(["check", "a.tvms"]) == 0
    assert main(["schedule", "a.tvms"]) == 0


@pytest.mark.usefixtures("measured")
def test_a_database_is_listed_copied_and_checked(capsys: pytest.CaptureFixture[str]) -> None:
    """What is exported can be imported, once."""
    assert main(["tune", "a.tvms", "--trials", "4", "--threads", "1"]) == 0
    capsys.readouterr()
    assert main(["db", "list"]) == 0
    listed = capsys.readouterr().out
    key = listed[:16]
    assert re.match(r"[0-9a-f]{16}  \d+ measurements, best [\d.]+ times as fast as the baseline  llvm \[", listed)
    assert main(["db", "show", key[:6]]) == 0
    assert "S.schedule candidate(main" in capsys.readouterr().out
    assert main(["db", "export", "a.jsonl"]) == 0
    with Database("tvms-tuning.db", read_only=True) as database:
        count = len(database.records())
    assert main(["db", "import", "a.jsonl", "--db", "b.db"]) == 0
    assert main(["db", "import", "a.jsonl", "--db", "b.db"]) == 0
    assert capsys.readouterr().out == (
        f"b.db: added {count} measurements, 0 were known\nb.db: added 0 measurements, {count} were known\n"
    )
    assert main(["db", "verify", "--db", "b.db"]) == 0
    assert main(["db", "prune", "--keep", "1", "--db", "b.db"]) == 0
    assert capsys.readouterr().out == (
        f"b.db: {count} measurements, 1 workloads; 0 damaged rows, set aside\nb.db: removed {count - 1} measurements\n"
    )


SYMBOLIC = """#tvms 1
T.prim_func f(a: T.handle):
    n = T.int64()
    A = T.match_buffer(a, (n,))
    for i in range(n):
        with T.block("fill"):
            vi = T.axis.spatial(n, i)
            A[vi] = T.float32(1)
"""
WRONG = [
    (
        ["tune", "f.tvms"],
        "error[E1101]: nothing was measured: its sizes are symbolic; give them with --dim n=N\n"
        "  = help: mend that, or name other functions with --func",
    ),
    (
        ["tune", "f.tvms", "--func", "g"],
        "error[E0102]: the module has no loop function 'g'\n  = help: the loop functions are f",
    ),
    (
        ["tune", "f.tvms", "--time", "fast"],
        "error[E0801]: argument --time: expected a time such as 90s, 10m or 2h, got 'fast'\n"
        "  = help: see 'tvms tune --help'",
    ),
    (
        ["db", "list", "--db", "none.db"],
        "error[E1102]: the database 'none.db' does not exist\n  = help: make one with tvms tune FILE --db PATH",
    ),
    (
        ["db", "import", "f.tvms", "--db", "new.db"],
        "error[E1102]: line 1 of 'f.tvms' is not a row: JSON is malformed: invalid character (byte 0)\n"
        "  = note: nothing was imported\n  = help: write such a file with tvms db export",
    ),
    (["db", "show"], "error[E0801]: tvms db show needs an argument\n  = help: see tvms db --help"),
]


@pytest.mark.parametrize(("arguments", "message"), WRONG)
def test_wrong_commands(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    arguments: list[str],
    message: str,
) -> None:
    """Each mistake has its message."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "f.tvms").write_text(SYMBOLIC, encoding="utf-8")
    assert main(arguments) in (1, 2)
    assert message in capsys.readouterr().err
