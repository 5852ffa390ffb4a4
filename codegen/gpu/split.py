"""Splitting of a function: loops bound to threads become kernels, and the code around them is executed by the
host.

Inside a kernel all loops bound to one axis have the same variable (TVM: `UnifyThreadBinding`). A loop
nested in another one of the same axis runs in the existing threads. A statement outside some of a kernel's
loops executes once, so that only the first thread of those axes runs it. Virtual threads and parallel loops
run sequentially. (TVM: `AnnotateDeviceRegions`, `SplitHostDevice`.)
"""

from __future__ import annotations

from functools import reduce

from msgspec.structs import replace

from ...ir import make, tir
from ...ir.base import Op
from ...ir.clusters import TAGS as CLUSTER_TAGS
from ...ir.diagnostics import error
from ...ir.equal import structural_equal
from ...ir.matrix_units import WARP, WHOLE_WARP, name_of, whole_warp_calls
from ...ir.visit import walk
from ..lower.rewriter import Rewriter
from .kernel import (
    BLOCK_TAGS,
    THREAD_TAGS,
    Axis,
    Kernel,
    Launch,
    check_axes,
    has_exchange,
    is_of_matrix_units,
    is_private,
    scope_of,
)

_CHECK = Op("tir.check")
_TAGS = (*BLOCK_TAGS, *CLUSTER_TAGS, *THREAD_TAGS)


def threads_as_loops(func: tir.PrimFunc) -> tir.PrimFunc:
    """Return `func` with `T.launch_thread` replaced by loops bound to threads."""
    return replace(func, body=_LaunchesToLoops().rewrite(func.body))


class _LaunchesToLoops(Rewriter):
    def __init__(self) -> None:
        super().__init__({tir.AttrStmt: self._attribute})

    def _attribute(self, stmt: tir.AttrStmt) -> tir.Stmt:
        if stmt.attr_key not in ("thread_extent", "virtual_thread"):
            return replace(stmt, body=self.rewrite(stmt.body))
        axis: tir.IterVar = stmt.node
        kind, zero = tir.ForKind.THREAD_BINDING, make.const(0, axis.var.dtype)
        extent = make.cast(self.rewrite(stmt.value), axis.var.dtype)
        return tir.For(axis.var, zero, extent, kind, self.rewrite(stmt.body), replace(axis, dom=None), span=stmt.span)


def has_threads(func: tir.PrimFunc) -> bool:
    """Return whether any loop of `func` is bound to a thread."""
    return any(_tag(node) for node in walk(func.body))


def means_threads(func: tir.PrimFunc) -> bool:
    """Return whether `func` has explicit thread semantics: it synchronizes or launches threads itself. Any other
    function is executed in the order of its loops.
    """
    is_launch = (isinstance(node, tir.AttrStmt) and node.attr_key == "thread_extent" for node in walk(func.body))
    return has_exchange(func.body) or any(is_launch)


def _tag(stmt: object) -> str:
    """Return the axis that a loop is bound to; "" if it is not bound."""
    if isinstance(stmt, tir.For) and stmt.thread_binding is not None and stmt.thread_binding.thread_tag in _TAGS:
        return stmt.thread_binding.thread_tag
    if isinstance(stmt, tir.AttrStmt) and stmt.attr_key == "thread_extent":
        return stmt.node.thread_tag
    return ""


def split_kernels(func: tir.PrimFunc, name: str) -> tir.PrimFunc:
    """Return `func`, whose blocks are loops, with a `Launch` for each outermost loop bound to a thread.

    Raises TvmsError: E0611 for impossible launches, E0612 for code that cannot be divided between host and GPU.
    """
    return replace(func, body=_Splitter(name, bool(func.attrs.get("tir.noalias"))).rewrite(func.body))


