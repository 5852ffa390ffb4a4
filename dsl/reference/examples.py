"""A wrong and a right example for each diagnostic code, as `tvms explain` and docs/diagnostics.md show them.

`examples/*.tvms` holds them, one file per family: the wrong text, what `tvms check` says about it, and the right text. A
test checks all of them.
The cases of the tests have the same format:

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
from collections.abc import Callable
from functools import cache
from pathlib import Path

from msgspec import Struct

from ...ir.codes import CODES

FOLDER = Path(__file__).parent / "examples"

WITHOUT: dict[str, str] = {
    "E0001": "It depends on the files that exist.",
    "E0002": "It depends on the bytes of a file, which no text can show.",
    "E0003": "It depends on the bytes of a file, which no text can show.",
    "E0017": "The formatter raises it, not the check.",
    "E0018": "It depends on the contents of a tensor file.",
    "E0019": "It depends on the Python program that defines the function.",
    "E0020": "It depends on the bytes of a file, which no text can show.",
    "E0440": "Only a program that was built in Python has such a node.",
    "E0405": "Texts get E0230 for it; only a program that was built in Python has it.",
    "E0407": "Texts get E0230 for it; only a program that was built in Python has it.",
    "E0410": "Texts get E0105 or E0203 for it; only a program that was built in Python has it.",
    "E0420": "Only `tvms check --strict` reports it.",
    "E0430": "Texts get E0101 for it; only a program that was built in Python has it.",
    "E0431": "A text that binds a name again binds another variable; only a program that was built in Python has it.",
    "E0444": "Only `tvms check --strict` reports it, for loops with very many accesses.",
    "E0529": "It depends on the target, and compilation raises it.",
    "E0546": "The check finds E0421 in such a text; a schedule in Python raises it.",
    "E0569": "It depends on a trace in JSON, which a Python program applies.",
    "E0578": "The check finds E0419 in such a text; a schedule in Python raises it.",
    "E0592": "The check finds E0421 in such a text; a schedule in Python raises it.",
    "E0594": "It depends on the knobs of a composite step, which the default schedule chooses.",
    "E0595": "It depends on the block that a composite step is given, which the default schedule chooses.",
    "E0597": "It needs many thousands of steps.",
    "E045": "`tvms check --round-trip` reports it, for a defect of the printer or the formatter.",
    "E06": "It depends on the target, and compilation raises it.",
    "E07": "It depends on the arguments of a call, and execution raises it.",
    "E08": "It depends on the command line.",
    "E09": "A pass raises it, which the options of `tvms opt` or a Python program choose.",
    "E10": "It depends on the model that is imported.",
    "E11": "It depends on a database of measurements, or on what runs in a tuner.",
}
"""Why there is no example for a code, by the longest prefix of the code."""

_TITLE = re.compile(r"^# === (.*)\n", re.MULTILINE)
_PART = re.compile(r"^# --- ([a-z]+)(?:: (.*))?\n", re.MULTILINE)
_DEFINITION = re.compile(r"\n\n(?=\S)")


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


def example(code: str) -> Case | None:
    """Return the example of a code: its parts are "given" (the wrong text), "says" and "right"."""
    return _examples().get(code)


def reason(code: str) -> str | None:
    """Return why there is no example for a code, as a sentence; None if nothing is known against one."""
    fitting = [prefix for prefix in WITHOUT if code.startswith(prefix)]
    return WITHOUT[max(fitting, key=len)] if fitting else None


def explanation(code: str, block: Callable[[str, bool], str]) -> list[str]:
    """Return the paragraphs that explain a code below its title.

    `block(text, is_program)` lays out a text of several lines: a program, or a message.
    """
    found = example(code)
    if found is None:
        why = reason(code)
        return [f"No example: {why[0].lower()}{why[1:]}"] if why else []
    wrong, right = (found.parts[name].strip("\n") for name in ("given", "right"))
    message = block(found.parts["says"].strip("\n"), False)
    return ["Wrong:", block(wrong, True), message, "Right:", block(_changed(wrong, right), True)]


def _changed(wrong: str, right: str) -> str:
    """Return `right` without the definitions at its start that `wrong` also has."""
    before, after = _DEFINITION.split(wrong), _DEFINITION.split(right)
    while len(after) > 1 and before and before[0] == after[0]:
        del before[0], after[0]
    return "\n\n".join(after)


@cache
def _examples() -> dict[str, Case]:
    found = {case.title: case for path in sorted(FOLDER.glob("*.tvms")) for case in cases_of(path)}
    return {code: found[code] for code in CODES if code in found}


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
