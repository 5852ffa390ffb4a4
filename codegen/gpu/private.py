"""Memory of threads: as small as one thread needs it, and warps' memory as a part of the block's.

    local = T.alloc_buffer((128, 4), scope="local")   → (1, 4) where every access is local[tx, …]

A dimension in which every access adds the same expression of the thread's number holds, for one thread, only what is
added to it. (TVM: `CompactBufferAllocation`, for the scope "local"; `LowerWarpMemory`.)
"""

from __future__ import annotations

from functools import reduce
from typing import TypeAlias

from msgspec.structs import replace

from ...ir import make, tir
from ...ir.analysis.const_bounds import const_bounds
from ...ir.dtype import lanes_of
from ...ir.intern import Nodes
from ...ir.linear import linear
from ...ir.sums import Sum, render
from ...ir.visit import walk
from ..lower.rewriter import Rewriter
from ..lower.vectors import add, multiply, widen
from .architectures import WARP
from .kernel import Kernel, is_private, scope_of, size_of

_Access: TypeAlias = tir.BufferLoad | tir.BufferStore


# --- What a thread needs --------------------------------------------------------------------------------------


def compact_private(kernel: Kernel) -> Kernel:
    """Return `kernel` with buffers of the scope "local" as small as one thread needs them."""
    axes = {axis.var for axis in kernel.axes}
    domains = {axis.var: tir.Range(make.const(0, axis.var.dtype), axis.extent) for axis in kernel.axes}
    accesses: dict[tir.Buffer, list[_Access]] = {}
    shared_views: dict[tir.Var, set[tir.Buffer]] = {}
    for node in walk(kernel.body):
        if isinstance(node, tir.For):
            domains[node.loop_var] = tir.Range(node.min, node.extent)
        if isinstance(node, tir.BufferLoad | tir.BufferStore) and is_private(node.buffer.data):
            accesses.setdefault(node.buffer, []).append(node)
            shared_views.setdefault(node.buffer.data, set()).add(node.buffer)
    escaped = {part for node in walk(kernel.body) if isinstance(node, tir.Call) for part in _pointers(node)}
    compacter = _Compacter()
    for buffer, found in accesses.items():
        if buffer.data not in escaped and len(shared_views[buffer.data]) == 1 and not buffer.strides:
            shapes = [_needed(axis, buffer, found, axes, domains, compacter) for axis in range(len(buffer.shape))]
            compacter.take(buffer, shapes)
    return replace(kernel, body=compacter.rewrite(kernel.body))


def _pointers(call: tir.Call) -> list[tir.Var]:
    """Return the memory that `call` may reach by a pointer."""
    loads = [part.buffer.data for part in call.args if isinstance(part, tir.BufferLoad) and call.dtype == "handle"]
    return loads + [part for part in call.args if isinstance(part, tir.Var) and part.dtype == "handle"]


def _needed(
    axis: int, buffer: tir.Buffer, found: list[_Access], axes: set[tir.Var], domains: dict[tir.Var, tir.Range],
    compacter: _Compacter,
) -> tir.PrimExpr:  # fmt: skip
    """Return how long dimension `axis` is for one thread, and note the indices that are left of its accesses."""
    nodes, whole = Nodes(), buffer.shape[axis]
    first: Sum | None = None
    rests: list[tir.PrimExpr] = []
    for access in found:
        index = access.indices[axis]
        if lanes_of(index.dtype) > 1:
            return whole
        total = linear(index, nodes)
        own = Sum({term: factor for term, factor in total.terms.items() if _is_of(term, axes)})
        first = first or own
        if first.terms != own.terms:
            return whole
        rest = render(total.plus(own, -1), index.dtype, nodes.intern)
        if rest is None:
            return whole
        rests.append(rest)
    most = max(const_bounds(rest, domains).max for rest in rests)
    least = min(const_bounds(rest, domains).min for rest in rests)
    if least < 0 or (isinstance(whole, tir.IntImm) and most + 1 >= whole.value) or most > 2**31:
        return whole
    compacter.indices.update({(access, axis): rest for access, rest in zip(found, rests, strict=True)})
    return tir.IntImm(whole.dtype, most + 1)


