"""Evaluation of tensor memory and of the products that accumulate in it (`ir.tensor_memory`).

A product reads its factors when it starts, and again when it is complete: when a thread waits for the barrier of its commit. Until
then its part of the accumulator is NaN and uninitialized, as is the target of a load until it is waited for.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Generator
from typing import TypeAlias

import numpy as np

from .. import tir
from ..base import Node
from ..matrix_units import WARP, name_of
from ..tensor_memory import (
    AFTER,
    ALLOCATE,
    BEFORE,
    COMMIT,
    FREE,
    LANES,
    LOAD,
    MOST_COLUMNS,
    PRODUCT,
    RELINQUISH,
    SIZES,
    WAIT,
    TensorProduct,
    incomplete,
    loaded_columns,
    own_lane,
    tensor_memory_of,
    tensor_product_of,
)
from .calls import intrinsic
from .expressions import Expression
from .frame import Frame, fault
from .matrix_units import multiplied, operands_of, part_of, read_part, whole_warp, write_part
from .memory import Array, Memory, Pointer, View
from .scalars import Value
from .tensor_copies import barrier_of, check_arrival
from .threads import Exchange, at_end_of_block, exchange, thread_number
from .warpgroups import Factor

_Key: TypeAlias = tuple[Memory, int, int]
_FLOAT = 4


class _Sum:
    """A part of an accumulator, whose elements are `values` until `pending` products of `thread` are complete."""

    def __init__(self, thread: int, values: Array) -> None:
        self.thread, self.values, self.pending = thread, values, 0


class _TensorMemory:
    """The tensor memory of a block."""

    def __init__(self) -> None:
        self.columns: dict[Memory, tuple[int, tir.Call]] = {}
        """The number of columns of each allocated buffer, and the call that allocated it."""
        self.last = MOST_COLUMNS
        """The number of columns of the last allocation."""
        self.is_relinquished = False
        self.sums: dict[_Key, _Sum] = {}
        self.calling: dict[tuple[tir.Call, int], int] = {}
        """How many threads of a warp have passed a call, until all have."""

    def is_first(self, call: tir.Call, thread: int) -> bool:
        """Return whether a thread is the first one of its warp behind a collective call."""
        key = call, thread // WARP
        passed = self.calling.get(key, 0) + 1
        self.calling[key] = passed % WARP
        return passed == 1

    def pending_at(self, memory: Memory, column: int, count: int) -> list[_Key]:
        """Return the parts of accumulators that products are changing, and that share elements with `count` columns."""
        return [key for key in self.sums if key[0] is memory and key[1] < column + count and column < key[1] + key[2]]

    def check_end(self) -> None:
        """Raise E0712 if memory is allocated."""
        for _, call in self.columns.values():
            name = tensor_memory_of(call).name
            help = f"let a warp call T.{FREE} before the block ends: the next block waits for the memory"
            raise fault("E0712", f"'{name}' in tensor memory is never freed", call, help)


def _of_block(frame: Frame) -> _TensorMemory:
    found = frame.shared.get(_TensorMemory)
    if found is None:
        found = frame.shared[_TensorMemory] = _TensorMemory()

        def check() -> None:
            del frame.shared[_TensorMemory]
            found.check_end()

        at_end_of_block(frame, check)
    return found  # type: ignore[no-any-return]


class _Started:
    """What the thread of `frame` has started and not waited for."""

    def __init__(self, frame: Frame) -> None:
        self.frame = frame
        self.products: deque[Callable[[], None]] = deque()
        self.completed = 0
        """The number of products that are complete."""
        self.loads: deque[Callable[[], None]] = deque()


def _started_by(frame: Frame) -> _Started:
    found = frame.get(_Started)
    if found is None or found.frame is not frame:
        found = frame[_Started] = _Started(frame)
    return found


def _columns(frame: Frame, call: tir.Call, place: Pointer) -> int:
    """Return the number of columns of a buffer; E0712 if it is not allocated."""
    found = _of_block(frame).columns.get(place.memory)
    if found is None:
        name = tensor_memory_of(call).name
        reason = f"T.{name_of(call)} uses '{name}' in tensor memory, which is not allocated"
        raise fault("E0712", reason, call, f"let a warp call T.{ALLOCATE} before, and T.{FREE} behind")
    return found[0]


# --- Allocation -----------------------------------------------------------------------------------------------


@exchange(ALLOCATE)
def _allocate(call: tir.Call) -> Exchange:
    name, operands = tensor_memory_of(call).name, operands_of(call)

    def allocate(frame: Frame) -> Generator[Node, None, Value]:
        place, count = operands(frame)
        yield from whole_warp(frame, call, 0)
        block = _of_block(frame)
        if not block.is_first(call, thread_number(frame)):
            return 0
        if block.is_relinquished:
            help = f"allocate before T.{RELINQUISH}"
            raise fault("E0712", f"'{name}' is allocated after the block relinquished the permit", call, help)
        if place.memory in block.columns:
            raise fault("E0712", f"'{name}' in tensor memory is allocated twice", call, f"call T.{FREE} before")
        _check_size(call, name, place.memory, count)
        if count > block.last:
            reason = f"{count} columns are allocated after {block.last}"
            raise fault("E0712", reason, call, "allocate the largest buffers first: PTX allows no other order")
        used = sum(columns for columns, _ in block.columns.values())
        if used + count > MOST_COLUMNS:
            reason = f"{count} columns of tensor memory are waited for in vain: the block has {used} of {MOST_COLUMNS}"
            raise fault("E0714", reason, call, "allocate less, or free some before")
        block.columns[place.memory], block.last = (count, call), count
        _poison(frame, place.memory)
        return 0

    return allocate


def _check_size(call: tir.Call, name: str, memory: Memory, count: int) -> None:
    """Raise E0712 if memory does not have the number of columns that a call names."""
    columns = len(memory.data) / _FLOAT / LANES
    if columns != count or count not in SIZES:
        reason = f"T.{name_of(call)} names {count} columns of '{name}', which has {columns:g}"
        raise fault(
            "E0712", reason, call, f"allocate {LANES} × 32, 64, 128, 256 or 512 elements, and name as many columns"
        )


def _poison(frame: Frame, memory: Memory) -> None:
    frame.world.tell_overwrite(memory.data)
    memory.data[:] = 0xFF
    if memory.written is not None:
        memory.written[:] = False


@exchange(FREE)
def _free(call: tir.Call) -> Exchange:
    name, operands = tensor_memory_of(call).name, operands_of(call)

    def free(frame: Frame) -> Generator[Node, None, Value]:
        place, count = operands(frame)
        yield from whole_warp(frame, call, 0)
        block = _of_block(frame)
        if not block.is_first(call, thread_number(frame)):
            return 0
        columns = _columns(frame, call, place)
        _check_size(call, name, place.memory, count)
        if block.pending_at(place.memory, 0, columns):
            raise incomplete(call, name)
        frame.world.tell_reach(call, "write", part_of(call, place, "float32", 0, LANES * columns), frame)
        del block.columns[place.memory]
        return 0

    return free


@exchange(RELINQUISH)
def _relinquish(call: tir.Call) -> Exchange:
    def relinquish(frame: Frame) -> Generator[Node, None, Value]:
        yield from whole_warp(frame, call, 0)
        _of_block(frame).is_relinquished = True
        return 0

    return relinquish


# --- Products -------------------------------------------------------------------------------------------------


@intrinsic(PRODUCT)
def _product(call: tir.Call) -> Expression:
    product, operands = tensor_product_of(call), operands_of(call)
    factors = Factor(call, product.a, product.dtype), Factor(call, product.b, product.dtype)
    _ = tensor_memory_of(call)

    def start(frame: Frame) -> Value:
        values = operands(frame)
        (a, a_at, b, b_at, c, column), is_added = values[6:12], bool(values[16])
        _check_columns(frame, call, c, column, product.n)
        for factor, place, at in zip(factors, (a, b), (a_at, b_at), strict=True):
            factor.read(frame, place, at, "begin")
        key, total = _begin_sum(frame, call, product, c, column, is_added)

        def complete() -> None:
            left, right = (
                factor.read(frame, place, at, "read")
                for factor, place, at in zip(factors, (a, b), (a_at, b_at), strict=True)
            )
            before = total.values if is_added else np.zeros_like(total.values)
            total.values = multiplied(left, right.T, before, product.kind)
            total.pending -= 1
            if not total.pending:
                _end_sum(frame, key)

        _started_by(frame).products.append(complete)
        return 0

    return start


def _check_columns(frame: Frame, call: tir.Call, place: Pointer, column: int, count: int) -> None:
    """Raise E0707 if columns are not those of a buffer."""
    columns = _columns(frame, call, place)
    if column < 0 or column + count > columns:
        name = tensor_memory_of(call).name
        reason = f"T.{name_of(call)} reaches columns {column} to {column + count - 1} of '{name}', which has {columns}"
        raise fault("E0707", reason, call)


def _begin_sum(
    frame: Frame, call: tir.Call, product: TensorProduct, place: Pointer, column: int, is_added: bool
) -> tuple[_Key, _Sum]:
    """Return the part of the accumulator that a product changes, and mark its memory as not written."""
    block, thread, name = _of_block(frame), thread_number(frame), tensor_memory_of(call).name
    key = place.memory, column, product.n
    if any(other != key for other in block.pending_at(*key)):
        reason = f"T.{PRODUCT} changes a part of '{name}' that a product of other columns is changing"
        raise fault("E0712", reason, call, "wait for that product before, or change the same columns")
    total = block.sums.get(key)
    if total is not None and total.thread != thread:
        reason = f"threads {min(total.thread, thread)} and {max(total.thread, thread)} start products on '{name}' at the same time"
        raise fault("E0712", reason, call, "let one thread of the block start all of them")
    frame.world.tell_reach(call, "begin", part_of(call, place, "float32", column, product.n), frame)
    if total is None:
        view, cells, written = _cells(key)
        if is_added and written is not None and not written.all():
            raise fault("E0710", f"T.{PRODUCT} adds to '{name}', which is uninitialized", call, "overwrite it at first")
        total = block.sums[key] = _Sum(thread, cells.copy())
        frame.world.tell_overwrite(view.flat)
        cells[:] = np.nan
        if written is not None:
            written[:] = False
    total.pending += 1
    return key, total


def _cells(key: _Key) -> tuple[View, Array, Array | None]:
    """Return a view of a buffer, and of some of its columns the elements, by lane, and whether their bytes are written."""
    memory, column, count = key
    view = View(Pointer(memory), "float32", (len(memory.data) // _FLOAT,))
    part = slice(column, column + count)
    written = None if view.written is None else view.written.reshape(LANES, -1, _FLOAT)[:, part]
    return view, view.flat.reshape(LANES, -1)[:, part], written


def _end_sum(frame: Frame, key: _Key) -> None:
    """Store the results."""
    view, cells, written = _cells(key)
    frame.world.tell_overwrite(view.flat)
    cells[:] = _of_block(frame).sums.pop(key).values
    if written is not None:
        written[:] = True


@intrinsic(COMMIT)
def _commit(call: tir.Call) -> Expression:
    operands = operands_of(call)

    def commit(frame: Frame) -> Value:
        number = int(operands(frame)[0])
        barrier, started = barrier_of(frame, call, number), _started_by(frame)
        check_arrival(barrier, number, call)
        frame.world.tell_synchronize("begin", (barrier, barrier.phase), frame, call)
        count = started.completed + len(started.products)

        def complete() -> None:
            while started.completed < count:
                started.products.popleft()()
                started.completed += 1

        barrier.promise(complete)
        return 0

    return commit


# --- Loads ----------------------------------------------------------------------------------------------------


@exchange(LOAD)
def _load(call: tir.Call) -> Exchange:
    count, name, operands = loaded_columns(call), tensor_memory_of(call).name, operands_of(call)

    def load(frame: Frame) -> Generator[Node, None, Value]:
        target, at, place, row, column = operands(frame)[:5]
        lanes, lane = yield from whole_warp(frame, call, (place, row, column))
        if any(other != lanes[0] for other in lanes):
            raise fault("E0712", f"the threads of a warp give T.{LOAD} different addresses", call, "give the same ones")
        first = own_lane(thread_number(frame))
        if row != first:
            reason = f"a warp loads from lane {row} of '{name}' on; its own lanes are {first} to {first + WARP - 1}"
            raise fault("E0712", reason, call, "give the first lane as thread // 32 % 4 * 32")
        columns = _columns(frame, call, place)
        _check_columns(frame, call, place, column, count)

        def check() -> None:
            _columns(frame, call, place)
            if _of_block(frame).pending_at(place.memory, column, count):
                raise incomplete(call, name)

        def complete() -> None:
            check()
            write_part(frame, call, target, "float32", at, source.flat[source.base : source.base + count])

        check()
        source = part_of(call, place, "float32", (row + lane) * columns + column, count)
        read_part(frame, call, place, "float32", (row + lane) * columns + column, count)
        view = part_of(call, target, "float32", at, count)
        frame.world.tell_reach(call, "begin", view, frame)
        frame.world.tell_overwrite(view.flat)
        part = slice(view.base, view.base + count)
        view.flat[part] = np.nan
        if view.written is not None:
            view.written[part] = False
        _started_by(frame).loads.append(complete)
        return 0

    return load


@intrinsic(WAIT)
def _wait(call: tir.Call) -> Expression:
    def wait(frame: Frame) -> Value:
        loads = _started_by(frame).loads
        while loads:
            loads.popleft()()
        return 0

    return wait


@intrinsic(BEFORE, AFTER)
def _fence(call: tir.Call) -> Expression:
    """Do nothing: the interpreter runs what threads do in order."""
    return lambda frame: 0
