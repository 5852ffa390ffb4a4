"""Copies of boxes by the copy engine: their checks, and the statements that do the same without it (`ir.tensor_copies`)."""

from __future__ import annotations

from collections.abc import Callable

from msgspec.structs import replace

from ...ir import make, tir
from ...ir.analysis.modular_set import modular_set
from ...ir.base import Op
from ...ir.diagnostics import error
from ...ir.dtype import element_bytes
from ...ir.idioms import NOTHING
from ...ir.matrix_units import name_of, number
from ...ir.tensor_copies import (
    ARRIVE,
    COPY,
    CREATE,
    EXPECT,
    GROUP,
    INIT,
    LINE_BYTES,
    OPERATORS,
    PREDICATES,
    ROW_BYTES,
    WAIT,
    calls_in,
    tensor_map_of,
)
from ..lower.rewriter import sequence
from .allreduce import barrier
from .kernel import Kernel, scope_of
from .matrix_units import TRUE, ZERO, Calls, MemoryRange, loop, over, place_of, plus, rest, times

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
        if name_of(call) == COPY:
            _check_copy(call)


def _check_copy(call: tir.Call) -> None:
    data, size = tensor_map_of(call).data, element_bytes(call.dtype)
    target = place_of(call.args[0], call.args[1], call.dtype)
    for scope, found, name in (
        ("shared", target.buffer.scope, target.buffer.name),
        ("global", scope_of(data), data.name),
    ):
        if not found.startswith(scope):
            reason = f"T.{COPY} needs memory of scope '{scope}', but '{name}' is in '{found}'"
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
    """Return a lowered kernel without copies of boxes and barriers in shared memory: copies complete at once, and all threads of a
    block meet where they wait.
    """
    return replace(kernel, body=_Emulator(kernel).emulated()) if barrier_count(kernel) else kernel


class _Emulator(Calls):
    def __init__(self, kernel: Kernel) -> None:
        rules: dict[str, Callable[[tir.Call], tir.Stmt]] = {
            CREATE: lambda call: NOTHING,
            INIT: self._initialize,
            ARRIVE: self._arrive,
            EXPECT: self._arrive,
        }
        super().__init__(kernel, {**rules, WAIT: self._wait, COPY: self._copy})
        self._state = [_shared(name) for name in ("counts", "pending", "bytes", "parities")]
        self._counts, self._pending, self._bytes, self._parities = self._state
        self._count = barrier_count(kernel)

    def emulated(self) -> tir.Stmt:
        """Return the body of the kernel."""
        body = self.rewrite(self._kernel.body)
        for place in self._state:
            extents = (tir.IntImm("int64", self._count),)
            body = tir.Allocate(place.buffer.data, place.buffer.dtype, extents, TRUE, body)
        return body

    def _number(self, call: tir.Call, at: int) -> tuple[tir.PrimExpr, tir.Stmt]:
        """Return the number of a barrier, and the check that it exists."""
        given = _operand(call, at)
        is_inside = make.logical_and(make.less_equal(ZERO, given), make.less(given, tir.IntImm("int64", self._count)))
        return given, _check(is_inside, "E0707", "there is no barrier of this number", call)

    def _initialize(self, call: tir.Call) -> tir.Stmt:
        place, check = self._number(call, 0)
        count = _operand(call, 1)
        stores = [self._counts.store(place, count), self._pending.store(place, count)]
        return sequence([check, *stores, self._bytes.store(place, ZERO), self._parities.store(place, ZERO)])

    def _arrive(self, call: tir.Call) -> tir.Stmt:
        place, check = self._number(call, 0)
        announced = (
            [self._bytes.store(place, plus(self._bytes.load(place), _operand(call, 1)))] if call.args[1:] else []
        )
        arrived = self._pending.store(place, plus(self._pending.load(place), -1))
        return _if(call, sequence([check, *announced, arrived, self._end_phase(place)]))

    def _end_phase(self, place: tir.PrimExpr) -> tir.Stmt:
        """Begin the next phase if this one is complete."""
        is_complete = make.logical_and(
            make.equal(self._pending.load(place), ZERO), make.equal(self._bytes.load(place), ZERO)
        )
        turned = self._parities.store(place, plus(1, times(self._parities.load(place), -1)))
        return tir.IfThenElse(is_complete, sequence([turned, self._pending.store(place, self._counts.load(place))]))

    def _wait(self, call: tir.Call) -> tir.Stmt:
        place, check = self._number(call, 0)
        wanted = _operand(call, 1) if call.args[1:] else ZERO
        is_complete = make.not_equal(self._parities.load(place), wanted)
        message = "a barrier is waited for in vain: threads have not arrived, or bytes are missing"
        return sequence([barrier(call.span), check, _check(is_complete, "E0714", message, call), barrier(call.span)])

    def _copy(self, call: tir.Call) -> tir.Stmt:
        """Copy a box, with zeros outside of the matrix."""
        tensor, size = tensor_map_of(call), element_bytes(call.dtype)
        target, source = place_of(call.args[0], call.args[1], call.dtype), MemoryRange(tensor.data, call.dtype, ZERO)
        whole = MemoryRange(target.buffer.data, call.dtype, ZERO)
        rows, columns, stride, row, column = (_operand(call, at) for at in range(3, 8))
        place, check = self._number(call, 9)

        def element(i: tir.PrimExpr) -> tir.Stmt:
            at_row, at_column = plus(row, over(i, tensor.columns)), plus(column, rest(i, tensor.columns))
            limits = [make.less_equal(ZERO, at_row), make.less(at_row, rows)]
            limits += [make.less_equal(ZERO, at_column), make.less(at_column, columns)]
            straight = target.at(i)
            line = times(rest(over(straight, tensor.columns), GROUP), LINE_BYTES // size)
            to = make.bitwise_xor(straight, line)
            value = source.load(plus(make.mul(at_row, stride), at_column))
            copied = whole.store(to, value)
            zero = whole.store(to, make.const(0, call.dtype))
            inside = limits[0]
            for limit in limits[1:]:
                inside = make.logical_and(inside, limit)
            return tir.IfThenElse(inside, copied, zero)

        received = self._bytes.store(place, plus(self._bytes.load(place), -tensor.box_bytes))
        return _if(call, sequence([check, loop(tensor.box_bytes // size, element), received, self._end_phase(place)]))


def _operand(call: tir.Call, at: int) -> tir.PrimExpr:
    operand = call.args[at]
    assert isinstance(operand, tir.PrimExpr)
    return make.cast(operand, "int64")


def _if(call: tir.Call, body: tir.Stmt) -> tir.Stmt:
    """Return `body` under the condition of `call`, if it has one."""
    conditions = call.args[PREDICATES[name_of(call)] :] if name_of(call) in PREDICATES else ()
    return tir.IfThenElse(conditions[0], body) if conditions else body  # type: ignore[arg-type]


def _check(condition: tir.PrimExpr, code: str, message: str, call: tir.Call) -> tir.Stmt:
    texts = [tir.StringImm("handle", text) for text in (code, message)]
    return tir.Evaluate(tir.Call("int32", Op("tir.check"), (condition, *texts), span=call.span), span=call.span)


def _shared(name: str) -> MemoryRange:
    """Return shared memory with an element for each barrier."""
    return MemoryRange(tir.Var("handle", name, tir.PointerType(tir.PrimType("int64"), "shared")), "int64", ZERO)
