"""Contraction of reductions in vectors: the product and the sum of a step become one operation with one rounding.

    with T.block("product"):                          with T.block("product"):
        vi, vj, vk = T.axis.remap("SSR", …)               vi, vj, vk = T.axis.remap("SSR", …)
        C[vi, vj] = C[vi, vj] + A[vi, vk] * B[vk, vj]   →    C[vi, vj] = T.fma(A[vi, vk], B[vk, vj], C[vi, vj])

Schedules may do this (docs/law.md, "Order"). A vectorized loop around the block shows that it has a schedule; other
reductions keep their roundings.
"""

from __future__ import annotations

from msgspec.structs import replace

from ...ir import tir
from ...ir.base import Op
from ...ir.equal import structural_equal
from .rewriter import Rewriter

_DTYPES = ("float32", "float64")
"""The dtypes with an instruction; others are computed in float32."""


def contract_reductions(func: tir.PrimFunc) -> tir.PrimFunc:
    """Return `func` with fused products and sums in the reductions of vectorized loops; itself if there are none."""
    contracter = _Contracter()
    body = contracter.rewrite(func.body)
    return replace(func, body=body) if contracter.has_changed else func


class _Contracter(Rewriter):
    def __init__(self) -> None:
        super().__init__({tir.For: self._for, tir.Block: self._block, tir.BufferStore: self._store})
        self._vectors = 0
        """Number of vectorized loops around."""
        self._is_reduction = False
        self.has_changed = False

    def _for(self, loop: tir.For) -> tir.For:
        self._vectors += loop.kind is tir.ForKind.VECTORIZED
        loop = self.rebuild(loop)
        self._vectors -= loop.kind is tir.ForKind.VECTORIZED
        return loop

    def _block(self, block: tir.Block) -> tir.Block:
        outer = self._is_reduction
        self._is_reduction = any(axis.iter_type is tir.IterVarType.COMM_REDUCE for axis in block.iter_vars)
        block = self.rebuild(block)
        self._is_reduction = outer
        return block

    def _store(self, store: tir.BufferStore) -> tir.BufferStore:
        if not (self._vectors and self._is_reduction) or store.value.dtype not in _DTYPES:
            return store
        match store.value:
            case tir.Add(a=old, b=tir.Mul() as product) if _is_old(old, store):
                pass
            case tir.Add(a=tir.Mul() as product, b=old) if _is_old(old, store):
                pass
            case _:
                return store
        self.has_changed = True
        fused = tir.Call(store.value.dtype, Op("tir.fma"), (product.a, product.b, old), span=store.value.span)
        return replace(store, value=fused)


def _is_old(value: tir.PrimExpr, store: tir.BufferStore) -> bool:
    """Return whether `value` is the element that the store replaces."""
    if not isinstance(value, tir.BufferLoad) or value.buffer is not store.buffer or value.predicate is not None:
        return False
    return structural_equal(value.indices, store.indices, map_free_vars=False)
