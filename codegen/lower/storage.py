"""Reuse of memory: buffers whose lifetimes do not overlap share one allocation.

    X = allocate 64; Y = allocate 48; Z = allocate 16           X = allocate 64; Y = allocate 48
    X[…] = …;  Y[…] = X[…];  Z[…] = Y[…];  C[…] = Z[…]    →     X[…] = …;  Y[…] = X[…];  X[…] = Y[…];  C[…] = X[…]

A buffer is alive from the first to the last statement of a sequence that uses it. Only memory of the same
dtype and scope and of constant size is shared. (TVM: `StorageRewrite`.)
"""

from __future__ import annotations

from collections.abc import Sequence
from math import prod

from msgspec.structs import replace

from ...ir import tir
from ...ir.visit import distinct
from .rewriter import Rewriter


def rewrite_storage(func: tir.PrimFunc) -> tir.PrimFunc:
    """Return `func` with allocations shared by buffers whose lifetimes do not overlap."""
    return replace(func, body=_Sharer().rewrite(func.body))


class _Sharer(Rewriter):
    def __init__(self) -> None:
        super().__init__({tir.Allocate: self._allocate})

    def _allocate(self, stmt: tir.Allocate) -> tir.Stmt:
        """Share memory among directly nested allocations around a sequence."""
        chain, inner = [stmt], stmt.body
        while isinstance(inner, tir.Allocate):
            chain.append(inner)
            inner = inner.body
        shared, sizes = _shared(chain, inner.seq if isinstance(inner, tir.SeqStmt) else (inner,))
        self.values.update(shared)
        body = self.rewrite(inner)
        for allocation in reversed(chain):
            if allocation.buffer_var not in shared:
                extents = sizes.get(allocation.buffer_var) or self.rewrite(allocation.extents)
                body = replace(allocation, extents=extents, body=body)
        return body


def _shared(
    chain: Sequence[tir.Allocate], parts: Sequence[tir.Stmt]
) -> tuple[dict[tir.Var, tir.PrimExpr], dict[tir.Var, tuple[tir.PrimExpr, ...]]]:
    """Return the owner of the memory of each variable that shares, and the new extents of memory that must grow."""
    variables = {allocation.buffer_var for allocation in chain}
    mentions: dict[tir.Var, list[int]] = {}
    for number, part in enumerate(parts):
        for var in {node for node in distinct(part) if isinstance(node, tir.Var)} & variables:
            mentions.setdefault(var, []).append(number)
    free_after: dict[tir.Var, int] = {}
    memory = {allocation.buffer_var: allocation for allocation in chain}
    shared: dict[tir.Var, tir.PrimExpr] = {}
    sizes: dict[tir.Var, tuple[tir.PrimExpr, ...]] = {}
    by_birth = sorted(
        (allocation for allocation in chain if allocation.buffer_var in mentions),
        key=lambda allocation: mentions[allocation.buffer_var][0],
    )
    for allocation in by_birth:
        var, size = allocation.buffer_var, constant_size(allocation)
        first, last = mentions[var][0], mentions[var][-1]
        fitting = [owner for owner, end in free_after.items() if end < first and _is_alike(memory[owner], allocation)]
        if size is None or not fitting:
            free_after[var] = last
            continue
        needed, room = size, {one: constant_size(memory[one]) or 0 for one in fitting}
        owner = min(room, key=lambda one: abs(room[one] - needed))
        if needed > room[owner]:
            memory[owner], sizes[owner] = allocation, allocation.extents
        shared[var], free_after[owner] = owner, last
    return shared, sizes


def _is_alike(one: tir.Allocate, other: tir.Allocate) -> bool:
    is_plain = constant_size(one) is not None and not one.annotations and not other.annotations
    return is_plain and one.dtype == other.dtype and _scope(one) == _scope(other)


def _scope(stmt: tir.Allocate) -> str:
    pointer = stmt.buffer_var.type_annotation
    return pointer.storage_scope if isinstance(pointer, tir.PointerType) else ""


def constant_size(stmt: tir.Allocate) -> int | None:
    """Return the number of allocated elements; None if it is not constant."""
    extents = [extent.value for extent in stmt.extents if isinstance(extent, tir.IntImm)]
    is_always = isinstance(stmt.condition, tir.IntImm) and stmt.condition.value == 1
    return prod(extents) if len(extents) == len(stmt.extents) and is_always else None
