"""Differences between the results of an imported module and those of its model."""

from __future__ import annotations

from typing import Any

from msgspec import Struct

from ...ir.base import Span
from ...ir.diagnostics import TvmsError, error

TOLERANCES = {"float64": 1e-6, "float32": 1e-4, "float16": 2e-2, "bfloat16": 1e-1}
"""Tolerance by dtype, relative to the largest magnitude in a tensor, if that is above 1."""


class Difference(Struct, frozen=True):
    """The difference between a result and the model's."""

    name: str
    largest: float
    scale: float
    tolerance: float
    noise: float = 0.0
    """The change of the result that the rounding of the model's weights explains."""

    @property
    def is_close(self) -> bool:
        """Return whether the difference is within the tolerance of the dtype, or within the noise."""
        return self.largest <= max(self.noise, self.tolerance * max(1.0, self.scale))


def difference(name: str, got: Any, expected: Any) -> Difference:
    """Return the difference between an array that a module computes and the model's."""
    import numpy as np

    wanted, computed = np.asarray(expected), np.asarray(got)
    tolerance = TOLERANCES.get(str(wanted.dtype), 0.0)
    if wanted.shape != computed.shape:
        return Difference(name, float("inf"), 0.0, 0.0)
    wanted, computed = wanted.astype("float64"), computed.astype("float64")
    both_nan = np.isnan(wanted) & np.isnan(computed)
    with np.errstate(invalid="ignore"):
        distance = np.where(both_nan | (wanted == computed), 0.0, np.abs(wanted - computed))
    largest = float(np.nan_to_num(distance, nan=np.inf, posinf=np.inf).max(initial=0.0))
    finite = np.abs(wanted[np.isfinite(wanted)])
    return Difference(name, largest, float(finite.max(initial=0.0)), tolerance)


def error_of(found: Difference, reference: str, span: Span | None) -> TvmsError:
    """Return the error E1003 for a difference from what `reference` computes."""
    sizes = f"by {found.largest:.3g}, with magnitudes up to {found.scale:.3g}"
    reason = f"'{found.name}' differs from {reference} {sizes}"
    return error("E1003", reason, span, "please report it with the model; --no-check imports without this check")
