"""Transposing copies: square by square through shared memory, so that reads and writes are coalesced.

A square is `SIDE` × `SIDE` elements; its rows in shared memory are padded by one element, so that the
elements of a column are in different banks.
"""

from __future__ import annotations

from typing import Any

from ....ir import make, tir
from ....ir.schedule.arguments import Block, Integer
from ....ir.schedule.declaration import Knob, composite
from ....ir.schedule.program import Program
from ....ir.visit import substitute
from ...lower.rewriter import sequence
from ...rules.build import (
    allocated,
    below,
    ceil_divide,
    constant,
    is_multiple,
    load,
    new_buffer,
    plus,
    store,
    times,
    when,
)
from ...rules.contraction import extent_of
from ...rules.nest import Axis, Declined, Nest
from ...rules.site import APPLIES, Site
from ...rules.strides import plain_steps
from ..allreduce import barrier
from .grid import X, Y, all_of, blocks, bound, unravel, unrolled

SIDE, ROWS = 32, 8
"""The threads of a block by default: `SIDE` × `ROWS`."""


def _read(nest: Nest) -> tuple[tir.BufferLoad, Axis, Axis]:
    """Return the source of a copy, the axis along which the target is contiguous, and that of the source."""
    source = nest.store.value
    if not isinstance(source, tir.BufferLoad) or nest.init is not None or nest.reduced:
        raise Declined("it is not a copy")
    written, read = plain_steps(nest.store, nest.axes), plain_steps(source, nest.axes)
    down = next((axis for axis in nest.axes if constant(written.get(axis.var, 0)) == 1), None)
    across = next((axis for axis in nest.axes if constant(read.get(axis.var, 0)) == 1), None)
    if down is None or across is None or down is across:
        raise Declined("source and target are contiguous along the same axis")
    return source, down, across


def choose_transpose(nest: Nest) -> dict[str, Any]:
    """Return the knobs of `transpose_shared`; Declined if `nest` is not a copy, or keeps the contiguous axis."""
    _, *axes = _read(nest)
    if any(axis.size is not None and axis.size < SIDE for axis in axes):
        raise Declined(f"an axis has fewer than {SIDE} elements")
    return {"rows": ROWS}


@composite(
    requires=(APPLIES,),
    knobs={"rows": Knob("the number of rows of 32 threads of a block", 1, 32, is_power=True)},
)
def transpose_shared(program: Program, block: Block, *, rows: Integer = 8) -> None:
    """Copy transposed in squares of 32 × 32 elements through shared memory, so that reads and writes are coalesced.

    `b[j, i] = a[i, j]` becomes a kernel whose blocks of 32 × `rows` threads read a square row by row, and write it column by
    column from shared memory without bank conflicts.

    Preserves: the result, bit for bit.
    """
    site = Site(program, [block])
    (nest,) = site.nests()
    site.replace(site.build(lambda: _kernel(nest, *_read(nest), rows)))


def _kernel(nest: Nest, source: tir.BufferLoad, down: Axis, across: Axis, rows: int) -> tir.Stmt:
    """Return the kernel; the source is contiguous along `across`, the target along `down`."""
    bx, by, bz, tx, ty = (tir.Var("int32", name) for name in ("bx", "by", "bz", "tx", "ty"))
    others = [axis for axis in nest.axes if axis is not down and axis is not across]
    outer = unravel(bz, others)
    square = new_buffer("square", source.dtype, [SIDE * (SIDE + 1)], "shared")

    def part(i: tir.Var, is_read: bool) -> tir.Stmt:
        """Return the transfer of row `i * rows + ty` of a square, from the source or to the target."""
        line = plus(times(i, rows), ty)
        fast, slow = (tx, line) if is_read else (line, tx)
        at = {across: plus(times(bx, SIDE), fast), down: plus(times(by, SIDE), slow)}
        values = {**outer, **{axis.var: make.cast(place, axis.var.dtype) for axis, place in at.items()}}
        near = plus(times(slow, SIDE + 1), fast)
        if is_read:
            body = store(square, substitute(source, values), near)
        else:
            write = substitute(nest.store, values)
            assert isinstance(write, tir.BufferStore)
            body = store(write.buffer, load(square, near), *write.indices)
        ends = [below(values[axis.var], axis.extent) for axis in at if not is_multiple(axis.extent, SIDE)]
        condition = all_of(ends)
        return body if condition is None else when(condition, body)

    count = SIDE // rows
    fetch, write = (unrolled("i", count, lambda i, is_read=is_read: part(i, is_read)) for is_read in (True, False))
    body = allocated([square], sequence([fetch, barrier(), write]))
    threads = bound(Y, rows, ty, bound(X, SIDE, tx, body))
    grid = [(ceil_divide(down.extent, SIDE), by), (ceil_divide(across.extent, SIDE), bx)]
    return blocks([(extent_of(others), bz), *grid] if others else grid, threads)
