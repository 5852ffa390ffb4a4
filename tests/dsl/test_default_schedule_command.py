"""`tvms schedule FILE --default`: printing default schedules, explaining them, and adding them to the file."""

from __future__ import annotations

from pathlib import Path

import pytest
import tvms
from tvms.dsl.cli import main

FILE = """#tvms 1

# A module with comments.
I.ir_module Module:
    T.prim_func double(A: T.Buffer((64,), "float32"), B: T.Buffer((64,), "float32")):
        for i in range( 64 ):  # not formatted
            with T.block("twice"):
                v = T.axis.spatial(64, i)
                B[v] = A[v] * T.float32(2)
    # The end.
"""
TEXT = """
S.schedule double_default(double, target="llvm"):
    twice = S.get_block("twice")
    S.vector_rows(twice, vector_bytes={bytes})
"""


@pytest.fixture(name="path")
def _path(tmp_path: Path) -> Path:
    path = tmp_path / "double.tvms"
    path.write_text(FILE)
    return path


def _text() -> str:
    from tvms.codegen.target import get_target

    return TEXT.replace("{bytes}", str(get_target("llvm").processor.vector_bytes)).lstrip("\n")


def test_the_text_is_printed(path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["schedule", str(path), "--default"]) == 0
    assert capsys.readouterr().out == _text()
    assert path.read_text() == FILE


def test_the_text_is_added_and_nothing_else_changes(path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["schedule", str(path), "--default", "--write"]) == 0
    indented = "".join([f"    {line}" for line in _text().splitlines(keepends=True)])
    assert path.read_text() == f"{FILE}\n{indented}"
    assert [*tvms.load(path).schedules] == ["double_default"]
    assert main(["schedule", str(path), "--default", "--write"]) == 2
    assert "it has the schedule 'double_default'" in capsys.readouterr().err


def test_steps_and_refusals_are_explained(path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["schedule", str(path), "--default", "--explain"]) == 0
    out = capsys.readouterr().out
    assert out.startswith("# block 'twice': rows\n#   matmul declined: ")
    assert "not scheduled" not in out
    assert "    # Compute consecutive blocks row by row, in vectors" in out
    assert "    # - vector_bytes=" in out
    path.write_text(FILE.replace("A[v] * T.float32(2)", "A[v // 2] + A[63 - v]").replace("B[v] =", "A[v] ="))
    assert main(["schedule", str(path), "--default", "--explain"]) == 0
    assert (
        "#   all declined: iterations of block 'twice' read elements that other iterations store"
        in capsys.readouterr().out
    )


def test_an_unknown_function_is_reported(path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["schedule", str(path), "--default", "--func", "duble"]) == 1
    assert capsys.readouterr().err.startswith("error[E0102]: the module has no loop function 'duble'")


def test_write_needs_default(path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["schedule", str(path), "--write"]) == 2
    assert "--write requires --default" in capsys.readouterr().err


def test_graphs_are_lowered_first(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    sample = Path(__file__).parents[2] / "samples" / "04_perceptron.tvms"
    assert main(["schedule", str(sample), "--default", "-o", str(tmp_path / "out.tvms")]) == 0
    assert {text.function for text in tvms.load(tmp_path / "out.tvms").schedules.values()} >= {
        "dense_bias_relu",
        "dense",
    }
    copy = tmp_path / "copy.tvms"
    copy.write_text(sample.read_text())
    assert main(["schedule", str(copy), "--default", "--write"]) == 2
    assert "graph functions are lowered before the loop functions are scheduled" in capsys.readouterr().err
