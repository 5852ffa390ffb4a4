"""LLVM's answers about processors."""

from __future__ import annotations

import difflib
import re
import subprocess
import sys
from functools import cache
from pathlib import Path

from msgspec import Struct

from ..ir.diagnostics import TvmsError, error

KIND = "llvm"
"""The kind of the targets that are processors."""


def unknown(what: str, help: str) -> TvmsError:
    """Return the error that processors have no `what`."""
    return error("E0601", f"the target '{KIND}' has no {what}", None, help)


class Answer(Struct, frozen=True):
    """LLVM's description of a processor; `runs_here` tells whether this machine has all features that its code
    may use.
    """

    vector_bytes: int
    has_fma: bool
    runs_here: bool


@cache
def ask(triple: str, cpu: str, features: str) -> Answer:
    """Query LLVM about a processor; an empty `triple` means this machine. E0601 if LLVM does not know it."""
    script = str(Path(__file__).with_name("trial.py"))
    command = [sys.executable, "-P", script, triple, cpu, features]
    done = subprocess.run(command, capture_output=True, text=True, errors="replace", check=False)
    names, _, rest = done.stderr.partition("Available features")
    if not rest:
        raise unknown(f"machine '{triple}'", "give -mtriple in LLVM's form, such as aarch64-linux-gnu")
    _check_known("processor", cpu, names)
    for feature in features.split(",") if features else ():
        if feature[:1] not in ("+", "-"):
            raise unknown(f"feature '{feature}'", "prefix a feature with + to enable or - to disable it")
        _check_known("feature", feature[1:], rest)
    if done.returncode:
        reason = done.stderr.strip().splitlines()[-1].removeprefix("LLVM ERROR: ")
        raise unknown(f"code for the processor '{cpu}' as described", f"LLVM says: {reason}")
    size, has_fma, runs = map(int, done.stdout.split())
    return Answer(size, bool(has_fma), bool(runs))


def _check_known(what: str, name: str, listed: str) -> None:
    known = re.findall(r"^  (\S+) +- ", listed, re.MULTILINE)
    if name not in known:
        near = difflib.get_close_matches(name, known, 1)
        help = f"did you mean '{near[0]}'?" if near else f"LLVM knows of {len(known)}, such as '{known[-1]}'"
        raise unknown(f"{what} '{name}'", help)
