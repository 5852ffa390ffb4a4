"""Where the tensors of a graph lie: pieces of one workspace, and of results that are not written yet, shared by those that
do not live at the same time.

Every tensor lives from the step that writes it to the last one that reads it. The largest is placed first, each in the
smallest gap between those that live with it (best fit; Pisarchyk and Lee, "Efficient Memory Management for Deep Neural
Net Inference", 2020). TVM's `StaticPlanBlockMemory` shares whole storages; a workspace also shares parts of them.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import inf

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
    """Where each tensor lies: in `rooms[n]`, one of the results or, beyond those, a workspace of `size` bytes, at `offsets[n]`.

    `live` is the most that lives in one step, results included from the step that writes them on: no plan can do with
    less. `total` is what all take together.
    """

    rooms: tuple[int, ...]
    offsets: tuple[int, ...]
    size: int
    live: int
    total: int


def make_plan(lifetimes: Sequence[Lifetime], results: Sequence[Lifetime] = ()) -> Plan:
    """Return where tensors of these lifetimes lie; none overlaps another that lives with it.

    A result is memory that is there all the time, but holds nothing until it is written: others may lie in it before. Of
    tensors of one size the last come first: they are the ones that cannot.
    """
    rooms, offsets = [0] * len(lifetimes), [0] * len(lifetimes)
    held: list[list[tuple[Lifetime, int]]] = [[(each, 0)] for each in results] + [[]]
    limits = [each.size for each in results] + [inf]
    for tensor in sorted(range(len(lifetimes)), key=lambda each: (-lifetimes[each].size, -lifetimes[each].first)):
        own = lifetimes[tensor]
        for room, (there, limit) in enumerate(zip(held, limits, strict=True)):
            taken = sorted((start, start + _padded(each.size)) for each, start in there if each.meets(own))
            offset = _best_gap(taken, _padded(own.size))
            if offset + own.size <= limit:
                rooms[tensor], offsets[tensor] = room, offset
                there.append((own, offset))
                break
    size = max((offset + _padded(each.size) for each, offset in held[-1]), default=0)
    return Plan(
        tuple(rooms), tuple(offsets), size, _most_alive((*lifetimes, *results)), sum(each.size for each in lifetimes)
    )


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
