"""Views of buffers for lanes: one view for all lanes, with an offset that may differ from lane to lane."""

from __future__ import annotations

from typing import TypeAlias

from ..memory import Array, Memory, View

Offsets: TypeAlias = Array | int
"""The position of an element in a memory, the same in all lanes or one for each."""

MOST_PLACES = 1 << 62
"""Positions beyond this may overflow."""


class LaneView:
    """A view of `size` elements; its pointer points at element `origin`. `offset` may differ from lane to lane.

    `base` is the start of a lane's memory within the memory of all lanes; `start` is 0, or -1 if the elements are not
    aligned to their size.
    """

    __slots__ = (
        "base", "dtype", "fits", "flat", "is_countable", "memory", "offset", "origin", "shape", "size", "start",
        "strides", "written",
    )  # fmt: skip

    def __init__(self, view: View, base: Offsets = 0, size: int | None = None) -> None:
        self.memory: Memory = view.pointer.memory
        self.flat, self.written, self.dtype = view.flat, view.written, view.dtype
        self.shape, self.strides = view.shape, view.strides
        self.offset: Offsets = view.offset
        self.base, self.origin = base, view.base
        self.size = view.size if size is None else size
        self.start = 0 if view.pointer.offset % view.flat.itemsize == 0 else -1
        self._measure(view.offset, view.offset)

    def part(self, offset: Offsets, lowest: int, highest: int, shape: tuple[int, ...]) -> LaneView:
        """Return the view of a region with the last dimensions of this one; its offsets are within the given bounds."""
        other = LaneView.__new__(LaneView)
        for name in LaneView.__slots__:
            setattr(other, name, getattr(self, name))
        other.offset, other.shape = offset, shape
        other.strides = self.strides[len(self.strides) - len(shape) :]
        other._measure(lowest, highest)
        return other

    def _measure(self, lowest: int, highest: int) -> None:
        """Record whether all indices within the shape address elements of the memory, and whether positions cannot overflow."""
        ends = [(extent - 1) * stride for extent, stride in zip(self.shape, self.strides, strict=True)]
        first = self.origin + lowest + sum(min(end, 0) for end in ends)
        last = self.origin + highest + sum(max(end, 0) for end in ends)
        self.fits = 0 not in self.shape and first >= 0 and last < self.size
        self.is_countable = max(abs(first), abs(last), *map(abs, self.strides), 0) < MOST_PLACES
