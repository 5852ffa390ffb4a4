"""Loop partitioning: the iterations in which a guard always holds, without it, and the last ones with it.

    for i0 in range(5):                      for i0 in range(4):
        for i1 in T.vectorized(8):               for i1 in T.vectorized(8):
            if i0 * 8 + i1 < 37:      →              B[i0 * 8 + i1] = …         whole vectors
                B[i0 * 8 + i1] = …           for i0 in range(4, 5):
                                                 for i1 in T.vectorized(8):
                                                     if i0 * 8 + i1 < 37: …

The tail of a split has this form. (TVM: `LoopPartition`, which needs a hint, and handles both ends.)
"""

from __future__ import annotations

from functools import reduce

from msgspec.structs import replace

from ...ir import make, tir
from ...ir.idioms import conjuncts
from ...ir.intern import Nodes
from ...ir.jumps import has_jump
from ...ir.linear import linear
from ...ir.sums import Sum
from ...ir.visit import distinct, walk
from .rewriter import Rewriter, copy_of, sequence
from .wrapping import Arithmetic

MOST_NODES = 2000
"""Maximum number of nodes of a body that may be duplicated."""

_PARTED = (tir.ForKind.SERIAL, tir.ForKind.PARALLEL)


def partition_loops(func: tir.PrimFunc) -> tir.PrimFunc:
    """Return `func` with loops split where a guard inside them may become false."""
    return replace(func, body=_Partitioner(func.body).rewrite(func.body))


class _Partitioner(Rewriter):
    def __init__(self, body: tir.Stmt) -> None:
        super().__init__({tir.For: self._for})
        guards = [
            node.condition for node in distinct(body) if isinstance(node, tir.IfThenElse) and node.else_case is None
        ]
        self._guarding = {node for condition in guards for node in walk(condition) if isinstance(node, tir.Var)}

    def _for(self, stmt: tir.For) -> tir.Stmt:
        loop = self.rebuild(stmt)
        start, extent = loop.min, loop.extent
        if loop.kind not in _PARTED or not (isinstance(start, tir.IntImm) and isinstance(extent, tir.IntImm)):
            return loop
        if loop.loop_var not in self._guarding or not _is_small(loop.body):
            return loop
        ends = {condition: end for condition, end in _ends(loop).items() if end > start.value}
        end = min(ends.values(), default=start.value)
        if not ends or has_jump(loop.body):
            return loop
        body = _Unguarded(set(ends)).rewrite(loop.body)
        if end >= start.value + extent.value:
            return replace(loop, body=body)
        first = replace(loop, extent=replace(extent, value=end - start.value), body=body)
        var, rest = replace(loop.loop_var), start.value + extent.value - end
        last = copy_of(loop.body, {loop.loop_var: var})
        kind = loop.kind if rest > 1 else tir.ForKind.SERIAL
        return sequence([first, tir.For(var, replace(start, value=end), replace(extent, value=rest), kind, last)])


def _is_small(body: tir.Stmt) -> bool:
    """Return whether the body may be duplicated: it is small and contains no unrolled loop."""
    for count, node in enumerate(walk(body)):
        if count > MOST_NODES or (isinstance(node, tir.For) and node.kind is tir.ForKind.UNROLLED):
            return False
    return True


def _ends(loop: tir.For) -> dict[tir.PrimExpr, int]:
    """Return the guards in the loop that hold in its first iterations, with the first value of the variable for
    which they may not hold.
    """
    inner = {node.loop_var: node for node in walk(loop.body) if isinstance(node, tir.For)}
    guards = [node for node in walk(loop.body) if isinstance(node, tir.IfThenElse) and node.else_case is None]
    ends = {
        conjunct: _end(conjunct, loop.loop_var, inner) for guard in guards for conjunct in conjuncts(guard.condition)
    }
    found = {condition: end for condition, end in ends.items() if end is not None}
    arithmetic = Arithmetic()
    for candidate in (loop, *inner.values()) if found else ():
        arithmetic.enter(candidate)
    return {condition: end for condition, end in found.items() if arithmetic.exact(condition).is_whole}


def _end(condition: tir.PrimExpr, var: tir.Var, inner: dict[tir.Var, tir.For]) -> int | None:
    """Return the first value of `var` for which `condition` may not hold, for any values of the inner loop
    variables.
    """
    excess = _excess(condition)
    factor = 0 if excess is None else excess.terms.get(var, 0)
    if excess is None or factor <= 0:
        return None
    most = excess.constant
    for term, scale in excess.terms.items():
        if term is var:
            continue
        loop = inner.get(term) if isinstance(term, tir.Var) else None
        if loop is None or not (isinstance(loop.min, tir.IntImm) and isinstance(loop.extent, tir.IntImm)):
            return None
        most += max(scale * loop.min.value, scale * (loop.min.value + loop.extent.value - 1))
    return (-most - 1) // factor + 1


def _excess(condition: tir.PrimExpr) -> Sum | None:
    """Return the sum that is negative if and only if the condition, a comparison of integers, holds."""
    if not isinstance(condition, tir.LT | tir.LE | tir.GT | tir.GE) or condition.a.dtype not in ("int32", "int64"):
        return None
    nodes = Nodes()
    a, b = linear(condition.a, nodes), linear(condition.b, nodes)
    difference = a.plus(b, -1) if isinstance(condition, tir.LT | tir.LE) else b.plus(a, -1)
    return difference.shifted(-1) if isinstance(condition, tir.LE | tir.GE) else difference


class _Unguarded(Rewriter):
    """Removes conditions that are known to hold from guards."""

    def __init__(self, holding: set[tir.PrimExpr]) -> None:
        super().__init__({tir.IfThenElse: self._if, tir.Buffer: lambda buffer: buffer})
        self._holding = holding

    def _if(self, stmt: tir.IfThenElse) -> tir.Stmt:
        rest = [conjunct for conjunct in conjuncts(stmt.condition) if conjunct not in self._holding]
        then = self.rewrite(stmt.then_case)
        if stmt.else_case is not None:
            return replace(stmt, then_case=then, else_case=self.rewrite(stmt.else_case))
        return replace(stmt, condition=reduce(make.logical_and, rest), then_case=then) if rest else then
