"""The NumPy dtype of a dtype string; bfloat16 and the 8-bit floats come from ml_dtypes."""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING

from .dtype import parse_dtype

if TYPE_CHECKING:
    import numpy as np


@lru_cache(maxsize=256)
def numpy_dtype(dtype: str) -> np.dtype:
    """Return the NumPy dtype of one lane of `dtype`; ValueError where NumPy and ml_dtypes have none."""
    import ml_dtypes
    import numpy as np

    name = parse_dtype(dtype).name
    if hasattr(ml_dtypes, name) and not hasattr(np, name):
        return np.dtype(getattr(ml_dtypes, name))
    try:
        return np.dtype(name)
    except TypeError:
        raise ValueError(f"'{dtype}' has no NumPy dtype") from None
