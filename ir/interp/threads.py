"""Threads of a GPU thread block: they take turns, each running to the next barrier.

A thread is the iterator that its body returns; it yields the call at which it waits. All threads of a block must reach
the same barrier; a warp shuffle synchronizes only the threads of the warp. Threads exchange values through
`Frame.shared`, between two waits.

A thread that waits for what some others do, as at a barrier in shared memory, yields `Blocked`. If no thread goes on any more, the
wait never ends.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from contextlib import suppress
from math import prod
from typing import TypeAlias, TypeVar

from .. import tir
from ..base import Node, Op
from ..diagnostics import TvmsError
from ..exchanges import ACTIVE, BARRIERS, SHUFFLES, is_busy_wait
from ..matrix_units import WARP, whole_warp_calls
from ..tensor_memory import OF_WARP
from ..visit import post_order, walk
from .expressions import Expression
from .frame import Frame, fault
from .jumps import Leave
from .scalars import Value


class Blocked(Node, frozen=True, eq=False, kw_only=True):
    """What a thread yields that waits until `is_ready`; `never` is the error if nothing can happen before."""

    is_ready: Callable[[], bool]
    never: Callable[[], TvmsError]


Body: TypeAlias = Callable[[Frame], Iterable[Node]]
Exchange: TypeAlias = Callable[[Frame], Generator[Node, None, Value]]

_REMEDY = "move it out of conditions and loops that some threads skip or leave"
_MATRIX = ("tir.ptx_mma", "tir.ptx_ldmatrix", "tir.ptx_stmatrix", "tir.ptx_wgmma_mma_async")
_WARP = (ACTIVE, *SHUFFLES, *_MATRIX, *[f"tir.{name}" for name in OF_WARP])
ENDED = "ended"
"""Key of the numbers of the threads of a block that have ended."""
_AT_END = "at end"
"""Key of what is checked at the end of a block."""
_SYNC = ("tir.tvm_storage_sync",)

_rules: dict[str, Callable[[tir.Call], Exchange]] = {}
_Rule = TypeVar("_Rule", bound=Callable[[tir.Call], Exchange])


def exchange(*names: str) -> Callable[[_Rule], _Rule]:
    """Register the decorated function as the compiler of the synchronizing intrinsics `tir.<name>`."""

    def register(rule: _Rule) -> _Rule:
        _rules.update({f"tir.{name}": rule for name in names})
        return rule

    return register


def _is_call(node: Node | None, names: tuple[str, ...]) -> bool:
    return isinstance(node, tir.Call) and isinstance(node.op, Op) and node.op.name in names


def is_exchange(call: tir.Call) -> bool:
    """Whether `call` synchronizes threads."""
    return _is_call(call, _WARP + BARRIERS)


def _is_of_warp(wait: Node | None) -> bool:
    """Whether only the threads of a warp wait for each other."""
    return _is_call(wait, _WARP) or (_is_call(wait, _SYNC) and _is_warp_barrier(wait))


def _is_warp_barrier(call: Node | None) -> bool:
    scope = call.args[0] if isinstance(call, tir.Call) and call.args else None
    return isinstance(scope, tir.StringImm) and scope.value == "warp"


def exchanges_in(node: Node) -> Iterator[tir.Call]:
    """Yield the synchronizing calls in `node`, innermost first."""
    return (found for found in post_order(node) if isinstance(found, tir.Call) and is_exchange(found))


def has_barrier(node: Node) -> bool:
    """Whether `node` contains a synchronizing call."""
    return next(exchanges_in(node), None) is not None


# --- Forking and joining --------------------------------------------------------------------------------------


def runs_together(loop: tir.For) -> bool:
    """Whether the iterations of a loop bound to threads run concurrently: they synchronize, wait for each other in a loop, or share
    a fragment. Thread blocks do not, and virtual threads are iterations of a thread.
    """
    tag = "" if loop.thread_binding is None else loop.thread_binding.thread_tag
    if not tag or tag.startswith(("blockIdx", "vthread")):
        return False
    if any(isinstance(node, tir.While) and is_busy_wait(node) for node in walk(loop.body)):
        return True
    return has_barrier(loop.body) or (tag == "threadIdx.x" and next(whole_warp_calls(loop.body), None) is not None)


def has_own_memory(body: Node) -> bool:
    """Whether each thread that runs `body` gets its own copy of surrounding memory in scope "local". If matrix products are
    the only synchronization, the loops have the same meaning when they run sequentially.
    """
    return any(not _is_call(call, _MATRIX) for call in exchanges_in(body)) or not has_barrier(body)


def compile_fork(
    variable: tir.Var, tag: str, start: Expression, extent: Expression, body: Body, own_memory: bool = True
) -> Body:
    """Return a function that runs `body` in a thread for each value of `variable`, all of them concurrently.

    With `own_memory`, each thread has its own copy of all memory in scope "local".
    """

    def run(frame: Frame) -> Iterator[Node]:
        first, size = start(frame), extent(frame)
        threads: list[Iterator[Node]] = []
        for index in frame.world.order(size):
            thread = frame.fork()
            if own_memory:
                thread.make_locals_private()
            thread[variable] = first + index
            thread.thread[tag] = (variable, index, size)
            threads.append(iter(_start(body, thread)))
        is_outermost = not any(name.startswith("threadIdx") for name in frame.thread)
        turns = _take_turns(threads)
        yield from _must_end(turns) if is_outermost and not frame.cluster else turns
        if is_outermost:
            for check in frame.shared.pop(_AT_END, ()):
                check()

    return run


def at_end_of_block(frame: Frame, check: Callable[[], None]) -> None:
    """Call `check` when all threads of the block have ended."""
    frame.shared.setdefault(_AT_END, []).append(check)


def _must_end(turns: Iterator[Node]) -> Iterator[Node]:
    """Run all threads that can wait for each other; the error of a wait that never ends if none of them goes on."""
    for wait in turns:
        if not isinstance(wait, Blocked):
            yield wait
        elif not wait.is_ready():
            raise wait.never()


def run_blocks(blocks: Sequence[Iterator[Node]], is_last: bool) -> Iterator[Node]:
    """Run blocks of a cluster in turns, each until a thread of it waits for another block; `is_last` if none is outside."""
    turns = _run_blocks(blocks)
    return _must_end(turns) if is_last else turns


def _run_blocks(blocks: Sequence[Iterator[Node]]) -> Iterator[Node]:
    waits = [next(block, None) for block in blocks]
    while any(wait is not None for wait in waits):
        blocked = [wait for wait in waits if isinstance(wait, Blocked) and not wait.is_ready()]
        if blocked and len(blocked) == sum(wait is not None for wait in waits):
            yield _any_of(blocked)
        else:
            waits = [
                wait if wait is None or wait in blocked else next(block, None)
                for block, wait in zip(blocks, waits, strict=True)
            ]


def _any_of(blocked: Sequence[Blocked]) -> Blocked:
    return Blocked(is_ready=lambda: any(wait.is_ready() for wait in blocked), never=blocked[0].never)


def keeping_place(run: Body, tag: str) -> Body:
    """Return a function that runs `run`, which iterates over the threads of an axis, and then restores the current thread."""

    def keep(frame: Frame) -> Iterator[Node]:
        before = frame.thread.get(tag)
        try:
            yield from run(frame)
        finally:
            if before is None:
                frame.thread.pop(tag, None)
            else:
                frame.thread[tag] = before

    return keep


def _start(body: Body, frame: Frame) -> Iterator[Node]:
    """Start `body` lazily, when the thread's turn comes, and note its end."""
    with suppress(Leave):
        yield from body(frame)
    frame.shared.setdefault(ENDED, set()).add(thread_number(frame))


