"""Targets that are processors, from text or from TVM's dictionary form.

"llvm"                                              this processor
"llvm -mcpu=znver4"                                 a processor by LLVM's name
"llvm -mcpu=x86-64-v3 -mattr=+avx512f,-avx512vl"    with and without features
"llvm -num-cores=4 -opt-level=2"                    four threads in parallel loops; LLVM's level at most 2
"llvm -fast-math-contract"                          products and sums with one rounding; -fast-math: also in any order
"llvm -mtriple=aarch64-linux-gnu -mcpu=cortex-a76"  cross compilation: the code does not run here
"""

from __future__ import annotations

import difflib
import re
import subprocess
import sys
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any

from msgspec import Struct

from ..ir.diagnostics import TvmsError, error
from .llvm.intrinsics import CPU
from .target import FAST_MATH, Target, get_target, options_of

KIND = "llvm"
_NATIVE, _NUMBERS = ("mtriple", "mcpu", "mattr"), {"num-cores": (1, 1024), "opt-level": (0, 3)}
_IGNORED = ("keys", "device", "model", "tag")


def processor_target(target: str | Mapping[str, Any]) -> Target:
    """Return the target that `target` names; TvmsError E0601 if LLVM does not know the processor, a feature or
    the machine, and for an unknown option.
    """
    options = options_of(target)
    del options["kind"]
    numbers: dict[str, int] = {}
    fast: list[str] = []
    for name, value in options.items():
        if name in _NUMBERS:
            numbers[name] = _number(name, value)
        elif name in FAST_MATH:
            fast += [FAST_MATH[name]] if _is_on(name, value) else []
        elif name not in (*_NATIVE, *_IGNORED):
            known = ", ".join(f"-{each}" for each in (*_NATIVE, *_NUMBERS, *FAST_MATH))
            raise _unknown(f"option '-{name}'", f"it has: {known}")
    triple, cpu, features = (options.get(name, "") for name in _NATIVE)
    if triple or features:
        cpu = cpu or "generic"
    if cpu:
        ask(triple, cpu, features)
    threads, level = numbers.get("num-cores", 0), numbers.get("opt-level", 3)
    return Target(KIND, CPU, triple, cpu, features, threads=threads, level=level, fast_math=tuple(fast))


def _number(name: str, value: str) -> int:
    low, high = _NUMBERS[name]
    if not value.isdecimal() or not low <= int(value) <= high:
        raise _unknown(f"-{name} of '{value}'", f"give a number from {low} to {high}")
    return int(value)


def _is_on(name: str, value: str) -> bool:
    if value.lower() not in ("", "0", "1", "false", "true"):
        raise _unknown(f"-{name} of '{value}'", "omit the value, or give 0 or 1")
    return value.lower() in ("", "1", "true")


def _unknown(what: str, help: str) -> TvmsError:
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
        raise _unknown(f"machine '{triple}'", "give -mtriple in LLVM's form, such as aarch64-linux-gnu")
    _check_known("processor", cpu, names)
    for feature in features.split(",") if features else ():
        if feature[:1] not in ("+", "-"):
            raise _unknown(f"feature '{feature}'", "prefix a feature with + to enable or - to disable it")
        _check_known("feature", feature[1:], rest)
    if done.returncode:
        reason = done.stderr.strip().splitlines()[-1].removeprefix("LLVM ERROR: ")
        raise _unknown(f"code for the processor '{cpu}' as described", f"LLVM says: {reason}")
    size, has_fma, runs = map(int, done.stdout.split())
    return Answer(size, bool(has_fma), bool(runs))


def check_runs_here(target: Target) -> None:
    """Raise E0617 if code for `target` may use features that this processor lacks."""
    if target.cpu and not ask(target.triple, target.cpu, target.features).runs_here:
        here = get_target(KIND).words[1]
        reason = f"code for '{target.text}' does not run on this processor ('{here}')"
        raise error(
            "E0617", reason, None, "write it to a file (tvms compile --emit so), or compile for this processor ('llvm')"
        )


def _check_known(what: str, name: str, listed: str) -> None:
    known = re.findall(r"^  (\S+) +- ", listed, re.MULTILINE)
    if name not in known:
        near = difflib.get_close_matches(name, known, 1)
        help = f"did you mean '{near[0]}'?" if near else f"LLVM knows of {len(known)}, such as '{known[-1]}'"
        raise _unknown(f"{what} '{name}'", help)
