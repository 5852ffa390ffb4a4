"""The state of a running function: values of variables, thread indices, and the options of the run."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, TypeAlias, cast

import numpy as np

from .. import relax, tir
from ..base import BaseFunc, IRModule, Node
from ..diagnostics import Note, TvmsError, error
from ..functions import find_function
from ..matrix_units import is_fragment_scope
from .memory import Array, Memory, Pointer, View, allocate

ThreadOrder: TypeAlias = Literal["ascending", "descending", "random"]
Tier: TypeAlias = Literal["auto", "obvious", "lanes"]


Access: TypeAlias = tir.BufferLoad | tir.BufferStore
Reach: TypeAlias = Literal["read", "write", "update", "begin"]
"""How an intrinsic reaches memory through a pointer: "update" is atomic, and "begin" starts a copy that writes later."""

Meets: TypeAlias = Literal["begin", "arrive", "wait"]
"""How a thread meets others at a barrier in shared memory: it initializes the barrier, arrives, or has waited."""


class Observer:
    """Ignores all events; an exception in an override ends the run."""

    def statement(self, stmt: tir.Stmt, frame: Frame) -> None:
        """Handle that `stmt` is about to run, with the values in `frame`."""

    def access(self, access: Access, indices: tuple[int, ...], frame: Frame) -> None:
        """Handle that the element at `indices` of the buffer of `access` is about to be read or written; it is inside."""

    def reach(self, call: tir.Call, kind: Reach, part: View, frame: Frame) -> None:
        """Handle that an intrinsic reaches the elements `part` of memory through a pointer."""

    def synchronize(self, kind: Meets, key: Any, frame: Frame, call: tir.Call) -> None:
        """Handle that a thread meets others at `key`, such as a phase of a barrier: those that wait there learn what it did before."""

    def binding(self, binding: relax.Binding, frame: Frame) -> None:
        """Handle that a binding of a graph function is about to be evaluated."""

    def enter(self, function: BaseFunc, name: str, frame: Frame) -> None:
        """Handle that `function` starts, with its parameters in `frame`; a loop function is given as it is executed."""

    def leave(self, function: BaseFunc, frame: Frame) -> None:
        """Handle that the function that started last has reached its end. A fault ends functions without this event."""

    def overwrite(self, target: Array) -> None:
        """Handle that the elements of `target`, which shares memory with a buffer or tensor, may be about to change."""

    def allocate(self, memory: Memory) -> None:
        """Handle that memory was allocated."""


@dataclass
class World:
    """The state and options that all functions of a run share."""

    module: IRModule
    functions: dict[str, Callable[..., Any]] = field(default_factory=dict[str, Callable[..., Any]])
    """External functions by name."""
    random: np.random.Generator = field(default_factory=lambda: np.random.default_rng(0))
    """Source of the contents of uninitialized memory, and of a random order of threads."""
    track: bool = False
    """Whether a read of uninitialized memory is an error."""
    thread_order: ThreadOrder = "ascending"
    """The order of parallel iterations, and of threads between barriers."""
    tier: Tier = "auto"
    """Which loops run in lockstep: those with enough iterations, none, or all that can."""
    execute: Callable[[Any, Sequence[Any]], bool] | None = None
    """Alternative executor of loop functions; returns whether it executed the call."""
    report: Callable[[str], None] | None = None
    """Callback for messages about progress."""
    observer: Observer | None = None
    """Observer of statements and accesses."""
    compiled: dict[Node, Any] = field(default_factory=dict[Node, Any])
    """Cache of compiled functions."""

    def allocate(self, dtype: str, count: int, scope: str) -> Pointer:
        """Return poisoned memory."""
        pointer = allocate(dtype, count, scope, self.random, self.track)
        if self.observer is not None:
            self.observer.allocate(pointer.memory)
        return pointer

    def order(self, count: int) -> Iterable[int]:
        """Return the order in which `count` threads run."""
        match self.thread_order:
            case "random":
                return self.random.permutation(count).tolist()
            case "descending":
                return reversed(range(count))
            case _:
                return range(count)

    def tell(self, stmt: tir.Stmt, frame: Frame) -> None:
        """Tell the observer that `stmt` is about to run."""
        if self.observer is not None:
            self.observer.statement(stmt, frame)

    def tell_access(self, access: Access, indices: tuple[int, ...], frame: Frame) -> None:
        """Tell the observer that the element at `indices` is about to be accessed."""
        if self.observer is not None:
            self.observer.access(access, indices, frame)

    def tell_reach(self, call: tir.Call, kind: Reach, part: View, frame: Frame) -> None:
        """Tell the observer that an intrinsic reaches the elements `part` of memory through a pointer."""
        if self.observer is not None:
            self.observer.reach(call, kind, part, frame)

    def tell_synchronize(self, kind: Meets, key: Any, frame: Frame, call: tir.Call) -> None:
        """Tell the observer that a thread meets others at `key`."""
        if self.observer is not None:
            self.observer.synchronize(kind, key, frame, call)

    def tell_overwrite(self, target: Array) -> None:
        """Tell the observer that the elements of `target` may be about to change."""
        if self.observer is not None:
            self.observer.overwrite(target)

    def external(self, name: str, node: Node) -> Callable[..., Any]:
        """Return the external function `name`, given or registered; E0715 if there is none."""
        function = self.functions.get(name) or find_function(name, node.span)
        if self.observer is None:
            return function

        def observed(*args: Any) -> Any:
            for arg in args:
                if isinstance(arg, Pointer):
                    self.tell_overwrite(arg.memory.data)
                elif isinstance(arg, np.ndarray):
                    self.tell_overwrite(cast("Array", arg))
            return function(*args)

        return observed


class Frame(dict[Any, Any]):
    """The values of variables, and the views of buffers, while a function runs.

    `shared` holds the shared memory of a thread block, by the statement that allocates it, and the values that its threads
    exchange; `thread` holds, by thread tag, the variable of each thread axis, this thread's index, and the number of threads.
    `cluster` holds, by thread tag, which cluster of blocks this is along an axis, this block's index in it, and the number of its blocks;
    `clusters` holds the clusters by these positions (`interp.clusters`).
    `views` holds the last view of each buffer of constant shape, with its pointer.
    """

    def __init__(self, world: World) -> None:
        super().__init__()
        self.world = world
        self.shared: dict[Any, Any] = {}
        self.thread: dict[str, tuple[Node, int, int]] = {}
        self.cluster: dict[str, tuple[int, int, int]] = {}
        self.clusters: dict[Any, Any] = {}
        self.views: dict[tir.Buffer, tuple[Any, View]] = {}

    def __missing__(self, key: Any) -> Any:
        name = key.name_hint if isinstance(key, relax.Var) else key.name
        raise fault("E0709", f"'{name}' has no value here", key)

    def fork(self) -> Frame:
        """Return a copy of the frame for a new thread."""
        child = Frame(self.world)
        child.update(self)
        child.shared = self.shared
        child.thread = dict(self.thread)
        child.cluster, child.clusters = dict(self.cluster), self.clusters
        return child

    def make_locals_private(self) -> None:
        """Give this thread its own copy of all memory in scope "local", and of fragments."""
        copies: dict[Memory, Memory] = {}

        def is_private(memory: Memory) -> bool:
            return memory.scope == "local" or is_fragment_scope(memory.scope)

        def own(pointer: Pointer) -> Pointer:
            memory = pointer.memory
            return Pointer(copies.setdefault(memory, memory.copy()), pointer.offset)

        for name, value in self.items():
            if isinstance(value, Pointer) and is_private(value.memory):
                self[name] = own(value)
            elif isinstance(value, View) and is_private(value.pointer.memory):
                self[name] = value.moved(own(value.pointer))


def fault(code: str, message: str, node: Node, help: str | None = None, *reasons: str) -> TvmsError:
    """Return the error for a program that faulted at `node`."""
    return error(code, message, node.span, help, *map(Note, reasons))
