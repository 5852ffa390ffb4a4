"""The text test cases in `tests/cases/<kind>/*.tvms`: one format, and one loader for all of them.

    # === title of a case
    the text that is given
    # --- says
    another part: what is expected of the text
    # --- passes: LegalizeOps, FuseOps
    a part may have an argument, and be empty

A file with one case needs no title: the case is called like the file. Expectations that are arguments keep such a file a
valid program, since they are comments.
"""

from __future__ import annotations

import re
from functools import cache
from pathlib import Path

from msgspec import Struct

ROOT = Path(__file__).parent / "cases"
PROGRAMS = ("given", "prints", "before", "after")
"""The parts that are programs."""
_TITLE = re.compile(r"^# === (.*)\n", re.MULTILINE)
_PART = re.compile(r"^# --- ([a-z]+)(?:: (.*))?\n", re.MULTILINE)


class Case(Struct, frozen=True):
    """One case. `parts` are its texts by name, "given" first; `arguments` are those of the parts that have one."""

    path: Path
    title: str
    parts: dict[str, str]
    arguments: dict[str, str]

    @property
    def id(self) -> str:
        """The name of a test: the file, and the title if the file has several cases."""
        return self.path.stem if self.title == self.path.stem else f"{self.path.stem}: {self.title}"

    @property
    def text(self) -> str:
        """The case as it is written in its file."""
        head = "" if self.title == self.path.stem else f"# === {self.title}\n"
        parts = [
            text
            if name == "given"
            else f"# --- {name}{f': {self.arguments.get(name)}' * (name in self.arguments)}\n{text}"
            for name, text in self.parts.items()
        ]
        return head + "".join(parts)


@cache
def read_cases(kind: str) -> tuple[Case, ...]:
    """Return all cases of a kind, in the order of files and of cases in a file."""
    return tuple(case for path in sorted((ROOT / kind).glob("*.tvms")) for case in cases_of(path))


def cases_of(path: Path) -> list[Case]:
    """Return the cases of a file."""
    first, *pieces = _TITLE.split(path.read_text(encoding="utf-8"))
    named = zip(pieces[::2], pieces[1::2], strict=True) if pieces else [(path.stem, first)]
    return [_case(path, title, text) for title, text in named]


def _case(path: Path, title: str, text: str) -> Case:
    given, *pieces = _PART.split(text)
    parts = {"given": given} | dict(zip(pieces[::3], pieces[2::3], strict=True))
    arguments = {
        name: argument for name, argument in zip(pieces[::3], pieces[1::3], strict=True) if argument is not None
    }
    return Case(path, title, parts, arguments)


def write_cases(path: Path, cases: list[Case]) -> None:
    """Write the cases of a file."""
    path.write_text("".join(case.text for case in cases).rstrip() + "\n", encoding="utf-8")


def programs(*kinds: str) -> tuple[str, ...]:
    """Return the programs in the cases of these kinds, right and wrong ones, each once."""
    found = [case.parts[name] for kind in kinds for case in read_cases(kind) for name in PROGRAMS if name in case.parts]
    return tuple(dict.fromkeys(text for text in found if text.strip()))
