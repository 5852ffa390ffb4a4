"""Contraction of reductions in vectors: the product and the sum of a step become one operation with one rounding.

    with T.block("product"):                          with T.block("product"):
        vi, vj, vk = T.axis.remap("SSR", …)               vi, vj, vk = T.axis.remap("SSR", …)
        C[vi, vj] = C[vi, vj] + A[vi, vk] * B[vk, vj]   →    C[vi, vj] = T.fma(A[vi, vk], B[vk, vj], C[vi, vj])

Schedules may do this (docs/law.md, "Order"). A vectorized loop around the block shows that it has a schedule; other
reductions keep their roundings.

A fused operation takes longer than a sum alone, which matters if each step waits for the one before. That is so where rows of
sums stay in memory and are half a page or a page apart: a processor compares the low 12 bits of addresses first, takes
the load of a row for a load of the row stored just before, and waits. Such reductions are not contracted.
"""

from __future__ import annotations

from msgspec.structs import replace

from ...ir import tir
from ...ir.base import Op
from ...ir.dtype import element_bytes
from ...ir.equal import structural_equal
from ...ir.linear import linear
from ...ir.visit import Substitution
from .layout import strides_of
from .rewriter import Rewriter

_DTYPES = ("float32", "float64")
"""The dtypes with an instruction; others are computed in float32."""
PAGE = 4096
"""Bytes between addresses with equal low 12 bits."""
MOST_UNROLLED = 8
"""Rows that LLVM unrolls, so that their sums stay in registers; steps of a row after which the wait is hidden. Measured:
a product of 512 x 512 x 480 in float32 takes 1.06, 1.00, 1.30, 0.81 times the time without contraction with 1, 2, 4, 8 steps, and
0.80, 0.72, 1.15, 1.30 times with 4, 8, 16, 32 rows; rows of 1024 bytes take 0.92 times the time, of 2048 bytes 1.30."""


def contract_reductions(func: tir.PrimFunc) -> tir.PrimFunc:
    """Return `func` with fused products and sums in the reductions of vectorized loops; itself if there are none."""
    contracter = _Contracter(frozenset(func.buffer_map.values()))
    body = contracter.rewrite(func.body)
    return replace(func, body=body) if contracter.has_changed else func


class _Contracter(Rewriter):
    def __init__(self, arguments: frozenset[tir.Buffer]) -> None:
        super().__init__({
            tir.For: self._for, tir.BlockRealize: self._realize, tir.Block: self._block, tir.BufferStore: self._store,
        })  # fmt: skip
        self._arguments = arguments
        """Buffers that keep their layout; others are compacted later."""
        self._loops: list[tir.For] = []
        """The loops around, the outermost first."""
        self._bound = Substitution()
        """The values of the block iterators around, in loop variables."""
        self._is_reduction = False
        self.has_changed = False

    def _for(self, loop: tir.For) -> tir.For:
        self._loops.append(loop)
        loop = self.rebuild(loop)
        self._loops.pop()
        return loop

    def _realize(self, realize: tir.BlockRealize) -> tir.BlockRealize:
        for axis, value in zip(realize.block.iter_vars, realize.iter_values, strict=True):
            self._bound[axis.var] = self._bound(value)
        return self.rebuild(realize)

    def _block(self, block: tir.Block) -> tir.Block:
        outer = self._is_reduction
        self._is_reduction = any(axis.iter_type is tir.IterVarType.COMM_REDUCE for axis in block.iter_vars)
        block = self.rebuild(block)
        self._is_reduction = outer
        return block

    def _store(self, store: tir.BufferStore) -> tir.BufferStore:
        is_vector = any(loop.kind is tir.ForKind.VECTORIZED for loop in self._loops)
        if not (is_vector and self._is_reduction) or store.value.dtype not in _DTYPES:
            return store
        match store.value:
            case tir.Add(a=old, b=tir.Mul() as product) if _is_old(old, store):
                pass
            case tir.Add(a=tir.Mul() as product, b=old) if _is_old(old, store):
                pass
            case _:
                return store
        if store.buffer in self._arguments and self._waits(store):
            return store
        self.has_changed = True
        fused = tir.Call(store.value.dtype, Op("tir.fma"), (product.a, product.b, old), span=store.value.span)
        return replace(store, value=fused)

    def _waits(self, store: tir.BufferStore) -> bool:
        """Return whether rows of sums pass through memory half a page or a page apart."""
        distances = [self._distance(store, loop) for loop in self._loops]
        if 0 not in distances or None in distances:
            return False
        inner = list(zip(self._loops, distances, strict=True))[distances.index(0) + 1 :]
        steps, waits = 1, False
        for loop, distance in reversed(inner):
            extent = loop.extent.value if isinstance(loop.extent, tir.IntImm) else MOST_UNROLLED + 1
            if distance and loop.kind is tir.ForKind.SERIAL:
                waits |= extent > MOST_UNROLLED and distance * 2 % PAGE == 0
            elif not distance and not waits:
                steps *= extent
        return waits and steps < MOST_UNROLLED

    def _distance(self, store: tir.BufferStore, loop: tir.For) -> int | None:
        """Return the bytes between the elements of two iterations; None if they are not constant."""
        total = 0
        for index, stride in zip(store.indices, strides_of(store.buffer), strict=True):
            factor = linear(self._bound(index)).terms.get(loop.loop_var, 0)
            if factor and not isinstance(stride, tir.IntImm):
                return None
            total += factor * stride.value if isinstance(stride, tir.IntImm) else 0
        return total * element_bytes(store.buffer.dtype)


def _is_old(value: tir.PrimExpr, store: tir.BufferStore) -> bool:
    """Return whether `value` is the element that the store replaces."""
    if not isinstance(value, tir.BufferLoad) or value.buffer is not store.buffer or value.predicate is not None:
        return False
    return structural_equal(value.indices, store.indices, map_free_vars=False)
