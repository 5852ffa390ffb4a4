"""Whether threads have elements of shared memory to themselves, whatever the loops around are at."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from ...ir import tir

_MOST = 1 << 16
"""Beyond so many accesses it is not tried."""
_OPERATIONS: dict[type[tir.PrimExpr], Any] = {
    tir.Add: np.add, tir.Sub: np.subtract, tir.Mul: np.multiply, tir.FloorDiv: np.floor_divide, tir.FloorMod: np.mod,
    tir.Min: np.minimum, tir.Max: np.maximum,
}  # fmt: skip

Array = np.ndarray[Any, Any]


def are_apart(
    indices: Sequence[tir.PrimExpr], threads: Mapping[tir.Var, int], others: Mapping[tir.Var, tuple[int, int]]
) -> bool:
    """Return whether no element at `indices` is one of two threads, which `threads` says how many there are of on each
    axis; `others` are the first values of other variables, and how many there are. False where that is not known."""
    if not threads:
        return True
    sizes = [*threads.values(), *(count for _, count in others.values())]
    if any(size < 1 for size in sizes) or np.prod(sizes, dtype=float) > _MOST:
        return False
    grid = np.indices(sizes).reshape(len(sizes), -1)
    values = dict(zip((*threads, *others), grid, strict=True))
    for var, (first, _) in others.items():
        values[var] = values[var] + first
    places = [_evaluated(index, values) for index in indices]
    if any(place is None for place in places):
        return False
    whole = np.stack([np.broadcast_to(place, grid.shape[1:]) for place in places if place is not None])
    _, element = np.unique(whole, axis=1, return_inverse=True)
    owner = np.ravel_multi_index(tuple(grid[: len(threads)]), sizes[: len(threads)])
    first_owner = np.zeros(element.max() + 1, np.int64)
    first_owner[element] = owner
    return bool((first_owner[element] == owner).all())


def _evaluated(expr: tir.PrimExpr, values: Mapping[tir.Var, Array]) -> Array | None:
    match expr:
        case tir.IntImm():
            return np.asarray(expr.value, np.int64)
        case tir.Var():
            return values.get(expr)
        case tir.Cast():
            return _evaluated(expr.value, values)
        case tir.BinaryOp() if type(expr) in _OPERATIONS:
            a, b = _evaluated(expr.a, values), _evaluated(expr.b, values)
            is_division = isinstance(expr, tir.FloorDiv | tir.FloorMod)
            if a is None or b is None or (is_division and not b.all()):
                return None
            return _OPERATIONS[type(expr)](a, b)
        case _:
            return None
