"""Evaluation of copies of boxes, and of barriers in shared memory (`ir.tensor_copies`).

Data arrives when its barrier is waited for; until then, the elements are uninitialized. All threads of a block meet where they
wait, so that a phase which is not complete then never will be.
"""

from __future__ import annotations

from collections.abc import Callable, Generator

import numpy as np

from .. import tir
from ..base import Node
from ..numpy_dtype import numpy_dtype
from ..tensor_copies import ARRIVE, COPY, CREATE, EXPECT, GROUP, INIT, LINE_BYTES, ROW_BYTES, WAIT, tensor_map_of
from .buffers import memory_of
from .calls import intrinsic
from .expressions import Expression
from .frame import Frame, fault
from .matrix_units import operands_of, part_of, read_part, write_part
from .memory import Array, Pointer
from .scalars import Value
from .threads import Exchange, exchange


class _Barrier:
    """A barrier that `count` threads arrive at, none before it is initialized."""

    def __init__(self) -> None:
        self.count = self.pending = self.bytes = self.parity = 0
        self.arriving: list[Callable[[], int]] = []
        """What stores the data of pending copies and returns their bytes."""

    def initialize(self, count: int) -> None:
        self.count = self.pending = count
        self.bytes = self.parity = 0

    def arrive(self, announced: int = 0) -> None:
        self.bytes += announced
        self.pending -= 1
        self._end_phase()

    def receive(self) -> None:
        """Store the data of pending copies."""
        copies, self.arriving = self.arriving, []
        for copy in copies:
            self.bytes -= copy()
        self._end_phase()

    def _end_phase(self) -> None:
        if self.pending == self.bytes == 0 and not self.arriving:
            self.parity ^= 1
            self.pending = self.count


def _barrier(frame: Frame, call: tir.Call, number: int, is_new: bool = False) -> _Barrier:
    """Return a barrier of the block; E0712 if it does not exist, or is not initialized."""
    barriers: list[_Barrier] = frame.shared.get(_Barrier, [])
    if not 0 <= number < len(barriers):
        reason = f"barrier {number} does not exist: the block created {len(barriers)}"
        raise fault("E0712", reason, call, f"call T.{CREATE}({number + 1}) before")
    if not (is_new or barriers[number].count):
        raise fault("E0712", f"barrier {number} is not initialized", call, f"call T.{INIT}({number}, …) before")
    return barriers[number]


@intrinsic(CREATE)
def _create(call: tir.Call) -> Expression:
    operands = operands_of(call)

    def create(frame: Frame) -> Value:
        (count,) = operands(frame)
        frame.shared.setdefault(_Barrier, [_Barrier() for _ in range(count)])
        return 0

    return create


@intrinsic(INIT)
def _initialize(call: tir.Call) -> Expression:
    operands = operands_of(call)

    def initialize(frame: Frame) -> Value:
        number, count = operands(frame)
        _barrier(frame, call, number, is_new=True).initialize(int(count))
        return 0

    return initialize


@intrinsic(ARRIVE, EXPECT)
def _arrive(call: tir.Call) -> Expression:
    operands = operands_of(call)

    def arrive(frame: Frame) -> Value:
        number, *rest = operands(frame)
        if len(rest) < 2 or rest[1]:
            _barrier(frame, call, number).arrive(*map(int, rest[:1]))
        return 0

    return arrive


@exchange(WAIT)
def _wait(call: tir.Call) -> Exchange:
    operands = operands_of(call)

    def wait(frame: Frame) -> Generator[Node, None, Value]:
        yield call
        number, *parity = operands(frame)
        barrier, wanted = _barrier(frame, call, number), int(parity[0]) if parity else 0
        if barrier.parity == wanted:
            barrier.receive()
        if barrier.parity == wanted:
            missing = (
                f"{barrier.pending} of {barrier.count} threads have not arrived, and {barrier.bytes} bytes are missing"
            )
            help = "let threads arrive, and copies be started, before all threads wait"
            raise fault("E0714", f"barrier {number} is waited for in vain: {missing}", call, help)
        yield call
        return 0

    return wait


@intrinsic(COPY)
def _copy(call: tir.Call) -> Expression:
    operands = operands_of(call)
    kind = numpy_dtype(call.dtype)
    tensor = tensor_map_of(call)
    swizzled = _swizzle(tensor.box_rows, kind.itemsize)

    def copy(frame: Frame) -> Value:
        target, at, source, rows, columns, stride, row, column, _, number, *rest = operands(frame)
        if rest and not rest[0]:
            return 0
        first = memory_of(target, call).offset + int(at) * kind.itemsize
        if first % (GROUP * ROW_BYTES):
            reason, help = (
                f"the target of T.{COPY} starts at byte {first}",
                f"start at a multiple of {GROUP * ROW_BYTES}",
            )
            raise fault("E0712", reason, call, help)
        barrier = _barrier(frame, call, number)
        box = np.zeros((tensor.box_rows, tensor.columns), kind)
        low, high = max(int(column), 0), min(int(column) + tensor.columns, int(columns))
        for i in range(max(-int(row), 0), min(tensor.box_rows, int(rows) - int(row)) if low < high else 0):
            place = (int(row) + i) * int(stride) + low
            box[i, low - column : high - column] = read_part(frame, call, source, call.dtype, place, high - low)
        values = np.empty(box.size, kind)
        values[swizzled] = box.reshape(-1)
        _begin(frame, call, target, int(at), box.size)

        def arrive() -> int:
            write_part(frame, call, target, call.dtype, int(at), values)
            return values.nbytes

        barrier.arriving.append(arrive)
        return 0

    return copy


def _swizzle(rows: int, size: int) -> Array:
    """Return the places of the elements of a box, in elements of `size` bytes."""
    straight = np.arange(rows * ROW_BYTES // size)
    return straight ^ straight // (ROW_BYTES // size) % GROUP * (LINE_BYTES // size)


def _begin(frame: Frame, call: tir.Call, target: Pointer, at: int, count: int) -> None:
    """Mark the elements that a copy changes as not written."""
    view = part_of(call, target, call.dtype, at, count)
    frame.world.tell_reach(call, "begin", view, frame)
    if view.written is not None:
        view.written[view.base : view.base + count] = False
