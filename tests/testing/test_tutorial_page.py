"""The tutorial on testing passes does what it says."""

from __future__ import annotations

import re
import runpy
from pathlib import Path

import pytest

PAGE = Path(__file__).parents[2] / "docs" / "tutorial" / "test-your-pass.md"


def test_the_page_runs(capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    blocks = re.findall(r"```python\n(.*?)```", PAGE.read_text(encoding="utf-8"), re.DOTALL)
    Path("program.py").write_text("\n".join(blocks), encoding="utf-8")
    runpy.run_path("program.py")
    printed = capsys.readouterr().out
    for line in (
        " differs (seed 0): element [",
        "Failing test case: test_shorter(",
        "the pass never fired: it changed none of ",
        "tried: plain",
        "both do the same",
        "0 breaches of the law",
    ):
        assert line in printed