class _Splitter(Rewriter):
    """Rewrites the host part."""

    def __init__(self, name: str, is_alone: bool) -> None:
        super().__init__(
            {
                tir.For: self._for, tir.Allocate: self._allocate, tir.BufferStore: self._outside,
                tir.BufferLoad: self._outside, tir.Evaluate: self._evaluate,
                tir.DeclBuffer: lambda stmt: self.rewrite(stmt.body),
            }
        )  # fmt: skip
        self._name, self._is_alone, self._count = name, is_alone, 0
        self._inner: list[tir.Allocate] = []

    def _for(self, stmt: tir.For) -> tir.Stmt:
        if _tag(stmt):
            return self._kernel(stmt)
        return self.rebuild(_in_order(stmt))

    def _allocate(self, stmt: tir.Allocate) -> tir.Stmt:
        """Move an allocation that is not in global memory into the kernel that uses it."""
        if scope_of(stmt.buffer_var) == "global":
            return self.rebuild(stmt)
        self._inner.append(stmt)
        body = self.rewrite(stmt.body)
        self._inner.remove(stmt)
        users = [node for node in walk(body) if isinstance(node, Launch) and _uses(node.kernel.body, stmt.buffer_var)]
        if len(users) > 1:
            name, scope = stmt.buffer_var.name, scope_of(stmt.buffer_var)
            reason = f"'{name}' is used by {len(users)} kernels, but memory of scope '{scope}' ends with its kernel"
            raise error("E0612", reason, stmt.span or stmt.buffer_var.span, "allocate it in scope 'global'")
        return body

    def _outside(self, node: tir.BufferLoad | tir.BufferStore) -> tir.Stmt:
        reason = f"'{node.buffer.name}' is in GPU memory, but is accessed outside of loops bound to threads"
        raise error("E0612", reason, node.span, "bind a loop around it, as with S.bind(loop, 'threadIdx.x')")

    def _evaluate(self, stmt: tir.Evaluate) -> tir.Stmt:
        if isinstance(stmt.value, tir.IntImm) or _is_check(stmt.value):
            return self.rebuild(stmt)
        reason = "this statement is outside of all loops bound to threads"
        raise error("E0612", reason, stmt.span, "bind a loop around it, as with S.bind(loop, 'threadIdx.x')")

    def _kernel(self, stmt: tir.For) -> tir.Stmt:
        axes = _find_axes(stmt)
        check_axes(axes)
        body = _Unifier(axes).rewrite(stmt)
        for allocation in reversed(self._inner):
            if _uses(body, allocation.buffer_var):
                body = replace(allocation, body=body)
        name = (
            self._name if not self._count else f"{self._name}.{self._count}"
        )  # unique: no function name contains a dot
        self._count += 1
        return Launch(Kernel(name, axes, body, self._is_alone), span=stmt.span)


def _is_check(value: tir.PrimExpr) -> bool:
    return isinstance(value, tir.Call) and value.op == _CHECK


def _uses(stmt: tir.Stmt, variable: tir.Var) -> bool:
    return any(node is variable for node in walk(stmt))


def _reads_memory(expr: tir.PrimExpr) -> bool:
    return any(isinstance(node, tir.BufferLoad | tir.Call) for node in walk(expr))


def _in_order(stmt: tir.For) -> tir.For:
    if stmt.kind in (tir.ForKind.PARALLEL, tir.ForKind.THREAD_BINDING):
        return replace(stmt, kind=tir.ForKind.SERIAL, thread_binding=None)
    return stmt


