"""The commands for git: `tvms diff --git`, `tvms merge` and `tvms git-setup`."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from tvms.dsl.cli import main

TEXT = """\
T.prim_func f(A: T.Buffer((4,), "int32"), B: T.Buffer((4,), "int32")):
    for i in range(4):
        A[i] = 1
        B[i] = 2
"""


@pytest.fixture
def repository(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PATH", f"{Path(sys.executable).parent}:{os.environ['PATH']}")
    monkeypatch.setenv("GIT_CONFIG_GLOBAL", str(tmp_path / "global"))
    for name in ("AUTHOR", "COMMITTER"):
        monkeypatch.setenv(f"GIT_{name}_NAME", "a")
        monkeypatch.setenv(f"GIT_{name}_EMAIL", "a@example.com")
    git("init", "-q", "-b", "main", ".")
    Path("a.tvms").write_text(TEXT, encoding="utf-8")
    return tmp_path


def git(*words: str) -> str:
    return subprocess.run(["git", *words], capture_output=True, text=True, check=True).stdout


def write(text: str, message: str) -> None:
    Path("a.tvms").write_text(text, encoding="utf-8")
    git("add", "-A")
    git("commit", "-q", "-m", message)


def test_git_merges_and_compares_by_statement(repository: Path, capfd: pytest.CaptureFixture[str]) -> None:
    assert main(["git-setup"]) == 0
    assert ".gitattributes: +*.tvms diff=tvms merge=tvms" in capfd.readouterr().out
    assert main(["git-setup"]) == 0
    assert capfd.readouterr().out == "git is set up for tvms; there is nothing to change\n"
    write(TEXT, "base")
    git("checkout", "-q", "-b", "other")
    write(TEXT.replace("A[i] = 1", "A[i] = 5"), "theirs")
    git("checkout", "-q", "main")
    write(TEXT.replace("B[i] = 2", "B[i] = 6"), "ours")
    git("merge", "-q", "other", "-m", "both")  # adjacent lines, which git alone cannot merge
    assert Path("a.tvms").read_text(encoding="utf-8") == TEXT.replace("= 1", "= 5").replace("= 2", "= 6")
    assert git("diff", "HEAD~1", "--", "a.tvms").splitlines()[2:] == [
        "  function f", "    for i in range(4):", "    - A[i] = 1", "    + A[i] = 5",
    ]  # fmt: skip
    assert "@@ T.prim_func f(A" in git("diff", "--no-ext-diff", "-U0", "HEAD~1", "--", "a.tvms")
    assert main(["git-setup", "--remove"]) == 0
    assert "tvms" not in git("config", "--local", "--list")
    assert not Path(".gitattributes").exists()


def test_git_setup_for_all_repositories(repository: Path) -> None:
    git("config", "--global", "core.attributesFile", str(repository / "attributes"))
    (repository / "attributes").write_text("*.c diff=cpp\n", encoding="utf-8")
    assert main(["git-setup", "--global", "--pattern", "*.tvms", "--pattern", "kernels/*.py"]) == 0
    assert (repository / "attributes").read_text(encoding="utf-8") == (
        "*.c diff=cpp\n*.tvms diff=tvms merge=tvms\nkernels/*.py diff=tvms merge=tvms\n"
    )
    assert main(["git-setup", "--global", "--remove"]) == 0
    assert (repository / "attributes").read_text(encoding="utf-8") == "*.c diff=cpp\n"


def test_git_setup_outside_of_a_repository(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("GIT_CEILING_DIRECTORIES", str(tmp_path.parent))
    assert main(["git-setup"]) == 2
    assert capfd.readouterr().err == (
        "error[E0825]: this folder is not in a git repository\n  = help: run `git init`, or give --global\n"
    )


def files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, *texts: str) -> list[str]:
    monkeypatch.chdir(tmp_path)
    for name, text in zip(("base.tvms", "ours.tvms", "theirs.tvms"), texts, strict=False):
        Path(name).write_text(text, encoding="utf-8")
    return ["base.tvms", "ours.tvms", "theirs.tvms"]


def test_merge_writes_conflicts(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    names = files(tmp_path, monkeypatch, TEXT, TEXT.replace("= 1", "= 5"), TEXT.replace("= 1", "= 6"))
    assert main(["merge", *names, "-o", "out.tvms"]) == 1
    assert capfd.readouterr().err == "ours.tvms: 1 conflict in f, at line 3\n"
    assert Path("out.tvms").read_text(encoding="utf-8") == TEXT.replace(
        "        A[i] = 1\n",
        "<<<<<<< ours.tvms\n        A[i] = 5\n||||||| base.tvms\n        A[i] = 1\n=======\n        A[i] = 6\n>>>>>>> theirs.tvms\n",
    )


def test_diff_prints_json_and_runs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    files(tmp_path, monkeypatch, TEXT, TEXT.replace("= 1", "= 3 - 2"))
    assert main(["diff", "base.tvms", "base.tvms"]) == 0
    assert main(["diff", "base.tvms", "ours.tvms", "--json", "--run"]) == 1
    found = json.loads(capfd.readouterr().out)
    assert found["changes"][0] == {
        "kind": "changed", "what": "statement", "path": ["function f", "for i in range(4):"], "before": "A[i] = 1",
        "after": "A[i] = 3 - 2", "lines": [3, 3],
    }  # fmt: skip
    assert found["results"] == [{"function": "f", "differs": ""}]
    assert main(["diff", "base.tvms", "missing.tvms"]) == 2
    assert main(["diff", "base.tvms"]) == 2


def test_diff_of_dialects_compares_what_they_mean(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    files(tmp_path, monkeypatch, TEXT)
    assert main(["print", "base.tvms", "--dialect", "tvm-0.27", "-o", "base.py"]) == 0
    assert main(["diff", "base.tvms", "base.py"]) == 0
    assert main(["diff", "base.tvms::f", "base.py::f"]) == 0
    assert main(["diff", "base.tvms::g", "base.py"]) == 2
