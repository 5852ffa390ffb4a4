"""`tvms debug`: breakpoints, watches, values, all by commands from standard input."""

from __future__ import annotations

import io
from collections.abc import Callable
from pathlib import Path

import pytest
from tvms.dsl.cli import main

Debug = Callable[..., list[str]]

SUM = """\
T.prim_func main(A: T.Buffer((3,), "int32"), B: T.Buffer((2,), "int32")):
    for i, k in T.grid(2, 3):
        with T.block("sum"):
            vi, vk = T.axis.remap("SR", [i, k])
            with T.init():
                B[vi] = 0
            B[vi] = B[vi] + A[vk]
"""


@pytest.fixture
def debug(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Debug:
    path = tmp_path / "sum.tvms"
    path.write_text(SUM)

    def run(*commands: str, arguments: tuple[str, ...] = ()) -> list[str]:
        monkeypatch.setattr("sys.stdin", io.StringIO("\n".join(commands) + "\n"))
        assert main(["debug", str(path), "--arg", "A=7", "--arg", "B=-1", *arguments]) == 0
        return capsys.readouterr().out.splitlines()

    return run


def test_a_run_is_stepped_through(debug: Debug) -> None:
    assert debug("s", "", "where", "q") == [
        "   2 |     for i, k in T.grid(2, 3):",
        "   2 |     for i, k in T.grid(2, 3):    # i = 0",
        '   3 |         with T.block("sum"):    # i = 0, k = 0, vi = 0, vk = 0',
        '   3 |         with T.block("sum"):    # i = 0, k = 0, vi = 0, vk = 0',
    ]


def test_a_breakpoint_stops_each_time(debug: Debug) -> None:
    said = debug("break 7", "c", "p vk", "p B[vi]", "c", "p B[0]", "p B", "clear", "c")
    assert said[1:] == [
        "   7 |             B[vi] = B[vi] + A[vk]    # i = 0, k = 0, vi = 0, vk = 0",
        "0",
        "0",
        "   7 |             B[vi] = B[vi] + A[vk]    # i = 0, k = 1, vi = 0, vk = 1",
        "7",
        "[ 7 -1]",
        "the run has ended",
    ]


def test_a_watch_stops_after_each_write(debug: Debug) -> None:
    said = debug("watch B", "c", "c", "clear", "c")
    assert said[1:] == [
        "B[0]: -1 -> 0",
        "   7 |             B[vi] = B[vi] + A[vk]    # i = 0, k = 0, vi = 0, vk = 0",
        "B[0]: 0 -> 7",
        '   3 |         with T.block("sum"):    # i = 0, k = 1, vi = 0, vk = 1',
        "the run has ended",
    ]


def test_what_cannot_be_shown_is_said(debug: Debug) -> None:
    said = debug("watch X", "p nothing", "p B[9]", "p B[x]", "p B[", "break 5", "break 99", "what")
    assert said[1:10] == [
        "unknown buffer 'X'; the buffers are A, B",
        "'nothing' is not defined here; the names are A, B",
        "index 9 is out of bounds for axis 0 with size 2",
        "expected a number or a variable as an index",
        "print a variable, a buffer or an element, such as C[vi, 0]",
        "no statement starts in line 5: the breakpoint is in line 6",
        "no statement starts in line 99, or after it",
        "unknown command 'what':",
        "step (s, n, an empty line)   run to the next statement",
    ]


def test_a_run_that_fails_can_be_looked_at(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "gather.tvms"
    path.write_text(
        'T.prim_func main(A: T.Buffer((3,), "int32"), B: T.Buffer((2,), "int32")):\n'
        "    for i in range(2):\n        B[i] = A[A[i]]\n"
    )
    monkeypatch.setattr("sys.stdin", io.StringIO("c\np A\n"))
    assert main(["debug", str(path), "--arg", "A=3"]) == 1
    assert capsys.readouterr().out.splitlines()[1:] == [
        "error[E0707]: A[3] is outside the buffer: its dimension 0 has 3 elements",
        f"  --> {path}:3:16",
        "   |",
        " 3 |         B[i] = A[A[i]]",
        "   |                ^^^^^^^",
        "   3 |         B[i] = A[A[i]]    # i = 0",
        "[3 3 3]",
    ]


def test_what_has_no_statements_says_so(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "graph.tvms"
    path.write_text('R.function main(x: R.Tensor((2,), "float32")) -> R.Tensor((2,), "float32"):\n    return x\n')
    monkeypatch.setattr("sys.stdin", io.StringIO(""))
    assert main(["debug", str(path)]) == 0
    said = "the run has ended: it called no loop function to stop in\n"
    assert capsys.readouterr().out == said


def test_the_program_cannot_come_from_standard_input_too(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["debug", "-"]) == 2
    assert capsys.readouterr().err == (
        "error[E0815]: the program cannot be read from standard input, which holds the commands\n  = help: name a file\n"
    )
