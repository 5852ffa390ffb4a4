"""Handles of blocks, loops and numbers, which stay valid while the program changes."""

from __future__ import annotations

from enum import Enum
from typing import TypeAlias

from msgspec import Struct

from .. import tir
from ..base import Span


class Origin(Struct, frozen=True):
    """Origin of a handle: the primitive that created it, the role of the result, and the call."""

    primitive: str
    role: str
    """Role of the result, such as "the inner loop of" or "loop 3 of"."""
    place: Span | str | None = None
    """Position of the call in a text, or "tune.py:31" in Python."""
    is_query: bool = False
    """Whether the primitive only looked it up."""

    def __str__(self) -> str:
        place = self.place
        if isinstance(place, Span):
            place = f"line {place.source.text.count(chr(10), 0, place.start) + 1}"
        return f"{self.role} the {self.primitive}" + (f" at {place}" if place else "")


_UNKNOWN = Origin("trace", "a handle in")
"""Origin of a handle that a program made for an instruction of its own."""


class _StatementRV(Struct, frozen=True, eq=False, weakref=True):
    """Handle of a block or loop of the scheduled program."""

    origin: Origin = _UNKNOWN

    def same_as(self, other: object) -> bool:
        """Return whether `other` is this handle."""
        return self is other


class BlockRV(_StatementRV, frozen=True, eq=False, weakref=True):
    """Handle of a block of the scheduled program (TVM: `tvm.tir.schedule.BlockRV`)."""


class LoopRV(_StatementRV, frozen=True, eq=False, weakref=True):
    """Handle of a loop of the scheduled program (TVM: `tvm.tir.schedule.LoopRV`)."""


class ExprRV(tir.Var, frozen=True, eq=False):
    """Handle of an integer that the schedule chose, such as a tile size; expressions may use it (TVM: `ExprRV`)."""


class ComputeLocation(Enum):
    """Results of `sample_compute_location` that are not loops; a handle of a loop refers to them."""

    INLINE = "where its consumers are"
    ROOT = "where it stands"


Handle: TypeAlias = BlockRV | LoopRV | ExprRV
Value: TypeAlias = tir.Block | tir.For | ComputeLocation | tir.IntImm
"""Value of a handle in the current program."""
