"""One loop for each thread axis of a kernel (TVM: `UnifyThreadBinding`).

    for i in T.thread_binding(8, "blockIdx.x"):            for bx in T.thread_binding(8, "blockIdx.x"):
        for j in T.thread_binding(4, "threadIdx.x"):           for tx in T.thread_binding(4, "threadIdx.x"):
            B[i, j] = A[i, j]                          →           B[bx, tx] = A[bx, tx]
        for k in T.thread_binding(4, "threadIdx.x"):               C[bx, tx] = B[bx, tx]
            C[i, k] = B[i, k]

The loops of a kernel become loops around all of it, so each statement with an effect must be executed by all threads.
"""

from __future__ import annotations

from msgspec.structs import replace

from ...ir import make, tir
from ...ir.base import Attrs
from ...ir.diagnostics import error
from ...ir.equal import structural_equal
from ...ir.idioms import is_one
from ...ir.intern import has_effects
from ...ir.simplify import simplify
from .rewriter import Rewriter

_Thread = tuple[tir.Var, tir.PrimExpr]
"""The variable of a thread axis, and its extent."""


def unify_threads(func: tir.PrimFunc) -> tir.PrimFunc:
    """Return `func` with one loop for each thread axis of a kernel, outside of its other statements.

    Raises TvmsError: E0417 if the extents of an axis differ, E0416 if a statement is not executed by all threads, or an axis
    has a loop within another one.
    """
    return replace(func, body=_Unifier().rewrite(func.body))


class _Unifier(Rewriter):
    def __init__(self) -> None:
        super().__init__({
            tir.For: self._for, tir.AttrStmt: self._attribute, tir.BufferStore: self._effect, tir.Evaluate: self._effect,
        })  # fmt: skip
        self._threads: dict[str, _Thread] = {}
        """The thread axes of the kernel by tag, outermost first."""
        self._active: tuple[str, ...] = ()
        self._effects: list[tuple[tir.Stmt, tuple[str, ...]]] = []
        """Statements with an effect, and the thread axes that execute them."""

    def _for(self, loop: tir.For) -> tir.Stmt:
        if loop.kind is not tir.ForKind.THREAD_BINDING or loop.thread_binding is None:
            return self.rebuild(loop)
        return self._bind(
            loop.thread_binding.thread_tag, loop.loop_var, loop.min, loop.extent, loop.body, loop.annotations
        )

    def _attribute(self, stmt: tir.AttrStmt) -> tir.Stmt:
        if stmt.attr_key not in ("thread_extent", "virtual_thread") or not isinstance(stmt.node, tir.IterVar):
            return self.rebuild(stmt)
        axis = stmt.node
        return self._bind(axis.thread_tag, axis.var, make.const(0, axis.var.dtype), stmt.value, stmt.body, {})

    def _effect(self, stmt: tir.BufferStore | tir.Evaluate) -> tir.Stmt:
        if isinstance(stmt, tir.BufferStore) or has_effects(stmt.value):
            self._effects.append((stmt, self._active))
        return self.rebuild(stmt)

    def _bind(
        self, tag: str, var: tir.Var, start: tir.PrimExpr, extent: tir.PrimExpr, body: tir.Stmt, annotations: Attrs
    ) -> tir.Stmt:
        """Return `body` with the variable of the thread axis `tag` for `var`, in the loops of its kernel."""
        outer, is_kernel = self._active, not self._active
        if tag in outer:
            raise error("E0416", f"a loop over '{tag}' is inside another one", var.span, "remove the inner loop")
        if is_kernel:
            self._threads, self._effects = {}, []
        own, length = self._threads.setdefault(tag, (tir.Var(var.dtype, tag.replace(".", "_")), self.rewrite(extent)))
        if not structural_equal(simplify(length), simplify(make.cast(self.rewrite(extent), length.dtype))):
            raise error("E0417", f"'{tag}' has {length} threads here and {extent} there, in one kernel", var.span)
        self._active = (*outer, tag)
        self.values[var] = make.add(make.cast(own, var.dtype), make.cast(self.rewrite(start), var.dtype))
        result = self.rewrite(body)
        self._active = outer
        if annotations:
            once = tir.Var(var.dtype, var.name)
            bounds = (make.const(0, var.dtype), make.const(1, var.dtype))
            result = tir.For(once, *bounds, tir.ForKind.SERIAL, result, annotations=annotations)
        return self._in_loops(result) if is_kernel else result

    def _in_loops(self, body: tir.Stmt) -> tir.Stmt:
        needed = {tag for tag, (_, extent) in self._threads.items() if not is_one(extent)}
        for stmt, tags in self._effects:
            missing = sorted(needed - set(tags))
            if missing:
                help = "put it into a loop over these threads, or into a kernel of its own"
                raise error("E0416", f"a statement of the kernel is not in a loop over '{missing[0]}'", stmt.span, help)
        for tag, (var, extent) in reversed(self._threads.items()):
            axis = tir.IterVar(None, tir.Var(var.dtype, ""), tir.IterVarType.THREAD_INDEX, tag)
            zero = make.const(0, var.dtype)
            body = tir.For(var, zero, make.cast(extent, var.dtype), tir.ForKind.THREAD_BINDING, body, axis)
        return body
