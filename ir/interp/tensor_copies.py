"""Evaluation of copies of boxes, and of barriers in shared memory (`ir.tensor_copies`).

Data arrives when its barrier is waited for; until then, the elements are uninitialized. A thread that waits lets the others run; if
none of them can go on, the phase will never be complete.
"""

from __future__ import annotations

from collections.abc import Callable, Generator
from functools import partial
from typing import Any

import numpy as np

from .. import tir
from ..base import Node
from ..diagnostics import TvmsError
from ..matrix_units import name_of
from ..numpy_dtype import numpy_dtype
from ..tensor_copies import (
    ARRIVE,
    COPIES,
    CREATE,
    EXPECT,
    GROUP,
    INIT,
    LINE_BYTES,
    MULTICAST,
    PREDICATES,
    REMOTE,
    ROW_BYTES,
    WAIT,
    TensorMap,
    tensor_map_of,
)
from .buffers import memory_of
from .calls import intrinsic
from .clusters import block_of, in_block
from .expressions import Expression
from .frame import Frame, fault
from .matrix_units import operands_of, part_of, read_part, write_part
from .memory import Array, Pointer
from .scalars import Value
from .threads import Blocked, Exchange, exchange


class Barrier:
    """A barrier that `count` threads arrive at, none before it is initialized."""

    def __init__(self) -> None:
        self.count = self.pending = self.bytes = self.phase = self.promised = 0
        self.arriving: list[Callable[[], int]] = []
        """What completes pending copies and products, and returns the bytes of copies."""

    def initialize(self, count: int) -> None:
        self.count = self.pending = count
        self.bytes = self.phase = 0

    def has_all(self) -> bool:
        """Return whether all threads of the phase have arrived, or will when what they started is complete."""
        if self.pending == self.promised:
            self.receive()
        return self.pending == self.promised

    def promise(self, complete: Callable[[], None]) -> None:
        """Arrive when `complete` is called."""

        def arrive() -> int:
            complete()
            self.pending -= 1
            self.promised -= 1
            return 0

        self.promised += 1
        self.arriving.append(arrive)

    def arrive(self, announced: int = 0) -> None:
        self.bytes += announced
        self.pending -= 1
        self._end_phase()

    def receive(self) -> None:
        """Complete pending copies and products."""
        copies, self.arriving = self.arriving, []
        for copy in copies:
            self.bytes -= copy()
        self._end_phase()

    def is_complete(self, parity: int) -> bool:
        """Return whether the last phase with `parity` is complete, after data that may have arrived is stored."""
        if self.phase % 2 == parity:
            self.receive()
        return self.phase % 2 != parity

    def _end_phase(self) -> None:
        if self.pending == self.bytes == 0 and not self.arriving:
            self.phase += 1
            self.pending = self.count


def barrier_of(
    frame: Frame, call: tir.Call, number: int, is_new: bool = False, shared: dict[Any, Any] | None = None
) -> Barrier:
    """Return a barrier of the block, or of that with the memory `shared`; E0712 if it does not exist, or is not initialized."""
    barriers: list[Barrier] = (frame.shared if shared is None else shared).get(Barrier, [])
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
        frame.shared.setdefault(Barrier, [Barrier() for _ in range(count)])
        return 0

    return create


@intrinsic(INIT)
def _initialize(call: tir.Call) -> Expression:
    operands = operands_of(call)

    def initialize(frame: Frame) -> Value:
        number, count = operands(frame)
        barrier = barrier_of(frame, call, number, is_new=True)
        barrier.initialize(int(count))
        frame.world.tell_synchronize("begin", (barrier, 0), frame, call)
        return 0

    return initialize


@intrinsic(ARRIVE, REMOTE, EXPECT)
def _arrive(call: tir.Call) -> Expression:
    operands, name = operands_of(call), name_of(call)

    def arrive(frame: Frame) -> Value:
        number, *rest = map(int, operands(frame))
        if not all(rest[PREDICATES[name] - 1 :]):
            return 0
        block = block_of(frame, call, rest[0]) if name == REMOTE else None
        barrier = barrier_of(frame, call, number, shared=block)
        check_arrival(barrier, number, call)
        frame.world.tell_synchronize("arrive", (barrier, barrier.phase), frame, call)
        barrier.arrive(rest[0] if name == EXPECT else 0)
        return 0

    return arrive


