"""Compaction of buffers to the part that is used (TVM: `CompactBufferAllocation`).

    for i in range(16):                              for i in range(16):
        B = T.alloc_buffer((16, 16))                     B = T.alloc_buffer((1, 16))
        for j in range(16):                     →        for j in range(16):
            B[i, j] = A[i, j] + 1                            B[0, j] = A[i, j] + 1

The used part is the bounding box of all indices over all iterations of the loops inside the allocation.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TypeAlias

from msgspec.structs import replace

from ...ir import make, tir
from ...ir.access import comparisons, restricted
from ...ir.analysis.regions import hull, relaxed, span_of
from ...ir.base import Node
from ...ir.int_set import Interval, eval_set, from_range, intersect, point
from ...ir.linear import linear
from ...ir.simplify import simplify
from ...ir.software_pipeline import is_pipeline
from ...ir.sums import Sum, render
from ...ir.visit import rewrite, walk
from .aligned_memory import Alignment, aligned_strides, alignments_in
from .layout import dimensions_of
from .layout import span_of as length_of
from .rewriter import Rewriter
from .uses import Scope, Use, Uses

Box: TypeAlias = tuple[tir.Range, ...]
Intervals: TypeAlias = dict[tir.Var, Interval]
BANKS = 32
"""The number of banks of shared memory."""


def compact_buffers(func: tir.PrimFunc, with_all: bool = False) -> tir.PrimFunc:
    """Return `func`, whose blocks are opaque, with the buffers of its blocks, and allocated ones, compacted. With `with_all`, conditions
    on sums of loop variables, as in `i * 8 + j < 60`, also bound indices that contain these sums, and alignments of blocks become
    strides, which the lowering for GPUs does later.
    """
    uses = Uses(func.body, with_allocations=True)
    if not uses.homes:
        return func
    compacter = _Compacter(func.body)
    aligned = alignments_in(func) if with_all else {}
    for buffer, home in uses.homes.items():
        found = [use for use in uses.of[buffer] if not use.is_of_match] + uses.matched.get(buffer.data, [])
        is_known = buffer.data not in uses.escaped and (buffer.data not in uses.pointed or any(map(is_pipeline, home)))
        if found and is_known and not buffer.strides and buffer.elem_offset is None:
            compacter.cut(buffer, hull([_part(use, buffer, home, with_all) for use in found], buffer.shape))
            if buffer.data in aligned and buffer.data not in uses.matched:
                compacter.align(buffer, aligned[buffer.data])
    return replace(func, body=compacter.rewrite(func.body)) if compacter.buffers else func


def is_padded(buffer: tir.Buffer, axis: int, length: int) -> bool:
    """Return whether rows of shared memory are a little longer than the `length` elements that all threads use of them, so
    that the elements of a column are in different banks.
    """
    extent = buffer.shape[axis]
    is_row = axis > 0 and buffer.scope.startswith("shared")
    return is_row and isinstance(extent, tir.IntImm) and extent.value - length < BANKS


def _tag(scope: Scope) -> str:
    return scope.thread_binding.thread_tag if isinstance(scope, tir.For) and scope.thread_binding is not None else ""


def _part(use: Use, buffer: tir.Buffer, home: tuple[Scope, ...], with_all: bool) -> Box:
    """Return the bounding box of a use over the lifetime of an allocation in the scopes `home`. Memory that is not
    local is shared by the threads, and that of a warp only by its own.
    """
    shared = () if buffer.scope.startswith("local") else ("threadIdx", "vthread")
    shared = ("threadIdx.x",) if buffer.scope == "warp" else shared
    loops = [*use.loops(len(home)), *(loop for loop in use.loops() if loop in home and _tag(loop).startswith(shared))]
    domains = {loop.loop_var: from_range(loop.min, loop.extent) for loop in loops}
    for condition in use.conditions:
        domains |= restricted(condition, True, domains)
    region = use.region if use.extents else [span_of(index) for index in use.indices]
    box = relaxed(region, buffer.shape, domains)
    if not with_all or use.extents:
        return box
    for condition in use.conditions:
        for comparison in comparisons(condition, True):
            other = _with_sum(region, linear(comparison), domains)
            if other is not None:
                found, inner = other
                box = tuple(map(_smaller, box, relaxed(found, buffer.shape, inner)))
    return box


def _smaller(one: tir.Range, other: tir.Range) -> tir.Range:
    """Return the range that is known to be smaller, otherwise the first one."""
    if not isinstance(other.extent, tir.IntImm):
        return one
    return one if isinstance(one.extent, tir.IntImm) and one.extent.value <= other.extent.value else other


def _with_sum(
    region: Sequence[tir.Range], bounded: Sum, domains: Intervals
) -> tuple[list[tir.Range], Intervals] | None:
    """Return `region` in terms of a variable for the sum in `bounded <= 0`, and the domains with that of the sum; None if `bounded` has
    other terms than several loop variables.
    """
    if len(bounded.terms) < 2 or not all(term in domains for term in bounded.terms):
        return None
    sign = 1 if next(iter(bounded.terms.values())) > 0 else -1
    terms = {term: factor * sign for term, factor in bounded.terms.items()}
    dtype = next(iter(terms)).dtype
    total = render(Sum(terms), dtype, _itself)
    if total is None:
        return None
    whole = eval_set(point(total), domains)
    end = make.const(-bounded.constant * sign, dtype)
    known = intersect(whole, Interval(None, end) if sign == 1 else Interval(end, None))
    var = tir.Var(dtype, "sum")
    axes = [replace(axis, min=_in_terms_of(axis.min, terms, var)) for axis in region]
    return axes, {**domains, var: known}


def _in_terms_of(index: tir.PrimExpr, terms: Mapping[tir.PrimExpr, int], var: tir.Var) -> tir.PrimExpr:
    """Return `index` with multiples of the sum of `terms` in it replaced by those of `var`."""

    def change(node: Node) -> tir.PrimExpr | None:
        if not isinstance(node, tir.Add | tir.Sub | tir.Mul) or node.dtype != var.dtype:
            return None
        found = linear(node)
        ratios = {(found.terms.get(term, 0) / factor) for term, factor in terms.items()}
        rest = Sum({term: factor for term, factor in found.terms.items() if term not in terms}, found.constant)
        is_left = any(part in terms for term in rest.terms for part in walk(term))
        ratio = next(iter(ratios))
        if len(ratios) > 1 or not ratio or ratio != int(ratio) or is_left:
            return None
        rest.add_term(var, int(ratio))
        return render(rest, var.dtype, _itself)

    return rewrite(index, change)


def _itself(expr: tir.PrimExpr) -> tir.PrimExpr:
    return expr


class _Compacter(Rewriter):
    def __init__(self, body: tir.Stmt) -> None:
        super().__init__(
            {
                tir.BufferLoad: self._access,
                tir.BufferStore: self._access,
                tir.BufferRegion: self._region,
                tir.Allocate: self._allocate,
            }
        )
        self._written = set[tir.Buffer]()
        self._threads = set[tir.Var]()
        for node in walk(body):
            if isinstance(node, tir.BufferStore):
                self._written.add(node.buffer)
            elif isinstance(node, tir.AttrStmt) and isinstance(node.node, tir.IterVar):
                self._threads.add(node.node.var)
        self._changed: set[tir.Buffer] = set()
        self.starts: dict[tir.Buffer, tuple[tir.PrimExpr, ...]] = {}
        """The start of the used part of each buffer."""

    def cut(self, buffer: tir.Buffer, box: Box) -> None:
        """Reduce `buffer` to `box`, in the dimensions where the box is known to be smaller."""
        axes = [self._smaller(buffer, axis, part) for axis, part in enumerate(box)]
        if any(part.extent is not extent for part, extent in zip(axes, buffer.shape, strict=True)):
            self.starts[buffer] = tuple([part.min for part in axes])
            self.buffers[buffer] = replace(buffer, shape=tuple([part.extent for part in axes]))
            self._changed.add(buffer)

    def align(self, buffer: tir.Buffer, alignment: Alignment) -> None:
        """Give `buffer` the strides of an alignment, if its shape is constant."""
        cut = self.buffers.get(buffer, buffer)
        strides = aligned_strides(cut.shape, alignment, cut.shape[-1].dtype)
        if strides:
            self.buffers[buffer] = replace(cut, strides=strides)
            self._changed.add(buffer)

    def _smaller(self, buffer: tir.Buffer, axis: int, part: tir.Range) -> tir.Range:
        """Return `part` of a dimension, or the whole dimension if `part` is not known to be smaller, its start is not
        invariant, or the rest is padding.
        """
        extent, length = buffer.shape[axis], part.extent
        whole = tir.Range(make.const(0, extent.dtype), extent)
        if not isinstance(length, tir.IntImm) or any(self._moves(node, buffer) for node in walk(part.min)):
            return whole
        starts_row = isinstance(part.min, tir.IntImm) and part.min.value == 0
        if isinstance(extent, tir.IntImm) and extent.value <= length.value:
            return whole
        if starts_row and is_padded(buffer, axis, length.value):
            return whole
        return tir.Range(part.min, make.const(length.value, extent.dtype))

    def _moves(self, node: Node, buffer: tir.Buffer) -> bool:
        """Return whether the value of `node` may change while `buffer` is alive, or differ between threads that share
        it.
        """
        if isinstance(node, tir.BufferLoad):
            return node.buffer in self._written
        return node in self._threads and not buffer.scope.startswith("local")

    def _access(self, access: tir.BufferLoad | tir.BufferStore) -> tir.BufferLoad | tir.BufferStore:
        rebuilt = self.rebuild(access)
        if access.buffer not in self.starts:
            return rebuilt
        starts = self.rewrite(self.starts[access.buffer])
        indices = [_from(index, start) for index, start in zip(rebuilt.indices, starts, strict=True)]
        return replace(rebuilt, indices=tuple(indices))

    def _allocate(self, stmt: tir.Allocate) -> tir.Stmt:
        rebuilt: tir.Allocate = self.rebuild(stmt)
        if not isinstance(stmt.body, tir.DeclBuffer) or stmt.body.buffer not in self._changed:
            return rebuilt
        buffer = self.buffer(stmt.body.buffer)
        extents = (dimensions_of(buffer) or (length_of(buffer),)) if buffer.strides else buffer.shape
        return replace(rebuilt, extents=extents)

    def _region(self, region: tir.BufferRegion) -> tir.BufferRegion:
        rebuilt = self.rebuild(region)
        if region.buffer not in self.starts:
            return rebuilt
        starts = self.rewrite(self.starts[region.buffer])
        axes = [replace(axis, min=_from(axis.min, start)) for axis, start in zip(rebuilt.region, starts, strict=True)]
        return replace(rebuilt, region=tuple(axes))


def _from(index: tir.PrimExpr, start: tir.PrimExpr) -> tir.PrimExpr:
    """Return `index` relative to `start`."""
    if isinstance(start, tir.IntImm) and start.value == 0:
        return index
    if isinstance(index, tir.Ramp):
        return replace(index, base=_from(index.base, start))
    return simplify(make.sub(index, make.cast(start, index.dtype)))
