"""Flattening of buffers: one int64 index each, counted in elements from the buffer's pointer.

(TVM: `FlattenBuffer`; axis separators have no effect, since all memory is flat.)
"""

from __future__ import annotations

from collections.abc import Callable
from math import prod
from typing import Any, Literal

from msgspec.structs import replace

from ...ir import make, tir
from ...ir.simplify import simplify
from .layout import flat_index, narrow_index, span_of
from .rewriter import Rewriter
from .vectors import add, subtract, widen


def flatten_buffers(func: tir.PrimFunc, index_dtype: Literal["int64", "same"] = "int64") -> tir.PrimFunc:
    """Return `func` with flat buffer accesses. With "same", indices and sizes of int32 stay int32 where all positions in the
    buffer fit, and allocations and the buffers and regions of blocks become flat too, as in TVM.
    """
    return replace(func, body=(_Flattener() if index_dtype == "int64" else _SameDtypes()).rewrite(func.body))


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

    def _load(self, load: tir.BufferLoad) -> tir.PrimExpr:
        index = self.index(load.buffer, self.rewrite(load.indices))
        predicate = None if load.predicate is None else self.rewrite(load.predicate)
        return replace(load, buffer=self.buffer(load.buffer), indices=(index,), predicate=predicate)

    def _store(self, store: tir.BufferStore) -> tir.Stmt:
        index, value = self.index(store.buffer, self.rewrite(store.indices)), self.rewrite(store.value)
        predicate = None if store.predicate is None else self.rewrite(store.predicate)
        return replace(store, buffer=self.buffer(store.buffer), value=value, indices=(index,), predicate=predicate)


class _SameDtypes(_Flattener):
    index = staticmethod(narrow_index)

    def more_rules(self) -> dict[type[Any], Callable[[Any], Any]]:
        """Return the rules for allocations and blocks."""
        return {tir.Allocate: self._allocate, tir.Block: self._block, tir.BufferRegion: self._region}

    def buffer(self, buffer: tir.Buffer) -> tir.Buffer:
        """Return the flat buffer of the same memory, with its size in the dtype of the shape if it is constant."""
        if len(buffer.shape) == 1 and not buffer.strides and buffer.elem_offset is None:
            return buffer
        known = buffer in self.buffers
        flat = super().buffer(buffer)
        (size,) = flat.shape
        is_small = all(extent.dtype == "int32" for extent in buffer.shape)
        if not known and is_small and isinstance(size, tir.IntImm) and size.value < 2**31:
            flat = self.buffers[buffer] = replace(flat, shape=(tir.IntImm("int32", size.value),))
        return flat

    def _allocate(self, stmt: tir.Allocate) -> tir.Stmt:
        extents, body = self.rewrite(stmt.extents), self.rewrite(stmt.body)
        sizes = [extent.value for extent in extents if isinstance(extent, tir.IntImm)]
        if len(extents) > 1 and len(sizes) == len(extents):
            dtype = extents[0].dtype if prod(sizes) < 2**31 else "int64"
            extents = (tir.IntImm(dtype, prod(sizes)),)
        return replace(stmt, extents=extents, body=body)

    def _block(self, block: tir.Block) -> tir.Block:
        buffers = tuple(map(self.buffer, block.alloc_buffers))
        return replace(self.rebuild(replace(block, alloc_buffers=())), alloc_buffers=buffers)

    def _region(self, region: tir.BufferRegion) -> tir.BufferRegion:
        """Return the region from the first to the last element of `region`."""
        first = self.rewrite(tuple([axis.min for axis in region.region]))
        last = [add(axis.min, subtract(axis.extent, make.const(1, axis.extent.dtype))) for axis in region.region]
        start, end = (self.index(region.buffer, tuple(ends)) for ends in (first, self.rewrite(tuple(last))))
        extent = simplify(make.add(make.sub(end, start), make.const(1, start.dtype)))
        return tir.BufferRegion(self.buffer(region.buffer), (tir.Range(start, extent),))
