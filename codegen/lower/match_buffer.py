"""Replacement of matched buffers by their sources (TVM: `LowerMatchBuffer`).

X = T.match_buffer(A[i * 16:i * 16 + 16, 0:8], (16, 8))
X[j, k] = 0                                                 →        A[i * 16 + j, k] = 0
"""

from __future__ import annotations

from collections.abc import Sequence

from msgspec.structs import replace

from ...ir import make, tir
from ...ir.diagnostics import error
from ...ir.idioms import is_zero
from ...ir.simplify import simplify
from .layout import flat_index, strides_of
from .rewriter import Rewriter
from .vectors import add, widen

_Indices = tuple[tir.PrimExpr, ...]


def lower_match_buffers(func: tir.PrimFunc, with_checks: bool = False) -> tir.PrimFunc:
    """Return `func`, whose blocks are opaque, without matched buffers. With `with_checks`, TvmsError E0706 if the offset or the strides
    of a region are certainly not those that its buffer declares; the compiler checks strides at run time.
    """
    return replace(func, body=(_Checked if with_checks else MatchedBuffers)().rewrite(func.body))


class MatchedBuffers(Rewriter):
    """Rewrites accesses of matched buffers as accesses of their sources."""

    def __init__(self) -> None:
        super().__init__(
            {
                tir.Block: self._block,
                tir.BufferLoad: self._load,
                tir.BufferStore: self._store,
                tir.BufferRegion: self._region,
            }
        )
        self._views: dict[tir.Buffer, tuple[tir.Buffer, _Indices]] = {}

    def _block(self, block: tir.Block) -> tir.Block:
        for match in block.match_buffers:
            self._match(match)
        return self.rebuild(replace(block, match_buffers=()) if block.match_buffers else block)

    def _match(self, match: tir.MatchBufferRegion) -> None:
        """Map the matched buffer to its source, and bind the variables of its declaration."""
        buffer = match.buffer
        if len(buffer.shape) > len(match.source.region):
            reason = f"'{buffer.name}' has {len(buffer.shape)} dimensions, more than its region"
            raise error("E0606", reason, match.span or buffer.span, "declare the shape of the region")
        source, region = self._resolve(match.source.buffer), self.rewrite(match.source.region)
        mins = self._in_source(match.source.buffer, tuple([part.min for part in region]))
        self._views[buffer] = (source, mins)
        self.values[buffer.data] = source.data
        extents = tuple([part.extent for part in region])
        start, strides = self.layout(source, mins, (make.const(1, "int32"),) * (len(mins) - len(extents)) + extents)
        rank = len(buffer.shape)
        parts = zip(buffer.shape, extents[len(extents) - rank :], strict=True)
        steps = [*zip(buffer.strides, strides[len(strides) - rank :], strict=False)]
        offset = [] if buffer.elem_offset is None else [(buffer.elem_offset, start)]
        for declared, actual in (*parts, *steps, *offset):
            if isinstance(declared, tir.Var):
                self.values.setdefault(declared, make.cast(actual, declared.dtype))
        self.check(match, [*steps, *offset])

    def check(self, match: tir.MatchBufferRegion, pairs: Sequence[tuple[tir.PrimExpr, tir.PrimExpr]]) -> None:
        """Check the declared and the actual strides and offset of a matched buffer."""

    def layout(self, source: tir.Buffer, mins: _Indices, extents: _Indices) -> tuple[tir.PrimExpr, _Indices]:
        """Return the offset in elements and the strides of the part of `source` that starts at `mins` and has
        `extents`.
        """
        return flat_index(source, mins), strides_of(source)

    def _resolve(self, buffer: tir.Buffer) -> tir.Buffer:
        return self._views[buffer][0] if buffer in self._views else self.buffer(buffer)

    def _in_source(self, buffer: tir.Buffer, indices: _Indices) -> _Indices:
        """Return the indices in the source for `indices` of a matched buffer."""
        if buffer not in self._views:
            return indices
        mins = self._views[buffer][1]
        dropped = len(mins) - len(indices)
        return mins[:dropped] + tuple(map(_sum, mins[dropped:], indices))

    def _region(self, region: tir.BufferRegion) -> tir.BufferRegion:
        ranges: tuple[tir.Range, ...] = self.rewrite(region.region)
        mins = self._in_source(region.buffer, tuple([range_.min for range_ in ranges]))
        dropped = [tir.Range(expr, make.const(1, expr.dtype)) for expr in mins[: len(mins) - len(ranges)]]
        moved = [replace(range_, min=low) for range_, low in zip(ranges, mins[len(dropped) :], strict=True)]
        return tir.BufferRegion(self._resolve(region.buffer), (*dropped, *moved))

    def _load(self, load: tir.BufferLoad) -> tir.PrimExpr:
        indices = self._in_source(load.buffer, self.rewrite(load.indices))
        predicate = None if load.predicate is None else self.rewrite(load.predicate)
        return replace(load, buffer=self._resolve(load.buffer), indices=indices, predicate=predicate)

    def _store(self, store: tir.BufferStore) -> tir.Stmt:
        indices = self._in_source(store.buffer, self.rewrite(store.indices))
        predicate = None if store.predicate is None else self.rewrite(store.predicate)
        value, buffer = self.rewrite(store.value), self._resolve(store.buffer)
        return replace(store, buffer=buffer, value=value, indices=indices, predicate=predicate)


class _Checked(MatchedBuffers):
    """Refuses buffers that declare another layout than that of their regions."""

    def check(self, match: tir.MatchBufferRegion, pairs: Sequence[tuple[tir.PrimExpr, tir.PrimExpr]]) -> None:
        """Raise TvmsError E0706 if a declared value is never the actual one."""
        for declared, actual in pairs:
            is_equal = simplify(make.equal(make.cast(self.rewrite(declared), "int64"), make.cast(actual, "int64")))
            if is_zero(is_equal):
                reason = f"matched buffer '{match.buffer.name}' declares {declared} as offset or stride, where its region has {actual}"
                raise error("E0706", reason, match.span or match.buffer.span, "declare variables, or nothing")


def _sum(start: tir.PrimExpr, index: tir.PrimExpr) -> tir.PrimExpr:
    return add(start, index) if start.dtype == index.dtype else add(widen(start), widen(index))
