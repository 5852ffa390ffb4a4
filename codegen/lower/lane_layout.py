"""The layout of small buffers for vectors: lanes are adjacent in memory.

    C_local = T.alloc_buffer((32, 7))                   C_local = T.alloc_buffer((7, 32))
    for k, x in T.grid(64, 7):                          for k, x in T.grid(64, 7):
        for f in T.vectorized(32):             →            for f in T.vectorized(32):
            C_local[f, x] += A[k, x] * B[k, f]                  C_local[x, f] += A[k, x] * B[k, f]

The cache of a result has the layout of the result, in which the lanes may be far apart. Buffers that fit the stack become
registers if all lanes of a vector are adjacent; the order of their dimensions has no other effect.
"""

from __future__ import annotations

from collections import Counter
from math import prod
from typing import TypeVar

from msgspec.structs import replace

from ...ir import tir
from ...ir.base import Op
from ...ir.dtype import element_bytes, is_vector
from ...ir.intern import has_effects
from ...ir.linear import linear
from ...ir.schedule.tree import walk_statements
from ...ir.visit import walk
from .rewriter import Rewriter
from .uses import Use, Uses

MOST_BYTES = 4096
"""Maximum size of a buffer whose layout is changed: that of a buffer on the stack (`llvm.statements`)."""
_ADDRESS_OF = Op("tir.address_of")
_SCOPES = ("global", "local")
_Part = TypeVar("_Part")
UNKNOWN_EXTENT = 16
"""Assumed number of iterations of a loop whose extent is not constant."""


def order_lanes(func: tir.PrimFunc) -> tir.PrimFunc:
    """Return `func`, whose blocks are opaque, with the dimension of small buffers innermost that vectors run along."""
    small = _small_buffers(func.body)
    if not small:
        return func
    uses, permuter = Uses(func.body), _Permuter()
    for buffer in small:
        if buffer.data not in uses.escaped | uses.pointed | uses.matched.keys():
            permuter.move(buffer, _dimension_of_lanes(buffer, uses.of[buffer]))
    if not permuter.dimensions or any(
        isinstance(node, tir.Call) and node.op == _ADDRESS_OF for node in walk(func.body)
    ):
        return func  # the elements after an address are known to its user only
    return replace(func, body=permuter.rewrite(func.body))


def _small_buffers(body: tir.Stmt) -> list[tir.Buffer]:
    """Return the buffers whose layout may change. Without a vectorized loop, there are none."""
    statements = list(walk_statements(body))
    if not any(isinstance(stmt, tir.For) and stmt.kind is tir.ForKind.VECTORIZED for stmt in statements):
        return []
    blocks = [stmt for stmt in statements if isinstance(stmt, tir.Block)]
    return [buffer for block in blocks for buffer in block.alloc_buffers if _is_small(buffer)]


def _is_small(buffer: tir.Buffer) -> bool:
    extents = [extent.value for extent in buffer.shape if isinstance(extent, tir.IntImm)]
    is_plain = not buffer.strides and buffer.elem_offset is None and not buffer.axis_separators
    return (
        len(extents) == len(buffer.shape) > 1
        and is_plain
        and buffer.scope in _SCOPES
        and not is_vector(buffer.dtype)
        and prod(extents) * element_bytes(buffer.dtype) <= MOST_BYTES
    )


def _dimension_of_lanes(buffer: tir.Buffer, uses: list[Use]) -> int:
    """Return the dimension that most vector accesses run along, counted with the iterations of their loops."""
    last = len(buffer.shape) - 1
    votes = Counter[int]()
    for use in uses:
        if any(is_vector(index.dtype) or has_effects(index) for index in use.indices):
            return last
        runs, loops = 1, use.loops()
        for loop in loops:
            runs *= loop.extent.value if isinstance(loop.extent, tir.IntImm) else UNKNOWN_EXTENT
        for loop in loops:
            if loop.kind is tir.ForKind.VECTORIZED:
                factors = [linear(index).terms.get(loop.loop_var, 0) for index in use.indices]
                along = [number for number, factor in enumerate(factors) if factor]
                votes[along[0] if len(along) == 1 and factors[along[0]] == 1 else last] += runs
    best = max(votes, key=lambda number: (votes[number], number), default=last)
    is_apart = any(isinstance(extent, tir.IntImm) and extent.value > 1 for extent in buffer.shape[best + 1 :])
    return best if is_apart else last


class _Permuter(Rewriter):
    """Moves dimensions of buffers to the end."""

    def __init__(self) -> None:
        super().__init__({tir.BufferLoad: self._access, tir.BufferStore: self._access, tir.BufferRegion: self._region})
        self.dimensions: dict[tir.Buffer, int] = {}

    def move(self, buffer: tir.Buffer, dimension: int) -> None:
        """Move a dimension of `buffer` to the end, unless it is there already."""
        if dimension < len(buffer.shape) - 1:
            self.dimensions[buffer] = dimension
            self.buffers[buffer] = replace(buffer, shape=_moved(buffer.shape, dimension))

    def _access(self, access: tir.BufferLoad | tir.BufferStore) -> tir.BufferLoad | tir.BufferStore:
        dimension, access = self.dimensions.get(access.buffer), self.rebuild(access)
        return access if dimension is None else replace(access, indices=_moved(access.indices, dimension))

    def _region(self, region: tir.BufferRegion) -> tir.BufferRegion:
        dimension, region = self.dimensions.get(region.buffer), self.rebuild(region)
        return region if dimension is None else replace(region, region=_moved(region.region, dimension))


def _moved(parts: tuple[_Part, ...], dimension: int) -> tuple[_Part, ...]:
    return (*parts[:dimension], *parts[dimension + 1 :], parts[dimension])
