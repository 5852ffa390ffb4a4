"""Names in the dialects: what an assignment to a name of an outer body means in each of them."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import tvms
from tvms.dsl.cli import main
from tvms.dsl.load import parse, parse_source
from tvms.ir.base import Source
from tvms.ir.diagnostics import Diagnostic, TvmsError
from tvms.ir.script import render
from tvms.script import tir as T

BODY = """\
(A: T.Buffer((4,), "int32"), B: T.Buffer((1,), "int32")):
    best = A[0]
    for i in range(4):
        if A[i] > best:
            best = A[i]
    B[0] = best
"""
V021 = f"from tvm.script import tir as T\n\n@T.prim_func\ndef f{BODY}"
V027 = f"from tvm.script import tirx as T\n\n@T.prim_func(s_tir=True)\ndef f{BODY}"


def result(text: str) -> int:
    a, b = np.array([3, 9, 1, 7], "int32"), np.zeros(1, "int32")
    tvms.compile(parse(text))["f"](a, b)
    return int(b[0])


def warnings_of(text: str) -> list[Diagnostic]:
    found: list[Diagnostic] = []
    parse_source(Source("case", text), warnings=found)
    return found


def test_texts_of_tvm_0_21_shadow_with_a_warning() -> None:
    assert result(V021) == 3
    assert render(warnings_of(V021)) == (
        "warning[E0211]: this defines another variable 'best', which ends with this body\n"
        "  --> case:8:13\n"
        "   |\n"
        " 8 |             best = A[i]\n"
        "   |             ^^^^\n"
        '   = help: store the changing value in a buffer of one element: best = T.alloc_buffer((1,), "int32"), best[0] = …\n'
        "note: the variable is defined here\n"
        "  --> case:5:5\n"
        "   |\n"
        " 5 |     best = A[0]\n"
        "   |     ^^^^"
    )


def test_variables_of_tvm_0_27_change() -> None:
    assert result(V027) == 9
    assert warnings_of(V027) == []
    again = parse(V027).script()
    assert "best[0] = A[i]" in again
    assert result(again) == 9


@pytest.mark.parametrize(
    ("statements", "value"),
    [
        ("x = 1\nfor i in range(4):\n    x = x + i", 7),
        ("x = 1\nfor i in range(4):\n    x += i", 7),
        ("x: T.int32 = 2\nx = x * 3", 6),
        ("x: T.int32\nx = 5\nx = x + 1", 6),
        ("x: T.let[T.int32] = A[0]\nA[0] = 5", 3),
        ("x = A[0]\nA[0] = 5", 3),
        ("x = A[0]\ny = x\nx = 5\nx = x + y", 8),
        ("x = T.alloc_buffer((1,), 'int32')\nx = 4\nx[0] = x[0] + 1", 5),
        ("x = T.meta_var(7)", 7),
    ],
)
def test_assignments_of_tvm_0_27(statements: str, value: int) -> None:
    stored = "x[0]" if "alloc_buffer" in statements else "x"
    body = "".join(f"    {line}\n" for line in [*statements.split("\n"), f"B[0] = {stored}"])
    head = V027.split("\n    best")[0]
    assert result(f"{head}\n{body}") == value


@pytest.mark.parametrize(("dialect", "code"), [("tir", "E0209"), ("tirx", "E0209")], ids=["0.21", "0.27"])
def test_what_loops_define_may_have_names_from_around_in_tvm(dialect: str, code: str) -> None:
    for loop in (
        "for i in range(4):\n        for i in range(4):\n            B[0] = i",
        "for A in range(4):\n        B[0] = A",
    ):
        text = f'from tvm.script import {dialect} as T\n\n@T.prim_func\ndef f(A: T.Buffer((4,), "int32"), B: T.Buffer((1,), "int32")):\n    {loop}\n'
        assert [warning.code for warning in warnings_of(text)] == [code]


def test_a_function_in_python_is_refused() -> None:
    with pytest.raises(TvmsError, match="variable 'best' cannot change"):

        @T.prim_func
        def _(A: T.Buffer((4,), "int32"), B: T.Buffer((1,), "int32")) -> None:
            with T.block("b"):
                best = A[0]
                for i in range(4):
                    if A[i] > best:
                        best = A[i]
                B[0] = best


def test_check_and_run_show_the_warning(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "f.py"
    path.write_text(V021)
    assert main(["check", str(path)]) == 0
    assert "warning[E0211]" in capsys.readouterr().err
    assert main(["run", str(path)]) == 0
    assert "warning[E0211]" in capsys.readouterr().err


@pytest.mark.parametrize(
    "text",
    [
        "x = A[0]\nx = x * 2\nB[0] = x",
        "for _ in range(2):\n    for _ in range(2):\n        B[0] = A[0]",
        "for i in range(2):\n    B[0] = A[i]\nfor i in range(2):\n    B[0] = A[i]",
        "for i in range(2):\n    x = A[i]\n    B[0] = x\nx = A[0]\nB[0] = x",
    ],
)
def test_names_that_are_free_are_used_again(text: str) -> None:
    body = "".join(f"    {line}\n" for line in text.split("\n"))
    parse(f'T.prim_func f(A: T.Buffer((4,), "int32"), B: T.Buffer((1,), "int32")):\n{body}')


BRANCHES = """\
R.function main(x: R.Tensor((2,), "float32"), c: R.Tensor((), "bool")) -> R.Tensor((2,), "float32"):
    y = R.add(x, x)
    if c:
        y = R.multiply(x, x)
        z = y
    else:
        z = y
    return y
"""


def test_a_branch_of_a_graph_binds_no_name_of_the_function_around_it() -> None:
    with pytest.raises(TvmsError) as caught:
        parse(BRANCHES, "case")
    assert (
        str(caught.value)
        == """\
error[E0211]: variable 'y' cannot change: this would define another one, which ends with this branch
  --> case:4:9
   |
 4 |         y = R.multiply(x, x)
   |         ^
   = help: rename it; only 'z', which both branches bind last, is visible after the branches
note: the variable is defined here
  --> case:2:5
   |
 2 |     y = R.add(x, x)
   |     ^"""
    )
    parse(BRANCHES.replace("y = R.multiply(x, x)", "w = R.multiply(x, x)"))
    parse(BRANCHES.replace("z = y", "y = R.add(y, x)"))  # what both branches bind last leaves them


def test_branches_of_tvm_texts_shadow_with_a_warning() -> None:
    head = "from tvm.script import relax as R, tir as T\n\n@R.function\ndef "
    (warning,) = warnings_of(head + BRANCHES.removeprefix("R.function "))
    assert (warning.code, warning.severity) == ("E0211", "warning")


def test_what_is_imported_of_tvm_script_is_there() -> None:
    text = "from tvm.script import ir as I, tirr as T\n\n@T.prim_func\ndef f():\n    T.evaluate(0)\n"
    with pytest.raises(TvmsError) as caught:
        parse(text, "case")
    assert (
        str(caught.value)
        == """\
error[E0101]: tvm.script has no 'tirr'
  --> case:1:1
   |
 1 | from tvm.script import ir as I, tirr as T
   | ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^
   = help: did you mean 'tir'?"""
    )
    with pytest.raises(TvmsError, match="its names are ir, tir, tirx, relax and ir_module"):
        parse(text.replace("tirr", "numpy"))