def _find_axes(root: tir.For) -> tuple[Axis, ...]:
    """Return the axes of the kernel of loop `root`; E0611 if two loops of one axis have different extents.

    If the kernel has warp-wide operations but no loop over threadIdx.x, that axis has one warp.
    """
    axes: dict[str, Axis] = {}
    defined: set[tir.Var] = {node.loop_var for node in walk(root) if isinstance(node, tir.For)}
    for node in walk(root):
        tag = _tag(node)
        if not isinstance(node, tir.For) or not tag:
            continue
        if any(part in defined for part in walk(node.extent)):
            reason = f"the extent of '{tag}' depends on a loop inside the kernel"
            raise error("E0611", reason, node.span, "give the loop an extent that does not depend on other loops")
        axis = axes.setdefault(tag, Axis(tag, tir.Var("int32", tag, span=node.span), node.extent))
        if not structural_equal(make.cast(axis.extent, "int64"), make.cast(node.extent, "int64")):
            reason = f"the loops bound to '{tag}' have {axis.extent} and {node.extent} iterations"
            raise error("E0611", reason, node.span, "split them to the same extent")
    if next(whole_warp_calls(root), None) is not None and "threadIdx.x" not in axes:
        axes["threadIdx.x"] = Axis(
            "threadIdx.x", tir.Var("int32", "threadIdx.x", span=root.span), tir.IntImm("int32", WARP)
        )
    return tuple(axes[tag] for tag in _TAGS if tag in axes)


class _Unifier(Rewriter):
    """Removes the loops bound to threads."""

    def __init__(self, axes: tuple[Axis, ...]) -> None:
        super().__init__(
            {
                tir.For: self._for, tir.BufferStore: self._store, tir.Evaluate: self._evaluate,
                tir.Allocate: self._allocate,
            }
        )  # fmt: skip
        self._axes = {axis.tag: axis for axis in axes}
        self._bound: tuple[str, ...] = ()

    def _for(self, stmt: tir.For) -> tir.Stmt:
        tag = _tag(stmt)
        if not tag:
            return self.rebuild(_in_order(stmt))
        axis = self._axes[tag]
        is_alone = isinstance(axis.extent, tir.IntImm) and axis.extent.value == 1
        index = make.const(0, stmt.loop_var.dtype) if is_alone else make.cast(axis.var, stmt.loop_var.dtype)
        start: tir.PrimExpr = self.rewrite(stmt.min)
        first = tir.Var(start.dtype, f"{stmt.loop_var.name}_start") if _reads_memory(start) else None
        self.values[stmt.loop_var] = make.add(index, start if first is None else first)
        outer, self._bound = self._bound, (*self._bound, tag)
        body = self.rewrite(stmt.body)
        self._bound = outer
        return body if first is None else tir.LetStmt(first, start, body, span=stmt.span)

    def _store(self, stmt: tir.BufferStore) -> tir.Stmt:
        store = self.rebuild(stmt)
        return store if is_private(store.buffer.data) else self._once(store)

    def _evaluate(self, stmt: tir.Evaluate) -> tir.Stmt:
        evaluate = self.rebuild(stmt)
        if isinstance(stmt.value, tir.IntImm) or has_exchange(stmt) or is_of_matrix_units(stmt.value):
            return evaluate
        is_by_warps = name_of(stmt.value) in WHOLE_WARP if isinstance(stmt.value, tir.Call) else False
        return self._once(evaluate, is_by_warps)

    def _once(self, stmt: tir.Stmt, is_by_warps: bool = False) -> tir.Stmt:
        """Guard `stmt` so that it runs once: on the first thread (or warp) of each axis that has no loop around it."""
        bound = (*self._bound, "threadIdx.x") if is_by_warps else self._bound
        others = [axis for tag, axis in self._axes.items() if tag not in bound]
        if not others:
            return stmt
        is_first = (make.equal(axis.var, make.const(0, axis.var.dtype)) for axis in others)
        return tir.IfThenElse(reduce(make.logical_and, is_first), stmt)

    def _allocate(self, stmt: tir.Allocate) -> tir.Stmt:
        if scope_of(stmt.buffer_var) == "global":
            reason = f"'{stmt.buffer_var.name}' is allocated in global memory inside a kernel"
            help = "allocate it outside of the kernel, or in scope 'local' or 'shared'"
            raise error("E0612", reason, stmt.span or stmt.buffer_var.span, help)
        return self.rebuild(stmt)
