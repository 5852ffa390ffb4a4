"""Copies of boxes by the copy engine: their checks, and the statements that do the same without it (`ir.tensor_copies`)."""

from __future__ import annotations

from collections.abc import Callable

from msgspec.structs import replace

from ...ir import clusters, make, tir
from ...ir.analysis.modular_set import modular_set
from ...ir.base import Node, Op
from ...ir.diagnostics import error
from ...ir.dtype import element_bytes
from ...ir.idioms import NOTHING
from ...ir.matrix_units import name_of, number
from ...ir.tensor_copies import (
    ARRIVE,
    COPIES,
    CREATE,
    EXPECT,
    GROUP,
    INIT,
    LINE_BYTES,
    MULTICAST,
    OPERATORS,
    PREDICATES,
    REMOTE,
    ROW_BYTES,
    WAIT,
    calls_in,
    tensor_map_of,
)
from ...ir.warpgroups import WARPGROUP
from ..lower.rewriter import sequence
from .kernel import Kernel, scope_of
from .matrix_units import TRUE, ZERO, Calls, MemoryRange, loop, over, place_of, plus, rest, times

WAIT_UNTIL, IN_BLOCK = Op("tir.wait_until"), Op("tir.in_block")
"""`wait_until(condition, message)` lets a simulated thread wait; index `in_block(rank, index)` is one in the memory of another block."""
BARRIER_BYTES = 8
MOST_BARRIERS = 1 << 10


def check_tensor_copies(kernel: Kernel) -> None:
    """Check copies of boxes and barriers in a lowered kernel: E0606 if barriers are not created once, memory has the wrong scope, or
    the target of a copy is not proven to be aligned.
    """
    calls = calls_in(kernel.body, OPERATORS)
    created = [call for call in calls if name_of(call) == CREATE]
    for call in created[1:]:
        raise error("E0606", f"a kernel calls T.{CREATE} twice", call.span, "create all barriers at once")
    if calls and not created:
        reason = f"a kernel with T.{name_of(calls[0])} never calls T.{CREATE}"
        raise error("E0606", reason, calls[0].span, f"call T.{CREATE} at its start")
    if created and not 1 <= number(created[0], 0) <= MOST_BARRIERS:
        reason = f"cannot create {number(created[0], 0)} barriers"
        raise error("E0606", reason, created[0].span, f"create 1 to {MOST_BARRIERS} barriers")
    for call in calls:
        if name_of(call) in COPIES:
            _check_copy(call)
        if name_of(call) == MULTICAST:
            _check_mask(call, kernel.cluster_size)
    check_clusters(kernel)


def _check_mask(call: tir.Call, blocks: int) -> None:
    mask = call.args[10]
    if isinstance(mask, tir.IntImm) and not 1 <= mask.value < 1 << blocks:
        reason = f"T.{MULTICAST} copies to the blocks {mask.value:#b} of a cluster that has {blocks}"
        raise error("E0606", reason, call.span, f"give a mask from 1 to {(1 << blocks) - 1}")


def check_clusters(kernel: Kernel) -> None:
    """Check the calls of clusters and of roles of warps: E0606 if no GPU supports one, or the kernel waits at the barrier of its cluster
    without ever arriving there; E0611 if registers are changed by less than whole warpgroups.
    """
    calls = clusters.calls_of(kernel.body)
    for call in calls:
        clusters.check_call(call)
        if name_of(call) == clusters.REGISTERS and kernel.thread_count % WARPGROUP:
            reason = f"T.{clusters.REGISTERS} needs whole warpgroups of {WARPGROUP} threads, but a block has {kernel.thread_count}"
            raise error("E0611", reason, call.span, f"bind a multiple of {WARPGROUP} iterations to threads")
    for name, other in ((clusters.WAIT, clusters.ARRIVE), (clusters.ARRIVE, clusters.WAIT)):
        call = next((call for call in calls if name_of(call) == name), None)
        if call is not None and not any(name_of(call) == other for call in calls):
            reason = f"a kernel with T.{name} never calls T.{other}"
            raise error("E0606", reason, call.span, "call both, in that order: arrive, then wait")


def _check_copy(call: tir.Call) -> None:
    data, size = tensor_map_of(call).data, element_bytes(call.dtype)
    target = place_of(call.args[0], call.args[1], call.dtype)
    for scope, found, name in (
        ("shared", target.buffer.scope, target.buffer.name),
        ("global", scope_of(data), data.name),
    ):
        if not found.startswith(scope):
            reason = f"T.{name_of(call)} needs memory of scope '{scope}', but '{name}' is in '{found}'"
            raise error("E0606", reason, call.span, f"pass {scope} memory")
    start, part = modular_set(target.at(0)), GROUP * ROW_BYTES // size
    if start.base % part or start.coeff % part:
        reason = (
            f"the target in '{target.buffer.name}' is not proven to start at a multiple of {GROUP * ROW_BYTES} bytes"
        )
        raise error("E0606", reason, call.span, f"use an offset that is a multiple of {part} elements")


