"""The text test cases in `tests/cases/<kind>/*.tvms`; `tvms.dsl.reference.examples` describes their format."""

from __future__ import annotations

from functools import cache
from pathlib import Path

from tvms.dsl.reference.examples import Case, cases_of, write_cases

__all__ = ["PROGRAMS", "ROOT", "Case", "cases_of", "programs", "read_cases", "write_cases"]

ROOT = Path(__file__).parent / "cases"
PROGRAMS = ("given", "prints", "before", "after")
"""The parts that are programs."""


@cache
def read_cases(kind: str) -> tuple[Case, ...]:
    """Return all cases of a kind, in the order of files and of cases in a file."""
    return tuple(case for path in sorted((ROOT / kind).glob("*.tvms")) for case in cases_of(path))


def programs(*kinds: str) -> tuple[str, ...]:
    """Return the programs in the cases of these kinds, right and wrong ones, each once."""
    found = [case.parts[name] for kind in kinds for case in read_cases(kind) for name in PROGRAMS if name in case.parts]
    return tuple(dict.fromkeys(text for text in found if text.strip()))
