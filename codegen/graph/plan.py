"""Memory planning for graphs: tensors whose lifetimes do not overlap share parts of one workspace, and of
results that are not written yet.

A tensor is alive from the step that writes it to the last one that reads it. The largest is placed first,
each in the smallest gap between the tensors that are alive at the same time (best fit; Pisarchyk and Lee,
"Efficient Memory Management for Deep Neural Net Inference", 2020). TVM's `StaticPlanBlockMemory` shares
whole storages; a workspace also shares parts of them. Tensors of symbolic sizes share whole rooms (`share_rooms`).
"""

from __future__ import annotations

from collections.abc import Sequence
from math import inf

from msgspec import Struct

from ...ir import tir
from ...ir.ops import dims as d

ALIGNMENT = 64
"""Alignment in bytes: a cache line, and the widest vector."""


class Lifetime(Struct, frozen=True):
    """A tensor of `size` bytes that is written in step `first` and read until step `last`."""

    size: int
    first: int
    last: int

    def meets(self, other: Lifetime) -> bool:
        """Return whether both are alive in some step."""
        return self.first <= other.last and other.first <= self.last


class Plan(Struct, frozen=True):
    """The location of each tensor: offset `offsets[n]` in `rooms[n]`, the number of a result or, after these, a
    workspace of `size` bytes.

    `live` is the maximum of the bytes that are alive in one step, including results once they are written: a
    lower bound for any plan. `total` is the sum of all sizes.
    """

    rooms: tuple[int, ...]
    offsets: tuple[int, ...]
    size: int
    live: int
    total: int


def make_plan(lifetimes: Sequence[Lifetime], results: Sequence[Lifetime] = ()) -> Plan:
    """Plan memory for tensors of these lifetimes, such that tensors alive at the same time do not overlap.

    The memory of a result exists during the whole call; other tensors may use it until the result is written.
    Among tensors of one size the latest are placed first, since they cannot use results.
    """
    rooms, offsets = [0] * len(lifetimes), [0] * len(lifetimes)
    held: list[list[tuple[Lifetime, int]]] = [[(result, 0)] for result in results] + [[]]
    limits = [result.size for result in results] + [inf]
    for tensor in sorted(range(len(lifetimes)), key=lambda i: (-lifetimes[i].size, -lifetimes[i].first)):
        own = lifetimes[tensor]
        for room, (there, limit) in enumerate(zip(held, limits, strict=True)):
            taken = sorted((start, start + _padded(lifetime.size)) for lifetime, start in there if lifetime.meets(own))
            offset = _best_gap(taken, _padded(own.size))
            if offset + own.size <= limit:
                rooms[tensor], offsets[tensor] = room, offset
                there.append((own, offset))
                break
    size = max((offset + _padded(lifetime.size) for lifetime, offset in held[-1]), default=0)
    return Plan(
        tuple(rooms),
        tuple(offsets),
        size,
        _most_alive((*lifetimes, *results)),
        sum(lifetime.size for lifetime in lifetimes),
    )


def _best_gap(taken: Sequence[tuple[int, int]], size: int) -> int:
    """Return the start of the smallest gap of at least `size` bytes, or the end of the last interval."""
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
    steps = {lifetime.first for lifetime in lifetimes}
    return max(
        (sum(lifetime.size for lifetime in lifetimes if lifetime.first <= step <= lifetime.last) for step in steps),
        default=0,
    )


class Room(Struct, eq=False):
    """Memory for tensors that are never alive at the same time, of sizes that are multiples of `unit`: `factor` units of bytes."""

    key: object
    """Rooms with equal units have equal keys."""
    unit: tir.PrimExpr
    factor: int
    last: int
    """The last step that accesses it so far."""

    @property
    def size(self) -> tir.PrimExpr:
        """Return the size in bytes, a multiple of `ALIGNMENT`."""
        return d.multiply(d.ceildiv(d.multiply(self.unit, self.factor), ALIGNMENT), ALIGNMENT)


def share_rooms(lifetimes: Sequence[tuple[tir.PrimExpr, int, int]]) -> tuple[list[int], list[Room]]:
    """Return the room of each tensor, and all rooms. A tensor has a symbolic size in bytes, and the first and last step at which it is
    alive. It shares a room with others of the same size, or of a constant multiple of that.
    """
    rooms: list[Room] = []
    places = [0] * len(lifetimes)
    for tensor in sorted(range(len(lifetimes)), key=lambda i: lifetimes[i][1]):
        size, first, last = lifetimes[tensor]
        key, unit, factor = d.split_factor(size)
        free = [n for n, room in enumerate(rooms) if room.last < first and room.key == key]
        if free:
            best = min(free, key=lambda n: (rooms[n].factor < factor, abs(rooms[n].factor - factor)))
            rooms[best].factor, rooms[best].last = max(rooms[best].factor, factor), last
        else:
            best = len(rooms)
            rooms.append(Room(key, unit, factor, last))
        places[tensor] = best
    return places, rooms
