"""Tensor memory: the checks of its operators, and the loops that compute products without it (`ir.tensor_memory`)."""

from __future__ import annotations

from collections.abc import Callable

from msgspec.structs import replace

from ...ir import make, tir
from ...ir.base import Op
from ...ir.diagnostics import error
from ...ir.idioms import NOTHING
from ...ir.matrix_units import WARP, name_of, number
from ...ir.tensor_copies import ARRIVE
from ...ir.tensor_memory import (
    AFTER,
    ALLOCATE,
    COMMIT,
    FREE,
    LANES,
    LOAD,
    MOST_COLUMNS,
    OF_THREAD,
    OF_WARP,
    OPERATORS,
    PRODUCT,
    WAIT,
    calls_in,
    columns_in,
    is_tensor_memory,
    loaded_columns,
    tensor_memory_of,
    tensor_product_of,
)
from ...ir.visit import walk
from ...ir.warpgroups import DEPTH
from .barriers import accesses_in
from .kernel import Kernel, size_of
from .matrix_units import TRUE, ZERO, Calls, MemoryRange, loop, over, place_of, plus, rest, times
from .own_elements import Domains, GuardedElement, do_meet
from .tensor_copies import check
from .warpgroups import check_operand, position

_BEHIND = {
    PRODUCT: (
        (ALLOCATE, "let a warp call it before"),
        (COMMIT, "call it behind the products, and wait for its barrier"),
    ),
    LOAD: (
        (AFTER, "call it behind the wait for the barrier of the products"),
        (WAIT, "call it before the targets of loads are accessed"),
    ),
    ALLOCATE: ((FREE, "let a warp call it before the block ends"),),
}
"""Operators without which a kernel that calls another one is wrong, and where to call them."""


def check_tensor_memory(kernel: Kernel) -> None:
    """Check the operators on tensor memory in a lowered kernel.

    Raises TvmsError: E0611 if a block does not consist of whole warps; E0614 if it allocates more than a multiprocessor has; E0606 if
    an operator does not exist, memory has the wrong scope, size or alignment, elements of tensor memory are accessed, more than one
    thread certainly starts a product, or an operator is missing.
    """
    columns, calls = columns_in(kernel.body), calls_in(kernel.body)
    if sum(columns.values()) > MOST_COLUMNS:
        last = list(columns)[-1]
        reason = (
            f"kernel '{kernel.name}' has {sum(columns.values())} columns of tensor memory; the limit is {MOST_COLUMNS}"
        )
        raise error("E0614", reason, last.span or calls[0].span if calls else last.span, "make its tiles smaller")
    _check_elements(kernel)
    for call in calls:
        name = name_of(call)
        if name in OF_WARP and kernel.thread_count % WARP:
            reason = f"T.{name} needs whole warps, but a block has {kernel.thread_count} threads"
            raise error("E0611", reason, call.span, "bind a multiple of 32 iterations to threads")
        if name in (ALLOCATE, FREE):
            own, named = columns[tensor_memory_of(call)], number(call, 1)
            if own != named:
                reason = f"T.{name} names {named} columns of '{tensor_memory_of(call).name}', which has {own}"
                raise error("E0606", reason, call.span, f"name {own} columns")
        if name == PRODUCT:
            product = tensor_product_of(call)
            for at in (6, 8):
                check_operand(call, at, "shared", product.dtype)
            tensor_memory_of(call)
        if name == LOAD:
            loaded_columns(call)
            tensor_memory_of(call)
            check_operand(call, 0, "local", "float32")
    _check_together(kernel, calls)


def _check_elements(kernel: Kernel) -> None:
    """Raise E0606 if a program accesses tensor memory by itself."""
    for node in walk(kernel.body):
        if isinstance(node, tir.BufferLoad | tir.BufferStore) and is_tensor_memory(node.buffer.data):
            reason = f"an element of '{node.buffer.name}' in tensor memory is accessed"
            raise error("E0606", reason, node.span, f"load it by T.{LOAD}")
        if isinstance(node, tir.Call) and name_of(node) not in OPERATORS:
            named = next((arg for arg in node.args if is_tensor_memory(arg)), None)
            if isinstance(named, tir.Var):
                reason = f"T.{name_of(node)} cannot reach '{named.name}' in tensor memory"
                raise error("E0606", reason, node.span, f"load it by T.{LOAD}")


