"""Evaluation of buffers: allocation, views, loads and stores."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import prod
from typing import TypeAlias

from .. import tir
from ..base import Node
from ..diagnostics import TvmsError
from ..dtype import is_vector, lanes_of, parse_dtype
from ..numpy_dtype import numpy_dtype
from .expressions import Expression, compile_all, compile_expr, meaning_of
from .frame import Access, Frame, fault
from .memory import BEYOND_HELP, Pointer, View, beyond, outside
from .observer import is_observed
from .scalars import Value, constant, decoder

Position: TypeAlias = Callable[[Frame, View], int]

_TRUE = tir.IntImm("bool", 1)
MOST_BYTES = 2**63 - 1
"""Maximum size of memory that sizes can express."""


def compile_view(buffer: tir.Buffer) -> Callable[[Frame], View]:
    """Return a function that creates the view of `buffer` on the memory of its data variable; the frame keeps those of constant shape.

    E0704 if its number of strides differs from its rank; E0712 if its dtype cannot be stored.
    """
    if parse_dtype(buffer.dtype).code in ("handle", "void") or parse_dtype(buffer.dtype).bits > 64:
        raise fault("E0712", f"'{buffer.name}' has elements of dtype {buffer.dtype}, which memory cannot hold", buffer)
    if buffer.strides and len(buffer.strides) != len(buffer.shape):
        said = f"'{buffer.name}' has {len(buffer.shape)} dimensions, but {len(buffer.strides)} strides"
        raise fault("E0704", said, buffer)
    data, shape = compile_expr(buffer.data), compile_all(buffer.shape)
    strides = compile_all(buffer.strides)
    offset = compile_expr(tir.IntImm("int32", 0) if buffer.elem_offset is None else buffer.elem_offset)

    def view(frame: Frame) -> View:
        return View(memory_of(data(frame), buffer), buffer.dtype, shape(frame), strides(frame), offset(frame))

    fields = (*buffer.shape, *buffer.strides, buffer.elem_offset)
    if not all(field is None or isinstance(field, tir.IntImm) for field in fields):
        return view

    def kept(frame: Frame) -> View:
        pointer, known = data(frame), frame.views.get(buffer)
        if known is None or known[0] is not pointer:
            known = frame.views[buffer] = pointer, view(frame)
        return known[1]

    return kept


def memory_of(value: Value, node: Node) -> Pointer:
    """Return `value`, a pointer for a memory access; E0725 if it points to no memory."""
    if not isinstance(value, Pointer):
        raise fault("E0725", "this pointer does not point to known memory", node)
    return value


def pointed_element(value: Value, dtype: str, node: Node) -> tuple[View, int]:
    """Return the element at a pointer, as a view and an index into it; E0707 if it is outside the allocation."""
    view = View(memory_of(value, node), dtype, (1,))
    place = view.find(0)
    if place is None:
        raise fault("E0707", "this pointer points outside of its memory", node)
    return view, place


def compile_declaration(buffer: tir.Buffer) -> Callable[[Frame], None]:
    """Return a function that declares `buffer`; its shape is evaluated at that time."""
    view = compile_view(buffer)

    def declare(frame: Frame) -> None:
        frame[buffer] = view(frame)

    return declare


def compile_allocation(buffer: tir.Buffer) -> Callable[[Frame], None]:
    """Return a function that allocates poisoned memory for `buffer`."""
    declare, shape, strides = compile_declaration(buffer), compile_all(buffer.shape), compile_all(buffer.strides)

    def allocate(frame: Frame) -> None:
        sizes, steps = shape(frame), strides(frame)
        count = prod(sizes)
        if steps and count > 0:
            count = 1 + sum((size - 1) * step for size, step in zip(sizes, steps, strict=True))
        frame[buffer.data] = new_memory(frame, buffer.dtype, (*sizes, count), buffer.scope, buffer.name, buffer)
        declare(frame)

    return allocate


def new_memory(frame: Frame, dtype: str, sizes: Sequence[int], scope: str, name: str, node: Node) -> Pointer:
    """Return poisoned memory for the number of elements in the last of `sizes`; E0717 if it cannot be allocated."""
    count = sizes[-1]
    if min(sizes) < 0 or count * numpy_dtype(dtype).itemsize * lanes_of(dtype) > MOST_BYTES:
        raise fault("E0717", f"buffer '{name}' has a size that is negative or too large", node)
    try:
        return frame.world.allocate(dtype, count, scope)
    except MemoryError:
        raise fault("E0717", f"there is no memory left for buffer '{name}'", node) from None


def compile_buffer(buffer: tir.Buffer) -> Callable[[Frame], View]:
    """Return a function that finds the view of a buffer; an undeclared buffer gets a temporary view."""
    make = compile_view(buffer)

    def find(frame: Frame) -> View:
        return frame[buffer] if buffer in frame else make(frame)

    return find


def compile_position(access: Access, is_accessed: bool = True) -> Position:
    """Return a function that returns the position in memory of the element that `access` addresses; E0707 if outside.

    The observer of a run is told only if the element `is_accessed`; taking its address does not.
    """
    indices, last = tuple(map(compile_expr, access.indices)), len(access.indices)
    if last != len(access.buffer.shape):
        said = f"'{access.buffer.name}' has {len(access.buffer.shape)} dimensions, but {last} indices are given"
        raise fault("E0704", said, access)
    if any(is_vector(index.dtype) for index in access.indices):
        raise fault("E0712", f"elements of '{access.buffer.name}' at several places have no address", access)

    def position(frame: Frame, view: View) -> int:
        place = view.offset
        for index, (extent, stride) in zip(indices, view.axes, strict=True):
            value = index(frame)
            if not 0 <= value < extent:
                raise _outside(access, [index(frame) for index in indices], view)
            place += value * stride
        found = view.find(place)
        if found is None:
            raise _beyond(access, place, view)
        return found

    if not (is_accessed and is_observed()):
        return position

    def observed(frame: Frame, view: View) -> int:
        place = position(frame, view)
        frame.world.tell_access(access, tuple([index(frame) for index in indices]), frame)
        return place

    return observed


def _compile_positions(access: Access) -> Callable[[Frame, View], list[int | None]]:
    """Return a function that returns the positions of the lanes of a vector access; None for inactive lanes."""
    indices = compile_all(access.indices)
    predicate = compile_expr(_TRUE if access.predicate is None else access.predicate)
    vectors = [is_vector(index.dtype) for index in access.indices]
    is_told = is_observed()

    def positions(frame: Frame, view: View) -> list[int | None]:
        values, mask = indices(frame), predicate(frame)
        lanes = max([len(value) for value, vector in zip(values, vectors, strict=True) if vector], default=1)
        found: list[int | None] = []
        for lane in range(lanes):
            if mask is not True and not mask[lane]:
                found.append(None)
                continue
            point = [value[lane] if vector else value for value, vector in zip(values, vectors, strict=True)]
            if not all(0 <= value < extent for value, extent in zip(point, view.shape, strict=True)):
                raise _outside(access, point, view)
            place = view.offset + sum(value * stride for value, stride in zip(point, view.strides, strict=True))
            first = view.find(place)
            if first is None:
                raise _beyond(access, place, view)
            if is_told:
                frame.world.tell_access(access, tuple(point), frame)
            found.extend(range(first, first + view.lanes))
        return found

    return positions


def _outside(access: Access, indices: list[int], view: View) -> TvmsError:
    axis = next(axis for axis, index in enumerate(indices) if not 0 <= index < view.shape[axis])
    return fault("E0707", outside(access.buffer.name, indices, axis, view.shape[axis]), access)


def _beyond(access: Access, place: int, view: View) -> TvmsError:
    held = max(view.size - view.base, 0) // view.lanes
    return fault("E0707", beyond(access.buffer.name, place, held), access, BEYOND_HELP)


@meaning_of(tir.BufferLoad)
def _load(load: tir.BufferLoad) -> Expression:
    find, decode = compile_buffer(load.buffer), decoder(load.buffer.dtype)
    if is_vector(load.dtype):
        return _load_vector(load)
    position = compile_position(load)

    def read(frame: Frame) -> Value:
        view = find(frame)
        place = position(frame, view)
        if view.written is not None and not view.is_written(place):
            raise _unwritten(load)
        return decode(view.flat[place])

    return read


def _load_vector(load: tir.BufferLoad) -> Expression:
    """Compile a load; lanes that are off in the predicate are zero."""
    find, positions, decode = compile_buffer(load.buffer), _compile_positions(load), decoder(load.buffer.dtype)
    zero = constant(0, load.dtype)

    def read(frame: Frame) -> Value:
        view = find(frame)
        places = positions(frame, view)
        if view.written is not None and not view.is_written([place for place in places if place is not None]):
            raise _unwritten(load)
        return tuple([zero if place is None else decode(view.flat[place]) for place in places])

    return read


def _unwritten(load: tir.BufferLoad) -> TvmsError:
    return fault("E0710", f"'{load.buffer.name}' is read here before anything was written there", load)


def compile_store(store: tir.BufferStore) -> Callable[[Frame], None]:
    """Compile a store: evaluate the value and write it."""
    if is_vector(store.value.dtype):
        return _compile_vector_store(store)
    value, find, position = compile_expr(store.value), compile_buffer(store.buffer), compile_position(store)
    put = compile_put()

    def write(frame: Frame) -> None:
        view = find(frame)
        place = position(frame, view)
        put(frame, store, view, place, value(frame))

    return write


def _compile_vector_store(store: tir.BufferStore) -> Callable[[Frame], None]:
    value, find, positions = compile_expr(store.value), compile_buffer(store.buffer), _compile_positions(store)
    put = compile_put()

    def write(frame: Frame) -> None:
        view = find(frame)
        for place, lane in zip(positions(frame, view), value(frame), strict=True):
            if place is not None:
                put(frame, store, view, place, lane)

    return write


def compile_put() -> Callable[[Frame, Node, View, int, Value], None]:
    """Return the function that writes a lane to an element: it tells the observer of the run, if there is one."""
    return _told_put if is_observed() else _put


def _told_put(frame: Frame, node: Node, view: View, place: int, value: Value) -> None:
    frame.world.tell_overwrite(view.flat[place : place + 1])
    if view.written is not None:
        frame.world.tell_overwrite(view.written[place])
    _put(frame, node, view, place, value)


def _put(frame: Frame, node: Node, view: View, place: int, value: Value) -> None:
    """Write a lane to the element at `place`; E0702 if the array is read-only."""
    try:
        view.flat[place] = value
    except ValueError:
        raise fault("E0702", "this writes to an argument that is read-only", node, "pass a writeable array") from None
    if view.written is not None:
        view.written[place] = True


def region_view(source: View, mins: tuple[int, ...], extents: tuple[int, ...], rank: int) -> View:
    """Return the view of a region of `source` as a buffer with its last `rank` dimensions."""
    offset = source.offset + sum(start * stride for start, stride in zip(mins, source.strides, strict=True))
    kept = len(extents) - rank
    return View(source.pointer, source.dtype, extents[kept:], source.strides[kept:], offset)
