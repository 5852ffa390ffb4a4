"""Rows for operators that change shapes and select elements."""

from __future__ import annotations

from typing import Any

from ....ir import relax
from ....ir.api.relax import op
from ....ir.building.values import const
from ....ir.ops import dims as d
from ..values import dims_of
from .converter import Converter
from .rows import Family

ROWS = Family()


@ROWS.row("Reshape")
def _reshape(c: Converter, a: Any) -> relax.Expr:
    """Before version 5, the shape is an attribute."""
    sizes = c.sizes(a.shape)
    dims = dims_of(a.data)
    if not getattr(a, "allowzero", 0):
        sizes = [dims[place] if size == 0 else size for place, size in enumerate(sizes)]
    if -1 in sizes:
        place = sizes.index(-1)
        rest = d.product([d.as_dim(size) for size in (*sizes[:place], *sizes[place + 1 :])])
        sizes[place] = d.floordiv(d.product(dims), rest)
    return op.reshape(a.data, c.shape(sizes))


@ROWS.row("Gather")
def _gather(c: Converter, a: Any) -> relax.Expr:
    return op.take(a.data, a.indices, a.axis)


@ROWS.row("Constant")
def _constant(c: Converter, a: Any) -> relax.Expr:
    scalars = {"value_int": "int64", "value_ints": "int64", "value_float": "float32", "value_floats": "float32"}
    for name, dtype in scalars.items():
        if getattr(a, name, None) is not None:
            return const(getattr(a, name), dtype)
    if a.value is None:
        raise c.unsupported("it holds a text or a sparse tensor", "store a dense tensor of numbers")
    return a.value
