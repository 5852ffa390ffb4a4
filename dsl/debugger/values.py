"""Values as text, for lists of variables and for messages."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, cast

if TYPE_CHECKING:
    from ...ir.interp.memory import Array

MOST_ELEMENTS = 1000
"""Larger arrays are shown by their corners."""


def shown(value: Any) -> str:
    """Return a value as text of any number of lines."""
    import numpy as np

    if isinstance(value, np.ndarray):
        with np.printoptions(threshold=MOST_ELEMENTS, linewidth=100):
            return str(cast("Array", value))
    return brief(value)


def brief(value: Any) -> str:
    """Return a value as text of one line: the shape and dtype of an array, each field of a tuple."""
    import numpy as np

    from ...ir.interp.memory import Pointer, View

    match value:
        case View():
            return f"{value.dtype}[{', '.join(map(str, value.shape))}]"
        case np.ndarray():
            array = cast("Array", value)
            return f"{array.dtype.name}[{', '.join(map(str, array.shape))}]"
        case Pointer():
            return f"pointer to {len(value.memory.data)} bytes, {value.offset} from their start"
        case tuple():
            return f"({', '.join(map(brief, cast('tuple[Any, ...]', value)))})"
        case None:
            return "no value yet"
        case _:
            return "a function" if callable(value) else str(value)
