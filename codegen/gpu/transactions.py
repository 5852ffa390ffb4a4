"""The memory transactions of a warp, counted for each access of a kernel.

Global memory is read and written in sectors of 32 bytes; shared memory has 32 banks of 4 bytes, which serve one word each at
a time (CUDA C++ Best Practices Guide, "Memory Optimizations"). The first warp of the first block is counted, in the first two
iterations of each loop, with the code's own conditions. Sizes that the program does not know are taken as 1024. Accesses whose
indices depend on memory, and accesses through pointers, are not counted.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence

from msgspec import Struct

from ...ir import tir
from ...ir.analysis.evaluate import evaluate
from ...ir.dtype import element_bytes
from ...ir.visit import children, walk
from ..lower.compact import BANKS
from .barriers import accesses_in
from .kernel import SYNC, Kernel, scope_of, size_of

_WARP = 32
_SECTOR_BYTES = 32
_BANK_BYTES = 4
_MOST_BYTES = 16
"""Bytes that a thread accesses at once."""
_UNKNOWN_SIZE = 1024
_TOLERATED = 1.5
"""The ratio of sectors to needed ones from which an access is reported: elements that are not aligned touch one sector more."""


class Transactions(Struct, frozen=True):
    """The transactions of one access of a warp, and the number that would move the same elements if they were adjacent."""

    access: tir.BufferLoad | tir.BufferStore
    count: int
    least: int

    @property
    def is_shared(self) -> bool:
        return scope_of(self.access.buffer.data).startswith("shared")

    def __str__(self) -> str:
        verb = "written" if isinstance(self.access, tir.BufferStore) else "read"
        if self.is_shared:
            times = f"{self.count} transactions where {self.least} would do"
            return f"'{self.access.buffer.name}' in shared memory is {verb} with bank conflicts: {times}"
        sectors = f"{self.count} sectors of {_SECTOR_BYTES} bytes where {self.least} would do"
        return f"'{self.access.buffer.name}' in global memory is {verb} without coalescing: {sectors}"


def transactions_of(kernel: Kernel) -> list[Transactions]:
    """Return the transactions of each access to global and shared memory, in textual order."""
    pointers = {
        arg for node in walk(kernel.body) if isinstance(node, tir.Call) and node.dtype == "handle" for arg in node.args
    }
    samples = [_warp(kernel, later) for later in (False, True)]
    found: list[Transactions] = []
    for access, conditions in accesses_in(kernel.body):
        if isinstance(access, tir.Call) or access in pointers:
            continue
        scope = scope_of(access.buffer.data)
        if scope == "global" or scope.startswith("shared"):
            counts = [_counted(access, conditions, threads) for threads in samples]
            known = [count for count in counts if count is not None]
            found += [Transactions(access, *max(known))] if known else []
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
    free = {node: _UNKNOWN_SIZE for node in nodes if isinstance(node, tir.Var) and node.dtype in ("int32", "int64")}
    bound = [node for node in nodes if isinstance(node, tir.For | tir.LetStmt)]
    for number in range(min(_WARP, kernel.thread_count)):
        values, rest = {**free, **blocks}, number
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
    access: tir.BufferLoad | tir.BufferStore,
    conditions: Sequence[tir.PrimExpr],
    threads: Sequence[Mapping[tir.Var, int]],
) -> tuple[int, int] | None:
    """Return the transactions of an access and the least number for its elements; None if its indices are unknown."""
    if len(access.indices) != 1:
        return None
    index, size = access.indices[0], element_bytes(access.buffer.dtype)
    base = index.base if isinstance(index, tir.Ramp) else index.value if isinstance(index, tir.Broadcast) else index
    active = [values for values in threads if all(evaluate(condition, values) != 0 for condition in conditions)]
    starts = [start for values in active if (start := evaluate(base, values)) is not None]
    if len(starts) < len(active):
        return None
    count = _in_banks if scope_of(access.buffer.data).startswith("shared") else _in_sectors
    counts = [count([(start + offset) * size for start in starts], width) for offset, width in _requests(index, size)]
    return sum(some for some, _ in counts), sum(few for _, few in counts)


def _requests(index: tir.PrimExpr, size: int) -> Iterator[tuple[int, int]]:
    """Yield the first element and the number of bytes that a thread accesses at once: up to 16 adjacent bytes."""
    match index:
        case tir.Ramp(stride=tir.IntImm(value=1), lanes=tir.IntImm(value=lanes)):
            most = max(1, _MOST_BYTES // size)
            yield from ((lane, min(most, lanes - lane) * size) for lane in range(0, lanes, most))
        case tir.Ramp(stride=tir.IntImm(value=stride), lanes=tir.IntImm(value=lanes)):
            yield from ((lane * stride, size) for lane in range(lanes))
        case _:
            yield 0, size


def _in_sectors(addresses: Sequence[int], width: int) -> tuple[int, int]:
    sectors = {part for address in addresses for part in _touched(address, width, _SECTOR_BYTES)}
    return len(sectors), -(-len(set(addresses)) * width // _SECTOR_BYTES)


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
