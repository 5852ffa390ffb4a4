"""Where the tensors of a graph lie: pieces of one workspace, shared by those that do not live at the same time.

Every tensor lives from the step that writes it to the last one that reads it. The largest is placed first, each in the
smallest gap between those that live with it (best fit; Pisarchyk and Lee, "Efficient Memory Management for Deep Neural
Net Inference", 2020). TVM's `StaticPlanBlockMemory` shares whole storages; a workspace also shares parts of them.
"""

from __future__ import annotations

from collections.abc import Sequence

from msgspec import Struct

ALIGNMENT = 64
"""Bytes: a cache line, and the widest vector."""


class Lifetime(Struct, frozen=True):
    """A tensor of so many bytes, which is written in step `first` and read until step `last`."""

    size: int
    first: int
    last: int

    def meets(self, other: Lifetime) -> bool:
        """Whether both live in some step."""
        return self.first <= other.last and other.first <= self.last


class Plan(Struct, frozen=True):
    """The place of each tensor in a workspace of `size` bytes.

    `live` is the most that lives in one step, which no plan can beat, and `total` what all take together.
    """

    offsets: tuple[int, ...]
    size: int
    live: int
    total: int


def make_plan(lifetimes: Sequence[Lifetime]) -> Plan:
    """Return where tensors of these lifetimes lie; none overlaps another that lives with it."""
    offsets = [0] * len(lifetimes)
    placed: list[int] = []
    for tensor in sorted(range(len(lifetimes)), key=lambda each: -lifetimes[each].size):
        neighbours = [other for other in placed if lifetimes[other].meets(lifetimes[tensor])]
        taken = sorted((offsets[other], offsets[other] + _padded(lifetimes[other].size)) for other in neighbours)
        offsets[tensor] = _best_gap(taken, _padded(lifetimes[tensor].size))
        placed.append(tensor)
    size = max((offset + _padded(each.size) for offset, each in zip(offsets, lifetimes, strict=True)), default=0)
    return Plan(tuple(offsets), size, _most_alive(lifetimes), sum(each.size for each in lifetimes))


def _best_gap(taken: Sequence[tuple[int, int]], size: int) -> int:
    """Return the start of the smallest gap of at least `size` bytes, or the end of all."""
    best, room, end = -1, 0, 0
    for start, stop in taken:
        gap = start - end
        if gap >= size and (best < 0 or gap < room):
            best, room = end, gap
        end = max(end, stop)
    return end if best < 0 else best


def _padded(size: int) -> int:
    return max(1, -(-size // ALIGNMENT)) * ALIGNMENT


def _most_alive(lifetimes: Sequence[Lifetime]) -> int:
    steps = {each.first for each in lifetimes}
    return max((sum(each.size for each in lifetimes if each.first <= step <= each.last) for step in steps), default=0)
