"""Double buffering: an iteration fills one half of a buffer while the previous one still reads the other (TVM:
`InjectDoubleBuffer`).

    for i in range(16):                                        X = T.allocate([64])
        X = T.allocate([32])                                   fill(X[0:32], 0)
        with T.attr(X, "double_buffer_scope", 1):              for i in range(15):
            fill(X, i)                              →              fill(X[(i + 1) % 2 * 32:], i + 1)
        use(X, i)                                                  use(X[i % 2 * 32:], i)
                                                               use(X[15 % 2 * 32:], 15)

The loop is unchanged if its extent is unknown, or if filling reads what using writes.
"""

from __future__ import annotations

from typing import TypeGuard

from msgspec.structs import replace

from ...ir import make, tir
from ...ir.idioms import NOTHING
from ...ir.intern import has_effects
from ...ir.jumps import has_jump
from ...ir.visit import children, walk
from .rewriter import Rewriter, copy_of, sequence

SCOPE, WRITE = "double_buffer_scope", "double_buffer_write"
_ACCESSES = (tir.BufferLoad, tir.BufferStore)


def inject_double_buffers(func: tir.PrimFunc, with_all: bool = False) -> tir.PrimFunc:
    """Return `func`, whose buffers are flat, with two halves for each buffer in a `double_buffer_scope`; `with_all` also if the scope
    contains all statements of a loop, so that none runs ahead.
    """
    return replace(func, body=_Injector(with_all).rewrite(func.body))


class _Injector(Rewriter):
    def __init__(self, with_all: bool) -> None:
        super().__init__({tir.For: self._for, tir.AttrStmt: self._mark})
        self._with_all = with_all

    def _mark(self, stmt: tir.AttrStmt) -> tir.Stmt:
        """Drop an annotation that was not applied to a loop."""
        return self.rewrite(stmt.body) if stmt.attr_key == SCOPE else self.rebuild(stmt)

    def _for(self, stmt: tir.For) -> tir.Stmt:
        memory = stmt.body
        is_counted = _is_counted(stmt) and not has_jump(memory)
        if isinstance(memory, tir.Allocate) and len(memory.extents) == 1 and is_counted:
            declared = _declared(memory)
            inner = memory.body if declared is None else declared.body
            parts = inner.seq if isinstance(inner, tir.SeqStmt) else (inner,)
            fill, use = parts[0], sequence(parts[1:])
            is_alone = use is NOTHING and not self._with_all
            if not is_alone and _fills(fill, memory.buffer_var) and _may_overtake(fill.body, use, memory.buffer_var):
                return self._doubled(stmt, memory, self.rewrite(fill.body), self.rewrite(use))
        return self.rebuild(stmt)

    def _doubled(self, loop: tir.For, memory: tir.Allocate, fill: tir.Stmt, use: tir.Stmt) -> tir.Stmt:
        var, (size,) = loop.loop_var, memory.extents
        two, one = make.const(2, var.dtype), make.const(1, var.dtype)
        buffers: dict[tir.Buffer, tir.Buffer] = {}

        def at(part: tir.Stmt, iteration: tir.PrimExpr) -> tir.Stmt:
            half = make.mul(make.floormod(iteration, two), size)
            return _Shifted(memory.buffer_var, half, buffers).rewrite(copy_of(part, {var: iteration}))

        following = make.add(var, one)
        ahead = tir.AttrStmt(memory.buffer_var, WRITE, tir.IntImm("int32", 1), at(fill, following))
        last = make.sub(make.add(loop.min, loop.extent), one)
        again = replace(loop, extent=make.sub(loop.extent, one), body=sequence([ahead, at(use, var)]))
        body = sequence([at(fill, loop.min), again, at(use, last)])
        declared = _declared(memory)
        if declared is not None:
            body = tir.DeclBuffer(buffers.get(declared.buffer, declared.buffer), body)
        return replace(memory, extents=(make.mul(size, make.const(2, size.dtype)),), body=body)


class _Shifted(Rewriter):
    """Offsets the accesses of `memory` by `half` of it; `buffers` are the buffers of doubled size."""

    def __init__(self, memory: tir.Var, half: tir.PrimExpr, buffers: dict[tir.Buffer, tir.Buffer]) -> None:
        super().__init__(
            {tir.BufferLoad: self._access, tir.BufferStore: self._access, tir.Buffer: lambda buffer: buffer}
        )
        self._memory, self._half, self._whole = memory, half, buffers

    def _access(self, access: tir.BufferLoad | tir.BufferStore) -> tir.BufferLoad | tir.BufferStore:
        moved: tir.BufferLoad | tir.BufferStore = self.rebuild(access)
        buffer, (index, *_) = moved.buffer, moved.indices
        if buffer.data is not self._memory:
            return moved
        if buffer not in self._whole:
            twice = make.mul(buffer.shape[0], make.const(2, buffer.shape[0].dtype))
            self._whole[buffer] = replace(buffer, shape=(twice,))
        half = make.cast(self._half, index.dtype)
        return replace(moved, buffer=self._whole[buffer], indices=(make.add(half, index),))


def _declared(memory: tir.Allocate) -> tir.DeclBuffer | None:
    """Return the declaration of a buffer that is the body of its allocation."""
    body = memory.body
    return body if isinstance(body, tir.DeclBuffer) and body.buffer.data is memory.buffer_var else None


def _is_counted(loop: tir.For) -> bool:
    """Return whether the loop is sequential and has a constant, positive extent."""
    is_known = isinstance(loop.min, tir.IntImm) and isinstance(loop.extent, tir.IntImm) and loop.extent.value > 0
    return is_known and loop.kind is tir.ForKind.SERIAL and not loop.annotations


def _fills(stmt: tir.Stmt, memory: tir.Var) -> TypeGuard[tir.AttrStmt]:
    return isinstance(stmt, tir.AttrStmt) and stmt.attr_key == SCOPE and stmt.node is memory


def _may_overtake(fill: tir.Stmt, use: tir.Stmt, memory: tir.Var) -> bool:
    """Return whether `fill` may execute before an earlier `use`: except for the memory, neither writes what the other accesses, or
    `fill` contains all statements, which stay in order.
    """
    accesses = [[node for node in walk(part) if isinstance(node, _ACCESSES)] for part in (fill, use)]
    for part, found in zip((fill, use), accesses, strict=True):
        has_effects_elsewhere = any(isinstance(node, tir.Call) and has_effects(node) for node in walk(part))
        is_pointer = any(
            memory in children(node) for node in walk(part) if not isinstance(node, tir.Buffer | tir.AttrStmt)
        )
        is_flat = all(len(access.indices) == 1 for access in found if access.buffer.data is memory)
        if has_effects_elsewhere or is_pointer or not is_flat:
            return False
    if use is NOTHING:
        return True
    read = {access.buffer.data for access in accesses[0]}
    written = [{access.buffer.data for access in found if isinstance(access, tir.BufferStore)} for found in accesses]
    return written[0] == {memory} and not read & written[1] and memory not in written[1]
