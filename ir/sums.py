"""Sums: integer expressions as linear combinations of terms that are not sums."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from math import gcd, inf

from . import tir
from .dtype import int_range, is_index, parse_dtype
from .fold import wrap


class Sum:
    """`constant` plus the sum of `factor * term`; immutable once shared.

    Terms are interned nodes, in the order of their first appearance; no factor is 0.
    """

    __slots__ = ("constant", "terms")

    def __init__(self, terms: dict[tir.PrimExpr, int] | None = None, constant: int = 0) -> None:
        self.terms = {} if terms is None else terms
        self.constant = constant

    def add(self, other: Sum, factor: int = 1) -> None:
        """Add `factor` times `other` in place."""
        self.constant += other.constant * factor
        for term, value in other.terms.items():
            self.add_term(term, value * factor)

    def add_term(self, term: tir.PrimExpr, factor: int) -> None:
        """Add `factor * term` in place."""
        total = self.terms.get(term, 0) + factor
        if total:
            self.terms[term] = total
        else:
            self.terms.pop(term, None)

    def plus(self, other: Sum, factor: int = 1) -> Sum:
        """Return this plus `factor` times `other`."""
        result = Sum(dict(self.terms), self.constant)
        result.add(other, factor)
        return result

    def shifted(self, constant: int) -> Sum:
        """Return this plus a constant."""
        return Sum(self.terms, self.constant + constant)

    def scaled(self, factor: int) -> Sum:
        """Return `factor` times this."""
        if factor == 0:
            return Sum()
        return Sum({term: value * factor for term, value in self.terms.items()}, self.constant * factor)

    def divided(self, divisor: int) -> Sum:
        """Return the quotient by `divisor`, rounding the constant down; `divisor` must divide all factors."""
        return Sum({term: value // divisor for term, value in self.terms.items()}, self.constant // divisor)

    def wrapped(self, dtype: str) -> Sum:
        """Return the sum with factors closest to zero that is equal modulo the width of `dtype`."""
        parsed = parse_dtype(dtype)
        whole = 1 << parsed.bits
        half = whole // 2 if parsed.code == "int" else whole // 2 - 1
        terms = {term: (value + half) % whole - half for term, value in self.terms.items() if value % whole}
        return Sum(terms, (self.constant + half) % whole - half)

    @property
    def is_constant(self) -> bool:
        return not self.terms

    @property
    def single(self) -> tir.PrimExpr | None:
        """The term, if the sum is a single unscaled term without a constant, or None."""
        if len(self.terms) == 1 and self.constant == 0:
            ((term, factor),) = self.terms.items()
            return term if factor == 1 else None
        return None

    @property
    def content(self) -> int:
        """The greatest common divisor of all factors; 0 for constants."""
        return gcd(*self.terms.values())

    def factors(self) -> Iterator[tuple[tir.PrimExpr, int]]:
        return iter(self.terms.items())

    def key(self) -> tuple[frozenset[tuple[tir.PrimExpr, int]], int]:
        """Return a key that is the same for equal sums, regardless of the order of their terms."""
        return frozenset(self.terms.items()), self.constant


def render(value: Sum, dtype: str, intern: Callable[[tir.PrimExpr], tir.PrimExpr]) -> tir.PrimExpr | None:
    """Return the expression of a sum in TVM's order: positive terms, a positive constant, then what is subtracted.

    None if a number exceeds the range of an index dtype; other dtypes wrap around.
    """
    low, high = int_range(dtype)

    def number(number: int) -> tir.PrimExpr:
        return intern(tir.IntImm(dtype, wrap(number, dtype)))

    def scaled(term: tir.PrimExpr, factor: int) -> tir.PrimExpr:
        return term if factor == 1 else intern(tir.Mul(dtype, term, number(factor)))

    if is_index(dtype) and any(abs(n) > high for n in (*value.terms.values(), value.constant)):
        return None
    constant = value.constant if is_index(dtype) else wrap(value.constant, dtype)
    ordered = sorted(value.factors(), key=_sort_key)
    added = [(term, factor) for term, factor in ordered if factor > 0 or -factor > high]
    taken = [(term, -factor) for term, factor in ordered if factor < 0 and -factor <= high]
    if not added and taken and constant <= 0 and low <= -taken[0][1]:
        term, factor = taken.pop(0)
        added.append((term, -factor))
    parts = [scaled(term, factor) for term, factor in added]
    if constant > 0 or -constant > high or not parts:
        parts.append(number(constant))
    result = parts[0]
    for part in parts[1:]:
        result = intern(tir.Add(dtype, result, part))
    for term, factor in taken:
        result = intern(tir.Sub(dtype, result, scaled(term, factor)))
    if added and -high <= constant < 0:
        result = intern(tir.Sub(dtype, result, number(-constant)))
    return result


def _sort_key(part: tuple[tir.PrimExpr, int]) -> tuple[int, int, float]:
    """Return the sort key of a term (TVM: `SumExprNode::SimplifySplitExprs`): by descending factor, then by descending
    divisor of a quotient, then terms that are not remainders first. The sort is stable.
    """
    term, factor = part
    lower, upper = 1, inf
    if isinstance(term, tir.FloorDiv) and isinstance(term.b, tir.IntImm):
        term, lower = term.a, term.b.value
    if isinstance(term, tir.FloorMod) and isinstance(term.b, tir.IntImm):
        upper = term.b.value
    return -factor, -lower, -upper
