"""Buffers as tables and heat maps, in text and in HTML."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, cast

from msgspec import Struct

from ...ir.diagnostics import error
from ...ir.sanitize import Safe, fill, joined, markup

if TYPE_CHECKING:
    from ...ir.interp.memory import Array

MOST_ROWS, MOST_COLUMNS = 64, 64
"""The size of the largest table; a heat map of a larger matrix has a cell for a tile of elements."""
_SHADES = " .:-=+*#%@"
_COLORS = 16
_NAN = "!"


class Summary(Struct, frozen=True):
    """What is said about an array: the matrix that is shown of it, and the range of its finite elements."""

    shape: tuple[int, ...]
    dtype: str
    part: str
    """The part that is shown, such as `[0, :, :]`; the whole array for a matrix."""
    minimum: float | None
    maximum: float | None
    nans: int
    matrix: Any
    """The shown part, two-dimensional."""


def summarize(array: Array) -> Summary:
    """Summarize an array. Of more than two dimensions, the first matrix is shown; a vector is a matrix of one row."""
    import numpy as np

    leading = max(array.ndim - 2, 0)
    matrix = np.zeros((0, 0)) if 0 in array.shape else np.atleast_2d(array[(0,) * leading])
    numbers = array.astype(np.float64)
    finite = numbers[np.isfinite(numbers)]
    part = f"[{', '.join(['0'] * leading + [':'] * (array.ndim - leading))}]"
    return Summary(
        array.shape,
        array.dtype.name,
        part,
        float(finite.min()) if finite.size else None,
        float(finite.max()) if finite.size else None,
        int(np.isnan(numbers).sum()),
        matrix,
    )


def check_array(value: Any, text: str) -> Array:
    """Return a value that is an array; raise E0826 if `text` denotes another kind of value."""
    import numpy as np

    if not isinstance(value, np.ndarray):
        raise error("E0826", f"'{text}' is not a buffer or a part of one", None, "write a buffer, such as C or C[0, :]")
    return cast("Array", value)


def head(summary: Summary, name: str) -> str:
    """Return one line about an array: its shape, dtype and range."""
    bounds = "" if summary.minimum is None else f", {summary.minimum:g} to {summary.maximum:g}"
    nans = f", {summary.nans} NaN" if summary.nans else ""
    shown = f", {summary.part}" if len(summary.shape) > 2 else ""
    return f"{name}: {summary.dtype}[{', '.join(map(str, summary.shape))}]{bounds}{nans}{shown}"


def table(summary: Summary) -> str:
    """Return the matrix as a table with the numbers of rows and columns; rows and columns beyond the limits are left out."""
    rows, columns = summary.matrix.shape
    shown = summary.matrix[:MOST_ROWS, :MOST_COLUMNS]
    cells = [["", *map(str, range(shown.shape[1]))]]
    cells += [[str(number), *[_number(value) for value in row]] for number, row in enumerate(shown)]
    widths = [max(map(len, column)) for column in zip(*cells, strict=True)]
    lines = ["  ".join([cell.rjust(width) for cell, width in zip(row, widths, strict=True)]) for row in cells]
    if rows > MOST_ROWS or columns > MOST_COLUMNS:
        lines.append(f"({rows} rows, {columns} columns)")
    return "\n".join(lines)


def _number(value: Any) -> str:
    return f"{value:.4g}" if hasattr(value, "dtype") and value.dtype.kind not in "iub" else str(value)


def heat_map(summary: Summary) -> str:
    """Return the matrix as characters, from ' ' for the smallest element to '@' for the largest; '!' is NaN."""
    levels = _levels(summary, len(_SHADES))
    lines = ["".join([_NAN if level < 0 else _SHADES[level] for level in row]) for row in levels]
    return "\n".join(lines)


def heat_map_html(summary: Summary) -> Safe:
    """Return the matrix as a table of HTML: small elements are blue, large ones red, NaN is black."""
    levels = _levels(summary, _COLORS)
    rows, columns = len(levels), len(levels[0]) if levels else 0
    is_exact = (rows, columns) == summary.matrix.shape
    lines: list[Safe] = []
    for number, row in enumerate(levels):
        cells = [
            fill(
                '<td style="background:{}" title="{}"></td>',
                _color(level),
                markup(_title(summary, number, column) if is_exact else ""),
            )
            for column, level in enumerate(row)
        ]
        lines.append(fill("<tr>{}</tr>", joined("", cells)))
    return fill('<table style="border-collapse:collapse">{}</table>', joined("", lines))


def _title(summary: Summary, row: int, column: int) -> str:
    return f"[{row}, {column}] = {summary.matrix[row, column]}"


def _color(level: int) -> Safe:
    if level < 0:
        return fill("#000")
    hue = 240 - 240 * level // (_COLORS - 1)
    return fill("hsl({},70%,55%);width:8px;height:8px", hue)


def _levels(summary: Summary, count: int) -> list[list[int]]:
    """Return the level from 0 to `count - 1` of each cell, that of its largest element; -1 for NaN."""
    import numpy as np

    matrix = summary.matrix.astype(np.float64)
    if matrix.size == 0:
        return []
    tiles = [-(-size // most) for size, most in zip(matrix.shape, (MOST_ROWS, MOST_COLUMNS), strict=True)]
    padding = [(0, -size % tile) for size, tile in zip(matrix.shape, tiles, strict=True)]
    padded = np.pad(matrix, padding, constant_values=-np.inf)
    cells = padded.reshape(padded.shape[0] // tiles[0], tiles[0], padded.shape[1] // tiles[1], tiles[1]).max(
        axis=(1, 3)
    )
    finite = cells[np.isfinite(cells)]
    low, high = (float(finite.min()), float(finite.max())) if finite.size else (0.0, 0.0)
    with np.errstate(invalid="ignore"):
        scaled = np.clip((cells - low) / (high - low or 1.0), 0, 1) * (count - 1)
    return np.where(np.isnan(cells), -1, np.nan_to_num(scaled).round()).astype(int).tolist()
