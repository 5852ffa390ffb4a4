"""The order that the products of warpgroups need beside barriers: fences before them and waits behind them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Protocol, TypeAlias

from ...ir import tir
from ...ir.base import Node
from ...ir.diagnostics import Diagnostic, Note
from ...ir.matrix_units import name_of
from ...ir.tensor_copies import COPIES
from ...ir.tensor_memory import LOAD
from ...ir.tensor_memory import PRODUCT as TENSOR_PRODUCT
from ...ir.tensor_memory import WAIT as WAIT_LOAD
from ...ir.warpgroups import FENCE, PRODUCT, PROXY, WAIT

_Who: TypeAlias = tuple[int, int]
_Place: TypeAlias = tuple[int, int]


class _Event(Protocol):
    """What is needed of `races._AccessEvent`."""

    @property
    def node(self) -> Node: ...
    @property
    def kind(self) -> str: ...
    @property
    def who(self) -> _Who: ...
    @property
    def launch(self) -> int: ...
    @property
    def thread(self) -> int: ...
    @property
    def barriers(self) -> int: ...
    @property
    def proxies(self) -> int: ...


class WarpgroupOrder:
    """Finds accumulators that are accessed while a product changes them, or were changed without `wgmma.fence` before a product;
    and factors that were written without `fence.proxy.async`.
    """

    def __init__(self) -> None:
        self.problems: dict[tuple[Node, Node], Diagnostic] = {}
        self._changed: dict[_Who, dict[_Place, Node]] = {}
        """The stores of each thread to local memory since its last `wgmma.fence`."""
        self._pending: dict[_Place, Node] = {}
        """The product that changes an element of local memory, until it is waited for."""
        self._proxies: dict[_Who, list[int]] = {}
        """The number of barriers of the block before each `fence.proxy.async` of a thread."""

    def call(self, name: str, who: _Who, barriers: int) -> None:
        """Record that a thread calls an operator after `barriers` barriers of its block."""
        if name == FENCE:
            self._changed.pop(who, None)
        elif name == PROXY:
            self._proxies.setdefault(who, []).append(barriers)

    def proxies(self, who: _Who) -> int:
        """Return how often a thread has called `fence.proxy.async`."""
        return len(self._proxies.get(who, ()))

    def access(self, event: _Event, memory: Any, place: int, name: str) -> None:
        """Record a load or store of local memory."""
        key = id(memory), place
        if event.kind == "write":
            self._changed.setdefault(event.who, {})[key] = event.node
        product = self._pending.get(key)
        if product is not None:
            does, is_load = "changes" if event.kind == "write" else "reads", _is_call(product, LOAD)
            wait, what = (WAIT_LOAD, "load that writes") if is_load else (WAIT, "product that changes")
            message = f"thread {event.thread} {does} '{name}' before T.{wait} has waited for the {what} it"
            note = Note("the load starts here" if is_load else "the product starts here", product.span)
            self._report(product, event.node, message, f"call T.{wait}({'' if is_load else 0}) before the access", note)

    def accumulate(self, event: _Event, memory: Any, places: Sequence[int], name: str) -> None:
        """Record that a product starts to change an accumulator, that a load starts to write local memory, or that it is complete."""
        keys = [(id(memory), place) for place in places]
        if event.kind == "write":
            for key in keys:
                self._pending.pop(key, None)
        if event.kind != "begin":
            return
        changed = self._changed.get(event.who, {})
        store = next((changed[key] for key in keys if key in changed), None)
        if store is not None and _is_call(event.node, PRODUCT):
            message = (
                f"T.{PRODUCT} adds to '{name}', which thread {event.thread} has changed, without T.{FENCE} between"
            )
            note = Note("it is changed here", store.span)
            self._report(store, event.node, message, f"call T.{FENCE}() between the store and the product", note)
        self._pending.update(dict.fromkeys(keys, event.node))

    def check_proxy(self, write: _Event, read: _Event, named: tuple[str, int]) -> None:
        """Report a product that reads an element which was written without `fence.proxy.async` behind the write and, if another
        thread wrote it, before the barrier.
        """
        fences = self._proxies.get(write.who, [])[write.proxies :]
        if write.launch != read.launch or any(at < read.barriers or write.who == read.who for at in fences):
            return
        name, index = named
        product = name_of(read.node) if isinstance(read.node, tir.Call) else PRODUCT
        message = f"T.{product} reads element {index} of '{name}', which thread {write.thread} wrote without T.{PROXY}"
        note = Note("it is written here", write.node.span)
        self._report(write.node, read.node, message, f"call T.{PROXY}() between the write and the barrier", note)

    def _report(self, before: Node, after: Node, message: str, help: str, note: Note) -> None:
        found = Diagnostic("E0723", message, after.span, help=help, notes=(note,))
        self.problems.setdefault((before, after), found)


def is_product(node: object) -> bool:
    """Return whether `node` is an asynchronous product of factors in shared memory."""
    return _is_call(node, PRODUCT, TENSOR_PRODUCT)


def is_box(node: object) -> bool:
    """Return whether `node` is a copy of a box, which products see without a fence."""
    return _is_call(node, *COPIES)


def _is_call(node: object, *names: str) -> bool:
    return isinstance(node, tir.Call) and name_of(node) in names
