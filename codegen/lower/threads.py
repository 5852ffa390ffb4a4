"""Loops over threads as plain loops, for machines that have none: unlowered TensorIR means its sequential order.

`T.launch_thread` (an `AttrStmt` "thread_extent") becomes a loop around its body.
"""

from __future__ import annotations

from msgspec.structs import replace

from ...ir import tir
from .rewriter import Rewriter

_SERIALISED = (tir.ForKind.THREAD_BINDING, tir.ForKind.PARALLEL)
_THREAD_ATTRIBUTES = ("thread_extent", "virtual_thread")


def serialise_threads(func: tir.PrimFunc) -> tir.PrimFunc:
    """Return `func` with every loop over threads, and every parallel loop, run in order."""
    return replace(func, body=_Serialiser().rewrite(func.body))


class _Serialiser(Rewriter):
    def __init__(self) -> None:
        super().__init__({tir.For: self._for, tir.AttrStmt: self._attribute})

    def _for(self, stmt: tir.For) -> tir.Stmt:
        loop = self.rebuild(stmt)
        if loop.kind not in _SERIALISED:
            return loop
        return replace(loop, kind=tir.ForKind.SERIAL, thread_binding=None)

    def _attribute(self, stmt: tir.AttrStmt) -> tir.Stmt:
        body = self.rewrite(stmt.body)
        if stmt.attr_key not in _THREAD_ATTRIBUTES or not isinstance(stmt.node, tir.IterVar):
            return replace(stmt, body=body)
        zero = tir.IntImm(stmt.node.var.dtype, 0)
        return tir.For(stmt.node.var, zero, self.rewrite(stmt.value), tir.ForKind.SERIAL, body, span=stmt.span)
