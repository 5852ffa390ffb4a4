"""The line that says what the compiler is at: in terminals only, only where it takes a while, and gone at the end."""

from __future__ import annotations

import io
from pathlib import Path

import pytest
import tvms
from tvms.dsl.cli import main, progress
from tvms.ir.passes.instrument import PassInstrument
from tvms.ir.passes.transform import PassContext, passes

PERCEPTRON = Path(__file__).parents[2] / "samples" / "04_perceptron.tvms"


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


@pytest.mark.parametrize(("patience", "is_shown"), [(0, True), (1000, False)])
def test_long_work_says_what_it_does(patience: int, is_shown: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    terminal = Terminal()
    monkeypatch.setattr("sys.stderr", terminal)
    monkeypatch.setattr(progress, "PATIENCE", patience)
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.delenv("NO_COLOR", raising=False)
    assert main(["compile", str(PERCEPTRON), "--emit", "header"]) == 0
    assert any(name in terminal.getvalue() for name in passes()) is is_shown
    assert terminal.getvalue() == "" or terminal.getvalue().endswith("\x1b[2K")  # the line is cleared


def test_nothing_is_said_elsewhere(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setattr(progress, "PATIENCE", 0)
    assert main(["compile", str(PERCEPTRON), "--emit", "header"]) == 0
    assert capsys.readouterr().err == ""


def test_instruments_see_every_stage() -> None:
    seen: list[str] = []

    class Watch(PassInstrument):
        def run_stage(self, name: str) -> None:
            seen.append(name)

    with PassContext(instruments=[Watch()]):
        exe = tvms.compile(tvms.load(PERCEPTRON))
    kernels = list(exe.decisions)
    lowered = [f"lower {name} ({number} of {len(kernels)})" for number, name in enumerate(kernels, 1)]
    assert seen[: len(kernels) + 3] == [*lowered, "write LLVM IR", "optimize", "make machine code"]
