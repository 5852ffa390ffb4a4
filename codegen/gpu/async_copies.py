"""Asynchronous copies to shared memory in the stages of software pipelines, on architectures that have them.

    for i in range(14):
        with T.attr(0, "async_scope", 2):
            S[tx * 4:tx * 4 + 4] = A[i + tx * 4:i + tx * 4 + 4]   →   T.ptx_cp_async("float32", S, tx * 4, A, i + tx * 4, 16)
                                                                      T.ptx_commit_group()
        T.tvm_storage_sync("shared")                              →   T.ptx_wait_group(2), and the barrier

A barrier separates the copies from the threads that read the copied elements; all threads wait for their
copies before it. Inside the loop that copies, they do not wait for groups that are not read yet: if
elements are read `n` iterations after their copy, those are the groups of the last `n - 1` iterations and
of the current one. After the loop they wait for all groups. (TVM: `InjectPTXAsyncCopy`.)
"""

from __future__ import annotations

from collections.abc import Iterator

from msgspec.structs import replace

from ...ir import make, tir
from ...ir.analysis.modular_set import modular_set
from ...ir.base import Node, Op
from ...ir.dtype import element_bytes, is_vector, lanes_of, parse_dtype
from ...ir.visit import walk
from ..lower.rewriter import Rewriter, sequence
from .allreduce import barrier
from .kernel import SYNC, Kernel, scope_of

_SCOPE = "async_scope"
_COPY, _COMMIT, _WAIT = (Op(f"tir.ptx_{name}") for name in ("cp_async", "commit_group", "wait_group"))
_SIZES = (4, 8, 16)
"""Sizes of a copy in bytes."""


def _scopes(body: Node) -> Iterator[tir.AttrStmt]:
    return (node for node in walk(body) if isinstance(node, tir.AttrStmt) and node.attr_key == _SCOPE)


def _distance(scope: tir.AttrStmt) -> int:
    return scope.value.value if isinstance(scope.value, tir.IntImm) else 0


def _distances(loop: tir.For) -> list[int]:
    """Return, for each copy in `loop` but not in an inner loop, how many iterations later it is read."""
    inner = {scope for node in walk(loop.body) if isinstance(node, tir.For) for scope in _scopes(node)}
    return [_distance(scope) for scope in _scopes(loop.body) if scope not in inner and _distance(scope)]


def later_stores(body: Node) -> set[tir.BufferStore]:
    """Return the stores that may execute after the statements that follow them."""
    return {node for scope in _scopes(body) for node in walk(scope) if isinstance(node, tir.BufferStore)}


def copy_asynchronously(kernel: Kernel) -> Kernel:
    """Return a lowered kernel, which has its barriers, with asynchronous copies in its "async_scope" attributes."""
    copier = _Copier()
    body = copier.rewrite(kernel.body)
    return replace(kernel, body=body) if copier.has_copied else kernel


class _Copier(Rewriter):
    def __init__(self) -> None:
        super().__init__({
            tir.AttrStmt: self._attribute, tir.BufferStore: self._store, tir.Evaluate: self._evaluate,
            tir.For: self._for, tir.Buffer: lambda buffer: buffer,
        })  # fmt: skip
        self._is_inside = self.has_copied = False
        self._ahead = 0
        """Number of groups of copies of this loop that need not be complete at the next barrier."""

    def _for(self, loop: tir.For) -> tir.Stmt:
        distances = _distances(loop)
        if not distances:
            return self.rebuild(loop)
        outer, self._ahead = self._ahead, (min(distances) - 1) * len(distances)
        inside = self.rebuild(loop)
        self._ahead = outer
        return sequence([inside, _wait(0), barrier()])

    def _attribute(self, stmt: tir.AttrStmt) -> tir.Stmt:
        if stmt.attr_key != _SCOPE:
            return self.rebuild(stmt)
        self._is_inside = True
        body = self.rewrite(stmt.body)
        self._is_inside = False
        self._ahead += bool(_distance(stmt))
        return sequence([body, tir.Evaluate(tir.Call("void", _COMMIT, ()))])

    def _evaluate(self, stmt: tir.Evaluate) -> tir.Stmt:
        """Wait for copies before every barrier, whether or not it guards copied elements."""
        if not (isinstance(stmt.value, tir.Call) and stmt.value.op == SYNC):
            return self.rebuild(stmt)
        return sequence([_wait(self._ahead), stmt])

    def _store(self, stmt: tir.BufferStore) -> tir.Stmt:
        load, predicate = _copied(stmt.value)
        if not self._is_inside or load is None or stmt.predicate is not None:
            return stmt
        lanes = lanes_of(stmt.value.dtype)
        size, target, source = element_bytes(stmt.value.dtype), _first(stmt.indices[0]), _first(load.indices[0])
        if target is None or source is None or not (_is_aligned(target, lanes) and _is_aligned(source, lanes)):
            return stmt
        is_known = scope_of(stmt.buffer.data).startswith("shared") and scope_of(load.buffer.data) == "global"
        if not is_known or size not in _SIZES:
            return stmt
        self.has_copied = True
        args = (stmt.buffer.data, target, load.buffer.data, source, tir.IntImm("int32", size), *predicate)
        return tir.Evaluate(tir.Call(parse_dtype(stmt.value.dtype).name, _COPY, args, span=stmt.span), span=stmt.span)


def _wait(count: int) -> tir.Stmt:
    """Return the statement that waits until at most `count` groups are pending."""
    return tir.Evaluate(tir.Call("void", _WAIT, (tir.IntImm("int32", count),)))


def _copied(value: tir.PrimExpr) -> tuple[tir.BufferLoad | None, tuple[tir.PrimExpr, ...]]:
    """Return the load in `value`, and the condition without which `value` is zero."""
    if isinstance(value, tir.Call) and value.op == Op("tir.if_then_else"):
        condition, load, other = value.args
        is_zero = isinstance(other, tir.IntImm | tir.FloatImm) and other.value == 0
        if is_zero and isinstance(load, tir.BufferLoad) and isinstance(condition, tir.PrimExpr):
            return load, (condition,)
    return (value, ()) if isinstance(value, tir.BufferLoad) and value.predicate is None else (None, ())


def _first(index: tir.PrimExpr) -> tir.PrimExpr | None:
    """Return the first of contiguous indices; None if they are not contiguous."""
    if not isinstance(index, tir.Ramp):
        return make.cast(index, "int64") if not is_vector(index.dtype) else None
    return index.base if isinstance(index.stride, tir.IntImm) and index.stride.value == 1 else None


def _is_aligned(index: tir.PrimExpr, lanes: int) -> bool:
    found = modular_set(index)
    return found.base % lanes == 0 and found.coeff % lanes == 0
