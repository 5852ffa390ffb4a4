"""Checks of the declarations of blocks: sizes of their buffers, and matched buffers.

B = T.alloc_buffer((n,))                               T.check(0 <= n, "E0717", …)
X = T.match_buffer(A[i:i + 4], (m,))           →       T.check(0 <= i and i + 4 <= 16, "E0707", …)
X[j] = 0                                               X[T.checked_index(j, "X", 0, j, m)] = 0

This pass runs before matched buffers are replaced by their sources, and before buffers are compacted.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import chain

from msgspec.structs import replace

from ...ir import make, tir
from ...ir.base import Node, Op
from ...ir.visit import walk
from .bounds import Bounds, Guard
from .layout import strides_of
from .rewriter import sequence
from .vectors import widen
from .wrapping import with_limits

_CHECK = Op("tir.check")


def guard_blocks(func: tir.PrimFunc, mode: Bounds) -> tir.PrimFunc:
    """Return `func`, whose blocks are opaque, with checks of the declarations of its blocks."""
    if mode == "trust" or not any(map(_declares, walk(func.body))):
        return func
    guard = _BlockGuard(func, mode)
    return with_limits(replace(func, body=guard.rewrite(func.body)), guard.proofs.limits)


def _declares(node: Node) -> bool:
    return isinstance(node, tir.Block) and bool(node.match_buffers or any(map(_may_be_negative, node.alloc_buffers)))


def _may_be_negative(buffer: tir.Buffer) -> bool:
    return not all(isinstance(extent, tir.IntImm) and extent.value >= 0 for extent in buffer.shape)


class _BlockGuard(Guard):
    """Checks accesses of matched buffers only."""

    def __init__(self, func: tir.PrimFunc, mode: Bounds) -> None:
        matched = {
            match.buffer for node in walk(func.body) if isinstance(node, tir.Block) for match in node.match_buffers
        }
        super().__init__(func, mode, {}, matched)
        self._rules |= {
            tir.BlockRealize: self._realize,
            tir.Block: self._block,
            tir.BufferRegion: lambda region: region,
        }
        self._scope = {*func.params, *chain.from_iterable(map(_variables, func.buffer_map.values()))}

    def _realize(self, realize: tir.BlockRealize) -> tir.Stmt:
        """Return a block with checks of its sizes around it, so that they come before all of its allocations."""
        predicate = self.rewrite(realize.predicate)
        inner = replace(realize, predicate=predicate, block=self.where(realize.predicate, realize.block))
        sizes = list(self._sizes(inner.block))
        if not sizes:
            return inner
        body = sequence([*sizes, replace(inner, predicate=tir.IntImm("bool", 1))])
        return replace(inner, block=tir.Block((), inner.block.reads, inner.block.writes, "", body))

    def _block(self, block: tir.Block) -> tir.Block:
        checks = [check for match in block.match_buffers for check in self._match(match)]
        changed = self.rebuild(block)
        return replace(changed, body=sequence([*checks, changed.body])) if checks else changed

    def _sizes(self, block: tir.Block) -> Iterator[tir.Stmt]:
        for buffer in block.alloc_buffers:
            said = f"buffer '{buffer.name}' has a size that is negative or too large"
            for extent in buffer.shape:
                yield from self._check(_is_natural(extent), "E0717", said, buffer)

    def _match(self, match: tir.MatchBufferRegion) -> Iterator[tir.Stmt]:
        """Yield the checks that a region is inside its source, and that the declared shape and strides are those of
        the region.
        """
        buffer, source = match.buffer, match.source.buffer
        for axis, (part, extent) in enumerate(zip(match.source.region, source.shape, strict=True)):
            said = f"the region of matched buffer '{buffer.name}' is outside '{source.name}' in dimension {axis}"
            end = make.add(widen(part.min), widen(part.extent))
            yield from self._check(_is_natural(part.min), "E0707", said, match)
            yield from self._check(_is_natural(part.extent), "E0707", said, match)
            yield from self._check(make.less_equal(*_alike(end, extent)), "E0707", said, match)
        rank = len(buffer.shape)
        extents = [part.extent for part in match.source.region][-rank:] if rank else []
        strides = strides_of(source)[-rank:] if rank else ()
        declared = [(expr, found, "E0705", "shape") for expr, found in zip(buffer.shape, extents, strict=False)]
        declared += [
            (stride, found, "E0706", "strides") for stride, found in zip(buffer.strides, strides, strict=False)
        ]
        for said, found, code, what in declared:
            if isinstance(said, tir.Var) and said not in self._scope:
                self._scope.add(said)
                continue
            reason = f"the {what} of matched buffer '{buffer.name}' and of its region differ"
            yield from self._check(make.equal(*_alike(said, found)), code, reason, match)

    def _check(self, condition: tir.PrimExpr, code: str, said: str, node: Node) -> Iterator[tir.Stmt]:
        if isinstance(condition, tir.IntImm) and condition.value:
            return
        if self.proofs.is_proven(condition):
            return
        args = (condition, tir.StringImm("handle", code), tir.StringImm("handle", said))
        yield tir.Evaluate(tir.Call("int32", _CHECK, args, span=node.span), span=node.span)


def _variables(buffer: tir.Buffer) -> list[tir.Var]:
    return [expr for expr in (*buffer.shape, *buffer.strides, buffer.elem_offset) if isinstance(expr, tir.Var)]


def _is_natural(value: tir.PrimExpr) -> tir.PrimExpr:
    return make.greater_equal(value, make.const(0, value.dtype))


def _alike(a: tir.PrimExpr, b: tir.PrimExpr) -> tuple[tir.PrimExpr, tir.PrimExpr]:
    return (a, b) if a.dtype == b.dtype else (widen(a), widen(b))
