"""The tutorial on building in Python does what it says."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

PAGE = Path(__file__).parents[2] / "docs" / "tutorial" / "build-in-python.md"


def test_the_tutorial_runs(capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    names: dict[str, Any] = {}
    for block in re.findall(r"```python\n(.*?)```", PAGE.read_text(encoding="utf-8"), re.DOTALL):
        exec(compile(block, str(PAGE), "exec"), names)
    printed = capsys.readouterr().out
    for line in (
        'with T.block("matmul"):',
        'lv1: R.Tensor((n, 64), dtype="float32") = R.multiply(lv, R.const(2.0, "float32"))',
        'lv2 = R.call_tir(cls.dense, (lv1, w), out_sinfo=R.Tensor((n, 32), dtype="float32"))',
        "error[E0326]: R.matmul cannot multiply shapes (n, 64) and (32, 64): the inner dimensions are 64 and 32",
        "['fc1.weight', 'fc1.bias', 'fc2.weight']",
        'I.constant("constant", R.Tensor((6, 4), "float32"))',
    ):
        assert line in printed
    assert (tmp_path / "model.safetensors").exists()
