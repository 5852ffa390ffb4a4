"""Flattening of buffers: one int64 index each, counted in elements from the buffer's pointer.

(TVM: `FlattenBuffer`; in the compiler, axis separators have no effect, since all memory is flat.)
"""

from __future__ import annotations

from collections.abc import Callable
from functools import reduce
from itertools import pairwise
from math import prod
from typing import Any, Literal

from msgspec.structs import replace

from ...ir import make, tir
from ...ir.simplify import simplify
from ...ir.visit import distinct
from .layout import flat_index, narrow_index, span_of
from .rewriter import Rewriter
from .vectors import add, multiply, subtract, widen


def flatten_buffers(func: tir.PrimFunc, index_dtype: Literal["int64", "same"] = "int64") -> tir.PrimFunc:
    """Return `func` with flat buffer accesses. With "same", indices and sizes of int32 stay int32 where all positions in the
    buffer fit, and allocations and the buffers and regions of blocks become flat too, as in TVM.
    """
    return replace(func, body=(_Flattener() if index_dtype == "int64" else _SameDtypes(func.body)).rewrite(func.body))


class _Flattener(Rewriter):
    index = staticmethod(flat_index)

    def __init__(self) -> None:
        super().__init__({
            tir.BufferLoad: self._load, tir.BufferStore: self._store, tir.DeclBuffer: self._declare, **self.more_rules()
        })  # fmt: skip

    def more_rules(self) -> dict[type[Any], Callable[[Any], Any]]:
        """Return the rules of a derived class."""
        return {}

    def buffer(self, buffer: tir.Buffer) -> tir.Buffer:
        """Return the flat buffer of the same memory, up to the last element that an index reaches."""
        if buffer not in self.buffers:
            size = span_of(buffer)
            if buffer.elem_offset is not None:
                size = add(widen(buffer.elem_offset), size)
            flat = replace(buffer, shape=(size,), strides=(), elem_offset=None, axis_separators=())
            self.buffers[buffer] = flat
        return self.buffers[buffer]

    def _declare(self, stmt: tir.DeclBuffer) -> tir.Stmt:
        return self.rewrite(stmt.body)

    def indices(self, buffer: tir.Buffer, indices: tuple[tir.PrimExpr, ...]) -> tuple[tir.PrimExpr, ...]:
        """Return the indices into the flat buffer."""
        return (self.index(buffer, indices),)

    def _load(self, load: tir.BufferLoad) -> tir.PrimExpr:
        indices = self.indices(load.buffer, self.rewrite(load.indices))
        predicate = None if load.predicate is None else self.rewrite(load.predicate)
        return replace(load, buffer=self.buffer(load.buffer), indices=indices, predicate=predicate)

    def _store(self, store: tir.BufferStore) -> tir.Stmt:
        indices, value = self.indices(store.buffer, self.rewrite(store.indices)), self.rewrite(store.value)
        predicate = None if store.predicate is None else self.rewrite(store.predicate)
        return replace(store, buffer=self.buffer(store.buffer), value=value, indices=indices, predicate=predicate)


