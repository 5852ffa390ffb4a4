"""Help for programs that make programs (TVM: `relax.utils`)."""

from __future__ import annotations

from typing import Any

from msgspec.structs import replace

from ... import relax
from ...building.values import graph_value
from ...visit import defined_variables, substitute, walk


def copy_with_new_vars(func: relax.Function) -> relax.Function:
    """Return `func` with new variables, of both levels, in the place of all that it defines."""
    found = [name for node in walk(func) for name in defined_variables(node)]
    return substitute(func, {name: replace(name) for name in dict.fromkeys(found)})


def convert_to_expr(value: Any) -> relax.Expr:
    """Return `value` as a graph value: numbers, strings, tuples and arrays too."""
    return graph_value(value)
