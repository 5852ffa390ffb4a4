"""The law of memory: it has no negative size.

E0426: a constant extent of memory or of a buffer that is negative.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from .. import tir
from ..base import Node
from .subject import Subject


def check_sizes(subject: Subject) -> None:
    """Check the constant extents of parameters and of what is allocated."""
    for name, extents, place in _memory(subject):
        for extent in extents:
            if isinstance(extent, tir.IntImm) and extent.value < 0:
                subject.report.add("E0426", f"'{name}' has the extent {extent.value}", place, "an extent is 0 or more")


def _memory(subject: Subject) -> Iterator[tuple[str, Sequence[tir.PrimExpr], Node]]:
    """Yield the name, the extents and the place of each."""
    for buffer in subject.function.buffer_map.values():
        yield buffer.name, buffer.shape, buffer
    for node in subject.nodes:
        match node:
            case tir.Allocate() | tir.AllocateConst():
                yield node.buffer_var.name, node.extents, node if node.span is not None else node.buffer_var
            case tir.Block(alloc_buffers=buffers):
                yield from ((buffer.name, buffer.shape, buffer) for buffer in buffers)
            case _:
                pass
