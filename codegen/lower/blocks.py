"""Lowering of opaque blocks: a predicate becomes an `if`, a buffer of the block an allocation (TVM:
`LowerOpaqueBlock`).

A loop with one iteration is replaced by its body.
"""

from __future__ import annotations

from msgspec.structs import replace

from ...ir import make, tir
from ...ir.idioms import is_one
from ...ir.jumps import has_jump
from .layout import span_of
from .rewriter import Rewriter

TRUE = tir.IntImm("bool", 1)


def lower_opaque_blocks(func: tir.PrimFunc) -> tir.PrimFunc:
    """Return `func` without blocks; its blocks must not have iterators, inits or matched buffers."""
    return replace(func, body=_Lowerer().rewrite(func.body))


class _Lowerer(Rewriter):
    def __init__(self) -> None:
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
        for buffer in reversed(block.alloc_buffers):
            body = _allocate(self.buffer(buffer), body)
        return body if is_one(predicate) else tir.IfThenElse(predicate, body, span=realize.span)

    def _for(self, stmt: tir.For) -> tir.Stmt:
        is_once = isinstance(stmt.extent, tir.IntImm) and stmt.extent.value == 1
        if not is_once or stmt.annotations or stmt.thread_binding is not None or has_jump(stmt.body):
            return self.rebuild(stmt)
        self.values[stmt.loop_var] = make.cast(self.rewrite(stmt.min), stmt.loop_var.dtype)
        return self.rewrite(stmt.body)

    def _if(self, stmt: tir.IfThenElse) -> tir.Stmt:
        """Drop the check for the first step of a reduction if the loop has only one."""
        stmt = self.rebuild(stmt)
        return stmt.then_case if is_one(stmt.condition) else stmt


def _allocate(buffer: tir.Buffer, body: tir.Stmt) -> tir.Stmt:
    """Allocate the span of the buffer."""
    extents = (span_of(buffer),) if buffer.strides else buffer.shape or (tir.IntImm("int64", 1),)
    return tir.Allocate(buffer.data, buffer.dtype, extents, TRUE, tir.DeclBuffer(buffer, body), span=buffer.span)
