"""Matching of a block against the description of an intrinsic, which also gives the regions of its buffers.

TVM: `TensorizeComparator` (`src/tir/schedule/ir_comparator.cc`).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ... import make, tir
from ...analysis.proof import prove
from ...base import Node
from ...dtype import is_bool, is_int
from ...simplify import simplify
from ...visit import children, substitute, walk
from ..conditions import Condition, Refused, name_of
from .bindings import Domains

MATCHES = Condition(
    "E0581",
    "the block matches the description of the intrinsic loop by loop, including the layouts of its buffers",
    "compare it with tvms.tir.TensorIntrin.get(name).desc; split, reorder, cache and blockize to make them equal",
)


class Matching:
    """Comparison of a block with the description of an intrinsic."""

    def __init__(self, block: tir.Block, place: tir.Stmt) -> None:
        self.block, self.place = block, place
        self.buffers: dict[tir.Buffer, tir.Buffer] = {}
        """Buffers of the program, by the buffers of the description."""
        self.starts: dict[tir.Buffer, tuple[tir.PrimExpr, ...]] = {}
        """Start of the region of each buffer of the program."""
        self._variables: dict[tir.Var, Node] = {}
        self._domains: Domains = {axis.var: axis.dom for axis in block.iter_vars if axis.dom is not None}

    def match(self, described: tir.Block) -> None:
        """Match the block against its description; refused if they differ (E0581)."""
        self._regions(self.block.writes, described.writes)
        self._regions(self.block.reads, described.reads)
        self._statement(self.block.body, described.body)

    def _differ(self, reason: str) -> Refused:
        return MATCHES.refuse(f"{name_of(self.block)} differs from the description: {reason}", self.place)

    # --- Buffers -----------------------------------------------------------------------------------------------------

    def _buffer(self, mine: tir.Buffer, other: tir.Buffer) -> None:
        if other not in self.buffers and mine in self.buffers.values():
            raise self._differ(f"'{mine.name}' corresponds to two buffers")
        known = self.buffers.setdefault(other, mine)
        if known is not mine:
            raise self._differ(f"expected '{known.name}', got '{mine.name}'")
        if mine.dtype != other.dtype or mine.scope != other.scope:
            kinds = f"{mine.dtype} in {mine.scope}, not {other.dtype} in {other.scope}"
            raise self._differ(f"'{mine.name}', which corresponds to '{other.name}', is {kinds}")

    def _regions(self, mine: Sequence[tir.BufferRegion], others: Sequence[tir.BufferRegion]) -> None:
        if len(mine) != len(others):
            raise self._differ(f"expected {len(others)} regions, got {len(mine)}")
        for region, other in zip(mine, others, strict=True):
            self._region(region, other)

    def _region(self, mine: tir.BufferRegion, other: tir.BufferRegion) -> None:
        self._buffer(mine.buffer, other.buffer)
        start = self.starts.setdefault(mine.buffer, tuple([axis.min for axis in mine.region]))
        if len(mine.region) < len(other.region):
            raise self._differ(f"'{mine.buffer.name}' has fewer axes than '{other.buffer.name}'")
        offset = len(mine.region) - len(other.region)
        extents = [*[make.const(1)] * offset, *[axis.extent for axis in other.region]]
        least = [
            *start[:offset],
            *[self._shifted(axis.min, at) for axis, at in zip(other.region, start[offset:], strict=True)],
        ]
        for axis, begin, extent in zip(mine.region, least, extents, strict=True):
            if not self._equal(axis.extent, extent) or not self._equal(axis.min, begin):
                raise self._differ(f"it accesses another region of '{mine.buffer.name}'")

    def _shifted(self, index: tir.PrimExpr, start: tir.PrimExpr) -> tir.PrimExpr:
        return make.add(start, make.cast(substitute(index, self._variables), start.dtype))

    def _access(
        self, buffer: tir.Buffer, indices: Sequence[tir.PrimExpr], other: tir.Buffer, others: Sequence[tir.PrimExpr]
    ) -> None:
        self._buffer(buffer, other)
        start = self.starts.get(buffer)
        if start is None or len(indices) < len(others):
            raise self._differ(f"it accesses '{buffer.name}', which is not among its regions, or with fewer axes")
        offset = len(indices) - len(others)
        wanted = [*start[:offset], *[self._shifted(expr, at) for expr, at in zip(others, start[offset:], strict=True)]]
        for index, place in zip(indices, wanted, strict=True):
            if not self._equal(index, place):
                raise self._differ(f"expected index {simplify(place, self._domains)} of '{buffer.name}', got {index}")

    # --- Statements and expressions ----------------------------------------------------------------------------------

    def _statement(self, mine: tir.Stmt, other: tir.Stmt) -> None:
        match mine, other:
            case tir.For(), tir.For():
                self._loop(mine, other)
            case tir.SeqStmt(), tir.SeqStmt() if len(mine.seq) == len(other.seq):
                for stmt, wanted in zip(mine.seq, other.seq, strict=True):
                    self._statement(stmt, wanted)
            case tir.BufferStore(), tir.BufferStore() if mine.predicate is None and other.predicate is None:
                self._access(mine.buffer, mine.indices, other.buffer, other.indices)
                self._value(mine.value, other.value)
            case tir.BlockRealize(), tir.BlockRealize():
                self._realize(mine, other)
            case _:
                raise self._differ(f"expected a {type(other).__name__}, got a {type(mine).__name__}")

    def _loop(self, mine: tir.For, other: tir.For) -> None:
        alike = self._equal(mine.min, other.min) and self._equal(mine.extent, other.extent) and mine.kind is other.kind
        if not alike or (mine.thread_binding is None) != (other.thread_binding is None):
            raise self._differ(f"{name_of(mine)} is {mine.kind.value} with extent {mine.extent}, not {other.extent}")
        if mine.annotations.keys() != other.annotations.keys():
            raise self._differ(f"{name_of(mine)} has other annotations")
        self._variables[other.loop_var] = make.cast(mine.loop_var, other.loop_var.dtype)
        self._domains = {**self._domains, mine.loop_var: tir.Range(mine.min, mine.extent)}
        self._statement(mine.body, other.body)

    def _realize(self, mine: tir.BlockRealize, other: tir.BlockRealize) -> None:
        if len(mine.iter_values) != len(other.iter_values):
            raise self._differ(f"{name_of(mine)} has {len(mine.iter_values)} iterators, not {len(other.iter_values)}")
        for value, wanted in zip(
            (*mine.iter_values, mine.predicate), (*other.iter_values, other.predicate), strict=True
        ):
            if not self._equal(value, substitute(wanted, self._variables)):
                raise self._differ(f"{name_of(mine)} is bound to {value}, not {substitute(wanted, self._variables)}")
        block, described = mine.block, other.block
        if (block.init is None) != (described.init is None) or block.alloc_buffers or block.match_buffers:
            raise self._differ(f"{name_of(block)} differs in T.init, or has its own buffers")
        for axis, wanted in zip(block.iter_vars, described.iter_vars, strict=True):
            if axis.iter_type is not wanted.iter_type:
                raise self._differ(
                    f"iterator '{axis.var.name}' is {axis.iter_type.value}, not {wanted.iter_type.value}"
                )
            self._variables[wanted.var] = make.cast(axis.var, wanted.var.dtype)
            assert axis.dom is not None
            self._domains = {**self._domains, axis.var: axis.dom}
        self._regions(block.writes, described.writes)
        self._regions(block.reads, described.reads)
        if block.init is not None and described.init is not None:
            self._statement(block.init, described.init)
        self._statement(block.body, described.body)

    def _value(self, mine: Node, other: Node) -> None:
        match mine, other:
            case tir.BufferLoad(), tir.BufferLoad():
                self._access(mine.buffer, mine.indices, other.buffer, other.indices)
            case tir.PrimExpr(), tir.PrimExpr() if _is_index(mine) and _is_index(other):
                if not self._equal(mine, substitute(other, self._variables)):
                    raise self._differ(f"expected {substitute(other, self._variables)}, got {mine}")
            case _ if type(mine) is type(other) and _constant(mine) == _constant(other):
                for child, wanted in zip(children(mine), children(other), strict=True):
                    self._value(child, wanted)
            case tir.PrimExpr(), tir.PrimExpr() if type(mine) is not type(other) and type(
                mine := simplify(mine, self._domains)
            ) is type(other := simplify(other)):
                self._value(mine, other)
            case _:
                raise self._differ(f"expected {other}, got {mine}")

    def _equal(self, mine: tir.PrimExpr, wanted: tir.PrimExpr) -> bool:
        return mine is wanted or prove(make.equal(mine, wanted), self._domains).is_proven


def _is_index(expr: tir.PrimExpr) -> bool:
    """Return whether an expression consists of indices only; these are compared by value, not by form."""
    return (is_int(expr.dtype) or is_bool(expr.dtype)) and not any(
        isinstance(node, tir.BufferLoad | tir.Call | tir.Cast) for node in walk(expr)
    )


def _constant(node: Node) -> tuple[Any, ...]:
    """Return the fields that distinguish expressions of one kind, besides their operands."""
    return tuple(
        [
            getattr(node, name, None)
            for name in ("dtype", "value", "op")
            if not isinstance(getattr(node, name, None), tir.PrimExpr)
        ]
    )
