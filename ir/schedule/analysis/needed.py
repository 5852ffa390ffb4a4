"""Iterations of a block that provide needed elements: its regions, solved for its iterators.

The domains are those of TVM (`src/tir/schedule/primitive/compute_at.cc`), so that the resulting loops look the same.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import reduce
from typing import TypeAlias

from msgspec import Struct

from ... import make, tir
from ...analysis.const_bounds import Domain
from ...analysis.iter_map import IterMapLevel, IterSumExpr, detect_iter_map
from ...analysis.iter_map_use import inverse_affine_iter_map
from ...analysis.proof import prove
from ...int_set import Interval, from_range, intersect, point, union
from ...simplify import Simplifier
from ..conditions import Condition, name_of

SOLVABLE = Condition(
    "E0577",
    "the accessed regions determine the iterations that the loop needs",
    "access one element at a time, at indices that determine the iterators",
)
Box: TypeAlias = Sequence[Interval]
Regions: TypeAlias = Mapping[tir.Buffer, Sequence[Box]]


class Facts:
    """Domains of the variables at a point of a program, and what follows from them."""

    def __init__(self, domains: Mapping[tir.Var, Domain]) -> None:
        self.domains = dict(domains)
        self._simplifier = Simplifier(domains)

    def learn(self, variable: tir.Var, domain: Domain) -> None:
        """Record the domain of a new variable."""
        self.domains[variable] = domain
        self._simplifier.bind(variable, domain)

    def simplify(self, expr: tir.PrimExpr) -> tir.PrimExpr:
        """Return `expr` in normal form."""
        return self._simplifier.run(expr)

    def prove(self, condition: tir.PrimExpr) -> bool:
        """Return whether `condition` is proven to hold."""
        short = self.simplify(condition)
        return bool(short.value) if isinstance(short, tir.IntImm) else prove(condition, self.domains).is_proven


class IteratorDomain(Struct, frozen=True):
    """Domain of an iterator, and the bound that a predicate must check. None: unknown domain, or no predicate."""

    domain: Interval | None = None
    bound: Interval | None = None

    def joined(self, other: IteratorDomain) -> IteratorDomain:
        """Return the union of both domains and of both bounds."""
        return IteratorDomain(_either(self.domain, other.domain), _either(self.bound, other.bound))

    def within(self, axis: tir.Range, facts: Facts) -> IteratorDomain:
        """Return this domain for an iterator over `axis`, without a redundant bound."""
        whole = from_range(axis.min, axis.extent)
        bound = _simplified(whole if self.bound is None else intersect(self.bound, whole), facts)
        if self.domain is None:
            return IteratorDomain(bound)
        domain = _simplified(self.domain, facts)
        both = _simplified(intersect(domain, bound), facts)
        if _same(domain, both, facts):
            return IteratorDomain(domain)
        if _same(bound, both, facts):
            return IteratorDomain(bound)
        if isinstance(both.min, tir.IntImm) and isinstance(both.max, tir.IntImm):
            return IteratorDomain(both)
        return IteratorDomain(domain, bound)


def needed_iterations(block: tir.Block, provided: Regions, required: Regions, facts: Facts) -> list[IteratorDomain]:
    """Return the domains of the iterators of `block` for which the `provided` regions cover all `required` ones.

    Refused if the domains cannot be derived (E0577).
    """
    found = {axis.var: IteratorDomain() for axis in block.iter_vars}
    for buffer, boxes in provided.items():
        if not required.get(buffer):
            continue
        one, all_of_it = _hull(boxes), _hull(required[buffer])
        solved = _solved_together(block, buffer, one, all_of_it, facts)
        if solved is None:
            solved = _solved_apart(block, buffer, one, all_of_it, facts)
        for variable, domain in solved:
            found[variable] = found[variable].joined(domain)
    return [found[axis.var].within(_domain_of(axis), facts) for axis in block.iter_vars]


def _domain_of(axis: tir.IterVar) -> tir.Range:
    assert axis.dom is not None, "iterators of blocks have domains"
    return axis.dom


def _either(a: Interval | None, b: Interval | None) -> Interval | None:
    return b if a is None else a if b is None else union(a, b)


def _hull(boxes: Sequence[Box]) -> Box:
    return [reduce(union, axes) for axes in zip(*boxes, strict=True)]


def _simplified(interval: Interval, facts: Facts) -> Interval:
    if interval.min is not None and interval.is_point:
        return point(facts.simplify(interval.min))
    return Interval(*[None if end is None else facts.simplify(end) for end in (interval.min, interval.max)])


def _same(a: Interval, b: Interval, facts: Facts) -> bool:
    return all(_equal(x, y, facts) for x, y in ((a.min, b.min), (a.max, b.max)))


def _equal(a: tir.PrimExpr | None, b: tir.PrimExpr | None, facts: Facts) -> bool:
    return a is b or (a is not None and b is not None and facts.prove(make.equal(a, b)))


def _span(buffer: tir.Buffer, axis: int) -> Interval:
    """Return the valid indices of a buffer along an axis."""
    extent = buffer.shape[axis]
    return Interval(make.const(0, extent.dtype), make.maximum(make.sub(extent, 1), make.const(0, extent.dtype)))


def _solved_together(
    block: tir.Block, buffer: tir.Buffer, one: Box, required: Box, facts: Facts
) -> list[tuple[tir.Var, IteratorDomain]] | None:
    """Return the domains if all indices together determine the iterators, one to one; None otherwise.

    TVM: `UpdateBlockVarDomainAffine`.
    """
    indices = [axis.min for axis in one if axis.min is not None and axis.is_point]
    if len(indices) != len(one) or any(axis.min is None or axis.max is None for axis in required):
        return None
    domains = {axis.var: _domain_of(axis) for axis in block.iter_vars}
    result = detect_iter_map(indices, domains, None, IterMapLevel.BIJECTIVE)
    if not result.is_detected:
        return None
    spans = [_span(buffer, axis) for axis in range(len(one))]
    found, bounds = _inverse(result.indices, required, facts), _inverse(result.indices, spans, facts)
    for index, wanted, span in zip(indices, required, spans, strict=True):
        if isinstance(index, tir.Var) and index in domains and index not in found:
            found[index], bounds[index] = wanted, span  # iter maps omit iterators of extent 1
    return [(variable, IteratorDomain(domain, bounds[variable])) for variable, domain in found.items()]


def _inverse(indices: Sequence[IterSumExpr], box: Box, facts: Facts) -> dict[tir.Var, Interval]:
    least = inverse_affine_iter_map(indices, [axis.min for axis in box if axis.min is not None])
    most = inverse_affine_iter_map(indices, [axis.max for axis in box if axis.max is not None])
    return {
        variable: _simplified(Interval(make.minimum(value, most[variable]), make.maximum(value, most[variable])), facts)
        for variable, value in least.items()
    }


def _solved_apart(
    block: tir.Block, buffer: tir.Buffer, one: Box, required: Box, facts: Facts
) -> list[tuple[tir.Var, IteratorDomain]]:
    """Return the domains, derived axis by axis (TVM: `UpdateBlockVarDomainDimwise`)."""
    own = {axis.var for axis in block.iter_vars}
    found: list[tuple[tir.Var, IteratorDomain]] = []
    for axis, (provided, wanted) in enumerate(zip(one, required, strict=True)):
        if not (provided.is_point and isinstance(provided.min, tir.IntImm)):
            solved = _solved(provided, wanted, _span(buffer, axis), facts)
            if solved is not None and solved[0] in own:
                found.append(solved)
                continue
        if not _same(provided, wanted, facts):
            reason = f"index {axis} of '{buffer.name}' does not determine the iterations of {name_of(block)}"
            raise SOLVABLE.refuse(reason, block)
    return found


def _solved(
    provided: Interval, required: Interval, span: Interval, facts: Facts
) -> tuple[tir.Var, IteratorDomain] | None:
    """Return the iterator in an index, and its domain if the index takes all values of `required`.

    TVM: `SolveBlockVarDomain`.
    """
    assert provided.min is not None
    assert provided.max is not None
    index = facts.simplify(provided.min)
    match index:
        case tir.Mul(a=tir.Var() as variable, b=factor) | tir.Mul(a=factor, b=tir.Var() as variable):
            return variable, IteratorDomain(_divided(required, factor, facts), _divided(span, factor, facts))
        case _ if not _equal(provided.min, provided.max, facts):
            return None
        case tir.Var():
            return index, IteratorDomain(required, span)
        case tir.FloorDiv(a=inner, b=factor) if facts.prove(make.greater_equal(factor, 1)):
            wanted = _multiplied(required, factor, facts)
            if isinstance(inner, tir.Var):
                return inner, IteratorDomain(wanted, _multiplied(span, factor, facts))
            return _solved(point(inner), wanted, span, facts)
        case tir.FloorMod(a=tir.Var() as variable):
            return variable, IteratorDomain()
        case tir.FloorMod(a=inner, b=factor):
            least = required.min
            if least is None or not facts.prove(
                make.logical_and(make.greater_equal(factor, 1), make.greater_equal(least, 0))
            ):
                return None
            return _solved(point(inner), Interval(least, None), span, facts)
        case _:
            return None


def _divided(interval: Interval, factor: tir.PrimExpr, facts: Facts) -> Interval:
    ends = [None if end is None else make.floordiv(end, factor) for end in (interval.min, interval.max)]
    return _simplified(Interval(*ends), facts)


def _multiplied(interval: Interval, factor: tir.PrimExpr, facts: Facts) -> Interval:
    """Return the values whose floor quotient by `factor` lies in `interval`."""
    least = None if interval.min is None else make.mul(interval.min, factor)
    most = None if interval.max is None else make.sub(make.add(make.mul(interval.max, factor), factor), 1)
    return _simplified(Interval(least, most), facts)
