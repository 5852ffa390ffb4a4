"""`tvms new`, `tvms completion` and `--watch`."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest
from tvms.dsl.cli import COMMANDS, main, watch


def test_a_new_program_is_fine(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = str(tmp_path / "hello.tvms")
    assert main(["new", file]) == 0
    assert capsys.readouterr().out == f"wrote {file}; next: tvms run {file} --verify\n"
    assert main(["check", "--level", "races", "--strict", file]) == 0
    assert main(["fmt", "--check", file]) == 0
    assert main(["schedule", file]) == 0
    capsys.readouterr()
    assert main(["run", file, "--verify"]) == 0
    assert "agrees with the interpreter" in capsys.readouterr().out


def test_a_new_program_replaces_nothing(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "mine.tvms"
    file.write_text("# mine\n")
    assert main(["new", str(file)]) == 2
    assert capsys.readouterr().err == (f"error[E0802]: '{file}' exists\n  = help: name a file that does not exist\n")
    assert file.read_text() == "# mine\n"


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish", "tcsh", "powershell"])
def test_completion_knows_every_command(shell: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["completion", shell]) == 0
    script = capsys.readouterr().out
    assert all(command in script for command in COMMANDS)


@pytest.mark.skipif(shutil.which("bash") is None, reason="needs bash")
def test_completion_in_bash(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["completion", "bash"]) == 0
    script = capsys.readouterr().out
    asked = 'COMP_WORDS=(tvms sch); COMP_CWORD=1; COMP_LINE="tvms sch"; _shtab_tvms; echo "${COMPREPLY[@]}"'
    done = subprocess.run(["bash", "-c", f"{script}\n{asked}"], capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["schedule"]


def test_completion_without_shtab(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tvms.dsl.cli.completion_command.find_spec", lambda name: None)
    assert main(["completion", "bash"]) == 2
    assert capsys.readouterr().err == (
        "error[E0812]: tvms completion needs shtab, which is not installed\n"
        "  = help: pip install 'tvms-lang[completion]'\n"
    )


def test_watch_runs_again_when_a_file_changes(tmp_path: Path) -> None:
    first, second = tmp_path / "a", tmp_path / "b"
    edits = [
        lambda: first.write_text("longer"),
        lambda: None,
        lambda: second.write_text("new"),
        lambda: second.unlink(),
        lambda: None,
    ]
    first.write_text("a")
    runs: list[int] = []

    def pause(_: float) -> None:
        if len(edits) == left[0]:
            raise KeyboardInterrupt
        edits[left[0]]()
        left[0] += 1

    left = [0]
    with pytest.raises(KeyboardInterrupt):
        watch(lambda: runs.append(left[0]) or 0, lambda: [str(first), str(second)], pause)
    assert runs == [0, 1, 3, 4]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["check", "-", "--watch"], "--watch needs files, not standard input"),
        (["run", "a.tvms", "--watch", "--sandbox"], "--watch runs outside of --sandbox"),
    ],
)
def test_watch_is_refused(arguments: list[str], message: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(arguments) == 2
    assert capsys.readouterr().err.startswith(f"error[E0801]: {message}\n")