def barrier_count(kernel: Kernel) -> int:
    """Return the number of barriers that a checked kernel creates."""
    return sum(number(call, 0) for call in calls_in(kernel.body, (CREATE,)))


def emulate_tensor_copies(kernel: Kernel) -> Kernel:
    """Return a lowered kernel without copies of boxes and barriers in shared memory: copies complete at once, and a thread waits by
    `WAIT_UNTIL`.
    """
    return replace(kernel, body=_Emulator(kernel).emulated()) if barrier_count(kernel) else kernel


class _Remote(MemoryRange):
    """The elements of a range in the shared memory of a block of the cluster."""

    def __init__(self, place: MemoryRange, rank: tir.PrimExpr) -> None:
        super().__init__(place.buffer.data, place.buffer.dtype, ZERO)
        self._rank = rank

    def at(self, index: tir.PrimExpr | int) -> tir.PrimExpr:
        return tir.Call("int64", IN_BLOCK, (self._rank, super().at(index)))


class _Barriers:
    """The state of the barriers of a block: the threads that arrive in each phase, those and the bytes that are missing, and the parity
    of the phase.
    """

    def __init__(self, counts: MemoryRange, pending: MemoryRange, bytes: MemoryRange, parities: MemoryRange) -> None:
        self.parts = self.counts, self.pending, self.bytes, self.parities = counts, pending, bytes, parities

    def of(self, rank: tir.PrimExpr) -> _Barriers:
        """Return the barriers of a block of the cluster."""
        return _Barriers(*[_Remote(part, rank) for part in self.parts])

    def end_phase(self, place: tir.PrimExpr) -> tir.Stmt:
        """Return the statement that begins the next phase if this one is complete."""
        is_complete = make.logical_and(
            make.equal(self.pending.load(place), ZERO), make.equal(self.bytes.load(place), ZERO)
        )
        turned = self.parities.store(place, plus(1, times(self.parities.load(place), -1)))
        return tir.IfThenElse(is_complete, sequence([turned, self.pending.store(place, self.counts.load(place))]))


