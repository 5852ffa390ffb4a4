"""Products without tensor cores: each thread computes a tile in registers from factors in shared memory.

16 × 16 threads compute a tile of 128 × 128 elements, 64 × 64 or 32 × 32; each has 8 × 8 of them, 4 × 4 or 2
× 2, four contiguous ones at a time. While the threads compute `DEPTH` steps of the sum, each reads its
share of the next steps into registers, and stores it to the other half of shared memory before the next
barrier. Both factors are stored step by step, with lines padded by four elements, so that the elements of a
column are in different banks.
"""

from __future__ import annotations

from typing import Any

from ....ir import make, tir
from ....ir.schedule.arguments import Block, Integer
from ....ir.schedule.buffer_arguments import Blocks
from ....ir.schedule.declaration import composite
from ....ir.schedule.program import Program
from ...lower.rewriter import sequence
from ...rules.build import (
    Index,
    allocated,
    ceil_divide,
    constant,
    lanes,
    load,
    loop,
    new_buffer,
    plus,
    store,
    times,
)
from ...rules.nest import Declined, Nest
from ...rules.site import APPLIES, Site
from ..allreduce import barrier
from .grid import X, Y, over, rest, unrolled, vectorized
from .product import LEAST, TILE_KNOBS, Factor, Product, choose_tile, read_product

SIDE, DEPTH, PADDING = 16, 8, 4
THREADS = SIDE * SIDE
TILES = (128, 64, 32)


def choose_tiles(nest: Nest) -> dict[str, Any]:
    """Return the knobs of `thread_tiles`; Declined if `nest` is not a suitable product."""
    product = read_product(nest)
    if any((constant(size) or LEAST) < LEAST for size in (product.m, product.n)):
        raise Declined(f"a matrix has fewer than {LEAST} rows or columns")
    rows, columns = choose_tile(product, TILES)
    return {"rows": rows, "columns": columns}


@composite(requires=(APPLIES,), knobs=TILE_KNOBS)
def thread_tiles(program: Program, block: Block, *, epilogue: Blocks = (), rows: Integer, columns: Integer) -> None:
    """Compute a matrix product without tensor cores: 16 × 16 threads compute a tile of `rows` × `columns`.

    `c[i, j] += a[i, k] * b[k, j]` becomes a kernel whose threads keep a part of the tile in registers, and copy parts of A and B
    to shared memory one step of 8 ahead. The blocks of `epilogue` are element-wise.

    Preserves: the result; every element is summed in the order of k, for all knobs.
    """
    site = Site(program, [block, *epilogue])
    nest = site.with_epilogue()
    kernel = site.build(lambda: _Kernel(read_product(nest), (rows, columns)).run())
    site.replace(kernel, {store.buffer for store in (nest.store, *nest.after[:-1])})


class _Tile:
    """The memory of a factor: two halves of `DEPTH` × `span` elements in shared memory, and the elements that a
    thread fetches.
    """

    def __init__(self, name: str, factor: Factor, span: int) -> None:
        self.factor, self.span = factor, span
        share = span * DEPTH // THREADS
        width = min(factor.width, share, 4)
        self._source = Factor(factor.view, factor.is_deep, width)
        self._line = span + PADDING
        self.memory = new_buffer(name, factor.dtype, [2 * DEPTH * self._line], "shared")
        self.fetched = new_buffer(f"{name}_next", factor.dtype, [share], "local")
        self._share, self._width = share // width, width

    def _place(self, i: Index, thread: tir.PrimExpr) -> tuple[tir.PrimExpr, tir.PrimExpr]:
        """Return the span and the depth of the first element of the thread's `i`-th vector."""
        number = plus(times(i, THREADS), thread)
        of_line = (DEPTH if self.factor.is_deep else self.span) // self._width
        outer, inner = over(number, of_line), times(rest(number, of_line), self._width)
        return (outer, inner) if self.factor.is_deep else (inner, outer)

    def fetch(self, start: tir.PrimExpr, step: Index, thread: tir.PrimExpr) -> tir.Stmt:
        """Read the thread's share of a step into registers."""

        def part(i: tir.Var) -> tir.Stmt:
            span, depth = self._place(i, thread)
            value = self._source.read(plus(start, span), plus(times(step, DEPTH), depth), self.span)
            return store(self.fetched, value, lanes(times(i, self._width), self._width))

        return unrolled("i", self._share, part)

    def put(self, half: tir.PrimExpr, thread: tir.PrimExpr) -> tir.Stmt:
        """Store the fetched elements to one half of shared memory."""

        def part(i: tir.Var) -> tir.Stmt:
            span, depth = self._place(i, thread)

            def element(v: Index) -> tir.Stmt:
                at = (span, plus(depth, v)) if self.factor.is_deep else (plus(span, v), depth)
                return store(self.memory, load(self.fetched, plus(times(i, self._width), v)), self.at(half, *at))

            if self.factor.is_deep or self._width == 1:
                return sequence([element(v) for v in range(self._width)])
            return vectorized("v", self._width, element)

        return unrolled("i", self._share, part)

    def at(self, half: tir.PrimExpr, span: Index, depth: Index) -> tir.PrimExpr:
        """Return the position of an element."""
        return plus(times(half, DEPTH * self._line), plus(times(depth, self._line), span))


