"""Which element of its memory an access reaches, so that accesses through different buffers can be compared.

V = T.decl_buffer((3, 3), data=A.data)        V[i, j] is element 3 * i + j of the memory of A
M = T.match_buffer(A[vi : vi + 2], (2,))      M[1] is A[vi + 1]
p = T.address_of(A[1])                        element 0 of a buffer with data=p is A[1]
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TypeAlias

from msgspec import Struct
from msgspec.structs import replace

from .. import make, tir
from ..base import Op
from ..buffers import may_overlap, strides_of
from ..dtype import element_bytes
from ..index_dtype import computed_in_int64
from ..simplify import simplify
from .affine import is_affine
from .place import AccessSite, Element

_Pointer: TypeAlias = tuple[tir.Var, tir.PrimExpr | None]
"""The memory that a pointer points into, and its position there in bytes; None if that is unknown."""


class _Accessed(Struct, frozen=True):
    """An access, the memory it reaches, and the byte at which its element begins there; None if that is unknown."""

    site: AccessSite
    memory: tir.Var
    position: tir.PrimExpr | None


def with_elements(
    sites: Sequence[AccessSite],
    matches: Sequence[tir.MatchBufferRegion],
    pointers: Mapping[tir.Var, tir.PrimExpr],
    resolve: Callable[[tir.PrimExpr], tir.PrimExpr],
) -> list[AccessSite]:
    """Return the accesses; those of memory that is not accessed through one buffer alone, each of whose indices denotes an element of
    its own, know their element of that memory, if it is quasi-affine.

    `matches` are the matched buffers, `pointers` the values of pointers.
    """
    views = _Views(matches, pointers)
    plain = not matches and not pointers
    buffers: dict[tir.Var, set[tir.Buffer]] = {}
    for site in sites:
        buffers.setdefault(site.node.buffer.data, set()).add(site.node.buffer)
    if plain and not any(len(found) > 1 or any(map(may_overlap, found)) for found in buffers.values()):
        return list(sites)
    accessed = [views.of(site) for site in sites]
    by_memory: dict[tir.Var, list[_Accessed]] = {}
    for access in accessed:
        by_memory.setdefault(access.memory, []).append(access)
    units = {memory: _unit(found) for memory, found in by_memory.items()}
    return [_placed(access, units[access.memory], resolve) for access in accessed]


def _unit(found: Sequence[_Accessed]) -> tuple[tir.Buffer, int] | None:
    """Return the buffer of whole elements by which accesses of one memory are compared, and their size in bytes; None if they
    are compared by their own buffers.
    """
    used = list(dict.fromkeys(access.site.node.buffer for access in found))
    sizes = {element_bytes(buffer.dtype) for buffer in used}
    is_own = len(used) == 1 and used[0].data is found[0].memory and not may_overlap(used[0])
    if is_own or len(sizes) > 1:
        return None
    return tir.Buffer(found[0].memory, used[0].dtype, (), found[0].memory.name, scope=used[0].scope), sizes.pop()


def _placed(
    access: _Accessed, unit: tuple[tir.Buffer, int] | None, resolve: Callable[[tir.PrimExpr], tir.PrimExpr]
) -> AccessSite:
    if unit is None or access.position is None:
        return access.site
    buffer, size = unit
    index = simplify(make.floordiv(access.position, make.const(size, "int64")))
    rest = simplify(make.floormod(access.position, make.const(size, "int64")))
    if not (isinstance(rest, tir.IntImm) and rest.value == 0) or not is_affine(resolve(index)):
        return access.site
    return replace(access.site, element=Element(buffer, (index,)))


def _wide(index: tir.PrimExpr) -> tir.PrimExpr:
    """Return an index in int64, so that equal elements have equal indices."""
    return computed_in_int64(index) if is_affine(index) else make.cast(index, "int64")


class _Views:
    """The memory that buffers and pointers denote a part of."""

    def __init__(self, matches: Sequence[tir.MatchBufferRegion], pointers: Mapping[tir.Var, tir.PrimExpr]) -> None:
        self._matches = {match.buffer.data: match for match in matches}
        self._pointers = pointers

    def of(self, site: AccessSite) -> _Accessed:
        memory, position = self._element(site.node.buffer, site.node.indices)
        return _Accessed(site, memory, position)

    def _element(self, buffer: tir.Buffer, indices: Sequence[tir.PrimExpr]) -> _Pointer:
        match, steps = self._matches.get(buffer.data), strides_of(buffer)
        if len(steps) != len(indices):  # refused at another level
            return buffer.data, None
        if match is not None and match.buffer is buffer and len(match.source.region) >= len(indices):
            region = match.source.region
            leading = len(region) - len(indices)
            starts = [axis.min for axis in region[leading:]]
            inner = [make.add(start, index) for start, index in zip(starts, indices, strict=True)]
            return self._element(match.source.buffer, [*(axis.min for axis in region[:leading]), *inner])
        memory, start = self._pointer(buffer.data)
        if start is None or any("x" in index.dtype for index in indices):
            return memory, None
        place = make.const(0, "int64") if buffer.elem_offset is None else make.cast(buffer.elem_offset, "int64")
        for index, stride in zip(indices, steps, strict=True):
            place = make.add(place, make.mul(_wide(index), stride))
        return memory, make.add(start, make.mul(place, make.const(element_bytes(buffer.dtype), "int64")))

    def _pointer(self, data: tir.Var) -> _Pointer:
        match = self._matches.get(data)
        if match is not None:
            return self._element(match.source.buffer, [axis.min for axis in match.source.region])
        value = self._pointers.get(data)
        if value is None:
            return data, make.const(0, "int64")
        return self._value(value) or (data, None)

    def _value(self, value: tir.PrimExpr) -> _Pointer | None:
        match value:
            case tir.Var():
                return self._pointer(value)
            case tir.Call(op=Op(name="tir.reinterpret"), args=(tir.PrimExpr() as pointer,)):
                return self._value(pointer)
            case tir.Call(op=Op(name="tir.address_of"), args=(tir.BufferLoad(buffer=buffer, indices=indices),)):
                return self._element(buffer, indices)
            case tir.Call(
                op=Op(name="tir.handle_add_byte_offset"), args=(tir.PrimExpr() as base, tir.PrimExpr() as count)
            ):
                found = self._value(base)
                if found is None or found[1] is None:
                    return found
                return found[0], make.add(found[1], make.cast(count, "int64"))
            case _:
                return None
