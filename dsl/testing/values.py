"""Values that programs often handle wrongly: edges of each dtype, ties and neighbors of constants, besides small numbers."""

from __future__ import annotations

import math
from collections.abc import Iterable
from functools import cache
from typing import Any, cast

import numpy as np

from ...ir.dtype import int_range, is_bool, is_float
from ...ir.numpy_dtype import numpy_dtype

TIES = (0.5, -0.5, 1.5, 2.5, -1.5, -2.5)
"""Numbers that end in one half, which round to even."""
_POWERS = (7, 8, 15, 16, 24, 31, 32, 53, 62, 63)
"""Exponents of the powers of two around which integers overflow and floats stop being exact."""

_HALVES = np.array([sign * (1 + 2.0**-n + 2.0**-low) for n in (8, 11, 24) for low in (18, 40) for sign in (1, -1)])
"""Numbers just above a tie between two floats of a narrower dtype, which are ties after they are rounded to a dtype between."""


@cache
def float_edges(dtype: str, *, finite: bool = True) -> Any:
    """Return an array of edge values of a float dtype: NaN, infinities, zeros of both signs, denormals, ties. With
    `finite`, also the maximum and minimum and values around powers of two, whose sums and products overflow.
    """
    kind = numpy_dtype(dtype)
    with np.errstate(all="ignore"):
        bits = np.arange(1, 4).astype(f"u{kind.itemsize}").view(kind)  # the smallest denormals
        plain = np.array([math.nan, math.inf, -math.inf, 0.0, -0.0, *TIES, 1.0, -1.0]).astype(kind)
        found = [plain, bits, (-bits.astype(np.float64)).astype(kind)]
        if finite:
            powers = np.array([sign * (2.0**n + add) for n in _POWERS for sign in (1, -1) for add in (-0.5, 0, 1)])
            near_one = np.nextafter(np.array([1.0, -1.0], "float32"), np.float32(0)).astype(kind)
            found += [_HALVES.astype(kind), powers.astype(kind), near_one, -near_one, _limits(kind)]
    return np.concatenate(found)


def _limits(kind: Any) -> Any:
    """Return the greatest finite value, its negative, and the least normal value of a float dtype."""
    import ml_dtypes

    limits: Any = cast(Any, ml_dtypes.finfo(kind))
    return np.array([limits.max, limits.min, limits.smallest_normal], kind)


@cache
def int_edges(dtype: str) -> Any:
    """Return an array of edge values of an integer dtype: its limits, -1, 0, 1, and the neighbors of powers of two."""
    low, high = int_range(dtype)
    around = [sign * (1 << n) + add for n in _POWERS for sign in (1, -1) for add in (-1, 0, 1)]
    return np.array(
        sorted({number for number in (low, low + 1, -1, 0, 1, high - 1, high, *around) if low <= number <= high}), dtype
    )


def neighbors(constants: Iterable[float], dtype: str) -> Any:
    """Return an array of the constants that `dtype` can represent, and the neighbors of each.

    Integers among floats are sizes and offsets rather than values. They are left out if a sum of their products overflows: such
    a sum is NaN in one order and an infinity in another, and schedules may choose the order.
    """
    kind = numpy_dtype(dtype)
    if is_float(dtype):
        most = float(_limits(kind)[0]) ** 0.5 / 8
        kept = [value for value in constants if isinstance(value, float) or abs(value) < most]
        near = [value + step for value in kept for step in (0, 0.25, -0.25, 1, -1)]
        with np.errstate(all="ignore"):
            return np.array(near, np.float64).astype(kind)
    low, high = int_range(dtype)
    whole = [int(value) + step for value in constants if math.isfinite(value) for step in (0, 1, -1)]
    return np.array([value for value in whole if low <= value <= high], kind)


def some_of(edges: Any, random: np.random.Generator) -> Any:
    """Return all of `edges`, or sometimes only one to three of them, so that whole rows are equal."""
    return random.choice(edges, int(random.integers(1, 4))) if len(edges) and random.random() < 0.25 else edges


def adversarial(
    dtype: str, shape: tuple[int, ...], random: np.random.Generator, constants: Iterable[float] = ()
) -> Any:
    """Return an array of about half edge values of `dtype` or neighbors of `constants`, and half small numbers."""
    kind = numpy_dtype(dtype)
    if is_bool(dtype):
        return random.integers(0, 2, shape).astype(kind)
    low = -8 if is_float(dtype) or int_range(dtype)[0] < 0 else 0
    plain = random.integers(low, 9, shape)
    if is_float(dtype):
        with np.errstate(all="ignore"):
            base, edges = (plain / 4).astype(kind), float_edges(dtype)
    else:
        base, edges = plain.astype(kind), int_edges(dtype)
    near = neighbors(constants, dtype)
    choice = random.integers(0, 4, shape)
    edge = edges[random.integers(0, len(edges), shape)]
    result = np.where(choice < 2, base, edge)
    return np.where(choice == 2, near[random.integers(0, len(near), shape)], result) if len(near) else result
