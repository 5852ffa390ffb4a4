"""Removal of statements without effect (TVM: `RemoveNoOp`, without its analysis of overwritten stores).

    n = 5                                  for i in range(16):
    for i in range(16):                        if not i < 8:
        if i < 8:                   →              A[i] = 0
            A[i] = A[i]
        else:
            A[i] = 0

Operands with side effects are still evaluated.
"""

from __future__ import annotations

from collections.abc import Iterable

from msgspec.structs import replace

from ...ir import make, tir
from ...ir.equal import structural_equal
from ...ir.intern import has_effects
from ...ir.simplify import simplify
from ...ir.visit import substitute
from .rewriter import NOTHING, Rewriter, sequence, uses


def remove_no_ops(func: tir.PrimFunc) -> tir.PrimFunc:
    """Return `func` without statements that have no effect."""
    return replace(func, body=_Remover().rewrite(func.body))


class _Remover(Rewriter):
    def __init__(self) -> None:
        super().__init__({
            tir.LetStmt: self._let, tir.AttrStmt: self._around, tir.For: self._for, tir.IfThenElse: self._choice,
            tir.Allocate: self._memory, tir.AllocateConst: self._memory, tir.DeclBuffer: self._memory,
            tir.Evaluate: lambda stmt: _effects([stmt.value]), tir.BufferStore: self._store,
        })  # fmt: skip
        self._names: dict[tir.Var, tir.PrimExpr] = {}

    def _let(self, stmt: tir.LetStmt) -> tir.Stmt:
        self._names[stmt.var] = substitute(stmt.value, self._names)
        body = self.rewrite(stmt.body)
        if uses([body], {stmt.var}):
            return replace(stmt, body=body)
        return sequence([_effects([stmt.value]), body])

    def _around(self, stmt: tir.AttrStmt) -> tir.Stmt:
        body = self.rewrite(stmt.body)
        return _effects([stmt.value]) if _is_nothing(body) else replace(stmt, body=body)

    def _for(self, stmt: tir.For) -> tir.Stmt:
        body = self.rewrite(stmt.body)
        extent = simplify(stmt.extent)
        if _is_nothing(body) or (isinstance(extent, tir.IntImm) and extent.value <= 0):
            return _effects([stmt.min, stmt.extent])
        return replace(stmt, body=body)

    def _choice(self, stmt: tir.IfThenElse) -> tir.Stmt:
        condition = stmt.condition
        then, other = self.rewrite(stmt.then_case), None if stmt.else_case is None else self.rewrite(stmt.else_case)
        if isinstance(condition, tir.IntImm):
            return then if condition.value else other or NOTHING
        if other is not None and not _is_nothing(other):
            if _is_nothing(then):
                return replace(stmt, condition=make.logical_not(condition), then_case=other, else_case=None)
            return replace(stmt, then_case=then, else_case=other)
        return _effects([condition]) if _is_nothing(then) else replace(stmt, then_case=then, else_case=None)

    def _memory(self, stmt: tir.Allocate | tir.AllocateConst | tir.DeclBuffer) -> tir.Stmt:
        body = self.rewrite(stmt.body)
        var = stmt.buffer.data if isinstance(stmt, tir.DeclBuffer) else stmt.buffer_var
        return replace(stmt, body=body) if uses([body], {var}) else body

    def _store(self, stmt: tir.BufferStore) -> tir.Stmt:
        value = stmt.value
        if not isinstance(value, tir.BufferLoad) or value.buffer is not stmt.buffer or has_effects(value):
            return stmt
        read, written = (
            [simplify(substitute(each, self._names)) for each in access.indices] for access in (value, stmt)
        )
        return NOTHING if all(map(structural_equal, read, written)) else stmt


def _effects(values: Iterable[tir.PrimExpr]) -> tir.Stmt:
    """Return the statement that evaluates those of `values` that have side effects."""
    return sequence(tir.Evaluate(value) for value in values if has_effects(value))


def _is_nothing(stmt: tir.Stmt) -> bool:
    return stmt is NOTHING or (isinstance(stmt, tir.Evaluate) and not has_effects(stmt.value))
