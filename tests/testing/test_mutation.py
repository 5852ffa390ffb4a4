"""Automatic mutants: each changes one place of one function, records that the place was reached, and is judged by the
units that execute it."""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Callable
from pathlib import Path
from types import CodeType, FunctionType
from typing import Any

import pytest

sys.path.insert(0, str(Path(__file__).parent))
import mutation
import mutation_table
from mutation_sites import HIT, REACHED, Segment, instrumented_codes, mutated_code, sample, sites_in
from mutation_units import Session, Unit, _alternating, functions_of, in_child

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


def test_mutants_have_names_of_their_own(root: Path) -> None:
    (root / "room" / "some.py").write_text("def twice(x: int) -> int:\n    return x * 2 + 2\n", encoding="utf-8")
    names = [site.name.partition(" twice ")[2] for site in sites_in(root, "room")]
    assert names == [
        "operator: x * 2 + 2 → x * 2 - 2",
        "operator: x * 2 → x + 2",
        "off by one: 2 → 3",
        "off by one: 2 → 3 (2)",
    ]


def _scope(codes: dict[str, CodeType]) -> dict[str, Any]:
    """Return the names of the module with other code in some functions."""
    scope: dict[str, Any] = {}
    exec(SOURCE, scope)
    for name, code in codes.items():
        owner, _, method = name.rpartition(".")
        function: FunctionType = getattr(scope[owner], method) if owner else scope[method]
        function.__code__ = code
    return scope


def test_segments_report_that_they_are_executed(root: Path) -> None:
    assert [site.offset for site in sites_in(root, "room")] == [1, 1, 4, 4, 4, 1, 1, 1, 1, 1]
    scope = _scope(instrumented_codes(root, "room/some.py"))
    hits: list[Segment] = []
    scope[HIT] = hits.append
    for value, offsets in ((1, [1, 3]), (2, [1, 4])):
        hits.clear()
        scope["clamp"](value, 2)
        assert hits == [("room/some.py", "clamp", offset) for offset in offsets]


@pytest.mark.parametrize("index", range(len(CHANGES)))
def test_a_mutant_runs_and_notes_that_it_was_reached(root: Path, index: int) -> None:
    site = sites_in(root, "room")[index]
    scope = _scope({site.function: mutated_code(root, site)})
    reached: list[int] = []
    scope[REACHED] = lambda: reached.append(1)

    def results() -> list[Any]:
        counter = scope["Counter"]()
        return [scope["clamp"](value, 2) for value in (1, 2, 7, 12)] + [counter.add("x"), counter.add("x", by=3)]

    try:
        found: Any = [str(result) for result in results()]
    except (AttributeError, TypeError) as problem:
        found = problem
    assert reached
    is_equivalent = site.change == "comparison" or (site.before == "min(value, 10)" and "10, value" in site.after)
    assert (found == ["2", "2", "7", "10", "{'x': 4}", "{'x': 4}"]) == is_equivalent


def test_units_alternate_between_laws_and_then_between_tests() -> None:
    quick, slow = [Unit("simplify", str(number), number / 10) for number in range(2)]
    other = Unit("verify", "7", 0.05)
    tests = [Unit("tests", name, 0.01) for name in ("a.py::one[x]", "a.py::one[y]", "a.py::two")]
    units = [tests[0], slow, tests[1], other, quick, tests[2]]
    assert list(_alternating(units)) == [quick, other, slow, tests[0], tests[2], tests[1]]


def _judged(monkeypatch: pytest.MonkeyPatch, change: str, unit: Callable[[], str]) -> mutation.Verdict:
    """Return the verdict of one unit on a change of `mutation_units._affordable`."""
    folder = Path(__file__).parent
    monkeypatch.setattr(mutation, "ROOT", folder)
    monkeypatch.setattr(mutation, "run_unit", lambda *_: unit())
    site = next(
        site for site in sites_in(folder, "mutation.py") if site.function == "_affordable" and site.change == change
    )
    return mutation.judge(site, [Unit("law", "0", 1.0)], Session(print), functions_of(folder))


def _allows_two_units() -> bool:
    """Return whether `_affordable` does what it should."""
    units = [Unit("law", str(number), 0.6 * mutation.BUDGETS[False]) for number in range(3)]
    return list(mutation._affordable(units)) == units[:2]


def test_a_mutant_is_killed_by_the_unit_that_fails(monkeypatch: pytest.MonkeyPatch) -> None:
    killed = _judged(
        monkeypatch, "dropped statement", lambda: "" if _allows_two_units() else "it allows another number"
    )
    assert (killed.judge, killed.reason, killed.is_reached) == ("law", "it allows another number", True)
    alive = _judged(monkeypatch, "off by one", lambda: "")
    assert (alive.judge, alive.reason, alive.is_reached) == ("", "", False)


def test_a_unit_that_dies_kills_the_mutant(monkeypatch: pytest.MonkeyPatch) -> None:
    def unit() -> str:
        return "" if _allows_two_units() else os.kill(os.getpid(), signal.SIGKILL) or ""

    dead = _judged(monkeypatch, "dropped statement", unit)
    assert (dead.judge, dead.reason) == ("law", "it does not terminate")
    assert in_child(lambda: 7, 10)[:2] == (7, "")


def test_a_unit_that_always_fails_kills_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(RuntimeError) as caught:
        _judged(monkeypatch, "dropped statement", lambda: "it is broken")
    assert str(caught.value) == "law 0 also fails without the mutant: it is broken"


RECORD: dict[str, mutation_table.Line] = {
    name: {"name": name, "room": room, "judge": judge, "laws": laws, "asked": ["order", "simplify"], "is_reached": reached, "seed": 7}
    for name, room, judge, laws, reached in (
        ("a", "ir", "simplify", ["order", "simplify"], True),
        ("b", "ir", "tests", [], True),
        ("c", "ir", "", [], True),
        ("d", "ir", "", [], False),
        ("e", "dsl", "order", ["order"], True),
        ("f", "ir", "", [], True),
    )
}  # fmt: skip


def test_tables_count_what_became_of_mutants(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(mutation_table, "survivors", lambda: {"c": ("equivalent", "it is sorted anyway")})
    assert mutation_table.outcomes(RECORD)[2:] == [
        "| `dsl` | 1 | 0 | 1 | 0 | 0 | 0 | 100% |",
        "| `ir` | 5 | 1 | 1 | 1 | 1 | 1 | 50% |",
        "| all | 6 | 1 | 2 | 1 | 1 | 1 | 60% |",
    ]
    assert mutation_table.rates(RECORD)[2:] == ["| `order` | 1 / 1 | 1 / 5 |", "| `simplify` | 0 / 1 | 1 / 5 |"]
    page = "before\n<!-- mutants: tests/testing/mutation_table.py -->\nold\n<!-- end of mutants -->\nafter"
    lines = mutation_table.written(page, RECORD).splitlines()
    assert (lines[0], lines[-1], len(lines)) == ("before", "after", 23)
    assert "- `c` – equivalent: it is sorted anyway" in lines
    assert "- `f` – open: not explained yet" in lines
    assert lines[3].startswith("A sample of 6 mutants (seed 7), judged by the laws `order`, `simplify`, ")


def test_survivors_have_a_class_and_a_reason() -> None:
    for name, (kind, reason) in mutation_table.survivors().items():
        assert kind in mutation_table.CLASSES
        assert reason
        assert (mutation_table.PAGE.parents[1] / name.split()[0]).exists(), name
