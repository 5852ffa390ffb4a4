"""Unrolling of loops that are not marked for it, by the option "tir.UnrollLoop" of passes.

    with tvms.transform.PassContext(config={"tir.UnrollLoop": {"auto_max_step": 16}}): …

    for i in range(2):                   A[0] = B[0]
        A[i] = B[i]               →      A[1] = B[1]

(TVM: `UnrollLoop`.)
"""

from __future__ import annotations

from msgspec import Struct
from msgspec.structs import replace

from ...ir import make, tir
from ...ir.jumps import has_jump
from ...ir.simplify import simplify
from ...ir.visit import distinct, walk
from .rewriter import Rewriter, copy_of
from .unroll import LIMIT, unroll_up_to

_STEP, _EXPLICIT = "pragma_auto_unroll_max_step", "pragma_unroll_explicit"


class UnrollOptions(Struct, frozen=True, forbid_unknown_fields=True):
    """Loops of at most `auto_max_extent` iterations, or with at most `auto_max_step` statements in all iterations, are unrolled if they are
    nested in at most `auto_max_depth` of this kind and contain no other loop; with `unroll_local_access` also those whose variable
    is in an index of local memory. Unless `explicit_unroll`, they are only marked.
    """

    auto_max_step: int = 0
    auto_max_depth: int = 8
    auto_max_extent: int = 0
    explicit_unroll: bool = True
    unroll_local_access: bool = False


def unroll_by_options(func: tir.PrimFunc, options: UnrollOptions) -> tir.PrimFunc:
    """Return `func` with loops unrolled or marked as `options` says; attributes such as "pragma_auto_unroll_max_step" change them for the
    statements inside.
    """
    marker = _Marker(options)
    func = replace(func, body=marker.rewrite(func.body))
    return unroll_up_to(func, max(LIMIT, marker.most)) if marker.is_explicit else func


class _Marker(Rewriter):
    """Marks loops. The counts are those of the statements visited since the last loop was entered: steps, and the depths of loops."""

    def __init__(self, options: UnrollOptions) -> None:
        super().__init__({
            tir.For: self._for, tir.SeqStmt: self._all, tir.AttrStmt: self._attribute, tir.BufferStore: self._step,
            tir.Evaluate: self._step, tir.Buffer: lambda buffer: buffer,
        })  # fmt: skip
        self._options = options
        self.is_explicit, self.most = options.explicit_unroll, options.auto_max_step
        self._steps = self._other_loops = self._marked_loops = 0

    def _step(self, stmt: tir.Stmt) -> tir.Stmt:
        self._steps += 1
        return stmt

    def _all(self, stmt: tir.SeqStmt) -> tir.Stmt:
        found: list[tir.Stmt] = []
        steps = others = marked = 0
        for part in stmt.seq:
            self._steps = self._other_loops = self._marked_loops = 0
            found.append(self.rewrite(part))
            steps += self._steps
            others, marked = max(others, self._other_loops), max(marked, self._marked_loops)
        self._steps, self._other_loops, self._marked_loops = steps, others, marked
        return replace(stmt, seq=tuple(found))

    def _attribute(self, stmt: tir.AttrStmt) -> tir.Stmt:
        if stmt.attr_key not in (_STEP, _EXPLICIT) or not isinstance(stmt.value, tir.IntImm):
            return self.rebuild(stmt)  # type: ignore[no-any-return]
        before, value = self._options, stmt.value.value
        is_step = stmt.attr_key == _STEP
        self._options = replace(before, **({"auto_max_step": value} if is_step else {"explicit_unroll": bool(value)}))
        self.most = max(self.most, self._options.auto_max_step)
        body = self.rewrite(stmt.body)
        self._options = before
        return body  # type: ignore[no-any-return]

    def _for(self, stmt: tir.For) -> tir.Stmt:
        loop = replace(stmt, body=self.rewrite(stmt.body))
        extent = simplify(loop.extent)
        count = extent.value if isinstance(extent, tir.IntImm) else -1
        is_plain = loop.kind in (tir.ForKind.SERIAL, tir.ForKind.UNROLLED) and not has_jump(loop.body)
        if count == 1 == self._options.auto_max_extent and is_plain:
            return copy_of(loop.body, {loop.loop_var: make.cast(loop.min, loop.loop_var.dtype)})
        is_marked = count >= 0 and is_plain and (loop.kind is tir.ForKind.UNROLLED or self._is_short(loop, count))
        if not is_marked:
            self._other_loops += 1
            return loop
        self._steps *= count
        self._marked_loops += 1
        loop = replace(loop, extent=extent, kind=tir.ForKind.UNROLLED)
        if isinstance(loop.min, tir.IntImm) or not self._options.explicit_unroll:
            return loop
        var = replace(loop.loop_var)
        body = copy_of(loop.body, {loop.loop_var: make.add(loop.min, var)})
        return replace(loop, loop_var=var, min=make.const(0, var.dtype), body=body)

    def _is_short(self, loop: tir.For, count: int) -> bool:
        """Return whether the options ask to unroll a loop with `count` iterations."""
        options = self._options
        if loop.kind is not tir.ForKind.SERIAL:
            return False
        if options.unroll_local_access and _indexes_local_memory(loop):
            return True
        is_inner = self._other_loops == 0 and self._marked_loops <= options.auto_max_depth
        return is_inner and (count * self._steps <= options.auto_max_step or count <= options.auto_max_extent)


def _indexes_local_memory(loop: tir.For) -> bool:
    accesses = [node for node in distinct(loop.body) if isinstance(node, tir.BufferLoad | tir.BufferStore)]
    local = [access for access in accesses if access.buffer.scope == "local"]
    return any(part is loop.loop_var for access in local for index in access.indices for part in walk(index))
