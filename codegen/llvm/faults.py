"""Faults of compiled code, and the record of an index out of bounds that belongs to each call of a kernel.

A kernel returns a status: 0, or the number of a `Fault`. The last argument of a kernel is the address of its
fault record, an array of 64-bit integers that is private to the call:

    [count, status, size of the dimension, index 0, index 1, …]

The caller sets the count to 0. A check that fails increments it atomically, and stores its operands if it was
the first, so that the threads of a call cannot mix their numbers. A record whose count is 0 is empty.
"""

from __future__ import annotations

from collections.abc import Sequence

from msgspec import Struct

from ...ir.base import Span
from ...ir.diagnostics import Diagnostic
from ...ir.interp.memory import BEYOND_HELP, beyond, outside
from .api import Builder, Value, ir
from .operators import number
from .types import I64, POINTER

MOST_DIMENSIONS = 16
"""Maximum number of indices in a record."""
RECORD_WORDS = 3 + MOST_DIMENSIONS
RECORD = ir.ArrayType(I64, RECORD_WORDS)


POSITION = -1
"""The `dimension` of a fault about the position of an element in its allocation."""


class Fault(Struct, frozen=True):
    """The meaning of a status: a code and a message or, if `rank` is not 0, an index out of bounds.

    For an index, `message` names the buffer, `rank` is the number of its indices, `unsigned` lists those of unsigned dtypes,
    and `dimension` is the one that is out of bounds. If `dimension` is `POSITION`, the record holds the position of the
    element instead of indices, as its low and its high 64 bits, and the extent of the allocation in elements.
    """

    code: str
    message: str
    span: Span | None = None
    rank: int = 0
    dimension: int = 0
    unsigned: tuple[int, ...] = ()

    def diagnostic(self, record: Sequence[int]) -> Diagnostic:
        """Return the diagnostic of this fault, with the indices in `record`."""
        if not self.rank:
            return Diagnostic(self.code, self.message, self.span)
        _, _, extent, *indices = record
        if self.dimension == POSITION:
            place = (indices[1] << 64) + indices[0] % 2**64
            return Diagnostic(self.code, beyond(self.message, place, extent), self.span, BEYOND_HELP)
        shown = [value % 2**64 if at in self.unsigned else value for at, value in enumerate(indices[: self.rank])]
        return Diagnostic(self.code, outside(self.message, shown, self.dimension, extent), self.span)


def emit_record(builder: Builder) -> Value:
    """Emit an empty record on the stack; return its address."""
    record = builder.alloca(RECORD)
    record.align, record.type = 8, POINTER
    builder.store(number(I64, 0), record)
    return record


def emit_claim(builder: Builder, record: Value, status: int, extent: Value, indices: Sequence[Value]) -> None:
    """Emit the stores of `status`, `extent` and `indices` into `record`, unless another thread was first."""
    count = builder.atomic_rmw("add", record, number(I64, 1), "monotonic")
    with builder.if_then(builder.icmp_unsigned("==", count, number(I64, 0))):
        for position, value in enumerate((number(I64, status), extent, *indices), 1):
            builder.store(value, builder.gep(record, [number(I64, position)], source_etype=I64))


def status_in(status: int, record: Sequence[int]) -> int:
    """Return the status to report: that of the fault in `record`, else the one that the kernel returned."""
    count, noted, *_ = record
    return noted if count else status