class _Kernel:
    def __init__(self, product: Product, tile: tuple[int, int]) -> None:
        self.product, self._tile = product, tile
        self._rows, self._columns = (size // SIDE for size in self._tile)
        self._tx, self._ty = tir.Var("int32", "tx"), tir.Var("int32", "ty")
        self._thread = plus(times(self._ty, SIDE), self._tx)
        self._left, self._right = _Tile("left", product.a, self._tile[0]), _Tile("right", product.b, self._tile[1])
        kind = "float64" if product.c.dtype == "float64" else "float32"
        self._kind = kind
        sizes = (("total", self._rows * self._columns), ("a", self._rows), ("b", self._columns))
        self._total, self._a, self._b = (new_buffer(name, kind, [size], "local") for name, size in sizes)

    def run(self) -> tir.Stmt:
        """Return the kernel."""
        return self.product.launch(self._tile, ((Y, SIDE, self._ty), (X, SIDE, self._tx)), self._body)

    def _body(self, row: tir.PrimExpr, column: tir.PrimExpr) -> tir.Stmt:
        zero = tir.FloatImm(self._kind, 0.0)
        zeros = unrolled("i", self._rows * self._columns, lambda i: store(self._total, zero, i))
        count = make.cast(ceil_divide(self.product.k, DEPTH), "int32")
        tiles, starts = (self._left, self._right), (row, column)

        def fetch(step: Index) -> list[tir.Stmt]:
            return [tile.fetch(start, step, self._thread) for tile, start in zip(tiles, starts, strict=True)]

        def put(half: tir.PrimExpr) -> list[tir.Stmt]:
            return [tile.put(half, self._thread) for tile in tiles]

        def step(number: tir.Var) -> tir.Stmt:
            half, following = rest(number, 2), plus(number, 1)
            multiply = unrolled("part", DEPTH, lambda depth: self._multiply(half, depth))
            return sequence([barrier(), *fetch(following), multiply, *put(rest(following, 2))])

        memory = [tile.memory for tile in tiles] + [tile.fetched for tile in tiles]
        begin = [zeros, *fetch(0), *put(tir.IntImm("int32", 0))]
        whole = [*begin, loop("step", count, step), self._store(row, column)]
        return allocated([*memory, self._total, self._a, self._b], whole)

    def _multiply(self, half: tir.PrimExpr, depth: Index) -> tir.Stmt:
        def taken(tile: _Tile, to: tir.Buffer, count: int, thread: tir.Var) -> tir.Stmt:
            group = min(count, 4)

            def part(i: tir.Var) -> tir.Stmt:
                first = plus(times(i, SIDE * group), times(thread, group))

                def element(v: Index) -> tir.Stmt:
                    value = load(tile.memory, tile.at(half, plus(first, v), depth))
                    return store(to, make.cast(value, to.dtype), plus(times(i, group), v))

                return vectorized("v", group, element)

            return unrolled("i", count // group, part)

        def add(i: tir.Var, j: tir.Var) -> tir.Stmt:
            place = plus(times(i, self._columns), j)
            product = make.mul(load(self._a, i), load(self._b, j))
            return store(self._total, make.add(load(self._total, place), product), place)

        products = unrolled("i", self._rows, lambda i: unrolled("j", self._columns, lambda j: add(i, j)))
        left = taken(self._left, self._a, self._rows, self._ty)
        return sequence([left, taken(self._right, self._b, self._columns, self._tx), products])

    def _store(self, row: tir.PrimExpr, column: tir.PrimExpr) -> tir.Stmt:
        product, kind = self.product, self.product.c.dtype
        group = min(self._columns, 4)
        kept = self._total if kind == self._kind else new_buffer("kept", kind, [group], "local")
        is_whole = product.is_aligned(group)

        def line(i: tir.Var, part: tir.Var) -> tir.Stmt:
            high = min(self._rows, 4)
            at_row = plus(row, plus(times(over(i, high), SIDE * high), plus(times(self._ty, high), rest(i, high))))
            at_column = plus(column, plus(times(part, SIDE * group), times(self._tx, group)))
            place = plus(times(i, self._columns), times(part, group))

            def element(v: Index) -> list[tir.Stmt]:
                where = plus(place, v) if kept is self._total else v
                rounded = (
                    [] if kept is self._total else [store(kept, make.cast(load(self._total, plus(place, v)), kind), v)]
                )
                return [*rounded, *product.results(at_row, plus(at_column, v), load(kept, where))]

            if is_whole:
                whole = vectorized("v", group, lambda v: sequence(element(v)))
                return product.guarded(at_row, at_column, self._tile, [whole])
            elements = [product.guarded(at_row, plus(at_column, v), self._tile, element(v)) for v in range(group)]
            return sequence(elements)

        body = unrolled("i", self._rows, lambda i: unrolled("j", self._columns // group, lambda j: line(i, j)))
        return body if kept is self._total else allocated([kept], body)
