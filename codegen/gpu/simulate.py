"""Simulation of a kernel on the processor: threads run one after the other, from one barrier to the next.

A statement without synchronization becomes a loop over all threads; a statement with synchronization is
split until its parts have none. State that a thread keeps from one part to the next is stored in arrays
with an element per thread: bound variables, local memory, and whether the thread is active (the `mask`) in
a branch or a loop that not all threads execute. Shared and local memory is poisoned before it is used.

In the order "ascending", threads run by their index; in the other orders by `turn ^ pattern`, where the
machine code reads the pattern at run time (`T.thread_order`: all ones is descending), so that one program
runs in every order.

    A_shared[tx] = A[tx]                     for t in range(128): A_shared[t] = A[t]
    T.tvm_storage_sync("shared")        →
    B[tx] = A_shared[127 - tx]               for t in range(128): B[t] = A_shared[127 - t]

(J. A. Stratton et al., "MCUDA: An Efficient Implementation of CUDA Kernels for Multi-core CPUs", 2008.)
"""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import Any

from msgspec.structs import replace

from ...ir import make, tir
from ...ir.base import Node, Op
from ...ir.diagnostics import error
from ...ir.dtype import is_bool, is_float, parse_dtype, with_lanes
from ...ir.jumps import RETURN
from ...ir.visit import walk
from ..lower.rewriter import Rewriter, sequence
from ..lower.vectors import add, multiply, widen
from .architectures import WARP
from .exchange import active_lanes, shuffled_from
from .kernel import ACTIVE, SYNC, Axis, Kernel, is_apart, is_exchange, scope_of, size_of
from .rotate import rotate_loops
from .structured import without_jumps

CHECK_BARRIER, THREAD_ORDER = Op("tir.check_barrier"), Op("tir.thread_order")
TRUE, ZERO = tir.IntImm("bool", 1), tir.IntImm("int64", 0)


def simulate(kernel: Kernel, is_ascending: bool = True) -> tir.Stmt:
    """Return the loops that simulate a launch of `kernel`, with the threads in ascending order or in an order
    given at run time.

    Raises TvmsError E0606 if a thread may leave the function in a loop that contains barriers.
    """
    body = sequence(Simulator(kernel.threads, is_ascending).run(rotate_loops(without_jumps(kernel.body)), None))
    return over_grid(kernel.blocks, body, is_ascending)


def over_grid(blocks: Sequence[Axis], body: tir.Stmt, is_ascending: bool) -> tir.Stmt:
    """Return the loops that run `body` for each block of a grid."""
    pattern = tir.Var("int64", "pattern")
    for axis in reversed(blocks):
        last = make.sub(axis.extent, make.const(1, axis.extent.dtype))
        index = tir.Var(axis.extent.dtype, axis.var.name.replace("Idx.", "_"))
        is_turned = make.less(pattern, ZERO)
        turn = index if is_ascending else make.if_then_else(is_turned, make.sub(last, index), index)
        body = tir.LetStmt(axis.var, make.cast(turn, axis.var.dtype), body)
        body = tir.For(index, make.const(0, index.dtype), axis.extent, tir.ForKind.SERIAL, body)
    return body if is_ascending else tir.LetStmt(pattern, tir.Call("int64", THREAD_ORDER, ()), body)


class Array:
    """An array of `count` elements, allocated for one execution of the block."""

    def __init__(self, name: str, dtype: str, count: int) -> None:
        data = tir.Var("handle", name, tir.PointerType(tir.PrimType(dtype), "global"))
        self.buffer = tir.Buffer(data, dtype, (tir.IntImm("int64", count),), name)

    def load(self, index: tir.PrimExpr) -> tir.PrimExpr:
        return tir.BufferLoad(self.buffer.dtype, self.buffer, (index,))

    def store(self, index: tir.PrimExpr, value: tir.PrimExpr) -> tir.Stmt:
        return tir.BufferStore(self.buffer, value, (index,))


