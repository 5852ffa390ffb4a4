"""Whether a union of regions covers a region, decided on sets of elements."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from .. import tir
from ..simplify import Simplifier
from ..visit import walk
from .affine import bounded, points, sample
from .const_bounds import Domains, ends

if TYPE_CHECKING:
    import islpy as isl

    from .regions import Place


def uncovered(wanted: Place, by: Sequence[Place], shared: Domains) -> dict[tir.Var, int] | None:
    """Return values of the free variables for which an element of `wanted` is in no place of `by`; None if there are none.

    A variable is free unless it is in the domains of a place. Raises `affine.GaveUp`.
    """
    places = (wanted, *by)
    own = {variable for place in places for variable in place.domains}
    free = list(dict.fromkeys([*shared, *[v for place in places for v in _variables(place) if v not in own]]))
    coordinates = [tir.Var("int64", f"axis{axis}") for axis in range(len(wanted.region))]
    simplifier = Simplifier()
    with bounded():

        def of(place: Place) -> isl.Set:
            conditions = list(map(simplifier.visit, _conditions(place, coordinates, shared)))
            return points(simplifier, conditions, [*free, *coordinates])

        missing = of(wanted)
        for each in by:
            if missing.is_empty():
                break
            missing = missing - of(each)
        if missing.is_empty():
            return None
        values = sample(missing, [*free, *coordinates])
    return {variable: values[variable] for variable in free}


def _variables(place: Place) -> list[tir.Var]:
    parts = [*place.conditions, *[end for axis in place.region for end in (axis.min, axis.extent)]]
    parts += [end for domain in place.domains.values() for end in (domain.min, domain.extent)]
    return [node for part in parts for node in walk(part) if isinstance(node, tir.Var)]


def _conditions(place: Place, coordinates: Sequence[tir.Var], shared: Domains) -> list[tir.PrimExpr]:
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
