"""`make gpu-evidence`: parts that crash or hang do not stop the others, and the parts are right on a GPU of the processor."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

BENCH = Path(__file__).parents[2] / "bench"
sys.path.append(str(BENCH))

import gpu_evidence as evidence  # noqa: E402
import gpu_evidence_parts as parts  # noqa: E402


def test_parts_that_fail_do_not_stop_the_others(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    programs = {
        "crash": "import os; print('before', flush=True); os.abort()", "hang": "import time; time.sleep(60)",
        "wrong": "raise ValueError('|')", "good": "print()",
    }  # fmt: skip
    (tmp_path / "crash.1.ptx").write_text(".version 8.0")
    monkeypatch.setattr(evidence, "LONGEST", 5)
    results = evidence.collect(list(programs), lambda name: [sys.executable, "-c", programs[name]], tmp_path, 300)
    failures = [result["failure"] for result in results]
    assert failures == ["ended by SIGABRT", "took more than 5 s", "ended with code 1", ""]
    assert results[0]["output"].startswith("before")
    assert results[0]["ptx"] == ["crash.1.ptx"]
    assert "Failed: ended by SIGABRT. PTX: crash.1.ptx." in evidence.as_markdown(results, "here")


def test_results_are_tables(tmp_path: Path) -> None:
    text = (
        'from pathlib import Path; Path({!r}, "good.json").write_text(\'[{{"size": 4, "ms": 1.5, "correct": true}}]\')'
    )
    (result,) = evidence.collect(
        ["good"], lambda name: [sys.executable, "-c", text.format(str(tmp_path))], tmp_path, 60
    )
    assert (result["failure"], result["rows"]) == ("", [{"size": 4, "ms": 1.5, "correct": True}])
    assert "| size | ms | correct |\n|---|---|---|\n| 4 | 1.5 | True |" in evidence.as_markdown([result], "here")
    wrong = {**result, "rows": [{"correct": False}]}
    assert "| good | 1 wrong results |" in evidence.as_markdown([wrong], "here")


def test_simulated_parts(tmp_path: Path) -> None:
    only = ["machine", "features", "bounds faults", "float16 products", "transpose", "operators"]
    command = [sys.executable, str(BENCH / "gpu_evidence.py"), "--simulate", "--out", str(tmp_path), "--only", *only]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    found = json.loads((tmp_path / "evidence.json").read_text())["parts"]
    assert [part["part"] for part in found] == only
    assert all(row.get("correct", True) for part in found for row in part["rows"])
    assert "| features | correct |" in (tmp_path / "evidence.md").read_text()


@pytest.mark.parametrize("name", ["machine", "features", "scalars", "bounds faults", "threads", "graphs", "transpose"])
def test_parts_on_a_gpu(name: str, driver: Any, tmp_path: Path) -> None:
    class Shown(parts.Machine):
        def compile(self, text: str, bounds: str = "prove") -> Any:
            executable = super().compile(text, bounds)
            driver.show(executable)
            return executable

        def size(self, size: int) -> int:
            return min(size, 64)

    rows = list(parts.PARTS[name](Shown(False, tmp_path / name)))
    assert rows
    assert all(row.get("correct", True) for row in rows), rows
    assert name == "machine" or list(tmp_path.glob("*.ptx"))
