"""The configurations of docs/editors.md in the editors themselves, where they are installed."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).parents[2]
HERE = Path(__file__).parent
SECONDS = 240
PROGRAM = """\
#tvms 1

T.prim_func main(A: T.Buffer((8,), "float32"), B: T.Buffer((8,), "float32")):
    for i in range(8):
        with T.block("add"):
            vi = T.axis.spatial(8, i)
            if True:
                B[vi] = A[vi] + missing
"""


def block(language: str, after: str) -> str:
    """Return the first block of code in a language of docs/editors.md after some text."""
    text = (ROOT / "docs" / "editors.md").read_text(encoding="utf-8").partition(after)[2]
    found = re.search(rf"^```{language}\n(.*?)^```$", text, re.DOTALL | re.MULTILINE)
    assert found is not None, f"docs/editors.md has no {language} after '{after}'"
    return found[1].replace("/path/to/tvms", str(ROOT))


def version(*command: str) -> tuple[int, ...]:
    """Return the version that an editor prints; skip the test if it is not installed."""
    if shutil.which(command[0]) is None:
        pytest.skip(f"{command[0]} is not installed")
    printed = subprocess.run(command, capture_output=True, text=True, check=True, timeout=SECONDS).stdout
    found = re.search(r"\d+(?:\.\d+)+", printed)
    assert found is not None, printed
    return tuple(map(int, found[0].split(".")))


def environment(folder: Path) -> dict[str, str]:
    """Return variables for an editor whose home is a folder, with `tvms` in the path."""
    path = os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]])
    program = folder / "add.tvms"
    program.write_text(PROGRAM, encoding="utf-8")
    inherited = {name: value for name, value in os.environ.items() if not name.startswith("XDG_")}
    given = {"HOME": str(folder), "PATH": path, "PROGRAM": str(program), "REPORT": str(folder / "report.json")}
    return {**inherited, **given}


def report(command: list[str], given: dict[str, str]) -> dict[str, Any]:
    """Run an editor and return its output."""
    run = subprocess.run(command, env=given, cwd=given["HOME"], capture_output=True, text=True, timeout=SECONDS)
    path = Path(given["REPORT"])
    assert path.exists(), run.stdout + run.stderr
    found = json.loads(path.read_text(encoding="utf-8"))
    assert "error" not in found, found
    return found


def test_neovim(tmp_path: Path) -> None:
    if version("nvim", "--version") < (0, 11):
        pytest.skip("vim.lsp.config needs Neovim 0.11")
    given = environment(tmp_path)
    subprocess.run(["sh", "-eu", "-c", block("sh", "**Neovim**")], env=given, check=True, timeout=SECONDS)
    (tmp_path / ".config" / "nvim" / "init.lua").write_text(block("lua", "**Neovim**"), encoding="utf-8")
    found = report(["nvim", "--headless", given["PROGRAM"], "-S", str(HERE / "neovim.lua")], given)
    assert found["language"] == "tvms"
    assert found["code"] == "E0101"
    assert "parameter B" in found["hover"]
    assert found["line"].strip() == "result[vi] = A[vi] + missing"
    assert found["tree"] != "ERROR"
    assert found["colors"] > 0


def test_emacs(tmp_path: Path) -> None:
    if version("emacs", "--version") < (28,):
        pytest.skip("eglot needs Emacs 28")
    given = environment(tmp_path)
    (tmp_path / "init.el").write_text(block("elisp", "without tree-sitter"), encoding="utf-8")
    load = ["--eval", "(package-initialize)", "-l", str(tmp_path / "init.el"), "-l", str(HERE / "emacs.el")]
    found = report(["emacs", "--batch", *load], given)
    assert found["mode"] == "tvms-mode"
    assert "missing" in found["message"]
    assert "parameter B" in found["hover"]
    assert found["line"].strip() == "result[vi] = A[vi] + missing"
