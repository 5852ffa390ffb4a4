"""The NumPy dtype of a dtype string; bfloat16 and the 8-bit floats come from ml_dtypes."""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING

from .diagnostics import error
from .dtype import parse_dtype

if TYPE_CHECKING:
    import numpy as np


@lru_cache(maxsize=256)
def numpy_dtype(dtype: str) -> np.dtype:
    """Return the NumPy dtype of one lane of `dtype`; E0712 if NumPy and ml_dtypes have none."""
    import ml_dtypes
    import numpy as np

    name = parse_dtype(dtype).name
    if hasattr(ml_dtypes, name) and not hasattr(np, name):
        return np.dtype(getattr(ml_dtypes, name))
    try:
        found = np.dtype(name)
    except TypeError:
        found = np.dtype(np.void)
    if not found.itemsize:
        raise error("E0712", f"memory cannot hold values of dtype '{dtype}'", None, "use a dtype that NumPy supports")
    return found
