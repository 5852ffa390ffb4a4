"""Transposing copies: square by square, each transposed in registers."""

from __future__ import annotations

from collections.abc import Mapping
from math import prod
from typing import Any

from msgspec import Struct

from ...ir import tir
from ...ir.dtype import parse_dtype
from ...ir.schedule.arguments import Block, Flag, Integer
from ...ir.schedule.declaration import Knob, composite
from ...ir.schedule.program import Program
from ...ir.visit import substitute
from ..lower.rewriter import sequence
from ..machine import Machine
from .build import (
    Index,
    Statements,
    constant,
    divide,
    index,
    lanes,
    load,
    loop,
    minus,
    parallel,
    plus,
    store,
    times,
)
from .nest import Axis, Declined, Nest
from .site import APPLIES, Site
from .strides import plain_steps
from .transposition import transposed

MOST_LANES = 16
"""Maximum number of lanes of a square that fits in the registers."""
PARALLEL_ELEMENTS = 1 << 16


class _Transpose(Struct, frozen=True, eq=False):
    """Copy whose source is contiguous along `down`, and whose target is contiguous along `across`."""

    nest: Nest
    source: tir.BufferLoad
    down: Axis
    across: Axis


def _read(nest: Nest) -> _Transpose:
    source = nest.store.value
    if not isinstance(source, tir.BufferLoad) or nest.init is not None or nest.reduced:
        raise Declined("it is not a copy")
    written, read = plain_steps(nest.store, nest.axes), plain_steps(source, nest.axes)
    down = next((axis for axis in nest.axes if constant(read.get(axis.var, 0)) == 1), None)
    across = next((axis for axis in nest.axes if constant(written.get(axis.var, 0)) == 1), None)
    if down is None or across is None or down is across:
        raise Declined("source and target are contiguous along the same axis")
    return _Transpose(nest, source, down, across)


def choose_transpose(nest: Nest, machine: Machine) -> dict[str, Any]:
    """Return the knobs of `transpose_squares`; Declined if `nest` is not a copy, or keeps the contiguous axis."""
    source = nest.store.value
    if not isinstance(source, tir.BufferLoad) or nest.init is not None or nest.reduced:
        raise Declined("it is not a copy")
    count = machine.vector_bytes // parse_dtype(source.dtype).bytes
    if not 4 <= count <= MOST_LANES:
        raise Declined(f"squares of '{source.dtype}' do not fit in the registers")
    found = _read(nest)
    if any(axis.size is not None and axis.size < count for axis in (found.down, found.across)):
        raise Declined("an axis is shorter than a vector")
    size = prod(PARALLEL_ELEMENTS if axis.size is None else axis.size for axis in nest.axes)
    return {"lanes": count, "parallel": size >= PARALLEL_ELEMENTS}


@composite(
    requires=(APPLIES,),
    knobs={
        "lanes": Knob("the number of elements of a vector: squares of lanes × lanes elements", 2, 64, is_power=True)
    },
)
def transpose_squares(program: Program, block: Block, *, lanes: Integer, parallel: Flag = False) -> None:
    """Copy transposed square by square, each in registers by shuffles of vectors.

    `b[j, i] = a[i, j]` becomes, for every square: load `lanes` vectors, exchange halves, quarters and so on, store `lanes`
    vectors. Rows and columns that do not fill a square are copied element by element.

    Preserves: the result, bit for bit.
    """
    site = Site(program, [block])
    (nest,) = site.nests()
    site.replace(site.build(lambda: _Squares(_read(nest), lanes).run(parallel)))


class _Squares:
    """Emits the copy; the source is contiguous along `down`, the target along `across`."""

    def __init__(self, found: _Transpose, count: int) -> None:
        self.nest, self.source, self.count = found.nest, found.source, count
        self.down, self.across = found.down, found.across

    def run(self, is_parallel: bool) -> tir.Stmt:
        """Loop over the other axes, then over squares; copy the remaining elements one by one."""
        count, down, across = self.count, self.down, self.across
        rows, columns = divide(down.extent, count), divide(across.extent, count)
        others = [axis for axis in self.nest.axes if axis not in (down, across)]
        distribute = parallel if is_parallel and not others else loop

        def strip(row: tir.Var) -> Statements:
            first = times(row, count)
            squares = loop("column", columns, lambda column: self._square(first, times(column, count)))
            done = times(columns, count)
            return [squares, self._copy(first, count, done, minus(across.extent, done))]

        done = times(rows, count)
        last = self._copy(done, minus(down.extent, done), 0, across.extent)
        statement = sequence([distribute("row", rows, strip), last])
        for position, axis in reversed(list(enumerate(others))):
            kind = tir.ForKind.PARALLEL if is_parallel and position == 0 else tir.ForKind.SERIAL
            statement = tir.For(axis.var, tir.IntImm(axis.var.dtype, 0), axis.extent, kind, statement)
        return statement

    def _square(self, first: Index, left: Index) -> tir.Stmt:
        count = self.count

        def at(access: tir.BufferLoad | tir.BufferStore, places: Mapping[tir.Var, tir.PrimExpr]) -> list[Index]:
            return [substitute(expr, places) for expr in access.indices]

        def read(i: Index) -> tir.PrimExpr:
            places = {self.across.var: plus(left, i), self.down.var: lanes(first, count)}
            return load(self.source.buffer, *at(self.source, places))

        def write(i: Index, value: tir.PrimExpr) -> tir.Stmt:
            places = {self.across.var: lanes(left, count), self.down.var: plus(first, i)}
            return store(self.nest.store.buffer, value, *at(self.nest.store, places))

        return transposed(count, self.source.dtype, read, write)

    def _copy(self, first: Index, rows: Index, left: Index, columns: Index) -> tir.Stmt:
        """Copy a rectangle element by element."""
        if constant(rows) == 0 or constant(columns) == 0:
            return sequence(())

        def element(i: tir.Var, j: tir.Var) -> tir.Stmt:
            return substitute(self.nest.store, {self.down.var: plus(first, i), self.across.var: plus(left, j)})

        dtype = self.down.var.dtype
        return loop("i", index(rows, dtype), lambda i: loop("j", index(columns, dtype), lambda j: element(i, j)))
