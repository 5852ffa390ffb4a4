"""Convolutions: contractions with a factor whose axes cannot be fused, computed as matrix products of
gathered chunks (im2col).

    for chunk of the rows of the image:                      O[f, y, x] += W[f, c, ky, kx] * I[c, y + ky, x + kx]
        near[(c, ky, kx), (y, x)] = I[c, y + ky, x + kx]     the input of the chunk, as a matrix in the L2 cache
        O[:, chunk] = W @ near

A chunk has whole rows. If their length is unknown, it has a fixed number of columns instead, and starts and ends anywhere in a row.
The strides of the axes express stride, dilation, groups, layout and the number of dimensions.
(Chellapilla et al., "High Performance Convolutional Neural Networks for Document Processing", 2006,
gather the whole image at once.)
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial

from ...ir import make, tir
from ...ir.dtype import parse_dtype
from ..lower.rewriter import sequence
from ..lower.vectors import widen
from ..machine import Machine
from .build import (
    Body,
    Index,
    allocated,
    ceil_divide,
    constant,
    floor_divide,
    index,
    is_multiple,
    least,
    load,
    loop,
    minus,
    most,
    new_buffer,
    parallel,
    plus,
    store,
    times,
    vector_loop,
    view,
)  # fmt: skip
from .contraction import Contraction, Offsets, extent_of, is_enough, joined, loops_around, read_contraction
from .epilogue import epilogue_of
from .gemm import Product, emit_product
from .matmul import known_size
from .nest import Axis, Declined, Nest
from .tiles import choose_chunk, choose_columns

Places = Mapping[int, Index]
Distribute = Callable[[str, Index, Body], tir.Stmt]


def schedule_convolution(nest: Nest, machine: Machine) -> tir.Stmt:
    """Return the convolution as matrix products of gathered chunks; Declined if `nest` is not a convolution."""
    read = read_contraction(nest, takes_bytes=machine.has_byte_dots)
    if not read.rows:
        raise Declined("every weight is used for one result only")
    columns, more_columns = joined(read.columns, (read.c,))
    rows, more_rows = joined(read.rows, (read.c,))
    depth, more_depth = joined(read.depth, (read.a,))
    far = read.b
    if more_depth or joined(rows, (read.c, read.a))[1]:
        depth, more_depth = joined(read.depth, (read.b,))
        far = read.a
    if more_depth or (far is read.a and joined(columns, (read.c, read.b))[1]):
        raise Declined("neither factor is a matrix")
    if any(axis.size is None for axis in depth):
        raise Declined("the size of the window or the number of channels is symbolic")
    outer = [*read.batch, *more_rows, *more_columns]
    return _Emitter(read, rows, columns, depth, far is read.a, machine).run(outer)


class _Emitter:
    """Emits the product: the factor `far`, whose axes are not adjacent in memory, is gathered in chunks; the other is a matrix."""

    def __init__(
        self, read: Contraction, rows: list[Axis], columns: list[Axis], depth: list[Axis], is_left: bool,
        machine: Machine,
    ) -> None:  # fmt: skip
        self.read, self.machine, self.is_left = read, machine, is_left
        self.rows, self.columns, self.depth = rows, columns, depth
        self.far, self.sides = (read.a, rows) if is_left else (read.b, columns)
        self.element_bytes, result_bytes = (parse_dtype(at.buffer.dtype).bytes for at in (self.far, read.c))
        self.k, self.size = known_size(depth), extent_of(self.sides)
        self.lanes = machine.vector_bytes // self.element_bytes
        unit = machine.registers // 3 if is_left else machine.vector_bytes // result_bytes
        self.result_bytes = result_bytes
        long, inner, column_bytes = known_size(self.sides[:1]), known_size(self.sides[1:]), self.k * self.element_bytes
        is_known = bool(long and inner)
        self.are_rows_whole = is_known and len(self.sides) > 1
        """Whether chunks have whole rows of the innermost axis; otherwise, they start and end anywhere."""
        chunk = choose_chunk(long, inner, column_bytes, unit, machine) * inner if is_known else 0
        self.chunk = chunk or choose_columns(column_bytes, machine)
        self.width = -(-self.chunk // unit) * unit + (machine.registers // 2 if is_left else 0)
        """Number of rows or columns of the gathered matrix, including padding that a tile reads beyond the last one."""

    def run(self, outer: Sequence[Axis]) -> tir.Stmt:
        """Return the loops over the images and their chunks."""
        is_large, chunks = self.read.is_large, ceil_divide(self.size, self.chunk)
        by_image = is_large and is_enough(outer, self.machine)
        number = constant(chunks)
        by_chunk = is_large and not by_image and (number is None or number >= self.machine.threads)
        is_whole = not by_image and not by_chunk and is_large

        def image(offsets: Offsets) -> tir.Stmt:
            def chunk(number: tir.Var) -> tir.Stmt:
                first = times(number, self.chunk)
                is_even = is_multiple(self.size, self.chunk)
                length = index(self.chunk) if is_even else least(self.chunk, minus(self.size, first))
                return self._chunk(offsets, first, length, is_whole)

            return (parallel if by_chunk else loop)("chunk", chunks, chunk)

        return loops_around(outer, by_image, image)

    def _chunk(self, offsets: Offsets, first: tir.PrimExpr, size: tir.PrimExpr, is_parallel: bool) -> tir.Stmt:
        """Gather a chunk and multiply it: `size` elements of the fused axes `sides`, from element `first` on."""
        near = new_buffer("near", self.far.buffer.dtype, (self.width, self.k) if self.is_left else (self.k, self.width))
        gather = self._gather(near, offsets, first, size, is_parallel)
        offsets, k = {**offsets, self.sides[-1].var: first}, index(self.k)
        c = self.read.c.matrix(self.rows, self.columns, offsets)
        finish = epilogue_of(self.read, self.rows, self.columns, offsets)
        gathered = view(near, near.shape, (near.shape[1], 1), 0)
        if self.is_left:
            b = self.read.b.matrix(self.depth, self.columns, offsets)
            product = Product(size, extent_of(self.columns), k, gathered, b, c, "a", finish=finish)
        else:
            a = self.read.a.matrix(self.rows, self.depth, offsets)
            product = Product(extent_of(self.rows), size, k, a, gathered, c, "b", finish=finish)
        multiply = emit_product(product, self.machine, self.result_bytes, is_parallel)
        return allocated([near], [gather, self._clear(near, size), multiply])

    def _gather(
        self, near: tir.Buffer, offsets: Offsets, first: tir.PrimExpr, size: tir.PrimExpr, is_parallel: bool
    ) -> tir.Stmt:
        """Copy the input of a chunk to `near`, row by row of the innermost axis of `sides`."""
        last, axes = self.sides[-1].var, [axis.var for axis in (self.sides[-1], *self.depth)]
        row = constant(near.shape[1]) or 0
        along, across = (row, 1) if self.is_left else (1, row)
        strides = [along, *[known_size(self.depth[i + 1 :]) * across for i in range(len(self.depth))]]
        distribute: Distribute = parallel if is_parallel else loop

        def around(
            rest: Sequence[int], places: Places, kind: Distribute, body: Callable[[Places], tir.Stmt]
        ) -> tir.Stmt:
            """Return loops over the axes of the window `rest` around `body`."""
            if not rest:
                return body(places)
            name, extent = axes[rest[0]].name, self.depth[rest[0] - 1].extent
            return kind(name, extent, lambda var: around(rest[1:], {**places, rest[0]: var}, loop, body))

        def line(places: Places, start: Offsets, place: Index, count: Index) -> tir.Stmt:
            """Copy `count` elements of the innermost axis from `start` on to `place`, at the given places of the window."""
            extents = [count, *[axis.extent for axis in self.depth]]
            source = view(
                self.far.buffer, extents, [self.far.steps[var] for var in axes], self.far.at({**offsets, **start})
            )
            target = view(near, extents, strides, times(place, along))

            def vector(places: Places, inner: int) -> tir.Stmt:
                def copy(begin: tir.PrimExpr, lane: tir.PrimExpr) -> tir.Stmt:
                    indices = [plus(begin, lane) if i == inner else places[i] for i in range(len(extents))]
                    return store(target, load(source, *indices), *indices)

                return vector_loop(axes[inner].name, extents[inner], self.lanes, copy)

            rest = [i for i in range(1, len(extents)) if i not in places]
            if not self.is_left:
                return around(rest, places, loop, lambda places: vector(places, 0))
            inner = rest.pop()
            return loop(
                last.name, count, lambda var: around(rest, {0: var}, loop, lambda places: vector(places, inner))
            )

        def lines(places: Places, kind: Distribute) -> tir.Stmt:
            return self._segments(first, size, partial(line, places), kind)

        if self.are_rows_whole and not self.is_left:  # all rows are equal, and `near` is written in order
            return around(range(1, len(axes)), {}, distribute, lambda places: lines(places, loop))
        return lines({}, distribute)

    def _segments(
        self, first: tir.PrimExpr, size: tir.PrimExpr, body: Callable[[Offsets, Index, Index], tir.Stmt],
        distribute: Distribute,
    ) -> tir.Stmt:  # fmt: skip
        """Return a loop over the rows of the innermost axis of `sides` in a chunk around `body`, which gets the indices of
        the first element of the row that is in the chunk, its position in the chunk, and the number of elements.
        """
        *long, last = self.sides
        extent = widen(last.extent) if last.size is not None else most(1, widen(last.extent))
        """Not zero: divisions may be hoisted out of the loop over chunks, of which an empty axis has none."""
        top = floor_divide(first, extent)

        def whole(number: tir.Var) -> tir.Stmt:
            return body(self._indices(long, plus(top, number)), times(number, extent), extent)

        def part(number: tir.Var) -> tir.Stmt:
            line = plus(top, number)
            start = times(line, extent)
            begin, end = most(start, first), least(plus(start, extent), plus(first, size))
            indices = {**self._indices(long, line), last.var: minus(begin, start)}
            return body(indices, minus(begin, first), minus(end, begin))

        if self.are_rows_whole:
            return distribute("row", floor_divide(size, extent), whole)
        count = plus(minus(floor_divide(minus(plus(first, size), 1), extent), top), 1)
        return distribute("row", count, part)

    @staticmethod
    def _indices(axes: Sequence[Axis], place: tir.PrimExpr) -> Offsets:
        """Return the index on each of `axes`, outermost first, of element `place` of all of them fused."""
        found: dict[tir.Var, Index] = {}
        for axis in reversed(axes[1:]):
            extent = most(1, widen(axis.extent))
            found[axis.var] = make.floormod(place, extent)
            place = floor_divide(place, extent)
        return found | ({axes[0].var: place} if axes else {})

    def _clear(self, near: tir.Buffer, size: tir.PrimExpr) -> tir.Stmt:
        """Fill the padding with zeros: arbitrary bits may be subnormal numbers, whose products are slow."""
        zero, rest = make.const(0, near.dtype), minus(self.width, size)
        if constant(rest) == 0 or self.element_bytes < self.result_bytes:
            return sequence(())

        def row(place: Callable[[tir.PrimExpr], tuple[Index, Index]], extent: Index) -> tir.Stmt:
            return vector_loop("v", extent, self.lanes, lambda start, v: store(near, zero, *place(plus(start, v))))

        if self.is_left:
            return loop("r", rest, lambda r: row(lambda k: (plus(size, r), k), self.k))
        return loop("k", self.k, lambda k: row(lambda column: (k, plus(size, column)), rest))
