"""Expressions and functions in their normal form."""

from __future__ import annotations

from collections.abc import Sequence

from .. import tir
from ..analysis.const_bounds import Domains
from ..deep import deep
from . import arithmetic, choices, comparisons, division, elementwise, extrema, logic
from .core import Simplifier
from .statements import simplify_statements

__all__ = ["Simplifier", "simplify", "simplify_statements"]

FAMILIES = (arithmetic, division, extrema, comparisons, logic, choices, elementwise)
"""What is known of each family of operators; importing them registers it."""


@deep
def simplify(expr: tir.PrimExpr, domains: Domains | None = None, given: Sequence[tir.PrimExpr] = ()) -> tir.PrimExpr:
    """Return `expr` in normal form, for variables that range over `domains` where all conditions in `given` hold.

    Equal to `expr` wherever that has a value: index expressions (int32, int64) are taken not to overflow, other
    integers wrap around, floats are rearranged only where that is exact. Calls that have effects stay as they are.
    Simplifying again changes nothing.
    """
    return Simplifier(domains, given).run(expr)
