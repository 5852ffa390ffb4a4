"""How far the results of an executor may differ from those of another one."""

from __future__ import annotations

from typing import Any

import numpy as np

TOLERANCE = {"float64": 1e-10, "float32": 1e-5, "float16": 5e-3, "bfloat16": 5e-2}
"""Largest accepted `difference`, by dtype; other floats use that of bfloat16."""


def difference(result: Any, reference: Any) -> float:
    """Return the largest |result - reference| / max(1, |reference|, root mean square of the reference).

    Equal infinities and NaNs do not differ. The root mean square is in the scale because the error of a long sum grows
    with its terms, not with their sum, which is small if they cancel each other.
    """
    a, b = np.asarray(result), np.asarray(reference)
    if a.shape != b.shape or a.dtype != b.dtype:
        return float("inf")
    if a.size == 0:
        return 0.0
    a, b = a.astype(np.float64), b.astype(np.float64)
    with np.errstate(invalid="ignore", over="ignore"):
        same = (a == b) | (np.isnan(a) & np.isnan(b))
        finite = b[np.isfinite(b)]
        usual = float(np.sqrt(np.mean(np.square(finite)))) if finite.size else 0.0
        usual = usual if np.isfinite(usual) else 0.0
        relative = np.where(same, 0.0, np.abs(a - b) / np.maximum(max(1.0, usual), np.abs(b)))
    return float(np.nan_to_num(relative, nan=np.inf).max())


def tolerance(value: np.ndarray) -> float:
    """Return the accepted difference for a value."""
    dtype = str(value.dtype)
    if dtype in TOLERANCE:
        return TOLERANCE[dtype]
    return TOLERANCE["bfloat16"] if "float" in dtype else 0.0
