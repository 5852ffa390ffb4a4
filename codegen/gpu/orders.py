"""Orders of simulated threads, and functions that must compute the same in each of them."""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from typing import Any

import numpy as np

from ...ir.base import Span
from ...ir.diagnostics import error

PATTERN = "tvms_thread_order"
"""The symbol of two numbers: the pattern that permutes the order of threads, and the increment added to it at each
use.
"""
PATTERNS = {"ascending": (0, 0), "descending": (-1, 0), "random": (0x5DEECE66D, 0x9E3779B97F4A7C1)}
"""Both numbers, by the name of the order."""
EACH = "each"
"""The name that selects all orders in turn."""
ORDERS = (*PATTERNS, EACH)
TOLERANCE = 1e-5
"""Maximum difference between float sums of different orders, relative to the largest value."""


class InEveryOrder:
    """Calls `entry` once in each order, on the same arguments; `place` is the pattern's address in the machine
    code.
    """

    def __init__(self, name: str, entry: Callable[..., Any], place: int, span: Span | None) -> None:
        self._name, self._entry, self._span = name, entry, span
        self._pattern = (ctypes.c_int64 * 2).from_address(place)

    def __repr__(self) -> str:
        return repr(self._entry)

    def __call__(self, *args: Any, **named: Any) -> Any:
        """Return the result of the function; TvmsError E0724 if it, or an argument, depends on the order."""
        arrays = [np.asarray(operand) for operand in (*args, *named.values()) if hasattr(operand, "__array__")]
        before, first, returned = [array.copy() for array in arrays], list[Any](), None
        for order, pattern in PATTERNS.items():
            for array, value in zip(arrays, before, strict=True):
                if array.flags.writeable:
                    array[...] = value
            self._pattern[:] = pattern
            returned = self._entry(*args, **named)
            found = [array.copy() for array in arrays]
            first = first or found
            for number, (a, b) in enumerate(zip(found, first, strict=True), 1):
                if not _is_same(a, b):
                    reason = f"array {number} of '{self._name}' has different values if threads run in {order} order"
                    raise error("E0724", reason, self._span, "find the conflicting accesses with --races")
        return returned


def _is_same(a: np.ndarray[Any, Any], b: np.ndarray[Any, Any]) -> bool:
    if a.dtype.kind in "biu":
        return bool((a == b).all())
    a, b = a.astype(np.float64), b.astype(np.float64)
    size = max(1.0, float(np.max(np.abs(b), where=np.isfinite(b), initial=0.0)))
    return bool(np.isclose(a, b, rtol=0.0, atol=TOLERANCE * size, equal_nan=True).all())
