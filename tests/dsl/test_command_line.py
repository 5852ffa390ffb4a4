"""What every subcommand has in common: usage, help, colors, exit codes."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from tvms.dsl.cli import COMMANDS, build_parser, main
from tvms.dsl.cli.choices import Choices

SAMPLES = Path(__file__).parent.parent.parent / "samples"
MATMUL = str(SAMPLES / "02_matmul.tvms")
PERCEPTRON = str(SAMPLES / "04_perceptron.tvms")


def test_choices_come_from_their_owners() -> None:
    """The command line owns only the choices of two options; all others are read from other modules when they are needed."""
    _, commands = build_parser()
    actions = [action for command in commands.values() for action in command._actions if action.choices is not None]
    own = {action.dest for action in actions if not isinstance(action.choices, Choices)}
    assert own == {"color", "trust"}
    for action in actions:
        assert len(list(action.choices or ())) == len(set(action.choices or ())) > 0
        assert action.default in (None, *(action.choices or ()))


def test_declaring_options_imports_no_owner() -> None:
    script = (
        "import sys; from tvms.dsl.cli import build_parser; build_parser()[0].parse_args(['print', 'FILE']);"
        "print(*[name for name in ('numpy', 'tvms.codegen', 'tvms.dsl.printer', 'tvms.ir.verify') if name in sys.modules])"
    )
    assert subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True).stdout == "\n"


@pytest.fixture(autouse=True)
def _environment(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let no variable for colors in, and none out."""
    for variable in ("NO_COLOR", "FORCE_COLOR", "CLICOLOR", "CLICOLOR_FORCE", "TERM"):
        monkeypatch.setenv(variable, "")
        monkeypatch.delenv(variable)


@pytest.mark.parametrize("command", COMMANDS)
def test_help_of_a_command(command: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["help", command]) == 0
    asked = capsys.readouterr().out
    assert asked.startswith(f"usage: tvms {command} ")
    assert main([command, "--help"]) == 0
    assert capsys.readouterr().out == asked


def test_help_and_version(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["help"]) == 0
    assert capsys.readouterr().out.startswith("usage: tvms [-h] [-V] COMMAND ...")
    assert main(["-V"]) == 0
    version = capsys.readouterr().out
    assert main(["--version"]) == 0
    assert capsys.readouterr().out == version


