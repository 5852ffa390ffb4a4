"""Showing programs: colors only where they are wanted, and nothing but colors added."""

from __future__ import annotations

import re

import pytest
import tvms.dsl  # noqa: F401  (lets nodes print themselves)
from tvms.dsl.highlighting import to_ansi
from tvms.ir import base, tir
from tvms.ir.sanitize import visible

TEXT = 'with T.block("a<b"):  # why\n    A[0] = T.float32(1.5)\n'


def test_colors_add_nothing_else() -> None:
    assert re.sub(r"\x1b\[[\d;]*m", "", to_ansi(visible(TEXT))) == TEXT


def test_showing_is_plain_outside_a_terminal(capsys: pytest.CaptureFixture[str]) -> None:
    node = tir.Evaluate(tir.IntImm("int32", 1))
    node.show()
    node.show(color=True)
    plain, colored = capsys.readouterr().out.splitlines()
    assert plain == "T.evaluate(1)"
    assert colored == "\x1b[96mT.evaluate\x1b[39;49;00m(\x1b[94m1\x1b[39;49;00m)"


def test_no_color_is_honoured(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.stdout.isatty", lambda: True, raising=False)
    node = tir.IntImm("int64", 1)
    monkeypatch.setenv("NO_COLOR", "1")
    node.show()
    monkeypatch.delenv("NO_COLOR")
    node.show()
    assert capsys.readouterr().out.splitlines() == [
        "T.int64(1)",
        "\x1b[96mT.int64\x1b[39;49;00m(\x1b[94m1\x1b[39;49;00m)",
    ]


def test_an_unknown_dialect_names_the_known_ones() -> None:
    with pytest.raises(ValueError, match=r"^'tvm' is not a dialect: choose one of tvms, tvm-0\.21, tvm-0\.27$"):
        base.GlobalVar("f").script("tvm")
