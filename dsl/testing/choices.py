"""How generators choose: a thin hand on Hypothesis' `draw`, so that every choice shrinks to the first and smallest."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cache
from typing import TypeVar

from hypothesis import strategies as st

_T = TypeVar("_T")


@cache
def _integers(low: int, high: int) -> st.SearchStrategy[int]:
    return st.integers(low, high)


class Choices:
    """The choices that make one example. Generators are plain functions of it; `st.composite` makes strategies of them."""

    def __init__(self, draw: st.DrawFn) -> None:
        self._draw = draw
        self._direct: Callable[[int, int], int] | None = getattr(getattr(draw, "__self__", None), "draw_integer", None)
        self._names: dict[str, int] = {}

    def number(self, low: int, high: int) -> int:
        """Choose a number from `low` to `high`, both included."""
        if low == high:
            return low
        if self._direct is not None:  # the same choice, without what Hypothesis keeps of each strategy
            return self._direct(low, high)
        return self._draw(_integers(low, high))

    def draw(self, strategy: st.SearchStrategy[_T]) -> _T:
        """Choose by a strategy."""
        return self._draw(strategy)

    def pick(self, options: Sequence[_T]) -> _T:
        """Choose one of `options`; simpler ones stand first."""
        return options[self.number(0, len(options) - 1)]

    def rarely(self, once_in: int = 6) -> bool:
        """Choose yes once in a while; no is simpler."""
        return self.number(0, once_in - 1) == once_in - 1

    def fresh(self, name: str) -> str:
        """Return `name`, or `name_1`, `name_2`, … where this example has it already."""
        count = self._names.get(name, -1) + 1
        self._names[name] = count
        return f"{name}_{count}" if count else name
