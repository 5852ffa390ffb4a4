"""The commands that write files: `fmt` and `convert`."""

from __future__ import annotations

import io
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
import tvms
from msgspec.structs import replace
from safetensors.numpy import save_file
from tvms import relax
from tvms.dsl.cli import main

UGLY = "# top\nT.prim_func f( ) :\n  T.evaluate( 0 )#c\n"
NEAT = "# top\nT.prim_func f():\n    T.evaluate(0)  #c\n"
SAMPLES = Path(__file__).parent.parent.parent / "samples"


def test_fmt_rewrites_files_and_says_so(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    ugly, neat = tmp_path / "ugly.tvms", tmp_path / "neat.tvms"
    ugly.write_text(UGLY)
    ugly.chmod(0o640)
    neat.write_text(NEAT)
    link = tmp_path / "link.tvms"
    link.symlink_to(ugly)
    assert main(["fmt", "--check", str(ugly), str(neat)]) == 1
    assert capsys.readouterr().err == f"would reformat {ugly}\n1 file would be reformatted, 1 left unchanged\n"
    assert ugly.read_text() == UGLY
    assert main(["fmt", str(link), str(neat)]) == 0
    assert capsys.readouterr().err == "1 file reformatted, 1 left unchanged\n"
    assert (ugly.read_text(), neat.read_text()) == (NEAT, NEAT)
    assert link.is_symlink()
    assert ugly.stat().st_mode & 0o777 == 0o640
    assert sorted(path.name for path in tmp_path.iterdir()) == ["link.tvms", "neat.tvms", "ugly.tvms"]


def test_fmt_keeps_line_ends_of_windows(tmp_path: Path) -> None:
    file = tmp_path / "windows.tvms"
    file.write_bytes(UGLY.replace("\n", "\r\n").encode())
    assert main(["fmt", str(file)]) == 0
    assert file.read_bytes() == NEAT.replace("\n", "\r\n").encode()


def test_fmt_shows_the_difference(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "ugly.tvms"
    file.write_text(UGLY)
    assert main(["fmt", "--diff", str(file)]) == 1
    assert "-T.prim_func f( ) :\n" in (printed := capsys.readouterr().out)
    assert "+T.prim_func f():\n" in printed
    assert file.read_text() == UGLY


def test_fmt_leaves_a_file_with_a_mistake_alone(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    broken = tmp_path / "broken.tvms"
    broken.write_text("T.prim_func f( :\n  pass\n")
    assert main(["fmt", str(broken)]) == 2
    assert "error[E0009]" in capsys.readouterr().err
    assert broken.read_text() == "T.prim_func f( :\n  pass\n"


def test_fmt_is_a_filter(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(UGLY.encode())))
    assert main(["fmt", "-", "--stdin-filename", "name.tvms"]) == 0
    captured = capsys.readouterr()
    assert (captured.out, captured.err) == (NEAT, "")
    assert main(["fmt", "a.tvms", "--stdin-filename", "name.tvms"]) == 2


def test_convert_makes_the_same_tree_in_another_dialect(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    there, back = tmp_path / "there", tmp_path / "back"
    assert main(["convert", str(SAMPLES), "--to", "tvm-0.27", "-o", str(there)]) == 0
    assert main(["convert", str(there), "--to", "tvms", "-o", str(back)]) == 0
    for path in SAMPLES.glob("*.tvms"):
        assert tvms.structural_equal(replace(tvms.load(path), schedules={}), tvms.load(back / path.name))
    assert main(["convert", str(SAMPLES), "--to", "tvms"]) == 2
    assert capsys.readouterr().err.endswith("error[E0801]: several files need -o FOLDER, or --in-place\n")


def test_convert_says_what_it_leaves_out(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    source = str(SAMPLES / "07_schedule.tvms")
    assert main(["convert", source, "--to", "tvm-0.21", "-o", str(tmp_path / "matmul.py")]) == 0
    assert capsys.readouterr().err == (
        "warning[E0816]: schedule 'tiled' is omitted: tvm-0.21 has no syntax for schedules\n1 file read\n"
    )


def test_convert_takes_the_tensors_of_the_sidecar_along(tmp_path: Path) -> None:
    weights = np.arange(4096, dtype="float32").reshape(64, 64)
    builder = relax.BlockBuilder()
    x = relax.Var("x", relax.TensorStructInfo((64, 64), "float32"))
    with builder.function("main", [x]):
        builder.emit_func_output(builder.emit(relax.op.add(x, relax.const(weights))))
    there, back = str(tmp_path / "there.tvms"), str(tmp_path / "back.tvms")
    tvms.save(builder.get(), there)
    assert main(["convert", there, "--to", "tvms", "-o", back]) == 0
    np.testing.assert_array_equal(tvms.interpret(tvms.load(back), "main", [weights]), weights * 2)


def test_convert_refuses_to_write_two_files_to_one_place(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for folder in ("a", "b"):
        (tmp_path / folder).mkdir()
        (tmp_path / folder / "same.tvms").write_text(NEAT)
    arguments = [str(tmp_path / "a"), str(tmp_path / "b"), "--to", "tvm-0.21", "-o", str(tmp_path / "out")]
    assert main(["convert", *arguments]) == 2
    assert "error[E0810]" in capsys.readouterr().err
    assert not (tmp_path / "out").exists()


def test_round_trip_is_a_user_command(capsys: pytest.CaptureFixture[str]) -> None:
    files = [*sorted(SAMPLES.glob("0*.tvms")), SAMPLES / "notebooks"]  # `test_samples` prints and reads all
    assert main(["check", "--round-trip", *map(str, files)]) == 0
    assert capsys.readouterr().out == f"{len(files)} files checked: no errors\n"


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["chek", "a.tvms"], "help: did you mean 'check'?\n"),
        (["fmt", "--line-length", "-3", "a.tvms"], "expected an integer of at least 1, got '-3'\n  = help: see 'tvms fmt --help'\n"),
        (["check", "-", "-"], "error[E0801]: '-' is given twice\n  = help: name standard input only once\n"),
    ],
    ids=["a command", "a number", "standard input twice"],
)  # fmt: skip
def test_command_lines_that_are_wrong(arguments: list[str], said: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(arguments) == 2
    assert capsys.readouterr().err.endswith(said)


def test_lines_that_a_carriage_return_ends_are_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "old.tvms"
    path.write_bytes(NEAT.replace("\n", "\r").encode())
    assert main(["fmt", str(path)]) == 2
    said = f"error[E0020]: line 1 of '{path}' ends with a carriage return alone\n"
    assert capsys.readouterr().err.startswith(said)
    assert b"\n" not in path.read_bytes()


@pytest.mark.parametrize(
    ("redirection", "code", "said"),
    [
        ("> /dev/full", 2, "error[E0802]: cannot write to standard output: No space left on device\n  = help: free some space, or write elsewhere\n"),
        (">&-", 0, ""),
        ("2>&-", 0, ""),
        ("- <&-", 2, "error[E0001]: standard input is closed\n  = help: name a file, or redirect a text to it\n"),
    ],
)  # fmt: skip
def test_streams_that_are_closed_or_full(redirection: str, code: int, said: str) -> None:
    path = "" if redirection.startswith("-") else str(SAMPLES / "01_elementwise_add.tvms")
    command = f"'{sys.executable}' -m tvms.dsl.cli print {path} {redirection}"
    result = subprocess.run(["sh", "-c", command], capture_output=True, text=True, timeout=60, check=False)
    assert (result.returncode, result.stderr) == (code, said)


SUM = """\
R.function main(x: R.Tensor((%d,), "float32")) -> R.Tensor((%d,), "float32"):
    y = R.add(x, R.const([%s], "float32"))
    return y
"""


def test_small_tensors_are_part_of_a_text_without_a_file_beside_it(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "sum.tvms"
    path.write_text(SUM % (2, 2, "1.0, -2.5"))
    for dialect in ("tvm-0.21", "tvm-0.27"):
        assert main(["print", str(path), "--dialect", dialect]) == 0
        text = capsys.readouterr().out
        assert 'R.const([1.0, -2.5], "float32")' in text
        assert tvms.structural_equal(tvms.parse(text), tvms.load(path))
    path.write_text(SUM % (40, 40, ", ".join(["1.0"] * 40)))
    assert main(["print", str(path), "--dialect", "tvm-0.27"]) == 0
    assert (
        capsys.readouterr().err
        == """\
warning[E0816]: 1 tensor of the module is not part of the text
  = help: write a file with -o: it gets a .safetensors file beside it
"""
    )


OUTPUTS = {
    "print": [], "compile": ["--emit", "llvm"], "schedule": [], "convert": ["--to", "tvm-0.27"], "view": [],
    "opt": ["--passes", "LegalizeOps"],
}  # fmt: skip
"""Commands that write a text to the path `-o`, with the other options that they need."""


@pytest.mark.parametrize("command", OUTPUTS)
def test_a_dash_is_standard_output(
    command: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    assert main([command, str(SAMPLES / "07_schedule.tvms"), *OUTPUTS[command], "-o", "-"]) == 0
    assert capsys.readouterr().out.count("\n") > 10
    assert not list(tmp_path.iterdir())


def test_a_text_of_standard_input_has_the_tensors_beside_its_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    text = 'R.function main(x: R.Tensor((2,), "float32")):\n    return R.add(x, I.constant("w"))\n'
    save_file({"w": np.ones(2, "float32")}, tmp_path / "model.safetensors")
    name = ["--stdin-filename", str(tmp_path / "model.tvms")]
    for command in (["run"], ["compile"], ["print"], ["view", "-o", "-"]):
        monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(text.encode())))
        assert main([*command, "-", *name]) == 0, capsys.readouterr().err
        assert main([*command, "file.tvms", *name]) == 2
    assert "--stdin-filename requires the path '-'" in capsys.readouterr().err
