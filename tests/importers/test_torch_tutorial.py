"""The tutorial on importing PyTorch models does what it says."""

from __future__ import annotations

import re
import runpy
from pathlib import Path

import pytest

torch = pytest.importorskip("torch", reason="PyTorch, the extra 'torch', is not installed")

PAGE = Path(__file__).parents[2] / "docs" / "tutorial" / "import-pytorch.md"


@pytest.mark.filterwarnings("ignore")
def test_the_tutorial_runs(capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Every line of output that the page shows is printed; one with … up to it."""
    monkeypatch.chdir(tmp_path)
    text = PAGE.read_text(encoding="utf-8")
    blocks = re.findall(r"^```(\w*)\n(.*?)^```$", text, re.DOTALL | re.MULTILINE)
    program = "\n".join(block for language, block in blocks if language == "python")
    Path("program.py").write_text(program, encoding="utf-8")
    runpy.run_path("program.py")
    printed = [line.strip() for line in capsys.readouterr().out.splitlines()]
    shown = "".join(block for language, block in blocks if not language).splitlines()
    assert len(shown) > 20
    for line in shown:
        start = line.partition("…")[0].strip()
        assert any(name == start or (start != line.strip() and name.startswith(start)) for name in printed), line
    assert (tmp_path / "net.safetensors").exists()
