"""Insertion of barriers between conflicting accesses of different threads to shared or global memory.

Threads run the iterations of sequential loops concurrently. Therefore all threads must have written an
element before one of them reads it, and must have read it before one of them overwrites it. The pass visits
the statements of a kernel in order, loops twice. It inserts a barrier before each statement that conflicts
with an access since the last barrier. Statements in which each thread accesses elements of its own need
none. Threads of a block also share global memory; there, equal indices whose threads are not known to
conflict are taken to belong to the same thread. (TVM: `ThreadSync`.)
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from msgspec import Struct
from msgspec.structs import replace

from ...ir import make, tir
from ...ir.analysis.iter_map import is_bijective
from ...ir.base import Node, Op
from ...ir.diagnostics import error
from ...ir.equal import structural_equal
from ...ir.ops.tir import INTRINSICS
from ...ir.visit import children, walk
from ..lower.rewriter import Rewriter, sequence
from .allreduce import barrier
from .async_copies import later_stores
from .kernel import SYNC, Kernel, has_exchange, scope_of, size_of
from .own_elements import Domains, GuardedElement, do_meet, variables
from .places import domains_of

_POINTER, _IF = Op("tir.tvm_access_ptr"), Op("tir.if_then_else")
_INVARIANT = Op("tir.tvm_thread_invariant")
"""Intrinsic whose value is the same in all threads of a block, as the program says."""


class _MemoryAccess(Struct, frozen=True, eq=False):
    """An access to the memory of `data`: to an element of `buffer`, or to unknown elements through a pointer. If
    `is_later`, it may execute after the statements that follow it.
    """

    data: tir.Var
    is_write: bool
    buffer: tir.Buffer | None = None
    place: GuardedElement = GuardedElement(())
    is_later: bool = False


def insert_barriers(kernel: Kernel) -> Kernel:
    """Return `kernel`, whose loops are executed in order, with the barriers that its threads need.

    Raises TvmsError E0613 if one is needed under a condition that differs between threads.
    """
    return replace(kernel, body=_Inserter(kernel).rewrite(kernel.body))


class _Inserter(Rewriter):
    def __init__(self, kernel: Kernel) -> None:
        super().__init__({
            tir.For: self._for, tir.IfThenElse: self._if, tir.While: self._while,
            tir.LetStmt: self._let, tir.AttrStmt: self._around, tir.Allocate: self._around, tir.DeclBuffer: self._around,
            tir.AssertStmt: self._assert, tir.BufferStore: self._leaf, tir.Evaluate: self._leaf,
        })  # fmt: skip
        self._ranges = domains_of(kernel)
        values = {var: _values(domain) for var, domain in self._ranges.items()}
        self._threads = {axis.var: values.pop(axis.var) for axis in kernel.threads if size_of(axis) > 1}
        fixed = {axis.var: values.pop(axis.var) for axis in kernel.axes if axis.var in values}
        self._domains = Domains(self._threads, fixed, values)
        self._differing: set[tir.Var] = {axis.var for axis in kernel.threads}
        stores = [node.buffer.data for node in walk(kernel.body) if isinstance(node, tir.BufferStore)]
        self._written = {data for data in stores if scope_of(data) == "global"}
        self._since: list[_MemoryAccess] = []
        self._later = later_stores(kernel.body)
        self._met: dict[tuple[GuardedElement, GuardedElement], bool | None] = {}

    def _for(self, stmt: tir.For) -> tir.Stmt:
        """Visit the body twice, so that the end of an iteration is compared with the start of the next one."""
        if self._differs(stmt.extent) or self._differs(stmt.min):
            return self._whole(stmt)
        accesses = self._memory_accesses(stmt)
        if not has_exchange(stmt) and not any(self._crosses(a, b) for a in accesses for b in accesses):
            return self._leaf(stmt)
        needed = self._must_wait(stmt.min, stmt.extent)
        before = list(self._since)
        once = self.rewrite(stmt.body)
        loop = replace(stmt, body=self.rewrite(once))
        if not isinstance(stmt.extent, tir.IntImm) or stmt.extent.value < 1:
            self._since = [*before, *self._since]
        return _behind(needed, loop)

    def _while(self, stmt: tir.While) -> tir.Stmt:
        """Visit the body twice, as that of a loop; each iteration begins with the condition."""
        if self._differs(stmt.condition):
            return self._whole(stmt)
        needed = self._must_wait(stmt.condition)
        before = list(self._since)
        once = self.rewrite(stmt.body)
        if self._must_wait(stmt.condition):
            once = sequence([once, barrier(stmt.span)])
        body = self.rewrite(once)
        self._must_wait(stmt.condition)
        self._since = [*before, *self._since]
        return _behind(needed, replace(stmt, body=body))

    def _if(self, stmt: tir.IfThenElse) -> tir.Stmt:
        if self._differs(stmt.condition):
            return self._whole(stmt)
        needed = self._must_wait(stmt.condition)
        before = list(self._since)
        then = self.rewrite(stmt.then_case)
        after, self._since = self._since, before
        other = None if stmt.else_case is None else self.rewrite(stmt.else_case)
        self._since = [*self._since, *after]
        return _behind(needed, replace(stmt, then_case=then, else_case=other))

    def _let(self, stmt: tir.LetStmt) -> tir.Stmt:
        if self._differs(stmt.value):
            self._differing.add(stmt.var)
        needed = self._must_wait(stmt.value)
        return _behind(needed, self._around(stmt))

    def _assert(self, stmt: tir.AssertStmt) -> tir.Stmt:
        needed = self._must_wait(stmt.condition)
        return _behind(needed, self._around(stmt))

    def _around(self, stmt: Any) -> tir.Stmt:
        return replace(stmt, body=self.rewrite(stmt.body))

    def _leaf(self, stmt: tir.Stmt) -> tir.Stmt:
        if isinstance(stmt, tir.Evaluate) and isinstance(stmt.value, tir.Call) and stmt.value.op == SYNC:
            self._since = []
            return stmt
        return _behind(self._must_wait(stmt), stmt)

    def _whole(self, stmt: tir.Stmt) -> tir.Stmt:
        """Visit a statement that threads execute differently, which therefore must not contain a barrier."""
        rest = "but not all of them execute this, or not equally often"
        help = "guard single accesses by the condition, or make it the same for all threads"
        if has_exchange(stmt):
            raise error("E0613", f"threads of a block synchronize here, {rest}", stmt.span, help)
        accesses = self._memory_accesses(stmt)
        for number, access in enumerate(accesses):
            if any(self._crosses(access, other, is_certain=True) for other in accesses[:number]):
                reason = f"threads need a barrier between accesses to '{access.data.name}' here, {rest}"
                raise error("E0613", reason, stmt.span, help)
        return self._leaf(stmt)

    # --- What meets

    def _must_wait(self, *nodes: Node) -> bool:
        """Record the accesses in `nodes`, and return whether they need a barrier in front of them."""
        accesses = self._memory_accesses(*nodes)
        needed = any(self._crosses(access, other) for access in accesses for other in self._since)
        self._since = accesses if needed else [*self._since, *accesses]
        return needed

    def _memory_accesses(self, *nodes: Node) -> list[_MemoryAccess]:
        """Return the accesses to memory that threads share and write, including those of calls through pointers."""
        found: list[_MemoryAccess] = []
        for part, conditions in [access for node in nodes for access in accesses_in(node)]:
            if isinstance(part, tir.Call):
                found += _by_pointers(part)
            elif _is_shared(part.buffer.data) or part.buffer.data in self._written:
                is_write, place = isinstance(part, tir.BufferStore), GuardedElement(part.indices, conditions)
                found.append(_MemoryAccess(part.buffer.data, is_write, part.buffer, place, part in self._later))
        return found

    def _crosses(self, a: _MemoryAccess, b: _MemoryAccess, is_certain: bool = False) -> bool:
        """Return whether `a` and `b` may conflict in two different threads. For global memory, `is_certain` asks
        whether they do conflict.
        """
        if a.data is not b.data or not (a.is_write or b.is_write) or not self._threads:
            return False
        met = True if a.is_later != b.is_later else self._do_meet(a, b)
        if met is not None or _is_shared(a.data):
            return met is not False
        return not is_certain and not (a.buffer is b.buffer and structural_equal(a.place.indices, b.place.indices))

    def _do_meet(self, a: _MemoryAccess, b: _MemoryAccess) -> bool | None:
        if a.buffer is None or a.buffer is not b.buffer:
            return None
        key = a.place, b.place
        if key not in self._met:
            is_own = structural_equal(a.place.indices, b.place.indices) and self._is_own(a.place.indices)
            self._met[key] = False if is_own else do_meet(a.place, b.place, self._domains)
        return self._met[key]

    def _is_own(self, indices: tuple[tir.PrimExpr, ...]) -> bool:
        """Return whether the indices are a bijection of the threads, so that each accesses elements of its own."""
        used = variables(indices)
        is_known = self._threads.keys() <= used <= self._ranges.keys()
        return is_known and is_bijective(indices, {var: self._ranges[var] for var in used})

    def _differs(self, expr: tir.PrimExpr) -> bool:
        """Return whether `expr` may differ between threads of a block."""
        if isinstance(expr, tir.Call) and expr.op == _INVARIANT:
            return False
        return any(
            node in self._differing
            or (isinstance(node, tir.BufferLoad) and scope_of(node.buffer.data) != "global")
            or (isinstance(node, tir.Call) and _has_effect(node))
            for node in walk(expr)
        )


def _behind(needed: bool, stmt: tir.Stmt) -> tir.Stmt:
    return sequence([barrier(stmt.span), stmt]) if needed else stmt


def _values(domain: tir.Range) -> tuple[int, int]:
    """Return the first value of a variable and the number of its values; (0, 0) if they are not constant."""
    if not isinstance(domain.min, tir.IntImm) or not isinstance(domain.extent, tir.IntImm):
        return 0, 0
    return domain.min.value, domain.extent.value


def _has_effect(call: tir.Call) -> bool:
    row = INTRINSICS.get(call.op.name) if isinstance(call.op, Op) else None
    return row is not None and row.effect in ("opaque", "update")


_Access = tir.BufferLoad | tir.BufferStore | tir.Call


def accesses_in(node: Node) -> Iterator[tuple[_Access, tuple[tir.PrimExpr, ...]]]:
    """Yield the accesses in `node`, each with the conditions under which it executes."""
    stack: list[tuple[Node | None, tuple[tir.PrimExpr, ...]]] = [(node, ())]
    while stack:
        part, conditions = stack.pop()
        if isinstance(part, _Access):
            yield part, conditions
        match part:
            case None:
                continue
            case tir.IfThenElse():
                parts = part.condition, part.then_case, part.else_case
            case tir.Call(op=op) if op == _IF:
                parts = part.args
            case _:
                stack += [
                    (child, conditions) for child in reversed(children(part)) if not isinstance(child, tir.Buffer)
                ]
                continue
        condition: Any = parts[0]
        inside = conditions, (*conditions, condition), (*conditions, make.logical_not(condition))
        stack += reversed(list(zip(parts, inside, strict=True)))


def _by_pointers(call: tir.Call) -> list[_MemoryAccess]:
    does_write = call.op != _POINTER or not isinstance(call.args[4], tir.IntImm) or bool(call.args[4].value & 2)
    found = [_MemoryAccess(arg, does_write) for arg in call.args if isinstance(arg, tir.Var) and _is_shared(arg)]
    loads = [arg.buffer.data for arg in call.args if isinstance(arg, tir.BufferLoad) and call.dtype == "handle"]
    return found + [_MemoryAccess(data, True) for data in loads if _is_shared(data)]


def _is_shared(variable: tir.Var) -> bool:
    return scope_of(variable).startswith("shared")
