"""Simplification of expressions and functions to a normal form."""

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
"""Modules with the rules of each operator family; importing them registers the rules."""


@deep
def simplify(expr: tir.PrimExpr, domains: Domains | None = None, given: Sequence[tir.PrimExpr] = ()) -> tir.PrimExpr:
    """Return the normal form of `expr`, given that variables range over `domains` and all conditions in `given` hold.

    The result equals `expr` wherever `expr` has a value: index expressions (int32, int64) are assumed not to overflow,
    other integers wrap around, floats are rearranged only where that is exact. Calls with side effects are kept.
    Simplification is idempotent.
    """
    return Simplifier(domains, given).run(expr)
