"""Regions of buffers: the boxes that they span over loops, and proofs of containment, disjointness and covering."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from functools import reduce

from msgspec import Struct

from .. import tir
from ..deep import deep
from ..idioms import is_one
from ..int_set import Interval, cover, eval_set, from_range, union
from ..simplify import Simplifier
from ..visit import walk
from .const_bounds import Domains, ends
from .iter_map import IterMapLevel, detect_iter_map
from .iter_marks import IterSplitExpr, IterSumExpr
from .proof import Proof, Verdict, prove

TRUE = tir.IntImm("bool", 1)


class RegionSet(Struct, frozen=True):
    """The union of a region over all values of the variables in `domains` for which `conditions` hold."""

    region: tuple[tir.Range, ...]
    domains: Mapping[tir.Var, tir.Range] = {}
    conditions: tuple[tir.PrimExpr, ...] = ()


def relaxed(region: Sequence[tir.Range], shape: Sequence[tir.PrimExpr], domains: Domains) -> tuple[tir.Range, ...]:
    """Return the smallest known box that contains `region` for all values of the variables in `domains`.

    If the span of an axis is unknown, it is the whole axis of the buffer, of `shape` (TVM: `EstimateRegionUpperBound`).
    """
    intervals = {v: d if isinstance(d, Interval) else from_range(d.min, d.extent) for v, d in domains.items()}
    spans = [eval_set(from_range(axis.min, axis.extent), intervals) for axis in region]
    return tuple([_in_normal_form(cover(span, extent)) for span, extent in zip(spans, shape, strict=True)])


def hull(regions: Sequence[Sequence[tir.Range]], shape: Sequence[tir.PrimExpr]) -> tuple[tir.Range, ...]:
    """Return the smallest box around all of `regions`, which must not be empty."""
    boxes = [[from_range(axis.min, axis.extent) for axis in region] for region in regions]
    spans = reduce(lambda a, b: [union(x, y) for x, y in zip(a, b, strict=True)], boxes)
    return tuple([_in_normal_form(cover(span, extent)) for span, extent in zip(spans, shape, strict=True)])


def _in_normal_form(axis: tir.Range) -> tir.Range:
    simplifier = Simplifier()
    return tir.Range(simplifier.visit(axis.min), simplifier.visit(axis.extent))


def span_of(index: tir.PrimExpr) -> tir.Range:
    """Return the range of one index of an access: one element, or from the first to the last lane."""
    match index:
        case tir.Ramp(base=base, stride=tir.IntImm(value=stride), lanes=tir.IntImm(value=lanes)) if stride > 0:
            return tir.Range(base, tir.IntImm(base.dtype, stride * (lanes - 1) + 1))
        case tir.Broadcast(value=value):
            return span_of(value)
        case _:
            return tir.Range(index, tir.IntImm(index.dtype, 1))


def _past(axis: tir.Range) -> tir.PrimExpr:
    return tir.Add(axis.min.dtype, axis.min, axis.extent)


def all_of(conditions: Sequence[tir.PrimExpr]) -> tir.PrimExpr:
    """Return the conjunction of `conditions`."""
    return reduce(lambda a, b: tir.And("bool", a, b), conditions, TRUE)


def meeting(a: Sequence[tir.Range], b: Sequence[tir.Range]) -> list[tir.PrimExpr]:
    """Return the conditions under which two boxes intersect."""
    pairs = list(zip(a, b, strict=True))
    return [
        condition for x, y in pairs for condition in (tir.LT("bool", x.min, _past(y)), tir.LT("bool", y.min, _past(x)))
    ]


def lies_in(
    inner: Sequence[tir.Range],
    outer: Sequence[tir.Range],
    domains: Domains | None = None,
    given: Sequence[tir.PrimExpr] = (),
) -> Proof:
    """Prove that the box `inner` lies in `outer` for all values of their variables."""
    inside = [
        condition
        for x, y in zip(inner, outer, strict=True)
        for condition in (tir.LE("bool", y.min, x.min), tir.LE("bool", _past(x), _past(y)))
    ]
    return prove(all_of(inside), domains, given)


def are_disjoint(
    a: Sequence[tir.Range],
    b: Sequence[tir.Range],
    domains: Domains | None = None,
    given: Sequence[tir.PrimExpr] = (),
) -> Proof:
    """Prove that the boxes `a` and `b` never intersect."""
    return prove(tir.Not("bool", all_of(meeting(a, b))), domains, given)


@deep
def is_covered(wanted: RegionSet, by: Sequence[RegionSet], shared: Domains | None = None) -> Proof:
    """Prove that the union of `by` contains every element of `wanted`, for all values of other variables.

    Exact if regions and conditions are quasi-affine; `shared` bounds the variables that are common to all places. Other
    expressions of free variables have one unknown value. UNKNOWN if that does not suffice, or if it costs too much.
    """
    from . import affine

    if any(_fills(place, wanted) for place in by):
        return Proof(Verdict.PROVEN, reason="its indices take all values")
    try:
        missing = _uncovered(wanted, by, shared or {})
    except affine.GaveUp:
        return Proof(Verdict.UNKNOWN, reason="it is too large to decide, or not quasi-affine")
    if missing is None:
        return Proof(Verdict.PROVEN, reason="it follows from linear arithmetic")
    return Proof(Verdict.REFUTED, missing, "an element is not covered")


def _fills(place: RegionSet, wanted: RegionSet) -> bool:
    """Return whether the elements of a place, whose loops have constant extents, fill a box of constant size: the common case of tiles, which
    needs no general decision.
    """
    if wanted.domains or wanted.conditions or not all(map(is_one, place.conditions)):
        return False
    sizes = [(axis.min, axis.extent) for axis in (*wanted.region, *place.domains.values())]
    if not all(isinstance(end, tir.IntImm) for ends_of_axis in sizes for end in ends_of_axis):
        return False
    if any(isinstance(domain.extent, tir.IntImm) and domain.extent.value < 1 for domain in place.domains.values()):
        return False
    indices = [axis.min for axis in place.region]
    if not all(isinstance(axis.extent, tir.IntImm) and axis.extent.value == 1 for axis in place.region):
        return False
    if any(isinstance(node, tir.BufferLoad | tir.Call) for index in indices for node in walk(index)):
        return False
    found = detect_iter_map(indices, place.domains, None, IterMapLevel.SURJECTIVE)
    return found.is_detected and all(map(_fills_axis, found.indices, wanted.region))


def _fills_axis(values: IterSumExpr, axis: tir.Range) -> bool:
    assert isinstance(axis.min, tir.IntImm)
    assert isinstance(axis.extent, tir.IntImm)
    match values.base, values.args:
        case tir.IntImm(value=base), ():
            return base == axis.min.value and axis.extent.value <= 1
        case tir.IntImm(value=base), (IterSplitExpr(scale=tir.IntImm(value=1), extent=tir.IntImm(value=extent)),):
            return base <= axis.min.value and axis.min.value + axis.extent.value <= base + extent
        case _:
            return False


def _uncovered(wanted: RegionSet, by: Sequence[RegionSet], shared: Domains) -> dict[tir.Var, int] | None:
    """Return values of the free variables for which an element of `wanted` is in no place of `by`; None if there are none.

    A variable is free unless it is in the domains of a place. Raises `affine.GaveUp`.
    """
    from . import affine

    places = (wanted, *by)
    own = {variable for place in places for variable in place.domains}
    free = list(dict.fromkeys([*shared, *[v for place in places for v in _variables(place) if v not in own]]))
    coordinates = [tir.Var("int64", f"axis{axis}") for axis in range(len(wanted.region))]
    simplifier = Simplifier()
    of_place = [list(map(simplifier.visit, _conditions(place, coordinates, shared))) for place in places]
    asked = [condition for conditions in of_place for condition in conditions]
    inside = {*own, *coordinates}
    common = [leaf for leaf in affine.unknowns(simplifier, asked) if _has_one_value(leaf, inside)]
    with affine.bounded():
        kept = [*free, *coordinates, *common]
        missing = affine.points(simplifier, of_place[0], kept)
        for conditions in of_place[1:]:
            if missing.is_empty():
                break
            missing = missing - affine.points(simplifier, conditions, kept)
        if missing.is_empty():
            return None
        if common:
            raise affine.GaveUp
        values = affine.sample(missing, [*free, *coordinates])
    return {variable: values[variable] for variable in free}


def _has_one_value(expr: tir.PrimExpr, inside: Collection[tir.Var]) -> bool:
    """Return whether an expression, such as `x // n`, has the same value at all places: it reads no variable of `inside`, and
    no memory.
    """
    return not any(node in inside or isinstance(node, tir.BufferLoad | tir.Call) for node in walk(expr))


def _variables(place: RegionSet) -> list[tir.Var]:
    parts = [*place.conditions, *[end for axis in place.region for end in (axis.min, axis.extent)]]
    parts += [end for domain in place.domains.values() for end in (domain.min, domain.extent)]
    return [node for part in parts for node in walk(part) if isinstance(node, tir.Var)]


def _conditions(place: RegionSet, coordinates: Sequence[tir.Var], shared: Domains) -> list[tir.PrimExpr]:
    """Return the conditions under which the coordinates belong to an element of a place."""
    found = list(place.conditions)
    for variable, domain in (*shared.items(), *place.domains.items()):
        least, most, slack = ends(domain)
        if least is not None:
            found.append(tir.LE("bool", least, variable))
        if most is not None:
            found.append(tir.LE("bool", variable, tir.Add(most.dtype, most, tir.IntImm(most.dtype, slack))))
    for axis, coordinate in zip(place.region, coordinates, strict=True):
        low, extent = tir.Cast("int64", axis.min), tir.Cast("int64", axis.extent)
        found.append(tir.LE("bool", low, coordinate))
        found.append(tir.LT("bool", coordinate, tir.Add("int64", low, extent)))
    return found
