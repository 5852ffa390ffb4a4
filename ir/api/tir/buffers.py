"""Methods of buffers in Python programs: pointers and positions (TVM: `tvm.tir.Buffer`)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ... import buffers, tir
from ...dtype import MAX_LANES
from ...simplify import simplify
from ...te.expr import operand

_READ_WRITE = {"r": 1, "w": 2, "rw": 3, "wr": 3}


def access_ptr(
    buffer: tir.Buffer, access_mask: int | str, ptr_type: str, content_lanes: int, offset: Any, extent: Any
) -> tir.Call:
    """Return a pointer to a buffer. Raises ValueError for an unknown kind of access or number of lanes."""
    mask = _READ_WRITE.get(access_mask) if isinstance(access_mask, str) else access_mask
    if mask is None:
        raise ValueError(f"access_ptr: expected 'r', 'w' or 'rw', got {access_mask!r}")
    if not 1 <= content_lanes <= MAX_LANES:
        raise ValueError(f"access_ptr: expected 1 to {MAX_LANES} lanes, got {content_lanes}")
    index = buffers.index_dtype(buffer.shape)
    length = None if extent is None else operand(extent, index)
    return buffers.access_ptr(buffer, mask, ptr_type, content_lanes, operand(offset, index), length)


def offset_of(buffer: tir.Buffer, indices: Sequence[Any]) -> tuple[tir.PrimExpr, ...]:
    """Return the position of an element, simplified."""
    nodes = [operand(index, buffers.index_dtype(buffer.shape)) for index in indices]
    return tuple(map(simplify, buffers.offset_of(buffer, nodes)))
