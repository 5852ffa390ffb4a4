"""Sets of integers, and bounds of regions (TVM: `tvm.arith.int_set`)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from ... import tir
from ...analysis.touched import strict_bound, upper_bound
from ...deep import deep
from ...int_set import Interval, evaluate, touch, union
from ...te.expr import Value, operand
from .values import Domain, condition_of, ranges_of, variable_of

_POSITIVE, _NEGATIVE = [tir.Var("handle", name) for name in ("pos_inf", "neg_inf")]


def pos_inf() -> tir.PrimExpr:
    """Return the variable that represents no upper bound; always the same object."""
    return _POSITIVE


def neg_inf() -> tir.PrimExpr:
    """Return the variable that represents no lower bound; always the same object."""
    return _NEGATIVE


class IntervalSet:
    """The integers from `min_value` to `max_value`, inclusive; empty if these are `pos_inf()` and `neg_inf()`."""

    def __init__(self, min_value: Value, max_value: Value) -> None:
        self.min_value = operand(min_value)
        self.max_value = operand(max_value)

    @staticmethod
    def of(interval: Interval | None) -> IntervalSet:
        """Return an `Interval` as an IntervalSet; None is the empty set."""
        if interval is None:
            return IntervalSet(_POSITIVE, _NEGATIVE)
        least = _NEGATIVE if interval.min is None else interval.min
        return IntervalSet(least, _POSITIVE if interval.max is None else interval.max)

    @staticmethod
    def single_point(point: Value) -> IntervalSet:
        """Return the set of one integer."""
        return IntervalSet(point, point)

    @staticmethod
    def vector(vec: Value) -> IntervalSet:
        """Return a set that contains all lanes of a vector."""
        return IntervalSet.of(evaluate(operand(vec), {}))

    @property
    def interval(self) -> Interval:
        """The set as an `Interval`, whose ends may be missing; ValueError for the empty set."""
        if self.is_nothing():
            raise ValueError("the empty set is not an interval")
        least = None if self.min_value.same_as(_NEGATIVE) else self.min_value
        return Interval(least, None if self.max_value.same_as(_POSITIVE) else self.max_value)

    def is_nothing(self) -> bool:
        """Whether the set is empty."""
        return self.min_value.same_as(_POSITIVE) or self.max_value.same_as(_NEGATIVE)

    def is_everything(self) -> bool:
        """Whether the set is unbounded on both sides."""
        return self.min_value.same_as(_NEGATIVE) and self.max_value.same_as(_POSITIVE)

    def __repr__(self) -> str:
        return f"IntervalSet[{self.min_value}, {self.max_value}]"


IntSet = IntervalSet
"""TVM's base class of integer sets; all sets are intervals here."""


def intervals_of(sets: Mapping[tir.PrimExpr, IntervalSet]) -> dict[tir.Var, Interval]:
    """Return the intervals of variables."""
    return {variable_of(name): set_.interval for name, set_ in sets.items()}


def union_lower_bound(sets: Sequence[IntervalSet]) -> IntervalSet:
    """Return the smallest interval around `sets`, skipping each set that does not touch the union of those before it."""
    joined: Interval | None = None
    for set_ in sets:
        if set_.is_nothing():
            continue
        if joined is None:
            joined = set_.interval
        elif touch(joined, set_.interval):
            joined = union(joined, set_.interval)
    return IntervalSet.of(joined)


def estimate_region_lower_bound(
    region: Sequence[tir.Range], var_dom: Mapping[tir.PrimExpr, Domain], predicate: Value | None = None
) -> list[IntervalSet] | None:
    """Return a box whose elements are all in `region` for some values of the variables that satisfy `predicate`.

    None if none is found.
    """
    return estimate_region_strict_bound(region, var_dom, predicate)


@deep
def estimate_region_strict_bound(
    region: Sequence[tir.Range], var_dom: Mapping[tir.PrimExpr, Domain], predicate: Value | None = None
) -> list[IntervalSet] | None:
    """Return the box that is the union of `region` over all values of the variables that satisfy `predicate`; None if the
    union is not known to be a box.
    """
    found = strict_bound(region, ranges_of(var_dom), condition_of(predicate))
    return None if found is None else [IntervalSet.of(axis) for axis in found]


@deep
def estimate_region_upper_bound(
    region: Sequence[tir.Range], var_dom: Mapping[tir.PrimExpr, Domain], predicate: Value | None = None
) -> list[IntervalSet]:
    """Return a box that contains `region` for all values of the variables that satisfy `predicate`."""
    return [IntervalSet.of(axis) for axis in upper_bound(region, ranges_of(var_dom), condition_of(predicate))]
