"""Arrays between guard pages: an access outside of them ends the process."""

from __future__ import annotations

import ctypes
import mmap
from collections.abc import Sequence
from typing import Any

import numpy as np

PAGE = mmap.PAGESIZE
_CANARY = 0xA5

_mprotect = ctypes.CDLL(None, use_errno=True).mprotect
_mprotect.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int]


class GuardedArray:
    """A copy of `array` between two inaccessible pages.

    If `at_end`, it ends right before the second guard page; otherwise it begins right after the first one. Its strides
    are those of `array`. The rest of its pages is filled with canaries.
    """

    def __init__(self, array: Any, at_end: bool) -> None:
        size = _extent(array)
        inner = max(-(-size // PAGE), 1) * PAGE
        self._pages = mmap.mmap(-1, inner + 2 * PAGE)
        whole = np.frombuffer(self._pages, np.uint8)
        self._bytes = whole[PAGE : PAGE + inner]
        start = inner - size if at_end else 0
        self._beside = [self._bytes[:start], self._bytes[start + size :]]
        self._between: Any = None
        """For each byte, whether it is between elements; None if no byte is."""
        if not array.flags.c_contiguous:
            self._between = np.ones(inner, bool)
            of_elements = (*array.shape, array.itemsize), (*array.strides, 1)
            np.ndarray(of_elements[0], bool, self._between.data, start, of_elements[1])[...] = False
        for part in self._beside if self._between is None else [self._bytes]:
            part[:] = _CANARY
        self.array = np.ndarray(array.shape, array.dtype, self._bytes.data, start, array.strides)
        self.array[...] = array
        for page in (whole.ctypes.data, whole.ctypes.data + PAGE + inner):
            if _mprotect(page, PAGE, 0):
                raise OSError(ctypes.get_errno(), "mprotect")

    def is_kept(self) -> bool:
        """Return whether the canaries are unchanged."""
        parts = self._beside if self._between is None else [self._bytes[self._between]]
        return all(bool((part == _CANARY).all()) for part in parts)


def _extent(array: Any) -> int:
    """Return the number of bytes from the first to the end of the last element of an array with nonnegative strides."""
    if not array.size:
        return 0
    return array.itemsize + sum((size - 1) * stride for size, stride in zip(array.shape, array.strides, strict=True))


def guarded(values: Sequence[Any], at_end: bool) -> tuple[list[Any], list[GuardedArray]]:
    """Return `values` with their arrays between guard pages, and the guarded arrays."""
    arrays = [GuardedArray(value, at_end) if isinstance(value, np.ndarray) else None for value in values]
    passed = [value if array is None else array.array for value, array in zip(values, arrays, strict=True)]
    return passed, [array for array in arrays if array is not None]
