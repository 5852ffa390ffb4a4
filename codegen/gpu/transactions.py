"""The memory transactions of a warp, counted for each access of a kernel.

Global memory is read and written in sectors of 32 bytes; shared memory has 32 banks of 4 bytes, which serve one word each at
a time (CUDA C++ Best Practices Guide, "Memory Optimizations"). The first warp of the first block is counted, in the first two
iterations of each loop, with the code's own conditions. Asynchronous copies and `ldmatrix` are counted too. Sizes that the program does
not know are taken as 1024. Accesses whose indices depend on memory, and other accesses through pointers, are not counted.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence

from msgspec import Struct

from ...ir import tir
from ...ir.analysis.evaluate import evaluate
from ...ir.dtype import element_bytes
from ...ir.matrix_units import STORE, name_of, number
from ...ir.visit import children, walk
from ..lower.compact import BANKS
from .barriers import accesses_in
from .kernel import SYNC, Kernel, scope_of, size_of
from .matrix_units import MemoryRange, place_of

_WARP = 32
SECTOR_BYTES = 32
"""Bytes of a sector of global memory."""
_BANK_BYTES = 4
_MOST_BYTES = 16
"""Bytes that a thread accesses at once."""
UNKNOWN_SIZE = 1024
"""The value of sizes that the program does not know."""
_TOLERATED = 1.5
"""The ratio of sectors to needed ones from which an access is reported: elements that are not aligned touch one sector more."""


class Transactions(Struct, frozen=True):
    """The transactions of one access of a warp, and the number that would move the same elements if they were adjacent."""

    access: tir.BufferLoad | tir.BufferStore | tir.Call
    place: Place
    count: int
    least: int

    @property
    def is_shared(self) -> bool:
        return self.place.is_shared

    def __str__(self) -> str:
        verb = "written" if self.place.is_write else "read"
        if self.is_shared:
            times = f"{self.count} transactions where {self.least} would do"
            return f"'{self.place.name}' in shared memory is {verb} with bank conflicts: {times}"
        sectors = f"{self.count} sectors of {SECTOR_BYTES} bytes where {self.least} would do"
        return f"'{self.place.name}' in global memory is {verb} without coalescing: {sectors}"


class Place(Struct, frozen=True, eq=False):
    """The elements of memory that a thread accesses: `index` is the first one, or a vector of them, of `size` bytes each; `lanes`
    adjacent ones from there in an asynchronous copy.
    """

    data: tir.Var
    name: str
    index: tir.PrimExpr
    size: int
    is_write: bool
    lanes: int = 1
    conditions: tuple[tir.PrimExpr, ...] = ()
    threads: int = _WARP
    """Number of the threads of a warp that give addresses."""

    @property
    def is_shared(self) -> bool:
        return scope_of(self.data).startswith("shared")

    @property
    def base(self) -> tir.PrimExpr:
        """Return the first element."""
        match self.index:
            case tir.Ramp(base=base) | tir.Broadcast(value=base):
                return base
            case index:
                return index


def places_of(access: tir.BufferLoad | tir.BufferStore | tir.Call) -> list[Place]:
    """Return what an access reads and writes in global and shared memory; nothing for other memory, and for other calls than
    `ptx_cp_async`, `ptx_ldmatrix` and `ptx_stmatrix`.
    """
    if isinstance(access, tir.Call):
        found = _places_of_call(access)
    elif len(access.indices) == 1:
        buffer, is_write = access.buffer, isinstance(access, tir.BufferStore)
        found = [Place(buffer.data, buffer.name, access.indices[0], element_bytes(buffer.dtype), is_write)]
    else:
        found = []
    return [place for place in found if place.is_shared or scope_of(place.data) == "global"]


def _places_of_call(call: tir.Call) -> list[Place]:
    name = name_of(call)
    if name == "ptx_cp_async":
        size = element_bytes(call.dtype)
        (target, source), lanes = [_pointed(call, at) for at in (0, 2)], number(call, 4) // size
        given = tuple([arg for arg in call.args[5:] if isinstance(arg, tir.PrimExpr)])
        return [
            Place(source.buffer.data, source.buffer.name, source.at(0), size, False, lanes, given),
            Place(target.buffer.data, target.buffer.name, target.at(0), size, True, lanes),
        ]
    if name in ("ptx_ldmatrix", STORE):
        place = _pointed(call, 5)
        lanes = _MOST_BYTES // element_bytes(call.dtype)
        return [
            Place(place.buffer.data, place.buffer.name, place.at(0), element_bytes(call.dtype), name == STORE, lanes, (), 8 * number(call, 1))
        ]  # fmt: skip
    return []


def _pointed(call: tir.Call, at: int) -> MemoryRange:
    return place_of(call.args[at], call.args[at + 1], call.dtype)


def transactions_of(kernel: Kernel) -> list[Transactions]:
    """Return the transactions of each access to global and shared memory, in textual order."""
    pointers = {
        arg for node in walk(kernel.body) if isinstance(node, tir.Call) and node.dtype == "handle" for arg in node.args
    }
    samples = [_warp(kernel, later) for later in (False, True)]
    found: list[Transactions] = []
    for access, conditions in accesses_in(kernel.body):
        for place in places_of(access) if access not in pointers else ():
            counts = [_counted(place, (*conditions, *place.conditions), threads) for threads in samples]
            known = [count for count in counts if count is not None]
            found += [Transactions(access, place, *max(known))] if known else []
    return found


def wasteful(kernel: Kernel) -> list[Transactions]:
    """Return the accesses with bank conflicts, or with many more sectors than they need; one for each place."""
    found = [
        item
        for item in transactions_of(kernel)
        if item.least and item.count > item.least * (1 if item.is_shared else _TOLERATED)
    ]
    return list({(item.access.span, str(item)): item for item in found}.values())


def barrier_count(stmt: tir.Stmt) -> tuple[int, bool]:
    """Return how many barriers each thread executes, and whether that is certain: loops without constant extents count once."""
    count, is_exact = 0, True
    stack: list[tuple[tir.Stmt, int]] = [(stmt, 1)]
    while stack:
        node, times = stack.pop()
        match node:
            case tir.For(extent=tir.IntImm(value=extent)):
                stack.append((node.body, times * extent))
            case tir.For() | tir.While():
                inner, _ = barrier_count(node.body)
                count, is_exact = count + times * inner, is_exact and not inner
            case tir.IfThenElse():
                parts = [barrier_count(part)[0] for part in (node.then_case, node.else_case) if part is not None]
                count, is_exact = count + times * max(parts), is_exact and not any(parts)
            case tir.Evaluate(value=tir.Call(op=op)):
                count += times * (op == SYNC)
            case _:
                stack += [(part, times) for part in children(node) if isinstance(part, tir.Stmt)]
    return count, is_exact


def _warp(kernel: Kernel, later: bool) -> list[dict[tir.Var, int]]:
    """Return the values of the variables in each thread of the first warp; in the second iterations of loops, if `later`."""
    threads: list[dict[tir.Var, int]] = []
    sizes = [size_of(axis) for axis in kernel.threads]
    blocks = {axis.var: 0 for axis in kernel.blocks}
    nodes = list(walk(kernel.body))
    free = {node: UNKNOWN_SIZE for node in nodes if isinstance(node, tir.Var) and node.dtype in ("int32", "int64")}
    bound = [node for node in nodes if isinstance(node, tir.For | tir.LetStmt)]
    for thread in range(min(_WARP, kernel.thread_count)):
        values, rest = {**free, **blocks}, thread
        for axis, size in zip(reversed(kernel.threads), reversed(sizes), strict=True):
            values[axis.var], rest = rest % size, rest // size
        for node in bound:
            _bind(node, values, later)
        threads.append(values)
    return threads


def _bind(node: tir.For | tir.LetStmt, values: dict[tir.Var, int], later: bool) -> None:
    """Set the variable of a loop or definition; remove it if its value depends on memory."""
    var, expr = (node.loop_var, node.min) if isinstance(node, tir.For) else (node.var, node.value)
    value = evaluate(expr, values)
    if value is None:
        values.pop(var, None)
    elif isinstance(node, tir.For):
        values[var] = value + (later and evaluate(node.extent, values) != 1)
    else:
        values[var] = value


def _counted(
    place: Place, conditions: Sequence[tir.PrimExpr], threads: Sequence[Mapping[tir.Var, int]]
) -> tuple[int, int] | None:
    """Return the transactions of an access and the least number for its elements; None if its indices are unknown."""
    active = [values for values in threads[: place.threads] if all(evaluate(test, values) != 0 for test in conditions)]
    starts = [start for values in active if (start := evaluate(place.base, values)) is not None]
    if len(starts) < len(active):
        return None
    count, size = _in_banks if place.is_shared else _in_sectors, place.size
    counts = [count([(start + offset) * size for start in starts], width) for offset, width in requests_of(place)]
    return sum(some for some, _ in counts), sum(few for _, few in counts)


def requests_of(place: Place) -> Iterator[tuple[int, int]]:
    """Yield the first element, relative to the first one of the access, and the number of bytes that a thread accesses at once: up to
    16 adjacent bytes.
    """
    size = place.size
    match place.index:
        case tir.Ramp(stride=tir.IntImm(value=1), lanes=tir.IntImm(value=lanes)):
            most = max(1, _MOST_BYTES // size)
            yield from ((lane, min(most, lanes - lane) * size) for lane in range(0, lanes, most))
        case tir.Ramp(stride=tir.IntImm(value=stride), lanes=tir.IntImm(value=lanes)):
            yield from ((lane * stride, size) for lane in range(lanes))
        case _:
            yield 0, size * place.lanes


def _in_sectors(addresses: Sequence[int], width: int) -> tuple[int, int]:
    sectors = {part for address in addresses for part in _touched(address, width, SECTOR_BYTES)}
    return len(sectors), -(-len(set(addresses)) * width // SECTOR_BYTES)


def _in_banks(addresses: Sequence[int], width: int) -> tuple[int, int]:
    """Count the transactions in shared memory: accesses of 8 and 16 bytes are served for a half and a quarter of a warp."""
    together = _WARP * _BANK_BYTES // max(width, _BANK_BYTES)
    count = least = 0
    for start in range(0, len(addresses), together):
        words = {
            word for address in addresses[start : start + together] for word in _touched(address, width, _BANK_BYTES)
        }
        count += max(Counter(word % BANKS for word in words).values())
        least += -(-len(words) // BANKS)
    return count, least


def _touched(address: int, width: int, unit: int) -> range:
    """Return the numbers of the units of memory in which `width` bytes from `address` lie."""
    return range(address // unit, (address + width - 1) // unit + 1)
