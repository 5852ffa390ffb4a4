"""The lanes of a running nest: their grid, the last accesses of each element, and the undo log of stores."""

from __future__ import annotations

from collections.abc import Generator
from contextlib import contextmanager
from math import prod
from typing import Any

import numpy as np

from ... import tir
from ..frame import Frame
from ..memory import Array, Memory
from .views import LaneView, Offsets

Mask = Array | None
"""The active lanes, as an array that broadcasts to the grid; None if all are active."""

_MANY = -2
"""Marks an element that more than one lane read."""


class Refused(Exception):
    """Lockstep does not support the construct, regardless of values; the obvious tier runs the loop."""


class Doubt(Exception):
    """Some lane may fault: the obvious tier finds out which, and how."""


class Conflict(Doubt):
    """Iterations of `loop` access one element, and one of them writes it: they must run sequentially."""

    def __init__(self, loop: tir.For) -> None:
        super().__init__()
        self.loop = loop


class Scope:
    """The lanes of a fork, numbered from `base` on; `loops` are the loops of its grid, by axis."""

    def __init__(self, base: int, shape: tuple[int, ...], loops: tuple[tir.For | None, ...]) -> None:
        self.base, self.shape, self.loops = base, shape, loops
        self.lanes = np.arange(base, base + prod(shape), dtype=np.int64).reshape(shape)
        self.checked: dict[Any, tuple[Array | int, Mask]] = {}
        """The positions and mask that were last checked, by access."""

    def loop_between(self, lane: int, other: int) -> tir.For:
        """Return the outermost loop in which two lanes are different iterations."""
        places = zip(*[np.unravel_index(number - self.base, self.shape) for number in (lane, other)], strict=True)
        differing = [loop for (a, b), loop in zip(places, self.loops, strict=True) if a != b and loop is not None]
        return differing[0]

    def outermost(self) -> tir.For:
        """Return the outermost loop with more than one lane."""
        return next(loop for loop, size in zip(self.loops, self.shape, strict=True) if loop is not None and size > 1)


class Owners:
    """The lane that last wrote, and that last read, each element of a memory. Numbers below a scope's base mean none."""

    def __init__(self, size: int) -> None:
        self.writer = np.full(size, -1, np.int64)
        self.reader = np.full(size, -1, np.int64)
        self.many = np.full(size, -1, np.int64)
        """The base of the last scope in which several lanes read the element."""

    def read(self, scope: Scope, places: Array, lanes: Array) -> None:
        writer, reader = self.writer[places], self.reader[places]
        _check(scope, writer, lanes, (writer >= scope.base) & (writer != lanes))
        others = (reader >= scope.base) & (reader != lanes)
        self.many[places[others]] = scope.base
        self.reader[places] = lanes
        self.many[places[self.reader[places] != lanes]] = scope.base

    def write(self, scope: Scope, places: Array, lanes: Array) -> None:
        writer, reader = self.writer[places], self.reader[places]
        _check(scope, writer, lanes, (writer >= scope.base) & (writer != lanes))
        _check(scope, reader, lanes, (reader >= scope.base) & (reader != lanes))
        if (self.many[places] == scope.base).any():
            raise Conflict(scope.outermost())
        self.writer[places] = lanes
        last = self.writer[places]
        _check(scope, last, lanes, last != lanes)


def _check(scope: Scope, found: Array, lanes: Array, wrong: Array) -> None:
    if wrong.any():
        first = np.argmax(wrong)
        raise Conflict(scope.loop_between(int(lanes[first]), int(found[first])))


class Undo:
    """The overwritten values in order: enough to restore every memory to its state before the nest."""

    def __init__(self) -> None:
        self._log: list[tuple[LaneView, Array | int, Array, Array | None]] = []
        self._last: dict[Any, tuple[Any, Mask]] = {}
        self._logged: dict[Memory, int] = {}
        self._snapshots: dict[Memory, Memory] = {}

    def record(self, key: Any, view: LaneView, places: Offsets, mask: Mask, selected: Offsets) -> None:
        """Save the elements of `view` at `selected`, the active ones of `places`."""
        memory = view.memory
        last = self._last.get(key)
        if memory in self._snapshots or (last is not None and last[0] is places and last[1] is mask):
            return
        self._last[key] = (places, mask)
        written = None if view.written is None else view.written[selected].copy()
        self._log.append((view, selected, np.copy(view.flat[selected]), written))
        self._logged[memory] = self._logged.get(memory, 0) + np.size(selected) * view.flat.itemsize
        if self._logged[memory] > len(memory.data):
            self._snapshots[memory] = self._before(memory)
            self._log = [entry for entry in self._log if entry[0].memory is not memory]

    def _before(self, memory: Memory) -> Memory:
        """Return a copy of `memory` in its state before the nest."""
        now = memory.copy()
        self._restore(memory)
        before = memory.copy()
        _copy_into(now, memory)
        return before

    def _restore(self, only: Memory | None = None) -> None:
        for view, places, values, written in reversed(self._log):
            if only is None or view.memory is only:
                view.flat[places] = values
                if view.written is not None:
                    view.written[places] = written

    def rollback(self) -> None:
        """Restore all memory."""
        self._restore()
        for memory, before in self._snapshots.items():
            _copy_into(before, memory)