class Simulator(Rewriter):
    """Simulates statements: the rewriting rules handle the code of one thread, `run` splits statements at
    synchronization.
    """

    def __init__(self, axes: Sequence[Axis], is_ascending: bool) -> None:
        super().__init__({
            tir.BufferLoad: self._access, tir.BufferStore: self._access, tir.Call: self._call,
            tir.Allocate: self._poisoned, tir.Buffer: lambda buffer: buffer,
        })  # fmt: skip
        self._axes, self._count = tuple(axes), prod(map(size_of, axes))
        self._thread = tir.Var("int64", "thread")
        self._is_ascending = is_ascending
        self._differing = {axis.var for axis in axes}
        self._private: dict[tir.Var, tuple[tir.Var, tir.PrimExpr]] = {}
        self._exchanged: dict[tir.Call, Array] = {}
        self._arrays: list[Array] = []
        self._is_inside = False

    # --- All threads

    def run(self, stmt: tir.Stmt, mask: Array | None) -> list[tir.Stmt]:
        """Return the statements that execute `stmt` for all threads, or for those that are active in `mask`."""
        outer, self._arrays = self._arrays, []
        inside, self._is_inside = self._is_inside, True
        parts = self._split(stmt, mask)
        self._is_inside = inside
        body: list[tir.Stmt] = parts
        for array in reversed(self._arrays):
            size = array.buffer.shape
            body = [tir.Allocate(array.buffer.data, array.buffer.dtype, size, TRUE, sequence(body))]
        self._arrays = outer
        return body

    def _split(self, stmt: tir.Stmt, mask: Array | None) -> list[tir.Stmt]:
        if is_apart(stmt):
            return [self._each(self.rewrite(stmt), mask)]
        match stmt:
            case tir.SeqStmt():
                return self._sequence_of(stmt, mask)
            case tir.For():
                return self._for(stmt, mask)
            case tir.While():
                return self._while(stmt, mask)
            case tir.IfThenElse():
                return self._if(stmt, mask)
            case tir.LetStmt():
                return self._let(stmt, mask)
            case tir.Allocate():
                return self._allocate(stmt, mask)
            case tir.AttrStmt() | tir.DeclBuffer():
                return self._split(stmt.body, mask)
            case tir.AssertStmt():
                check = replace(stmt, body=tir.Evaluate(tir.IntImm("int32", 0)))
                return [*self._split(check, mask), *self._split(stmt.body, mask)]
            case tir.Evaluate(value=tir.Call(op=op)) if op == SYNC:
                return self._barrier(stmt, mask)
            case tir.BufferStore() | tir.Evaluate():
                exchanges = self._exchanges(stmt, mask)
                return [*exchanges, self._each(self.rewrite(stmt), mask)]
            case _:
                raise error("E0606", f"threads cannot synchronize in '{type(stmt).__name__}'", stmt.span)

    def _sequence_of(self, stmt: tir.SeqStmt, mask: Array | None) -> list[tir.Stmt]:
        """Merge statements without a barrier between them into one loop over the threads."""
        result: list[tir.Stmt] = []
        together: list[tir.Stmt] = []
        for part in stmt.seq:
            if is_apart(part):
                together.append(part)
                continue
            if together:
                result += self._split(sequence(together), mask)
            together = []
            result += self._split(part, mask)
        return [*result, *(self._split(sequence(together), mask) if together else ())]

    def _each(self, stmt: tir.Stmt, mask: Array | None) -> tir.Stmt:
        """Return the loop over the active threads that execute `stmt`, which is already rewritten."""
        body = stmt if mask is None else tir.IfThenElse(mask.load(self._thread), stmt)
        rest: tir.PrimExpr = self._thread
        for axis in reversed(self._axes):
            extent = tir.IntImm("int64", size_of(axis))
            body = tir.LetStmt(axis.var, make.cast(make.floormod(rest, extent), axis.var.dtype), body)
            rest = make.floordiv(rest, extent)
        count, turn, pattern = self._count, tir.Var("int64", "turn"), tir.Var("int64", "pattern")
        if self._is_ascending or count == 1:
            body = tir.LetStmt(self._thread, turn, body)
            return tir.For(turn, ZERO, tir.IntImm("int64", count), tir.ForKind.SERIAL, body)
        turns = 1 << (count - 1).bit_length()
        mixed = tir.Call("int64", Op("tir.bitwise_xor"), (turn, pattern))
        number = tir.Call("int64", Op("tir.bitwise_and"), (mixed, tir.IntImm("int64", turns - 1)))
        if turns > count:
            body = tir.IfThenElse(make.less(self._thread, tir.IntImm("int64", count)), body)
        body = tir.LetStmt(self._thread, number, body)
        loop = tir.For(turn, ZERO, tir.IntImm("int64", turns), tir.ForKind.SERIAL, body)
        return tir.LetStmt(pattern, tir.Call("int64", THREAD_ORDER, ()), loop)

    def _array(self, name: str, dtype: str, count: int | None = None) -> Array:
        """Return a new array with `count` elements, by default one per thread."""
        array = Array(name, dtype, self._count if count is None else count)
        self._arrays.append(array)
        return array

    def _remember(self, name: str, value: tir.PrimExpr, mask: Array | None) -> tuple[Array, tir.Stmt]:
        """Return an array of the values of `value` in each thread, and the loop that fills it."""
        array = self._array(name, value.dtype)
        return array, self._each(array.store(self._thread, self.rewrite(value)), mask)

    # --- Statements in which threads wait for each other

    def _barrier(self, stmt: tir.Evaluate, mask: Array | None) -> list[tir.Stmt]:
        """Check that all threads of the block are active, or all threads of each warp that reaches a barrier of the warp."""
        assert isinstance(stmt.value, tir.Call)
        if mask is None:
            return []
        is_warp = isinstance(stmt.value.args[0], tir.StringImm) and stmt.value.args[0].value == "warp"
        size = tir.IntImm("int64", WARP if is_warp else self._count)
        number = tir.Var("int64", "number")
        groups = tir.IntImm("int64", -(-self._count // size.value))
        here, own = self._array("here", "int64", groups.value), make.floordiv(self._thread, size)
        count = here.store(own, make.add(here.load(own), tir.IntImm("int64", 1)))
        left = make.sub(tir.IntImm("int64", self._count), make.mul(number, size))
        args = here.load(number), make.minimum(left, size), tir.StringImm("handle", "warp" if is_warp else "block")
        check = tir.Evaluate(tir.Call("int32", CHECK_BARRIER, args, span=stmt.span), span=stmt.span)
        none, checked = (
            tir.For(number, ZERO, groups, tir.ForKind.SERIAL, body) for body in (here.store(number, ZERO), check)
        )
        return [none, self._each(count, mask), checked]

    def _if(self, stmt: tir.IfThenElse, mask: Array | None) -> list[tir.Stmt]:
        before = self._exchanges(stmt.condition, mask)
        if mask is None and not before and not self._differs(stmt.condition):
            other = None if stmt.else_case is None else sequence(self.run(stmt.else_case, None))
            condition = self.rewrite(stmt.condition)
            return [tir.IfThenElse(condition, sequence(self.run(stmt.then_case, None)), other, span=stmt.span)]
        taken, fill = self._mask(make.cast(stmt.condition, "bool"), mask)
        if stmt.else_case is None:
            return [*before, *fill, *self._where_any(taken, self.run(stmt.then_case, taken))]
        others, fill_others = self._mask(make.logical_not(taken.load(self._thread)), mask)
        then = self._where_any(taken, self.run(stmt.then_case, taken))
        otherwise = self._where_any(others, self.run(stmt.else_case, others))
        return [*before, *fill, *fill_others, *then, *otherwise]

    def _mask(self, condition: tir.PrimExpr, outer: Array | None) -> tuple[Array, list[tir.Stmt]]:
        """Return the mask of the threads of `outer` for which `condition` holds, and the statements that compute it."""
        mask = self._array("mask", "bool")
        none = self._each(mask.store(self._thread, make.const(0, "bool")), None)
        fill = self._each(mask.store(self._thread, self.rewrite(condition)), outer)
        return mask, [none, fill] if outer is not None else [fill]

    def _where_any(self, mask: Array, body: list[tir.Stmt]) -> list[tir.Stmt]:
        """Run `body` if any thread is active."""
        found = self._array("any", "bool", 1)
        note = self._each(found.store(ZERO, TRUE), mask)
        return [found.store(ZERO, make.const(0, "bool")), note, tir.IfThenElse(found.load(ZERO), sequence(body))]

    def _for(self, stmt: tir.For, mask: Array | None) -> list[tir.Stmt]:
        """Split a loop. If all threads have the same bounds it runs once for all; otherwise as often as for the
        longest of them.
        """
        check_stays(stmt.body)
        if not self._differs(stmt.extent) and not self._differs(stmt.min):
            start, extent = self.rewrite(stmt.min), self.rewrite(stmt.extent)
            body = sequence(self.run(stmt.body, mask))
            return [tir.For(stmt.loop_var, start, extent, tir.ForKind.SERIAL, body, span=stmt.span)]
        starts, fill = self._remember("start", stmt.min, mask)
        counts, fill_counts = self._remember("extent", stmt.extent, mask)
        most = self._array("most", stmt.extent.dtype, 1)
        longest = make.maximum(most.load(ZERO), counts.load(self._thread))
        step = tir.Var(stmt.loop_var.dtype, f"{stmt.loop_var.name}_step")
        index = make.add(make.cast(starts.load(self._thread), step.dtype), step)
        self.values[stmt.loop_var] = index
        self._differing.add(stmt.loop_var)
        goes_on = make.less(step, make.cast(counts.load(self._thread), step.dtype))
        here, find = self._mask(goes_on, mask)
        body = [*find, *self._where_any(here, self.run(stmt.body, here))]
        zero = make.const(0, most.buffer.dtype)
        loop = tir.For(step, make.const(0, step.dtype), most.load(ZERO), tir.ForKind.SERIAL, sequence(body))
        return [fill, fill_counts, most.store(ZERO, zero), self._each(most.store(ZERO, longest), mask), loop]

    def _while(self, stmt: tir.While, mask: Array | None) -> list[tir.Stmt]:
        """Split a loop; threads that leave it are inactive until all have left."""
        check_stays(stmt.body)
        here, any_left = self._array("here", "bool"), self._array("any", "bool", 1)
        start = [self._each(here.store(self._thread, make.const(0, "bool")), None)]
        start.append(self._each(here.store(self._thread, TRUE), mask))
        condition = self._exchanges(stmt.condition, here)
        goes_on = here.store(self._thread, self.rewrite(make.cast(stmt.condition, "bool")))
        note = self._each(any_left.store(ZERO, TRUE), here)
        body = [any_left.store(ZERO, make.const(0, "bool")), *condition, self._each(goes_on, here), note]
        body.append(tir.IfThenElse(any_left.load(ZERO), sequence(self.run(stmt.body, here))))
        return [*start, any_left.store(ZERO, TRUE), tir.While(any_left.load(ZERO), sequence(body))]

    def _let(self, stmt: tir.LetStmt, mask: Array | None) -> list[tir.Stmt]:
        exchanges = self._exchanges(stmt.value, mask)
        if not exchanges and not self._differs(stmt.value):
            return [tir.LetStmt(stmt.var, self.rewrite(stmt.value), sequence(self.run(stmt.body, mask)))]
        array, fill = self._remember(stmt.var.name, stmt.value, mask)
        self.values[stmt.var] = array.load(self._thread)
        self._differing.add(stmt.var)
        return [*exchanges, fill, *self._split(stmt.body, mask)]

    def _allocate(self, stmt: tir.Allocate, mask: Array | None) -> list[tir.Stmt]:
        """Replace local memory by one array for all threads; shared memory stays."""
        size = memory_size(stmt)
        if scope_of(stmt.buffer_var) != "local":
            return [replace(stmt, body=sequence([poison(stmt, size), *self.run(stmt.body, mask)]))]
        whole = tir.Var("handle", stmt.buffer_var.name, tir.PointerType(tir.PrimType(stmt.dtype), "global"))
        self._private[stmt.buffer_var] = whole, make.mul(self._thread, size)
        count = make.mul(size, tir.IntImm("int64", self._count))
        allocation = replace(stmt, buffer_var=whole, extents=(count,))
        return [replace(allocation, body=sequence([poison(allocation, count), *self.run(stmt.body, mask)]))]

    # --- One thread

    def _poisoned(self, stmt: tir.Allocate) -> tir.Stmt:
        return replace(stmt, body=sequence([poison(stmt, memory_size(stmt)), self.rewrite(stmt.body)]))

    def _access(self, access: tir.BufferLoad | tir.BufferStore) -> Any:
        own = self._private.get(access.buffer.data)
        changed = self.rebuild(access)
        if own is None:
            return changed
        index = add(widen(changed.indices[0]), own[1])
        return replace(changed, buffer=replace(access.buffer, data=own[0]), indices=(index,))

    def _call(self, call: tir.Call) -> tir.PrimExpr:
        if call in self._exchanged:
            return self._exchanged[call].load(self._thread)
        if any(isinstance(arg, tir.Var) and arg in self._private for arg in call.args):
            reason = "local memory is accessed through a pointer"
            raise error("E0606", reason, call.span, "access elements of the buffer")
        return self.rebuild(call)

    # --- Exchanges

    def _exchanges(self, node: Node, mask: Array | None) -> list[tir.Stmt]:
        """Return statements that execute the shuffles in `node`, the innermost first, and keep their results in
        arrays.
        """
        result: list[tir.Stmt] = []
        for call in reversed(
            [inner for inner in _values_of(node) if isinstance(inner, tir.Call) and is_exchange(inner)]
        ):
            if call in self._exchanged:
                continue
            if call.op == SYNC:
                help = "make the barrier a statement, and store the value before or after it"
                raise error("E0613", "threads of a block synchronize here, inside of an expression", call.span, help)
            taken = self._array("taken", call.dtype)
            if call.op == ACTIVE:
                value = active_lanes(self._thread, self._count, None if mask is None else mask.load)
            else:
                given, fill = self._remember("given", call.args[1], mask)  # type: ignore[arg-type]
                source, is_there = shuffled_from(call, self._thread, self._count, self.rewrite)
                if mask is not None:
                    is_there = make.logical_and(is_there, mask.load(source))
                value = make.if_then_else(is_there, given.load(source), given.load(self._thread))
                result.append(fill)
            result.append(self._each(taken.store(self._thread, value), mask))
            self._exchanged[call] = taken
            self._differing.add(call)  # type: ignore[arg-type]
        return result

    def _differs(self, expr: tir.PrimExpr) -> bool:
        """Return whether `expr` may differ between threads of a block."""
        return any(node in self._differing or isinstance(node, tir.BufferLoad | tir.Call) for node in walk(expr))


def _values_of(node: Node) -> list[Node]:
    return list(walk(node))


def check_stays(body: tir.Stmt) -> None:
    """Raise E0606 if a thread may leave the loop around `body`."""
    for node in walk(body):
        if isinstance(node, tir.Call) and node.op == RETURN:
            help = "guard the statements by a condition instead"
            raise error("E0606", "a thread cannot leave a loop in which threads synchronize", node.span, help)


def memory_size(stmt: tir.Allocate) -> tir.PrimExpr:
    """Return the number of elements that a statement allocates."""
    size: tir.PrimExpr = tir.IntImm("int64", 1)
    for extent in stmt.extents:
        size = multiply(size, widen(extent))
    return size


def poison(stmt: tir.Allocate, size: tir.PrimExpr) -> tir.Stmt:
    """Return the loop that poisons memory with NaN or an arbitrary integer."""
    kind = parse_dtype(stmt.dtype)
    array = tir.Buffer(stmt.buffer_var, stmt.dtype, (size,), stmt.buffer_var.name)
    value: tir.PrimExpr
    if is_float(stmt.dtype) or kind.code == "bfloat":
        value = make.cast(tir.FloatImm("float32", float("nan")), kind.name)
    else:
        value = make.const(1 if is_bool(stmt.dtype) else 0x5A, kind.name)
    if kind.lanes > 1:
        value = tir.Broadcast(with_lanes(kind.name, kind.lanes), value, tir.IntImm("int32", kind.lanes))
    index = tir.Var("int64", "element")
    return tir.For(index, ZERO, size, tir.ForKind.SERIAL, tir.BufferStore(array, value, (index,)))
