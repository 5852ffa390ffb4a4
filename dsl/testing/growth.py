"""Growth of work with the size of a text, measured in function calls, which do not depend on the load of the machine."""

from __future__ import annotations

import cProfile
from collections import Counter
from collections.abc import Callable
from typing import Any

from msgspec import Struct

from ...ir.deep import run_with_big_stack

EXPONENT = 1.2
"""Maximum exponent of growth."""
SUSPICIOUS = 1.03
"""Factor by which calls may grow more than the text before larger sizes are measured."""
FEW = 24
"""Number of calls that are ignored, such as those that fill a cache."""
FACTOR = 4
"""Factor of the larger sizes at which suspicious growth is measured again."""
ROUNDS = 2
MOST_CALLS = 2_000_000
"""Number of calls in one measurement above which it is not repeated at a larger size."""


class Growth(Struct, frozen=True):
    """The calls at sizes n, 2n and 4n, by function."""

    size: int
    lengths: tuple[int, int, int]
    """Lengths of the texts, or of whatever the work must be proportional to."""
    counts: tuple[Counter[str], Counter[str], Counter[str]]

    @property
    def totals(self) -> tuple[int, int, int]:
        """The number of calls at each size."""
        one, two, four = (sum(count.values()) for count in self.counts)
        return one, two, four

    @property
    def is_linear(self) -> bool:
        """Whether the second doubling adds about twice as many calls as the first one."""
        return self._is_below(self._longer() * SUSPICIOUS)

    @property
    def is_within(self) -> bool:
        """Whether the law allows the growth."""
        return self._is_below(self._longer() ** EXPONENT)

    def _longer(self) -> float:
        """Return the ratio of the lengths that the second and the first doubling add. It is 2 unless indentation grows."""
        one, two, four = self.lengths
        return (four - two) / max(two - one, 1)

    def _is_below(self, ratio: float) -> bool:
        one, two, four = self.totals
        return four - two <= ratio * max(two - one, 0) + FEW

    @property
    def calls_of_one(self) -> float:
        """The number of calls for each additional character."""
        _, two, four = self.totals
        return (four - two) / max(self.lengths[2] - self.lengths[1], 1)

    def steepest(self) -> list[str]:
        """Return the functions whose calls cause the growth, largest contribution first."""
        one, two, four = self.counts
        excess = {name: four[name] - two[name] - 2 * (two[name] - one[name]) for name in four}
        worst = sorted(excess, key=lambda name: -excess[name])[:3]
        return [f"{name} ({one[name]:,}, {two[name]:,}, {four[name]:,} calls)" for name in worst if excess[name] > 0]


def count_calls(work: Callable[[], object]) -> Counter[str]:
    """Return how often `work` calls each function, of Python or built in, at any depth of recursion."""
    profiler = cProfile.Profile()

    def profile() -> None:
        profiler.enable()
        try:
            work()
        finally:
            profiler.disable()

    run_with_big_stack(profile)
    counts: Counter[str] = Counter()
    for entry in profiler.getstats():
        counts[_name(entry.code)] += entry.callcount
    return counts


def _name(code: Any) -> str:
    if isinstance(code, str):
        return code
    return f"{'/'.join(code.co_filename.split('/')[-3:])}:{code.co_firstlineno} {code.co_name}"


def _as_it_is(size: int) -> int:
    return size


def growth(
    work: Callable[[Any], object],
    size: int,
    prepare: Callable[[int], Any] = _as_it_is,
    length: Callable[[int], int] = _as_it_is,
) -> Growth:
    """Return the calls of `work` at `size`, twice and four times `size`, after a warm-up run that fills caches."""
    sizes = (size, 2 * size, 4 * size)
    prepared = [prepare(number) for number in sizes]
    run_with_big_stack(lambda: work(prepared[0]))
    one, two, four = (count_calls(lambda state=state: work(state)) for state in prepared)
    shortest, middle, longest = map(length, sizes)
    return Growth(size, (shortest, middle, longest), (one, two, four))


def check_growth(
    work: Callable[[Any], object],
    size: int,
    prepare: Callable[[int], Any] = _as_it_is,
    length: Callable[[int], int] = _as_it_is,
) -> Growth:
    """Assert that the work of `work(prepare(n))` grows at most like `length(n)`**1.2, from n = `size` on.

    Growth that is too steep at small sizes is measured again at larger ones and fails only if it is too steep at all of
    them. Return the last measurement.
    """
    found = growth(work, size, prepare, length)
    for _ in range(ROUNDS):
        if found.is_linear or found.totals[-1] > MOST_CALLS:
            break
        found = growth(work, found.size * FACTOR, prepare, length)
    one, two, four = found.totals
    sizes = f"{found.size}, {2 * found.size} and {4 * found.size}"
    assert found.is_within, f"{one:,}, {two:,} and {four:,} calls at {sizes}: {'; '.join(found.steepest())}"
    return found
