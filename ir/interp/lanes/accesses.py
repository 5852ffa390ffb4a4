"""Addressing, loads and stores of lanes."""

# NumPy's array types are incomplete for strict checking: isinstance narrows to arrays of unknown elements.
# pyright: reportUnknownVariableType=false, reportUnknownArgumentType=false, reportUnknownMemberType=false

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeAlias

import numpy as np

from ... import tir
from ...numpy_dtype import numpy_dtype
from ...variables import layout_of
from .. import scalars
from ..buffers import compile_view
from ..frame import Access
from ..memory import Array, Pointer, View
from .arithmetic import LaneValue
from .expressions import Expression, Memo, compile_lanes, is_active, meaning_of
from .state import Doubt, Lanes, Refused
from .views import LaneView, Offsets

FindView: TypeAlias = Callable[[Lanes], LaneView]


def compile_lane_buffer(buffer: tir.Buffer) -> FindView:
    """Return a function that finds the view of a buffer; an undeclared buffer gets a temporary view."""
    make = compile_view(buffer)
    sizes = layout_of(buffer)
    values = [compile_lanes(size) for size in sizes]

    def view_of_moment(lanes: Lanes, *_: Any) -> LaneView:
        return LaneView(make(lanes))

    made, wrapped = Memo(view_of_moment), Memo(_wrap)

    def find(lanes: Lanes) -> LaneView:
        if buffer in lanes:
            view = lanes[buffer]
            return view if isinstance(view, LaneView) else wrapped(lanes, view)
        now = [value(lanes) for value in values]
        pointer = lanes[buffer.data]
        if not isinstance(pointer, Pointer) or any(isinstance(value, np.ndarray) for value in now):
            raise Refused
        return made(lanes, pointer, *now)

    return find


def _wrap(_: Lanes, view: View) -> LaneView:
    return LaneView(view)


def _compile_places(access: Access) -> Callable[[Lanes, LaneView], Offsets]:
    """Return a function to the position of the element in each lane; Doubt if an active lane leaves the buffer.

    In inactive lanes, the position is that of an arbitrary element.
    """
    indices = [compile_lanes(index) for index in access.indices]
    if len(indices) != len(access.buffer.shape) or isinstance(access.predicate, tir.PrimExpr):
        raise Refused
    inside = [Memo(_check_index) for _ in indices]
    joined = Memo(_join)

    def places(lanes: Lanes, view: LaneView) -> Offsets:
        values = [
            check(lanes, index(lanes), extent) for index, check, extent in zip(indices, inside, view.shape, strict=True)
        ]
        return joined(lanes, view, *values)

    return places


def _check_index(lanes: Lanes, index: LaneValue, extent: int) -> LaneValue:
    """Return the index as an integer or int64 array, with 0 in inactive lanes that are out of bounds."""
    if not isinstance(index, np.ndarray):
        if not 0 <= index < extent:
            raise Doubt
        return int(index)
    if index.size and index.min() >= 0 and index.max() < extent:
        return index.astype(np.int64)
    outside = (index < 0) | (index >= extent)
    if is_active(lanes, outside):
        raise Doubt
    return np.where(outside, 0, index).astype(np.int64)


def _join(lanes: Lanes, view: LaneView, *indices: LaneValue) -> Offsets:
    if not view.is_countable:
        raise Refused
    place = view.origin + view.offset
    for index, stride in zip(indices, view.strides, strict=True):
        place = place + index * stride
    if view.fits:
        return place + view.base if isinstance(view.base, np.ndarray) else place
    outside = np.asarray((place < 0) | (place >= view.size))
    if outside.any():
        if is_active(lanes, outside if outside.ndim else bool(outside)):
            raise Doubt
        place = np.where(outside, 0, place)
    return place + view.base


@meaning_of(tir.BufferLoad)
def _load(load: tir.BufferLoad) -> Expression:
    find, places, decode = compile_lane_buffer(load.buffer), _compile_places(load), scalars.decoder(load.buffer.dtype)

    def read(lanes: Lanes) -> LaneValue:
        view = find(lanes)
        place = places(lanes, view)
        if view.memory in lanes.written:
            lanes.touch(load, view, place, is_write=False)
        if view.written is not None and is_active(lanes, ~view.written[place].all(axis=-1)):
            raise Doubt
        if not view.size:
            raise Doubt
        return view.flat.take(place) if isinstance(place, np.ndarray) else decode(view.flat[place])

    return read


def compile_lane_store(store: tir.BufferStore) -> Callable[[Lanes], None]:
    """Return a function that evaluates the value and writes it in the active lanes."""
    value, find, places = compile_lanes(store.value), compile_lane_buffer(store.buffer), _compile_places(store)
    kind = numpy_dtype(store.buffer.dtype)

    def write(lanes: Lanes) -> None:
        view = find(lanes)
        place = places(lanes, view)
        found = value(lanes)
        if not view.flat.flags.writeable:
            raise Doubt
        if view.memory in lanes.written:
            lanes.touch(store, view, place, is_write=True)
        selected, chosen = _select(lanes, place, found, kind)
        if view.memory not in lanes.own:
            lanes.undo.record(store, view, place, lanes.mask, selected)
        view.flat[selected] = chosen
        if view.written is not None:
            view.written[selected] = True

    return write


def _select(lanes: Lanes, place: Offsets, value: LaneValue, kind: np.dtype) -> tuple[Offsets, LaneValue]:
    """Return the positions and values of the active lanes."""
    if not isinstance(place, np.ndarray) and not isinstance(value, np.ndarray) and lanes.mask is None:
        return place, value
    if lanes.mask is None:
        shape = np.broadcast_shapes(np.shape(place), np.shape(value))
        return _spread(place, shape), value
    shape = np.broadcast_shapes(np.shape(place), np.shape(value), lanes.mask.shape)
    mask = np.broadcast_to(lanes.mask, shape)
    chosen = np.broadcast_to(np.asarray(value, kind), shape)[mask]
    return np.broadcast_to(place, shape)[mask], chosen


def _spread(place: Offsets, shape: tuple[int, ...]) -> Array:
    array = np.asarray(place)
    return array if array.shape == shape else np.broadcast_to(array, shape)
