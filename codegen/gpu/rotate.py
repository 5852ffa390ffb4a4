"""Rotation of loops with barriers, so that the end of an iteration and the start of the next one are in one
statement.

No barrier separates the two, so that a thread may begin the next iteration while others still end
this one. A simulation that runs threads one after the other between barriers shows this only if both are in
the same part.

    for k in range(n):                       if 0 < n: head(0)
        head(k)                         →    for k in range(n):
        T.tvm_storage_sync("shared")             T.tvm_storage_sync("shared")
        tail(k)                                  tail(k); if k + 1 < n: head(k + 1)
"""

from __future__ import annotations

from itertools import takewhile

from msgspec.structs import replace

from ...ir import make, tir
from ..lower.rewriter import Rewriter, copy_of, sequence
from .kernel import is_apart


def rotate_loops(stmt: tir.Stmt) -> tir.Stmt:
    """Return the code of a thread with its loops rotated; the order of its statements does not change."""
    return _Rotator().rewrite(stmt)


class _Rotator(Rewriter):
    def __init__(self) -> None:
        super().__init__({tir.For: self._for})

    def _for(self, stmt: tir.For) -> tir.Stmt:
        loop = self.rebuild(stmt)
        parts = loop.body.seq if isinstance(loop.body, tir.SeqStmt) else (loop.body,)
        head = tuple(takewhile(is_apart, parts))
        tail = tuple(takewhile(is_apart, reversed(parts[len(head) :])))[::-1]
        if not head or not tail:
            return loop
        start, following = loop.min, make.add(loop.loop_var, make.const(1, loop.loop_var.dtype))
        zero, last = make.const(0, loop.extent.dtype), make.add(start, make.sub(loop.extent, 1))

        def at(place: tir.PrimExpr, condition: tir.PrimExpr) -> tir.Stmt:
            return tir.IfThenElse(condition, copy_of(sequence(head), {loop.loop_var: place}))

        first = at(make.cast(start, loop.loop_var.dtype), make.less(zero, loop.extent))
        rest = at(following, make.less(make.cast(loop.loop_var, last.dtype), last))
        body = sequence([*parts[len(head) : len(parts) - len(tail)], *tail, rest])
        return sequence([first, replace(loop, body=body)])
