"""What documents show is what a user sees: each console block is run and its output compared, times aside.

A block is run as a whole, by a shell, in an empty folder that has the folders of the repository. `$ cat FILE` shows a file: if
it does not exist yet, it is created as shown. Lines that start with `> ` are typed into the command above them.
"""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Iterator
from math import isclose
from pathlib import Path
from textwrap import dedent

import pytest

DECIMAL = re.compile(r"-?\d+\.\d*(?:e[-+]\d+)?")
ROOT = Path(__file__).parent.parent
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
BLOCK = re.compile(r"^( *)```console\n(.*?)^\1```$", re.M | re.S)
COMMAND = re.compile(r"^\$ (.*)\n", re.M)
PROMPT = re.compile(r"^ *\$ (.*)\n", re.M)
"""A command, also where it is not in a console block."""
INPUT = re.compile(r"^> (.*\n)", re.M)
NOT_RUN = {
    "tvms import net.pt2 -o net.tvms": "needs PyTorch and a file with a model; tests/importers/test_import_command.py runs it",
}
"""Commands that are not run, and why."""


def blocks() -> Iterator[object]:
    """Yield the text of each block; its name is the file and the line."""
    for page in PAGES:
        text = page.read_text(encoding="utf-8")
        for found in BLOCK.finditer(text):
            line = text.count("\n", 0, found.start()) + 1
            yield pytest.param(dedent(found[2]), id=f"{page.relative_to(ROOT).as_posix()}:{line}")


def commands(block: str) -> list[tuple[str, str]]:
    """Split a console block into commands and what follows them."""
    start, *parts = COMMAND.split(block)
    assert not start, "a console block starts with a command"
    return list(zip(parts[::2], parts[1::2], strict=True))


@pytest.mark.parametrize("block", list(blocks()))
def test_documents_show_what_is_printed(block: str, tmp_path: Path) -> None:
    for folder in ("samples", "tests", "bench"):
        (tmp_path / folder).symlink_to(ROOT / folder)
    for command, shown in commands(block):
        if command in NOT_RUN:
            pytest.skip(NOT_RUN[command])
        file = re.fullmatch(r"cat ([\w.]+)", command)
        if file is not None and not (tmp_path / file[1]).exists():
            (tmp_path / file[1]).write_text(shown.rstrip("\n") + "\n", encoding="utf-8")
        typed = "".join(INPUT.findall(shown))
        assert_alike(without_times(run(command, typed, tmp_path)), without_times(INPUT.sub("", shown)))


def run(command: str, typed: str, folder: Path) -> str:
    """Return what a command of a shell prints."""
    script = f'tvms() {{ "{sys.executable}" -m tvms.dsl.cli "$@"; }}\n{command}'
    done = subprocess.run(
        ["bash", "-c", script],
        cwd=folder,
        input=typed,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        encoding="utf-8",
        env={"PATH": "/usr/bin:/bin", "NO_COLOR": "1", "COLUMNS": "100", "PYTHONIOENCODING": "utf-8"},
    )
    return done.stdout


def without_times(text: str) -> str:
    """Leave out what differs between runs and machines."""
    text = re.sub(r"\d+(\.\d+)? (µs|ms|s)\b", "TIME", text)
    text = re.sub(r"largest difference \S+", "largest difference D", text)
    return re.sub(r"[ \t]+$", "", text, flags=re.M).strip()


def assert_alike(printed: str, shown: str) -> None:
    """Compare texts where the last digits of decimal numbers, and how wide they are, may differ between machines."""
    words, wanted = (re.sub(r"\s+", " ", DECIMAL.sub(" # ", text)).replace("─", "") for text in (printed, shown))
    assert words == wanted
    for one, other in zip(DECIMAL.findall(printed), DECIMAL.findall(shown), strict=True):
        assert isclose(float(one), float(other), rel_tol=1e-3, abs_tol=1e-3)


def test_each_command_is_in_a_console_block() -> None:
    texts = [page.read_text(encoding="utf-8") for page in PAGES]
    run = [command for text in texts for _, block in BLOCK.findall(text) for command, _ in commands(dedent(block))]
    assert [command for text in texts for command in PROMPT.findall(text)] == run
    assert len(run) >= 40


def test_commands_that_are_not_run_are_shown() -> None:
    shown = {command for page in PAGES for command in PROMPT.findall(page.read_text(encoding="utf-8"))}
    assert NOT_RUN.keys() - shown == set()
