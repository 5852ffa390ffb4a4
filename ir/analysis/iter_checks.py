"""Checks that the splits of an iterator are independent and cover all of it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from .. import tir
from ..idioms import is_one
from .iter_marks import Factors, IterMark, IterSplitExpr, IterSumExpr, NotIterMap


def parts_of(sums: Sequence[IterSumExpr], shifted: Mapping[IterMark, IterMark]) -> dict[IterMark, list[IterSplitExpr]]:
    """Return the marks in `sums`, also nested ones, each with the splits that use it.

    A mark in `shifted` is another mark with a later start; its splits count as splits of that mark.
    """
    parts: dict[IterMark, list[IterSplitExpr]] = {}
    waiting = [split for sum_ in sums for split in sum_.args]
    while waiting:
        split = waiting.pop()
        mark = shifted.get(split.source, split.source)
        known = parts.setdefault(mark, [])
        if not known and isinstance(mark.source, IterSumExpr):
            waiting.extend(mark.source.args)
        known.append(split)
    return parts


def check_parts(factors: Factors, mark: IterMark, splits: Sequence[IterSplitExpr], is_bijective: bool) -> None:
    """Raise NotIterMap unless `splits` take all combinations of their values and, if `is_bijective`, each once.

    Digits of consecutive numbers take all combinations if there are at least that many numbers, wherever they start; a
    single top part always takes all its values.
    """
    left, end = list(splits), None
    while left:
        lowest = _lowest(factors, left, end)
        if is_bijective and end is None and not is_one(lowest.lower_factor):
            raise NotIterMap("the lowest part of an iterator is not used")
        if is_bijective and end is not None and lowest.lower_factor is not end:
            raise NotIterMap("a part of an iterator is not used")
        left.remove(lowest)
        end = factors.times(lowest.lower_factor, lowest.extent)
    if end is None or end is mark.extent:
        return
    is_alone = len(splits) == 1 and factors.at_most(splits[0].source.extent, end)
    if is_bijective or not (is_alone or factors.at_most(end, mark.extent)):
        raise NotIterMap("an iterator is split by a factor that does not divide its extent")


def _lowest(factors: Factors, splits: Sequence[IterSplitExpr], end: tir.PrimExpr | None) -> IterSplitExpr:
    """Return the split that starts at `end`, or else the lowest one, which must start at a multiple of `end`."""
    for split in splits:
        if split.lower_factor is end or (end is None and is_one(split.lower_factor)):
            return split
    for split in splits:
        starts = end is None or factors.divides(end, split.lower_factor)
        if starts and all(factors.at_most(split.lower_factor, item.lower_factor) for item in splits):
            return split
    raise NotIterMap("parts of an iterator overlap")
