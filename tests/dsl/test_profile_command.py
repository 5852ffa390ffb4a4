"""`tvms profile`: what it prints and writes, and its errors."""

from __future__ import annotations

import json
import re
import shlex
import xml.etree.ElementTree as ElementTree
from pathlib import Path

import pytest
from tvms.dsl.cli import build_parser, main

ROOT = Path(__file__).parents[2]
PERCEPTRON = str(ROOT / "samples" / "04_perceptron.tvms")
QUICK = ("--seconds", "0", "--threads", "1")


@pytest.fixture(scope="module")
def profile(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a profile that `--json` printed."""
    folder = tmp_path_factory.mktemp("profile")
    with pytest.MonkeyPatch.context() as patch, (folder / "a.json").open("w") as file:
        patch.setattr("sys.stdout", file)
        assert main(["profile", PERCEPTRON, *QUICK, "--json"]) == 0
    return folder / "a.json"


def test_tables_of_kernels_and_lines(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["profile", PERCEPTRON, *QUICK]) == 0
    kernels, lines, limits = capsys.readouterr().out.split("\n\n")
    assert kernels.split("\n")[0].split() == [
        "Name", "Calls", "Duration", "(us)", "Share", "Mean", "(us)", "GFLOP/s", "GB/s", "Limit",
    ]  # fmt: skip
    assert [row.split()[0] for row in kernels.splitlines()[-2:]] == ["(between", "Total"]
    assert any("04_perceptron.tvms:18: " in row for row in lines.splitlines())
    assert limits.startswith("Limit: measured on 1 threads, ")


def test_json_holds_the_configuration(profile: Path) -> None:
    found = json.loads(profile.read_text())
    assert found["configuration"] == {"file": PERCEPTRON, "entry": "main", "target": "llvm", "threads": "1"}
    assert found["total"] >= sum(call["total"] for call in found["calls"])


def test_pictures_are_written(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    page, picture = tmp_path / "p.html", tmp_path / "p.svg"
    assert main(["profile", PERCEPTRON, *QUICK, "--html", str(page), "--svg", str(picture)]) == 0
    assert page.read_text().startswith("<!doctype html>")
    ElementTree.parse(picture)


def test_two_profiles_are_compared(profile: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["profile", "--compare", str(profile), str(profile)]) == 0
    *_, total = capsys.readouterr().out.splitlines()
    assert total.split()[3:] == ["+0.00", "1.00"]


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ([], "error[E0801]: give a FILE to profile, or two profiles with --compare"),
        (["--compare", "missing.json", "missing.json"], "error[E0001]: 'missing.json' cannot be read: "),
        (["--compare", PERCEPTRON, PERCEPTRON], f"error[E0809]: '{PERCEPTRON}' is not a profile: JSON is malformed"),
        ([PERCEPTRON, "--html", "/missing/p.html", *QUICK], "error[E0802]: "),
    ],
    ids=["no file", "missing", "no profile", "no folder"],
)
def test_wrong_arguments(arguments: list[str], said: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["profile", *arguments]) == 2
    assert said in capsys.readouterr().err


def test_the_picture_of_the_documentation_has_its_command() -> None:
    text = (ROOT / "docs/performance.md").read_text()
    (command,) = re.findall(r"^    tvms (profile .* --svg docs/(\S+))$", text, re.MULTILINE)
    parsed = build_parser()[0].parse_args(shlex.split(command[0]))
    assert (ROOT / parsed.file).exists()
    assert f"]({command[1]})" in text
    ElementTree.parse(ROOT / "docs" / command[1])
