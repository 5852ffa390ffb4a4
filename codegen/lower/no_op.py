"""Removal of statements without effect (TVM: `RemoveNoOp`, without its analysis of overwritten stores).

    n = 5                                  for i in range(16):
    for i in range(16):                        if not i < 8:
        if i < 8:                   →              A[i] = 0
            A[i] = A[i]
        else:
            A[i] = 0

Operands with side effects, and operands that may fault, are still evaluated.
"""

from __future__ import annotations

from collections.abc import Iterable

from msgspec.structs import replace

from ...ir import make, tir
from ...ir.analysis.const_bounds import const_bounds
from ...ir.analysis.proof import prove
from ...ir.base import Span
from ...ir.dtype import is_index
from ...ir.equal import structural_equal
from ...ir.idioms import NOTHING, changes_no_byte
from ...ir.intern import has_effects, may_fault
from ...ir.simplify import simplify
from ...ir.visit import Substitution, children, distinct
from .rewriter import Rewriter, sequence


def remove_no_ops(func: tir.PrimFunc) -> tir.PrimFunc:
    """Return `func` without statements that have no effect."""
    return replace(func, body=without_no_ops(func.body))


def without_no_ops(stmt: tir.Stmt) -> tir.Stmt:
    """Return `stmt` without statements that have no effect."""
    return _Remover().rewrite(stmt)  # type: ignore[no-any-return]


class _Remover(Rewriter):
    """Removes statements bottom-up; `_used` are the variables in the statements kept so far, which follow a definition."""

    def __init__(self) -> None:
        super().__init__({
            tir.LetStmt: self._let, tir.AttrStmt: self._around, tir.For: self._for, tir.IfThenElse: self._choice,
            tir.Allocate: self._memory, tir.AllocateConst: self._memory, tir.DeclBuffer: self._memory,
            tir.Evaluate: lambda stmt: self._effects([stmt.value], stmt.span), tir.BufferStore: self._store,
            tir.Var: self._use, tir.SizeVar: self._use,
        })  # fmt: skip
        self._names = Substitution()
        self._domains = dict[tir.Var, tir.Range]()
        self._given: tuple[tuple[tir.PrimExpr, bool], ...] = ()
        self._used = set[tir.Var]()

    def _use(self, var: tir.Var) -> tir.Var:
        self._used.add(var)
        return var

    def _kept(self, stmt: tir.Stmt) -> tir.Stmt:
        """Note what `stmt` uses, without the statements in it."""
        own = [part for part in children(stmt) if not isinstance(part, tir.Stmt)]
        self._used.update(node for part in own for node in distinct(part) if isinstance(node, tir.Var))
        return stmt

    def _effects(self, values: Iterable[tir.PrimExpr], span: Span | None) -> tir.Stmt:
        """Return the statement that evaluates those of `values` that have side effects or may fault."""
        return sequence(self._kept(tir.Evaluate(value, span=span)) for value in values if _matters(value))

    def _let(self, stmt: tir.LetStmt) -> tir.Stmt:
        self._names[stmt.var] = self._names(stmt.value)
        body = self.rewrite(stmt.body)
        if stmt.var in self._used:
            return self._kept(replace(stmt, body=body))
        return sequence([self._effects([stmt.value], stmt.span), body])

    def _around(self, stmt: tir.AttrStmt) -> tir.Stmt:
        body = self.rewrite(stmt.body)
        return self._effects([stmt.value], stmt.span) if _is_nothing(body) else self._kept(replace(stmt, body=body))

    def _for(self, stmt: tir.For) -> tir.Stmt:
        extent = simplify(self._names(stmt.extent))
        is_constant = isinstance(extent, tir.IntImm)
        is_empty = (extent.value if is_constant else const_bounds(extent, self._domains).max) <= 0
        self._domains[stmt.loop_var] = tir.Range(self._names(stmt.min), extent)
        body = NOTHING if is_empty else self.rewrite(stmt.body)
        return (
            self._effects([stmt.min, stmt.extent], stmt.span)
            if _is_nothing(body)
            else self._kept(replace(stmt, body=body))
        )

    def _choice(self, stmt: tir.IfThenElse) -> tir.Stmt:
        condition, other = stmt.condition, NOTHING if stmt.else_case is None else stmt.else_case
        if isinstance(condition, tir.IntImm):
            return self.rewrite(stmt.then_case if condition.value else other)
        then, other = self._where(condition, True, stmt.then_case), self._where(condition, False, other)
        if _is_nothing(then) and _is_nothing(other):
            return self._effects([condition], stmt.span)
        if _is_nothing(then):
            condition, then, other = make.logical_not(condition), other, then
        else_case = None if _is_nothing(other) else other
        return self._kept(replace(stmt, condition=condition, then_case=then, else_case=else_case))

    def _where(self, condition: tir.PrimExpr, holds: bool, stmt: tir.Stmt) -> tir.Stmt:
        """Remove statements that have no effect in a branch: where `condition` is true, or where it is false."""
        before = self._given
        self._given = (*before, (condition, holds))
        found = self.rewrite(stmt)
        self._given = before
        return found  # type: ignore[no-any-return]

    def _memory(self, stmt: tir.Allocate | tir.AllocateConst | tir.DeclBuffer) -> tir.Stmt:
        body = self.rewrite(stmt.body)
        var = stmt.buffer.data if isinstance(stmt, tir.DeclBuffer) else stmt.buffer_var
        return self._kept(replace(stmt, body=body)) if var in self._used else body

    def _store(self, stmt: tir.BufferStore) -> tir.Stmt:
        value = stmt.value
        if isinstance(value, tir.BufferLoad) and value.buffer is stmt.buffer and not _matters(value):
            pairs = [[self._names(access.indices[i]) for access in (value, stmt)] for i in range(len(stmt.indices))]
            is_same = all(
                structural_equal(simplify(pair[0]), simplify(pair[1])) or self._are_equal(*pair) for pair in pairs
            )
            if is_same and changes_no_byte(value.dtype):
                return NOTHING
        return self._kept(stmt)

    def _are_equal(self, a: tir.PrimExpr, b: tir.PrimExpr) -> bool:
        """Return whether two indices are equal under the conditions around them, as far as these do not read memory."""
        if not self._given or a.dtype != b.dtype or not is_index(a.dtype):
            return False
        lasting = [
            (self._names(condition), holds)
            for condition, holds in self._given
            if not any(isinstance(node, tir.BufferLoad | tir.Call) for node in distinct(condition))
        ]
        given = [condition if holds else make.logical_not(condition) for condition, holds in lasting]
        return prove(make.equal(a, b), self._domains, given).is_proven


def _matters(value: tir.PrimExpr) -> bool:
    """Whether `value` must be evaluated even if its result is not used."""
    return has_effects(value) or any(map(may_fault, distinct(value)))


def _is_nothing(stmt: tir.Stmt) -> bool:
    return stmt is NOTHING or (isinstance(stmt, tir.Evaluate) and not _matters(stmt.value))
