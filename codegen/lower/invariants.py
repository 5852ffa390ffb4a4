"""Hoist loop-invariant conditions and variables out of loops.

    for i in range(16):                    if n > 4:
        if n > 4:                              for i in range(16):
            A[i] = 0                  →            A[i] = 0
        else:                              else:
            A[i] = 1                           …

The `if` or binding must be the whole body of the loop. Its value must not read what the loop writes, and
must not fault if the loop does not run. (TVM: `HoistIfThenElse`; `HoistExpression`, which also hoists
variables.)
"""

from __future__ import annotations

from msgspec import Struct
from msgspec.structs import replace

from ...ir import tir
from ...ir.base import Op
from ...ir.intern import has_effects, may_fault
from ...ir.visit import children, distinct, walk
from .rewriter import Rewriter

_LIKELY = Op("tir.likely")


def hoist_conditions(func: tir.PrimFunc, of_threads: bool = True, out_of_threads: bool = False) -> tir.PrimFunc:
    """Return `func` with loop-invariant conditions hoisted; unless `of_threads`, only those that do not depend on the threads of
    "thread_extent" attributes. With `out_of_threads`, conditions also leave such attributes inside others, if nothing synchronizes.
    """
    if of_threads:
        return _hoisted(func, with_names=False, out_of_threads=out_of_threads)
    scopes = [
        node.node for node in distinct(func.body) if isinstance(node, tir.AttrStmt) and node.attr_key == "thread_extent"
    ]
    return _hoisted(
        func, with_names=False, fixed=frozenset(axis.var for axis in scopes if isinstance(axis, tir.IterVar))
    )


def hoist_expressions(func: tir.PrimFunc) -> tir.PrimFunc:
    """Return `func` with loop-invariant conditions and variables hoisted."""
    return _hoisted(func, with_names=True)


def _hoisted(
    func: tir.PrimFunc, with_names: bool, fixed: frozenset[tir.Var] = frozenset(), out_of_threads: bool = False
) -> tir.PrimFunc:
    return replace(func, body=_Renamer().rewrite(_Hoister(with_names, fixed, out_of_threads).rewrite(func.body)))


class _Needs(Struct, frozen=True):
    """What must hold of a loop so that a value can be computed before it."""

    variables: frozenset[tir.Var]
    """Variables that the loop must not define."""
    read: frozenset[tir.Var]
    """Memory that the loop must not write."""
    may_fault: bool
    """Whether the loop must run at least once."""
    is_unknown: bool
    """Whether the value contains calls, so that it cannot be moved."""


_ANY = tir.Var("handle", "any")
"""Stands for memory that a call may write."""


class _Hoister(Rewriter):
    """Hoists out of one loop after the other, innermost first.

    A value may pass many loops, so the facts about each value and each statement are computed once. The loops around both
    branches of a condition have the same variable, until `_Renamer` renames them. Values of the variables `fixed` stay.
    """

    def __init__(self, with_names: bool, fixed: frozenset[tir.Var], out_of_threads: bool) -> None:
        super().__init__({tir.For: self._for, **({tir.AttrStmt: self._attribute} if out_of_threads else {})})
        self._fixed, self._launches = fixed, 0
        self._with_names = with_names
        self._needs: dict[tir.PrimExpr, _Needs] = {}
        self._writes: dict[tir.Stmt, frozenset[tir.Var]] = {}

    def _for(self, stmt: tir.For) -> tir.Stmt:
        return self._hoisted(self.rebuild(stmt))

    def _attribute(self, stmt: tir.AttrStmt) -> tir.Stmt:
        is_launch = stmt.attr_key == "thread_extent" and isinstance(stmt.node, tir.IterVar)
        self._launches += is_launch
        launch: tir.AttrStmt = self.rebuild(stmt)
        self._launches -= is_launch
        inner = launch.body
        if not is_launch or not self._launches or not isinstance(inner, tir.IfThenElse):
            return launch
        needs = _needs_of(inner.condition)
        calls = any(isinstance(node, tir.Call) and has_effects(node) for node in walk(inner))
        if needs.is_unknown or needs.read or needs.may_fault or launch.node.var in needs.variables or calls:
            return launch
        rest = None if inner.else_case is None else replace(launch, body=inner.else_case)
        return replace(inner, then_case=replace(launch, body=inner.then_case), else_case=rest)

    def _hoisted(self, loop: tir.For) -> tir.Stmt:
        if loop.thread_binding is not None or loop.annotations:
            return loop
        match loop.body:
            case tir.IfThenElse(condition=condition, then_case=then, else_case=other) as inner:
                if self._is_invariant(condition, loop):
                    rest = None if other is None else self._hoisted(replace(loop, body=other))
                    return replace(inner, then_case=self._hoisted(replace(loop, body=then)), else_case=rest)
            case tir.LetStmt(value=value, body=body) as inner if self._with_names and self._is_invariant(value, loop):
                return replace(inner, body=self._hoisted(replace(loop, body=body)))
            case _:
                pass
        return loop

    def _is_invariant(self, value: tir.PrimExpr, loop: tir.For) -> bool:
        """Return whether `value` is the same in all iterations, and can be computed even if the loop does not run."""
        needs = self._needs.get(value)
        if needs is None:
            needs = self._needs[value] = _needs_of(value)
        if needs.is_unknown or loop.loop_var in needs.variables or not self._fixed.isdisjoint(needs.variables):
            return False
        if needs.may_fault and not (isinstance(loop.extent, tir.IntImm) and loop.extent.value > 0):
            return False
        written = self._written_by(loop.body)
        return not needs.read or (_ANY not in written and needs.read.isdisjoint(written))

    def _written_by(self, stmt: tir.Stmt) -> frozenset[tir.Var]:
        """Return the memory that `stmt` writes."""
        found = self._writes.get(stmt)
        if found is None:
            parts = list(children(stmt))
            inner = [self._written_by(part) for part in parts if isinstance(part, tir.Stmt)]
            own = {stmt.buffer.data} if isinstance(stmt, tir.BufferStore) else set[tir.Var]()
            if any(isinstance(part, tir.PrimExpr) and has_effects(part) for part in parts):
                own.add(_ANY)
            found = self._writes[stmt] = frozenset(own).union(*inner)
        return found


class _Renamer(Rewriter):
    """Renames loop variables that several loops define."""

    def __init__(self) -> None:
        super().__init__({tir.For: self._for})
        self._used: set[tir.Var] = set()

    def _for(self, loop: tir.For) -> tir.Stmt:
        var = loop.loop_var
        if var not in self._used:
            self._used.add(var)
            return self.rebuild(loop)
        outer, self.buffers = self.buffers, {}  # views that both loops declare depend on different variables
        self.values[var] = replace(var)
        renamed = self.rebuild(loop)
        del self.values[var]
        self.buffers = outer
        return renamed


def _needs_of(value: tir.PrimExpr) -> _Needs:
    nodes = list(walk(value))
    read = frozenset(node.buffer.data for node in nodes if isinstance(node, tir.BufferLoad))
    return _Needs(
        frozenset(node for node in nodes if isinstance(node, tir.Var)),
        read,
        bool(read) or any(map(may_fault, nodes)),
        any(isinstance(node, tir.Call) and node.op != _LIKELY for node in nodes),
    )
