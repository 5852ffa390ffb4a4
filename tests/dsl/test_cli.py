"""The command line, as a user meets it: exit codes, outputs, files written whole or not at all."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from tvms.dsl.cli import main

SAMPLES = Path(__file__).parent.parent.parent / "samples"
MATMUL = str(SAMPLES / "02_matmul.tvms")
PERCEPTRON = str(SAMPLES / "04_perceptron.tvms")
DYNAMIC = str(SAMPLES / "05_dynamic_batch.tvms")


def test_check_says_nothing_is_wrong(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["check", str(SAMPLES)]) == 0
    captured = capsys.readouterr()
    files = [path for path in SAMPLES.rglob("*") if path.suffix in (".tvms", ".ipynb")]
    assert captured.out == f"{len(files)} files checked: no errors\n"
    assert captured.err == ""


def test_check_distinguishes_findings_from_syntax(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    wrong = tmp_path / "wrong.tvms"
    wrong.write_text('T.prim_func f(A: T.Buffer((4,), "float32")):\n    for i in range(4):\n        A[i] = B[i]\n')
    assert main(["check", str(wrong)]) == 1
    assert "error[E0101]: name 'B' is not defined" in capsys.readouterr().err
    broken = tmp_path / "broken.tvms"
    broken.write_text('T.prim_func f(A: T.Buffer((4,), "float32"):\n    pass\n')
    assert main(["check", str(broken)]) == 2
    assert "error[E00" in capsys.readouterr().err


@pytest.mark.parametrize("name", ["missing.tvms", "folder"])
def test_files_that_cannot_be_read(name: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "folder").mkdir()
    for command in ("print", "run", "compile"):
        assert main([command, str(tmp_path / name)]) == 2
        captured = capsys.readouterr()
        assert captured.err.startswith("error[E0001]: ")
        assert "= help: " in captured.err
        assert captured.out == ""


def test_usage_errors_are_code_2(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["run", MATMUL, "--arg", "A"]) == 2
    assert capsys.readouterr().err == "error[E0801]: --arg A: expected NAME=VALUE\n"
    assert main(["frobnicate"]) == 2
    assert "error[E0801]" in capsys.readouterr().err
    assert main(["run", MATMUL, "--arg", "Z=zeros"]) == 2
    assert capsys.readouterr().err == (
        "error[E0808]: --arg Z: there is no such parameter\n  = help: parameters: A, B, C\n"
    )
    assert main(["run", MATMUL, "--entry", "nothing"]) == 2
    assert capsys.readouterr().err == "error[E0805]: there is no function 'nothing'\n  = help: choose one of: matmul\n"


def test_run_saves_and_reads_arrays(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    a = np.arange(48 * 64, dtype=np.float32).reshape(48, 64) / 1000
    np.save(tmp_path / "a.npy", a)
    arguments = ["--arg", f"A={tmp_path}/a.npy", "--arg", "B=2", "--out", str(tmp_path / "out"), "--verify"]
    assert main(["run", MATMUL, *arguments]) == 0
    output = capsys.readouterr().out
    assert "verify: agrees with the interpreter" in output
    np.testing.assert_allclose(np.load(tmp_path / "out" / "C.npy"), a @ np.full((64, 32), 2, np.float32), rtol=1e-4)


def test_run_refuses_a_wrong_array_and_writes_nothing(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    np.save(tmp_path / "a.npy", np.zeros((3, 3), np.float32))
    assert main(["run", MATMUL, "--arg", f"A={tmp_path}/a.npy", "--out", str(tmp_path / "out")]) == 1
    assert "argument 'A'" in capsys.readouterr().err
    assert not (tmp_path / "out").exists()
    (tmp_path / "a.npy").write_bytes(b"not an array")
    assert main(["run", MATMUL, "--arg", f"A={tmp_path}/a.npy"]) == 2
    assert "error[E0809]" in capsys.readouterr().err


def test_dimensions_come_from_options_and_arrays(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["run", DYNAMIC, "--dim", "n=9", "--verify"]) == 0
    assert "(9, 16)" in capsys.readouterr().out
    np.save(tmp_path / "x.npy", np.zeros((5, 32), np.float32))
    assert main(["run", DYNAMIC, "--arg", f"x={tmp_path}/x.npy", "--verify"]) == 0
    assert "(5, 16)" in capsys.readouterr().out
    assert main(["run", DYNAMIC, "--dim", "m=9"]) == 2
    assert "error[E0807]: --dim m: no parameter has that dimension" in capsys.readouterr().err


def test_same_seed_same_result(capsys: pytest.CaptureFixture[str]) -> None:
    outputs = []
    for seed in ("1", "1", "2"):
        assert main(["run", PERCEPTRON, "--interpret", "--seed", seed]) == 0
        outputs.append([line for line in capsys.readouterr().out.splitlines() if "interpreted" not in line])
    assert outputs[0] == outputs[1] != outputs[2]


@pytest.mark.parametrize(("kind", "magic"), [("llvm", b"define"), ("asm", b".text"), ("obj", b"\x7fELF")])
def test_compile_writes_what_is_asked(kind: str, magic: bytes, tmp_path: Path) -> None:
    output = tmp_path / "result"
    assert main(["compile", MATMUL, "--emit", kind, "-o", str(output)]) == 0
    assert magic in output.read_bytes()


def test_print_reads_standard_input_and_is_a_fixpoint() -> None:
    command = [sys.executable, "-m", "tvms.dsl.cli", "print", "-", "--dialect", "tvm-0.21"]
    text = Path(PERCEPTRON).read_bytes()
    first = subprocess.run(command, input=text, capture_output=True, check=True).stdout
    second = subprocess.run(command, input=first, capture_output=True, check=True).stdout
    assert first == second
    assert b"@R.function" in first


def test_explain_knows_every_code(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["explain", "e0203"]) == 0
    assert capsys.readouterr().out.startswith("E0203: ")
    assert main(["explain", "E0409"]) == 0
    assert capsys.readouterr().out.endswith("E0409 is retired, now E0105\n")
    assert main(["explain", "E9999"]) == 2
    assert "error[E0804]: there is no code 'E9999'" in capsys.readouterr().err


def test_cheap_commands_import_nothing_heavy() -> None:
    script = (
        "import sys, json; from tvms.dsl.cli import main; code = main(sys.argv[1:]);"
        "print(json.dumps([m for m in ('numpy', 'llvmlite', 'rich', 'islpy') if m in sys.modules]))"
    )
    for arguments in (["--help"], ["check", MATMUL]):
        done = subprocess.run([sys.executable, "-c", script, *arguments], capture_output=True, check=True, text=True)
        assert json.loads(done.stdout.splitlines()[-1]) == []


def test_an_internal_error_is_code_3_and_no_traceback(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def fail(arguments: object) -> int:
        raise ZeroDivisionError("planted")

    monkeypatch.setattr("tvms.dsl.cli.check_command.run", fail)
    monkeypatch.delenv("TVMS_DEBUG", raising=False)
    assert main(["check", MATMUL]) == 3
    captured = capsys.readouterr()
    assert captured.err.startswith("internal error: ZeroDivisionError: planted\n  = help: this is a bug in tvms")
