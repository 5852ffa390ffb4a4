"""Linear facts on divisions by sizes: `x // n` and `x % n` are not quasi-affine if `n` is not a number.

    q = x // n,  0 < n:   q <= e  implies  x < (e + 1) * n,   q >= e  implies  x >= e * n
    r = x % n,   0 < n:   0 <= r < n
    x // n = y // n  implies  x - x % n = y - y % n

A variable with a range of `n * m` values has one, so that neither factor is zero.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from itertools import combinations

from .. import tir
from ..dtype import is_index
from ..intern import factors
from ..simplify import Simplifier
from ..sums import Sum
from ..visit import walk
from .const_bounds import Domains

Division = tir.FloorDiv | tir.FloorMod


def divisions_in(exprs: Sequence[tir.PrimExpr]) -> list[tir.FloorDiv | tir.FloorMod]:
    """Return the divisions of index expressions by other than a number."""
    nodes = dict.fromkeys(node for expr in exprs for node in walk(expr) if isinstance(node, Division))
    return [node for node in nodes if is_index(node.dtype) and not isinstance(node.b, tir.IntImm)]


def positive_factors(s: Simplifier, domains: Domains) -> Iterator[tir.PrimExpr]:
    """Yield the conditions that the factors of the sizes of ranges, which are not negative, are at least 1."""
    for domain in domains.values():
        if isinstance(domain, tir.Range) and is_index(domain.extent.dtype):
            parts = [part for part in factors(s.visit(domain.extent)) if not isinstance(part, tir.IntImm)]
            if len(parts) > 1 and all(s.bounds(part).min >= 0 for part in parts):
                yield from (tir.LE("bool", tir.IntImm(part.dtype, 1), part) for part in parts)


def facts_of_divisions(
    s: Simplifier, asked: Sequence[tir.PrimExpr], is_positive: Callable[[tir.PrimExpr], bool]
) -> Iterator[tir.PrimExpr]:
    """Yield conditions that follow from those `asked`, which hold together and are in normal form."""
    found = divisions_in(asked)
    positive = {divisor for divisor in dict.fromkeys(node.b for node in found) if is_positive(divisor)}
    for node in found:
        if isinstance(node, tir.FloorMod) and node.b in positive:
            yield s.visit(tir.LE("bool", tir.IntImm(node.dtype, 0), node))
            yield s.visit(tir.LT("bool", node, node.b))
    yield from _equal_quotients(s, found)
    for expr in asked:
        if not isinstance(expr, tir.LE | tir.LT | tir.EQ) or not is_index(expr.a.dtype):
            continue
        distance = s.sum(expr.a).plus(s.sum(expr.b), -1)
        for term, factor in distance.factors():
            if isinstance(term, tir.FloorDiv) and term.b in positive and factor in (1, -1):
                rest = distance.plus(Sum({term: factor}), -1)
                yield from _bounds_of_dividend(s, expr, term, factor, rest)


def _bounds_of_dividend(
    s: Simplifier, expr: tir.LE | tir.LT | tir.EQ, quotient: tir.FloorDiv, factor: int, rest: Sum
) -> Iterator[tir.PrimExpr]:
    """Yield the bounds of the dividend if `factor * quotient + rest` is at most, less than or equal to zero."""
    strict, dtype = int(isinstance(expr, tir.LT)), quotient.dtype
    limit = s.to_expr(rest.scaled(-factor), dtype)
    if limit is None:
        return
    for is_upper in (True, False) if isinstance(expr, tir.EQ) else (factor > 0,):
        number = tir.IntImm(dtype, 1 - strict if is_upper else strict)
        end = tir.Mul(dtype, tir.Add(dtype, limit, number), quotient.b)
        yield s.visit((tir.LT if is_upper else tir.GE)("bool", quotient.a, end))


def _equal_quotients(s: Simplifier, found: Sequence[tir.FloorDiv | tir.FloorMod]) -> Iterator[tir.PrimExpr]:
    """Yield for each two dividends of the same divisor that they differ as their remainders do if their quotients are equal."""
    remainders = {(node.a, node.b): node for node in found if isinstance(node, tir.FloorMod)}
    quotients = [node for node in found if isinstance(node, tir.FloorDiv) and (node.a, node.b) in remainders]
    for first, second in combinations(quotients, 2):
        if first.b is second.b:
            rest, other = remainders[first.a, first.b], remainders[second.a, second.b]
            dtype = first.dtype
            differ = tir.NE("bool", first, second)
            same = tir.EQ("bool", tir.Sub(dtype, first.a, rest), tir.Sub(dtype, second.a, other))
            yield s.visit(tir.Or("bool", differ, same))
