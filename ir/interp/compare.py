"""How far the results of an executor may differ from those of another one."""

from __future__ import annotations

from typing import Any

import numpy as np

TOLERANCE = {"float64": 1e-10, "float32": 1e-5, "float16": 5e-3, "bfloat16": 5e-2}
"""Largest accepted `difference`, by dtype; other floats use that of bfloat16."""
LONG = 1 << 14
"""Number of terms from which the accepted difference of a sum grows."""


def difference(result: Any, reference: Any) -> float:
    """Return the largest |result - reference| / max(1, |reference|, root mean square of the reference).

    Equal infinities and NaNs do not differ. The root mean square is in the scale because the error of a long sum grows
    with its terms, not with their sum, which is small if they cancel each other.
    """
    a, b = np.asarray(result), np.asarray(reference)
    if a.shape != b.shape or a.dtype != b.dtype:
        return float("inf")
    if a.size == 0 or np.array_equal(a, b):
        return 0.0
    a, b = a.reshape(-1), b.reshape(-1)
    parts = [slice(start, start + _PART) for start in range(0, a.size, _PART)]
    with np.errstate(invalid="ignore", over="ignore"):
        squares = [_squares(b[part]) for part in parts]
        count = sum(number for _, number in squares)
        usual = float(np.sqrt(sum(total for total, _ in squares) / count)) if count else 0.0
        scale = max(1.0, usual) if np.isfinite(usual) else 1.0
        return max(_largest(a[part], b[part], scale) for part in parts)


_PART = 1 << 15
"""Elements that are compared at a time: intermediate results stay in the cache."""


def _squares(values: np.ndarray) -> tuple[float, int]:
    """Return the sum of the squares of the finite values, and their number."""
    found = values.astype(np.float64)
    finite = found[np.isfinite(found)]
    return float(np.sum(np.square(finite))), finite.size


def _largest(result: np.ndarray, reference: np.ndarray, scale: float) -> float:
    a, b = result.astype(np.float64), reference.astype(np.float64)
    same = (a == b) | (np.isnan(a) & np.isnan(b))
    relative = np.where(same, 0.0, np.abs(a - b) / np.maximum(scale, np.abs(b)))
    return float(np.nan_to_num(relative, nan=np.inf, posinf=np.inf).max())


def tolerance(value: np.ndarray, terms: int = 1) -> float:
    """Return the accepted difference for a value that is a sum of up to `terms` terms, in whatever order they are added.

    Rounding errors of n additions grow with the square root of n (Higham and Mary, "A new approach to probabilistic rounding error
    analysis", 2019); so does the tolerance for more than `LONG` terms.
    """
    dtype = str(value.dtype)
    if dtype not in TOLERANCE and "float" not in dtype:
        return 0.0
    return TOLERANCE.get(dtype, TOLERANCE["bfloat16"]) * max(1.0, terms / LONG) ** 0.5
