"""Sums: integer expressions as linear combinations of terms that are no sums themselves."""

from __future__ import annotations

from collections.abc import Iterator
from math import gcd

from .. import tir


class Sum:
    """`constant` plus the sum of `factor * term`; a sum is never changed once it is made known.

    Terms are interned nodes, in the order of their first appearance; no factor is 0.
    """

    __slots__ = ("constant", "terms")

    def __init__(self, terms: dict[tir.PrimExpr, int] | None = None, constant: int = 0) -> None:
        self.terms = {} if terms is None else terms
        self.constant = constant

    def add(self, other: Sum, factor: int = 1) -> None:
        """Add `factor` times `other` to this."""
        self.constant += other.constant * factor
        for term, value in other.terms.items():
            self.add_term(term, value * factor)

    def add_term(self, term: tir.PrimExpr, factor: int) -> None:
        """Add `factor * term` to this."""
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
        """Return this divided by what divides it."""
        return Sum({term: value // divisor for term, value in self.terms.items()}, self.constant // divisor)

    def wrapped(self, bits: int) -> Sum:
        """Return the sum that is the same modulo two to the `bits`, of factors nearest to zero."""
        half, whole = 1 << (bits - 1), 1 << bits
        terms = {term: (value + half) % whole - half for term, value in self.terms.items() if value % whole}
        return Sum(terms, (self.constant + half) % whole - half)

    @property
    def is_constant(self) -> bool:
        return not self.terms

    @property
    def single(self) -> tir.PrimExpr | None:
        """The term that this is, with nothing added and not scaled, or None."""
        if len(self.terms) == 1 and self.constant == 0:
            ((term, factor),) = self.terms.items()
            return term if factor == 1 else None
        return None

    @property
    def content(self) -> int:
        """The greatest number that divides all factors: 0 for constants."""
        return gcd(*self.terms.values())

    def factors(self) -> Iterator[tuple[tir.PrimExpr, int]]:
        return iter(self.terms.items())

    def key(self) -> tuple[frozenset[tuple[tir.PrimExpr, int]], int]:
        """What is equal for equal sums, in whatever order their terms stand."""
        return frozenset(self.terms.items()), self.constant
