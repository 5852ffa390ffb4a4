"""Choices of generators: a thin layer over Hypothesis' `draw`, in which each choice shrinks to its first and smallest option."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cache
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

    def rarely(self, once_in: int = 6) -> bool:
        """Return True rarely. False is simpler."""
        return self.number(0, once_in - 1) == once_in - 1

    def fresh(self, name: str) -> str:
        """Return `name`, or `name_1`, `name_2`, … if this example uses it already."""
        count = self._names.get(name, -1) + 1
        self._names[name] = count
        return f"{name}_{count}" if count else name
