"""The tutorials on programs in Python do what they say."""

from __future__ import annotations

import re
import runpy
from pathlib import Path

import pytest

PAGES = Path(__file__).parents[2] / "docs" / "tutorial"


def run(page: str) -> None:
    """Run the programs of a page as one, from a file in the folder that is current."""
    blocks = re.findall(r"```python\n(.*?)```", (PAGES / page).read_text(encoding="utf-8"), re.DOTALL)
    Path("program.py").write_text("\n".join(blocks), encoding="utf-8")
    runpy.run_path("program.py")


def test_programs_of_tvm_run(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    run("from-tvm.md")
    printed = capsys.readouterr().out.splitlines()
    for line in ("S.schedule schedule(scale):", "6.0", "        gv = R.nn.gelu(lv)", "2.0", "[ 2. -1.] [3.]"):
        assert line in printed


def test_the_tutorial_runs(capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    run("build-in-python.md")
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
