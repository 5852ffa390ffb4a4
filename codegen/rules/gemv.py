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

from ...ir import make, tir
from ...ir.dtype import parse_dtype
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
from .contraction import Offsets, Operand, extent_of, is_enough, joined, loops_around, read_contraction
from .nest import Axis, Declined, Nest

ROWS, PARTS = 4, 2
"""Rows at once, and vectors per row: enough partial sums to hide the latency of an addition."""


def schedule_gemv(nest: Nest, machine: Machine) -> tir.Stmt:
    """Return the schedule of a matrix-vector product; Declined if `nest` is not one."""
    read = read_contraction(nest)
    if read.rows:
        raise Declined("it is a product of two matrices")
    x, matrix, y = read.a, read.b, read.c
    n, more_columns = joined(read.columns, (y, matrix))
    k, more_depth = joined(read.depth, (x, matrix))
    if more_depth or constant(matrix.step(k)) != 1 or constant(x.step(k)) != 1:
        raise Declined("the rows of the matrix or the vector are not contiguous")
    outer = [*read.batch, *more_columns]
    is_many = read.is_large and is_enough(outer, machine)
    is_parallel = read.is_large and not is_many
    return loops_around(outer, is_many, lambda offsets: emit_rows(matrix, x, y, n, k, offsets, machine, is_parallel))


def emit_rows(
    matrix: Operand,
    x: Operand,
    y: Operand,
    n: Sequence[Axis],
    k: Sequence[Axis],
    offsets: Offsets,
    machine: Machine,
    is_parallel: bool,
) -> tir.Stmt:
    """Return the product of `matrix`, whose rows are along `k` and contiguous, and the vector `x`."""
    width = machine.vector_bytes // parse_dtype(y.buffer.dtype).bytes
    views = matrix.matrix(n, k, offsets), x.matrix((), k, offsets), y.matrix((), n, offsets)
    step = constant(matrix.step(n))
    if step is None or step % width:
        return _Emitter(*views, extent_of(k), 0, width, machine.has_fma).run(extent_of(n), is_parallel)
    lead = tir.Var("int64", "lead")
    rows = _Emitter(*views, extent_of(k), lead, width, machine.has_fma).run(extent_of(n), is_parallel)
    return tir.LetStmt(lead, least(_until_line(views[0], machine.vector_bytes), extent_of(k)), rows)


def _until_line(buffer: tir.Buffer, line: int) -> tir.PrimExpr:
    """Return the number of elements before the first address that is a multiple of `line` bytes."""
    place = make.reinterpret("int64", address(buffer, 0, 0))
    return divide(make.floormod(minus(0, place), line), parse_dtype(buffer.dtype).bytes)


class _Emitter:
    """Emits the product of matrix `a` and vector `x`; vectors are matrices of one row.

    The first `lead` elements of the rows, fewer than `width`, are the last lanes of a partial vector.
    """

    def __init__(
        self, a: tir.Buffer, x: tir.Buffer, y: tir.Buffer, k: Index, lead: Index, width: int, has_fma: bool
    ) -> None:
        self.a, self.x, self.y, self.k, self.lead = a, x, y, k, lead
        self.width, self.has_fma = width, has_fma

    def run(self, n: Index, is_parallel: bool) -> tir.Stmt:
        """Return the loops over all rows."""
        whole, distribute = divide(n, ROWS), parallel if is_parallel else loop
        done = times(whole, ROWS)
        return sequence(
            [
                distribute("tile", whole, lambda tile: self._rows(times(tile, ROWS), ROWS)),
                loop("row", minus(n, done), lambda row: self._rows(plus(done, row), 1)),
            ]
        )

    def _rows(self, first: Index, count: int) -> tir.Stmt:
        width, block = self.width, PARTS * self.width
        sums = new_buffer("sums", self.y.dtype, (count, block), "local")

        def for_each(body: Callable[[tir.Var], Statements]) -> tir.Stmt:
            return unrolled("r", count, body)

        def add(place: Index, k: Index, where: tir.PrimExpr | None = None) -> tir.Stmt:
            """Add the products of a vector from `k` to the partial sums from `place`, for all rows."""

            def of_row(r: tir.Var) -> tir.Stmt:
                at, into = lanes(k, width), lanes(place, width)
                factors = load(self.x, 0, at, where=where), load(self.a, plus(first, r), at, where=where)
                return store(sums, multiply_add(*factors, load(sums, r, into), self.has_fma), r, into)

            return for_each(of_row)

        def step(number: tir.Var) -> tir.Stmt:
            def part(p: tir.Var) -> tir.Stmt:
                start = times(p, width)
                k = plus(plus(self.lead, times(number, block)), start)
                return sequence([for_each(lambda r: prefetch(self.a, plus(first, plus(r, ROWS)), k)), add(start, k)])

            return unrolled("p", PARTS, part)

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
