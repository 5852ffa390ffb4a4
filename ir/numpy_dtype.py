"""The NumPy dtype of a dtype string; bfloat16 and the 8-bit floats come from ml_dtypes. Conversion of floats to integers,
and the arrays of constants.
"""

from __future__ import annotations

from functools import cache, lru_cache
from typing import TYPE_CHECKING, Any

from .diagnostics import error
from .dtype import int_range, is_float, is_int, parse_dtype

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


def converted(array: Any, dtype: Any) -> Any:
    """Convert an array as at the loop level: unlike in NumPy, floats outside of the range of an integer dtype saturate."""
    is_rounded = is_float(str(array.dtype)) and is_int(str(dtype))
    return float_to_int(array, str(dtype)) if is_rounded else array.astype(dtype)


def float_to_int(array: Any, dtype: str) -> Any:
    """Convert an array of floats to the integer `dtype`: round towards zero, saturate, NaN becomes zero."""
    import numpy as np

    kind, (low, high) = numpy_dtype(dtype), int_range(dtype)
    above, below = float(high + 1 if high % 2 else high), float(low)
    wide = np.trunc(array.astype(np.float64))
    inside = (wide >= below) & (wide < above)
    whole = np.where(inside, wide, 0.0).astype(kind)
    outside = np.where(np.isnan(wide), kind.type(0), np.where(wide < 0, low, high))
    return np.where(inside, whole, outside).astype(kind)


@cache
def host_array() -> type[np.ndarray[Any, Any]]:
    """Return the class of the arrays of constants: NumPy arrays with the method `numpy()` of TVM's tensors."""
    import numpy as np

    class HostArray(np.ndarray[Any, Any]):
        """A NumPy array with TVM's method `numpy`."""

        def numpy(self) -> np.ndarray[Any, Any]:
            """Return the plain NumPy array on the same memory."""
            return self.view(np.ndarray)

    return HostArray
