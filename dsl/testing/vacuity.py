"""Detection of vacuous tests: comparisons are counted, and how many of them compared two different programs."""

from __future__ import annotations

from collections.abc import Generator
from contextlib import contextmanager

from msgspec import Struct

from ...ir.base import IRModule
from ...ir.equal import structural_equal


class Comparisons(Struct):
    """Number of compared programs, and number of those that were changed."""

    total: int = 0
    changed: int = 0


_counting: list[Comparisons] = []


def count_comparison(before: IRModule, after: IRModule) -> None:
    """Count a comparison in each enclosing `vacuity`."""
    if _counting:
        is_changed = before is not after and not structural_equal(before, after)
        for comparisons in _counting:
            comparisons.total += 1
            comparisons.changed += is_changed


@contextmanager
def vacuity(share: float = 0.0) -> Generator[Comparisons]:
    """Fail if the tested code never changes a program. Use it around a test, or as a decorator above `@given`.

    Each `assert_equivalent` inside compares a program before and after; AssertionError if all pairs are equal programs,
    or if at most `share` of them differ.
    """
    counts = Comparisons()
    _counting.append(counts)
    try:
        yield counts
    finally:
        _counting.remove(counts)
    if not counts.total:
        raise AssertionError("nothing was compared: call assert_equivalent(before, after) in the test")
    if counts.changed <= share * counts.total:
        said, often = (f"{counts.changed}", "hardly ever") if counts.changed else ("none", "never")
        raise AssertionError(
            f"the pass {often} fired: it changed {said} of {counts.total} programs; "
            "draw programs to which it applies, by features=, stages= or operators="
        )
