"""The order of products and loads of tensor memory: `--races` for the operators of `ir.tensor_memory`.

A product has the moment of the barrier of its commit (`gpu.knowledge`), before which nobody knows that it is complete. What a
load or product must follow, its thread has to know at its last `tcgen05.fence::after_thread_sync`. A product that changes what other
threads have loaded follows their `wait::ld` and `fence::before_thread_sync`. Products of one thread follow each other.

Memory is followed by the part of it that one warp loads, 32 lanes × one column.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, TypeAlias

from msgspec import Struct

from ...ir import tir
from ...ir.diagnostics import Diagnostic, Note
from ...ir.interp.frame import Frame
from ...ir.interp.memory import View
from ...ir.matrix_units import name_of
from ...ir.tensor_copies import WAIT as WAIT_BARRIER
from ...ir.tensor_memory import AFTER, BEFORE, COMMIT, LANES, LOAD, PRODUCT, WAIT
from .architectures import WARP
from .knowledge import NEVER, Knowledge, Known, Moment

_Who: TypeAlias = tuple[int, int]
_FLOAT = 4


class _Use(Struct, eq=False):
    """A product or load of a thread. It is `complete` at a moment that other threads may know; behind `fence::before_thread_sync`,
    others know at `released` that it precedes what follows.
    """

    call: tir.Call
    who: _Who
    is_waited: bool = False
    complete: Moment = NEVER
    released: Moment = NEVER

    @property
    def is_product(self) -> bool:
        return name_of(self.call) == PRODUCT


class _Cell(Struct):
    """The last product on a part of a column, and the loads since, by thread."""

    product: _Use | None = None
    loads: dict[_Who, _Use] = {}


class TensorMemoryOrder:
    """Finds products and loads that may start before the work they depend on is complete."""

    def __init__(self, knowledge: Knowledge) -> None:
        self.problems: dict[tuple[int, int], Diagnostic] = {}
        self._knowledge = knowledge
        self._cells: dict[tuple[int, int, int], _Cell] = {}
        self._uses: dict[_Who, list[_Use]] = {}
        """The products that a thread has not committed, and its loads before a fence."""
        self._fenced: dict[_Who, Known] = {}
        """What each thread knew at its last `fence::after_thread_sync`."""
        self._keep: list[Any] = []

    def call(self, call: tir.Call, who: _Who, frame: Frame) -> None:
        """Record a fence or wait of a thread."""
        name = name_of(call)
        if name == AFTER:
            self._fenced[who] = self._knowledge.so_far(who, frame)
        if name not in (WAIT, BEFORE):
            return
        now = self._knowledge.now(who, frame)
        uses = self._uses.get(who, [])
        for use in uses:
            if name == WAIT and not use.is_product and not use.is_waited:
                use.is_waited, use.complete = True, now
            if name == BEFORE and (use.is_product or use.is_waited):
                use.released = now
        self._uses[who] = [use for use in uses if use.is_product or use.released is NEVER]

    def commit(self, who: _Who) -> None:
        """Record that a barrier tracks all products that a thread has started."""
        uses = self._uses.get(who, [])
        for use in uses:
            if use.is_product:
                use.complete = self._knowledge.of_copy()
        self._uses[who] = [use for use in uses if not use.is_product]

    def reach(self, call: tir.Call, part: View, who: _Who, name: str, frame: Frame) -> None:
        """Record a product on columns, which are given in their first lane, a load, or the end of an allocation."""
        memory, first, (count,) = part.pointer.memory, part.pointer.offset // _FLOAT, part.shape
        columns = len(memory.data) // (_FLOAT * LANES)
        lane, column = divmod(first, columns)
        self._keep.append(memory)
        if name_of(call) == LOAD:
            if who[1] % WARP < 2:  # all threads of the warp do the same, and any other thread differs from one of two
                self._load(call, who, name, self._of(memory, [lane // WARP], range(column, column + count)), frame)
        elif name_of(call) == PRODUCT:
            cells = self._of(memory, range(LANES // WARP), range(column, column + count))
            self._multiply(call, who, name, cells, frame)
        else:
            self._free(call, who, name, self._of(memory, range(LANES // WARP), range(columns)), frame)

    def _of(self, memory: Any, parts: Iterable[int], columns: Iterable[int]) -> list[_Cell]:
        return [
            self._cells.setdefault((id(memory), part, column), _Cell(None, {})) for part in parts for column in columns
        ]

    def _start(self, call: tir.Call, who: _Who) -> _Use:
        use = _Use(call, who)
        self._uses.setdefault(who, []).append(use)
        return use

    def _load(self, call: tir.Call, who: _Who, name: str, cells: list[_Cell], frame: Frame) -> None:
        use = self._start(call, who)
        for product in _different(cell.product for cell in cells):
            message = f"thread {who[1]} loads from '{name}', which the product that thread {product.who[1]} started may still change"
            self._follows(use, product, (product.complete,), message, frame)
        for cell in cells:
            cell.loads[who] = use

    def _multiply(self, call: tir.Call, who: _Who, name: str, cells: list[_Cell], frame: Frame) -> None:
        use = self._start(call, who)
        for product in _different(cell.product for cell in cells):
            if product.who != who:
                message = f"threads {product.who[1]} and {who[1]} start products on '{name}', the second without waiting for the first"
                self._follows(use, product, (product.complete, product.released), message, frame)
        for load in _different(load for cell in cells for load in cell.loads.values()):
            message = f"thread {who[1]} starts a product on '{name}', which thread {load.who[1]} may still load from"
            if not load.is_waited:
                self._report(load, use, message, f"call T.{WAIT}() behind the load")
            elif load.who != who:
                if load.released is NEVER:
                    help = f"call T.{BEFORE}() between the load and the barrier at which its thread arrives"
                    self._report(load, use, message, help)
                else:
                    self._follows(use, load, (load.released,), message, frame)
        for cell in cells:
            cell.product, cell.loads = use, {}

    def _free(self, call: tir.Call, who: _Who, name: str, cells: list[_Cell], frame: Frame) -> None:
        use = _Use(call, who)
        uses = _different(use for cell in cells for use in (cell.product, *cell.loads.values()))
        for other in uses:
            if other.who != who and not self._knowledge.knows(who, other.complete, frame):
                does = "change" if other.is_product else "load from"
                message = f"thread {who[1]} frees '{name}', which thread {other.who[1]} may still {does}"
                help = f"let the block meet at a barrier behind T.{WAIT}(), and free it then"
                self._report(other, use, message, help)

    def _follows(self, use: _Use, before: _Use, moments: tuple[Moment, ...], message: str, frame: Frame) -> None:
        """Report a use unless its thread knew one of some moments of a use before at its last fence."""
        fenced = self._fenced.get(use.who)
        if fenced is not None and any(fenced.has(moment) for moment in moments):
            return
        if all(moment is NEVER for moment in moments):
            help = f"call T.{COMMIT} behind the product, and T.{WAIT_BARRIER} for its barrier before"
        elif any(self._knowledge.knows(use.who, moment, frame) for moment in moments):
            help = f"call T.{AFTER}() behind the wait"
        elif before.is_product:
            help = f"call T.{WAIT_BARRIER} for the barrier of its T.{COMMIT} before"
        else:
            help = "wait before for a barrier at which the thread arrives behind its fence"
        self._report(before, use, message, help)

    def _report(self, before: _Use, after: _Use, message: str, help: str) -> None:
        note = Note("the product starts here" if before.is_product else "it loads here", before.call.span)
        found = Diagnostic("E0723", message, after.call.span, help=help, notes=(note,))
        self.problems.setdefault((id(before.call), id(after.call)), found)


def _different(uses: Iterable[_Use | None]) -> list[_Use]:
    """Return each of some uses once."""
    return list({id(use): use for use in uses if use is not None}.values())
