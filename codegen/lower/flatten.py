"""Flattening of buffers: one int64 index each, counted in elements from the buffer's pointer.

(TVM: `FlattenBuffer`; axis separators have no effect, since all memory is flat.)
"""

from __future__ import annotations

from msgspec.structs import replace

from ...ir import tir
from .layout import flat_index, span_of
from .rewriter import Rewriter
from .vectors import add, widen


def flatten_buffers(func: tir.PrimFunc) -> tir.PrimFunc:
    """Return `func` with flat buffer accesses."""
    return replace(func, body=_Flattener().rewrite(func.body))


class _Flattener(Rewriter):
    def __init__(self) -> None:
        super().__init__({tir.BufferLoad: self._load, tir.BufferStore: self._store, tir.DeclBuffer: self._declare})

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
        index = flat_index(load.buffer, self.rewrite(load.indices))
        predicate = None if load.predicate is None else self.rewrite(load.predicate)
        return replace(load, buffer=self.buffer(load.buffer), indices=(index,), predicate=predicate)

    def _store(self, store: tir.BufferStore) -> tir.Stmt:
        index, value = flat_index(store.buffer, self.rewrite(store.indices)), self.rewrite(store.value)
        predicate = None if store.predicate is None else self.rewrite(store.predicate)
        return replace(store, buffer=self.buffer(store.buffer), value=value, indices=(index,), predicate=predicate)
