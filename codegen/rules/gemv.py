"""Matrix-vector products with contiguous matrix rows: several rows at once, each summed in vectors.

    lead = …                                 elements before the first cache line boundary
    for t in T.parallel(n // 4):             y[j] = sum over k of a[j, k] * x[k]
        sums[4, 2 * lanes] = 0               each part of x is read once for four rows,
        for s in range((k - lead) // (2 * lanes)):    which are four streams from memory
            sums[r, …] += a[4 * t + r, …] * x[…]
        y[4 * t + r] = the sum of sums[r, :]

The product is bound by memory bandwidth: the next rows are prefetched while the current ones are summed,
and aligned vectors load twice as fast. The order of a sum does not depend on the number of threads or the
alignment of the matrix: every 32nd product is added to one partial sum, and the partial sums are combined
by halves.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from msgspec import Struct

from ...ir import make, tir
from ...ir.dtype import parse_dtype
from ...ir.schedule.arguments import Block, Flag, Integer, Text
from ...ir.schedule.declaration import Knob, composite
from ...ir.schedule.program import Program
from ..lower.rewriter import sequence
from ..machine import Machine
from .build import (
    Index,
    Statements,
    address,
    allocated,
    below,
    constant,
    divide,
    index,
    lanes,
    least,
    load,
    loop,
    minus,
    multiply_add,
    new_buffer,
    parallel,
    plus,
    prefetch,
    splat,
    store,
    times,
    unrolled,
    when,
)
from .contraction import Contraction, Offsets, Operand, extent_of, joined, loops_around, read_contraction
from .nest import Axis, Declined, Nest
from .site import APPLIES, Site

ROWS, PARTS = 4, 2
"""Rows at once, and vectors per row: enough partial sums to hide the latency of an addition."""


class Streams(Struct, frozen=True):
    """How rows are summed: `rows` at once, each in `vectors` partial sums of `lanes` elements."""

    rows: int
    vectors: int
    lanes: int
    is_fused: bool


class _MatrixVector(Struct, frozen=True, eq=False):
    """Contraction as matrix-vector products: the fused axes of rows and depth, and those of the loops around."""

    read: Contraction
    n: list[Axis]
    k: list[Axis]
    outer: list[Axis]


def _read(nest: Nest) -> _MatrixVector:
    read = read_contraction(nest)
    if read.rows:
        raise Declined("it is a product of two matrices")
    n, more_columns = joined(read.columns, (read.c, read.b))
    k, more_depth = joined(read.depth, (read.a, read.b))
    if more_depth or constant(read.b.step(k)) != 1 or constant(read.a.step(k)) != 1:
        raise Declined("the rows of the matrix or the vector are not contiguous")
    return _MatrixVector(read, n, k, [*read.batch, *more_columns])


def choose_gemv(nest: Nest, machine: Machine) -> dict[str, Any]:
    """Return the knobs of `gemv_rows` for a matrix-vector product; Declined if `nest` is not one."""
    found = _read(nest)
    lanes = machine.vector_bytes // parse_dtype(found.read.c.buffer.dtype).bytes
    parallel = found.read.parallel(found.outer, machine, "rows")
    return {"lanes": lanes, "rows": ROWS, "vectors": PARTS, "fma": machine.has_fma, "parallel": parallel}


@composite(
    requires=(APPLIES,),
    knobs={
        "lanes": Knob("the number of elements of a vector", 2, 64, is_power=True),
        "rows": Knob("the number of rows that are summed at once: streams from memory", 1, 16),
        "vectors": Knob("the number of vectors of partial sums of a row", 1, 8, is_power=True),
        "parallel": Knob("what threads share", choices=("batch", "rows")),
    },
)
def gemv_rows(
    program: Program,
    block: Block,
    *,
    lanes: Integer,
    rows: Integer = 4,
    vectors: Integer = 2,
    fma: Flag = True,
    parallel: Text | None = None,
) -> None:
    """Compute a matrix-vector product, or a batch of them, several rows at once: each row is summed in vectors.

    `y[j] += a[j, k] * x[k]` becomes `for tile: sums[r, v] += a[tile * rows + r, k + v] * x[k + v]`, then sums of sums. The rows
    of the matrix are contiguous.

    Preserves: the result but for the order of summation, which depends on `lanes` and `vectors` alone.
    """
    site = Site(program, [block])
    (nest,), streams = site.nests(), Streams(rows, vectors, lanes, fma)

    def kernel() -> tir.Stmt:
        found = _read(nest)
        read, is_rows = found.read, parallel == "rows"
        return loops_around(
            found.outer, parallel == "batch",
            lambda offsets: emit_rows(read.b, read.a, read.c, found.n, found.k, offsets, streams, is_rows),
        )  # fmt: skip

    site.replace(site.build(kernel))


def emit_rows(
    matrix: Operand,
    x: Operand,
    y: Operand,
    n: Sequence[Axis],
    k: Sequence[Axis],
    offsets: Offsets,
    streams: Streams,
    is_parallel: bool,
) -> tir.Stmt:
    """Return the product of `matrix`, whose rows are along `k` and contiguous, and the vector `x`."""
    views = matrix.matrix(n, k, offsets), x.matrix((), k, offsets), y.matrix((), n, offsets)
    step = constant(matrix.step(n))
    if step is None or step % streams.lanes:
        return _Emitter(*views, extent_of(k), 0, streams).run(extent_of(n), is_parallel)
    lead = tir.Var("int64", "lead")
    rows = _Emitter(*views, extent_of(k), lead, streams).run(extent_of(n), is_parallel)
    line = streams.lanes * parse_dtype(y.buffer.dtype).bytes
    return tir.LetStmt(lead, least(_until_line(views[0], line), extent_of(k)), rows)


def _until_line(buffer: tir.Buffer, line: int) -> tir.PrimExpr:
    """Return the number of elements before the first address that is a multiple of `line` bytes."""
    place = make.reinterpret("int64", address(buffer, 0, 0))
    return divide(make.floormod(minus(0, place), line), parse_dtype(buffer.dtype).bytes)


class _Emitter:
    """Emits the product of matrix `a` and vector `x`; vectors are matrices of one row.

    The first `lead` elements of the rows, fewer than `width`, are the last lanes of a partial vector.
    """

    def __init__(self, a: tir.Buffer, x: tir.Buffer, y: tir.Buffer, k: Index, lead: Index, streams: Streams) -> None:
        self.a, self.x, self.y, self.k, self.lead, self.streams = a, x, y, k, lead, streams
        self.width = streams.lanes

    def run(self, n: Index, is_parallel: bool) -> tir.Stmt:
        """Return the loops over all rows."""
        rows = self.streams.rows
        whole, distribute = divide(n, rows), parallel if is_parallel else loop
        done = times(whole, rows)
        return sequence(
            [
                distribute("tile", whole, lambda tile: self._rows(times(tile, rows), rows)),
                loop("row", minus(n, done), lambda row: self._rows(plus(done, row), 1)),
            ]
        )

    def _rows(self, first: Index, count: int) -> tir.Stmt:
        width, block = self.width, self.streams.vectors * self.width
        sums = new_buffer("sums", self.y.dtype, (count, block), "local")

        def for_each(body: Callable[[tir.Var], Statements]) -> tir.Stmt:
            return unrolled("r", count, body)

        def add(place: Index, k: Index, where: tir.PrimExpr | None = None) -> tir.Stmt:
            """Add the products of a vector from `k` to the partial sums from `place`, for all rows."""

            def of_row(r: tir.Var) -> tir.Stmt:
                at, into = lanes(k, width), lanes(place, width)
                factors = load(self.x, 0, at, where=where), load(self.a, plus(first, r), at, where=where)
                return store(sums, multiply_add(*factors, load(sums, r, into), self.streams.is_fused), r, into)

            return for_each(of_row)

        def step(number: tir.Var) -> tir.Stmt:
            def part(p: tir.Var) -> tir.Stmt:
                start = times(p, width)
                k = plus(plus(self.lead, times(number, block)), start)
                return sequence(
                    [for_each(lambda r: prefetch(self.a, plus(first, plus(r, self.streams.rows)), k)), add(start, k)]
                )

            return unrolled("p", self.streams.vectors, part)

        def after(start: int) -> tir.Stmt:
            rest = minus(self.k, plus(done, start))
            return when(below(0, rest), add(start, plus(done, start), below(lane, splat(rest, width))))

        def halve(half: int) -> tir.Stmt:
            def fold(r: tir.Var) -> tir.Stmt:
                lower = lanes(0, half)
                return store(sums, make.add(load(sums, r, lower), load(sums, r, lanes(half, half))), r, lower)

            return for_each(fold)

        steps = divide(minus(self.k, self.lead), block)
        done = plus(self.lead, times(steps, block))
        lane = lanes(index(0), width)
        before = below(splat(minus(width - 1, self.lead), width), lane)
        return allocated(
            [sums],
            [
                for_each(lambda r: store(sums, make.const(0, self.y.dtype), r, lanes(0, block))),
                when(below(0, self.lead), add(block - width, minus(self.lead, width), before)),
                loop("step", steps, step),
                *(after(start) for start in range(0, block, width)),
                *(halve(block >> power) for power in range(1, block.bit_length())),
                for_each(lambda r: store(self.y, load(sums, r, 0), 0, plus(first, r))),
            ],
        )
