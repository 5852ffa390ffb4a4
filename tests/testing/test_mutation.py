"""Automatic mutants: each changes one place of one function, and records that the place was reached."""

from __future__ import annotations

import sys
from pathlib import Path
from types import FunctionType
from typing import Any

import pytest

sys.path.insert(0, str(Path(__file__).parent))
from mutation_sites import REACHED, mutated_code, sample, sites_in

SOURCE = '''
def clamp(value: int, low: int = 0) -> int:
    """Text is not changed: 1 < 2."""
    if value < low:
        return low
    return min(value, 10)


class Counter:
    def __init__(self) -> None:
        self.counts = {}

    def add(self, name, *, by=1):
        self.counts[name] = self.counts.get(name, 0) + by
        return self.counts
'''

CHANGES = [
    "clamp 3 skipped guard: if value < low: → if value < low and False:",
    "clamp 3 comparison: value < low → value <= low",
    "clamp 5 function: min(value, 10) → max(value, 10)",
    "clamp 5 swapped arguments: min(value, 10) → min(10, value)",
    "clamp 5 off by one: 10 → 11",
    "Counter.__init__ 10 dropped statement: self.counts = {} → pass",
    "Counter.add 13 dropped statement: self.counts[name] = self.counts.get(name, 0) + by → pass",
    "Counter.add 13 operator: self.counts.get(name, 0) + by → self.counts.get(name, 0) - by",
    "Counter.add 13 swapped arguments: self.counts.get(name, 0) → self.counts.get(0, name)",
    "Counter.add 13 off by one: 0 → 1",
]


@pytest.fixture
def root(tmp_path: Path) -> Path:
    (tmp_path / "room").mkdir()
    (tmp_path / "room" / "some.py").write_text(SOURCE.lstrip("\n"), encoding="utf-8")
    return tmp_path


def test_mutants_of_a_module(root: Path) -> None:
    sites = sites_in(root, "room")
    assert [f"{site.function} {site.line} {site.change}: {site.before} → {site.after}" for site in sites] == CHANGES
    assert sorted(sample(sites, 100, 3)) == sorted(sites)


@pytest.mark.parametrize("index", range(len(CHANGES)))
def test_a_mutant_runs_and_notes_that_it_was_reached(root: Path, index: int) -> None:
    site = sites_in(root, "room")[index]
    scope: dict[str, Any] = {}
    exec(SOURCE, scope)
    reached: list[int] = []
    scope[REACHED] = lambda: reached.append(1)
    owner = scope["Counter"] if "." in site.function else scope
    name = site.function.rpartition(".")[2]
    function: FunctionType = owner[name] if isinstance(owner, dict) else getattr(owner, name)
    function.__code__ = mutated_code(root, site)

    def results() -> list[Any]:
        counter = scope["Counter"]()
        return [scope["clamp"](value, 2) for value in (1, 2, 7, 12)] + [counter.add("x"), counter.add("x", by=3)]

    try:
        found: Any = [str(each) for each in results()]
    except (AttributeError, TypeError) as problem:
        found = problem
    assert reached
    is_equivalent = site.change == "comparison" or (site.before == "min(value, 10)" and "10, value" in site.after)
    assert (found == ["2", "2", "7", "10", "{'x': 4}", "{'x': 4}"]) == is_equivalent
