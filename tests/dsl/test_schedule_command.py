"""`tvms schedule`."""

from __future__ import annotations

from pathlib import Path

import pytest
from tvms.dsl.cli import main

SAMPLES = Path(__file__).parent.parent.parent / "samples"
FILE = """\
#tvms 1

T.prim_func add_one(A: T.Buffer((64, 32), "float32"), B: T.Buffer((64, 32), "float32")):
    # Rows.
    for i, j in T.grid(64, 32):
        with T.block("B"):
            vi, vj = T.axis.remap("SS", [i, j])
            B[vi, vj] = A[vi, vj] + 1.0

S.schedule tiled(add_one):
    i, j = S.get_loops("B")
    i0, i1 = S.split(i, factors=[None, 16])
    S.reorder(i0, j, i1)
    S.vectorize(i1)
    S.parallel(i0)
"""


@pytest.fixture
def file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    monkeypatch.chdir(tmp_path)
    Path("add.tvms").write_text(FILE, encoding="utf-8")
    return "add.tvms"


def test_prints_the_scheduled_module(file: str, capfd: pytest.CaptureFixture[str]) -> None:
    assert main(["schedule", file]) == 0
    assert (
        capfd.readouterr().out
        == """\
#tvms 1

T.prim_func add_one(A: T.Buffer((64, 32), "float32"), B: T.Buffer((64, 32), "float32")):
    # Rows.
    for i_0 in T.parallel(4):
        for j in range(32):
            for i_1 in T.vectorized(16):
                with T.block("B"):
                    vi = T.axis.spatial(64, i_0 * 16 + i_1)
                    vj = T.axis.spatial(32, j)
                    T.reads(A[vi, vj])
                    T.writes(B[vi, vj])
                    B[vi, vj] = A[vi, vj] + 1.0
"""
    )


def test_says_what_each_step_bought(file: str, capfd: pytest.CaptureFixture[str]) -> None:
    assert main(["schedule", file, "--explain"]) == 0
    assert capfd.readouterr().out.endswith(
        """\
            B[vi, vj] = A[vi, vj] + 1.0

S.schedule tiled(add_one):
    i, j = S.get_loops("B")
    i0, i1 = S.split(i, factors=[None, 16])
    # B: i_0 4 [4 KiB] · i_1 16 [256 B] · j 32 [8 B]
    S.reorder(i0, j, i1)
    # B: i_0 4 [4 KiB] · j 32 [128 B] · i_1 16 [8 B]
    S.vectorize(i1)
    # B: vectors of 16 float32: 512 bits
    S.parallel(i0)
    # B: 4 iterations of i_0 in parallel
    # in machine code: line 8: vector store to 'B' is a scatter: 16 lanes 32 elements apart
    # in machine code: line 8: vector load of 'A' is a gather: 16 lanes 32 elements apart
"""
    )


def test_stops_at_a_line_and_writes_a_file(file: str, capfd: pytest.CaptureFixture[str]) -> None:
    assert main(["schedule", file, "--apply", "tiled", "--until", "12", "-o", "out.tvms"]) == 0
    assert capfd.readouterr().out == ""
    assert "for i_0, i_1, j in T.grid(4, 16, 32):" in Path("out.tvms").read_text(encoding="utf-8")


def test_wants_a_schedule_that_exists(file: str, capfd: pytest.CaptureFixture[str]) -> None:
    assert main(["schedule", file, "--apply", "tyled"]) == 2
    assert (
        capfd.readouterr().err == "error[E0814]: 'add.tvms' has no schedule 'tyled'\n  = help: did you mean 'tiled'?\n"
    )


def test_refusals_are_findings(file: str, capfd: pytest.CaptureFixture[str]) -> None:
    text = FILE.replace("S.vectorize(i1)", "S.split(i1, factors=[3, 5])")
    Path(file).write_text(text, encoding="utf-8")
    assert main(["schedule", file]) == 1
    first = "error[E0508]: argument 2, 'factors' to split: loop 'i_1' has 16 iterations, more than 15"
    assert capfd.readouterr().err.startswith(f"{first}\n   --> add.tvms:14:25\n")


def test_compile_applies_the_schedule_of_its_target(file: str, capfd: pytest.CaptureFixture[str]) -> None:
    assert main(["run", file, "--verify"]) == 0
    assert "agrees with the interpreter" in capfd.readouterr().out
    Path(file).write_text(FILE.replace("S.parallel(i0)", "S.parallel(i)"), encoding="utf-8")
    assert main(["compile", file]) == 1
    assert capfd.readouterr().err.startswith(
        "error[E0503]: argument 1, 'loop' to parallel: the loop that was loop 1 of the get_loops at line 11"
    )


def test_what_is_explained_is_the_same_program(file: str, capfd: pytest.CaptureFixture[str]) -> None:
    assert main(["schedule", file]) == 0
    scheduled = capfd.readouterr().out
    assert main(["schedule", file, "--explain"]) == 0
    Path(file).write_text(capfd.readouterr().out, encoding="utf-8")
    assert main(["check", file]) == 0
    capfd.readouterr()
    assert main(["schedule", file]) == 0
    assert capfd.readouterr().out == scheduled


@pytest.mark.parametrize("name", ["07_schedule", "08_gpu_matmul", "09_gpu_transpose", "10_gpu_softmax"])
def test_explained_samples_are_programs(name: str, tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    assert main(["schedule", str(SAMPLES / f"{name}.tvms"), "--explain"]) == 0
    explained = tmp_path / "explained.tvms"
    explained.write_text(capfd.readouterr().out, encoding="utf-8")
    assert main(["check", str(explained)]) == 0


@pytest.mark.parametrize(
    ("step", "refused", "last"),
    [
        (
            "S.vectorize(i1)",
            "S.split(i1, factors=[3, 5])",
            "    S.reorder(i0, j, i1)\n    # B: i_0 4 [4 KiB] · j 32 [128 B] · i_1 16 [8 B]\n",
        ),
        ('i, j = S.get_loops("B")', 'i, j = S.get_loops("none")', "S.schedule tiled(add_one):\n    pass\n"),
    ],
)
def test_explains_the_steps_before_one_that_is_refused(
    step: str, refused: str, last: str, file: str, capfd: pytest.CaptureFixture[str]
) -> None:
    Path(file).write_text(FILE.replace(step, refused), encoding="utf-8")
    assert main(["schedule", file, "--explain"]) == 1
    output, errors = capfd.readouterr()
    assert output.endswith(last)
    assert errors.startswith("error[E05")
    Path(file).write_text(output, encoding="utf-8")
    assert main(["check", file]) == 0


TWO_TARGETS = FILE.replace("tiled(add_one)", 'tiled(add_one, target="llvm")') + (
    '\nS.schedule bound(add_one, target="cuda"):\n'
    '    i, j = S.get_loops("B")\n'
    '    S.bind(i, "blockIdx.x")\n'
    '    S.bind(j, "threadIdx.x")\n'
)


def test_chooses_by_target(file: str, capfd: pytest.CaptureFixture[str]) -> None:
    Path(file).write_text(TWO_TARGETS, encoding="utf-8")
    assert main(["schedule", file]) == 1
    error = capfd.readouterr().err
    assert error.startswith("error[E0529]: function 'add_one' has schedules for two targets\n")
    assert "  = help: choose one with --target or --apply\n" in error
    assert main(["schedule", file, "--target", "cuda"]) == 0
    assert 'thread="threadIdx.x"' in capfd.readouterr().out
    assert main(["schedule", file, "--target", "llvm -mcpu=skylake"]) == 0
    assert "T.vectorized(16)" in capfd.readouterr().out