@pytest.mark.parametrize(
    "command",
    [
        command
        for command in COMMANDS
        if command not in ("explain", "doctor", "fuzz", "opt", "completion", "lsp", "dap")
    ],
)
def test_unknown_options_show_the_usage_of_the_command(command: str, capsys: pytest.CaptureFixture[str]) -> None:
    needed = {
        "convert": [MATMUL, "--to", "tvms"], "reduce": [MATMUL, "--passes", "LegalizeOps"], "merge": [MATMUL] * 3, "git-setup": [],
            "db": ["list"],
    }.get(command, [MATMUL])  # fmt: skip
    assert main([command, *needed, "--colr"]) == 2
    error = capsys.readouterr().err
    assert error.startswith(f"usage: tvms {command} ")
    assert error.endswith("error[E0801]: unrecognized arguments: --colr\n  = help: did you mean '--color'?\n")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["run", MATMUL, "--entry", "nope"], "error[E0805]: there is no function 'nope'"),
        (["run", MATMUL, "--target", "nope"], "error[E0601]: unknown target 'nope'"),
        (["compile", MATMUL, "--target", "nope"], "error[E0601]: unknown target 'nope'"),
        (["opt", PERCEPTRON, "--passes", "Nope"], "error[E0903]: unknown pass 'Nope'"),
        (["fuzz", "nope"], "error[E0813]: there is no law 'nope'"),
        (["explain", "E9999"], "error[E0804]: there is no code 'E9999'"),
        (
            ["bench", MATMUL, "--threads", "0"],
            "error[E0801]: argument --threads: expected an integer of at least 1, got '0'",
        ),
    ],
)
def test_names_that_do_not_exist_are_usage_errors(
    arguments: list[str], message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(arguments) == 2
    assert message in capsys.readouterr().err


@pytest.mark.parametrize(
    ("variables", "option", "is_colored"),
    [
        ({}, "auto", False),
        ({"FORCE_COLOR": "1"}, "auto", True),
        ({"CLICOLOR_FORCE": "1"}, "auto", True),
        ({"CLICOLOR_FORCE": "0"}, "auto", False),
        ({"FORCE_COLOR": "0"}, "auto", False),
        ({"FORCE_COLOR": ""}, "auto", False),
        ({"FORCE_COLOR": "1", "NO_COLOR": "1"}, "auto", False),
        ({"FORCE_COLOR": "1"}, "never", False),
        ({"NO_COLOR": "1"}, "always", True),
        ({"TERM": "dumb"}, "always", True),
    ],
)
def test_colors(variables: dict[str, str], option: str, is_colored: bool, capsys: pytest.CaptureFixture[str]) -> None:
    os.environ.update(variables)
    assert main(["print", "/nope", "--color", option]) == 2
    assert ("\x1b[" in capsys.readouterr().err) == is_colored


@pytest.mark.parametrize(
    ("variables", "is_colored"), [({"TERM": "xterm"}, True), ({"TERM": "dumb"}, False), ({"CLICOLOR": "0"}, False)]
)
def test_colors_of_a_terminal(
    variables: dict[str, str], is_colored: bool, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    monkeypatch.setattr("sys.stderr.isatty", lambda: True)
    assert main(["print", "/nope"]) == 2
    assert ("\x1b[" in capsys.readouterr().err) == is_colored


def test_files_that_cannot_be_formatted_are_counted_apart(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    fine = tmp_path / "fine.tvms"
    fine.write_text((SAMPLES / "02_matmul.tvms").read_text())
    assert main(["fmt", str(fine), str(tmp_path / "none.tvms")]) == 2
    assert capsys.readouterr().err.endswith(
        "0 files reformatted, 1 left unchanged, 1 not formatted because of errors\n"
    )


@pytest.mark.parametrize("columns", [40, 100])
def test_nothing_is_cut_off_on_any_terminal(
    columns: int, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", str(columns))
    assert main(["run", PERCEPTRON, "--interpret"]) == 0
    shown = capsys.readouterr().out
    assert "…" not in shown
    for part in ("fc1_weight", "(256, 784)", "float32", "-0.499999", "-0.000756606", "0.499997"):
        assert part in shown
    assert all(len(line) <= columns for line in shown.splitlines()[1:])  # the first one is the path


LISTS = {
    "doctor": ["doctor"],
    "passes": ["opt", "--list"],
    "laws": ["fuzz"],
    "codes": ["explain"],
    "bench": ["bench", str(SAMPLES / "08_gpu_matmul.tvms"), "--target", "cuda -simulate", "--seconds", "0"],
    "kernels": ["compile", str(SAMPLES / "08_gpu_matmul.tvms"), "--target", "cuda", "--report"],
}


@pytest.mark.parametrize("name", LISTS)
def test_lists_fit_into_a_narrow_terminal(
    name: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """A line is longer than the terminal only for a long word; the words are those of an unlimited line."""
    shown: dict[str, str] = {}
    for columns in ("", "40"):
        monkeypatch.setenv("COLUMNS", columns)
        assert main(LISTS[name]) == 0
        shown[columns] = capsys.readouterr().out
    assert name in ("bench", "kernels") or sorted(shown[""].split()) == sorted(shown["40"].split())
    lines = [
        line for line in shown["40"].splitlines() if not line.startswith((str(SAMPLES), "registers and occupancy"))
    ]
    assert [line for line in lines if len(line) > 40 and " " in line.strip()] == []
