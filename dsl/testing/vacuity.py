"""Tests that test nothing: comparisons are counted, and how many of them were of two programs that differ."""

from __future__ import annotations

from collections.abc import Generator
from contextlib import contextmanager

from msgspec import Struct

from ...ir.base import IRModule
from ...ir.equal import structural_equal


class Comparisons(Struct):
    """How many programs were compared, and how many of them had been changed."""

    total: int = 0
    changed: int = 0


_counting: list[Comparisons] = []


def count_comparison(before: IRModule, after: IRModule) -> None:
    """Count a comparison for each `vacuity` around it."""
    if _counting:
        is_changed = before is not after and not structural_equal(before, after)
        for each in _counting:
            each.total += 1
            each.changed += is_changed


@contextmanager
def vacuity(share: float = 0.0) -> Generator[Comparisons]:
    """Fail where what is tested never did anything: around a test, or as a decorator above `@given`.

    Each `assert_equivalent` inside compares a program before and after; AssertionError where all pairs were the same
    programs, or where no more than `share` of them differed.
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
            "draw programs that it is about, by features=, stages= or operators="
        )
