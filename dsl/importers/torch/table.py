"""The one table of converters: a row for each overload of ATen, by its name without `aten.` ("relu.default").

To add an operator, add a row to the file of its family: a function of the converter and the arguments by the names
of the schema, which returns the value, or a tuple of values, each a value or a function that makes it when it is used.
"""

from __future__ import annotations

from . import (
    attention,
    binary,
    control_flow,
    convolution,
    creation,
    elementwise,
    images,
    indexing,
    normalization,
    pooling,
    products,
    recurrent,
    reductions,
    shapes,
    sorting,
)
from .converter import Convert

FAMILIES = (
    elementwise, binary, reductions, shapes, indexing, creation, products, convolution, pooling, normalization,
    attention, images, recurrent, sorting, control_flow,
)  # fmt: skip

ROWS: dict[str, Convert] = {name: row for family in FAMILIES for name, row in family.ROWS.items()}
