"""Barriers, where threads need them: between a write of shared memory and another thread's access to the same memory.

What loops do one after the other, threads do side by side: what one of them reads must have been written by all, and
what one overwrites must have been read. The statements of a kernel are followed in order, loops twice, and a barrier is
put in front of each that touches what was written, or writes what was touched, since the last one. Statements that
every thread does to elements of its own need none. (TVM: `ThreadSync`.)
"""

from __future__ import annotations

from msgspec import Struct
from msgspec.structs import replace

from ...ir import tir
from ...ir.base import Node, Op
from ...ir.diagnostics import error
from ...ir.equal import structural_equal
from ...ir.visit import walk
from ..lower.rewriter import Rewriter, sequence
from .allreduce import barrier
from .async_copies import later_stores
from .kernel import SYNC, Kernel, has_exchange, scope_of, size_of
from .own_elements import are_apart
from .places import domains_of

_POINTER = Op("tir.tvm_access_ptr")


class _Touch(Struct, frozen=True, eq=False):
    """An access to shared memory; no indices where it is by a pointer. A later one may take place after what follows it."""

    data: tir.Var
    indices: tuple[tir.PrimExpr, ...]
    is_write: bool
    is_later: bool = False


def insert_barriers(kernel: Kernel) -> Kernel:
    """Return `kernel`, which means what its loops do in order, with the barriers that its threads need.

    Raises TvmsError E0613 where one is needed under a condition that is not the same for all threads.
    """
    return replace(kernel, body=_Inserter(kernel).rewrite(kernel.body))


