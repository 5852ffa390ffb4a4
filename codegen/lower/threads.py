"""Lowering of loops over threads for processors.

- A loop bound to GPU threads becomes sequential, which is the meaning of unlowered TensorIR.
- A parallel loop inside another one becomes sequential: all threads are in use.
- `T.launch_thread` (an `AttrStmt` "thread_extent") becomes a loop around its body.
"""

from __future__ import annotations

from msgspec.structs import replace

from ...ir import tir
from .rewriter import Rewriter

_THREAD_ATTRIBUTES = ("thread_extent", "virtual_thread")


def serialize_threads(func: tir.PrimFunc) -> tir.PrimFunc:
    """Return `func` with its outermost parallel loops; all other loops over threads become sequential."""
    return replace(func, body=_Serializer().rewrite(func.body))


class _Serializer(Rewriter):
    def __init__(self) -> None:
        super().__init__({tir.For: self._for, tir.AttrStmt: self._attribute})
        self._is_parallel = False

    def _for(self, stmt: tir.For) -> tir.Stmt:
        outer, is_outermost = self._is_parallel, stmt.kind is tir.ForKind.PARALLEL and not self._is_parallel
        self._is_parallel = outer or is_outermost
        loop = self.rebuild(stmt)
        self._is_parallel = outer
        if loop.kind is tir.ForKind.THREAD_BINDING or (loop.kind is tir.ForKind.PARALLEL and not is_outermost):
            return replace(loop, kind=tir.ForKind.SERIAL, thread_binding=None)
        return loop

    def _attribute(self, stmt: tir.AttrStmt) -> tir.Stmt:
        body = self.rewrite(stmt.body)
        if stmt.attr_key not in _THREAD_ATTRIBUTES or not isinstance(stmt.node, tir.IterVar):
            return replace(stmt, body=body)
        zero = tir.IntImm(stmt.node.var.dtype, 0)
        return tir.For(stmt.node.var, zero, self.rewrite(stmt.value), tir.ForKind.SERIAL, body, span=stmt.span)
