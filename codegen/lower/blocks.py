"""Lowering of opaque blocks: a predicate becomes an `if`, a buffer of the block an allocation (TVM:
`LowerOpaqueBlock`).

A loop with one iteration is replaced by its body. The pass by name also turns the pragmas of loops and blocks into attributes, and a
buffer with strides into memory with dimensions; the compiler needs neither.
"""

from __future__ import annotations

from typing import Any

from msgspec.structs import replace

from ...ir import make, tir
from ...ir.base import Attrs
from ...ir.idioms import is_one
from ...ir.jumps import has_jump
from .aligned_memory import ALIGNMENT
from .layout import dimensions_of, span_of
from .partition_points import HINT
from .rewriter import Rewriter

TRUE = tir.IntImm("bool", 1)


def lower_opaque_blocks(func: tir.PrimFunc, with_pragmas: bool = False) -> tir.PrimFunc:
    """Return `func` without blocks; its blocks must not have iterators, inits or matched buffers. With `with_pragmas`, annotations
    "pragma_…" become attributes around the statement, and memory of buffers with strides has dimensions.
    """
    return replace(func, body=_Lowerer(with_pragmas).rewrite(func.body))


class _Lowerer(Rewriter):
    def __init__(self, with_pragmas: bool) -> None:
        self._with_pragmas = with_pragmas
        self._alignments: dict[tir.Var, list[tuple[Any, ...]]] = {}
        super().__init__(
            {
                tir.BlockRealize: self._realize,
                tir.For: self._for,
                tir.IfThenElse: self._if,
                tir.EQ: self.folded(make.equal),
                tir.And: self.folded(make.logical_and),
            }
        )

    def _realize(self, realize: tir.BlockRealize) -> tir.Stmt:
        block, predicate = realize.block, self.rewrite(realize.predicate)
        body = self.rewrite(block.body)
        if self._with_pragmas:
            self._note_alignments(block)
        for buffer in reversed(block.alloc_buffers):
            body = self._allocation(self.buffer(buffer), body)
        if self._with_pragmas:
            body = _in_attributes(_pragmas(block.annotations), body)
        return body if is_one(predicate) else tir.IfThenElse(predicate, body, span=realize.span)

    def _note_alignments(self, block: tir.Block) -> None:
        """Keep the alignments of buffers that a block writes, for their allocations."""
        for index, *alignment in block.annotations.get(ALIGNMENT, ()):
            self._alignments.setdefault(block.writes[int(index)].buffer.data, []).append((0, *alignment))

    def _allocation(self, buffer: tir.Buffer, body: tir.Stmt) -> tir.Stmt:
        """Allocate the span of the buffer."""
        extents = (span_of(buffer),) if buffer.strides else buffer.shape or (tir.IntImm("int64", 1),)
        if self._with_pragmas and buffer.strides:
            extents = dimensions_of(buffer) or extents
        found = self._alignments.get(buffer.data)
        annotations = {ALIGNMENT: tuple(found)} if found else {}
        declared = tir.DeclBuffer(buffer, body)
        return tir.Allocate(buffer.data, buffer.dtype, extents, TRUE, declared, annotations, span=buffer.span)

    def _for(self, stmt: tir.For) -> tir.Stmt:
        pragmas = _pragmas(stmt.annotations) if self._with_pragmas else {}
        if pragmas:
            rest = {key: value for key, value in stmt.annotations.items() if key not in pragmas}
            return _in_attributes(pragmas, self._for(replace(stmt, annotations=rest)))
        is_once = isinstance(stmt.extent, tir.IntImm) and stmt.extent.value == 1
        if not is_once or stmt.annotations or stmt.thread_binding is not None or has_jump(stmt.body):
            return self.rebuild(stmt)
        self.values[stmt.loop_var] = make.cast(self.rewrite(stmt.min), stmt.loop_var.dtype)
        return self.rewrite(stmt.body)

    def _if(self, stmt: tir.IfThenElse) -> tir.Stmt:
        """Drop the check for the first step of a reduction if the loop has only one."""
        stmt = self.rebuild(stmt)
        return stmt.then_case if is_one(stmt.condition) else stmt


def _pragmas(annotations: Attrs) -> dict[str, tir.PrimExpr]:
    """Return the pragmas among annotations that are not read from loops by later passes."""
    found = {
        key: _as_expression(value) for key, value in annotations.items() if key.startswith("pragma_") and key != HINT
    }
    return {key: value for key, value in found.items() if value is not None}


def _as_expression(value: object) -> tir.PrimExpr | None:
    match value:
        case tir.PrimExpr():
            return value
        case str():
            return tir.StringImm("handle", value)
        case bool() | int() | float():
            return make.to_expr(value)
        case _:
            return None


def _in_attributes(pragmas: dict[str, tir.PrimExpr], body: tir.Stmt) -> tir.Stmt:
    for key, value in reversed([*pragmas.items()]):
        body = tir.AttrStmt(tir.IntImm("int32", 0), key, value, body)
    return body
