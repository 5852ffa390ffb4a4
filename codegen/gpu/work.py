"""What the threads of a kernel do: its accesses to memory and operations, with the number of times that a thread executes each.

The count assumes that a compiler hoists loads and stores out of loops that do not affect them, and keeps local memory in registers.
Loops whose number of iterations is unknown count as `UNKNOWN_SIZE` iterations, `while` loops as one.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping
from math import prod

from msgspec import Struct

from ...ir import tir
from ...ir.analysis.evaluate import evaluate
from ...ir.base import Node
from ...ir.dtype import is_float, lanes_of, parse_dtype
from ...ir.equal import structural_hash
from ...ir.kinds import ForKind
from ...ir.matrix_units import STORE, name_of, number, product_of
from ...ir.tensor_copies import COPIES
from ...ir.visit import children, walk
from ...ir.warpgroups import PRODUCT, ROWS, WARPGROUP, warpgroup_product_of
from .architectures import WARP
from .kernel import SYNC, Kernel, scope_of
from .transactions import UNKNOWN_SIZE, Place, Transactions, places_of, transactions_of

_KEPT = 64
"""Number of values that registers keep while a loop that does not change them runs."""
_COST = {"tir.exp": 10, "tir.exp2": 4, "tir.sqrt": 4, "tir.rsqrt": 4, "tir.tanh": 16, "tir.sigmoid": 14, "tir.erf": 20}
_OF_CALLS, _OF_DIVISIONS = 25, 8
"""Instructions of mathematical functions of float32, of other functions, and of divisions."""
_AT_ONCE = 4
"""Number of iterations of an innermost loop without barriers whose loads are issued before one is waited for: compilers unroll it."""
_LOOP_INSTRUCTIONS = 2
"""Instructions of an iteration of a loop besides its body."""
_WARPGROUP_GAIN = 2048 / 1270
"""Multiply-adds of `wgmma` for each of `mma.sync` in the same time (`figures.FIGURES`)."""
_TRANSACTION_BYTES = 128
_PLAIN = ("tir.if_then_else", "tir.likely", "tir.reinterpret", "tir.address_of", "tir.tvm_access_ptr")


class Access(Struct, frozen=True, eq=False):
    """An access, executed `times` times by each thread: `count` transactions of a warp each time; 32 if they are not known. `loops` are
    those around it on which its index depends, with their numbers of iterations, from the outermost.
    """

    place: Place
    count: int
    times: float
    loops: tuple[tuple[tir.For, int], ...]
    is_asynchronous: bool = False


class Work(Struct, frozen=True, eq=False):
    """The work of a kernel. `operations` is the number of instructions of each thread on floats, by the bits of their type; `tensor` the
    number of multiply-adds of a warp on tensor cores, in those of `mma.sync`; `lines` the number of transactions of a warp by which
    products of warpgroups read shared memory; `other` that of other instructions of a thread. `waits` is the number of times that a
    thread waits for loads of global memory, one after the other, and `shared_waits` for those of shared memory. `barriers` is the number of
    barriers, `trips` that of iterations of the longest loop, and `definitions` are the statements that define variables.
    """

    accesses: tuple[Access, ...]
    operations: Mapping[int, float]
    tensor: float
    lines: float
    other: float
    waits: float
    shared_waits: float
    barriers: float
    trips: int
    definitions: tuple[tir.LetStmt, ...]


def kernel_work(kernel: Kernel, sizes: Mapping[str, int]) -> Work:
    """Return the work of a lowered kernel; `sizes` are the values of symbolic sizes by name."""
    return _Counter(kernel, sizes).counted()


def known_values(kernel: Kernel, sizes: Mapping[str, int]) -> dict[tir.Var, int]:
    """Return the values of all integer variables that no loop and no thread defines."""
    names = [node for node in walk(kernel.body) if isinstance(node, tir.Var) and node.dtype in ("int32", "int64")]
    extents = [node for axis in kernel.axes for node in walk(axis.extent) if isinstance(node, tir.Var)]
    found = {name: sizes.get(name.name, UNKNOWN_SIZE) for name in (*names, *extents)}
    return found | {axis.var: 0 for axis in kernel.axes}


class _Counter:
    def __init__(self, kernel: Kernel, sizes: Mapping[str, int]) -> None:
        self._kernel = kernel
        self._values = known_values(kernel, sizes)
        self._transactions: defaultdict[Node, list[Transactions]] = defaultdict(list)
        for item in transactions_of(kernel):
            self._transactions[item.access].append(item)
        self._loops: list[tuple[tir.For, int]] = []
        self._depends: dict[tir.Var, frozenset[tir.Var]] = {}
        self._uses: dict[Node, frozenset[tir.Var]] = {}
        self._written: dict[Node, frozenset[tir.Var]] = {}
        self._seen: set[tuple[object, ...]] = set()
        self._segment = 0
        self._definitions: list[tir.LetStmt] = []
        self._accesses: list[Access] = []
        self._operations: defaultdict[int, float] = defaultdict(float)
        self._tensor = self._lines = self._other = self._waits = self._shared_waits = self._barriers = 0.0
        self._pending = 0
        """Groups of asynchronous copies that may be pending at a wait."""

    def counted(self) -> Work:
        before = self._before()
        self._statement(self._kernel.body)
        self._wait(before, 1.0)
        trips = max((count for _, count in self._all_loops()), default=1)
        return Work(
            tuple(self._accesses), dict(self._operations), self._tensor, self._lines, self._other, self._waits, self._shared_waits, self._barriers, trips, tuple(self._definitions),
        )  # fmt: skip

    def _all_loops(self) -> list[tuple[tir.For, int]]:
        return [(node, self._trips(node)) for node in walk(self._kernel.body) if isinstance(node, tir.For)]

    def _trips(self, loop: tir.For) -> int:
        found = evaluate(loop.extent, self._values)
        return UNKNOWN_SIZE if found is None else max(found, 0)

    # --- Statements

    def _statement(self, stmt: tir.Stmt) -> None:
        times = float(prod(count for _, count in self._loops))
        match stmt:
            case tir.For():
                count = self._trips(stmt)
                self._values[stmt.loop_var] = count // 2
                self._depends[stmt.loop_var] = frozenset([stmt.loop_var])
                self._loops.append((stmt, count))
                self._segment += 1
                before = self._before()
                self._statement(stmt.body)
                self._wait(before, times * count / (_AT_ONCE if before[1:] == self._before()[1:] else 1))
                self._loops.pop()
                self._segment += 1
                if stmt.kind is not ForKind.UNROLLED:
                    self._other += times * count * _LOOP_INSTRUCTIONS
                return
            case tir.LetStmt():
                self._definitions.append(stmt)
                self._depends[stmt.var] = self._variables(stmt.value)
                found = evaluate(stmt.value, self._values)
                if found is not None:
                    self._values[stmt.var] = found
            case tir.Evaluate(value=tir.Call(op=op)) if op == SYNC:
                self._segment += 1
                self._barriers += times
                return
            case tir.Evaluate(value=tir.Call() as call) if name_of(call) == "ptx_wait_group":
                self._pending = max(self._pending, number(call, 0))
                return
            case tir.BufferStore():
                self._expression(stmt.value, times)
                self._access(stmt)
                return
            case _:
                pass
        for part in children(stmt):
            if isinstance(part, tir.Stmt):
                self._statement(part)
            elif isinstance(part, tir.PrimExpr) and not isinstance(stmt, tir.Allocate):
                self._expression(part, times)

    def _before(self) -> tuple[int, float, float, float]:
        return len(self._accesses), self._waits, self._shared_waits, self._barriers

    def _wait(self, before: tuple[int, float, float, float], times: float) -> None:
        """Count waits for the loads of an iteration of a loop, one for all of each kind; asynchronous copies wait for a part of that."""
        own = [item for item in self._accesses[before[0] :] if not item.place.is_write and item.times >= times]
        direct = [item for item in own if not item.is_asynchronous and not item.place.is_shared]
        if direct:
            self._waits += times
        elif any(item.is_asynchronous for item in own):
            self._waits += times / (1 + self._pending)
        if any(item.place.is_shared for item in own) and self._shared_waits == before[2]:
            self._shared_waits += times

    # --- Expressions

    def _expression(self, expr: tir.PrimExpr, times: float) -> None:
        match expr:
            case tir.BufferLoad():
                self._access(expr)
                return
            case tir.Call():
                self._call(expr, times)
                if expr.dtype == "handle" or name_of(expr).startswith("ptx_"):
                    return
            case tir.Div() if is_float(expr.dtype):
                self._count(expr, times * _OF_DIVISIONS)
            case tir.Add(a=tir.Mul() as a, b=b) | tir.Add(a=b, b=tir.Mul() as a) if is_float(expr.dtype):
                self._count(expr, times)
                for part in (a.a, a.b, b):
                    self._expression(part, times)
                return
            case tir.BinaryOp() | tir.Cast() | tir.Select():
                self._count(expr, times)
            case _:
                pass
        for part in children(expr):
            if isinstance(part, tir.PrimExpr):
                self._expression(part, times)

    def _count(self, expr: tir.PrimExpr, times: float) -> None:
        lanes = lanes_of(expr.dtype)
        if is_float(expr.dtype):
            self._operations[max(parse_dtype(expr.dtype).bits, 32)] += times * lanes
        else:
            self._other += times * lanes

    def _call(self, call: tir.Call, times: float) -> None:
        name = name_of(call)
        if name == "ptx_mma":
            product = product_of(call)
            self._tensor += times * product.m * product.n * product.k
        elif name == "tvm_mma_sync":
            self._tensor += times * 16 * 16 * 16
        elif name == PRODUCT:
            part, of_group = times * WARP / WARPGROUP, warpgroup_product_of(call)
            self._tensor += part * ROWS * of_group.n * of_group.a.depth / _WARPGROUP_GAIN
            self._lines += part * (ROWS + of_group.n) * of_group.a.depth * of_group.a.size / _TRANSACTION_BYTES
        elif name in ("ptx_cp_async", "ptx_ldmatrix", STORE):
            self._access(call)
        elif name in COPIES:
            self._other += times
        elif is_float(call.dtype) and f"tir.{name}" not in _PLAIN:
            cost = _COST.get(f"tir.{name}", 1 if "shuffle" in name else _OF_CALLS)
            self._count(call, times * cost)

    # --- Accesses

    def _access(self, access: tir.BufferLoad | tir.BufferStore | tir.Call) -> None:
        found = {id(item.place.data): item for item in self._transactions.get(access, ())}
        for place in places_of(access):
            key = (place.data, place.is_write, structural_hash(place.index), self._segment, id(self._innermost()))
            if key in self._seen:
                continue
            self._seen.add(key)
            item = found.get(id(place.data))
            count = item.count if item is not None else 32
            times, loops = self._executions(place)
            self._accesses.append(
                Access(place, count, times, loops, isinstance(access, tir.Call) and not place.is_shared)
            )
            self._other += times

    def _innermost(self) -> tir.For | None:
        return self._loops[-1][0] if self._loops else None

    def _executions(self, place: Place) -> tuple[float, tuple[tuple[tir.For, int], ...]]:
        """Return how often a thread executes an access, and the loops on which its index depends."""
        used = self._variables(place.index)
        times, kept = 1.0, 1
        dependent: list[tuple[tir.For, int]] = []
        for loop, count in reversed(self._loops):
            if loop.loop_var in used:
                dependent.append((loop, count))
                kept *= count
            elif kept <= _KEPT and place.data not in self._changed(loop):
                continue
            times *= count
        return times, tuple(reversed(dependent))

    def _changed(self, loop: tir.For) -> frozenset[tir.Var]:
        """Return the memory that a loop changes for other threads or reads: all shared memory if it has barriers."""
        if loop not in self._written:
            nodes = list(walk(loop.body))
            has_barrier = any(isinstance(node, tir.Call) and node.op == SYNC for node in nodes)
            stores = [
                place.data
                for node in nodes
                if isinstance(node, tir.BufferStore | tir.Call)
                for place in places_of(node)
                if place.is_write
            ]
            loads = {
                node.buffer.data
                for node in nodes
                if isinstance(node, tir.BufferLoad) and scope_of(node.buffer.data).startswith("shared")
            }
            self._written[loop] = frozenset([*stores, *loads]) if has_barrier else frozenset()
        return self._written[loop]

    def _variables(self, expr: tir.PrimExpr) -> frozenset[tir.Var]:
        """Return the variables of loops on which an expression depends; those of all loops if it depends on memory."""
        if expr not in self._uses:
            found: set[tir.Var] = set()
            for node in walk(expr):
                if isinstance(node, tir.Var):
                    found |= self._depends.get(node, frozenset([node]))
                elif isinstance(node, tir.BufferLoad):
                    found |= {loop.loop_var for loop, _ in self._loops}
            self._uses[expr] = frozenset(found)
        return self._uses[expr]
