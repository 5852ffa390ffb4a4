"""Help for programs that make programs (TVM: `relax.utils`)."""

from __future__ import annotations

from typing import Any

from ... import relax
from ...building.values import graph_value
from ...visit import with_new_variables


def copy_with_new_vars(func: relax.Function) -> relax.Function:
    """Return `func` with new variables, of both levels, in the place of all that it defines."""
    return with_new_variables(func)


def convert_to_expr(value: Any) -> relax.Expr:
    """Return `value` as a graph value: numbers, strings, tuples and arrays too."""
    return graph_value(value)
