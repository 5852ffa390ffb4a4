"""Choices that take turns: a run of a law meets each option once before it meets one again."""

from __future__ import annotations

from collections import Counter

import hypothesis
import pytest
from hypothesis import settings
from tvms.testing.campaign import drawn_batch
from tvms.testing.choices import Choices, Turns, drawn
from tvms.testing.coverage import gaps
from tvms.testing.operator_calls import CALLS, drawn_call


def test_each_number_comes_once_in_a_cycle() -> None:
    turns = Turns(seed=3, start=0)
    cycles = [[turns.next(20) for _ in range(20)] for _ in range(3)]
    assert all(sorted(cycle) == [*range(20)] for cycle in cycles)
    assert cycles[0] != cycles[1]


def test_parts_of_a_run_continue_each_other() -> None:
    whole, part = Turns(seed=3, start=0), Turns(seed=3, start=30)
    expected = [whole.next(20) for _ in range(50)]
    assert [part.next(20) for _ in range(20)] == expected[30:]


def test_outside_of_laws_turns_are_choices() -> None:
    met = set[str]()

    @hypothesis.seed(1)
    @settings(max_examples=50, database=None)
    @hypothesis.given(drawn(lambda choose: choose.turn("abc")))
    def draw(letter: str) -> None:
        met.add(letter)

    draw()
    assert met == {*"abc"}


@pytest.mark.parametrize("seed", [4, 20261128])
def test_two_hundred_graphs_contain_every_operator(seed: int) -> None:
    counts = Counter[str]()
    for number in range(2):
        counts.update(drawn_batch("graph", seed, number, 100).constructs)
    assert not [str(gap) for gap in gaps({"graph": counts}) if "relax." in gap.row]


def test_each_row_of_the_table_calls_its_operator() -> None:
    """Random graphs meet all operators only if no row falls back to another one."""

    def name(choose: Choices, row: str) -> str:
        found = drawn_call(choose, row, lambda shape, dtype: "x")
        return found[0] if found else ""

    rows: dict[str, str] = {}

    @settings(max_examples=1, database=None)
    @hypothesis.given(drawn(lambda choose: {row: name(choose, row) for row in CALLS}))
    def draw(found: dict[str, str]) -> None:
        rows.update(found)

    draw()
    assert rows.keys() == CALLS.keys()
    assert not [row for row, text in rows.items() if f"R.{row}(" not in text]
