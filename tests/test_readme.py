"""What the README shows is what a user sees: each console block is run and its output compared, times aside."""

from __future__ import annotations

import re
import shlex
import subprocess
import sys
from math import isclose
from pathlib import Path

import pytest

DECIMAL = re.compile(r"-?\d+\.\d*(?:e[-+]\d+)?")
ROOT = Path(__file__).parent.parent
README = (ROOT / "README.md").read_text()
BLOCKS = re.findall(r"^```console\n(.*?)^```$", README, re.M | re.S)


def commands(block: str) -> list[tuple[str, str]]:
    """Split a console block into commands and what they print."""
    parts = re.split(r"^\$ (.*)\n", block, flags=re.M)[1:]
    return list(zip(parts[::2], parts[1::2], strict=True))


EXAMPLES = [pair for block in BLOCKS for pair in commands(block) if pair[0].startswith("tvms ")]


def without_times(text: str) -> str:
    """Leave out what differs between runs and machines."""
    text = re.sub(r"\d+(\.\d+)? (µs|ms|s)\b", "TIME", text)
    text = re.sub(r"largest difference \S+", "largest difference D", text)
    return re.sub(r"[ \t]+$", "", text, flags=re.M).strip()


@pytest.mark.parametrize(("command", "shown"), EXAMPLES, ids=[command for command, _ in EXAMPLES])
def test_readme_shows_what_is_printed(command: str, shown: str) -> None:
    line, _, pipe = command.partition(" | ")
    done = subprocess.run(
        [sys.executable, "-m", "tvms.dsl.cli", *shlex.split(line)[1:]],
        cwd=ROOT,
        capture_output=True,
        text=True,
        encoding="utf-8",
        env={"PATH": "/usr/bin:/bin", "NO_COLOR": "1", "COLUMNS": "100", "PYTHONIOENCODING": "utf-8"},
    )
    printed = done.stdout + done.stderr
    if pipe:
        found = re.fullmatch(r"(head|tail) -n (\d+)", pipe)
        assert found is not None
        part, count = found.groups()
        lines = printed.splitlines()
        printed = "\n".join(lines[: int(count)] if part == "head" else lines[-int(count) :])
    assert_alike(without_times(printed), without_times(shown))


def assert_alike(printed: str, shown: str) -> None:
    """Compare texts where the last digits of decimal numbers, and how wide they are, may differ between machines."""
    words, wanted = (re.sub(r"\s+", " ", DECIMAL.sub(" # ", text)).replace("─", "") for text in (printed, shown))
    assert words == wanted
    for one, other in zip(DECIMAL.findall(printed), DECIMAL.findall(shown), strict=True):
        assert isclose(float(one), float(other), rel_tol=1e-3, abs_tol=1e-3)


def test_readme_has_examples() -> None:
    assert len(EXAMPLES) >= 12
