"""Mutators under TVM's names (`tvm.meta_schedule.mutator`): each returns a trace with one other decision of a kind of draw.

The decisions are those by which the tuner's search changes schedules (`candidates`). The search itself chooses among all draws.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Collection, Iterator
from random import Random
from typing import Any

from ...ir.schedule.instruction import Instruction
from ...ir.schedule.trace import Trace
from .candidates import has_choice, mutated

__all__ = [
    "MutateComputeLocation",
    "MutateThreadBinding",
    "MutateTileSize",
    "MutateUnroll",
    "Mutator",
    "PyMutator",
]  # fmt: skip
_UNROLLED = ("meta_schedule.unroll_explicit", "meta_schedule.unroll_implicit")
_FETCHED = ("meta_schedule.cooperative_fetch",)


class Mutator(ABC):
    """A mutator; subclasses define `apply` (TVM: `Mutator`, `PyMutator`)."""

    @abstractmethod
    def apply(self, trace: Trace) -> Trace | None:
        """Return a mutated trace; None if the mutator finds nothing to change."""
        ...

    def clone(self) -> Mutator:
        """Return the mutator itself, which searches can share."""
        return self


PyMutator = Mutator


class _MutateDraw(Mutator):
    """Takes another decision for one of the instructions that a subclass chooses."""

    def __init__(self) -> None:
        self._random = Random(0)

    @abstractmethod
    def chosen(self, trace: Trace) -> Iterator[Instruction]:
        """Yield the instructions of which one is mutated."""
        ...

    def apply(self, trace: Trace) -> Trace | None:
        """See `Mutator`."""
        found = [inst for inst in self.chosen(trace) if has_choice(inst)]
        if not found:
            return None
        inst = self._random.choice(found)
        decision = mutated(inst, self._random)
        return None if decision is None else trace.with_decision(inst, decision)


class MutateTileSize(_MutateDraw):
    """Moves a prime factor from one level of a tile to another, or takes another number of elements that are fetched together (TVM:
    `MutateTileSize`).
    """

    def chosen(self, trace: Trace) -> Iterator[Instruction]:
        """See `_MutateDraw`."""
        yield from (inst for inst in trace.insts if inst.primitive.name == "sample_perfect_tile")
        yield from _annotated(trace, _FETCHED)


class MutateUnroll(_MutateDraw):
    """Takes another drawn limit of unrolling (TVM: `MutateUnroll`)."""

    def chosen(self, trace: Trace) -> Iterator[Instruction]:
        """See `_MutateDraw`."""
        return _annotated(trace, _UNROLLED)


class MutateComputeLocation(_MutateDraw):
    """Takes another loop at which a block is computed (TVM: `MutateComputeLocation`)."""

    def chosen(self, trace: Trace) -> Iterator[Instruction]:
        """See `_MutateDraw`."""
        return (inst for inst in trace.insts if inst.primitive.name == "sample_compute_location")


class MutateThreadBinding(_MutateDraw):
    """Takes another drawn number of threads: a factor of a loop that is bound to `threadIdx.x` (TVM: `MutateThreadBinding`)."""

    def chosen(self, trace: Trace) -> Iterator[Instruction]:
        """See `_MutateDraw`."""
        bound = {
            inst.arguments["loop"]
            for inst in trace.insts
            if inst.primitive.name == "bind" and inst.arguments["thread_axis"] == "threadIdx.x"
        }
        factors = [
            factor
            for inst in trace.insts
            if inst.primitive.name == "split"
            for loop, factor in zip(inst.results, inst.arguments["factors"], strict=True)
            if loop in bound
        ]
        return _categories(trace, factors)


def _annotated(trace: Trace, keys: Collection[str]) -> Iterator[Instruction]:
    """Yield the draws of numbers that become annotations with one of some keys."""
    values = [
        inst.arguments["ann_val"]
        for inst in trace.insts
        if inst.primitive.name == "annotate" and inst.arguments["ann_key"] in keys
    ]
    return _categories(trace, values)


def _categories(trace: Trace, values: Collection[Any]) -> Iterator[Instruction]:
    """Yield the draws from candidates whose result is one of `values`."""
    return (
        inst
        for inst in trace.insts
        if inst.primitive.name == "sample_categorical" and any(inst.results is value for value in values)
    )
