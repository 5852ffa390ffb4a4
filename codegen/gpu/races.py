"""Races: two threads access the same element, at least one of them writes, and they are not synchronized.

The interpreter runs every thread of the lowered kernels, and compares each access with the earlier accesses
of the same element, also those of intrinsics through pointers. Atomic changes do not conflict with each other, and
launches follow each other. Threads of a block synchronize at a barrier, those of a warp at a barrier of scope
"warp"; threads of different blocks never do. (K. Serebryany and T. Iskhodzhanov, "ThreadSanitizer", 2009:
happens-before.)

Each thread has its own local memory: an element that a thread reads without having written it, while another thread wrote
the element of the same buffer, is reported too.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from msgspec import Struct
from msgspec.structs import replace

from ...ir import clusters, tir
from ...ir.base import IRModule, Node
from ...ir.deep import deep
from ...ir.diagnostics import Diagnostic, Note
from ...ir.dtype import parse_dtype
from ...ir.interp import run
from ...ir.interp.frame import Access, Frame, Meets, Observer, Reach, ThreadOrder
from ...ir.interp.memory import Pointer, View
from ...ir.interp.threads import thread_number
from ...ir.matrix_units import WHOLE_WARP, is_fragment_scope, name_of
from ...ir.tensor_copies import COPIES, NUMBERED, calls_in
from ...ir.tensor_memory import COMMIT, LOAD, OPERATORS, SCOPE
from ...ir.tensor_memory import PRODUCT as TENSOR_PRODUCT
from ...ir.visit import walk
from .architectures import DEFAULT, WARP
from .kernel import SYNC
from .knowledge import NEVER, Knowledge
from .lower import lower_to_kernels, with_threads
from .race_reports import AccessEvent, race, race_with_copy
from .rules import bind_threads
from .split import has_threads
from .tensor_memory_order import TensorMemoryOrder
from .warpgroup_order import WarpgroupOrder, is_box, is_product

_WHOLE_WARP = (*WHOLE_WARP, "ptx_ldmatrix")
"""The operators whose accesses all threads of a warp make together."""
_NEVER = 1 << 62
"""More barriers than there are."""


@deep
def find_races(
    module: IRModule, entry: str, args: Sequence[Any], thread_order: ThreadOrder = "ascending"
) -> tuple[Diagnostic, ...]:
    """Call the loop function `entry`, which writes its arrays in place; return E0723 for each race, and E0710 for
    each read of local memory that only other threads wrote.

    Raises TvmsError as lowering for a GPU does, and for faults at run time.
    """
    function = module.functions[entry]
    assert isinstance(function, tir.PrimFunc)
    function = function if has_threads(function) else bind_threads(function, DEFAULT)[0]
    lowered, _ = lower_to_kernels(function, entry)
    detector = _Detector(lowered)
    run(IRModule({entry: with_threads(lowered)}), entry, args, thread_order=thread_order, observer=detector)
    detector.finish()
    of_barriers = detector.knowledge.problems.values()
    return (
        *detector.races.values(),
        *of_barriers,
        *detector.order.problems.values(),
        *detector.tensor_memory.problems.values(),
        *detector.local.reads_of_others(),
    )


class _Element(Struct):
    """The accesses of an element: the last write, and the last reads and atomic changes of each thread since."""

    write: AccessEvent | None
    since: dict[str, dict[tuple[tuple[int, int], bool], AccessEvent]]


class _LocalMemory:
    """The accesses of threads to local memory."""

    def __init__(self) -> None:
        self._own: dict[tuple[int, int], tuple[Any, tir.Var | None]] = {}
        """The memory of each written byte, and the pointer of its last store, by memory and place."""
        self._writes: dict[tuple[int, int, tir.Var, int], dict[int, AccessEvent]] = {}
        """The first write of each thread, by launch, block, pointer and place."""
        self._unwritten: list[tuple[AccessEvent, tir.Var, int, tuple[str, int]]] = []

    def knows(self, access: Access, memory: Any, places: range) -> bool:
        """Return whether an access says nothing new: its thread wrote all bytes `places` before, by the same pointer if it is a store."""
        found = [self._own.get((id(memory), place)) for place in places]
        if isinstance(access, tir.BufferStore):
            return all(own is not None and own[1] is access.buffer.data for own in found)
        return None not in found

    def write(self, memory: Any, place: int, data: tir.Var | None = None) -> None:
        """Record that the owner of `memory` wrote the element at byte `place`, by the pointer `data` or by an intrinsic."""
        self._own[id(memory), place] = memory, data

    def access(self, event: AccessEvent, data: tir.Var, memory: Any, place: int, named: tuple[str, int]) -> None:
        """Record a load or a store of the element at byte `place` behind the pointer `data`."""
        if event.kind == "write":
            self.write(memory, place, data)
            self._writes.setdefault((event.launch, event.block, data, place), {}).setdefault(event.thread, event)
        elif (id(memory), place) not in self._own:
            self._unwritten.append((event, data, place, named))

    def reads_of_others(self) -> tuple[Diagnostic, ...]:
        """Return an error for each load of an element that was written by another thread of the block, but not by the loading one."""
        found: dict[Any, Diagnostic] = {}
        for event, data, place, (name, index) in self._unwritten:
            writes = self._writes.get((event.launch, event.block, data, place), {})
            other = next((write for thread, write in writes.items() if thread != event.thread), None)
            if other is not None and event.node not in found:
                message = f"thread {event.thread} reads element {index} of its own '{name}', which it has not written"
                note = Note(f"thread {other.thread} writes its own copy of the element here", other.node.span)
                help = f"allocate '{name}' in scope 'shared': each thread has its own local memory"
                found[event.node] = Diagnostic("E0710", message, event.node.span, help=help, notes=(note,))
        return tuple(found.values())


class _Detector(Observer):
    def __init__(self, function: tir.PrimFunc) -> None:
        self.races: dict[tuple[int, int], Diagnostic] = {}
        self._has_products = any(map(is_product, walk(function)))
        self.knowledge = Knowledge(bool(calls_in(function, (*NUMBERED, *clusters.OPERATORS, *OPERATORS))))
        self.local, self.order, self.tensor_memory = _LocalMemory(), WarpgroupOrder(), TensorMemoryOrder(self.knowledge)
        self._launch = 0
        self._inner: set[Node] = set()
        """The axes of threads inside the first one of the current launch."""
        self._blocks: dict[int, tuple[int, Any]] = {}
        self._waits: dict[tuple[int, int, str], int] = {}
        self._elements: dict[tuple[int, int], tuple[_Element, Any]] = {}
        self._copies: dict[tuple[int, int, int, int], int] = {}
        """The number of barriers of the block before each pending copy of a thread was begun, by its target."""
        self._pending: dict[tuple[int, int], dict[tuple[int, int], AccessEvent]] = {}
        """The copies of threads that may still write an element, by its memory and place."""
        self._reads: dict[tuple[int, int, int, int], tuple[AccessEvent, Any, range, str, Frame]] = {}
        """The first pending read of a part of memory by a product of a thread."""
        self._uncommitted: dict[tuple[int, int], list[tuple[AccessEvent, Any, range]]] = {}
        """The reads by products of a thread that no barrier tracks yet."""

    def statement(self, stmt: tir.Stmt, frame: Frame) -> None:
        if _is_axis(stmt) and stmt not in self._inner:
            self._launch += 1
            self._inner = {inner for inner in walk(stmt) if _is_axis(inner) and inner is not stmt}
        call = stmt.value if isinstance(stmt, tir.Evaluate) else None
        if isinstance(call, tir.Call) and frame.thread:
            who = self._block(frame), thread_number(frame)
            self.order.call(name_of(call), who, self._waits.get((*who, "block"), 0))
            self.tensor_memory.call(call, who, frame)
        if isinstance(call, tir.Call) and call.op == SYNC and isinstance(call.args[0], tir.StringImm):
            scope = "warp" if call.args[0].value == "warp" else "block"
            key = (self._block(frame), thread_number(frame), scope)
            self._waits[key] = self._waits.get(key, 0) + 1
            self.knowledge.meet(key[:2], scope, self._waits[key], frame)

    def synchronize(self, kind: Meets, key: Any, frame: Frame, call: tir.Call) -> None:
        who = self._block(frame), thread_number(frame)
        self.knowledge.synchronize(kind, key, who, frame, call)
        if name_of(call) == COMMIT:
            self.tensor_memory.commit(who)
            self._commit(who)

    def access(self, access: Access, indices: tuple[int, ...], frame: Frame) -> None:
        pointer, dtype = frame[access.buffer.data], parse_dtype(access.buffer.dtype)
        is_local = pointer.memory.scope == "local"
        if not frame.thread or (_is_private(pointer.memory.scope) and not is_local):
            return
        first = pointer.offset + indices[0] * dtype.bytes * dtype.lanes
        places = range(first, first + dtype.bytes * dtype.lanes, dtype.bytes)
        if is_local and not self._has_products and self.local.knows(access, pointer.memory, places):
            return
        kind = "write" if isinstance(access, tir.BufferStore) else "read"
        event, named = self._event(access, kind, frame), (access.buffer.name, indices[0])
        for place in places:
            if is_local:
                self.local.access(event, access.buffer.data, pointer.memory, place, named)
                self.order.access(event, pointer.memory, place, named[0])
            else:
                self._note(event, pointer.memory, place, named, frame)

    def reach(self, call: tir.Call, kind: Reach, part: View, frame: Frame) -> None:
        memory, size = part.pointer.memory, part.flat.itemsize
        if not frame.thread or is_fragment_scope(memory.scope):
            return
        if memory.scope == SCOPE:
            who = self._block(frame), thread_number(frame)
            self.tensor_memory.reach(call, part, who, _name_in(frame, memory), frame)
            return
        start, (count,) = part.pointer.offset, part.shape
        places = range(start, start + count * size, size)
        if memory.scope == "local":
            if is_product(call) or name_of(call) == LOAD:
                self.order.accumulate(self._event(call, kind, frame), memory, places, _name_in(frame, memory))
            for place in places if kind != "read" else ():
                self.local.write(memory, place)
            return
        block, thread = self._block(frame), thread_number(frame)
        is_whole = name_of(call) in _WHOLE_WARP
        if is_whole and thread % WARP > 1:
            return  # all threads of the warp do the same, and any other thread differs from one of two
        copy = (block, thread, id(memory), start)
        if name_of(call) in COPIES and memory.scope != "global":
            if kind == "begin":
                target = call.args[0]  # memory of another block has no other name
                name = target.name if isinstance(target, tir.Var) else _name_in(frame, memory)
                self._copied(self._event(call, "write", frame), memory, places, name, frame)
            return
        event = self._event(call, kind, frame, is_whole)
        if name_of(call) == TENSOR_PRODUCT:
            self._read_until_commit(event, memory, places, frame)
            return
        if is_product(call):
            self._read_by_product(copy, event, memory, places, frame)
            return
        name = _name_in(frame, memory)
        if kind == "begin":
            self._copies[copy] = event.barriers
            started = replace(event, kind="write")
            for place in places:
                self._note_pending(started, memory, place, (name, place // size))
            return
        if kind == "write":
            event = replace(event, began=self._copies.pop(copy, event.barriers))
            for place in places:
                self._pending.get((id(memory), place), {}).pop(event.who, None)
        for place in places:
            self._note(event, memory, place, (name, place // size), frame)

    def _note_pending(self, event: AccessEvent, memory: Any, place: int, named: tuple[str, int]) -> None:
        """Keep a copy that starts, and report pending copies of other threads to the same element."""
        pending = self._pending.setdefault((id(memory), place), {})
        self._check_pending({who: other for who, other in pending.items() if who != event.who}, event, named)
        pending[event.who] = event

    def _check_pending(
        self, pending: Mapping[tuple[int, int], AccessEvent], event: AccessEvent, named: tuple[str, int]
    ) -> None:
        """Report that `event` accesses an element while the `pending` copies to it may still be running."""
        for copy in pending.values():
            key = (id(copy.node), id(event.node))
            if copy.launch == event.launch and key not in self.races:
                self.races[key] = race_with_copy(copy, event, named)

    def _copied(self, event: AccessEvent, memory: Any, places: range, name: str, frame: Frame) -> None:
        """Note a copy of a box: it conflicts with everything that is not behind a wait for its barrier."""
        event = replace(event, barriers=_NEVER, moment=self.knowledge.of_copy(), is_later=True)
        for place in places:
            self._note(event, memory, place, (name, place // places.step), frame)

    def _read_by_product(
        self, key: tuple[int, int, int, int], event: AccessEvent, memory: Any, places: range, frame: Frame
    ) -> None:
        """Note a read of a product when it begins, and another one when it is complete: it may read at any time in between."""
        name = _name_in(frame, memory)
        if event.kind == "begin":
            event = replace(event, kind="read", known=self.knowledge.so_far(event.who, frame))
            self._reads.setdefault(key, (event, memory, places, name, frame))
        elif key in self._reads:
            first, *_ = self._reads.pop(key)
            event = replace(event, began=first.began, known=first.known)
        for place in places:
            self._note(event, memory, place, (name, place // places.step), frame)

    def _read_until_commit(self, event: AccessEvent, memory: Any, places: range, frame: Frame) -> None:
        """Note a read of a product when it begins, which ends at the moment of the barrier of its commit."""
        if event.kind != "begin":
            return
        known = self.knowledge.so_far(event.who, frame)
        event = replace(event, kind="read", barriers=_NEVER, moment=NEVER, known=known, is_later=True)
        name = _name_in(frame, memory)
        for place in places:
            self._note(event, memory, place, (name, place // places.step), frame)
        self._uncommitted.setdefault(event.who, []).append((event, memory, places))

    def _commit(self, who: tuple[int, int]) -> None:
        """Record that all products that a thread has started are complete at the moment of a barrier."""
        for event, memory, places in self._uncommitted.pop(who, ()):
            committed = replace(event, moment=self.knowledge.of_copy())
            for place in places:
                reads = self._elements[id(memory), place][0].since["read"]
                if reads.get((who, True)) is event:
                    reads[who, True] = committed

    def finish(self) -> None:
        """Note the reads of products that no thread has waited for."""
        for event, memory, places, name, frame in self._reads.values():
            for place in places:
                self._note(event, memory, place, (name, place // places.step), frame)

    def _event(self, node: Access | tir.Call, kind: Reach, frame: Frame, is_whole: bool = False) -> AccessEvent:
        block, thread = self._block(frame), thread_number(frame)
        barriers, warp_barriers = (self._waits.get((block, thread, scope), 0) for scope in ("block", "warp"))
        proxies, moment = self.order.proxies((block, thread)), self.knowledge.now((block, thread), frame)
        return AccessEvent(
            node, kind, self._launch, thread, block, barriers, warp_barriers, barriers, is_whole, proxies, moment
        )

    def _note(self, event: AccessEvent, memory: Any, place: int, named: tuple[str, int], frame: Frame) -> None:
        """Report the conflicts of an access with earlier ones of the element at byte `place`, and keep it."""
        pending = self._pending.get((id(memory), place))
        if pending:
            self._check_pending(pending, event, named)
        found = self._elements.get((id(memory), place))
        if found is None:
            found = self._elements[id(memory), place] = _Element(None, {"read": {}, "update": {}}), memory
        element, _ = found
        if (
            element.write is not None
            and event.kind == "read"
            and is_product(event.node)
            and not is_box(element.write.node)
            and not element.write.meets(event)
        ):
            self.order.check_proxy(element.write, event, named)
        others = [then for kind, events in element.since.items() if kind != event.kind for then in events.values()]
        for other in (element.write, *others):
            if other is None or not other.meets(event):
                continue
            if event.known is not None:
                is_before = event.known.has(other.moment)
            else:
                is_before = self.knowledge.knows(event.who, other.moment, frame)
            key = (id(other.node), id(event.node))
            if not is_before and key not in self.races:
                self.races[key] = race(other, event, named)
        if event.kind == "write":
            element.write, element.since = event, {"read": {}, "update": {}}
        else:
            element.since[event.kind][event.who, event.is_later] = event

    def _block(self, frame: Frame) -> int:
        """Return the index of the current block, which has its own shared memory."""
        number, _ = self._blocks.setdefault(id(frame.shared), (len(self._blocks), frame.shared))
        return number


def _is_axis(node: Node) -> bool:
    """Return whether `node` is an axis of the threads or blocks of a launch."""
    return isinstance(node, tir.AttrStmt) and node.attr_key == "thread_extent"


def _is_private(scope: str) -> bool:
    """Return whether memory of a scope belongs to one thread, or in parts to the threads of a warp."""
    return scope == "local" or is_fragment_scope(scope)


def _name_in(frame: Frame, memory: Any) -> str:
    """Return the name of the buffer, or of the pointer, that the program has for memory."""
    names = [
        (not isinstance(key, tir.Buffer), key.name)
        for key, value in frame.items()
        if (isinstance(value, View) and value.pointer.memory is memory)
        or (isinstance(value, Pointer) and value.memory is memory)
    ]
    return min(names, default=(True, "shared memory"))[1]
