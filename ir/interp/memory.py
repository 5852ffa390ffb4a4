"""Memory as bytes, pointers into it, and typed views of buffers."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, TypeAlias

import numpy as np
from msgspec import Struct

from ..dtype import is_bool, is_float, parse_dtype
from ..matrix_units import Fragment
from ..numpy_dtype import numpy_dtype

Array: TypeAlias = np.ndarray[Any, Any]


class Memory:
    """An allocation in a storage scope. `written` marks the initialized bytes; None if they are not tracked.

    `fragment` is the layout with which the memory of matrix units was last filled.
    """

    def __init__(self, data: Array, scope: str = "global", written: Array | None = None) -> None:
        self.data = data
        self.scope = scope
        self.written = written
        self.fragment: Fragment | None = None

    def copy(self) -> Memory:
        """Return a copy of the memory."""
        other = Memory(self.data.copy(), self.scope, None if self.written is None else self.written.copy())
        other.fragment = self.fragment
        return other


class Pointer(Struct, frozen=True):
    """An address `offset` bytes from the start of `memory`, an allocation; it may be outside, but must not be accessed there."""

    memory: Memory
    offset: int = 0


def allocate(dtype: str, count: int, scope: str, random: np.random.Generator, track: bool = False) -> Pointer:
    """Return new memory for `count` elements, poisoned: floats are NaN if the dtype has one, the rest is random.

    With `track`, it also records which bytes were written.
    """
    storage, lanes = numpy_dtype(dtype), parse_dtype(dtype).lanes
    size = count * lanes * storage.itemsize
    if is_float(dtype):
        data = np.full(size, 0xFF, np.uint8)
    else:
        data = random.integers(0, 2 if is_bool(dtype) else 256, size, np.uint8)
    return Pointer(Memory(data, scope, np.zeros(size, np.bool_) if track else None))


def pointer_to(array: Array) -> Pointer:
    """Return a pointer to the first element of the caller's array, which shares its memory.

    The memory covers the whole span of the array, so that the array's strides are those of the buffer.
    """
    span = 1 + sum((size - 1) * stride for size, stride in zip(array.shape, array.strides, strict=True) if size)
    count = 0 if array.size == 0 else -(-span // array.itemsize)
    bits = array.view(f"u{array.itemsize}")  # NumPy's strided views support only its own dtypes
    flat = np.lib.stride_tricks.as_strided(bits, (count,), (array.itemsize,), writeable=array.flags.writeable)
    return Pointer(Memory(flat.view(np.uint8)))


BEYOND_HELP = "check the shape, strides and elem_offset that the buffer was declared with"


def beyond(name: str, place: int, held: int) -> str:
    """Return the message that element `place` of a buffer is outside its memory of `held` elements."""
    return f"element {place} of '{name}' is outside its memory, which holds {held} elements"


def outside(name: str, indices: Sequence[int], axis: int, extent: int) -> str:
    """Return the message that an index of a buffer is outside its dimension `axis` of `extent` elements."""
    element = f"{name}[{', '.join(map(str, indices))}]"
    return f"{element} is outside the buffer: its dimension {axis} has {extent} elements"


def compact_strides(shape: Sequence[int]) -> tuple[int, ...]:
    """Return the strides, in elements, of a row-major array of `shape`."""
    strides = [1] * len(shape)
    for axis in range(len(shape) - 1, 0, -1):
        strides[axis - 1] = strides[axis] * shape[axis]
    return tuple(strides)


class View:
    """A buffer at run time: memory as elements of a dtype, and the position of each index.

    `offset` and `strides` count elements; an element of a vector dtype is `lanes` neighbors in `flat`, which holds the
    whole allocation, `size` scalars; `pointer` points at number `base` of it. `axes` are pairs of extent and stride.
    """

    __slots__ = ("axes", "base", "dtype", "flat", "lanes", "offset", "pointer", "shape", "size", "strides", "written")

    def __init__(
        self, pointer: Pointer, dtype: str, shape: tuple[int, ...], strides: tuple[int, ...] = (), offset: int = 0
    ) -> None:
        storage = numpy_dtype(dtype)
        self.pointer = pointer
        self.dtype = dtype
        self.shape = shape
        self.strides = strides or compact_strides(shape)
        self.axes = tuple(zip(shape, self.strides, strict=True))
        self.offset = offset
        self.lanes = parse_dtype(dtype).lanes
        self.base, first = divmod(pointer.offset, storage.itemsize)
        self.size = max(len(pointer.memory.data) - first, 0) // storage.itemsize
        end = first + self.size * storage.itemsize
        self.flat = pointer.memory.data[first:end].view(storage)
        written = pointer.memory.written
        self.written = None if written is None else written[first:end].reshape(-1, storage.itemsize)

    def moved(self, pointer: Pointer) -> View:
        """Return the same view of the memory at `pointer`."""
        return View(pointer, self.dtype, self.shape, self.strides, self.offset)

    def find(self, place: int, count: int = 1) -> int | None:
        """Return the position in `flat` of `count` elements at `place`, relative to the pointer; None if they are outside."""
        first = self.base + place * self.lanes
        return first if first >= 0 and first + count * self.lanes <= self.size else None

    def is_written(self, places: Any) -> bool:
        """Return whether all bytes of the elements at `places` of `flat`, an index of NumPy, are initialized or not tracked."""
        return self.written is None or 0 not in self.written[places].tobytes()

    def address(self, first: int) -> Pointer:
        """Return a pointer to number `first` of `flat`."""
        return Pointer(self.pointer.memory, self.pointer.offset + (first - self.base) * self.flat.itemsize)

    def as_array(self) -> Array:
        """Return the elements as a NumPy array that shares the memory; IndexError if some are outside."""
        size = self.flat.itemsize
        lanes = (self.lanes,) if self.lanes > 1 else ()
        strides = (*(stride * size * self.lanes for stride in self.strides), *(size for _ in lanes))
        start = self.pointer.offset + self.offset * size * self.lanes
        ends = [(extent - 1) * stride for extent, stride in self.axes]
        first, last = (self.offset + sum(pick(0, end) for end in ends) for pick in (min, max))
        if 0 not in self.shape and (self.find(first) is None or self.find(last) is None):
            raise IndexError
        return np.ndarray((*self.shape, *lanes), self.flat.dtype, self.pointer.memory.data, start, strides)