def check_arrival(barrier: Barrier, number: int, call: tir.Call) -> None:
    """Raise E0712 if all threads of the phase of barrier `number` have arrived."""
    if barrier.has_all():
        reason = f"more threads arrive at barrier {number} than the {barrier.count} that it was initialized for"
        raise fault("E0712", reason, call, "let fewer threads arrive in each phase")


@exchange(WAIT)
def _wait(call: tir.Call) -> Exchange:
    operands = operands_of(call)

    def wait(frame: Frame) -> Generator[Node, None, Value]:
        number, *given = map(int, operands(frame))
        barrier, parity = barrier_of(frame, call, number), given[0] % 2 if given else 0

        def never() -> TvmsError:
            missing = (
                f"{barrier.pending} of {barrier.count} threads have not arrived, and {barrier.bytes} bytes are missing"
            )
            help = "let threads arrive, and copies be started, that do not wait for this themselves"
            return fault("E0714", f"barrier {number} is waited for in vain: {missing}", call, help)

        yield Blocked(is_ready=lambda: barrier.is_complete(parity), never=never)
        frame.world.tell_synchronize("wait", (barrier, barrier.phase - 1), frame, call)
        return 0

    return wait


@intrinsic(*COPIES)
def _copy(call: tir.Call) -> Expression:
    operands, is_multicast = operands_of(call), name_of(call) == MULTICAST
    size = numpy_dtype(call.dtype).itemsize
    tensor = tensor_map_of(call)
    swizzled = _swizzle(tensor.box_rows, size)

    def copy(frame: Frame) -> Value:
        target, at, source, rows, columns, stride, row, column, _, number, *rest = operands(frame)
        if not all(rest[1:] if is_multicast else rest):
            return 0
        first = memory_of(target, call).offset + int(at) * size
        if first % (GROUP * ROW_BYTES):
            reason, help = (
                f"the target of T.{name_of(call)} starts at byte {first}",
                f"start at a multiple of {GROUP * ROW_BYTES}",
            )
            raise fault("E0712", reason, call, help)
        box = _read(frame, call, tensor, source, tuple(map(int, (rows, columns, stride, row, column))))
        values = np.empty(box.size, box.dtype)
        values[swizzled] = box.reshape(-1)
        for block, place in _targets(frame, call, target, int(rest[0]) if is_multicast else None):
            barrier = barrier_of(frame, call, number, shared=block)
            frame.world.tell_synchronize("begin", (barrier, barrier.phase), frame, call)
            _begin(frame, call, place, int(at), box.size)
            barrier.arriving.append(partial(_store, frame, call, place, int(at), values))
        return 0

    return copy


def _targets(
    frame: Frame, call: tir.Call, place: Pointer, mask: int | None
) -> list[tuple[dict[Any, Any] | None, Pointer]]:
    """Return the memory and the place of each block that a copy to `place` reaches; `mask` has a bit for each block of a cluster."""
    if mask is None:
        return [(None, place)]
    ranks = [rank for rank in range(mask.bit_length()) if mask >> rank & 1]
    return [(block_of(frame, call, rank), in_block(frame, call, rank, place)) for rank in ranks]


def _read(frame: Frame, call: tir.Call, tensor: TensorMap, source: Pointer, sizes: tuple[int, ...]) -> Array:
    """Return a box of a matrix, with zeros outside of it."""
    rows, columns, stride, row, column = sizes
    box = np.zeros((tensor.box_rows, tensor.columns), numpy_dtype(call.dtype))
    low, high = max(column, 0), min(column + tensor.columns, columns)
    for i in range(max(-row, 0), min(tensor.box_rows, rows - row) if low < high else 0):
        place = (row + i) * stride + low
        box[i, low - column : high - column] = read_part(frame, call, source, call.dtype, place, high - low)
    return box


def _store(frame: Frame, call: tir.Call, target: Pointer, at: int, values: Array) -> int:
    """Store the data of a copy and return the number of its bytes."""
    write_part(frame, call, target, call.dtype, at, values)
    return values.nbytes


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
