"""Choices of generators: a thin layer over Hypothesis' `draw`, in which each choice shrinks to its first and smallest option."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Generator, Sequence
from contextlib import contextmanager
from functools import cache
from random import Random
from typing import TypeVar

from hypothesis import strategies as st

_T = TypeVar("_T")


@cache
def _integers(low: int, high: int) -> st.SearchStrategy[int]:
    return st.integers(low, high)


def drawn(make: Callable[[Choices], _T]) -> st.SearchStrategy[_T]:
    """Return a strategy of what `make` returns for its choices.

    One strategy makes all choices of an example. If several strategies of one kind made them, Hypothesis would repeat
    each example with some of its parts equal, and five of six examples would have the same program.
    """

    @st.composite
    def example(draw: st.DrawFn) -> _T:
        return make(Choices(draw))

    return example()


def weighted(*options: tuple[int, st.SearchStrategy[_T]]) -> st.SearchStrategy[_T]:
    """Return a strategy that draws from one of `options`, each as often as its weight says. (`st.one_of` drops strategies that
    are repeated.)
    """
    places = [place for place, (weight, _) in enumerate(options) for _ in range(weight)]
    return drawn(lambda choose: choose.draw(options[choose.pick(places)][1]))


class Turns:
    """Numbers that take turns: each number below a count comes once, in random order, before one of them comes again.

    A run that is split into parts gives each part the place at which its turns begin.
    """

    def __init__(self, seed: int, start: int) -> None:
        self._seed, self._start = seed, start
        self._taken = Counter[int]()
        self._orders: dict[tuple[int, int], list[int]] = {}

    def next(self, count: int) -> int:
        """Return the next number below `count`."""
        cycle, place = divmod(self._start + self._taken[count], count)
        self._taken[count] += 1
        if (count, cycle) not in self._orders:
            self._orders[count, cycle] = Random(f"{self._seed} {count} {cycle}").sample(range(count), count)
        return self._orders[count, cycle][place]


class _Current:
    """The turns of the examples that are drawn, and whether the next choice takes part in them."""

    turns: Turns | None = None
    is_asked = False


@contextmanager
def taking(turns: Turns) -> Generator[None]:
    """Let the choices of `Choices.turn` be those of `turns`. The source of choices asks `turn_of` for them."""
    before, _Current.turns = _Current.turns, turns
    try:
        yield
    finally:
        _Current.turns = before


def turn_of(low: int | None, high: int | None) -> int | None:
    """Return the number that is next if the present choice takes turns; None otherwise."""
    if not _Current.is_asked or _Current.turns is None or low is None or high is None:
        return None
    return low + _Current.turns.next(high - low + 1)


class Choices:
    """The choices that make one example. Generators are plain functions of it; `st.composite` turns them into strategies."""

    def __init__(self, draw: st.DrawFn) -> None:
        self._draw = draw
        self._direct: Callable[[int, int], int] | None = getattr(getattr(draw, "__self__", None), "draw_integer", None)
        self._names: dict[str, int] = {}

    def number(self, low: int, high: int) -> int:
        """Choose a number from `low` to `high`, both inclusive."""
        if low == high:
            return low
        if self._direct is not None:  # the same choice as st.integers, without its cost per strategy
            return self._direct(low, high)
        return self._draw(_integers(low, high))

    def draw(self, strategy: st.SearchStrategy[_T]) -> _T:
        """Draw from a strategy."""
        return self._draw(strategy)

    def pick(self, options: Sequence[_T]) -> _T:
        """Choose one of `options`, which list simpler ones first."""
        return options[self.number(0, len(options) - 1)]

    def turn(self, options: Sequence[_T]) -> _T:
        """Choose one of `options` so that a run of a law meets each of them before it meets one again. Elsewhere, and in
        examples that are shrunk, this is a choice like any other.
        """
        _Current.is_asked = True
        try:
            return self.pick(options)
        finally:
            _Current.is_asked = False

    def rarely(self, once_in: int = 6) -> bool:
        """Return True rarely. False is simpler."""
        return self.number(0, once_in - 1) == once_in - 1

    def fresh(self, name: str) -> str:
        """Return `name`, or `name_1`, `name_2`, … if this example uses it already."""
        count = self._names.get(name, -1) + 1
        self._names[name] = count
        return f"{name}_{count}" if count else name
