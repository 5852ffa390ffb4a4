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
from typing import Any

from msgspec import Struct

from ...ir import make, tir
from ...ir.dtype import parse_dtype
from ...ir.schedule.arguments import Block, Flag, Integer, Text
from ...ir.schedule.buffer_arguments import Blocks
from ...ir.schedule.declaration import Knob, composite
from ...ir.schedule.program import Program
from ...ir.visit import walk
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
from .contraction import (
    BYTE_DTYPES,
    SIGNED_BY_UNSIGNED,
    Contraction,
    Offsets,
    Operand,
    extent_of,
    joined,
    loops_around,
    read_contraction,
)
from .epilogue import epilogue_of
from .gemm import Tiling, emit_product
from .matmul import known_size
from .nest import Axis, Declined, Nest
from .packing import Product
from .site import APPLIES, Site
from .tiles import AHEAD, TILE_KNOBS, choose_chunk, choose_columns, choose_tiles, tiles_of
from .words import BYTES

Places = Mapping[int, Index]
Distribute = Callable[[str, Index, Body], tir.Stmt]


class _Convolution(Struct, frozen=True, eq=False):
    """Contraction as matrix products: the factor A if `is_left`, else B, has axes that are not adjacent in memory."""

    read: Contraction
    rows: list[Axis]
    columns: list[Axis]
    depth: list[Axis]
    outer: list[Axis]
    is_left: bool

    @property
    def far(self) -> Operand:
        """The factor to gather."""
        return self.read.a if self.is_left else self.read.b

    @property
    def sides(self) -> list[Axis]:
        """The axes of the rows or columns to gather, outermost first."""
        return self.rows if self.is_left else self.columns

    @property
    def size(self) -> Index:
        """The number of rows or columns to gather."""
        return extent_of(self.sides)

    @property
    def column_bytes(self) -> int:
        """The bytes of a gathered row or column."""
        return known_size(self.depth) * parse_dtype(self.far.buffer.dtype).bytes


def _read(nest: Nest, takes_bytes: bool) -> _Convolution:
    read = read_contraction(nest, byte_pairs=SIGNED_BY_UNSIGNED if takes_bytes else ())
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
    return _Convolution(read, rows, columns, depth, [*read.batch, *more_rows, *more_columns], far is read.a)


