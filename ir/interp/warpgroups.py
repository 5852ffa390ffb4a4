"""Evaluation of the asynchronous products of warpgroups, with the layouts of `ir.warpgroups`.

A product reads its factors when it starts and again when it is waited for, as it may do so at any time in between; the result
is that of the second time. Meanwhile its accumulator is NaN and uninitialized.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Generator
from typing import TypeAlias

import numpy as np

from .. import tir
from ..base import Node
from ..matrix_units import name_of
from ..warpgroups import (
    COMMIT,
    FENCE,
    PROXY,
    WAIT,
    WARPGROUP,
    Tile,
    WarpgroupProduct,
    accumulator_places,
    incomplete,
    warpgroup_product_of,
)
from .buffers import memory_of
from .calls import intrinsic
from .expressions import Expression
from .frame import Frame, Reach, fault
from .matrix_units import multiplied, operands_of, part_of, read_part, write_part
from .memory import Array, Memory, Pointer
from .scalars import Value
from .threads import Exchange, exchange, meet, thread_number

_Key: TypeAlias = tuple[int, int, int]


class _Sum:
    """An accumulator in the memory of a thread, whose elements are `values` until `pending` products are complete."""

    def __init__(self, memory: Memory, values: Array) -> None:
        self.memory, self.values, self.pending = memory, values, 0


class _Products:
    """The products that the thread of `frame` has started."""

    def __init__(self, frame: Frame) -> None:
        self.frame = frame
        self.is_fenced = False
        self.open: list[Callable[[], None]] = []
        self.groups: deque[list[Callable[[], None]]] = deque()
        self.sums: dict[_Key, _Sum] = {}


def _products_of(frame: Frame) -> _Products:
    found = frame.get(_Products)
    if found is None or found.frame is not frame:
        found = frame[_Products] = _Products(frame)
    return found


class Factor:
    """Reads a factor of a product from shared memory."""

    def __init__(self, call: tir.Call, tile: Tile, dtype: str) -> None:
        self._call, self._dtype, self._tile = call, dtype, tile
        self._known: dict[int, tuple[Array, int]] = {}
        self._straight = np.array(
            [[tile.straight(span, depth) for depth in range(tile.depth)] for span in range(tile.span)]
        )

    def read(self, frame: Frame, place: Pointer, start: int, kind: Reach, is_told: bool = True) -> Array:
        """Return the factor as an array of span × depth, and tell the observer if `is_told`; E0710 if an element is uninitialized."""
        size, line, call = self._tile.size, self._tile.line, self._call
        first = memory_of(place, call).offset // size + start
        if first % line or first < 0:
            reason = f"a factor of T.{name_of(call)} starts at byte {size * first}"
            raise fault("E0712", reason, call, "start at a multiple of 16")
        positions, end = self._swizzled(first)
        whole = Pointer(place.memory, 0)
        view = part_of(call, whole, self._dtype, 0, end)
        if frame.world.observer is not None and is_told:
            for position in positions[positions % line == 0]:
                frame.world.tell_reach(call, kind, part_of(call, whole, self._dtype, int(position), line), frame)
        if not view.is_written(positions):
            raise fault("E0710", f"T.{name_of(call)} reads uninitialized memory", call)
        return view.flat[positions]

    def _swizzled(self, first: int) -> tuple[Array, int]:
        """Return the positions of the elements of the factor at `first` in its memory, and the end of the last one."""
        known = self._known.get(first)
        if known is None:
            straight = first + self._straight
            positions = straight ^ straight // self._tile.row % 8 * self._tile.line
            known = self._known[first] = positions, int(positions.max()) + 1
        return known


@exchange("ptx_wgmma_mma_async")
def _product(call: tir.Call) -> Exchange:
    """Start a product, of which each thread computes its own elements."""
    product, operands = warpgroup_product_of(call), operands_of(call)
    factors = [Factor(call, *found) for found in zip((product.a, product.b), product.dtypes, strict=True)]

    def start(frame: Frame) -> Generator[Node, None, Value]:
        a, a_at, b, b_at, c, c_at = operands(frame)[6:12]
        yield from _meet_whole(frame, call)
        state = _products_of(frame)
        if not state.is_fenced:
            raise fault(
                "E0712",
                f"T.{name_of(call)} is called before T.{FENCE}",
                call,
                f"call T.{FENCE}() after the accumulator is set",
            )
        lane = thread_number(frame) % WARPGROUP
        is_told = lane < 2  # all threads do the same, and any other thread differs from one of two
        for factor, place, at in zip(factors, (a, b), (a_at, b_at), strict=True):
            factor.read(frame, place, at, "begin", is_told)
        key, total = _begin_sum(frame, state, call, c, c_at, product)

        def complete() -> None:
            left = factors[0].read(frame, a, a_at, "read", is_told)
            right = factors[1].read(frame, b, b_at, "read", is_told)
            _add(total.values, left, right, lane, product)
            total.pending -= 1
            if not total.pending:
                _end_sum(frame, state, call, c, c_at, key)

        state.open.append(complete)
        return 0

    return start


def _meet_whole(frame: Frame, call: tir.Call) -> Generator[Node, None, None]:
    """Wait for all threads of the warpgroup; E0714 if some are missing."""
    own = thread_number(frame)
    what, help = f"a warpgroup reach T.{name_of(call)}", "let all threads of the warpgroup run it"
    yield from meet(frame, call, 0, WARPGROUP, own - own % WARPGROUP, what, help)


def _begin_sum(
    frame: Frame, state: _Products, call: tir.Call, place: Pointer, start: int, product: WarpgroupProduct
) -> tuple[_Key, _Sum]:
    """Return the accumulator, which no other product changes in another part, and mark its memory as not written."""
    view = part_of(call, place, "float32", start, product.count)
    first = view.pointer.offset
    key = (id(place.memory), first, product.count)
    others = [other for other in state.sums if other[0] == key[0] and other != key]
    if any(at < first + 4 * product.count and first < at + 4 * count for _, at, count in others):
        reason = f"T.{name_of(call)} changes a part of the accumulator of a product that is not complete"
        raise fault("E0712", reason, call, f"call T.{WAIT}(0) before, or give it the same elements")
    frame.world.tell_reach(call, "begin", view, frame)
    if key not in state.sums:
        state.sums[key] = _Sum(place.memory, read_part(frame, call, place, "float32", start, product.count))
        part = slice(view.base, view.base + product.count)
        frame.world.tell_overwrite(view.flat[part])
        view.flat[part] = np.nan
        if view.written is not None:
            view.written[part] = False
    state.sums[key].pending += 1
    return key, state.sums[key]


def _end_sum(frame: Frame, state: _Products, call: tir.Call, place: Pointer, start: int, key: _Key) -> None:
    """Store the results; E0710 if the program has stored to the accumulator meanwhile."""
    values = state.sums.pop(key).values
    view = part_of(call, place, "float32", start, len(values))
    if not np.isnan(view.flat[view.base : view.base + len(values)]).all():
        name = call.args[10].name if isinstance(call.args[10], tir.Var) else "the accumulator"
        raise incomplete(call, name)
    write_part(frame, call, place, "float32", start, values)


def _add(total: Array, a: Array, b: Array, lane: int, product: WarpgroupProduct) -> None:
    """Add to the elements `total` of a thread; `a` and `b` are arrays of span × depth."""
    places = accumulator_places(lane)
    rows, first = [places[0][0], places[2][0]], [places[0][1], places[1][1]]
    columns = np.add.outer(np.arange(0, product.n, 8), first).reshape(-1)
    sums = total.reshape(product.n // 8, 2, 2).transpose(1, 0, 2)
    own = multiplied(a[rows], b[columns].T, sums.reshape(2, -1), product.kinds[0])
    sums[...] = own.reshape(sums.shape)


@intrinsic(FENCE)
def _fence(call: tir.Call) -> Expression:
    def fence(frame: Frame) -> Value:
        _products_of(frame).is_fenced = True
        return 0

    return fence


@intrinsic(PROXY)
def _proxy(call: tir.Call) -> Expression:
    return lambda frame: 0


@intrinsic(COMMIT)
def _commit(call: tir.Call) -> Expression:
    def commit(frame: Frame) -> Value:
        state = _products_of(frame)
        state.groups.append(state.open)
        state.open = []
        return 0

    return commit


@intrinsic(WAIT)
def _wait(call: tir.Call) -> Expression:
    operands = operands_of(call)

    def wait(frame: Frame) -> Value:
        (left,) = operands(frame)
        groups = _products_of(frame).groups
        while groups and len(groups) > left:
            for complete in groups.popleft():
                complete()
        return 0

    return wait