def _take_turns(threads: Sequence[Iterator[Node]]) -> Iterator[Node]:
    """Run threads from barrier to barrier until all have ended; yield each barrier to the surrounding threads."""
    waits = [next(thread, None) for thread in threads]
    while any(wait is not None for wait in waits):
        shuffle = next((wait for wait in waits if _is_of_warp(wait)), None)
        blocked = [wait for wait in waits if isinstance(wait, Blocked)]
        ready = {wait for wait in blocked if wait.is_ready()}
        if ready or (blocked and shuffle is None):
            if not ready:
                yield _any_of(blocked)
            waits = [next(thread, None) if wait in ready else wait for thread, wait in zip(threads, waits, strict=True)]
            continue
        barrier = next(wait for wait in waits if wait is not None)
        if shuffle is None and any(wait is not barrier for wait in waits):
            said = f"only {sum(wait is barrier for wait in waits)} of {len(waits)} threads reach this barrier"
            raise fault("E0714", said, barrier, _REMEDY)
        yield barrier if shuffle is None else shuffle
        waits = [
            next(thread, None) if shuffle is None or _is_of_warp(wait) else wait
            for thread, wait in zip(threads, waits, strict=True)
        ]


# --- Exchanges ------------------------------------------------------------------------------------------------


def compile_with_exchanges(expr: tir.PrimExpr, run: Body) -> Body:
    """Return a function that first executes the exchanges in `expr` and then `run`."""
    exchanges = [(call, _compile_exchange(call)) for call in exchanges_in(expr)]
    if not exchanges:
        return run

    def cooperate(frame: Frame) -> Iterator[Node]:
        for call, exchange in exchanges:
            frame[call] = yield from exchange(frame)
        yield from run(frame)

    return cooperate