class _Inserter(Rewriter):
    def __init__(self, kernel: Kernel) -> None:
        super().__init__({
            tir.SeqStmt: self._sequence, tir.For: self._for, tir.IfThenElse: self._if, tir.While: self._while,
            tir.LetStmt: self._let, tir.AttrStmt: self._around, tir.Allocate: self._around, tir.DeclBuffer: self._around,
            tir.AssertStmt: self._around, tir.BufferStore: self._leaf, tir.Evaluate: self._leaf,
        })  # fmt: skip
        self._sizes = {axis.var: size_of(axis) for axis in kernel.threads if size_of(axis) > 1}
        self._differing: set[tir.Var] = {axis.var for axis in kernel.threads}
        self._domains = domains_of(kernel)
        self._fixed = {axis.var for axis in kernel.axes} - set(self._sizes)
        self._since: list[_Touch] = []
        self._later = later_stores(kernel.body)

    def _sequence(self, stmt: tir.SeqStmt) -> tir.Stmt:
        return sequence([self.rewrite(part) for part in stmt.seq])

    def _for(self, stmt: tir.For) -> tir.Stmt:
        """The second time, what the first iteration leaves meets what the next one begins with."""
        if self._differs(stmt.extent) or self._differs(stmt.min):
            return self._whole(stmt)
        touched = self._touches(stmt)
        if not has_exchange(stmt) and not any(self._crosses(a, b) for a in touched for b in touched):
            return self._leaf(stmt)
        self._note_reads(stmt.min, stmt.extent)
        once = self.rewrite(stmt.body)
        return replace(stmt, body=self.rewrite(once))

    def _while(self, stmt: tir.While) -> tir.Stmt:
        return self._whole(stmt)

    def _if(self, stmt: tir.IfThenElse) -> tir.Stmt:
        if self._differs(stmt.condition):
            return self._whole(stmt)
        before = list(self._since)
        then = self.rewrite(stmt.then_case)
        after, self._since = self._since, before
        other = None if stmt.else_case is None else self.rewrite(stmt.else_case)
        self._since = [*self._since, *after]
        return replace(stmt, then_case=then, else_case=other)

    def _let(self, stmt: tir.LetStmt) -> tir.Stmt:
        if self._differs(stmt.value):
            self._differing.add(stmt.var)
        if has_exchange(stmt.value):
            return replace(stmt, body=self.rewrite(stmt.body))
        touched = self._touches(stmt.value)
        needed = self._meets(touched)
        self._note(touched, needed)
        let = replace(stmt, body=self.rewrite(stmt.body))
        return sequence([barrier(stmt.span), let]) if needed else let

    def _around(self, stmt: tir.AttrStmt | tir.Allocate | tir.DeclBuffer | tir.AssertStmt) -> tir.Stmt:
        return replace(stmt, body=self.rewrite(stmt.body))

    def _leaf(self, stmt: tir.Stmt) -> tir.Stmt:
        if isinstance(stmt, tir.Evaluate) and isinstance(stmt.value, tir.Call) and stmt.value.op == SYNC:
            self._since = []
            return stmt
        touched = self._touches(stmt)
        needed = self._meets(touched)
        self._note(touched, needed)
        return sequence([barrier(stmt.span), stmt]) if needed else stmt

    def _whole(self, stmt: tir.Stmt) -> tir.Stmt:
        """A statement that not all threads run alike: no barrier can stand inside."""
        touched = self._touches(stmt)
        for number, touch in enumerate(touched):
            if any(self._crosses(touch, other) for other in touched[:number]):
                reason = f"threads need a barrier between accesses to '{touch.data.name}' here"
                reason += ", but not all of them run this, or run it equally often"
                raise error("E0613", reason, stmt.span, "let the condition guard single accesses, or make it uniform")
        return self._leaf(stmt)

    # --- What meets

    def _touches(self, node: Node) -> list[_Touch]:
        """Return the accesses to shared memory in `node`, those of calls by pointers included, which say what they do."""
        found: list[_Touch] = []
        for part in walk(node):
            if isinstance(part, tir.BufferLoad | tir.BufferStore) and _is_shared(part.buffer.data):
                is_write = isinstance(part, tir.BufferStore)
                found.append(_Touch(part.buffer.data, part.indices, is_write, part in self._later))
            elif isinstance(part, tir.Call) and isinstance(part.op, Op):
                found += _by_pointers(part)
        return found

    def _note(self, touched: list[_Touch], is_after_barrier: bool) -> None:
        self._since = touched if is_after_barrier else [*self._since, *touched]

    def _note_reads(self, *parts: tir.PrimExpr) -> None:
        for part in parts:
            self._since += self._touches(part)

    def _meets(self, touched: list[_Touch]) -> bool:
        return any(self._crosses(touch, other) for touch in touched for other in self._since)

    def _crosses(self, a: _Touch, b: _Touch) -> bool:
        """Whether `a` and `b`, in two threads, may meet, one of them writing."""
        if a.data is not b.data or not (a.is_write or b.is_write):
            return False
        return a.is_later != b.is_later or not (self._is_own(a) and structural_equal(a.indices, b.indices))

    def _is_own(self, touch: _Touch) -> bool:
        """Whether each thread touches elements that no other one does, whatever the other variables are."""
        used = {node for index in touch.indices for node in walk(index) if isinstance(node, tir.Var)}
        if not touch.indices or not self._sizes.keys() <= used:
            return False
        others = {
            var: (0, 1) if var in self._fixed else _values(self._domains.get(var)) for var in used - self._sizes.keys()
        }
        return are_apart(touch.indices, self._sizes, others)

    def _differs(self, expr: tir.PrimExpr) -> bool:
        """Whether `expr` may have different values in threads of a block."""
        return any(
            node in self._differing or (isinstance(node, tir.BufferLoad) and scope_of(node.buffer.data) != "global")
            for node in walk(expr)
        )


def _values(domain: tir.Range | None) -> tuple[int, int]:
    """Return the first value of a variable, and how many it has; none where that is not known."""
    if domain is None or not isinstance(domain.min, tir.IntImm) or not isinstance(domain.extent, tir.IntImm):
        return 0, 0
    return domain.min.value, domain.extent.value


def _by_pointers(call: tir.Call) -> list[_Touch]:
    does_write = call.op != _POINTER or not isinstance(call.args[4], tir.IntImm) or bool(call.args[4].value & 2)
    found = [_Touch(arg, (), does_write) for arg in call.args if isinstance(arg, tir.Var) and _is_shared(arg)]
    loads = [arg.buffer.data for arg in call.args if isinstance(arg, tir.BufferLoad) and call.dtype == "handle"]
    return found + [_Touch(data, (), True) for data in loads if _is_shared(data)]


def _is_shared(variable: tir.Var) -> bool:
    return scope_of(variable).startswith("shared")
