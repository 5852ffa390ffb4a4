"""Index maps: their effect on a shape, their inverse, and their padding.

A map takes the elements of a box to positions in another one. If a divisor in the map does not divide an extent, or
an index is shifted before a division, some positions belong to no element: the padding.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import reduce
from math import lcm

from msgspec import Struct

from ... import make, tir
from ...analysis.iter_map import IterMapLevel, IterSumExpr, detect_iter_map
from ...analysis.iter_map_use import inverse_affine_iter_map
from ...analysis.proof import prove
from ...int_set import eval_set, from_range
from ...simplify import simplify
from ...visit import substitute, walk
from .loops import widest_dtype

_FALSE = tir.IntImm("bool", 0)


class Inverse(Struct, frozen=True):
    """Inverse of a map: the index of each element in terms of `places`, the indices of a position, and the condition
    under which a position is padding.
    """

    places: tuple[tir.Var, ...]
    elements: tuple[tir.PrimExpr, ...]
    padding: tir.PrimExpr

    @property
    def has_padding(self) -> bool:
        return not (isinstance(self.padding, tir.IntImm) and not self.padding.value)


class _Axis(Struct, frozen=True):
    """Index of the element, expressed by its distance, `variable`, from the start of a padded axis."""

    index: tir.Var
    variable: tir.Var
    start: int
    """Position of the first element."""
    extent: tir.PrimExpr
    unit: int
    """Least common multiple of all divisors; the length of the padded axis is a multiple of it."""

    @property
    def element(self) -> tir.PrimExpr:
        return simplify(make.sub(self.variable, self.start))

    @property
    def end(self) -> tir.PrimExpr:
        return simplify(make.add(self.extent, self.start))

    @property
    def domain(self) -> tir.Range:
        unit = self.unit
        padded = simplify(make.mul(make.ceildiv(self.end, unit), unit)) if unit > 1 else self.end
        return tir.Range(make.const(0, self.variable.dtype), padded)

    def padding(self, value: tir.PrimExpr) -> Iterator[tir.PrimExpr]:
        """Yield the conditions under which `value`, that of the variable, is in the padding around the elements.

        They are as in TVM's `PadDividendToDivisor`, so that they are short in terms of positions.
        """
        quotient, remainder = make.floordiv(value, self.unit), make.floormod(value, self.unit)
        if self.start:
            yield make.logical_and(make.equal(quotient, 0), make.less(remainder, self.start))
        if not prove(make.equal(self.end, self.domain.extent)).is_proven:
            last = make.equal(quotient, make.floordiv(self.end, self.unit))
            yield make.logical_and(last, make.greater_equal(remainder, make.floormod(self.end, self.unit)))


def map_indices(
    index_map: tir.IndexMap, indices: Sequence[tir.PrimExpr], domains: Mapping[tir.Var, tir.Range] | None = None
) -> tuple[tir.PrimExpr, ...]:
    """Return the image of an index (TVM: `IndexMap.map_indices`), simplified for variables in `domains`."""
    values = dict(zip(index_map.initial_indices, indices, strict=True))
    return tuple([shortened(substitute(final_index, values), domains) for final_index in index_map.final_indices])


def shortened(index: tir.PrimExpr, domains: Mapping[tir.Var, tir.Range] | None = None) -> tir.PrimExpr:
    """Return an index in normal form; a variable stays, even if it has only one value."""
    return index if isinstance(index, tir.Var) else simplify(index, domains)


def map_shape(index_map: tir.IndexMap, shape: Sequence[tir.PrimExpr]) -> tuple[tir.PrimExpr, ...] | None:
    """Return the image of a shape (TVM: `IndexMap.map_shape`); None if it would need negative positions."""
    axes = _axes(index_map, shape)
    shifted, domains = _shifted(index_map, axes), {axis.variable: axis.domain for axis in axes}
    found = detect_iter_map(shifted, domains, None, IterMapLevel.NO_CHECK)
    if found.is_detected:
        spans = [(index.base, _length(index)) for index in found.indices]
    else:
        intervals = {variable: from_range(domain.min, domain.extent) for variable, domain in domains.items()}
        sets = [eval_set(from_range(expr, make.const(1, expr.dtype)), intervals) for expr in shifted]
        spans = [(set_.min, None if set_.max is None else make.add(make.sub(set_.max, set_.min), 1)) for set_ in sets if set_.min is not None]  # fmt: skip
    dtype = widest_dtype(*shape) if shape else "int32"
    sizes = [simplify(make.cast(size, dtype)) for low, size in spans if size is not None and _is_zero(low)]
    return tuple(sizes) if len(sizes) == len(shifted) else None


def inverse(index_map: tir.IndexMap, shape: Sequence[tir.PrimExpr]) -> Inverse | None:
    """Return the inverse of a map on the elements of `shape`; None if the map is not known to be injective.

    TVM's `IndexMap.non_surjective_inverse` assumes that it is.
    """
    axes = _axes(index_map, shape)
    sizes = map_shape(index_map, shape)
    if sizes is None:
        return None
    places = tuple([tir.Var(final_index.dtype, f"axis{at}") for at, final_index in enumerate(index_map.final_indices)])
    bounds = {place: tir.Range(make.const(0, place.dtype), size) for place, size in zip(places, sizes, strict=True)}
    shifted, domains = _shifted(index_map, axes), {axis.variable: axis.domain for axis in axes}
    found = detect_iter_map(shifted, domains, None, IterMapLevel.BIJECTIVE)
    if not found.is_detected:
        return _proven_inverse(index_map, shape, places, bounds)
    values = inverse_affine_iter_map(found.indices, places)
    padding: list[tir.PrimExpr] = []
    elements: list[tir.PrimExpr] = []
    for axis in axes:
        value = values.get(axis.variable, _own_place(index_map, axis.index, places))
        padding.extend(axis.padding(value))
        elements.append(shortened(make.sub(value, axis.start) if axis.start else value, bounds))
    return Inverse(places, tuple(elements), _any(padding, bounds))


def _proven_inverse(
    index_map: tir.IndexMap,
    shape: Sequence[tir.PrimExpr],
    places: tuple[tir.Var, ...],
    bounds: Mapping[tir.Var, tir.Range],
) -> Inverse | None:
    """Return the inverse if it can be derived and proven."""
    domains = {
        index: tir.Range(make.const(0, index.dtype), extent)
        for index, extent in zip(index_map.initial_indices, shape, strict=True)
    }
    found = detect_iter_map(index_map.final_indices, domains, None, IterMapLevel.NO_CHECK)
    if not found.is_detected:
        return None
    values = inverse_affine_iter_map(found.indices, places)
    there = dict(zip(places, index_map.final_indices, strict=True))
    elements: list[tir.PrimExpr] = []
    outside: list[tir.PrimExpr] = []
    for index, extent in zip(index_map.initial_indices, shape, strict=True):
        value = values.get(index, _own_place(index_map, index, places))
        if not prove(make.equal(substitute(value, there), index), domains).is_proven:
            return None
        elements.append(shortened(value, bounds))
        outside.append(make.logical_not(make.less(value, extent)))
    return Inverse(places, tuple(elements), _any(outside, bounds))


def _own_place(index_map: tir.IndexMap, index: tir.Var, places: Sequence[tir.Var]) -> tir.PrimExpr:
    """Return the value of an index that is always 0: its own position if it has one, or else 0."""
    own = [place for place, final in zip(places, index_map.final_indices, strict=True) if final is index]
    return own[0] if own else make.const(0, index.dtype)


def is_one_to_one(index_map: tir.IndexMap, shape: Sequence[tir.PrimExpr]) -> bool:
    """Return whether a map of `shape` is bijective, so that there is no padding."""
    undone, sizes = inverse(index_map, shape), map_shape(index_map, shape)
    if undone is None or sizes is None or undone.has_padding:
        return False
    count, places = (reduce(make.mul, term, make.const(1)) for term in (shape, sizes))
    return prove(make.equal(count, places)).is_proven


def _axes(index_map: tir.IndexMap, shape: Sequence[tir.PrimExpr]) -> list[_Axis]:
    axes: list[_Axis] = []
    for index, extent in zip(index_map.initial_indices, shape, strict=True):
        divisions = [division for final in index_map.final_indices for division in _divisions(final, index)]
        unit = lcm(1, *[divisor for _, divisor in divisions])
        starts = {shift % unit for shift, _ in divisions}
        start = starts.pop() if len(starts) == 1 else 0
        axes.append(_Axis(index, tir.Var(index.dtype, index.name), start, extent, unit))
    return axes


def _divisions(index: tir.PrimExpr, variable: tir.Var) -> Iterator[tuple[int, int]]:
    """Yield the offset and the divisor of each division of the variable plus an offset."""
    for node in walk(index):
        if isinstance(node, tir.FloorDiv | tir.FloorMod) and isinstance(node.b, tir.IntImm):
            dividend, divisor = node.a, node.b.value
            while isinstance(dividend, tir.FloorDiv) and isinstance(dividend.b, tir.IntImm):
                dividend, divisor = dividend.a, divisor * dividend.b.value
            shift = simplify(make.sub(dividend, variable))
            if isinstance(shift, tir.IntImm) and divisor > 0:
                yield shift.value, divisor


def _shifted(index_map: tir.IndexMap, axes: Sequence[_Axis]) -> list[tir.PrimExpr]:
    values = {axis.index: axis.element for axis in axes}
    domains = {axis.variable: axis.domain for axis in axes}
    return [simplify(substitute(final_index, values), domains) for final_index in index_map.final_indices]


def _length(index: IterSumExpr) -> tir.PrimExpr:
    """Return the length of the range of a fused index."""
    return make.mul(index.args[0].extent, index.args[0].scale) if index.args else make.const(1, index.base.dtype)


def _is_zero(value: tir.PrimExpr) -> bool:
    return isinstance(simplify(value), tir.IntImm) and prove(make.equal(value, 0)).is_proven


def _any(conditions: Sequence[tir.PrimExpr], domains: Mapping[tir.Var, tir.Range]) -> tir.PrimExpr:
    return simplify(reduce(make.logical_or, conditions, _FALSE), domains)
