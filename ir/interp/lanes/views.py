"""Buffers as lanes see them: one view for all lanes, whose start may differ from lane to lane."""

from __future__ import annotations

from typing import TypeAlias

from ..memory import Array, Memory, View

Place: TypeAlias = Array | int
"""The position of an element among those of a view, the same in all lanes or one for each."""


class LaneView:
    """A view, `offset` elements from its start; `base` is where the memory of a lane starts among that of all lanes.

    `size` is how many elements a lane can reach; `start` counts the elements of the memory before those of `flat`.
    """

    __slots__ = (
        "axes",
        "base",
        "dtype",
        "fits",
        "flat",
        "memory",
        "offset",
        "shape",
        "size",
        "start",
        "strides",
        "written",
    )

    def __init__(self, view: View, offset: Place | None = None, base: Place = 0, size: int | None = None) -> None:
        self.memory: Memory = view.pointer.memory
        self.flat, self.written, self.dtype = view.flat, view.written, view.dtype
        self.shape, self.strides, self.axes = view.shape, view.strides, view.axes
        self.offset: Place = view.offset if offset is None else offset
        self.base = base
        self.size = view.size if size is None else size
        itemsize = view.flat.itemsize
        self.start = view.pointer.offset // itemsize if view.pointer.offset % itemsize == 0 else -1
        steps = [(extent - 1) * stride for extent, stride in view.axes]
        self.fits = (
            isinstance(self.offset, int)
            and self.offset >= 0
            and all(stride >= 0 for stride in self.strides)
            and self.offset + sum(steps) < self.size
        )
        """Whether every index inside the shape means an element inside the memory."""

    def part(self, offset: Place, shape: tuple[int, ...]) -> LaneView:
        """Return the view of a region that starts at `offset`: its last dimensions."""
        other = LaneView.__new__(LaneView)
        for name in LaneView.__slots__:
            setattr(other, name, getattr(self, name))
        other.offset, other.shape = offset, shape
        other.strides = self.strides[len(self.strides) - len(shape) :]
        other.axes = tuple(zip(shape, other.strides, strict=True))
        other.fits = False
        return other
