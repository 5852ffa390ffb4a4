"""Convolutions: contractions with a factor whose axes cannot be fused, computed as matrix products of
gathered chunks (im2col).

    for chunk of the rows of the image:                      O[f, y, x] += W[f, c, ky, kx] * I[c, y + ky, x + kx]
        near[(c, ky, kx), (y, x)] = I[c, y + ky, x + kx]     the input of the chunk, as a matrix in the L2 cache
        O[:, chunk] = W @ near

The strides of the axes express stride, dilation, groups, layout and the number of dimensions.
(Chellapilla et al., "High Performance Convolutional Neural Networks for Document Processing", 2006,
gather the whole image at once.)
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from ...ir import tir
from ...ir.dtype import parse_dtype
from ..lower.rewriter import sequence
from ..machine import Machine
from .build import (
    Index,
    allocated,
    constant,
    index,
    is_multiple,
    least,
    load,
    loop,
    minus,
    new_buffer,
    parallel,
    plus,
    store,
    times,
    vector_loop,
    view,
)  # fmt: skip
from .contraction import Contraction, Offsets, extent_of, joined, read_contraction
from .epilogue import epilogue_of
from .gemm import Product, emit_product
from .matmul import is_enough, known_size, loops_around
from .nest import Axis, Declined, Nest
from .tiles import choose_chunk


def schedule_convolution(nest: Nest, machine: Machine) -> tir.Stmt:
    """Return the convolution as matrix products of gathered chunks; Declined if `nest` is not a convolution."""
    read = read_contraction(nest)
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
    if any(axis.size is None for axis in (*rows, *columns, *depth)):
        raise Declined("the size of the image or of the window is symbolic")
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
        self.element_bytes = parse_dtype(self.far.buffer.dtype).bytes
        self.k, self.long, self.inner = known_size(depth), known_size(self.sides[:1]), known_size(self.sides[1:])
        self.lanes = machine.vector_bytes // self.element_bytes
        unit = machine.registers // 3 if is_left else self.lanes
        self.chunk = choose_chunk(self.long, self.inner, self.k * self.element_bytes, unit, machine)
        self.width = -(-self.chunk * self.inner // unit) * unit + (machine.registers // 2 if is_left else 0)
        """Number of rows or columns of the gathered matrix, including padding that a tile reads beyond the last one."""

    def run(self, outer: Sequence[Axis]) -> tir.Stmt:
        """Return the loops over the images and their chunks."""
        is_large, chunks = self.read.is_large, -(-self.long // self.chunk)
        by_image = is_large and is_enough(outer, self.machine)
        by_chunk = is_large and not by_image and chunks >= self.machine.threads
        is_whole = not by_image and not by_chunk and is_large

        def image(offsets: Offsets) -> tir.Stmt:
            def chunk(number: tir.Var) -> tir.Stmt:
                first = times(number, self.chunk)
                is_even = is_multiple(self.long, self.chunk)
                length = index(self.chunk) if is_even else least(self.chunk, minus(self.long, first))
                return self._chunk({**offsets, self.sides[0].var: first}, length, is_whole)

            return (parallel if by_chunk else loop)("chunk", chunks, chunk)

        return loops_around(outer, by_image, image)

    def _chunk(self, offsets: Offsets, length: tir.PrimExpr, is_parallel: bool) -> tir.Stmt:
        """Gather a chunk and multiply it; the chunk has `length` iterations of the outermost axis of `sides`."""
        shape = (self.width, self.k) if self.is_left else (self.k, self.width)
        near = new_buffer("near", self.far.buffer.dtype, shape)
        size, k = times(length, self.inner), index(self.k)
        a, b = self.read.a.matrix(self.rows, self.depth, offsets), self.read.b.matrix(self.depth, self.columns, offsets)
        c = self.read.c.matrix(self.rows, self.columns, offsets)
        finish = epilogue_of(self.read, self.rows, self.columns, offsets)
        m, n, gathered = extent_of(self.rows), extent_of(self.columns), view(near, near.shape, (near.shape[1], 1), 0)
        product = (
            Product(size, n, k, gathered, b, c, "a", finish)
            if self.is_left
            else Product(m, size, k, a, gathered, c, "b", finish)
        )
        gather = self._gather(near, offsets, length, is_parallel)
        return allocated(
            [near],
            [gather, self._clear(near, size), emit_product(product, self.machine, self.element_bytes, is_parallel)],
        )

    def _gather(self, near: tir.Buffer, offsets: Offsets, length: tir.PrimExpr, is_parallel: bool) -> tir.Stmt:
        """Copy the input of a chunk, in the order of its elements in `near`."""
        first, second = (self.sides, self.depth) if self.is_left else (self.depth, self.sides)
        axes = [*first, *second]
        extents = [length if axis is self.sides[0] else axis.extent for axis in axes]
        row = constant(near.shape[1]) or 0
        steps = [known_size(first[i + 1 :]) * row for i in range(len(first))]
        steps += [known_size(second[i + 1 :]) for i in range(len(second))]
        source = view(self.far.buffer, extents, [self.far.steps[axis.var] for axis in axes], self.far.at(offsets))
        target = view(near, extents, steps, 0)

        def around(position: int, places: tuple[Index, ...]) -> tir.Stmt:
            name, extent = axes[position].var.name, extents[position]
            if position == len(axes) - 1:
                return vector_loop(name, extent, self.lanes, lambda start, v: copy((*places, plus(start, v))))
            distribute = parallel if is_parallel and position == 0 else loop
            return distribute(name, extent, lambda var: around(position + 1, (*places, var)))

        def copy(places: tuple[Index, ...]) -> tir.Stmt:
            return store(target, load(source, *places), *places)

        return around(0, ())

    def _clear(self, near: tir.Buffer, size: tir.PrimExpr) -> tir.Stmt:
        """Fill the padding with zeros: arbitrary bits may be subnormal numbers, whose products are slow."""
        zero, rest = tir.FloatImm(near.dtype, 0.0), minus(self.width, size)
        if constant(rest) == 0:
            return sequence(())

        def row(place: Callable[[tir.PrimExpr], tuple[Index, Index]], extent: Index) -> tir.Stmt:
            return vector_loop("v", extent, self.lanes, lambda start, v: store(near, zero, *place(plus(start, v))))

        if self.is_left:
            return loop("r", rest, lambda r: row(lambda k: (plus(size, r), k), self.k))
        return loop("k", self.k, lambda k: row(lambda column: (k, plus(size, column)), rest))
