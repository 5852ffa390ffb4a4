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
        return capsys.readouterr().out.replace(str(path), "FILE").splitlines()

    return run


def test_a_run_is_stepped_through(debug: Debug) -> None:
    assert debug("s", "", "where", "q") == [
        "   2 |     for i, k in T.grid(2, 3):",
        '   3 |         with T.block("sum"):    # i = 0, k = 0, vi = 0, vk = 0',
        "   6 |                 B[vi] = 0    # i = 0, k = 0, vi = 0, vk = 0",
        "block sum (vi = 0, vk = 0), FILE:6",
        "main (i = 0, k = 0), FILE:3",
    ]


def test_a_breakpoint_stops_each_time(debug: Debug) -> None:
    said = debug("break 7", "c", "p vk", "p B[vi] + A[0]", "c", "p B[0]", "p B", "clear", "c")
    assert said[1:] == [
        "   7 |             B[vi] = B[vi] + A[vk]    # i = 0, k = 0, vi = 0, vk = 0",
        "0",
        "7",
        "   7 |             B[vi] = B[vi] + A[vk]    # i = 0, k = 1, vi = 0, vk = 1",
        "7",
        "[ 7 -1]",
        "the run has ended",
    ]


def test_a_breakpoint_has_conditions(debug: Debug) -> None:
    said = debug("break 7 if vk == 1 hits 2", "c", "clear 1", "break sum if vi == 1", "c", "list", "clear", "c")
    assert said[1:] == [
        "   7 |             B[vi] = B[vi] + A[vk]    # i = 1, k = 1, vi = 1, vk = 1",
        '   3 |         with T.block("sum"):    # i = 1, k = 2, vi = 1, vk = 2',
        "   1 | " + SUM.splitlines()[0],
        "   2 |     for i, k in T.grid(2, 3):",
        '>  3 |         with T.block("sum"):',
        '   4 |             vi, vk = T.axis.remap("SR", [i, k])',
        "   5 |             with T.init():",
        "   6 |                 B[vi] = 0",
        "   7 |             B[vi] = B[vi] + A[vk]",
        "the run has ended",
    ]


def test_a_log_point_says_its_text(debug: Debug) -> None:
    assert debug("log 6 sum {vi} of {A}, {q}", "c")[1:] == [
        "sum 0 of int32[3], <name 'q' is not defined>",
        "sum 1 of int32[3], <name 'q' is not defined>",
        "the run has ended",
    ]


def test_a_watch_stops_after_each_write(debug: Debug) -> None:
    said = debug("watch B", "c", "c", "clear", "watch B[1] if vk == 2", "c", "c")
    assert said[1:] == [
        "B[0]: -1 -> 0",
        "   7 |             B[vi] = B[vi] + A[vk]    # i = 0, k = 0, vi = 0, vk = 0",
        "B[0]: 0 -> 7",
        '   3 |         with T.block("sum"):    # i = 0, k = 1, vi = 0, vk = 1',
        "B[1]: 14 -> 21",
        "   7 |             B[vi] = B[vi] + A[vk]",
        "the run has ended",
    ]


def test_a_run_goes_back_and_forth(debug: Debug) -> None:
    said = debug(
        "break 7",
        "c",
        "c",
        "c",
        "p B",
        "back",
        "back",
        "p B",
        "back 4",
        "p B",
        "rc",
        "until i == 1",
        "c",
        "clear",
        "until",
        "p B",
        "c",
    )
    assert said[3:] == [
        "   7 |             B[vi] = B[vi] + A[vk]    # i = 0, k = 2, vi = 0, vk = 2",
        "[14 -1]",
        '   3 |         with T.block("sum"):    # i = 0, k = 2, vi = 0, vk = 2',
        "   7 |             B[vi] = B[vi] + A[vk]    # i = 0, k = 1, vi = 0, vk = 1",
        "[ 7 -1]",
        '   3 |         with T.block("sum"):    # i = 0, k = 0, vi = 0, vk = 0',
        "[-1 -1]",
        "nothing earlier is recorded",
        "   2 |     for i, k in T.grid(2, 3):",
        "   7 |             B[vi] = B[vi] + A[vk]    # i = 0, k = 0, vi = 0, vk = 0",
        "   7 |             B[vi] = B[vi] + A[vk]    # i = 0, k = 1, vi = 0, vk = 1",
        "   7 |             B[vi] = B[vi] + A[vk]",
        "[21 21]",
        "the run has ended",
    ]


