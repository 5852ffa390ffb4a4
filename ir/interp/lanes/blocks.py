"""Blocks of lanes: iterators and their domains, allocations, views of regions, initialization."""

# NumPy's array types are incomplete for strict checking: isinstance narrows to arrays of unknown elements.
# pyright: reportUnknownVariableType=false, reportUnknownArgumentType=false, reportUnknownMemberType=false

from __future__ import annotations

from collections.abc import Callable
from math import prod

import numpy as np

from ... import tir
from ...idioms import is_one
from ...numpy_dtype import numpy_dtype
from ..memory import Pointer, View, compact_strides
from .accesses import compile_lane_buffer
from .arithmetic import LaneValue
from .expressions import Expression, Memo, compile_lanes, is_active, same
from .state import Doubt, Lanes, Refused
from .statements import Statement, compile_lane_stmt, meaning_of, where
from .views import MOST_PLACES, LaneView

MAX_OWN_BYTES = 1 << 28
"""Maximum memory that a nest allocates for all of its lanes."""


@meaning_of(tir.BlockRealize)
def _realize(stmt: tir.BlockRealize, depth: int) -> Statement:
    variables = [axis.var for axis in stmt.block.iter_vars]
    bindings = list(
        zip(variables, map(compile_lanes, stmt.iter_values), map(_compile_domain, stmt.block.iter_vars), strict=True)
    )
    body = compile_lane_stmt(stmt.block, depth)

    def run(lanes: Lanes) -> None:
        for variable, value, check in bindings:
            lanes[variable] = bound = value(lanes)
            check(lanes, bound)
        body(lanes)

    return run if is_one(stmt.predicate) else where(compile_lanes(stmt.predicate), run)


def _compile_domain(axis: tir.IterVar) -> Callable[[Lanes, LaneValue], None]:
    """Return a function that raises Doubt if an iterator leaves its domain in an active lane."""
    if axis.dom is None:
        raise Refused
    start, extent = compile_lanes(axis.dom.min), compile_lanes(axis.dom.extent)

    def is_outside(lanes: Lanes, bound: LaneValue, first: LaneValue, size: LaneValue) -> bool:
        outside = (bound < first) | (bound - first >= size)
        return is_active(lanes, outside)

    outside = Memo(is_outside)

    def check(lanes: Lanes, bound: LaneValue) -> None:
        if outside(lanes, bound, start(lanes), extent(lanes)):
            raise Doubt

    return check


@meaning_of(tir.Block)
def _block(stmt: tir.Block, depth: int) -> Statement:
    enter = (*map(_compile_allocation, stmt.alloc_buffers), *map(_compile_match, stmt.match_buffers))
    body = compile_lane_stmt(stmt.body, depth)
    init = None if stmt.init is None else where(_starts(stmt.iter_vars), compile_lane_stmt(stmt.init, depth))

    def run(lanes: Lanes) -> None:
        for prepare in enter:
            prepare(lanes)
        if init is not None:
            init(lanes)
        body(lanes)

    return run


def _starts(axes: tuple[tir.IterVar, ...]) -> Expression:
    """Return a function that tells whether all iterators of reductions are at the start of their domains."""
    reductions = [axis for axis in axes if axis.iter_type is tir.IterVarType.COMM_REDUCE]
    starts = [(axis.var, compile_lanes(axis.dom.min)) for axis in reductions if axis.dom is not None]

    def at_start(lanes: Lanes) -> LaneValue:
        result: LaneValue = True
        for variable, start in starts:
            result = np.logical_and(result, lanes[variable] == start(lanes))
        return result

    return at_start


