"""The law of memory: it has no negative size, and a matched buffer fits its region.

E0426: a constant extent of memory or of a buffer that is negative · E0427: a matched buffer whose dimensions or strides
are not those of its region.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from .. import tir
from ..base import Node
from .report import count
from .subject import Subject


def check_sizes(subject: Subject) -> None:
    """Check the constant extents of parameters and of what is allocated."""
    for name, extents, place in _memory(subject):
        for extent in extents:
            if isinstance(extent, tir.IntImm) and extent.value < 0:
                subject.report.add("E0426", f"'{name}' has the extent {extent.value}", place, "an extent is 0 or more")


def check_matched_shapes(subject: Subject) -> None:
    """Check the dimensions, and the constant extents and strides, of matched buffers against those of their regions."""
    for node in subject.nodes:
        if isinstance(node, tir.Block):
            for match in node.match_buffers:
                reason = _mismatch(match)
                if reason is not None:
                    message = f"matched buffer '{match.buffer.name}' {reason}"
                    help = "declare the shape of the region, and no strides of your own"
                    subject.report.add("E0427", message, match if match.span is not None else match.buffer, help)


def _mismatch(match: tir.MatchBufferRegion) -> str | None:
    buffer, source = match.buffer, match.source.buffer
    rank, axes = len(buffer.shape), len(match.source.region)
    if rank > axes:
        return f"has {count(rank, 'dimension')}, but its region of '{source.name}' has {axes}"
    if buffer.strides and len(buffer.strides) != rank:
        return f"has {count(rank, 'dimension')}, but {count(len(buffer.strides), 'stride')}"
    extents = [part.extent for part in match.source.region[axes - rank :]]
    strides = (source.strides or _compact(source.shape))[axes - rank :]
    for what, declared, actual in (("extent", buffer.shape, extents), ("stride", buffer.strides, strides)):
        for axis, (said, found) in enumerate(zip(declared, actual, strict=False)):
            if isinstance(said, tir.IntImm) and isinstance(found, tir.IntImm) and said.value != found.value:
                return (
                    f"has {what} {said.value} in dimension {axis}, but its region of '{source.name}' has {found.value}"
                )
    return None


def _compact(shape: Sequence[tir.PrimExpr]) -> tuple[tir.PrimExpr | None, ...]:
    """Return the strides of a row-major buffer; None for those that are not constant."""
    strides: list[tir.PrimExpr | None] = [tir.IntImm("int64", 1)]
    for extent in reversed(shape[1:]):
        last = strides[-1]
        if isinstance(extent, tir.IntImm) and isinstance(last, tir.IntImm):
            strides.append(tir.IntImm("int64", extent.value * last.value))
        else:
            strides.append(None)
    return tuple(reversed(strides))


def _memory(subject: Subject) -> Iterator[tuple[str, Sequence[tir.PrimExpr], Node]]:
    """Yield the name, the extents and the place of each."""
    for buffer in subject.function.buffer_map.values():
        yield buffer.name, buffer.shape, buffer
    for node in subject.of_kinds(tir.Allocate, tir.AllocateConst, tir.Block):
        if isinstance(node, tir.Block):
            yield from ((buffer.name, buffer.shape, buffer) for buffer in node.alloc_buffers)
        else:
            yield node.buffer_var.name, node.extents, node if node.span is not None else node.buffer_var
