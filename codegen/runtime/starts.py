"""The declared offsets of arguments (`elem_offset`): arrays start at their first element, so that the offsets must be 0."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, TypeAlias

from ...ir import tir
from ...ir.diagnostics import error
from .sizes import Size, Slots, compile_size
from .specs import ArgumentContext

Starts: TypeAlias = list[tuple[Size, ArgumentContext]]


def compile_starts(source: tir.PrimFunc, places: Sequence[ArgumentContext], slots: Slots) -> Starts:
    """Return the symbolic offsets of the buffers of a function, and the places of their arguments; E0606 for a constant one that is
    not 0.
    """
    found: Starts = []
    for param, place in zip(source.params, places, strict=True):
        buffer = source.buffer_map.get(param)
        if buffer is None or buffer.elem_offset is None:
            continue
        offset = buffer.elem_offset
        if not isinstance(offset, tir.IntImm):
            found.append((compile_size(offset, slots), place))
        elif offset.value != 0:
            raise error("E0606", f"argument '{buffer.name}' cannot start at element {offset.value}", buffer.span)
    return found


def check_starts(starts: Starts, frame: Sequence[Any]) -> list[Any]:
    """Return the frame with 0 for the variables that no argument determines; E0706 if an offset is not 0 then."""
    known = [0 if size is None else size for size in frame]
    for offset, place in starts:
        if offset(known):
            raise place.fault("E0706", "it starts at element 0, but its buffer declares another elem_offset")
    return known
