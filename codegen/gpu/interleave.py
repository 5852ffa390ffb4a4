"""Simulation of threads that wait for each other one by one: at barriers in shared memory, at those of a cluster, and at named ones.

The code of a thread is cut into states at its waits. Each thread has the number of its state, and runs until it has to wait; the
threads take turns until none of them goes on. One that is not at the end then waits in vain (E0714). The blocks of a cluster are
simulated together: their shared memory has a part for each of them.

    a; wait until x; b     →     state[t] = 0 for all t
                                 while some thread goes on:
                                     for t: while t goes on:
                                         if state[t] == 0: a; state[t] = 1
                                         if state[t] == 1 and x: b; state[t] = 2

Shuffles and barriers of a warp are waits of all its threads. Kernels whose threads only meet at barriers of the block are simulated by `simulate`, which makes faster code.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from msgspec import Struct
from msgspec.structs import replace

from ...ir import clusters, make, tir
from ...ir.base import Node
from ...ir.diagnostics import error
from ...ir.idioms import NOTHING
from ...ir.matrix_units import WARP, name_of, number
from ...ir.visit import walk
from ..lower.rewriter import sequence
from .exchange import active_lanes, shuffled_from
from .kernel import ACTIVE, SYNC, Axis, Kernel, is_apart, is_exchange, scope_of, size_of
from .simulate import TRUE, ZERO, Array, Simulator, check_stays, memory_size, over_grid, poison, simulate
from .structured import without_jumps
from .tensor_copies import IN_BLOCK, WAIT_UNTIL, check

_END = -1
_OF_BLOCK = "not all threads of the block reach this barrier"
_VAIN = "threads wait here in vain: others do not arrive"


def simulate_kernel(kernel: Kernel, is_ascending: bool = True) -> tir.Stmt:
    """Return the loops that simulate a launch of `kernel`, which has no matrix units: in ascending order, or in one given at run time.

    Raises TvmsError E0606 if a thread may leave the function in a loop in which threads wait for each other.
    """
    if kernel.clusters or _waits(kernel.body):
        return _of_clusters(kernel, is_ascending)
    return simulate(kernel, is_ascending)


def _waits(stmt: tir.Stmt) -> bool:
    """Return whether threads wait one by one in `stmt`."""
    calls = (node for node in walk(stmt) if isinstance(node, tir.Call))
    return any(call.op == WAIT_UNTIL or name_of(call) in clusters.OPERATORS for call in calls)


def _of_clusters(kernel: Kernel, is_ascending: bool) -> tir.Stmt:
    """Return the loops over the clusters of a grid."""
    inner = {clusters.block_tag(axis.tag): axis for axis in kernel.clusters}
    machine, grid = _Machine(kernel, is_ascending), list[Axis]()
    for axis in kernel.blocks:
        of_cluster = inner.get(axis.tag)
        if of_cluster is None:
            grid.append(axis)
            continue
        count = make.floordiv(axis.extent, make.const(size_of(of_cluster), axis.extent.dtype))
        grid.append(Axis(axis.tag, replace(axis.var), count))
        first = make.mul(grid[-1].var, make.const(size_of(of_cluster), axis.var.dtype))
        machine.values[axis.var] = make.add(first, make.cast(of_cluster.var, axis.var.dtype))
    whole = over_grid(grid, machine.simulated(without_jumps(kernel.body)), is_ascending)
    for axis in kernel.clusters:
        whole = sequence([*_divisible(axis, kernel), whole])
    return whole


def _divisible(of_cluster: Axis, kernel: Kernel) -> list[tir.Stmt]:
    """Return the check that a grid consists of whole clusters along an axis, unless its extent is constant and was checked."""
    extent = next(axis.extent for axis in kernel.blocks if axis.tag == clusters.block_tag(of_cluster.tag))
    if isinstance(extent, tir.IntImm):
        return []
    rest = make.floormod(extent, make.const(size_of(of_cluster), extent.dtype))
    message = (
        f"the blocks along '{clusters.block_tag(of_cluster.tag)}' do not consist of clusters of {size_of(of_cluster)}"
    )
    return [check(make.equal(rest, make.const(0, extent.dtype)), "E0611", message, of_cluster.var)]


class _State(Struct, frozen=True):
    """A part of the code of a thread, which begins when `condition` holds; `message` is that of a thread that waits for it at `place`
    for ever.
    """

    code: tir.Stmt
    condition: tir.PrimExpr | None = None
    place: Node | None = None
    message: str = ""


class _Meeting(Struct, frozen=True):
    """Places at which threads wait for each other: how many have arrived at each, how often all have, and how often that was when a
    thread arrived.
    """

    arrived: Array
    phase: Array
    mine: Array


class _Machine(Simulator):
    """Cuts the code of a thread into states."""

    def __init__(self, kernel: Kernel, is_ascending: bool) -> None:
        super().__init__((*kernel.clusters, *kernel.threads), is_ascending)
        self._block_threads, self._blocks = kernel.thread_count, kernel.cluster_size
        self._block = make.floordiv(self._thread, tir.IntImm("int64", self._block_threads))
        """The rank of a thread's block in its cluster."""
        self._sizes: dict[tir.Var, tir.PrimExpr] = {}
        """The number of elements that each block has in shared memory."""
        self._memory: list[tir.Allocate] = []
        self._meetings: dict[str, _Meeting] = {}
        self._states: list[_State] = []
        self._state = self._array("state", "int64")
        self._goes_on, self._any = self._array("goes_on", "bool", 1), self._array("any", "bool", 1)

    def simulated(self, body: tir.Stmt) -> tir.Stmt:
        """Return the statement that runs all threads of a cluster."""
        start, stop = self._later(self._run(body, self._go(_END))), make.const(0, "bool")
        turn = [self._goes_on.store(ZERO, stop), *map(self._step, range(len(self._states)))]
        whole = tir.While(self._goes_on.load(ZERO), sequence(turn))
        turns = self._each(sequence([self._goes_on.store(ZERO, TRUE), whole]), None)
        parts: list[tir.Stmt] = [
            *[
                _filled(array)
                for meeting in self._meetings.values()
                for array in (meeting.arrived, meeting.phase, meeting.mine)
            ],
            self._each(start, None),
            self._any.store(ZERO, TRUE),
            tir.While(self._any.load(ZERO), sequence([self._any.store(ZERO, stop), turns])),
            self._each(sequence(self._ends()), None),
        ]
        for allocation in reversed(self._memory):
            parts = [replace(allocation, body=sequence([poison(allocation, allocation.extents[0]), *parts]))]
        for array in reversed(self._arrays):
            buffer = array.buffer
            parts = [tir.Allocate(buffer.data, buffer.dtype, buffer.shape, TRUE, sequence(parts))]
        return sequence(parts)

    # --- States

    def _go(self, state: int) -> tir.Stmt:
        return self._state.store(self._thread, tir.IntImm("int64", state))

    def _is_in(self, state: int) -> tir.PrimExpr:
        return make.equal(self._state.load(self._thread), tir.IntImm("int64", state))

    def _later(
        self, code: tir.Stmt, condition: tir.PrimExpr | None = None, place: Node | None = None, message: str = _VAIN
    ) -> tir.Stmt:
        """Make `code` a state, and return the statement that goes there."""
        self._states.append(_State(code, condition, place, message))
        return self._go(len(self._states) - 1)

    def _step(self, number: int) -> tir.Stmt:
        """Return the statement that runs a state if the thread is in it and does not wait."""
        state = self._states[number]
        run = sequence([state.code, self._goes_on.store(ZERO, TRUE), self._any.store(ZERO, TRUE)])
        run = run if state.condition is None else tir.IfThenElse(state.condition, run)
        return tir.IfThenElse(self._is_in(number), run)

    def _ends(self) -> list[tir.Stmt]:
        """Return the checks that a thread waits nowhere at the end."""
        return [
            check(make.logical_not(self._is_in(number)), "E0714", state.message, state.place)
            for number, state in enumerate(self._states)
            if state.place is not None
        ]

    # --- Statements

    def _run(self, stmt: tir.Stmt, after: tir.Stmt) -> tir.Stmt:
        """Return the code of `stmt` and then `after`, which is a state if it is needed more than once."""
        if is_apart(stmt) and not _waits(stmt):
            return sequence([self.rewrite(stmt), after])
        match stmt:
            case tir.SeqStmt():
                for part in reversed(stmt.seq):
                    after = self._run(part, after)
                return after
            case tir.IfThenElse():
                return self._exchange(stmt.condition, lambda: self._branch(stmt, after))
            case tir.For():
                return self._loop(stmt, after)
            case tir.While():
                return self._repeat(stmt, after)
            case tir.LetStmt():
                return self._exchange(stmt.value, lambda: self._bind(stmt, after))
            case tir.Allocate():
                self._place(stmt)
                return self._run(stmt.body, after)
            case tir.AttrStmt() | tir.DeclBuffer():
                return self._run(stmt.body, after)
            case tir.AssertStmt():
                tested = replace(stmt, body=tir.Evaluate(tir.IntImm("int32", 0)))
                return sequence([self.rewrite(tested), self._run(stmt.body, after)])
            case tir.Evaluate(value=tir.Call() as call) if (
                call.op in (SYNC, WAIT_UNTIL) or name_of(call) in clusters.OPERATORS
            ):
                return self._wait(call, after)
            case tir.BufferStore() | tir.Evaluate():
                return self._exchange(stmt, lambda: sequence([self.rewrite(stmt), after]))
            case _:
                raise error("E0606", f"threads cannot wait for each other in '{type(stmt).__name__}'", stmt.span)

    def _branch(self, stmt: tir.IfThenElse, after: tir.Stmt) -> tir.Stmt:
        go = self._later(after)
        other = go if stmt.else_case is None else self._run(stmt.else_case, go)
        return tir.IfThenElse(self.rewrite(stmt.condition), self._run(stmt.then_case, go), other, span=stmt.span)

    def _loop(self, stmt: tir.For, after: tir.Stmt) -> tir.Stmt:
        check_stays(stmt.body)
        dtype = stmt.loop_var.dtype
        index, end = self._array(stmt.loop_var.name, dtype), self._array("end", dtype)
        start, size = make.cast(self.rewrite(stmt.min), dtype), make.cast(self.rewrite(stmt.extent), dtype)
        here = index.load(self._thread)
        self.values[stmt.loop_var] = here
        head = self._later(NOTHING)
        place = len(self._states) - 1
        following = index.store(self._thread, make.add(here, make.const(1, dtype)))
        body = self._run(stmt.body, sequence([following, head]))
        goes_on = make.less(here, end.load(self._thread))
        self._states[place] = _State(tir.IfThenElse(goes_on, body, after))
        return sequence([index.store(self._thread, start), end.store(self._thread, make.add(start, size)), head])

    def _repeat(self, stmt: tir.While, after: tir.Stmt) -> tir.Stmt:
        check_stays(stmt.body)
        head = self._later(NOTHING)
        place = len(self._states) - 1
        body = self._run(stmt.body, head)

        def test() -> tir.Stmt:
            return tir.IfThenElse(self.rewrite(make.cast(stmt.condition, "bool")), body, after)

        self._states[place] = _State(self._exchange(stmt.condition, test))
        return head

    def _bind(self, stmt: tir.LetStmt, after: tir.Stmt) -> tir.Stmt:
        value = self._array(stmt.var.name, stmt.value.dtype)
        store = value.store(self._thread, self.rewrite(stmt.value))
        self.values[stmt.var] = value.load(self._thread)
        return sequence([store, self._run(stmt.body, after)])

    # --- Memory

    def _place(self, stmt: tir.Allocate) -> None:
        """Allocate memory for all threads, or for the shared memory of all blocks, of a cluster."""
        size, data = memory_size(stmt), stmt.buffer_var
        owner, count = (self._thread, self._count) if scope_of(data) == "local" else (self._block, self._blocks)
        if count > 1:
            whole = tir.Var("handle", data.name, tir.PointerType(tir.PrimType(stmt.dtype), "global"))
            self._private[data], self._sizes[data] = (whole, make.mul(owner, size)), size
            data = whole
        extents = (make.mul(size, tir.IntImm("int64", count)),)
        self._memory.append(replace(stmt, buffer_var=data, extents=extents, body=NOTHING))

    def _access(self, access: tir.BufferLoad | tir.BufferStore) -> Any:
        """Return an access of the thread's own memory, or of the shared memory of another block."""
        index = access.indices[0] if len(access.indices) == 1 else None
        if not isinstance(index, tir.Call) or index.op != IN_BLOCK:
            return super()._access(access)
        rank, place = (self.rewrite(part) for part in index.args)
        changed = self.rebuild(replace(access, indices=(ZERO,)))
        data = access.buffer.data
        if data in self._private:
            buffer = replace(access.buffer, data=self._private[data][0])
            return replace(changed, buffer=buffer, indices=(make.add(make.mul(rank, self._sizes[data]), place),))
        return replace(changed, indices=(place,))

    # --- Waits

    def _wait(self, call: tir.Call, after: tir.Stmt) -> tir.Stmt:
        if call.op == WAIT_UNTIL:
            condition, message = call.args
            assert isinstance(message, tir.StringImm)
            return self._later(after, self.rewrite(condition), call, message.value)
        if call.op == SYNC:
            if isinstance(call.args[0], tir.StringImm) and call.args[0].value == "warp":
                return self._of_warp(call, after)
            return self._meet("block", self._blocks, self._block, self._block_threads, call, after, _OF_BLOCK)
        name = name_of(call)
        if name == clusters.NAMED:
            key = f"barrier_{number(call, 0)}"
            return self._meet(key, self._blocks, self._block, number(call, 1), call, after)
        if name == clusters.REGISTERS:
            return after
        meeting = self._meeting("cluster", 1)
        if name == clusters.ARRIVE:
            return sequence([self._arrive(meeting, ZERO, tir.IntImm("int64", self._count)), after])
        return self._later(after, self._has_met(meeting, ZERO), call)

    def _of_warp(self, call: tir.Call, after: tir.Stmt) -> tir.Stmt:
        """Wait for all threads of the warp, the last of which may have less than others."""
        of_block = -(-self._block_threads // WARP)
        of_thread = make.floormod(self._thread, tir.IntImm("int64", self._block_threads))
        warp = make.floordiv(of_thread, tir.IntImm("int64", WARP))
        place = make.add(make.mul(self._block, tir.IntImm("int64", of_block)), warp)
        left = make.sub(tir.IntImm("int64", self._block_threads), make.mul(warp, tir.IntImm("int64", WARP)))
        count = make.minimum(left, tir.IntImm("int64", WARP))
        return self._meet("warp", of_block * self._blocks, place, count, call, after)

    def _meeting(self, name: str, places: int) -> _Meeting:
        if name not in self._meetings:
            arrived, phase = (self._array(f"{name}_{part}", "int64", places) for part in ("arrived", "phase"))
            self._meetings[name] = _Meeting(arrived, phase, self._array(f"{name}_mine", "int64"))
        return self._meetings[name]

    def _meet(
        self, name: str, places: int, place: tir.PrimExpr, count: int | tir.PrimExpr, call: tir.Call, after: tir.Stmt,
        message: str = _VAIN,
    ) -> tir.Stmt:  # fmt: skip
        """Wait until `count` threads have arrived at a place."""
        meeting = self._meeting(name, places)
        wanted = tir.IntImm("int64", count) if isinstance(count, int) else count
        wait = self._later(after, self._has_met(meeting, place), call, message)
        return sequence([self._arrive(meeting, place, wanted), wait])

    def _arrive(self, meeting: _Meeting, place: tir.PrimExpr, count: tir.PrimExpr) -> tir.Stmt:
        arrived, phase, one = meeting.arrived.load(place), meeting.phase.load(place), tir.IntImm("int64", 1)
        met = sequence([meeting.arrived.store(place, ZERO), meeting.phase.store(place, make.add(phase, one))])
        is_last = make.equal(arrived, count)
        stores = [meeting.mine.store(self._thread, phase), meeting.arrived.store(place, make.add(arrived, one))]
        return sequence([*stores, tir.IfThenElse(is_last, met)])

    def _has_met(self, meeting: _Meeting, place: tir.PrimExpr) -> tir.PrimExpr:
        return make.less(meeting.mine.load(self._thread), meeting.phase.load(place))

    def _exchange(self, node: Node, rest: Callable[[], tir.Stmt]) -> tir.Stmt:
        """Return the code of the shuffles in `node`, the innermost first, and then `rest`. Whole warps execute them."""
        found: list[tuple[tir.Call, tir.Stmt, tir.Stmt]] = []
        for call in reversed([part for part in walk(node) if isinstance(part, tir.Call) and is_exchange(part)]):
            if call in self._exchanged:
                continue
            if call.op == SYNC:
                help = "make the barrier a statement, and store the value before or after it"
                raise error("E0613", "threads of a block synchronize here, inside of an expression", call.span, help)
            given, taken = self._array("given", call.dtype), self._array("taken", call.dtype)
            if call.op == ACTIVE:
                found.append((call, NOTHING, taken.store(self._thread, active_lanes(self._thread, self._count, None))))
                self._exchanged[call] = taken
                continue
            tell = given.store(self._thread, self.rewrite(call.args[1]))
            source, is_there = shuffled_from(call, self._thread, self._count, self.rewrite)
            value = make.if_then_else(is_there, given.load(source), given.load(self._thread))
            found.append((call, tell, taken.store(self._thread, value)))
            self._exchanged[call] = taken
        code = rest()
        for call, tell, take in reversed(found):
            code = sequence([tell, self._of_warp(call, sequence([take, self._of_warp(call, code)]))])
        return code


def _filled(array: Array) -> tir.Stmt:
    """Return the loop that fills an array with zeros."""
    index = tir.Var("int64", "i")
    return tir.For(index, ZERO, array.buffer.shape[0], tir.ForKind.SERIAL, array.store(index, ZERO))
