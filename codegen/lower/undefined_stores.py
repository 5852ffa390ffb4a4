"""Removal of stores of undefined values (TVM: `RemoveStoreUndef`).

A[0] = T.undef()
v: T.int32 = T.undef() + 1          →
A[1] = v
A[2] = 3                                A[2] = 3
"""

from __future__ import annotations

from msgspec.structs import replace

from ...ir import tir
from ...ir.base import Node, Op
from ...ir.diagnostics import error
from ...ir.idioms import NOTHING
from ...ir.intern import has_effects
from ...ir.visit import walk
from .rewriter import Rewriter, uses

_UNDEF = Op("tir.undef")


def remove_undefined_stores(func: tir.PrimFunc) -> tir.PrimFunc:
    """Return `func` without stores of values computed from `T.undef()`, which allow any value.

    Stores of expressions with other effects stay. Raises TvmsError E0906 if an index is computed from `T.undef()`.
    """
    return replace(func, body=_Remover().rewrite(func.body))


def _is_undef(node: Node) -> bool:
    return isinstance(node, tir.Call) and node.op == _UNDEF


class _Remover(Rewriter):
    def __init__(self) -> None:
        super().__init__({tir.BufferStore: self._store, tir.BufferLoad: self._load, tir.LetStmt: self._let})
        self._undefined = set[Node]()

    def _is_undefined(self, *exprs: tir.PrimExpr) -> bool:
        return any(_is_undef(node) or node in self._undefined for expr in exprs for node in walk(expr))

    def _is_removable(self, value: tir.PrimExpr) -> bool:
        others = (node for node in walk(value) if isinstance(node, tir.Call) and not _is_undef(node))
        return self._is_undefined(value) and not any(map(has_effects, others))

    def _check(self, access: tir.BufferStore | tir.BufferLoad) -> None:
        if self._is_undefined(*access.indices):
            message = f"an index of '{access.buffer.name}' is undefined"
            raise error("E0906", message, access.span, "give it a value instead of T.undef()")

    def _load(self, load: tir.BufferLoad) -> tir.PrimExpr:
        self._check(load)
        return self.rebuild(load)

    def _store(self, store: tir.BufferStore) -> tir.Stmt:
        self._check(store)
        rebuilt = self.rebuild(store)
        return NOTHING if self._is_removable(store.value) else rebuilt

    def _let(self, let: tir.LetStmt) -> tir.Stmt:
        rebuilt = self.rewrite(let.value)
        if not self._is_removable(rebuilt):
            return replace(let, value=rebuilt, body=self.rewrite(let.body))
        self._undefined.add(let.var)
        body = self.rewrite(let.body)
        return replace(let, value=rebuilt, body=body) if uses((body,), {let.var}) else body