def _is_of(term: tir.PrimExpr, axes: set[tir.Var]) -> bool:
    """Whether `term` is made of the numbers of thread and block alone."""
    used = [node for node in walk(term) if isinstance(node, tir.Var)]
    return (
        bool(used) and all(var in axes for var in used) and not any(isinstance(n, tir.BufferLoad) for n in walk(term))
    )


class _Compacter(Rewriter):
    def __init__(self) -> None:
        super().__init__(
            {tir.Allocate: self._allocate, tir.BufferLoad: self._access, tir.BufferStore: self._access}
        )  # fmt: skip
        self.indices: dict[tuple[_Access, int], tir.PrimExpr] = {}
        self._shapes: dict[tir.Var, tuple[tir.PrimExpr, ...]] = {}

    def take(self, buffer: tir.Buffer, shape: list[tir.PrimExpr]) -> None:
        """Let `buffer` have the shape that one thread needs."""
        if any(new is not old for new, old in zip(shape, buffer.shape, strict=True)):
            self.buffers[buffer] = replace(buffer, shape=tuple(shape))
            self._shapes[buffer.data] = tuple(shape)

    def _allocate(self, stmt: tir.Allocate) -> tir.Stmt:
        shape = self._shapes.get(stmt.buffer_var)
        return self.rebuild(stmt if shape is None else replace(stmt, extents=shape))

    def _access(self, access: _Access) -> _Access:
        if access.buffer.data not in self._shapes:
            return self.rebuild(access)
        indices = [self.indices.get((access, axis), index) for axis, index in enumerate(access.indices)]
        return self.rebuild(replace(access, indices=tuple(indices)))


# --- Memory of warps ------------------------------------------------------------------------------------------


def place_warp_memory(kernel: Kernel) -> Kernel:
    """Return `kernel`, whose buffers are flat, with memory of the scope "warp" as parts of the block's shared memory."""
    return replace(kernel, body=_WarpMemory(kernel).rewrite(kernel.body))


class _WarpMemory(Rewriter):
    def __init__(self, kernel: Kernel) -> None:
        super().__init__(
            {tir.Allocate: self._allocate, tir.BufferLoad: self._access, tir.BufferStore: self._access}
        )  # fmt: skip
        self._warps = -(-kernel.thread_count // WARP)
        self._warp = make.floordiv(thread_number(kernel), tir.IntImm("int64", WARP))
        self._offsets: dict[tir.Var, tir.PrimExpr] = {}

    def _allocate(self, stmt: tir.Allocate) -> tir.Stmt:
        if scope_of(stmt.buffer_var) != "warp":
            return self.rebuild(stmt)
        size = reduce(multiply, map(widen, stmt.extents))
        shared = tir.Var("handle", stmt.buffer_var.name, tir.PointerType(tir.PrimType(stmt.dtype), "shared"))
        self.values[stmt.buffer_var] = shared
        self._offsets[stmt.buffer_var] = make.mul(self._warp, size)
        extents = (make.mul(size, tir.IntImm("int64", self._warps)),)
        return replace(stmt, buffer_var=shared, extents=extents, body=self.rewrite(stmt.body))

    def _access(self, access: _Access) -> _Access:
        offset = self._offsets.get(access.buffer.data)
        if offset is None:
            return self.rebuild(access)
        moved = replace(access, indices=(add(widen(access.indices[0]), offset),))
        return self.rebuild(moved)


def thread_number(kernel: Kernel) -> tir.PrimExpr:
    """Return the number of a thread in its block, as int64: the last axis runs fastest."""
    number: tir.PrimExpr = tir.IntImm("int64", 0)
    for axis in kernel.threads:
        number = make.add(make.mul(number, tir.IntImm("int64", size_of(axis))), make.cast(axis.var, "int64"))
    return number
