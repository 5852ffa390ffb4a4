"""Matrix products on a GPU: the part that kernels with and without tensor cores have in common.

    C[b, i, j] = the sum over k of A[b, i, k] * B[b, k, j]        and an element-wise epilogue

A block computes a tile of C. In each step along k, its threads copy the parts of A and B that the tile
needs into shared memory, with zeros beyond their ends, and fetch those of the next step while they compute.

The sum of a product with few results is divided into parts before (split-K), which a second kernel adds, so that the result does not
depend on the order of blocks:

    C[i, j] += A[i, k] * B[k, j]      →      C_rf[s, i, j] += A[i, s * 2048 + k] * B[s * 2048 + k, j];  C[i, j] += C_rf[s, i, j]
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from msgspec import Struct
from msgspec.structs import replace

from ....ir import make, tir
from ....ir.analysis.modular_set import modular_set
from ....ir.dtype import parse_dtype
from ....ir.schedule.declaration import Knob
from ...rules.build import (
    Index,
    below,
    ceil_divide,
    constant,
    divide,
    if_then_else,
    index,
    is_multiple,
    lanes,
    load,
    plus,
    store,
    times,
    when,
)
from ...rules.contraction import ANY_BYTES, Offsets, Operand, extent_of, joined, read_contraction
from ...rules.epilogue import Epilogue, epilogue_of
from ...rules.nest import Axis, Declined, Nest
from .grid import all_of, blocks, bound, unravel

NARROW = ("float16", "bfloat16")
FEW = 1 << 12
"""Minimum number of multiply-adds; smaller products use a thread per element."""
LEAST = 8
"""Minimum number of rows and columns; with fewer, most of a tile would be empty."""
COPIED_BYTES = 16
"""Maximum number of bytes that a thread copies at once."""
ENOUGH_BLOCKS = 80
"""Number of blocks that keeps a GPU busy; tiles are made smaller to reach it."""


_AT_ONCE = 132
"""Number of blocks that run together: one for each multiprocessor of an H100."""

TILE_KNOBS = {
    "rows": Knob("the number of rows of the tile of a block of threads", 32, 128, is_power=True),
    "columns": Knob("the number of columns of the tile of a block of threads", 32, 128, is_power=True),
}
"""The knobs of products."""


class Factor(Struct, frozen=True):
    """A factor as a matrix of `span` × `depth`: rows of A or columns of B by steps of the sum. It is contiguous
    along the depth (`is_deep`) or along the span; `width` elements are copied at once.
    """

    view: tir.Buffer
    is_deep: bool
    width: int

    @property
    def dtype(self) -> str:
        return self.view.dtype

    @property
    def is_whole(self) -> bool:
        """Return whether the matrix is that of its buffer: it starts at its begin, and no rows of it are the same."""
        return constant(_start(self.view)) == 0 and constant(self.sizes[2]) != 0

    @property
    def sizes(self) -> tuple[Index, Index, Index]:
        """Return the numbers of rows and of contiguous columns, and the distance between rows."""
        (span, depth), (of_span, of_depth) = self.view.shape, self.view.strides
        return (span, depth, of_span) if self.is_deep else (depth, span, of_depth)

    def place(self, span: Index, depth: Index) -> tir.PrimExpr:
        """Return the position of an element in the memory of the buffer."""
        first, second = self.view.strides
        return plus(_start(self.view), plus(times(span, first), times(depth, second)))

    def inside(self, span: Index, depth: Index, tile: int) -> tir.PrimExpr:
        """Return whether an element of a tile with `tile` rows along the span is inside the matrix; steps may extend
        beyond the depth.
        """
        rows, columns = self.view.shape
        is_deep = below(depth, columns)
        return is_deep if is_multiple(rows, tile) else make.logical_and(is_deep, below(span, rows))

    def _load(self, span: Index, depth: Index) -> tir.BufferLoad:
        """Return `width` elements. Only the last index of an access may be a vector, so the contiguous dimension is the last one."""
        if self.is_deep or self.width == 1:
            return load(self.view, span, lanes(depth, self.width))
        turned = replace(self.view, shape=self.view.shape[::-1], strides=self.view.strides[::-1])
        return load(turned, depth, lanes(span, self.width))

    def read(self, span: Index, depth: Index, tile: int) -> tir.PrimExpr:
        """Return `width` elements, or zeros beyond the end of the matrix."""
        value, condition = self._load(span, depth), self.inside(span, depth, tile)
        zero = tir.FloatImm(self.dtype, 0.0)
        empty = zero if self.width == 1 else tir.Broadcast(value.dtype, zero, tir.IntImm("int32", self.width))
        return if_then_else(condition, value, empty)


class Product(Struct, frozen=True):
    """A product of `m` × `n` and depth `k` for each value of the `outer` axes; `a`, `b` and `c` are the matrices
    of block `batch`.
    """

    m: Index
    n: Index
    k: Index
    a: Factor
    b: Factor
    c: tir.Buffer
    outer: Sequence[Axis]
    batch: tir.Var
    finish: Epilogue | None

    def is_aligned(self, count: int) -> bool:
        """Return whether rows of C consist of whole aligned vectors of `count` elements."""
        row, column = self.c.strides
        starts = [_start(self.c), row]
        return (
            is_multiple(self.n, count) and constant(column) == 1 and all(_is_multiple(start, count) for start in starts)
        )

    def results(self, row: Index, column: Index, kept: tir.BufferLoad) -> list[tir.Stmt]:
        """Return the stores of the accumulated element `kept`, through the epilogue if there is one."""
        if self.finish is not None:
            return self.finish(row, column, kept)
        return [store(self.c, make.cast(kept, self.c.dtype), row, column)]

    def guarded(self, row: Index, column: Index, tile: tuple[int, int], body: Sequence[tir.Stmt]) -> tir.Stmt:
        """Return `body` under the condition that the element of the tile is inside C."""
        ends = ((row, self.m, tile[0]), (column, self.n, tile[1]))
        condition = all_of([below(place, end) for place, end, part in ends if not is_multiple(end, part)])
        return when(tir.IntImm("bool", 1) if condition is None else condition, body)

    def launch(self, tile: tuple[int, int], threads: Sequence[tuple[str, int, tir.Var]], body: Body) -> tir.Stmt:
        """Return the kernel whose blocks each compute a tile by `body`, a function of the first row and column. Blocks that run at the
        same time compute a compact part of C, so that they read few rows of A and columns of B (`group_of`).
        """
        rows, columns = (ceil_divide(size, part) for size, part in zip((self.m, self.n), tile, strict=True))
        by, bx = tir.Var("int32", "by"), tir.Var("int32", "bx")
        grid, place = [(rows, by), (columns, bx)], (by, bx)
        group = 0 if self.outer else group_of(constant(rows), constant(columns), tile)
        if group:
            block = tir.Var("int32", "block")
            counts = (divide(rows, group), columns, index(group))
            outer, column, inner = unravel(
                block, [Axis(tir.Var("int32", ""), count, False) for count in counts]
            ).values()
            grid, place = [(times(columns, rows), block)], (plus(times(outer, group), inner), column)
        statement = body(times(place[0], tile[0]), times(place[1], tile[1]))
        for tag, count, var in reversed(threads):
            statement = bound(tag, count, var, statement)
        return blocks([(extent_of(self.outer), self.batch), *grid] if self.outer else grid, statement)


def group_of(rows: int | None, columns: int | None, tile: tuple[int, int]) -> int:
    """Return how many rows of tiles blocks compute column by column, one group of rows after the other: the divisor of `rows` for which
    the `_AT_ONCE` blocks that run together read the fewest rows and columns. 0 if this is to compute row by row, or if sizes are symbolic.

    Tiles of `rows` × `columns` are counted; a group of 4 × 3 tiles is computed in the order

        0 4  8
        1 5  9
        2 6 10
        3 7 11
    """
    if rows is None or columns is None or rows * columns <= _AT_ONCE:
        return 0

    def read(group: int) -> int:
        width = min(columns, -(-_AT_ONCE // group))
        height = min(rows, max(group, -(-_AT_ONCE // width)))
        return height * tile[0] + width * tile[1]

    best = min((group for group in range(1, min(rows, _AT_ONCE) + 1) if rows % group == 0), key=read)
    return best if best > 1 else 0


Body = Callable[[tir.PrimExpr, tir.PrimExpr], tir.Stmt]


def read_product(nest: Nest, takes_bytes: bool = False) -> Product:
    """Return the product that `nest` computes; Declined if it is not a product, or too small. If `takes_bytes`, so are products of bytes
    that are summed in int32.
    """
    read = read_contraction(nest, NARROW, FEW, ANY_BYTES if takes_bytes else ())
    m, more_rows = joined(read.rows, (read.c, read.a)) if read.rows else ([], [])
    n, more_columns = joined(read.columns, (read.c, read.b))
    k, more_depth = joined(read.depth, (read.a, read.b))
    if more_depth:
        raise Declined("the reduction axes are not contiguous")
    if not k:
        raise Declined("it has no reduction axis")
    outer = [*read.batch, *more_rows, *more_columns]
    batch = tir.Var("int32", "bz")
    offsets = unravel(batch, outer)
    a, b = _factor(read.a, m, k, offsets), _factor(read.b, n, k, offsets)
    finish = epilogue_of(read, m, n, offsets)
    return Product(extent_of(m), extent_of(n), extent_of(k), a, b, read.c.matrix(m, n, offsets), outer, batch, finish)


def _factor(operand: Operand, span: Sequence[Axis], depth: Sequence[Axis], offsets: Offsets) -> Factor:
    view = operand.matrix(span, depth, offsets)
    rows, columns = view.strides
    is_deep = constant(columns) == 1 or constant(rows) != 1
    outer, inner = (rows, columns) if is_deep else (columns, rows)
    if constant(inner) != 1:
        return Factor(view, is_deep, 1)
    width = COPIED_BYTES // parse_dtype(view.dtype).bytes
    extent, start = view.shape[1 if is_deep else 0], _start(view)
    while width > 1 and not all(_is_multiple(expr, width) for expr in (outer, extent, start)):
        width //= 2
    return Factor(view, is_deep, width)


def _is_multiple(value: Index, part: int) -> bool:
    found = modular_set(index(value))
    return found.coeff % part == 0 and found.base % part == 0


def choose_tile(product: Product, sizes: Sequence[int]) -> tuple[int, int]:
    """Choose the rows and columns of a tile from `sizes`, largest first: enough to cover C, and small enough for
    many blocks.
    """
    return tile_for(constant(product.m), constant(product.n), constant(extent_of(product.outer)) or 1, sizes)


def tile_for(m: int | None, n: int | None, count: int, sizes: Sequence[int]) -> tuple[int, int]:
    """Choose the tile of `count` products of m × n as `choose_tile` does."""
    rows, columns = (_covering(size, sizes) for size in (m, n))
    while m is not None and n is not None and -(-m // rows) * -(-n // columns) * count < ENOUGH_BLOCKS:
        if max(rows, columns) == sizes[-1]:
            break
        rows, columns = (rows, columns // 2) if columns >= rows else (rows // 2, columns)
    return rows, columns


def _covering(size: int | None, sizes: Sequence[int]) -> int:
    return sizes[0] if size is None else min((other for other in sizes if other >= size), default=sizes[0])


def _start(view: tir.Buffer) -> tir.PrimExpr:
    """Return the offset of the first element of `view`."""
    return tir.IntImm("int64", 0) if view.elem_offset is None else view.elem_offset
