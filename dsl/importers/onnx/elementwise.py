"""Rows for elementwise operators."""

from __future__ import annotations

from typing import Any

from ....ir import relax
from ....ir.api.relax import op
from .converter import Converter
from .rows import Family
from .tensors import dtype_name

ROWS = Family()


@ROWS.row("Add", since=7)
def _add(c: Converter, a: Any) -> relax.Expr:
    return op.add(a.A, a.B)


@ROWS.row("Cast", since=6)
def _cast(c: Converter, a: Any) -> relax.Expr:
    return c.cast(a.input, dtype_name(a.to))


ROWS.add({"Relu": lambda c, a: op.nn.relu(a.X)}, since=1)
