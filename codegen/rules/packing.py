"""Packing of the factors of a matrix product: tiles of rows of A, and panels of columns of B."""

from __future__ import annotations

from collections.abc import Mapping

from msgspec import Struct
from msgspec.structs import replace

from ...ir import make, tir
from .build import (
    Index,
    Statements,
    below,
    constant,
    divide,
    if_then_else,
    is_multiple,
    lanes,
    load,
    loop,
    minus,
    new_buffer,
    plus,
    prefetch,
    store,
    times,
    unrolled,
    vector_loop,
    vectorized,
    when,
)  # fmt: skip
from .epilogue import Epilogue
from .tiles import Tiles
from .transposition import transposed
from .words import Words


class Product(Struct, frozen=True, eq=False):
    """`c[i, j] = sum over k of a[i, k] * b[k, j]`, on views of any layout in which the rows of `c` are
    contiguous.
    """

    m: Index
    n: Index
    k: Index
    a: tir.Buffer
    b: tir.Buffer
    c: tir.Buffer
    near: str = ""
    """The factor, "a" or "b", that is already packed and padded, and therefore read in place; "" for none."""
    finish: Epilogue | None = None
    """The epilogue, which stores its result instead of `c`."""
    panels: tir.Buffer | None = None
    """Factor B as panels of shape (panels, k, columns of a panel), if it is stored like that; `b` is not used then."""

    @property
    def is_of_bytes(self) -> bool:
        """Return whether the factors are bytes, and the sums int32."""
        return self.a.dtype in ("int8", "uint8")


class Step(Struct, frozen=True, eq=False):
    """A part of the sum, and the width of the panel in vectors; in the last panel, the last vector may be
    partial.
    """

    start: tir.PrimExpr
    length: tir.PrimExpr
    vectors: int
    is_last: bool


def is_unit(buffer: tir.Buffer, axis: int) -> bool:
    """Return whether neighbors along an axis are neighbors in memory."""
    return constant(buffer.strides[axis]) == 1


class Packing:
    """Copies parts of the factors to buffers in which a tile reads them in order. `words` are the factors of bytes that are packed
    as words.
    """

    def __init__(self, product: Product, tiles: Tiles, words: Mapping[str, Words]) -> None:
        self._product, self._tiles, self._words = product, tiles, words
        self._dtype = product.c.dtype
        self._has_odd_rows = not is_multiple(product.m, tiles.rows)
        self.a_by_rows = not is_unit(product.a, 0)
        """Whether packed rows of A stay rows; otherwise, they become columns."""

    def a_buffer(self, count: int) -> tir.Buffer:
        """Return a buffer for `count` packed tiles of rows of A."""
        tiles = self._tiles
        inner = (tiles.rows, tiles.depth) if self.a_by_rows else (tiles.depth, tiles.rows)
        return new_buffer("a_tiles", self._dtype, (count, *inner))

    def b_buffer(self, panels: Index) -> tir.Buffer:
        """Return a buffer for packed panels of columns of B."""
        return new_buffer("b_panels", self._dtype, (panels, self._tiles.depth, self._tiles.columns))

    def _guarded(self, has_rest: bool, place: Index, end: Index, value: tir.PrimExpr) -> tir.PrimExpr:
        """Return `value`, or zero beyond the end."""
        if not has_rest:
            return value
        return if_then_else(below(place, end), value, make.const(0, self._dtype))

    def _load(self, name: str, row: Index, column: Index) -> tir.PrimExpr:
        """Return an element of factor "a" or "b"."""
        if name in self._words:
            return self._words[name].load(row, column)
        return load(self._product.a if name == "a" else self._product.b, row, column)

    def pack_a(
        self, packed: tir.Buffer, slot: Index, tile: Index, start: tir.PrimExpr, length: tir.PrimExpr
    ) -> tir.Stmt:
        """Pack one tile of A; rows beyond the last one are zero."""
        m, rows, width = self._product.m, self._tiles.rows, self._tiles.lanes

        def element(r: Index, k: Index) -> tir.PrimExpr:
            row = plus(times(tile, rows), r)
            return self._guarded(self._has_odd_rows, row, m, self._load("a", row, plus(start, k)))

        if not self.a_by_rows:
            return loop(
                "k", length, lambda k: vectorized("r", rows, lambda r: store(packed, element(r, k), slot, k, r))
            )

        def row(r: tir.Var) -> tir.Stmt:
            def step(first: tir.PrimExpr, v: tir.PrimExpr) -> tir.Stmt:
                k = plus(first, v)
                return store(packed, element(r, k), slot, r, k)

            return vector_loop("k", length, width, step)

        return loop("r", rows, row)

    def fetch_a(self, tile: Index, panel: Index, start: tir.PrimExpr) -> tir.Stmt:
        """Prefetch a part of the next tile of A, a cache line of each row per panel."""
        rows, line = self._tiles.rows, self._tiles.lanes
        top = times(plus(tile, 1), rows)

        def fetch(r: Index) -> tir.Stmt:
            place = (plus(top, r), times(panel, line)) if self.a_by_rows else (top, plus(times(panel, rows), r))
            return prefetch(self._product.a, place[0], plus(start, place[1]), cache=2)

        return when(
            below(times(panel, line if self.a_by_rows else rows), self._tiles.depth), unrolled("r", rows, fetch)
        )

    def pack_b(self, packed: tir.Buffer, slot: Index, panel: Index, step: Step) -> tir.Stmt:
        """Pack one panel of B; columns beyond the last one are zero."""
        b, n, columns, width = self._product.b, self._product.n, self._tiles.columns, self._tiles.lanes
        start, length = step.start, step.length

        def element(k: Index, c: Index) -> tir.PrimExpr:
            column = plus(times(panel, columns), c)
            return self._guarded(step.is_last, column, n, self._load("b", plus(start, k), column))

        def copy(k: Index, first: Index) -> tir.Stmt:
            return vectorized("v", width, lambda v: store(packed, element(k, plus(first, v)), slot, k, plus(first, v)))

        if "b" in self._words or not is_unit(b, 0):
            return loop("k", length, lambda k: unrolled("c", step.vectors, lambda c: copy(k, times(c, width))))

        turned = replace(b, shape=b.shape[::-1], strides=b.strides[::-1], name=f"{b.name}_turned")

        def square(first: Index, k: tir.PrimExpr) -> tir.Stmt:
            left = plus(times(panel, columns), first)

            def read(i: Index) -> tir.PrimExpr:
                return load(turned, plus(left, i), lanes(plus(start, k), width))

            def write(i: Index, value: tir.PrimExpr) -> tir.Stmt:
                return store(packed, value, slot, plus(k, i), lanes(first, width))

            whole = transposed(width, self._dtype, read, write)
            if not step.is_last:
                return whole
            elements = loop("kk", width, lambda kk: copy(plus(k, kk), first))
            return tir.IfThenElse(below(plus(left, width - 1), n), whole, elements)

        squares = divide(length, width)
        done = times(squares, width)

        def strip(c: tir.Var) -> Statements:
            first = times(c, width)
            rest = loop("rest", minus(length, done), lambda k: copy(plus(done, k), first))
            return [loop("square", squares, lambda s: square(first, times(s, width))), rest]

        return loop("c", step.vectors, strip)
