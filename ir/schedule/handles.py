"""Handles: what a schedule calls the blocks, loops and numbers it works on, however the program changes."""

from __future__ import annotations

from enum import Enum
from typing import TypeAlias

from msgspec import Struct

from .. import tir
from ..base import Span


class Origin(Struct, frozen=True):
    """Where a handle came from: the primitive that made it, which of its results it is, and where that was called."""

    primitive: str
    role: str
    """Such as "the inner loop of" or "loop 3 of"."""
    place: Span | str | None = None
    """The call in a text, or "tune.py:31" in Python."""
    is_query: bool = False
    """Whether the primitive only looked it up."""

    def __str__(self) -> str:
        place = self.place
        if isinstance(place, Span):
            place = f"line {place.source.text.count(chr(10), 0, place.start) + 1}"
        return f"{self.role} the {self.primitive}" + (f" at {place}" if place else "")


class BlockRV(Struct, frozen=True, eq=False, weakref=True):
    """A block of the program being scheduled (TVM: `tvm.tir.schedule.BlockRV`)."""

    origin: Origin


class LoopRV(Struct, frozen=True, eq=False, weakref=True):
    """A loop of the program being scheduled (TVM: `tvm.tir.schedule.LoopRV`)."""

    origin: Origin


class ExprRV(tir.Var, frozen=True, eq=False):
    """An integer that the schedule chose, such as a tile size; it may stand in expressions (TVM: `ExprRV`)."""


class ComputeLocation(Enum):
    """What `sample_compute_location` may choose besides loops; the handle of a loop stands for it."""

    INLINE = "where its consumers are"
    ROOT = "where it stands"


Handle: TypeAlias = BlockRV | LoopRV | ExprRV
Value: TypeAlias = tir.Block | tir.For | ComputeLocation | tir.IntImm
"""What a handle stands for in the program as it is."""
