"""Races: two threads access the same element, at least one of them writes, and they are not synchronized.

The interpreter runs every thread of the lowered kernels, and compares each access with the earlier accesses
of the same element. Threads of a block synchronize at a barrier, those of a warp at a barrier of scope
"warp"; threads of different blocks never do. (K. Serebryany and T. Iskhodzhanov, "ThreadSanitizer", 2009:
happens-before.)
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from msgspec import Struct

from ...ir import tir
from ...ir.base import IRModule
from ...ir.deep import deep
from ...ir.diagnostics import Diagnostic, Note
from ...ir.dtype import parse_dtype
from ...ir.interp import run
from ...ir.interp.frame import Access, Frame, Observer, ThreadOrder
from .architectures import DEFAULT, WARP
from .kernel import SYNC, THREAD_TAGS
from .lower import lower_to_kernels, with_threads
from .rules import bind_threads
from .split import has_threads


@deep
def find_races(
    module: IRModule, entry: str, args: Sequence[Any], thread_order: ThreadOrder = "ascending"
) -> tuple[Diagnostic, ...]:
    """Call the loop function `entry`, which writes its arrays in place; return E0723 for each race.

    Raises TvmsError as lowering for a GPU does, and for faults at run time.
    """
    function = module.functions[entry]
    assert isinstance(function, tir.PrimFunc)
    function = function if has_threads(function) else bind_threads(function, DEFAULT)[0]
    lowered, _ = lower_to_kernels(function, entry)
    detector = _Detector()
    run(IRModule({entry: with_threads(lowered)}), entry, args, thread_order=thread_order, observer=detector)
    return tuple(detector.races.values())


class _AccessEvent(Struct, frozen=True):
    """An access with its thread and block, and the number of preceding barriers of the block and of the warp."""

    access: Access
    thread: int
    block: int
    barriers: int
    warp_barriers: int

    @property
    def is_write(self) -> bool:
        return isinstance(self.access, tir.BufferStore)

    def meets(self, later: _AccessEvent) -> bool:
        """Return whether this access and a `later` one conflict without synchronization."""
        if not (self.is_write or later.is_write) or (self.thread, self.block) == (later.thread, later.block):
            return False
        if self.block != later.block:
            return True
        is_same_warp = self.thread // WARP == later.thread // WARP
        return self.barriers == later.barriers and not (is_same_warp and self.warp_barriers != later.warp_barriers)


class _Element(Struct):
    """The accesses of an element: the last write, and the reads of each thread since."""

    write: _AccessEvent | None
    reads: dict[tuple[int, int], _AccessEvent]


class _Detector(Observer):
    def __init__(self) -> None:
        self.races: dict[tuple[int, int], Diagnostic] = {}
        self._blocks: dict[int, tuple[int, Any]] = {}
        self._waits: dict[tuple[int, int, str], int] = {}
        self._elements: dict[tuple[int, int], tuple[_Element, Any]] = {}

    def statement(self, stmt: tir.Stmt, frame: Frame) -> None:
        call = stmt.value if isinstance(stmt, tir.Evaluate) else None
        if isinstance(call, tir.Call) and call.op == SYNC and isinstance(call.args[0], tir.StringImm):
            scope = "warp" if call.args[0].value == "warp" else "block"
            key = (self._block(frame), _thread(frame), scope)
            self._waits[key] = self._waits.get(key, 0) + 1

    def access(self, access: Access, indices: tuple[int, ...], frame: Frame) -> None:
        pointer = frame[access.buffer.data]
        if pointer.memory.scope == "local" or not frame.thread:
            return
        kind = parse_dtype(access.buffer.dtype)
        place = (id(pointer.memory), pointer.offset + indices[0] * kind.bytes * kind.lanes)
        block, thread = self._block(frame), _thread(frame)
        waits = (self._waits.get((block, thread, scope), 0) for scope in ("block", "warp"))
        moment = _AccessEvent(access, thread, block, *waits)
        element, _ = self._elements.setdefault(place, (_Element(None, {}), pointer.memory))
        others = [element.write, *(element.reads.values() if moment.is_write else ())]
        for other in others:
            if other is not None and other.meets(moment):
                self._report(other, moment, indices)
        if moment.is_write:
            element.write, element.reads = moment, {}
        else:
            element.reads[(block, thread)] = moment

    def _block(self, frame: Frame) -> int:
        """Return the index of the current block, which has its own shared memory."""
        number, _ = self._blocks.setdefault(id(frame.shared), (len(self._blocks), frame.shared))
        return number

    def _report(self, before: _AccessEvent, after: _AccessEvent, indices: tuple[int, ...]) -> None:
        key = (id(before.access), id(after.access))
        if key in self.races:
            return
        name = after.access.buffer.name
        who = f"threads {before.thread} and {after.thread}"
        who += " of a block" if before.block == after.block else f" of blocks {before.block} and {after.block}"
        does = {True: "writes", False: "reads"}
        message = f"{who} race on element {indices[0]} of '{name}': one {does[before.is_write]} it"
        message += f", the other {does[after.is_write]} it, without a barrier between"
        note = Note(f"it {does[before.is_write]} it here", before.access.span)
        is_near = before.block == after.block
        help = (
            'put T.tvm_storage_sync("shared") between the accesses'
            if is_near
            else "blocks cannot synchronize: split the kernel between the accesses"
        )
        self.races[key] = Diagnostic("E0723", message, after.access.span, help=help, notes=(note,))


def _thread(frame: Frame) -> int:
    """Return the index of a thread in its block; x varies fastest."""
    number = 0
    for tag in THREAD_TAGS:
        _, index, size = frame.thread.get(tag, (None, 0, 1))
        number = number * size + index
    return number
