"""Utilities for building programs (TVM: `relax.utils`)."""

from __future__ import annotations

from typing import Any

from ... import relax
from ...building.values import graph_value
from ...variables import with_new_variables


def copy_with_new_vars(func: relax.Function) -> relax.Function:
    """Return a copy of `func` in which all defined variables, of both levels, are new."""
    return with_new_variables(func)


def convert_to_expr(value: Any) -> relax.Expr:
    """Return `value` as a graph-level value; accepts numbers, strings, tuples and arrays."""
    return graph_value(value)
