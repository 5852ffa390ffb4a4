"""Lints: warnings of `tvms check`, and what `--fix` makes of them."""

from __future__ import annotations

from pathlib import Path

import pytest
from tvms.dsl.cli import main
from tvms.dsl.cli.check_command import check_schedules
from tvms.dsl.diagnostics import render
from tvms.dsl.fixes import fixed
from tvms.dsl.load import load_module, parse
from tvms.ir.base import Source
from tvms.ir.lints import lint

ROOT = Path(__file__).parents[2]
HEAD = 'T.prim_func f(A: T.Buffer((16,), "float32"), B: T.Buffer((16,), "float32")):\n'
STORE = "    B[0] = A[0]\n"


def said(text: str) -> list[str]:
    return [f"{finding.code}: {finding.message}" for finding in lint(parse(text))]


@pytest.mark.parametrize("path", sorted((ROOT / "samples").glob("*.tvms")), ids=lambda path: path.name)
def test_samples_have_no_lints(path: Path) -> None:
    assert lint(load_module(str(path))) == ()


@pytest.mark.parametrize(
    ("body", "says", "after"),
    [
        ("    x = A[0]\n", "E0461: variable 'x' is never used", ""),
        ("    x: T.float32 = A[0]\n    y = x\n", "E0461: variable 'y' is never used", ""),
        ("    C = T.alloc_buffer((4,))\n", "E0462: buffer 'C' is never used", ""),
        ('    C = T.allocate([4], "float32", "global")\n', "E0462: buffer 'C' is never used", ""),
        (
            '    T.func_attr({"tir.noalais": True})\n',
            "E0466: attribute 'tir.noalais' is unknown",
            '    T.func_attr({"tir.noalias": True})\n',
        ),
        ("    C = T.alloc_buffer((4,))\n    C[0] = A[0]\n", "E0463: what is stored in buffer 'C' is never read", None),
        ("    for i in range(0):\n        B[i] = A[i]\n", "E0464: the loop over 'i' has no iterations", None),
        ("    for i in range(5, 2):\n        B[i] = A[i]\n", "E0464: the loop over 'i' has no iterations", None),
        (
            "    for i in range(16):\n        if i < 16:\n            B[i] = A[i]\n",
            "E0465: this condition is always true",
            None,
        ),
        (
            "    for i in range(16):\n        if i >= 16 or i < 0:\n            B[i] = A[i]\n",
            "E0465: this condition is always false",
            None,
        ),
        ("    x = A[0]  # kept\n", "E0461: variable 'x' is never used", None),
        ("    with T.LetStmt(A[0]) as x:\n        B[1] = A[1]\n", "E0461: variable 'x' is never used", None),
    ],
)
def test_a_lint_and_its_fix(body: str, says: str, after: str | None) -> None:
    text = HEAD + body + STORE
    assert said(text) == [says]
    assert fixed(Source("case", text), check_schedules) == (text if after is None else HEAD + after + STORE)


@pytest.mark.parametrize(
    "body",
    [
        "    _ = A[0]\n",
        '    x = T.call_extern("int32", "f")\n',
        "    for i in range(16):\n        if i < 15:\n            B[i] = A[i]\n",
        "    C = T.alloc_buffer((1,))\n    C[0] = A[0]\n    B[1] = C[0]\n",
        "    x = A[0]\n    B[1] = x\n",
        '    T.func_attr({"my_attribute": True, "tir.noalias": True})\n',
    ],
)
def test_what_is_used_has_no_lint(body: str) -> None:
    assert said(HEAD + body + STORE) == []


def test_parameters_and_bindings() -> None:
    assert said('T.prim_func f(A: T.Buffer((4,), "int32"), n: T.int32, _m: T.int32):\n    A[0] = 1\n') == [
        "E0467: parameter 'n' is never used"
    ]
    text = """\
R.function main(x: R.Tensor((4,), "float32")) -> R.Tensor((4,), "float32"):
    with R.dataflow():
        y = R.add(x, x)
        z = R.multiply(x, x)
        R.output(z)
    return z
"""
    assert said(text) == ["E0461: variable 'y' is never used"]
    assert fixed(Source("case", text), check_schedules) == text.replace("        y = R.add(x, x)\n", "")


def test_check_warns_and_fixes(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "f.tvms"
    path.write_text(HEAD + "    x = A[0]\n" + STORE)
    assert main(["check", str(path)]) == 0
    assert capsys.readouterr().err == (
        f"warning[E0461]: variable 'x' is never used\n  --> {path}:2:5\n   |\n 2 |     x = A[0]\n   |     ^\n"
        "   = help: remove it\n1 file checked: 1 warning\n"
    )
    assert main(["check", "--no-lints", str(path)]) == 0
    assert "no errors" in capsys.readouterr().out
    assert main(["check", "--fix", str(path)]) == 0
    assert path.read_text() == HEAD + STORE


def test_a_text_with_errors_is_left_alone() -> None:
    text = HEAD + "    x = A[0]\n    B[16] = A[0]\n"
    assert fixed(Source("case", text), check_schedules) == text
    assert render(lint(parse(text))).startswith("warning[E0461]")
