"""The table of converters: one row per overload of ATen, by its name without `aten.` ("relu.default").

To add an operator, add a row to the file of its family: a function of the converter and the arguments by schema name.
It returns a value or a tuple of values; an element of a tuple may be a function that computes it on demand.
"""

from __future__ import annotations

from importlib import import_module

from .converter import Convert

FAMILIES = (
    "elementwise", "binary", "reductions", "shapes", "indexing", "creation", "products",
    "convolution", "pooling", "normalization", "attention", "images", "quantization", "recurrent",
    "sorting", "losses", "control_flow", "numbers",
)  # fmt: skip

ROWS: dict[str, Convert] = {
    name: row for family in FAMILIES for name, row in import_module(f".{family}", __package__).ROWS.items()
}
