"""Products of sums and casts of sums: expanded where terms then cancel, and kept otherwise."""

from __future__ import annotations

from itertools import product as combinations
from math import prod

from .. import tir
from ..dtype import is_index
from ..intern import factors
from ..sums import Sum
from .core import Simplifier

MOST_TERMS = 16
"""Maximum number of terms of an expanded product; larger products are kept."""


def shortened(s: Simplifier, total: Sum, dtype: str) -> Sum:
    """Return `total` with its terms expanded, if that makes it shorter: `n * (m + 1) - n * m` is `n`."""
    if len(total.terms) < 2 or not is_index(dtype):
        return total
    new = Sum({}, total.constant)
    for term, factor in total.factors():
        new.add(opened(s, term), factor)
    return new if len(new.terms) < len(total.terms) else total


def opened(s: Simplifier, term: tir.PrimExpr) -> Sum:
    """Return the expansion of a product of sums, or of a cast of a sum."""
    match term:
        case tir.Mul():
            parts = [s.sum(part) for part in factors(term)]
            if prod(len(part.terms) + 1 for part in parts) <= MOST_TERMS:
                return _product(s, parts, term.dtype)
        case tir.Cast(value=value) if is_index(value.dtype):
            inner = s.sum(value)
            casts = {s.visit(tir.Cast(term.dtype, expr)): factor for expr, factor in inner.factors()}
            return Sum(casts, inner.constant)
        case _:
            pass
    return Sum({term: 1})


def _product(s: Simplifier, parts: list[Sum], dtype: str) -> Sum:
    """Return the expansion of a product of sums."""
    result = Sum()
    for chosen in combinations(*[[*part.factors(), (None, part.constant)] for part in parts]):
        scale, terms = prod(factor for _, factor in chosen), [term for term, _ in chosen if term is not None]
        if scale and terms:
            node = terms[0]
            for term in terms[1:]:
                node = s.intern(tir.Mul(dtype, node, term))
            result.add_term(node, scale)
        else:
            result.constant += scale
    return result