def test_buffers_are_shown_as_tables_and_maps(debug: Debug) -> None:
    said = debug("break 7 if vi == 1", "c", "table B", "map B", "locals", "finish")
    assert said[2:] == [
        "B: int32[2], 0 to 21",
        "    0  1",
        "0  21  0",
        "B: int32[2], 0 to 21",
        "@ ",
        "vi = 1",
        "vk = 0",
        "i = 1",
        "k = 0",
        "A = int32[3]",
        "B = int32[2]",
        "   7 |             B[vi] = B[vi] + A[vk]    # i = 1, k = 1, vi = 1, vk = 1",
    ]


@pytest.mark.parametrize(
    ("command", "message"),
    [
        ("watch X", "there is nothing to stop at: 'X'\n  = help: watch one of A, B, or an element of it"),
        ("watch B[i]", "name 'i' is not defined"),
        ("break 99", "there is nothing to stop at: '99'\n  = help: no statement starts in this line, or after it"),
        ("break here", "there is nothing to stop at: 'here'\n  = help: the functions and blocks are main, sum"),
        ("break", "there is nothing to stop at: ''\n  = help: name a line, a function or a block: break 7 if vi == 2"),
        ("break 7 hits -", "'-' is not a condition on the number of hits\n  = help: write 3, >= 10 or % 100"),
        ("log 7", "there is nothing to stop at: '7'\n  = help: name a line and a text: log 7 vi is {vi}"),
        ("table 3", "'3' is not a buffer or a part of one\n  = help: write a buffer, such as C or C[0, :]"),
        ("p B[9]", "B[9] is outside the buffer: its dimension 0 has 2 elements"),
        ("p nothing", "name 'nothing' is not defined"),
        ("p x = 1", "'x = 1' is not an expression"),
        ("p", "'' is not an expression"),
        ("p " + "1 + " * 5000 + "1", "an expression is longer than 10,000 characters"),
    ],
)
def test_what_cannot_be_done_is_said(debug: Debug, command: str, message: str) -> None:
    said = "\n".join(debug(command, "q")[1:])
    assert f"]: {message.partition(chr(10))[0]}" in said
    assert message.partition("\n")[2] in said


def test_a_breakpoint_moves_to_the_next_statement(debug: Debug) -> None:
    assert debug("break 5", "what", "q")[1:4] == [
        "no statement starts in line 5: the breakpoint is in line 6",
        "unknown command 'what':",
        "step (s, an empty line)      run to the next statement, also in a called function",
    ]


def test_a_fault_after_going_back_is_reached_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "nan.tvms"
    path.write_text(
        'T.prim_func main(A: T.Buffer((2,), "float32")):\n'
        '    A[0] = T.float32("nan")\n    A[1] = A[0]\n    assert A[1] == A[1], "not a number"\n    T.evaluate(1)\n'
    )
    monkeypatch.setattr("sys.stdin", io.StringIO("c\nc\nc\nback\nback\np A\nc\nc\n"))
    assert main(["debug", str(path), "--nan", "--arg", "A=1"]) == 1
    said = capsys.readouterr().out
    assert [line for line in said.splitlines() if "NaN" in line or line.startswith(("error", "["))] == [
        "line 2 writes NaN: A[0]: 1.0 -> nan",
        "line 3 writes NaN: A[1]: 1.0 -> nan",
        "error[E0711]: assertion failed: not a number",
        "[nan  1.]",
        "error[E0711]: assertion failed: not a number",
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


def test_a_graph_is_stepped_by_its_bindings(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "graph.tvms"
    path.write_text(
        'R.function main(x: R.Tensor(("n",), "float32")) -> R.Tensor(("n",), "float32"):\n'
        "    y = R.add(x, x)\n    z = R.multiply(y, x)\n    return z\n"
    )
    monkeypatch.setattr("sys.stdin", io.StringIO("n\np y[n - 1] * 2\nn\np z\nback\nlocals\nc\n"))
    assert main(["debug", str(path), "--arg", "x=3", "--dim", "n=2"]) == 0
    assert capsys.readouterr().out.splitlines() == [
        "   2 |     y = R.add(x, x)    # n = 2",
        "   3 |     z = R.multiply(y, x)    # n = 2",
        "12.0",
        "   4 |     return z    # n = 2",
        "[18. 18.]",
        "   3 |     z = R.multiply(y, x)    # n = 2",
        "n = 2",
        "x = float32[2]",
        "y = float32[2]",
        "the run has ended",
    ]


def test_the_program_cannot_come_from_standard_input_too(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["debug", "-"]) == 2
    assert capsys.readouterr().err == (
        "error[E0815]: the program cannot be read from standard input, which holds the commands\n  = help: name a file\n"
    )
