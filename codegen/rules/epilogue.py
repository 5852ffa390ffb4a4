"""Epilogues: element-wise operations after a product, such as a bias and an activation, computed while a tile is in the cache.

C[i, j] = the sum of A[i, k] * B[k, j]
D[i, j] = max(C[i, j] + bias[j], 0)         stored from the tile in place of C, which need not be allocated
"""

from __future__ import annotations

from collections.abc import Callable, Container, Sequence
from itertools import pairwise

from msgspec.structs import replace

from ...ir import make, tir
from ...ir.base import Node
from ...ir.visit import rewrite, substitute, walk
from .build import Index, constant, load, store
from .contraction import Contraction, Offsets, Operand, is_next
from .nest import Axis, Declined, Nest
from .strides import ZERO, linear_steps

Epilogue = Callable[[Index, Index, tir.BufferLoad], list[tir.Stmt]]
"""Returns the stores of the result, given a row, a column and the load of the product's element."""


def with_epilogue(nest: Nest, following: Nest, owned: Container[tir.Buffer]) -> Nest | None:
    """Return `nest` with `following` as part of its epilogue; None if that is not element-wise, once per
    element.

    `owned` are the buffers that only the two nests access.
    """
    result, reads = (nest.store, *nest.after)[-1], list(following.loads())
    buffer = result.buffer
    places = {read.indices for read in reads if read.buffer is buffer}
    if nest.init is None or following.reduced or buffer not in owned or len(places) != 1:
        return None
    before = [node for update in (nest.store, *nest.after) for node in walk(update) if isinstance(node, tir.BufferLoad)]
    touched = {access.buffer.data for access in (nest.store, *nest.after, *before)}
    others = {read.buffer.data for read in reads if read.buffer is not buffer}
    if following.store.buffer.data in touched | others:
        return None
    (indices,) = places
    values: dict[tir.Var, tir.PrimExpr] = {}
    for theirs, ours in zip(indices, result.indices, strict=True):
        if isinstance(theirs, tir.Var) and theirs not in values:
            values[theirs] = ours
        elif not (constant(theirs) == 0 and _is_unit(ours, nest)):
            return None
    if {axis.var for axis in following.axes if axis.size != 1} - set(values):
        return None
    values.update({axis.var: tir.IntImm(axis.var.dtype, 0) for axis in following.axes if axis.var not in values})
    if any(var.dtype != value.dtype for var, value in values.items()):
        return None
    after = (*nest.after, substitute(following.store, values))
    return replace(nest, name=f"{nest.name}, {following.name}", after=after)


def _is_unit(index: tir.PrimExpr, nest: Nest) -> bool:
    return constant(index) == 0 or any(axis.var is index and axis.size == 1 for axis in nest.axes)


def epilogue_of(read: Contraction, rows: Sequence[Axis], columns: Sequence[Axis], offsets: Offsets) -> Epilogue | None:
    """Return the epilogue of a contraction, or None if there is none; Declined if an operand of it is not a
    matrix of these axes.
    """
    after = read.nest.after
    if not after:
        return None
    inner = [update.buffer for update in (read.nest.store, *after[:-1])]
    target = _matrix(after[-1], read, rows, columns, offsets)
    loads = [node for update in after for node in walk(update.value) if isinstance(node, tir.BufferLoad)]
    views = {item: _matrix(item, read, rows, columns, offsets) for item in loads if item.buffer not in inner}

    def values(row: Index, column: Index, kept: tir.PrimExpr) -> list[tir.PrimExpr]:
        def element(node: Node) -> Node | None:
            if not isinstance(node, tir.BufferLoad):
                return None
            return load(views[node], row, column) if node in views else kept

        return [rewrite(update.value, element) for update in after]

    def finish(row: Index, column: Index, kept: tir.BufferLoad) -> list[tir.Stmt]:
        *steps, last = values(row, column, kept)
        return [*[store(kept.buffer, step, *kept.indices) for step in steps], store(target, last, row, column)]

    if any(value.dtype != read.c.buffer.dtype for value in (update.value for update in after[:-1])):
        raise Declined("the dtype of the epilogue differs from the dtype of the product")
    places, zero = {axis.var for axis in read.nest.axes}, make.const(0, read.c.buffer.dtype)
    if any(node in places for value in values(0, 0, zero) for node in walk(value)):
        raise Declined("the epilogue computes with axes outside of indices")
    return finish


def _matrix(
    access: tir.BufferLoad | tir.BufferStore, read: Contraction, rows: Sequence[Axis], columns: Sequence[Axis],
    offsets: Offsets,
) -> tir.Buffer:  # fmt: skip
    operand = Operand(access.buffer, *linear_steps(access, read.nest.axes))
    for axes in (rows, columns):
        for outer, inner in pairwise(axes):
            outer_step, inner_step = (operand.steps.get(axis.var, ZERO) for axis in (outer, inner))
            if not is_next(outer_step, inner_step, inner):
                raise Declined(f"'{access.buffer.name}', an operand of the epilogue, is not a matrix")
    return operand.matrix(rows, columns, offsets)
