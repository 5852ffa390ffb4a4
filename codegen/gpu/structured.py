"""Jumps as flags, for the simulation: a thread that leaves a loop, or ends, skips the statements that follow.

    for k in range(n):                       stay = True
        if found(k):                         for k in range(n):
            break                       →        if stay and found(k): stay = False
        T.tvm_storage_sync("shared")             if stay: T.tvm_storage_sync("shared")

Loops in which threads do not wait for each other keep their `break` and `continue`.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import reduce

from msgspec import Struct
from msgspec.structs import replace

from ...ir import make, tir
from ...ir.base import Node, Op
from ...ir.jumps import BREAK, CONTINUE, has_jump
from ...ir.visit import walk
from ..lower.rewriter import sequence
from ..rules.build import allocated, new_buffer
from .kernel import is_apart

END = Op("tir.thread_return")
Flag = tir.Buffer
"""A truth value of a thread: whether it goes on."""


def without_jumps(body: tir.Stmt) -> tir.Stmt:
    """Return the code of a thread without ends of the thread, and without jumps out of loops in which threads wait for each other."""
    if not any(isinstance(node, tir.Call) and node.op in (BREAK, CONTINUE, END) for node in walk(body)):
        return body
    alive = _flag("alive") if _ends(body) else None
    return _with_flags([] if alive is None else [alive], _Structurer(alive).run(body, (), None))


class _Loop(Struct, frozen=True):
    """The flags of a loop: whether it goes on, and whether its current iteration does."""

    stay: Flag
    go: Flag


class _Structurer:
    def __init__(self, alive: Flag | None) -> None:
        self._alive = alive

    def run(self, stmt: tir.Stmt, guards: Sequence[Flag], loop: _Loop | None) -> tir.Stmt:
        """Return a statement that is executed if all `guards` are true; its jumps clear the flags of `loop`, or stay if that is None."""
        match stmt:
            case tir.SeqStmt():
                return self._sequence(stmt, guards, loop)
            case tir.Allocate() | tir.AttrStmt() | tir.DeclBuffer():
                return replace(stmt, body=self.run(stmt.body, guards, loop))
            case _ if guards:
                return tir.IfThenElse(_all(guards), self.run(stmt, (), loop))
            case tir.For() | tir.While():
                return self._loop(stmt)
            case tir.IfThenElse():
                other = None if stmt.else_case is None else self.run(stmt.else_case, (), loop)
                return replace(stmt, then_case=self.run(stmt.then_case, (), loop), else_case=other)
            case tir.LetStmt() | tir.AssertStmt():
                return replace(stmt, body=self.run(stmt.body, (), loop))
            case tir.Evaluate(value=tir.Call(op=op)):
                flag = self._flags(loop).get(op)
                return stmt if flag is None else tir.BufferStore(flag, _FALSE, (_ZERO,))
            case _:
                return stmt

    def _flags(self, loop: _Loop | None) -> dict[Node, Flag]:
        """Return the flags that jumps clear."""
        found: dict[Node, Flag] = {} if loop is None else {BREAK: loop.stay, CONTINUE: loop.go}
        return found if self._alive is None else {**found, END: self._alive}

    def _sequence(self, stmt: tir.SeqStmt, guards: Sequence[Flag], loop: _Loop | None) -> tir.Stmt:
        parts, now = list[tir.Stmt](), list(guards)
        for part in stmt.seq:
            parts.append(self.run(part, now, loop))
            now += [flag for flag in self._cleared(part, loop) if flag not in now]
        return sequence(parts)

    def _cleared(self, stmt: tir.Stmt, loop: _Loop | None) -> Iterable[Flag]:
        """Return the flags that a statement may clear."""
        for op, flag in self._flags(loop).items():
            assert isinstance(op, Op)
            if _ends(stmt) if op == END else has_jump(stmt, (op,)):
                yield flag

    def _loop(self, stmt: tir.For | tir.While) -> tir.Stmt:
        loop = None if is_apart(stmt) or not has_jump(stmt.body) else _Loop(_flag("stay"), _flag("go"))
        own = [] if loop is None else [loop.stay, loop.go]
        guards = [*own, *([self._alive] if self._alive is not None and _ends(stmt) else [])]
        body = self.run(stmt.body, guards, loop)
        if loop is not None:
            body = sequence([tir.BufferStore(loop.go, _TRUE, (_ZERO,)), body])
        changed = replace(stmt, body=body)
        if isinstance(changed, tir.While) and guards:
            lasting = [flag for flag in guards if loop is None or flag is not loop.go]
            condition = make.if_then_else(_all(lasting), make.cast(changed.condition, "bool"), _FALSE)
            changed = replace(changed, condition=condition)
        return _with_flags(own, changed)


_TRUE, _FALSE, _ZERO = tir.IntImm("bool", 1), tir.IntImm("bool", 0), tir.IntImm("int32", 0)


def _flag(name: str) -> Flag:
    return new_buffer(name, "bool", [1], "local")


def _with_flags(flags: Sequence[Flag], stmt: tir.Stmt) -> tir.Stmt:
    """Return a statement with the allocations of flags, which are true before it."""
    return allocated(flags, [*[tir.BufferStore(flag, _TRUE, (_ZERO,)) for flag in flags], stmt])


def _all(flags: Sequence[Flag]) -> tir.PrimExpr:
    return reduce(make.logical_and, [tir.BufferLoad("bool", flag, (_ZERO,)) for flag in flags])


def _ends(stmt: tir.Stmt) -> bool:
    """Return whether a thread may end in a statement."""
    return any(isinstance(node, tir.Call) and node.op == END for node in walk(stmt))
