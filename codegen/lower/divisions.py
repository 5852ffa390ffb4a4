"""Simplification of divisions in indices under the ranges of loop variables.

    for j0 in range(4):                                 for j0 in range(4):
        for j1 in T.vectorized(32):                         for j1 in T.vectorized(32):
            … P[(j0 * 32 + j1) // 32, (j0 * 32 + j1) % 32]     →     … P[j0, j1]

Split loops access packed buffers in this form, and a vector of quotients would be a gather. Only indices with divisions by
constants are simplified, since a division by zero must remain a fault. An access keeps its indices unless it loses a division, or
a vectorized loop leaves one: the sum of a quotient and its remainder is recognized by their equal dividends.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from msgspec.structs import replace

from ...ir import tir
from ...ir.dtype import is_index
from ...ir.intern import has_effects, may_fault
from ...ir.simplify import simplify
from ...ir.visit import walk
from .rewriter import Rewriter

_DIVISIONS = (tir.FloorDiv, tir.FloorMod, tir.Div, tir.Mod)


def simplify_divisions(func: tir.PrimFunc, domains: Mapping[tir.Var, tir.Range] = MappingProxyType({})) -> tir.PrimFunc:
    """Return `func` with simplified divisions in indices; `domains` are those of variables that no loop binds."""
    return replace(func, body=_Indices(domains).rewrite(func.body))


class _Indices(Rewriter):
    def __init__(self, domains: Mapping[tir.Var, tir.Range]) -> None:
        super().__init__({tir.For: self._for, tir.BufferLoad: self._access, tir.BufferStore: self._access})
        self._domains = dict(domains)
        self._lanes: set[tir.Var] = set()
        """Variables of vectorized loops."""
        self._simple: dict[tir.PrimExpr, tir.PrimExpr] = {}

    def _for(self, loop: tir.For) -> tir.Stmt:
        self._domains[loop.loop_var] = tir.Range(loop.min, loop.extent)
        if loop.kind is tir.ForKind.VECTORIZED:
            self._lanes.add(loop.loop_var)
        return self.rebuild(loop)

    def _access(self, access: tir.BufferLoad | tir.BufferStore) -> tir.BufferLoad | tir.BufferStore:
        access = self.rebuild(access)
        indices = tuple(map(self._index, access.indices))
        is_simpler = self._divisions_in(indices) < self._divisions_in(access.indices)
        return replace(access, indices=indices) if is_simpler else access

    def _index(self, index: tir.PrimExpr) -> tir.PrimExpr:
        """Return an index simplified where loop variables are in their ranges; unchanged if it may fault, or has no division."""
        found = self._simple.get(index)
        if found is None:
            found = self._simple[index] = self._simplified(index) if is_index(index.dtype) else index
        return found

    def _simplified(self, index: tir.PrimExpr) -> tir.PrimExpr:
        nodes = list(walk(index))
        if not any(isinstance(node, _DIVISIONS) for node in nodes) or any(map(may_fault, nodes)) or has_effects(index):
            return index
        domains = {node: self._domains[node] for node in nodes if isinstance(node, tir.Var) and node in self._domains}
        return simplify(index, domains)

    def _divisions_in(self, indices: tuple[tir.PrimExpr, ...]) -> tuple[int, int]:
        """Return the numbers of divisions in indices: those of a variable of a vectorized loop, and all."""
        divisions = [node for index in indices for node in walk(index) if isinstance(node, _DIVISIONS)]
        of_lanes = sum(
            any(inner in self._lanes for inner in walk(node) if isinstance(inner, tir.Var)) for node in divisions
        )
        return of_lanes, len(divisions)
