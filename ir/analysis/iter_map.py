"""Iterator maps: what loops make of block iterators by splitting and fusing (TVM: `arith.DetectIterMap`).

An index is understood where it is a sum `base + scale * part`, whose part is what splits and fusions make of the input
iterators. A *mark* is an iterator from 0 to its extent: an input iterator (less the start of its range), or a sum of
parts that fuses others. A *split* `mark // lower_factor % extent * scale` takes a part of it. Indices map
*surjectively* where every combination of their values occurs, *bijectively* where each occurs once.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from enum import Enum
from typing import TypeAlias

from msgspec import Struct

from .. import tir
from ..deep import deep
from ..intern import factors, joined
from ..simplify import Simplifier
from ..sums import Sum
from ..visit import walk

Key: TypeAlias = "frozenset[tuple[tir.PrimExpr, int]]"


class IterMapLevel(Enum):
    """What is asked of a map: nothing, that it reaches every value, or that it reaches each once."""

    NO_CHECK = "nocheck"
    SURJECTIVE = "surjective"
    BIJECTIVE = "bijective"


class IterMark(Struct, frozen=True, eq=False):
    source: tir.PrimExpr | IterSumExpr
    extent: tir.PrimExpr
    variable: tir.Var | None = None
    """The input iterator; None where parts of others are fused."""


class IterSplitExpr(Struct, frozen=True, eq=False):
    """`source // lower_factor % extent * scale`."""

    source: IterMark
    lower_factor: tir.PrimExpr
    extent: tir.PrimExpr
    scale: tir.PrimExpr


class IterSumExpr(Struct, frozen=True, eq=False):
    """`base` plus the sum of `args`, the greatest scale first."""

    args: tuple[IterSplitExpr, ...]
    base: tir.PrimExpr


class IterMapResult(Struct, frozen=True):
    """The indices understood, or none and the reasons why."""

    indices: tuple[IterSumExpr, ...]
    errors: tuple[str, ...] = ()

    @property
    def is_detected(self) -> bool:
        return not self.errors


class NotIterMap(Exception):
    """An index is not what splits and fusions make; the message says why."""


@deep
def detect_iter_map(
    indices: Sequence[tir.PrimExpr],
    input_iters: Mapping[tir.Var, tir.Range],
    predicate: tir.PrimExpr | None = None,
    check_level: IterMapLevel | str = IterMapLevel.SURJECTIVE,
) -> IterMapResult:
    """Return each of `indices` as a sum of splits of `input_iters`, where `predicate` holds.

    Other variables are taken to be constant. No index is returned where one is not understood or where, together,
    they are not what `check_level` asks.
    """
    try:
        detector = Detector(input_iters, predicate)
        sums = tuple([detector.fused(detector.parse(index)) for index in indices])
        level = IterMapLevel(check_level)
        if level is not IterMapLevel.NO_CHECK:
            detector.check(sums, level)
        return IterMapResult(sums)
    except NotIterMap as error:
        return IterMapResult((), (str(error),))


def is_bijective(
    indices: Sequence[tir.PrimExpr], input_iters: Mapping[tir.Var, tir.Range], predicate: tir.PrimExpr | None = None
) -> bool:
    """Whether indices take each combination of their values once."""
    return detect_iter_map(indices, input_iters, predicate, IterMapLevel.BIJECTIVE).is_detected


class Constraint(Struct, frozen=True, eq=False):
    """What a predicate says of a sum of terms: its least value, and one more than its greatest; None where nothing."""

    terms: dict[tir.PrimExpr, int]
    low: tir.PrimExpr | None
    high: tir.PrimExpr | None


class Detector:
    """Takes indices apart, for given iterators and a predicate."""

    def __init__(self, input_iters: Mapping[tir.Var, tir.Range], predicate: tir.PrimExpr | None) -> None:
        self.simplifier = Simplifier(input_iters)
        self.iters = dict(input_iters)
        self.marks: dict[object, IterMark] = {}
        self.constraints = self._constraints(predicate)

    # --- Arithmetic on factors --------------------------------------------------------------------------------------

    def number(self, value: int, like: tir.PrimExpr) -> tir.PrimExpr:
        return self.simplifier.constant(value, like.dtype)

    def times(self, a: tir.PrimExpr, b: tir.PrimExpr) -> tir.PrimExpr:
        return self.simplifier.visit(tir.Mul(a.dtype, a, b))

    def plus(self, a: tir.PrimExpr, b: tir.PrimExpr) -> tir.PrimExpr:
        return self.simplifier.visit(tir.Add(a.dtype, a, b))

    def minus(self, a: tir.PrimExpr, b: tir.PrimExpr) -> tir.PrimExpr:
        return self.simplifier.visit(tir.Sub(a.dtype, a, b))

    def quotient(self, a: tir.PrimExpr, b: tir.PrimExpr) -> tir.PrimExpr:
        """Return `a / b`, rounded up."""
        return self.simplifier.visit(
            tir.FloorDiv(a.dtype, tir.Add(a.dtype, a, tir.Sub(a.dtype, b, self.number(1, a))), b)
        )

    def divides(self, divisor: tir.PrimExpr, value: tir.PrimExpr) -> bool:
        return self.is_zero(self.simplifier.visit(tir.FloorMod(value.dtype, value, divisor)))

    def is_zero(self, value: tir.PrimExpr) -> bool:
        return isinstance(value, tir.IntImm) and value.value == 0

    def is_one(self, value: tir.PrimExpr) -> bool:
        return isinstance(value, tir.IntImm) and value.value == 1

    def at_most(self, a: tir.PrimExpr, b: tir.PrimExpr) -> bool:
        return self.simplifier.at_most(self.simplifier.sum(a).plus(self.simplifier.sum(b), -1))

    def uses_iters(self, expr: tir.PrimExpr) -> bool:
        return any(node in self.iters for node in walk(expr) if isinstance(node, tir.Var))

    # --- Predicates -------------------------------------------------------------------------------------------------

    def _constraints(self, predicate: tir.PrimExpr | None) -> list[Constraint]:
        found: dict[Key, Constraint] = {}
        if predicate is not None:
            for part in joined(tir.And, self.simplifier.visit(predicate)):
                if self.uses_iters(part):
                    self._constrain(part, found)
        return sorted(found.values(), key=lambda constraint: len(constraint.terms))

    def _constrain(self, part: tir.PrimExpr, found: dict[Key, Constraint]) -> None:
        if not isinstance(part, tir.LT | tir.LE | tir.EQ):
            raise NotIterMap("a predicate is no comparison of a sum of iterators with a bound")
        s = self.simplifier
        distance = s.sum(part.a).plus(s.sum(part.b), -1)
        terms = {term: factor for term, factor in distance.factors() if self.uses_iters(term)}
        limit = s.to_expr(Sum(terms).plus(distance, -1), part.a.dtype)
        assert limit is not None
        is_upper = next(iter(terms.values())) > 0
        if not is_upper:
            terms, limit = (
                {t: -f for t, f in terms.items()},
                s.visit(tir.Sub(limit.dtype, self.number(0, limit), limit)),
            )
        past = self.plus(limit, self.number(1, limit))
        is_strict = isinstance(part, tir.LT)
        low = high = None
        if is_upper or isinstance(part, tir.EQ):
            high = limit if is_strict else past
        if not is_upper or isinstance(part, tir.EQ):
            low = past if is_strict else limit
        known = found.get(frozenset(terms.items()))
        if known is not None:
            low, high = self._tighter(tir.Max, low, known.low), self._tighter(tir.Min, high, known.high)
        found[frozenset(terms.items())] = Constraint(terms, low, high)

    def _tighter(
        self, kind: type[tir.Min | tir.Max], a: tir.PrimExpr | None, b: tir.PrimExpr | None
    ) -> tir.PrimExpr | None:
        return b if a is None else a if b is None else self.simplifier.visit(kind(a.dtype, a, b))

    # --- Parsing ----------------------------------------------------------------------------------------------------

    def parse(self, index: tir.PrimExpr) -> IterSumExpr:
        """Return an index as a sum of splits, not yet fused."""
        return self._parse_sum(self.simplifier.sum(self.simplifier.visit(index)), index.dtype)

    def _parse_sum(self, value: Sum, dtype: str) -> IterSumExpr:
        terms, base = dict(value.terms), self.simplifier.constant(value.constant, dtype)
        splits: list[IterSplitExpr] = []
        for constraint in reversed(self.constraints):
            scale = self._scale_of(constraint, terms)
            if scale is not None:
                for term in constraint.terms:
                    del terms[term]
                split, offset = self._constrained(constraint, dtype)
                factor = self.simplifier.constant(scale, dtype)
                splits.append(IterSplitExpr(split, self.number(1, base), split.extent, factor))
                base = self.plus(base, self.times(offset, factor))
        for term, factor in terms.items():
            split, offset = self._parse_term(term, self.simplifier.constant(factor, dtype))
            splits += [] if split is None or self.is_one(split.extent) else [split]
            base = self.plus(base, offset)
        return IterSumExpr(tuple(splits), base)

    def _scale_of(self, constraint: Constraint, terms: Mapping[tir.PrimExpr, int]) -> int | None:
        """Return how often the constrained sum stands in the sum of `terms`; None where it does not."""
        scales = {terms.get(term, 0) / factor for term, factor in constraint.terms.items()}
        scale = scales.pop()
        return int(scale) if not scales and scale and scale == int(scale) else None

    def _constrained(self, constraint: Constraint, dtype: str) -> tuple[IterMark, tir.PrimExpr]:
        """Return the mark of a sum that a predicate bounds, and the least value of the sum."""
        others = self.constraints[: self.constraints.index(constraint)]
        key = constraint
        whole = self._fuse(self._inside(others, constraint.terms, dtype))
        low = whole.base if constraint.low is None else self._tighter(tir.Max, constraint.low, whole.base)
        end = (
            self.plus(whole.base, whole.args[0].extent)
            if whole.args
            else self.plus(whole.base, self.number(1, whole.base))
        )
        high = end if constraint.high is None else self._tighter(tir.Min, constraint.high, end)
        assert low is not None
        assert high is not None
        found = self.marks.get(key)
        if found is None:
            shifted = IterSumExpr(whole.args, self.minus(whole.base, low))
            found = self.marks[key] = IterMark(shifted, self.minus(high, low))
        return found, low

    def _inside(self, others: list[Constraint], terms: dict[tir.PrimExpr, int], dtype: str) -> IterSumExpr:
        outer, self.constraints = self.constraints, others
        try:
            return self._parse_sum(Sum(terms), dtype)
        finally:
            self.constraints = outer

    def _parse_term(self, term: tir.PrimExpr, scale: tir.PrimExpr) -> tuple[IterSplitExpr | None, tir.PrimExpr]:
        """Return the split that `scale * term` is, and what is added to it."""
        zero = self.number(0, scale)
        if not self.uses_iters(term):
            return None, self.times(term, scale)
        match term:
            case tir.Var():
                domain = self.iters[term]
                extent = self.simplifier.visit(domain.extent)
                start = self.simplifier.visit(domain.min)
                source = term if self.is_zero(start) else tir.Sub(term.dtype, term, start)
                mark = self.marks.setdefault(term, IterMark(source, extent, term))
                return IterSplitExpr(mark, self.number(1, scale), extent, scale), self.times(start, scale)
            case tir.Mul():
                parts = factors(term)
                varying = [part for part in parts if self.uses_iters(part)]
                if len(varying) > 1:
                    raise NotIterMap("iterators are multiplied with each other")
                for part in parts:
                    scale = scale if part is varying[0] else self.times(scale, part)
                inner = self.fused(self.parse(varying[0]))
                (split,) = inner.args or (None,)
                scaled = None if split is None else _scaled(self, split, scale)
                return scaled, self.times(inner.base, scale)
            case tir.FloorDiv() | tir.FloorMod() if not self.uses_iters(term.b):
                return self._parse_division(term, scale), zero
            case tir.Cast(value=value):
                return self._parse_term(value, self.simplifier.visit(tir.Cast(value.dtype, scale)))
            case _:
                raise NotIterMap("an index is neither a sum, a quotient nor a remainder of iterators")

    def _parse_division(self, term: tir.FloorDiv | tir.FloorMod, scale: tir.PrimExpr) -> IterSplitExpr | None:
        lower, upper, inner = self.number(1, scale), None, term
        if isinstance(term, tir.FloorDiv):
            lower, inner = term.b, term.a
        if isinstance(inner, tir.FloorMod) and not self.uses_iters(inner.b):
            upper, inner = inner.b, inner.a
            if not self.divides(lower, upper):
                raise NotIterMap("a remainder is divided by what does not divide its divisor")
        mark = self._mark_of(self.fused(self.parse(inner)), lower if upper is None else upper)
        if upper is None:
            return IterSplitExpr(mark, lower, self.quotient(mark.extent, lower), scale)
        if self.at_most(mark.extent, upper):
            return IterSplitExpr(mark, lower, self.quotient(mark.extent, lower), scale)
        return IterSplitExpr(mark, lower, self.quotient(upper, lower), scale)

    def _mark_of(self, whole: IterSumExpr, divisor: tir.PrimExpr) -> IterMark:
        """Return the mark that a fused sum is: what begins elsewhere than at zero cannot be split."""
        if len(whole.args) != 1 or not self.is_zero(whole.base):
            raise NotIterMap("what is divided does not start at zero")
        (split,) = whole.args
        if not self.is_one(split.scale):
            raise NotIterMap("what is divided has gaps")
        if self.is_one(split.lower_factor) and split.extent is split.source.extent:
            return split.source
        key = (split.source, split.lower_factor, split.extent)
        return self.marks.setdefault(key, IterMark(whole, split.extent))

    def fused(self, value: IterSumExpr) -> IterSumExpr:
        """Return a sum of at most one split, of a mark that fuses the splits of `value`."""
        return self._fuse(value) if len(value.args) > 1 else value

    def _fuse(self, value: IterSumExpr) -> IterSumExpr:
        if len(value.args) <= 1:
            return value
        ordered = self._chain(list(value.args))
        first = ordered[0].scale
        extent = self.number(1, first)
        for split in ordered:
            extent = self.times(extent, split.extent)
        parts = [IterSplitExpr(p.source, p.lower_factor, p.extent, self._ratio(p.scale, first)) for p in ordered]
        parts.reverse()
        key = frozenset((part.source, part.lower_factor, part.extent, part.scale) for part in parts)
        zero = self.number(0, first)
        mark = self.marks.setdefault(key, IterMark(IterSumExpr(tuple(parts), zero), extent))
        return IterSumExpr((IterSplitExpr(mark, self.number(1, first), extent, first),), value.base)

    def _chain(self, splits: list[IterSplitExpr]) -> list[IterSplitExpr]:
        """Return the splits so that each is as long as the step of the next, the least step first."""
        for first in splits:
            rest, chain = [each for each in splits if each is not first], [first]
            while rest:
                step = self.times(chain[-1].scale, chain[-1].extent)
                following = next((each for each in rest if each.scale is step), None)
                if following is None:
                    break
                rest.remove(following)
                chain.append(following)
            if not rest:
                return chain
        raise NotIterMap("the iterators in a sum overlap, or leave gaps")

    def _ratio(self, a: tir.PrimExpr, b: tir.PrimExpr) -> tir.PrimExpr:
        return self.simplifier.visit(tir.FloorDiv(a.dtype, a, b))

    # --- Checks -----------------------------------------------------------------------------------------------------

    def check(self, sums: Sequence[IterSumExpr], level: IterMapLevel) -> None:
        """Raise NotIterMap unless the splits of every mark are independent and, together, what `level` asks."""
        parts: dict[IterMark, list[IterSplitExpr]] = {}
        waiting = [split for each in sums for split in each.args]
        while waiting:
            split = waiting.pop()
            known = parts.setdefault(split.source, [])
            is_new = not known
            known.append(split)
            if is_new and isinstance(split.source.source, IterSumExpr):
                waiting.extend(split.source.source.args)
        for mark, splits in parts.items():
            self._check_mark(mark, splits, level)
        used = {mark.variable for mark in parts}
        if level is IterMapLevel.BIJECTIVE:
            for variable, domain in self.iters.items():
                if variable not in used and not self.is_one(self.simplifier.visit(domain.extent)):
                    raise NotIterMap(f"iterator '{variable.name}' is not used")
        seen = {mark for key, mark in self.marks.items() if isinstance(key, Constraint)} & parts.keys()
        if len(seen) < len(self.constraints):
            raise NotIterMap("a predicate bounds iterators that are used on their own")

    def _check_mark(self, mark: IterMark, splits: Sequence[IterSplitExpr], level: IterMapLevel) -> None:
        left, end = list(splits), None
        while left:
            lowest = self._lowest(left, end)
            if end is None and level is IterMapLevel.BIJECTIVE and not self.is_one(lowest.lower_factor):
                raise NotIterMap("the lowest part of an iterator is not used")
            if end is not None and lowest.lower_factor is not end and level is IterMapLevel.BIJECTIVE:
                raise NotIterMap("a part of an iterator is not used")
            left.remove(lowest)
            end = self.times(lowest.lower_factor, lowest.extent)
            if not left and end is not mark.extent:
                is_alone = len(splits) == 1
                if level is IterMapLevel.BIJECTIVE or not (is_alone or self.at_most(end, mark.extent)):
                    raise NotIterMap("an iterator is split by what does not divide its extent")

    def _lowest(self, splits: Sequence[IterSplitExpr], end: tir.PrimExpr | None) -> IterSplitExpr:
        """Return the split that starts where the last one ended, or at a multiple of that below all others."""
        for split in splits:
            if split.lower_factor is end or (end is None and self.is_one(split.lower_factor)):
                return split
        for split in splits:
            starts = end is None or self.divides(end, split.lower_factor)
            if starts and all(self.at_most(split.lower_factor, each.lower_factor) for each in splits):
                return split
        raise NotIterMap("parts of an iterator overlap")


def _scaled(detector: Detector, split: IterSplitExpr, scale: tir.PrimExpr) -> IterSplitExpr:
    return IterSplitExpr(split.source, split.lower_factor, split.extent, detector.times(split.scale, scale))
