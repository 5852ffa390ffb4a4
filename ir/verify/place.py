"""Where a statement stands: the loops, conditions and blocks on the way to it, as a chain of steps."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import cached_property
from typing import TypeAlias

from msgspec import Struct

from .. import tir

Access: TypeAlias = tir.BufferLoad | tir.BufferStore


class Iterate(Struct, frozen=True, eq=False):
    """A loop, or threads that are launched: `var` takes every value in `domain`, which is in terms of outer ones."""

    var: tir.Var
    domain: tir.Range
    loop: tir.For | tir.AttrStmt


class Where(Struct, frozen=True, eq=False):
    """A condition that holds, quasi-affine in loop variables and parameters."""

    condition: tir.PrimExpr


class Inside(Struct, frozen=True, eq=False):
    """The body of a block."""

    realize: tir.BlockRealize


class Unknown(Struct, frozen=True, eq=False):
    """Something else decides whether, or how often, the statement is reached: data, or a loop without a bound."""


UNKNOWN = Unknown()
Step: TypeAlias = Iterate | Where | Inside | Unknown


class Facts(Struct, frozen=True, eq=False):
    """What holds at a place: the ranges of loop variables, and conditions."""

    domains: Mapping[tir.Var, tir.Range]
    conditions: tuple[tir.PrimExpr, ...]
    is_certain: bool


MAX_CONDITIONS = 64
"""How many conditions are known at a place. Further ones are not: then it is not certain that the place is reached."""


class Place:
    """A step, and the place before it. The empty place is the start of the function."""

    __slots__ = ("__dict__", "conditions", "is_certain", "parent", "step")

    def __init__(self, parent: Place | None = None, step: Step | None = None) -> None:
        self.parent = parent
        self.step = step
        self.is_certain: bool = not isinstance(step, Unknown) and (parent is None or parent.is_certain)
        """Whether nothing on the way is unknown."""
        self.conditions: int = isinstance(step, Where) + (0 if parent is None else parent.conditions)
        """How many there are on the way."""

    def then(self, step: Step) -> Place:
        """Return the place after one more step."""
        if isinstance(step, Where) and self.conditions == MAX_CONDITIONS:
            step = UNKNOWN
        return self if isinstance(step, Unknown) and not self.is_certain else Place(self, step)

    def steps(self) -> Iterator[Step]:
        """Yield the steps to here, the innermost first."""
        place: Place | None = self
        while place is not None:
            if place.step is not None:
                yield place.step
            place = place.parent

    @cached_property
    def facts(self) -> Facts:
        """What holds here."""
        steps = list(self.steps())
        domains = {step.var: step.domain for step in reversed(steps) if isinstance(step, Iterate)}
        return Facts(domains, tuple([step.condition for step in steps if isinstance(step, Where)]), self.is_certain)

    @cached_property
    def block(self) -> tir.BlockRealize | None:
        """The innermost block around, or None."""
        return next((step.realize for step in self.steps() if isinstance(step, Inside)), None)


class Site(Struct, frozen=True, eq=False):
    """An access and its place."""

    node: Access
    place: Place
    in_init: bool = False
    """Whether it stands in a block's T.init."""


class BlockSite(Struct, frozen=True, eq=False):
    """A block and its place: outside its own step, where its predicate holds."""

    node: tir.BlockRealize
    place: Place


class MatchSite(Struct, frozen=True, eq=False):
    """A matched buffer and the place of its block."""

    node: tir.MatchBufferRegion
    place: Place