class _Emulator(Calls):
    def __init__(self, kernel: Kernel) -> None:
        rules: dict[str, Callable[[tir.Call], tir.Stmt]] = {
            CREATE: lambda call: NOTHING,
            INIT: self._initialize,
            WAIT: self._wait,
            **dict.fromkeys((ARRIVE, REMOTE, EXPECT), self._arrive),
            **dict.fromkeys(COPIES, self._copy),
        }
        super().__init__(kernel, rules)
        self._barriers = _Barriers(*[_shared(name) for name in ("counts", "pending", "bytes", "parities")])
        self._count, self._blocks = barrier_count(kernel), kernel.cluster_size

    def emulated(self) -> tir.Stmt:
        """Return the body of the kernel."""
        body = self.rewrite(self._kernel.body)
        for place in self._barriers.parts:
            extents = (tir.IntImm("int64", self._count),)
            body = tir.Allocate(place.buffer.data, place.buffer.dtype, extents, TRUE, body)
        return body

    def _number(self, call: tir.Call, at: int) -> tuple[tir.PrimExpr, tir.Stmt]:
        """Return the number of a barrier, and the check that it exists."""
        given = _operand(call, at)
        return given, _check_below(given, self._count, "there is no barrier of this number", call)

    def _initialize(self, call: tir.Call) -> tir.Stmt:
        place, is_there = self._number(call, 0)
        count, all = _operand(call, 1), self._barriers
        stores = [all.counts.store(place, count), all.pending.store(place, count)]
        return sequence([is_there, *stores, all.bytes.store(place, ZERO), all.parities.store(place, ZERO)])

    def _arrive(self, call: tir.Call) -> tir.Stmt:
        place, is_there = self._number(call, 0)
        barriers, checks = self._barriers, [is_there]
        if name_of(call) == REMOTE:
            barriers = barriers.of(_operand(call, 1))
            message = "the cluster has no block of this rank"
            checks.append(_check_below(_operand(call, 1), self._blocks, message, call))
        bytes, pending = barriers.bytes.load(place), barriers.pending.load(place)
        message = "more threads arrive at a barrier than it was initialized for"
        checks.append(check(make.not_equal(pending, ZERO), "E0712", message, call))
        announced = [barriers.bytes.store(place, plus(bytes, _operand(call, 1)))] if name_of(call) == EXPECT else []
        arrived = barriers.pending.store(place, plus(pending, -1))
        return _if(call, sequence([*checks, *announced, arrived, barriers.end_phase(place)]))

    def _wait(self, call: tir.Call) -> tir.Stmt:
        place, is_there = self._number(call, 0)
        wanted = make.floormod(_operand(call, 1), 2) if call.args[1:] else ZERO
        is_complete = make.not_equal(self._barriers.parities.load(place), wanted)
        message = "a barrier is waited for in vain: threads have not arrived, or bytes are missing"
        until = tir.Call("int32", WAIT_UNTIL, (is_complete, tir.StringImm("handle", message)), span=call.span)
        return sequence([is_there, tir.Evaluate(until, span=call.span)])

    def _copy(self, call: tir.Call) -> tir.Stmt:
        """Copy a box, with zeros outside of the matrix, to this block or to those of a mask."""
        place, is_there = self._number(call, 9)
        target = place_of(call.args[0], call.args[1], call.dtype)
        whole = MemoryRange(target.buffer.data, call.dtype, ZERO)
        if name_of(call) != MULTICAST:
            return _if(call, sequence([is_there, self._copy_to(call, place, target, whole, self._barriers)]))
        mask = _operand(call, 10)
        message = "the cluster has no block of this bit"

        def to(rank: tir.PrimExpr) -> tir.Stmt:
            bit = make.bitwise_and(make.right_shift(mask, rank), tir.IntImm("int64", 1))
            copied = self._copy_to(call, place, target, _Remote(whole, rank), self._barriers.of(rank))
            return tir.IfThenElse(make.not_equal(bit, ZERO), copied)

        are_there = _check_below(mask, 1 << self._blocks, message, call)
        return _if(call, sequence([is_there, are_there, loop(self._blocks, to)]))

    def _copy_to(
        self, call: tir.Call, place: tir.PrimExpr, target: MemoryRange, whole: MemoryRange, barriers: _Barriers
    ) -> tir.Stmt:
        """Copy a box to a place in shared memory, and count its bytes at barrier number `place` of that block."""
        tensor, size = tensor_map_of(call), element_bytes(call.dtype)
        source = MemoryRange(tensor.data, call.dtype, ZERO)
        rows, columns, stride, row, column = (_operand(call, at) for at in range(3, 8))

        def element(i: tir.PrimExpr) -> tir.Stmt:
            at_row, at_column = plus(row, over(i, tensor.columns)), plus(column, rest(i, tensor.columns))
            inside = make.logical_and(_is_below(at_row, rows), _is_below(at_column, columns))
            straight = target.at(i)
            line = times(rest(over(straight, tensor.columns), GROUP), LINE_BYTES // size)
            to = make.bitwise_xor(straight, line)
            copied = whole.store(to, source.load(plus(make.mul(at_row, stride), at_column)))
            return tir.IfThenElse(inside, copied, whole.store(to, make.const(0, call.dtype)))

        received = barriers.bytes.store(place, plus(barriers.bytes.load(place), -tensor.box_bytes))
        return sequence([loop(tensor.box_bytes // size, element), received, barriers.end_phase(place)])


def _operand(call: tir.Call, at: int) -> tir.PrimExpr:
    operand = call.args[at]
    assert isinstance(operand, tir.PrimExpr)
    return make.cast(operand, "int64")


def _if(call: tir.Call, body: tir.Stmt) -> tir.Stmt:
    """Return `body` under the condition of `call`, if it has one."""
    conditions = call.args[PREDICATES[name_of(call)] :] if name_of(call) in PREDICATES else ()
    return tir.IfThenElse(conditions[0], body) if conditions else body  # type: ignore[arg-type]


def check(condition: tir.PrimExpr, code: str, message: str, place: Node) -> tir.Stmt:
    """Return the statement that fails unless `condition` holds."""
    texts = [tir.StringImm("handle", text) for text in (code, message)]
    return tir.Evaluate(tir.Call("int32", Op("tir.check"), (condition, *texts), span=place.span), span=place.span)


def _is_below(index: tir.PrimExpr, end: tir.PrimExpr) -> tir.PrimExpr:
    return make.logical_and(make.less_equal(ZERO, index), make.less(index, end))


def _check_below(index: tir.PrimExpr, end: int, message: str, call: tir.Call) -> tir.Stmt:
    return check(_is_below(index, tir.IntImm("int64", end)), "E0707", message, call)


def _shared(name: str) -> MemoryRange:
    """Return shared memory with an element for each barrier."""
    return MemoryRange(tir.Var("handle", name, tir.PointerType(tir.PrimType("int64"), "shared")), "int64", ZERO)
