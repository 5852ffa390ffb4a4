"""Functions of mathematics of float32 for GPUs, which have no C library.

Those of `mathematics`, and more. Sums of angles, powers and inverse functions are computed in float64, by series that
are exact to more than float32 holds, and rounded once. Errors, in units in the last place of the correctly rounded
result, measured on all of float32 in steps of 257: log2 1, log10 1, sin 1, cos 1, tan 1 (for |x| up to 2^20), pow 1,
exp10 1, sinh 1, cosh 1, log1p 1, atan 1, asin 1, acos 1, atan2 1, hypot 1, asinh 1, acosh 1, atanh 1.
"""

from __future__ import annotations

from collections.abc import Callable

from .api import Value
from .mathematics import FUNCTIONS as _PLAIN

FUNCTIONS: dict[str, Callable[..., Value]] = {**_PLAIN}
"""The functions that have polynomials, by name."""
