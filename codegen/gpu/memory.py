"""Compaction of local, warp and shared memory to what one thread, warp or block needs.

    local = T.alloc_buffer((128, 4), scope="local")   → (1, 4) if every access is local[tx, …]
    for k in range(8): … shared[k * 16 + i] …         → (16,) if i is less than 16

If every access of a dimension adds the same terms of thread and block indices (for shared memory, of
block indices) and of sizes, the dimension only needs the range of the rest. The same holds for a loop around all
accesses, if no two of its iterations access the same element. Padding of rows of shared memory stays. (TVM: `PlanAndUpdateBufferAllocationLocation`
and `CompactBufferAllocation`.)
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import TypeAlias

from msgspec import Struct
from msgspec.structs import replace

from ...ir import make, tir
from ...ir.analysis.const_bounds import const_bounds
from ...ir.base import Node
from ...ir.dtype import is_vector
from ...ir.intern import Nodes
from ...ir.linear import linear
from ...ir.simplify import simplify
from ...ir.sums import Sum, render
from ...ir.visit import children, walk
from ..lower.aligned_memory import Alignment, aligned_strides
from ..lower.compact import is_padded
from ..lower.rewriter import Rewriter
from .architectures import LOCAL_BYTES
from .kernel import BLOCK_TAGS, Kernel, scope_of
from .places import domains_of, parts_in

_Access: TypeAlias = tir.BufferLoad | tir.BufferStore


# --- What a thread or a block needs ---------------------------------------------------------------------------


class _BufferUses(Struct):
    """The accesses of a buffer, and the loops that enclose all of them."""

    accesses: list[_Access]
    loops: list[tir.For]


def compact_memory(kernel: Kernel, is_in_order: bool, aligned: Mapping[tir.Var, Alignment] = {}) -> Kernel:
    """Return `kernel` with local memory compacted. If its loops execute in order (`is_in_order`) and barriers are
    inserted later, shared memory is compacted also.
    """
    domains = domains_of(kernel)
    found: dict[tir.Buffer, _BufferUses] = {}
    _collect(kernel.body, (), found)
    views = Counter(buffer.data for buffer in found)
    has_parts = bool(parts_in(kernel.body))
    calls = (node for node in walk(kernel.body) if isinstance(node, tir.Call))
    escaped = {part for call in calls for part in _pointers(call, has_parts)}
    inner = _variables_in(kernel.body)
    compacter = _Compacter()
    for buffer, buffer_uses in found.items():
        is_shared = scope_of(buffer.data).startswith("shared")
        if buffer.data in escaped or views[buffer.data] > 1 or buffer.strides or (is_shared and not is_in_order):
            continue
        varying = inner | {axis.var for axis in kernel.axes if is_shared and axis.tag not in BLOCK_TAGS}
        if scope_of(buffer.data) != "local":
            varying |= {axis.var for axis in kernel.axes if axis.tag == "threadIdx.x"}
        loops = {loop.loop_var: loop for loop in buffer_uses.loops} if is_in_order else {}
        needs = _RequiredExtents(varying, loops, domains)
        shape = [needs.length(axis, buffer, buffer_uses.accesses, compacter) for axis in range(len(buffer.shape))]
        compacter.take(buffer, shape, aligned.get(buffer.data))
    return replace(kernel, body=compacter.rewrite(kernel.body))


def _variables_in(body: tir.Stmt) -> set[tir.Var]:
    """Return the variables that `body` binds."""
    found: set[tir.Var] = set()
    for node in walk(body):
        if isinstance(node, tir.For):
            found.add(node.loop_var)
        elif isinstance(node, tir.LetStmt | tir.Let):
            found.add(node.var)
    return found


def _collect(node: Node, loops: tuple[tir.For, ...], found: dict[tir.Buffer, _BufferUses]) -> None:
    """Collect the accesses of memory that is not global."""
    if isinstance(node, tir.BufferLoad | tir.BufferStore) and scope_of(node.buffer.data) != "global":
        uses = found.setdefault(node.buffer, _BufferUses([], list(loops)))
        uses.accesses.append(node)
        uses.loops = [loop for loop in uses.loops if loop in loops]
    inner = (*loops, node) if isinstance(node, tir.For) else loops
    for child in children(node):
        if not isinstance(child, tir.Buffer):
            _collect(child, inner, found)


def _pointers(call: tir.Call, has_parts: bool) -> list[tir.Var]:
    """Return the memory that `call` may access through a pointer; `has_parts` tells whether its kernel has known regions."""
    loads = [part.buffer.data for part in call.args if isinstance(part, tir.BufferLoad) and call.dtype == "handle"]
    pointers = [part for part in call.args if isinstance(part, tir.Var) and part.dtype == "handle"]
    known = parts_in(call) if pointers and has_parts else ()
    return loads + [part for part in pointers if part not in known]


class _RequiredExtents:
    """Computes the extent of a dimension that one owner of the memory needs; the values of `varying` change for that owner, those of
    `loops` once in each iteration.
    """

    def __init__(self, varying: set[tir.Var], loops: dict[tir.Var, tir.For], domains: dict[tir.Var, tir.Range]) -> None:
        self._varying, self._loops, self._domains = varying, loops, domains

    def length(self, axis: int, buffer: tir.Buffer, found: list[_Access], compacter: _Compacter) -> tir.PrimExpr:
        """Return the required extent of dimension `axis`, and record the remaining indices of its accesses."""
        nodes, whole = Nodes(), buffer.shape[axis]
        indices = [simplify(access.indices[axis]) for access in found]
        if any(is_vector(index.dtype) for index in indices):
            return whole
        totals = [linear(index, nodes) for index in indices]
        fixed = self._common(totals)
        rests: list[tir.PrimExpr] = []
        for total, index in zip(totals, indices, strict=True):
            rest = render(total.plus(fixed, -1), index.dtype, nodes.intern)
            if rest is None:
                return whole
            rests.append(rest)
        bounds = [const_bounds(rest, self._domains) for rest in rests]
        most, least = max(bound.max for bound in bounds), min(bound.min for bound in bounds)
        if least < 0 or most >= LOCAL_BYTES or not self._are_apart(fixed, most + 1):
            return whole
        if isinstance(whole, tir.IntImm) and (
            most + 1 >= whole.value or (not fixed.terms and is_padded(buffer, axis, most + 1))
        ):
            return whole
        compacter.indices.update({(access, axis): rest for access, rest in zip(found, rests, strict=True)})
        return tir.IntImm(whole.dtype, most + 1)

    def _common(self, totals: Sequence[Sum]) -> Sum:
        """Return the terms that are constant for an owner of the memory and that all indices add with the same factor."""
        first, *others = totals
        return Sum({
            term: factor for term, factor in first.terms.items()
            if self._is_fixed(term) and all(other.terms.get(term) == factor for other in others)
        })  # fmt: skip

    def _is_fixed(self, term: tir.PrimExpr) -> bool:
        if self._loop_of(term) is not None:
            return True
        used = [node for node in walk(term) if isinstance(node, tir.Var)]
        reads = any(isinstance(node, tir.BufferLoad) for node in walk(term))
        return bool(used) and not any(var in self._varying for var in used) and not reads

    def _loop_of(self, term: tir.PrimExpr) -> tir.For | None:
        inner = term.value if isinstance(term, tir.Cast) else term
        return self._loops.get(inner) if isinstance(inner, tir.Var) else None

    def _are_apart(self, fixed: Sum, length: int) -> bool:
        """Return whether the iterations of the loops in `fixed` access disjoint ranges of `length` elements."""
        steps = [(factor, loop) for term, factor in fixed.terms.items() if (loop := self._loop_of(term)) is not None]
        for factor, loop in sorted(steps, key=lambda step: step[0]):
            if factor < length or not isinstance(loop.extent, tir.IntImm):
                return False
            length += factor * (loop.extent.value - 1)
        return True


class _Compacter(Rewriter):
    def __init__(self) -> None:
        super().__init__(
            {tir.Allocate: self._allocate, tir.BufferLoad: self._access, tir.BufferStore: self._access}
        )  # fmt: skip
        self.indices: dict[tuple[_Access, int], tir.PrimExpr] = {}
        self._shapes: dict[tir.Var, tuple[tir.PrimExpr, ...]] = {}

    def take(self, buffer: tir.Buffer, shape: list[tir.PrimExpr], alignment: Alignment | None) -> None:
        """Give `buffer` the compacted shape, and the strides of `alignment`."""
        strides = aligned_strides(shape, alignment) if alignment else ()
        if strides or any(new is not old for new, old in zip(shape, buffer.shape, strict=True)):
            self.buffers[buffer] = replace(buffer, shape=tuple(shape), strides=strides)
            self._shapes[buffer.data] = (
                (make.mul(strides[0], make.cast(shape[0], "int64")),) if strides else tuple(shape)
            )

    def _allocate(self, stmt: tir.Allocate) -> tir.Stmt:
        shape = self._shapes.get(stmt.buffer_var)
        return self.rebuild(stmt if shape is None else replace(stmt, extents=shape))

    def _access(self, access: _Access) -> _Access:
        if access.buffer.data not in self._shapes:
            return self.rebuild(access)
        indices = [self.indices.get((access, axis), index) for axis, index in enumerate(access.indices)]
        return self.rebuild(replace(access, indices=tuple(indices)))
