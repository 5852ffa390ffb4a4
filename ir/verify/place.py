"""The place of a statement: the loops, conditions and blocks around it, as a chain of steps."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import cached_property
from typing import TypeAlias

from msgspec import Struct

from .. import tir

Access: TypeAlias = tir.BufferLoad | tir.BufferStore


class Iterate(Struct, frozen=True, eq=False):
    """A loop, or a launch of threads: `var` takes every value in `domain`, which may depend on outer variables."""

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
    """An unknown condition on the execution of the statement: data, or a loop without a bound."""

    condition: tir.PrimExpr | None = None


UNKNOWN = Unknown()
Step: TypeAlias = Iterate | Where | Inside | Unknown


class Facts(Struct, frozen=True, eq=False):
    """The facts at a place: the ranges of loop variables, and conditions."""

    domains: Mapping[tir.Var, tir.Range]
    conditions: tuple[tir.PrimExpr, ...]
    is_certain: bool


MAX_CONDITIONS = 64
"""Maximum number of recorded conditions of a place. If there are more, it is not certain that the place is reached."""


class ProgramPoint:
    """A step, and the place before it. The empty place is the start of the function."""

    __slots__ = ("__dict__", "conditions", "is_certain", "parent", "sole_doubt", "step")

    def __init__(self, parent: ProgramPoint | None = None, step: Step | None = None) -> None:
        self.parent = parent
        self.step = step
        self.is_certain: bool = not isinstance(step, Unknown) and (parent is None or parent.is_certain)
        """Whether no step is unknown."""
        self.sole_doubt: Unknown | None = None if parent is None else parent.sole_doubt
        """The step that is unknown, if there is exactly one."""
        if isinstance(step, Unknown):
            self.sole_doubt = step if parent is None or parent.is_certain else None
        self.conditions: int = isinstance(step, Where) + (0 if parent is None else parent.conditions)
        """Number of recorded conditions."""

    def then(self, step: Step) -> ProgramPoint:
        """Return the place after `step`."""
        if isinstance(step, Where) and self.conditions == MAX_CONDITIONS:
            step = UNKNOWN
        is_known = isinstance(step, Unknown) and not self.is_certain and self.sole_doubt is None
        return self if is_known else ProgramPoint(self, step)

    def steps(self) -> Iterator[Step]:
        """Yield the steps to this place, the innermost first."""
        place: ProgramPoint | None = self
        while place is not None:
            if place.step is not None:
                yield place.step
            place = place.parent

    @cached_property
    def facts(self) -> Facts:
        """The facts at this place."""
        steps = list(self.steps())
        domains = {step.var: step.domain for step in reversed(steps) if isinstance(step, Iterate)}
        return Facts(domains, tuple([step.condition for step in steps if isinstance(step, Where)]), self.is_certain)

    @cached_property
    def block(self) -> tir.BlockRealize | None:
        """The innermost surrounding block, or None."""
        return next((step.realize for step in self.steps() if isinstance(step, Inside)), None)


class Element(Struct, frozen=True, eq=False):
    """An element of memory that may be accessed through several buffers: its index in a buffer of the whole memory."""

    buffer: tir.Buffer
    indices: tuple[tir.PrimExpr, ...]


class AccessSite(Struct, frozen=True, eq=False):
    """An access and its place."""

    node: Access
    place: ProgramPoint
    in_init: bool = False
    """Whether the access is in a block's T.init."""
    element: Element | None = None

    @property
    def buffer(self) -> tir.Buffer:
        """The buffer by which the access is compared with others."""
        return self.node.buffer if self.element is None else self.element.buffer

    @property
    def indices(self) -> tuple[tir.PrimExpr, ...]:
        """The indices in `buffer`."""
        return tuple(self.node.indices) if self.element is None else self.element.indices


class BlockSite(Struct, frozen=True, eq=False):
    """A block and its place: where its predicate holds, but outside of its own step."""

    node: tir.BlockRealize
    place: ProgramPoint


class MatchSite(Struct, frozen=True, eq=False):
    """A matched buffer and the place of its block."""

    node: tir.MatchBufferRegion
    place: ProgramPoint
