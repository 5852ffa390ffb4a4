"""Iterator maps: block iterators as splits and fusions of loops (TVM: `arith.DetectIterMap`).

An index is recognized if it is a sum `base + scale * part`, whose part results from splitting and fusing the input
iterators. A *mark* is an iterator from 0 to its extent: an input iterator (minus the start of its range), or a sum of
parts that fuses others. A *split* `mark // lower_factor % extent * scale` is a part of a mark. Indices map
*surjectively* if every combination of their values occurs, *bijectively* if each occurs once.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from enum import Enum

from msgspec import Struct

from .. import tir
from ..deep import deep
from ..dtype import int_range, is_index, is_int
from ..idioms import is_one, is_zero
from ..intern import factors
from ..sums import Sum
from ..visit import walk
from .iter_checks import check_parts, parts_of
from .iter_marks import Factors, IterMapExpr, IterMark, IterSplitExpr, IterSumExpr, NotIterMap
from .iter_predicates import Constraint, constraints_of, tighter

__all__ = [
    "Detector", "IterMapExpr", "IterMapLevel", "IterMapResult", "IterMark", "IterSplitExpr", "IterSumExpr",
    "NotIterMap", "detect_iter_map", "is_bijective", "normalize_to_iter_sum",
]  # fmt: skip


class IterMapLevel(Enum):
    """Required property of a map: none, surjective, or bijective."""

    NO_CHECK = "nocheck"
    SURJECTIVE = "surjective"
    BIJECTIVE = "bijective"
    NoCheck = NO_CHECK  # TVM's spelling
    Surjective = SURJECTIVE
    Bijective = BIJECTIVE


class IterMapResult(Struct, frozen=True):
    """The recognized indices, or none and the reasons."""

    indices: tuple[IterSumExpr, ...]
    errors: tuple[str, ...] = ()

    @property
    def is_detected(self) -> bool:
        return not self.errors


@deep
def detect_iter_map(
    indices: Sequence[tir.PrimExpr],
    input_iters: Mapping[tir.Var, tir.Range],
    predicate: tir.PrimExpr | None = None,
    check_level: IterMapLevel | str = IterMapLevel.SURJECTIVE,
    simplify_trivial_iterators: bool = True,
) -> IterMapResult:
    """Return each of `indices` as a sum of splits of `input_iters`, assuming `predicate`.

    Other variables are constant; so are iterators of extent 1, unless `simplify_trivial_iterators` is False. No index is
    returned if one is not recognized or if together they do not satisfy `check_level`.
    """
    level, keeps_trivial = IterMapLevel(check_level), not simplify_trivial_iterators
    try:
        return IterMapResult(detect(indices, input_iters, predicate, level, keeps_trivial)[0])
    except NotIterMap as error:
        return IterMapResult((), (str(error),))


def detect(
    indices: Sequence[tir.PrimExpr],
    input_iters: Mapping[tir.Var, tir.Range],
    predicate: tir.PrimExpr | None,
    level: IterMapLevel,
    keeps_trivial: bool,
) -> tuple[tuple[IterSumExpr, ...], Detector]:
    """Return each index as a sum of at most one split, and the detector that found it; raises NotIterMap.

    Indices are first tried in normal form, then as written: simplification may remove terms that a predicate bounds, and
    take `(i * 128 + j) // 896` apart, whose parts no longer fit to those of `(i * 128 + j) % 112`.
    """
    detector = Detector(input_iters, predicate, level, keeps_trivial=keeps_trivial)
    try:
        return detector.detect(indices), detector
    except NotIterMap:
        if not detector.constraints and not any(map(_divides, indices)):
            raise
        as_written = Detector(input_iters, predicate, level, keeps_trivial=keeps_trivial, as_written=True)
        try:
            return as_written.detect(indices), as_written
        except NotIterMap:
            pass
        raise


def _divides(index: tir.PrimExpr) -> bool:
    return any(isinstance(node, tir.FloorDiv | tir.FloorMod) for node in walk(index))


def is_bijective(
    indices: Sequence[tir.PrimExpr], input_iters: Mapping[tir.Var, tir.Range], predicate: tir.PrimExpr | None = None
) -> bool:
    """Whether `indices` take each combination of their values once."""
    return detect_iter_map(indices, input_iters, predicate, IterMapLevel.BIJECTIVE).is_detected


@deep
def normalize_to_iter_sum(index: tir.PrimExpr, input_iters: Mapping[tir.Var, tir.Range]) -> IterSumExpr:
    """Return an index as a sum of unfused splits, the greatest scale first (TVM: `NormalizeToIterSum`).

    Scales are ordered by their constant factor, then by the number of other factors. What is not a split is in the base.
    """
    found = Detector(input_iters, None, IterMapLevel.NO_CHECK, keeps_unknown=True).parse(index)
    return IterSumExpr(tuple(sorted(found.args, key=_size_of_scale, reverse=True)), found.base)


def _size_of_scale(split: IterSplitExpr) -> tuple[int, int]:
    parts = factors(split.scale)
    constants = [part.value for part in parts if isinstance(part, tir.IntImm)]
    return abs(constants[0]) if constants else 1, len(parts) - len(constants)


class Detector:
    """Recognizes indices for given iterators and a predicate.

    With `keeps_trivial`, iterators of extent 1 stay; with `keeps_unknown`, unrecognized terms become part of the base.
    If only a surjective map is required, fused iterators may overlap, and dividends may have any start.
    """

    def __init__(
        self,
        input_iters: Mapping[tir.Var, tir.Range],
        predicate: tir.PrimExpr | None,
        level: IterMapLevel,
        *,
        keeps_trivial: bool = False,
        keeps_unknown: bool = False,
        as_written: bool = False,
    ) -> None:
        self.factors = Factors(input_iters, keeps_trivial, as_written)
        self.level, self.keeps_trivial, self.keeps_unknown = level, keeps_trivial, keeps_unknown
        self.marks: dict[object, IterMark] = {}
        self.shifted: dict[IterMark, IterMark] = {}
        self.overlapping: set[IterMark] = set()
        self.constraints = constraints_of(predicate, self.factors)

    def detect(self, indices: Sequence[tir.PrimExpr]) -> tuple[IterSumExpr, ...]:
        """Return each index as a sum of at most one split; raises NotIterMap if the map lacks the required property."""
        sums = tuple([self.fused(self.parse(index)) for index in indices])
        if self.level is not IterMapLevel.NO_CHECK:
            self._check(indices, sums, self.level is IterMapLevel.BIJECTIVE)
        return sums

    def _check(self, indices: Sequence[tir.PrimExpr], sums: Sequence[IterSumExpr], is_bijective: bool) -> None:
        parts = parts_of(sums, self.shifted)
        for mark, splits in parts.items():
            check_parts(self.factors, mark, splits, is_bijective)
        used = {mark.variable for mark in parts}
        for variable, domain in self.factors.iters.items() if is_bijective else ():
            if variable not in used and not is_one(self.factors.visit(domain.extent)):
                raise NotIterMap(f"iterator '{variable.name}' is not used")
        bounded = {key for key, mark in self.marks.items() if isinstance(key, Constraint) and mark in parts}
        if not all(item in bounded or self._is_apart(item, indices) for item in self.constraints):
            raise NotIterMap("a predicate bounds iterators that are used on their own")

    def _is_apart(self, constraint: Constraint, indices: Sequence[tir.PrimExpr]) -> bool:
        """Return whether a constraint bounds only iterators that nothing else uses, and certainly holds for a value of them."""
        others = [term for other in self.constraints if other is not constraint for term in other.terms]
        used = {node for value in (*indices, *others) for node in walk(value) if isinstance(node, tir.Var)}
        if any(node in used and node in self.factors.iters for term in constraint.terms for node in walk(term)):
            return False
        mark, _ = self._constrained(constraint, next(iter(constraint.terms)).dtype)
        return self.factors.at_most(self.factors.number(1, mark.extent), mark.extent)

    # --- Parsing ----------------------------------------------------------------------------------------------------

    def parse(self, index: tir.PrimExpr) -> IterSumExpr:
        """Return an index as a sum of splits, not yet fused."""
        return self._parse_sum(self.factors.read(index), index.dtype, self.constraints)

    def _parse_sum(self, value: Sum, dtype: str, constraints: Sequence[Constraint]) -> IterSumExpr:
        f, terms = self.factors, dict(value.terms)
        base = f.simplifier.constant(value.constant, dtype)
        splits: list[IterSplitExpr] = []
        for constraint in reversed(constraints):
            scale = _scale_of(constraint, terms)
            if scale is not None:
                for term in constraint.terms:
                    del terms[term]
                mark, offset = self._constrained(constraint, dtype)
                factor = f.simplifier.constant(scale, dtype)
                splits.append(IterSplitExpr(mark, f.number(1, base), mark.extent, factor))
                base = f.plus(base, f.times(offset, factor))
        for term, factor in terms.items():
            part = self._parse_term(term, f.simplifier.constant(factor, dtype))
            splits += [split for split in part.args if self.keeps_trivial or not is_one(split.extent)]
            base = f.plus(base, part.base)
        return IterSumExpr(tuple(splits), base)

    def _constrained(self, constraint: Constraint, dtype: str) -> tuple[IterMark, tir.PrimExpr]:
        """Return the mark of a sum that a predicate bounds, and the minimum of the sum."""
        f = self.factors
        smaller = self.constraints[: self.constraints.index(constraint)]
        whole = self.fused(self._parse_sum(Sum(constraint.terms), dtype, smaller))
        if not whole.args or not is_one(whole.args[0].scale):
            raise NotIterMap("a predicate bounds a sum that has gaps or is constant")
        end = f.plus(whole.base, whole.args[0].extent)
        low, high = tighter(f, tir.Max, constraint.low, whole.base), tighter(f, tir.Min, constraint.high, end)
        assert low is not None
        assert high is not None
        if f.at_most(high, low):
            raise NotIterMap("a predicate never holds")
        found = self.marks.get(constraint)
        if found is None:
            found = self.marks[constraint] = self._bounded(whole, low, high)
        return found, low

    def _bounded(self, whole: IterSumExpr, low: tir.PrimExpr, high: tir.PrimExpr) -> IterMark:
        """Return the mark of a fused sum that starts at `low`; if the sum is a whole mark, the new mark fuses the same parts."""
        (split,) = whole.args
        base, parts = whole.base, whole.args
        is_all = is_one(split.lower_factor) and split.extent is split.source.extent
        if is_all and isinstance(split.source.source, IterSumExpr):
            base, parts = self.factors.plus(base, split.source.source.base), split.source.source.args
        found = IterMark(IterSumExpr(parts, self.factors.minus(base, low)), self.factors.minus(high, low))
        if is_all and split.source in self.overlapping:
            self.overlapping.add(found)
        return found

    def _parse_term(self, term: tir.PrimExpr, scale: tir.PrimExpr) -> IterSumExpr:
        """Return `scale * term` as a sum of splits."""
        f = self.factors
        if not f.uses_iters(term):
            return IterSumExpr((), f.times(term, scale))
        try:
            match term:
                case tir.Var():
                    domain = f.iters[term]
                    extent, start = f.visit(domain.extent), f.visit(domain.min)
                    source = term if is_zero(start) else tir.Sub(term.dtype, term, start)
                    mark = self.marks.setdefault(term, IterMark(source, extent))
                    return IterSumExpr((IterSplitExpr(mark, f.number(1, scale), extent, scale),), f.times(start, scale))
                case tir.Mul():
                    return self._parse_product(term, scale)
                case tir.FloorDiv() | tir.FloorMod() if not f.uses_iters(term.b):
                    return self._parse_division(term, scale)
                case tir.Cast(value=value) if _keeps_index(value.dtype, term.dtype):
                    return self._parse_term(value, f.visit(tir.Cast(value.dtype, scale)))
                case _:
                    raise NotIterMap("an index is neither a sum, a quotient nor a remainder of iterators")
        except NotIterMap:
            if self.keeps_unknown:
                return IterSumExpr((), f.times(term, scale))
            raise

    def _parse_product(self, term: tir.Mul, scale: tir.PrimExpr) -> IterSumExpr:
        parts = factors(term)
        varying = [part for part in parts if self.factors.uses_iters(part)]
        if len(varying) > 1:
            raise NotIterMap("iterators are multiplied with each other")
        for part in parts:
            scale = scale if part is varying[0] else self.factors.times(scale, part)
        inner = self.parse(varying[0])
        splits = [
            IterSplitExpr(arg.source, arg.lower_factor, arg.extent, self.factors.times(arg.scale, scale))
            for arg in inner.args
        ]
        return IterSumExpr(tuple(splits), self.factors.times(inner.base, scale))

    def _parse_division(self, term: tir.FloorDiv | tir.FloorMod, scale: tir.PrimExpr) -> IterSumExpr:
        """Return a quotient, a remainder, or a remainder of a quotient as one split."""
        f, lower, upper, inner = self.factors, self.factors.number(1, scale), None, term
        if isinstance(term, tir.FloorDiv):
            lower, inner = term.b, term.a
        if isinstance(inner, tir.FloorMod) and not f.uses_iters(inner.b):
            upper, inner = inner.b, inner.a
            if not f.divides(lower, upper):
                raise NotIterMap("a remainder is divided by a factor that does not divide its modulus")
        if any(isinstance(divisor, tir.IntImm) and divisor.value <= 0 for divisor in (lower, upper)):
            raise NotIterMap("a divisor is not positive")
        whole = self.fused(self.parse(inner))
        if not whole.args or not is_one(whole.args[0].scale):
            raise NotIterMap("a dividend has gaps")
        (split,), base = whole.args, whole.base
        if upper is not None:
            start = f.beyond(base, upper)
            if f.at_most(f.plus(start, split.extent), upper):
                upper, base = None, start
        start = f.beyond(base, lower if upper is None else upper)
        extent = f.quotient(f.plus(start, split.extent) if upper is None else upper, lower)
        rest = f.times(f.over(base, lower), scale) if upper is None else f.number(0, scale)
        return IterSumExpr((self._part_of(split, start, lower, extent, scale),), rest)

    def _part_of(
        self, whole: IterSplitExpr, start: tir.PrimExpr, lower: tir.PrimExpr, extent: tir.PrimExpr, scale: tir.PrimExpr
    ) -> IterSplitExpr:
        """Return `(whole + start) // lower % extent * scale`: a split of the same mark if it is aligned with `whole`."""
        f = self.factors
        if is_zero(start) and f.divides(f.times(lower, extent), whole.extent):
            return IterSplitExpr(whole.source, f.times(whole.lower_factor, lower), extent, scale)
        return IterSplitExpr(self._starting(self._mark_of(whole), start), lower, extent, scale)

    def _mark_of(self, split: IterSplitExpr) -> IterMark:
        """Return the mark that equals a split."""
        if is_one(split.lower_factor) and split.extent is split.source.extent:
            return split.source
        key = (split.source, split.lower_factor, split.extent)
        whole = IterSumExpr((split,), self.factors.number(0, split.scale))
        return self.marks.setdefault(key, IterMark(whole, split.extent))

    def _starting(self, mark: IterMark, start: tir.PrimExpr) -> IterMark:
        """Return the mark that is another mark plus `start`."""
        if is_zero(start):
            return mark
        if self.level is not IterMapLevel.SURJECTIVE and not self.keeps_unknown:
            raise NotIterMap("a dividend does not start at zero")
        key = (mark, start)
        if key not in self.marks:
            whole = IterSplitExpr(mark, self.factors.number(1, start), mark.extent, self.factors.number(1, start))
            self.marks[key] = IterMark(IterSumExpr((whole,), start), self.factors.plus(start, mark.extent))
            self.shifted[self.marks[key]] = mark
        return self.marks[key]

    # --- Fusing -----------------------------------------------------------------------------------------------------

    def fused(self, value: IterSumExpr) -> IterSumExpr:
        """Return a sum of at most one split, of a mark that fuses the splits of `value`."""
        f = self.factors
        if len(value.args) <= 1:
            return value
        units = [split for split in value.args if is_one(split.extent)]
        long = self._combined([split for split in value.args if split not in units])
        if len(long) == 1 and not units:
            return IterSumExpr(tuple(long), value.base)
        ordered, is_overlapping = self._chain(long) if long else (units[:1], False)
        first = ordered[0].scale
        for split in units if long else units[1:]:
            ordered.insert(sum(not f.at_most(split.scale, item.scale) for item in ordered), split)
        extent = f.number(1, first)
        parts = [IterSplitExpr(p.source, p.lower_factor, p.extent, f.over(p.scale, first)) for p in ordered]
        for part in parts:
            extent = self._longer(extent, part) if is_overlapping else f.times(extent, part.extent)
        key = frozenset((part.source, part.lower_factor, part.extent, part.scale) for part in parts)
        mark = self.marks.setdefault(key, IterMark(IterSumExpr(tuple(reversed(parts)), f.number(0, first)), extent))
        if is_overlapping:
            self.overlapping.add(mark)
        return IterSumExpr((IterSplitExpr(mark, f.number(1, first), extent, first),), value.base)

    def _combined(self, splits: list[IterSplitExpr]) -> list[IterSplitExpr]:
        """Return the splits after merging those that are adjacent both in their mark and in the sum."""
        f = self.factors
        for low in splits:
            end, step = f.times(low.lower_factor, low.extent), f.times(low.scale, low.extent)
            for high in splits:
                if high.source is low.source and high.lower_factor is end and high.scale is step:
                    extent = f.times(low.extent, high.extent)
                    both = IterSplitExpr(low.source, low.lower_factor, extent, low.scale)
                    return self._combined([both if split is low else split for split in splits if split is not high])
        return splits

    def _chain(self, splits: Sequence[IterSplitExpr]) -> tuple[list[IterSplitExpr], bool]:
        """Return the splits by ascending scale, and whether they overlap: whether a scale is less than the extent of the splits
        below it.
        """
        f = self.factors
        for first in splits:
            rest, chain = [split for split in splits if split is not first], [first]
            end = f.times(first.scale, first.extent)
            while rest and (following := next((split for split in rest if split.scale is end), None)) is not None:
                end = f.times(following.scale, following.extent)
                rest.remove(following)
                chain.append(following)
            if not rest:
                return chain, False
        if self.level is IterMapLevel.SURJECTIVE:
            chain = self._overlapping_chain(list(splits))
            if chain is not None:
                return chain, True
        raise NotIterMap("the iterators in a sum overlap, or leave gaps")

    def _longer(self, extent: tir.PrimExpr, split: IterSplitExpr) -> tir.PrimExpr:
        """Return the extent after adding `split`."""
        f = self.factors
        return f.plus(extent, f.times(f.minus(split.extent, f.number(1, extent)), split.scale))

    def _overlapping_chain(self, rest: list[IterSplitExpr]) -> list[IterSplitExpr] | None:
        """Return the splits by ascending scale, or None if a scale is not positive or exceeds the extent of those below it."""
        f, chain = self.factors, list[IterSplitExpr]()
        end = f.number(1, rest[0].scale)
        while rest:
            least = next((split for split in rest if all(f.at_most(split.scale, other.scale) for other in rest)), None)
            if least is None or not f.at_most(least.scale, end) or not f.at_most(f.number(1, end), least.scale):
                return None
            end = self._longer(end, least)
            rest.remove(least)
            chain.append(least)
        return chain


def _keeps_index(source: str, target: str) -> bool:
    """Return whether a cast keeps each index: all values fit, or both dtypes are those of indices, which do not overflow."""
    if not (is_int(source) and is_int(target)):
        return False
    (low, high), (least, most) = int_range(source), int_range(target)
    return (is_index(source) and is_index(target)) or (least <= low and high <= most)


def _scale_of(constraint: Constraint, terms: Mapping[tir.PrimExpr, int]) -> int | None:
    """Return the multiple of the constrained sum that is contained in the sum of `terms`, or None."""
    scales = {terms.get(term, 0) / factor for term, factor in constraint.terms.items()}
    scale = scales.pop()
    return int(scale) if not scales and scale and scale == int(scale) else None
