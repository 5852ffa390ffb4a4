"""How work grows with a text: counted in function calls, which are the same on a busy machine and on an idle one."""

from __future__ import annotations

import cProfile
from collections import Counter
from collections.abc import Callable
from typing import Any

from msgspec import Struct

EXPONENT = 1.2
"""The greatest that the law allows."""
TOLERANCE = 1.06
FEW = 150
"""Calls that do not count: a cache is filled, a limit is reached, a list is sorted."""
FACTOR = 4
"""How much larger the sizes are at which a suspicion is looked into."""
ROUNDS = 2
MOST_CALLS = 30_000_000
"""Where one measurement makes more calls, it is not repeated at a larger size."""


class Growth(Struct, frozen=True):
    """The calls made at sizes n, 2n and 4n, by function."""

    size: int
    counts: tuple[Counter[str], Counter[str], Counter[str]]

    @property
    def totals(self) -> tuple[int, int, int]:
        """The calls at each size."""
        one, two, four = (sum(each.values()) for each in self.counts)
        return one, two, four

    @property
    def is_within(self) -> bool:
        """Whether the calls that the second doubling adds follow from those that the first one adds."""
        one, two, four = self.totals
        return four - two <= 2**EXPONENT * TOLERANCE * max(two - one, 0) + FEW

    def steepest(self) -> list[str]:
        """Return the functions to whose calls the growth is due, the first one the most."""
        one, two, four = self.counts
        excess = {name: four[name] - two[name] - 2 * (two[name] - one[name]) for name in four}
        worst = sorted(excess, key=lambda name: -excess[name])[:3]
        return [f"{name} ({one[name]:,}, {two[name]:,}, {four[name]:,} calls)" for name in worst if excess[name] > 0]


def count_calls(work: Callable[[], object]) -> Counter[str]:
    """Return how often each function, of Python or built in, is called by `work`."""
    profiler = cProfile.Profile()
    profiler.enable()
    try:
        work()
    finally:
        profiler.disable()
    counts: Counter[str] = Counter()
    for entry in profiler.getstats():
        counts[_name(entry.code)] += entry.callcount
    return counts


def _name(code: Any) -> str:
    if isinstance(code, str):
        return code
    return f"{'/'.join(code.co_filename.split('/')[-3:])}:{code.co_firstlineno} {code.co_name}"


def growth(work: Callable[[int], object], size: int) -> Growth:
    """Return the calls that `work` makes at `size`, twice and four times it, after one run that fills caches."""
    work(size)
    one, two, four = (count_calls(lambda size=size * factor: work(size)) for factor in (1, 2, 4))
    return Growth(size, (one, two, four))


def check_growth(work: Callable[[int], object], size: int) -> None:
    """Assert that the work of `work(n)` grows at most like n**1.2, from `size` on.

    What looks steeper at small sizes is looked at again at larger ones: it has to be steep at all of them.
    """
    found = growth(work, size)
    for _ in range(ROUNDS):
        if found.is_within or found.totals[-1] > MOST_CALLS:
            break
        found = growth(work, found.size * FACTOR)
    one, two, four = found.totals
    sizes = f"{found.size}, {2 * found.size} and {4 * found.size}"
    assert found.is_within, f"{one:,}, {two:,} and {four:,} calls at {sizes}: {'; '.join(found.steepest())}"
