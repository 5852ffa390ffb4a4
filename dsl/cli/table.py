"""The table that `tvms run` prints."""

from __future__ import annotations

from typing import Any

import numpy as np
from rich import box
from rich.console import Console
from rich.measure import Measurement
from rich.table import Table
from rich.text import Text

from ...ir.sanitize import visible

SHOWN_VALUES = 10
"""Results of up to this many elements are printed in full below the table."""


def _number(value: Any) -> str:
    return f"{float(value):.6g}"


def _row(role: str, name: str, value: Any) -> tuple[str, ...]:
    array = np.asarray(value)
    shape = f"({', '.join(map(str, array.shape))}{',' if array.ndim == 1 else ''})"
    if array.size == 0 or array.dtype.kind in "OUS":
        return (role, name, shape, str(array.dtype), "", "", "")
    wide = array.astype(np.float64)
    return (role, name, shape, str(array.dtype), _number(wide.min()), _number(wide.mean()), _number(wide.max()))


def _table(rows: list[tuple[str, ...]]) -> Table:
    table = Table(box=box.SIMPLE_HEAD, title_justify="left", pad_edge=False)
    for heading in ("", "name", "shape", "dtype"):
        table.add_column(heading, no_wrap=True)
    for heading in ("min", "mean", "max"):
        table.add_column(heading, justify="right", no_wrap=True)
    for row in rows:
        table.add_row(*[Text(visible(cell)) for cell in row])
    return table


def _print_lines(console: Console, rows: list[tuple[str, ...]]) -> None:
    """Print the values in three lines each, for terminals narrower than the table."""
    for role, name, shape, dtype, low, mean, high in rows:
        console.print(visible(f"{role:<4}{name} {shape} {dtype}"), markup=False)
        if low:
            console.print(visible(f"      {low} to {high}\n      mean {mean}"), markup=False)


def show(title: str, inputs: dict[str, Any], results: dict[str, Any], summary: str) -> None:
    """Print inputs and results with their shape, dtype and range, and small results in full."""
    console = Console(highlight=False, soft_wrap=True)
    rows = [
        _row(role, name, value) for role, values in (("in", inputs), ("out", results)) for name, value in values.items()
    ]
    table = _table(rows)
    console.print(visible(title), markup=False)
    if Measurement.get(console, console.options.update(max_width=10_000), table).maximum <= console.width:
        console.print(table)
    else:
        _print_lines(console, rows)
    for name, value in results.items():
        array = np.asarray(value)
        if 0 < array.size <= SHOWN_VALUES:
            text = np.array2string(
                array, precision=5, separator=", ", max_line_width=min(100, console.width) - len(name) - 3
            )
            console.print(visible(f"{name} = {text}"), markup=False)
    console.print(visible(summary), markup=False)