def _compile_allocation(buffer: tir.Buffer) -> Statement:
    """Allocate memory for each lane; the memory of all lanes is contiguous."""
    if buffer.elem_offset is not None and not isinstance(buffer.elem_offset, tir.IntImm):
        raise Refused
    shape, strides = [compile_lanes(size) for size in buffer.shape], [compile_lanes(step) for step in buffer.strides]
    offset = 0 if buffer.elem_offset is None else buffer.elem_offset.value

    def allocate(lanes: Lanes) -> None:
        sizes, steps = tuple([size(lanes) for size in shape]), tuple([step(lanes) for step in strides])
        if any(isinstance(size, np.ndarray) for size in (*sizes, *steps)):
            raise Refused
        spans = zip(sizes, steps or compact_strides(sizes), strict=True)
        count = 1 + sum((size - 1) * step for size, step in spans) if steps else prod(sizes)
        total = lanes.count
        if min((*sizes, count)) < 0 or count * total * numpy_dtype(buffer.dtype).itemsize > MAX_OWN_BYTES:
            raise Refused
        pointer: Pointer = lanes.world.allocate(buffer.dtype, count * total, buffer.scope)
        base = np.arange(total, dtype=np.int64).reshape(lanes.grid) * count if total > 1 else 0
        lanes.own.add(pointer.memory)
        lanes.written.add(pointer.memory)
        lanes[buffer.data] = pointer if total == 1 else None
        lanes[buffer] = LaneView(View(pointer, buffer.dtype, sizes, steps, offset), base, count)

    return allocate


def _compile_match(match: tir.MatchBufferRegion) -> Statement:
    """Bind a view of a region: variables of the buffer are bound to the region's sizes, the others must agree."""
    buffer, region = match.buffer, match.source.region
    source = compile_lane_buffer(match.source.buffer)
    mins, extents = [compile_lanes(r.min) for r in region], [compile_lanes(r.extent) for r in region]
    viewed, settle = Memo(_region_view), _settling(match)
    kept = len(region) - len(buffer.shape)

    def run(lanes: Lanes) -> None:
        view: LaneView = source(lanes)
        sizes = [extent(lanes) for extent in extents]
        if kept < 0 or any(isinstance(size, np.ndarray) for size in sizes):
            raise Refused
        starts = [start(lanes) for start in mins]
        found = viewed(lanes, view, len(sizes) - kept, *sizes, *starts)
        settle(lanes, found)
        lanes[buffer.data] = None
        lanes[buffer] = found

    return run


def _region_view(lanes: Lanes, source: LaneView, rank: int, *region: LaneValue) -> LaneView:
    """Return the view of the last `rank` dimensions of a region of `source`, given as sizes and starts."""
    count = len(region) // 2
    sizes, starts = region[:count], region[count:]
    offset, lowest, highest = source.offset, _least(source.offset), _most(source.offset)
    for start, stride in zip(starts, source.strides, strict=True):
        ends = sorted((_least(start) * stride, _most(start) * stride))
        lowest, highest = lowest + ends[0], highest + ends[1]
        if max(-lowest, highest) >= MOST_PLACES:
            raise Refused
        offset = offset + (start.astype(np.int64) if isinstance(start, np.ndarray) else start) * stride
    return source.part(offset, lowest, highest, sizes[count - rank :])


def _least(value: LaneValue) -> int:
    return int(np.min(value))


def _most(value: LaneValue) -> int:
    return int(np.max(value))


def _settling(match: tir.MatchBufferRegion) -> Callable[[Lanes, LaneView], None]:
    """Return a function that binds the variables that `match` declares; Doubt if a size differs from the declared one."""
    buffer = match.buffer
    offset = () if buffer.elem_offset is None or isinstance(buffer.elem_offset, tir.IntImm) else (buffer.elem_offset,)
    declared = (*buffer.shape, *buffer.strides, *offset)
    expected = [compile_lanes(size) for size in declared]

    def settle(lanes: Lanes, view: LaneView) -> None:
        actual = (*view.shape, *view.strides[: len(buffer.strides)], *(view.offset for _ in offset))
        if match not in lanes:
            lanes[match] = {size for size in declared if isinstance(size, tir.Var) and size not in lanes}
        unbound = set(lanes[match])
        for size, value in zip(declared, actual, strict=True):
            if size in unbound:
                lanes[size] = value
                unbound.discard(size)
        for size, value in zip(expected, actual, strict=True):
            if not same(size(lanes), value) and np.any(size(lanes) != value):
                raise Doubt

    return settle
