"""Blocks to loops: what is left of a block is its body, at the values that its iterators have there.

- an iterator is replaced by its value;
- the predicate becomes an `if` around the block, the init an `if` on the first step of the reduction;
- a matched buffer becomes its source, at the offset of the region;
- a buffer that the block allocates becomes an `Allocate` around the body.

(TVM: `ConvertBlocksToOpaque`, `LowerInitBlock`, `LowerMatchBuffer`, `LowerOpaqueBlock`.)
"""

from __future__ import annotations

from functools import reduce

from msgspec.structs import replace

from ...ir import make, tir
from ...ir.diagnostics import error
from .rewriter import Rewriter, sequence
from .vectors import add, multiply, widen

TRUE = tir.IntImm("bool", 1)


def lower_blocks(func: tir.PrimFunc) -> tir.PrimFunc:
    """Return `func` without blocks."""
    return replace(func, body=_BlockLowerer().rewrite(func.body))


class _BlockLowerer(Rewriter):
    def __init__(self) -> None:
        super().__init__(
            {
                tir.BlockRealize: self._realize,
                tir.BufferLoad: self._load,
                tir.BufferStore: self._store,
                tir.For: self._for,
            }
        )
        self._views: dict[tir.Buffer, tuple[tir.Buffer, tuple[tir.PrimExpr, ...]]] = {}
        self._counters: set[tir.Var] = set()

    def _for(self, stmt: tir.For) -> tir.Stmt:
        start = self.rewrite(stmt.min)
        if isinstance(start, tir.IntImm) and start.value >= 0:
            self._counters.add(stmt.loop_var)
        return self.rebuild(stmt)

    def _realize(self, realize: tir.BlockRealize) -> tir.Stmt:
        block, outer_buffers = realize.block, dict(self.buffers)
        predicate = self.rewrite(realize.predicate)
        for axis, value in zip(block.iter_vars, self.rewrite(realize.iter_values), strict=True):
            self.values[axis.var] = make.cast(value, axis.var.dtype)
        for match in block.match_buffers:
            self._match(match)
        body = sequence([*self._init(block), self.rewrite(block.body)])
        for buffer in reversed(block.alloc_buffers):
            body = _allocate(self.buffer(buffer), body)
        self.buffers = outer_buffers
        return body if _is_true(predicate) else tir.IfThenElse(predicate, body, span=realize.span)

    # --- Init

    def _init(self, block: tir.Block) -> list[tir.Stmt]:
        if block.init is None:
            return []
        axes = [axis for axis in block.iter_vars if axis.iter_type is tir.IterVarType.COMM_REDUCE]
        is_first = [condition for axis in axes for condition in self._is_first(axis)]
        init = self.rewrite(block.init)
        return [tir.IfThenElse(reduce(make.logical_and, is_first), init) if is_first else init]

    def _is_first(self, axis: tir.IterVar) -> list[tir.PrimExpr]:
        """Return conditions that together say that a reduction axis is at its start."""
        if axis.dom is None or (isinstance(axis.dom.extent, tir.IntImm) and axis.dom.extent.value == 1):
            return []
        value, start = self.values[axis.var], make.cast(self.rewrite(axis.dom.min), axis.var.dtype)
        if isinstance(start, tir.IntImm) and start.value == 0:
            return self._is_zero(value)
        return _unless_true(make.equal(value, start))

    def _is_zero(self, value: tir.PrimExpr) -> list[tir.PrimExpr]:
        """A sum of loop variables, none of them negative, is zero where each of them is."""
        terms = [value]
        counters: list[tir.Var] = []
        while terms:
            term = terms.pop()
            if isinstance(term, tir.Add):
                terms += (term.b, term.a)
            elif isinstance(term, tir.Mul) and isinstance(term.b, tir.IntImm) and term.b.value > 0:
                terms.append(term.a)
            elif isinstance(term, tir.Cast) and term.value.dtype in ("int32", "int64"):
                terms.append(term.value)
            elif isinstance(term, tir.Var) and term in self._counters:
                counters.append(term)
            elif not (isinstance(term, tir.IntImm) and term.value == 0):
                return _unless_true(make.equal(value, make.const(0, value.dtype)))
        return [make.equal(counter, make.const(0, counter.dtype)) for counter in counters]

    # --- Matched buffers

    def _match(self, match: tir.MatchBufferRegion) -> None:
        """Let accesses of the matched buffer go to its source, and bind the variables of its declaration."""
        buffer = match.buffer
        source, region = self._resolve(match.source.buffer), self.rewrite(match.source.region)
        mins = self._in_source(match.source.buffer, tuple([part.min for part in region]))
        self._views[buffer] = (source, mins)
        self.values[buffer.data] = source.data
        rank, strides = len(buffer.shape), strides_of(source)
        parts = zip(buffer.shape, [part.extent for part in region][len(region) - rank :], strict=True)
        steps = zip(buffer.strides, strides[len(strides) - rank :], strict=False)
        offset = [] if buffer.elem_offset is None else [(buffer.elem_offset, flat_index(source, mins))]
        for declared, actual in (*parts, *steps, *offset):
            if isinstance(declared, tir.Var):
                self.values.setdefault(declared, make.cast(actual, declared.dtype))

    def _resolve(self, buffer: tir.Buffer) -> tir.Buffer:
        return self._views[buffer][0] if buffer in self._views else self.buffer(buffer)

    def _in_source(self, buffer: tir.Buffer, indices: tuple[tir.PrimExpr, ...]) -> tuple[tir.PrimExpr, ...]:
        """Return where `indices` of a matched buffer lie in its source."""
        if buffer not in self._views:
            return indices
        mins = self._views[buffer][1]
        dropped = len(mins) - len(indices)
        return mins[:dropped] + tuple(map(_sum, mins[dropped:], indices))

    def _load(self, load: tir.BufferLoad) -> tir.PrimExpr:
        indices = self._in_source(load.buffer, self.rewrite(load.indices))
        predicate = None if load.predicate is None else self.rewrite(load.predicate)
        return replace(load, buffer=self._resolve(load.buffer), indices=indices, predicate=predicate)

    def _store(self, store: tir.BufferStore) -> tir.Stmt:
        indices = self._in_source(store.buffer, self.rewrite(store.indices))
        predicate = None if store.predicate is None else self.rewrite(store.predicate)
        value, buffer = self.rewrite(store.value), self._resolve(store.buffer)
        return replace(store, buffer=buffer, value=value, indices=indices, predicate=predicate)