def _compile_exchange(call: tir.Call) -> Exchange:
    assert isinstance(call.op, Op)
    return _rules[call.op.name](call)


@exchange("tvm_storage_sync")
def _compile_barrier(call: tir.Call) -> Exchange:
    """`(scope)`: all threads of the block wait for each other, or with the scope "warp" those of a warp."""

    def wait(frame: Frame) -> Generator[Node, None, Value]:
        yield call
        return 0

    def wait_in_warp(frame: Frame) -> Generator[Node, None, Value]:
        first = thread_number(frame) // WARP * WARP
        size = min(WARP, thread_count(frame) - first)
        yield from meet(frame, call, 0, size, first, "a warp reach this barrier", _REMEDY)
        return 0

    return wait_in_warp if _is_warp_barrier(call) else wait


def thread_number(frame: Frame) -> int:
    """Return the number of this thread in its block: x runs fastest."""
    number = 0
    for tag in ("threadIdx.z", "threadIdx.y", "threadIdx.x"):
        _, index, size = frame.thread.get(tag, (None, 0, 1))
        number = number * size + index
    return number


def thread_count(frame: Frame) -> int:
    """Return the number of threads of the block."""
    return prod(size for tag, (_, _, size) in frame.thread.items() if tag.startswith("threadIdx."))


def tell(frame: Frame, call: tir.Call, value: Value) -> Generator[Node, None, dict[int, Value]]:
    """Share `value` with all other threads, wait, and return the value of each thread."""
    said: dict[int, Value] = frame.shared.setdefault(call, {})
    said[thread_number(frame)] = value
    yield call
    heard = dict(said)
    yield call
    return heard


class _Meeting:
    """What threads have told since they met `count` times, and what they told then."""

    def __init__(self) -> None:
        self.count = 0
        self.said: dict[int, Value] = {}
        self.heard: list[Value] = []


def meet(
    frame: Frame, call: tir.Call, value: Value, size: int, first: int, what: str, help: str
) -> Generator[Node, None, list[Value]]:
    """Wait for `size` threads from number `first` on at `call`, and return the values that they share.

    Raises TvmsError E0714, which says `what` they do, if some never get there: not before all others end or wait in vain.
    """
    meeting = frame.shared.setdefault(_Meeting, {}).setdefault((call, first), _Meeting())
    before = meeting.count
    meeting.said[thread_number(frame)] = value
    if len(meeting.said) == size:
        meeting.heard = [meeting.said[first + lane] for lane in range(size)]
        meeting.said, meeting.count = {}, meeting.count + 1

    def never() -> TvmsError:
        return fault("E0714", f"only {len(meeting.said)} of the {size} threads of {what}", call, help)

    yield Blocked(is_ready=lambda: meeting.count > before, never=never)
    return meeting.heard
