"""Marks for the measurement of loops (TVM: `InstrumentProfileIntrinsics`).

    for i in range(8):                                     for i in range(8):
        for j in range(4):                                     T.start_profile_intrinsic(2)
            for k in range(4):                                 for j in range(4):
                A[i, j * 4 + k] = 0                                for k in range(4):
        for j in range(16):                        →                   A[i, j * 4 + k] = 0
            B[i, j] = A[i, j]                                  T.end_profile_intrinsic(2)
                                                               for j in range(16):
                                                                   B[i, j] = A[i, j]

The function has number 0; its loops follow in the order in which they are written. Loops inside a parallel loop are not marked.
"""

from __future__ import annotations

from msgspec import Struct
from msgspec.structs import replace

from ...ir import tir
from ...ir.base import Op
from ...ir.idioms import flattened, sequence
from ...ir.visit import children, distinct
from .rewriter import Rewriter

_START, _END = Op("tir.start_profile_intrinsic"), Op("tir.end_profile_intrinsic")
_PARALLEL = (tir.ForKind.PARALLEL, tir.ForKind.THREAD_BINDING)


class ProfileOptions(Struct, frozen=True):
    """What is marked: the options "tir.lwp_max_depth", "tir.lwp_min_height", "tir.instr_siblings" and "tir.lwp_disable_func_prof" of
    the context.
    """

    max_depth: int = 0
    """The number of loops around the innermost loop that is marked, unless only siblings are."""
    min_height: int = 1
    """The least number of nested loops in a loop that is marked."""
    only_siblings: bool = True
    """Mark only loops with other loops beside them, at all depths."""
    with_function: bool = True


def mark_loops(func: tir.PrimFunc, options: ProfileOptions, first: int = 0) -> tuple[tir.PrimFunc, int]:
    """Return `func` with marks around its loops, and the number after the last one; `first` is the number of the function."""
    marker = _Marker(options, first, _heights(func.body))
    body = marker.rewrite(func.body)
    if options.with_function:
        body = _marked(body, first)
    return replace(func, body=body), marker.next


class _Marker(Rewriter):
    def __init__(self, options: ProfileOptions, first: int, heights: dict[tir.Stmt, int]) -> None:
        super().__init__({tir.For: self._for, tir.SeqStmt: self._siblings})
        self._options, self.next, self._heights = options, first + 1, heights
        self._depth, self._is_parallel, self._beside = 0, False, False

    def _siblings(self, stmt: tir.SeqStmt) -> tir.Stmt:
        beside = sum(isinstance(part, tir.For) for part in stmt.seq) > 1
        parts: list[tir.Stmt] = []
        for part in stmt.seq:
            self._beside = beside and isinstance(part, tir.For)
            parts.append(self.rewrite(part))
        flat = flattened(parts)
        return stmt if len(flat) == len(stmt.seq) and all(map(_is_same, flat, stmt.seq)) else tir.SeqStmt(tuple(flat))

    def _for(self, loop: tir.For) -> tir.Stmt:
        number, depth, was_parallel, beside = self.next, self._depth, self._is_parallel, self._beside
        self.next += 1
        self._depth, self._is_parallel, self._beside = depth + 1, was_parallel or loop.kind in _PARALLEL, False
        result = self.rebuild(loop)
        self._depth, self._is_parallel = depth, was_parallel
        chosen = beside if self._options.only_siblings else depth <= self._options.max_depth
        if was_parallel or not chosen or self._heights[loop.body] < self._options.min_height:
            return result
        return _marked(result, number)


def _is_same(one: tir.Stmt, other: tir.Stmt) -> bool:
    return one is other


def _marked(stmt: tir.Stmt, number: int) -> tir.Stmt:
    start, end = (tir.Evaluate(tir.Call("handle", op, (tir.IntImm("int32", number),))) for op in (_START, _END))
    return sequence([start, stmt, end])


def _heights(body: tir.Stmt) -> dict[tir.Stmt, int]:
    """Return the number of nested loops in each statement."""
    found: dict[tir.Stmt, int] = {}
    for stmt in reversed([node for node in distinct(body) if isinstance(node, tir.Stmt)]):
        inner = max((found.get(part, 0) for part in children(stmt) if isinstance(part, tir.Stmt)), default=0)
        found[stmt] = inner + isinstance(stmt, tir.For)
    return found