def _sum(start: tir.PrimExpr, index: tir.PrimExpr) -> tir.PrimExpr:
    return add(start, index) if start.dtype == index.dtype else add(widen(start), widen(index))


def _is_true(condition: tir.PrimExpr) -> bool:
    return isinstance(condition, tir.IntImm) and condition.value == 1


def _unless_true(condition: tir.PrimExpr) -> list[tir.PrimExpr]:
    return [] if _is_true(condition) else [condition]


def strides_of(buffer: tir.Buffer) -> tuple[tir.PrimExpr, ...]:
    """Return the strides of `buffer` in elements, as int64; row-major where it declares none."""
    if buffer.strides and len(buffer.strides) != len(buffer.shape):
        reason = f"buffer '{buffer.name}' has {len(buffer.shape)} dimensions, but {len(buffer.strides)} strides"
        raise error("E0606", reason, buffer.span, "declare one stride for every dimension")
    if buffer.strides:
        return tuple(map(widen, buffer.strides))
    strides: list[tir.PrimExpr] = [tir.IntImm("int64", 1)]
    for extent in reversed(buffer.shape[1:]):
        strides.append(multiply(widen(extent), strides[-1]))
    return tuple(reversed(strides[: len(buffer.shape)]))


def flat_index(buffer: tir.Buffer, indices: tuple[tir.PrimExpr, ...]) -> tir.PrimExpr:
    """Return the position, in elements from `buffer.data` on, of the element at `indices`, as int64."""
    position: tir.PrimExpr = tir.IntImm("int64", 0) if buffer.elem_offset is None else widen(buffer.elem_offset)
    for index, stride in zip(indices, strides_of(buffer), strict=True):
        position = add(position, multiply(widen(index), stride))
    return position


def _allocate(buffer: tir.Buffer, body: tir.Stmt) -> tir.Stmt:
    """Allocate what the buffer spans: with strides, up to the last element that any index reaches."""
    one: tir.PrimExpr = tir.IntImm("int64", 1)
    if not buffer.strides:
        return tir.Allocate(buffer.data, buffer.dtype, tuple(map(widen, buffer.shape)) or (one,), TRUE, body)
    last = [multiply(make.sub(widen(n), one), step) for n, step in zip(buffer.shape, strides_of(buffer), strict=True)]
    return tir.Allocate(buffer.data, buffer.dtype, (reduce(add, last, one),), TRUE, body)