def choose_convolution(nest: Nest, machine: Machine) -> dict[str, Any]:
    """Return the knobs of `im2col` for a convolution; Declined if `nest` is not one."""
    found = _read(nest, machine.has_byte_dots)
    read, result_bytes = found.read, parse_dtype(found.read.c.buffer.dtype).bytes
    long, inner = known_size(found.sides[:1]), known_size(found.sides[1:])
    unit = machine.registers // 3 if found.is_left else machine.vector_bytes // result_bytes
    is_known = bool(long and inner)
    chunk = choose_chunk(long, inner, found.column_bytes, unit, machine) * inner if is_known else 0
    chunk = chunk or choose_columns(found.column_bytes, machine)
    gathered = index(chunk) if is_multiple(found.size, chunk) else tir.Var("int64", "gathered")
    m, n = (gathered, extent_of(found.columns)) if found.is_left else (extent_of(found.rows), gathered)
    depth = known_size(found.depth)
    k = -(-depth // BYTES) if read.a.buffer.dtype in BYTE_DTYPES else depth
    tiles = choose_tiles(m, n, k, result_bytes, machine)
    number = constant(ceil_divide(found.size, chunk))
    inside = "chunks" if number is None or number >= machine.threads else "tiles"
    parallel = read.parallel(found.outer, machine, inside)
    return {"chunk": chunk, **tiles.knobs, "prefetch": AHEAD, "fma": machine.has_fma, "parallel": parallel}


@composite(
    requires=(APPLIES,),
    knobs={
        "chunk": Knob(
            "the number of rows or columns to gather at a time; whole rows of the image are faster", 1, 1 << 16
        ),
        **TILE_KNOBS,
        "parallel": Knob("what threads share", choices=("batch", "chunks", "tiles")),
    },
)
def im2col(
    program: Program,
    block: Block,
    *,
    epilogue: Blocks = (),
    chunk: Integer,
    lanes: Integer,
    rows: Integer,
    columns: Integer,
    depth: Integer,
    panels: Integer = 0,
    prefetch: Integer = AHEAD,
    fma: Flag = True,
    parallel: Text | None = None,
) -> None:
    """Compute a convolution as matrix products of gathered chunks, each in register tiles of `rows` × `columns`.

    `o[f, y, x] += w[f, c, ky, kx] * i[c, y + ky, x + kx]` becomes, for each chunk of `chunk` pixels: copy the input of the chunk to
    the matrix `near[(c, ky, kx), (y, x)]` in the L2 cache, then multiply it by the weights as `gemm_tiles` does. The blocks of
    `epilogue` are element-wise, such as a bias and an activation.

    Preserves: the result; every element is summed in the same order for all knobs. With `fma`, a step is rounded once.
    """
    site = Site(program, [block, *epilogue])
    nest, tiling = site.with_epilogue(), Tiling(tiles_of(lanes, rows, columns, depth, panels), prefetch, fma)

    def kernel() -> tir.Stmt:
        found = _read(nest, takes_bytes=True)
        return _Emitter(found, chunk, tiling, parallel).run()

    site.replace(site.build(kernel), {store.buffer for store in (nest.store, *nest.after[:-1])})


class _Emitter:
    """Emits the product: the factor `far`, whose axes are not adjacent in memory, is gathered in chunks; the other is a matrix."""

    def __init__(self, found: _Convolution, chunk: int, tiling: Tiling, shared: str | None) -> None:
        self.read, self.tiling, self.is_left, self.shared = found.read, tiling, found.is_left, shared
        self.rows, self.columns, self.depth, self.outer = found.rows, found.columns, found.depth, found.outer
        self.far, self.sides = found.far, found.sides
        self.element_bytes, self.result_bytes = (parse_dtype(at.buffer.dtype).bytes for at in (self.far, self.read.c))
        self.k, self.size, self.chunk = known_size(self.depth), found.size, chunk
        tiles = tiling.tiles
        self.lanes = tiles.lanes * self.result_bytes // self.element_bytes
        inner = self.sides[-1].size
        self.are_rows_whole = len(self.sides) > 1 and bool(inner and known_size(self.sides) and chunk % inner == 0)
        """Whether chunks have whole rows of the innermost axis; otherwise, they start and end anywhere."""
        unit = 1 if self.is_left else tiles.lanes if is_multiple(self.size, chunk) else tiles.columns
        self.width = -(-chunk // unit) * unit
        """Number of rows or columns of the gathered matrix, including padding that a tile reads beyond the last one."""

    def run(self) -> tir.Stmt:
        """Return the loops over the images and their chunks."""
        chunks, is_whole = ceil_divide(self.size, self.chunk), self.shared == "tiles"

        def image(offsets: Offsets) -> tir.Stmt:
            def chunk(number: tir.Var) -> tir.Stmt:
                first = times(number, self.chunk)
                is_even = is_multiple(self.size, self.chunk)
                length = index(self.chunk) if is_even else least(self.chunk, minus(self.size, first))
                return self._chunk(offsets, first, length, is_whole)

            return (parallel if self.shared == "chunks" else loop)("chunk", chunks, chunk)

        return loops_around(self.outer, self.shared == "batch", image)

    def _chunk(self, offsets: Offsets, first: tir.PrimExpr, size: tir.PrimExpr, is_parallel: bool) -> tir.Stmt:
        """Gather a chunk and multiply it: `size` elements of the fused axes `sides`, from element `first` on."""
        near = new_buffer("near", self.far.buffer.dtype, (self.width, self.k) if self.is_left else (self.k, self.width))
        gather = self._gather(near, offsets, first, size, is_parallel)
        offsets, k = {**offsets, self.sides[-1].var: first}, index(self.k)
        finish = epilogue_of(self.read, self.rows, self.columns, offsets)
        sums = self._sums() if finish is not None else None
        c = self.read.c.matrix(self.rows, self.columns, offsets) if sums is None else sums
        gathered = view(near, near.shape, (near.shape[1], 1), 0)
        if self.is_left:
            b = self.read.b.matrix(self.depth, self.columns, offsets)
            product = Product(size, extent_of(self.columns), k, gathered, b, c, "a", finish=finish)
        else:
            a = self.read.a.matrix(self.rows, self.depth, offsets)
            product = Product(extent_of(self.rows), size, k, a, gathered, c, "b", finish=finish)
        multiply = emit_product(product, self.tiling, is_parallel)
        buffers = [near, sums] if sums is not None and sums in set(walk(multiply)) else [near]
        return allocated(buffers, [gather, self._clear(near, size), multiply])

    def _sums(self) -> tir.Buffer | None:
        """Return a buffer for the incomplete sums of a chunk, whose results the epilogue stores; None if its size is symbolic."""
        rows, columns = known_size(self.rows), known_size(self.columns)
        if not (rows and columns):
            return None
        shape = (self.width, columns) if self.is_left else (rows, self.width)
        return new_buffer("incomplete", self.read.c.buffer.dtype, shape)

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