def _check_together(kernel: Kernel, calls: list[tir.Call]) -> None:
    """Raise E0606 if an operator is missing, or two threads certainly call one that is for one thread."""
    names = {name_of(call) for call in calls}
    for call in calls:
        for missing, help in _BEHIND.get(name_of(call), ()):
            if missing not in names:
                raise error("E0606", f"a kernel with T.{name_of(call)} never calls T.{missing}", call.span, help)
    threads = {axis.var: (0, size_of(axis)) for axis in kernel.threads if size_of(axis) > 1}
    for call, conditions in accesses_in(kernel.body):
        if isinstance(call, tir.Call) and name_of(call) in OF_THREAD and threads:
            place = GuardedElement((), conditions)
            if do_meet(place, place, Domains(threads, {}, {})):
                reason = f"more than one thread of a block calls T.{name_of(call)}"
                raise error("E0606", reason, call.span, "let one thread call it, as under 'if threadIdx.x == 0:'")


def emulate_tensor_memory(kernel: Kernel) -> Kernel:
    """Return a lowered kernel without tensor memory: the thread that starts a product computes it at once, into shared memory, and
    a commit arrives at its barrier.
    """
    columns = columns_in(kernel.body)
    return replace(kernel, body=_Emulator(kernel, columns).rewrite(kernel.body)) if calls_in(kernel.body) else kernel


class _Emulator(Calls):
    def __init__(self, kernel: Kernel, columns: dict[tir.Var, int]) -> None:
        rules: dict[str, Callable[[tir.Call], tir.Stmt]] = dict.fromkeys(OPERATORS, lambda call: NOTHING)
        super().__init__(kernel, {**rules, PRODUCT: self._product, COMMIT: self._commit, LOAD: self._load})
        self._rules[tir.Allocate] = self._allocate
        self._memory: dict[object, tuple[MemoryRange, int]] = {}
        for data, count in columns.items():
            kind = tir.PointerType(tir.PrimType("float32"), "shared")
            self._memory[data] = MemoryRange(tir.Var("handle", data.name, kind), "float32", ZERO), count

    def _allocate(self, stmt: tir.Allocate) -> tir.Stmt:
        if stmt.buffer_var not in self._memory:
            return self.rebuild(stmt)
        place, count = self._memory[stmt.buffer_var]
        extents = (tir.IntImm("int64", LANES * count),)
        return replace(stmt, buffer_var=place.buffer.data, extents=extents, body=self.rewrite(stmt.body))

    def _commit(self, call: tir.Call) -> tir.Stmt:
        return replace(tir.Evaluate(replace(call, op=Op(f"tir.{ARRIVE}"))), span=call.span)

    def _product(self, call: tir.Call) -> tir.Stmt:
        product = tensor_product_of(call)
        a, b = (place_of(call.args[at], call.args[at + 1], product.dtype) for at in (6, 8))
        # `position` counts the elements of the allocations.
        left, right = (MemoryRange(place.buffer.data, product.dtype, ZERO) for place in (a, b))
        memory, columns = self._memory[call.args[10]]
        first, is_added = make.cast(_operand(call, 11), "int64"), make.cast(_operand(call, 16), "bool")
        total = MemoryRange(
            tir.Var("handle", "sum", tir.PointerType(tir.PrimType("float32"), "local")), "float32", ZERO
        )

        def element(i: tir.PrimExpr) -> list[tir.Stmt]:
            row, column = over(i, product.n), rest(i, product.n)
            at = plus(times(row, columns), first, column)

            def term(k: tir.PrimExpr) -> tir.Stmt:
                x, y = left.load(position(a, product.a, row, k)), right.load(position(b, product.b, column, k))
                value = make.mul(make.cast(x, "float32"), make.cast(y, "float32"))
                return total.store(ZERO, make.add(total.load(ZERO), value))

            start = make.if_then_else(is_added, memory.load(at), make.const(0.0, "float32"))
            return [total.store(ZERO, start), loop(DEPTH, term), memory.store(at, total.load(ZERO))]

        return tir.Allocate(
            total.buffer.data, "float32", (tir.IntImm("int64", 1),), TRUE, loop(LANES * product.n, element)
        )

    def _load(self, call: tir.Call) -> tir.Stmt:
        """Load the lane of each thread, and check that the given first lane is that of its warp."""
        target, (memory, columns) = place_of(call.args[0], call.args[1], "float32"), self._memory[call.args[2]]
        row, column = (make.cast(_operand(call, at), "int64") for at in (3, 4))
        own = times(rest(over(self._thread, WARP), LANES // WARP), WARP)
        message = "a warp loads from lanes of tensor memory that are not its own"
        start = plus(times(plus(own, self._lane), columns), column)
        loads = loop(loaded_columns(call), lambda i: target.store(i, memory.load(plus(start, i))))
        return tir.SeqStmt((check(make.equal(row, own), "E0712", message, call), loads))


def _operand(call: tir.Call, at: int) -> tir.PrimExpr:
    operand = call.args[at]
    assert isinstance(operand, tir.PrimExpr)
    return operand