def _copy_into(source: Memory, target: Memory) -> None:
    target.data[...] = source.data
    if target.written is not None:
        target.written[...] = source.written


class Lanes(Frame):
    """A frame whose values may be arrays over a grid of lanes: one axis for each depth of loops, of size 1 unless forked."""

    def __init__(self, frame: Frame, depth: int, written: set[Memory], sequential: set[tir.For]) -> None:
        super().__init__(frame.world)
        self.update(frame)
        self.shared, self.thread = frame.shared, frame.thread
        self.grid = [1] * depth
        self.loops: list[tir.For | None] = [None] * depth
        self.mask: Mask = None
        self.written = written
        """The memories that the nest writes: only there can lanes conflict."""
        self.sequential = sequential
        """The loops that are known to have dependent iterations."""
        self.scopes: list[Scope] = []
        self.undo = Undo()
        self.was_forked = False
        self.own: set[Memory] = set()
        """Memory that the nest allocated, which is not visible after the nest."""
        self._owners: dict[tuple[Memory, int], tuple[int, Owners]] = {}
        """By memory and depth of the scope, so that lanes of different inner scopes are distinguished."""
        self._next = 0

    @property
    def count(self) -> int:
        return prod(self.grid)

    @contextmanager
    def narrowed(self, mask: Mask) -> Generator[None]:
        """Run the body of the `with` with these lanes active."""
        before, self.mask = self.mask, mask
        try:
            yield
        finally:
            self.mask = before

    @contextmanager
    def forked(self, axis: int, loop: tir.For, size: int, is_merged: bool) -> Generator[None]:
        """Give axis `axis` of the grid `size` lanes. If `is_merged`, the new scope replaces the surrounding one."""
        self.grid[axis], self.loops[axis], self.was_forked = size, loop, True
        scope = Scope(self._next, tuple(self.grid), tuple(self.loops))
        self._next += self.count
        around = self.scopes
        self.scopes = [*(around[:-1] if is_merged else around), scope]
        try:
            yield
        finally:
            self.grid[axis], self.loops[axis], self.scopes = 1, None, around

    # --- Who touches what ---

    def touch(self, key: Any, view: LaneView, places: Offsets, is_write: bool) -> None:
        """Raise Conflict if another lane accessed one of the elements at `places` and at least one of the two writes it."""
        for level, scope in enumerate(self.scopes):
            last = scope.checked.get(key)
            if last is not None and last[0] is places and last[1] is self.mask:
                continue
            if is_write and self.mask is None:
                _check_spread(scope, places)
            owners = self._owners_of(view, level)
            lanes, found = self._active(scope, places)
            (owners.write if is_write else owners.read)(scope, found + view.start, lanes)
            if isinstance(places, np.ndarray):
                scope.checked[key] = (places, self.mask)

    def _active(self, scope: Scope, places: Offsets) -> tuple[Array, Array]:
        """Return the active lanes of a scope and the positions that they access."""
        arrays = (scope.lanes, np.asarray(places))
        if self.mask is None:
            lanes, found = np.broadcast_arrays(*arrays)
            return lanes.reshape(-1), found.reshape(-1)
        lanes, found, mask = np.broadcast_arrays(*arrays, self.mask)
        return lanes[mask], found[mask]

    def _owners_of(self, view: LaneView, level: int) -> Owners:
        size, key = view.flat.itemsize, (view.memory, level)
        if key not in self._owners:
            self._owners[key] = (size, Owners(len(view.memory.data) // size))
        known, owners = self._owners[key]
        if known != size or view.start < 0:
            raise Refused
        return owners


def _check_spread(scope: Scope, places: Offsets) -> None:
    """Raise Conflict for a store that does not depend on a loop: it writes the same element in all its lanes."""
    rank = len(scope.shape)
    shape = places.shape if isinstance(places, np.ndarray) else ()
    sizes = (1,) * (rank - len(shape)) + shape
    for loop, lanes, size in zip(scope.loops, scope.shape, sizes, strict=True):
        if lanes > 1 and size == 1 and loop is not None:
            raise Conflict(loop)
