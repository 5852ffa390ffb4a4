"""The law of sizes: they are integers and not negative, and a matched buffer fits its region.

E0406: an extent, a stride or an offset that is not an integer · E0426: a negative constant extent of memory or of a
buffer · E0427: a matched buffer whose dimensions or strides differ from those of its region.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from .. import tir
from ..base import Node
from ..diagnostics import count
from ..dtype import is_bool, is_int, is_vector
from .subject import Subject


def check_sizes(subject: Subject) -> None:
    """Check the extents of parameters and allocations, and the strides and offsets of buffers."""
    for name, extents, place in _memory(subject):
        for number, size in enumerate((*extents, *_layout(place))):
            if not (is_int(size.dtype) or is_bool(size.dtype)) or is_vector(size.dtype):
                what = "an extent" if number < len(extents) else "a stride or the offset"
                subject.report.add("E0406", f"{what} of '{name}' is {size.dtype}, not an integer", place)
        for extent in extents:
            if isinstance(extent, tir.IntImm) and extent.value < 0:
                subject.report.add(
                    "E0426", f"'{name}' has the extent {extent.value}", place, "give an extent of at least 0"
                )


def _layout(place: Node) -> tuple[tir.PrimExpr, ...]:
    if not isinstance(place, tir.Buffer):
        return ()
    return place.strides if place.elem_offset is None else (*place.strides, place.elem_offset)


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
    """Return the strides of a row-major buffer; None for strides that are not constant."""
    strides: list[tir.PrimExpr | None] = [tir.IntImm("int64", 1)]
    for extent in reversed(shape[1:]):
        last = strides[-1]
        if isinstance(extent, tir.IntImm) and isinstance(last, tir.IntImm):
            strides.append(tir.IntImm("int64", extent.value * last.value))
        else:
            strides.append(None)
    return tuple(reversed(strides))


def _memory(subject: Subject) -> Iterator[tuple[str, Sequence[tir.PrimExpr], Node]]:
    """Yield the name, the extents and the source position of each."""
    for buffer in subject.function.buffer_map.values():
        yield buffer.name, buffer.shape, buffer
    for node in subject.of_kinds(tir.Allocate, tir.AllocateConst, tir.DeclBuffer, tir.Block):
        if isinstance(node, tir.DeclBuffer):
            yield node.buffer.name, node.buffer.shape, node.buffer
        elif isinstance(node, tir.Block):
            matched = [match.buffer for match in node.match_buffers]
            yield from ((buffer.name, buffer.shape, buffer) for buffer in (*node.alloc_buffers, *matched))
        else:
            yield node.buffer_var.name, node.extents, node if node.span is not None else node.buffer_var