class _SameDtypes(_Flattener):
    """Flattens each group of axes between separators on its own; the groups are the dimensions that stay."""

    index = staticmethod(narrow_index)

    def __init__(self, body: tir.Stmt) -> None:
        super().__init__()
        buffers = [node for node in distinct(body) if isinstance(node, tir.Buffer)]
        self._grouped = {buffer.data: buffer for buffer in buffers if _has_groups(buffer)}
        """The first buffer with separators in each memory."""
        self._sizes: dict[tir.Var, tuple[int, str]] = {}
        """The number of elements of allocations of constant size, and their dtype."""
        for node in distinct(body):
            if isinstance(node, tir.Allocate):
                extents = [extent.value for extent in node.extents if isinstance(extent, tir.IntImm)]
                if len(extents) == len(node.extents):
                    self._sizes[node.buffer_var] = prod(extents), node.dtype

    def more_rules(self) -> dict[type[Any], Callable[[Any], Any]]:
        """Return the rules for allocations and blocks."""
        return {tir.Allocate: self._allocate, tir.Block: self._block, tir.BufferRegion: self._region}

    def buffer(self, buffer: tir.Buffer) -> tir.Buffer:
        """Return the flat buffer of the same memory, with its size in the dtype of the shape if it is constant."""
        if len(buffer.shape) == 1 and not buffer.strides and buffer.elem_offset is None:
            return buffer
        if buffer in self.buffers:
            return self.buffers[buffer]
        if _has_groups(buffer):
            shape = tuple(map(_size_of, _groups(buffer, buffer.shape)))
            is_alike = len(shape) == len(buffer.shape)
            flat = buffer if is_alike else replace(buffer, shape=shape, axis_separators=tuple(range(1, len(shape))))
        else:
            flat = super().buffer(buffer)
            (size,) = flat.shape
            size = self._with_rows(buffer, size)
            is_small = all(extent.dtype == "int32" for extent in buffer.shape)
            if is_small and isinstance(size, tir.IntImm) and size.value < 2**31:
                flat = replace(flat, shape=(tir.IntImm("int32", size.value),))
        self.buffers[buffer] = flat
        return flat

    def _with_rows(self, buffer: tir.Buffer, size: tir.PrimExpr) -> tir.PrimExpr:
        """Return the size of whole rows of a strided buffer if its memory is allocated and contains these, otherwise `size`."""
        memory = self._sizes.get(buffer.data)
        if memory is None or not buffer.strides or buffer.elem_offset is not None or not isinstance(size, tir.IntImm):
            return size
        rows, stride = buffer.shape[0], buffer.strides[0]
        if not isinstance(rows, tir.IntImm) or not isinstance(stride, tir.IntImm):
            return size
        whole = rows.value * stride.value
        return tir.IntImm(size.dtype, whole) if size.value <= whole <= memory[0] and buffer.dtype == memory[1] else size

    def indices(self, buffer: tir.Buffer, indices: tuple[tir.PrimExpr, ...]) -> tuple[tir.PrimExpr, ...]:
        """Return the position in each group of axes."""
        if not _has_groups(buffer):
            return super().indices(buffer, indices)
        groups = zip(_groups(buffer, buffer.shape), _groups(buffer, indices), strict=True)
        return tuple([narrow_index(replace(buffer, shape=shape), group) for shape, group in groups])

    def _allocate(self, stmt: tir.Allocate) -> tir.Stmt:
        extents, body = self.rewrite(stmt.extents), self.rewrite(stmt.body)
        buffer = self._grouped.get(stmt.buffer_var)
        if buffer is not None and len(buffer.shape) == len(extents):
            extents = tuple(map(_size_of, _groups(buffer, extents)))
        elif len(extents) > 1 and all(isinstance(extent, tir.IntImm) for extent in extents):
            extents = (_size_of(extents),)
        return replace(stmt, extents=extents, body=body)

    def _block(self, block: tir.Block) -> tir.Block:
        buffers = tuple(map(self.buffer, block.alloc_buffers))
        return replace(self.rebuild(replace(block, alloc_buffers=())), alloc_buffers=buffers)

    def _region(self, region: tir.BufferRegion) -> tir.BufferRegion:
        """Return the region from the first to the last element of `region`, in each group of axes."""
        first = self.rewrite(tuple([axis.min for axis in region.region]))
        last = [add(axis.min, subtract(axis.extent, make.const(1, axis.extent.dtype))) for axis in region.region]
        ends = (self.indices(region.buffer, tuple(end)) for end in (first, self.rewrite(tuple(last))))
        axes = [
            tir.Range(start, simplify(make.add(make.sub(end, start), make.const(1, start.dtype))))
            for start, end in zip(*ends, strict=True)
        ]
        return tir.BufferRegion(self.buffer(region.buffer), tuple(axes))


def _has_groups(buffer: tir.Buffer) -> bool:
    return bool(buffer.axis_separators) and not buffer.strides and buffer.elem_offset is None


def _groups(buffer: tir.Buffer, axes: tuple[tir.PrimExpr, ...]) -> list[tuple[tir.PrimExpr, ...]]:
    """Return what belongs to the axes of each group of `buffer`."""
    ends = (0, *buffer.axis_separators, len(axes))
    return [axes[start:end] for start, end in pairwise(ends)]


def _size_of(extents: tuple[tir.PrimExpr, ...]) -> tir.PrimExpr:
    """Return the product of extents, in the dtype of the first one if it is constant and fits."""
    if len(extents) == 1:
        return extents[0]
    sizes = [extent.value for extent in extents if isinstance(extent, tir.IntImm)]
    if len(sizes) == len(extents) and extents:
        return tir.IntImm(extents[0].dtype if prod(sizes) < 2**31 else "int64", prod(sizes))
    return reduce(multiply, map(widen, extents), tir.IntImm("int64", 1))
