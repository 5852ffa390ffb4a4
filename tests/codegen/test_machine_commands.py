"""The commands about machine code: compile, bench, doctor, and run with its settings."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
import tvms
from tvms.dsl.cli import main
from tvms.ir.equal import structural_equal

TEXT = """\
T.prim_func main(A: T.Buffer((8,), "float32"), J: T.Buffer((8,), "int32"), B: T.Buffer((8,), "float32")):
    for i in range(8):
        with T.block("gather"):
            vi = T.axis.spatial(8, i)
            B[vi] = A[J[vi]] * T.float32(2)
"""


@pytest.fixture
def file(tmp_path: Path) -> str:
    path = tmp_path / "gather.tvms"
    path.write_text(TEXT)
    return str(path)


def test_every_kind_is_emitted(file: str, tmp_path: Path) -> None:
    starts = {"tir": b"#tvms 1", "llvm": b"; ModuleID", "obj": b"\x7fELF", "header": b"/* Made by tvms."}
    for kind in ("tir", "llvm", "asm", "obj", "so", "header", "module"):
        output = tmp_path / kind
        assert main(["compile", file, "--emit", kind, "-o", str(output)]) == 0
        assert output.read_bytes().startswith(starts.get(kind, b""))
    lowered = tvms.parse((tmp_path / "tir").read_text())
    assert structural_equal(tvms.parse(lowered.script()), lowered)


def test_a_library_has_its_header_beside_it(file: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    library = tmp_path / "libgather.so"
    assert main(["compile", file, "--emit", "so", "-o", str(library)]) == 0
    assert main(["compile", file, "--emit", "header", "-o", str(tmp_path / "expected.h")]) == 0
    assert library.with_suffix(".h").read_text() == (tmp_path / "expected.h").read_text()
    assert main(["compile", file, "--emit", "so", "-o", str(tmp_path / "gather.h")]) == 2
    assert "the library would replace its header" in capsys.readouterr().err
    assert not (tmp_path / "gather.h").exists()


def test_bench_tells_time_and_rates(file: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["bench", file, "--arg", "J=zeros", "--seconds", "0"]) == 0
    said = capsys.readouterr().out
    for part in ("main, compiled in", "(median; ", "GFLOP/s, ", "GB/s of arguments, "):
        assert part in said


def test_doctor_says_what_there_is(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["doctor"]) == 0
    said = capsys.readouterr().out.splitlines()
    assert [line.split()[0] for line in said if not line.startswith(" ")][:4] == [
        "tvms",
        "processor",
        "LLVM",
        "threads",
    ]
    assert all(len(line) > 12 for line in said)


def test_run_checks_what_is_not_proven(file: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    import numpy as np

    np.save(tmp_path / "bad.npy", np.array([0, 1, 2, 8, 4, 5, 6, 7], "i4"))
    assert main(["run", file, "--arg", f"J={tmp_path / 'bad.npy'}"]) == 1
    assert "error[E0707]: A[8] is outside the buffer: its dimension 0 has 8 elements" in capsys.readouterr().err


def test_measurements_are_compared(file: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    command = ["bench", file, "--arg", "J=zeros", "--seconds", "0"]
    assert main([*command, "--json"]) == 0
    written = capsys.readouterr().out
    found = json.loads(written)
    assert (found["entry"], found["target"], found["argument_bytes"]) == ("main", "llvm", 96)
    assert found["low"] <= found["median"] <= found["high"]
    assert min(found["peak"], found["read_rate"]) > 0
    baseline = tmp_path / "before.json"
    baseline.write_text(written)
    assert main([*command, "--compare", str(baseline)]) == 0
    assert f"  compared with {file}: main: " in capsys.readouterr().out
    baseline.write_text("{}")
    assert main([*command, "--compare", str(baseline)]) == 2
    assert capsys.readouterr() == (
        "",
        f"error[E0809]: '{baseline}' is not a measurement: Object missing required field `file`\n"
        "  = help: write one with tvms bench FILE --json > BASELINE.json\n",
    )
