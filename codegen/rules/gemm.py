"""Matrix products with packed panels, register tiles and vectors (see `tiles` for the sizes and the papers).

Each element is summed over k in order, with one rounding per step: the result depends neither on the tile
sizes nor on the number of threads.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from msgspec import Struct
from msgspec.structs import replace

from ...ir import make, tir
from ..lower.rewriter import sequence
from .build import (
    Index,
    Statements,
    allocated,
    below,
    block_of,
    ceil_divide,
    constant,
    index,
    is_multiple,
    lanes,
    least,
    load,
    loop,
    minus,
    most,
    multiply_add,
    new_buffer,
    parallel,
    plus,
    prefetch,
    splat,
    store,
    times,
    unrolled,
    vectorized,
    when,
)  # fmt: skip
from .packing import Packing, Product, Step, is_unit
from .tiles import Tiles
from .words import BYTES, Words, dot

FEW_PANELS = 8
"""Maximum number of panels of columns for which rows of A are read in place: packing them costs more than it saves."""


class Tiling(Struct, frozen=True):
    """How a product is computed: its tiles, and the prefetch distance for B (L2 → L1) in steps of k, 0 for none.

    - `is_fused`: whether each step is a fused multiply-add;
    - `few_rows`, `few`: if the number of rows is symbolic, up to `few_rows` rows are handled apart, in the tiles `few`.
    """

    tiles: Tiles
    prefetch: int
    is_fused: bool
    few_rows: int = 0
    few: Tiles | None = None


def emit_product(product: Product, tiling: Tiling, is_parallel: bool = True, few: tir.Stmt | None = None) -> tir.Stmt:
    """Return the statements that compute `product`.

    If the number of rows is symbolic, few rows are computed by `few`, or in tiles of their own.
    """
    kinds, words = (product.a.dtype, product.b.dtype), dict[str, Words]()
    if product.is_of_bytes:
        words = {"a": Words(product.a, 1, product.k, True), "b": Words(product.b, 0, product.k, False)}
        views = {name: view for name, factor in words.items() if (view := factor.view()) is not None}
        words = {name: factor for name, factor in words.items() if name not in views}
        near = "" if product.near in words else product.near
        product = replace(product, k=ceil_divide(product.k, BYTES), near=near, **views)

    def with_tiles(tiles: Tiles, is_single: bool = False) -> tir.Stmt:
        return _Emitter(product, tiles, tiling, is_parallel, kinds, words, is_single).run()

    whole = with_tiles(tiling.tiles)
    if few is None and constant(product.m) is None and not product.near and tiling.few is not None:
        few = with_tiles(tiling.few, is_single=True)
    if few is None:
        return whole
    are_few = make.logical_and(below(0, product.m), below(product.m, tiling.few_rows + 1))
    return tir.IfThenElse(are_few, few, whole)


_PANELS = 8
"""Panels to pack at a time if the number of rows is unknown and the schedule does not say."""


class _Emitter:
    def __init__(
        self, product: Product, tiles: Tiles, tiling: Tiling, is_parallel: bool, kinds: tuple[str, str],
        words: Mapping[str, Words], is_single: bool = False,
    ) -> None:  # fmt: skip
        """With `is_single`, all rows are in one tile; there is at least one. `kinds` are the dtypes of the factors. `words` are the factors of bytes that must be packed; `product.k` counts
        words then.
        """
        self.product, self.tiles, self.tiling = product, tiles, tiling
        self.kinds, self.words, self.is_dot = kinds, words, kinds[0] != product.c.dtype
        self.dtype = product.c.dtype
        self.row_tiles = index(1) if is_single else ceil_divide(product.m, tiles.rows)
        self.panels = ceil_divide(product.n, tiles.columns)
        if not tiles.panels and constant(self.row_tiles) is None:  # rows are few only if their number is known
            self.tiles = replace(tiles, panels=min(constant(self.panels) or _PANELS, _PANELS))
        self.distribute = parallel if is_parallel else loop
        is_single = constant(self.row_tiles) == 1
        most_columns = constant(product.b.shape[1] if product.near == "b" else product.n)
        is_seldom_read = is_single or (most_columns is not None and most_columns <= FEW_PANELS * tiles.columns)
        self.packs_a = "a" in words or (product.near != "a" and not (is_seldom_read and is_unit(product.a, 1)))
        self.fetches_a = product.near != "a" and not is_single and "a" not in words
        is_packed = product.near == "b" or product.panels is not None
        self.packs_b = "b" in words or not (is_packed or (is_single and is_unit(product.b, 1)))
        self.packing = Packing(product, self.tiles, words)
        self.is_one_depth = constant(ceil_divide(product.k, tiles.depth)) == 1
        self.has_odd_rows = not is_multiple(product.m, tiles.rows)
        self.has_odd_columns = not is_multiple(product.n, tiles.columns)

    # --- Loops around the tiles

    def run(self) -> tir.Stmt:
        """Loop over chunks of columns, then over the depth."""
        width, columns = self.tiles.panels, constant(self.panels)
        if not width or (columns is not None and columns <= width):
            return self._depths(index(0), self.panels)

        def chunk(number: tir.Var) -> tir.Stmt:
            first = times(number, width)
            left = least(index(width), minus(self.panels, first))
            return self._depths(first, index(width) if is_multiple(self.panels, width) else left)

        return loop("chunk", ceil_divide(self.panels, width), chunk)

    def _depths(self, first: tir.PrimExpr, panels: tir.PrimExpr) -> tir.Stmt:
        depth, k = self.tiles.depth, self.product.k

        def step(number: tir.Var) -> Statements:
            """Emit one step of the depth. There is at least one, since an empty sum is zero."""
            start = times(number, depth)
            length = index(depth) if is_multiple(k, depth) else least(index(depth), minus(k, start))
            return (self._tall if self.tiles.panels else self._wide)(first, panels, start, length)

        return loop("depth", most(1, ceil_divide(k, depth)), step)

    def _wide(self, first: tir.PrimExpr, panels: tir.PrimExpr, start: tir.PrimExpr, length: tir.PrimExpr) -> tir.Stmt:
        """Pack all tiles of rows once, and each panel of columns just before its use; for few rows."""
        count = constant(self.row_tiles) or 1
        a_tiles = self.packing.a_buffer(count)

        def panel(number: tir.Var) -> tir.Stmt:
            b_panel, column = self.packing.b_buffer(1), plus(first, number)

            def meet(step: Step) -> Statements:
                packing = [self.packing.pack_b(b_panel, index(0), column, step)] if self.packs_b else []
                return [
                    *packing,
                    loop("t", count, lambda t: self._tile(a_tiles, t, b_panel, index(0), t, column, step)),
                ]

            body = self._by_width(column, start, length, meet)
            return allocated([b_panel] if self.packs_b else [], body)

        pack = [loop("t", count, lambda t: self.packing.pack_a(a_tiles, t, t, start, length))] if self.packs_a else []
        return allocated([a_tiles] if self.packs_a else [], [*pack, self.distribute("panel", panels, panel)])

    def _tall(self, first: tir.PrimExpr, panels: tir.PrimExpr, start: tir.PrimExpr, length: tir.PrimExpr) -> tir.Stmt:
        """Pack several panels of columns, and each tile of rows just before its use; for many rows."""
        b_panels = self.packing.b_buffer(self.tiles.panels)

        def pack(number: tir.Var) -> tir.Stmt:
            column = plus(first, number)
            return self._by_width(
                column, start, length, lambda step: [self.packing.pack_b(b_panels, number, column, step)]
            )

        def tile(number: tir.Var) -> tir.Stmt:
            a_tile = self.packing.a_buffer(1)

            def panel(slot: tir.Var) -> tir.Stmt:
                column = plus(first, slot)
                ahead = [self.packing.fetch_a(number, slot, start)] if self.fetches_a else []
                tile = self._by_width(
                    column, start, length,
                    lambda step: [self._tile(a_tile, index(0), b_panels, slot, number, column, step)],
                )  # fmt: skip
                return sequence([*ahead, tile])

            packing = [self.packing.pack_a(a_tile, index(0), number, start, length)] if self.packs_a else []
            return allocated([a_tile] if self.packs_a else [], [*packing, loop("panel", panels, panel)])

        packing = [self.distribute("panel", panels, pack)] if self.packs_b else []
        tiles = self.distribute("tile", self.row_tiles, tile)
        return allocated([b_panels] if self.packs_b else [], [*packing, tiles])

    def _by_width(
        self, panel: tir.PrimExpr, start: tir.PrimExpr, length: tir.PrimExpr, body: Callable[[Step], Statements]
    ) -> tir.Stmt:
        """Return `body` for a panel; the last panel may have fewer columns."""
        whole = block_of(body(Step(start, length, self.tiles.vectors, is_last=False)))
        if not self.has_odd_columns:
            return whole
        width, n = self.tiles.columns, constant(self.product.n)
        vectors = self.tiles.vectors if n is None else -(-(n % width) // self.tiles.lanes)
        last = block_of(body(Step(start, length, vectors, is_last=True)))
        return last if constant(self.panels) == 1 else tir.IfThenElse(below(plus(panel, 1), self.panels), whole, last)

    # --- The tile

    def _tile(
        self, a_tiles: tir.Buffer, slot: Index, b_panels: tir.Buffer, panel_slot: Index, tile: Index, panel: Index,
        step: Step,
    ) -> tir.Stmt:  # fmt: skip
        """Add a step of the sum to one tile of the result."""
        tiles, c, start = self.tiles, self.product.c, step.start
        top, left = times(tile, tiles.rows), times(panel, tiles.columns)
        sums = new_buffer("sums", self.dtype, (tiles.rows, tiles.columns), "local")
        is_streamed = self.product.panels is not None or (tiles.panels and self.packs_b)
        ahead_steps = self.tiling.prefetch
        streamed = range(step.vectors if is_streamed and ahead_steps else 0)

        def for_each(body: Callable[[Index, Index], tir.Stmt]) -> tir.Stmt:
            return unrolled("r", tiles.rows, lambda r: unrolled("v", step.vectors, lambda v: body(r, v)))

        def place(r: Index, v: Index) -> tuple[Index, Index]:
            return r, lanes(times(v, tiles.lanes), tiles.lanes)

        def in_result(r: Index, v: Index) -> tuple[Index, Index]:
            return plus(top, r), lanes(plus(left, times(v, tiles.lanes)), tiles.lanes)

        def mask(v: Index) -> tir.PrimExpr | None:
            return self._mask(plus(left, times(v, tiles.lanes))) if step.is_last else None

        def inside(r: Index, body: tir.Stmt) -> tir.Stmt:
            return when(below(plus(top, r), self.product.m), body) if self.has_odd_rows else body

        def a_element(r: Index, k: Index) -> tir.PrimExpr:
            if not self.packs_a:
                row = least(plus(top, r), minus(self.product.m, 1)) if self.has_odd_rows else plus(top, r)
                return load(self.product.a, row, plus(start, k))
            return load(a_tiles, slot, *((r, k) if self.packing.a_by_rows else (k, r)))

        def b_vector(k: Index, v: Index) -> tir.PrimExpr:
            if self.product.panels is not None:
                return load(self.product.panels, panel, plus(start, k), place(0, v)[1])
            if not self.packs_b:
                is_inside = None if self.product.near == "b" else mask(v)
                return load(self.product.b, plus(start, k), in_result(0, v)[1], where=is_inside)
            return load(b_panels, panel_slot, k, place(0, v)[1])

        def soon(k: Index, v: Index) -> tir.Stmt:
            if self.product.panels is not None:
                return prefetch(self.product.panels, panel, plus(start, plus(k, ahead_steps)), times(v, tiles.lanes))
            return prefetch(b_panels, panel_slot, plus(k, ahead_steps), times(v, tiles.lanes))

        def add(k: Index) -> tir.Stmt:
            def one(r: Index, v: Index) -> tir.Stmt:
                a, b, total = splat(a_element(r, k), tiles.lanes), b_vector(k, v), load(sums, *place(r, v))
                value = dot(a, b, total, self.kinds) if self.is_dot else multiply_add(a, b, total, self.tiling.is_fused)
                return store(sums, value, *place(r, v))

            return sequence([*(soon(k, v) for v in streamed), for_each(one)])

        zero = for_each(lambda r, v: store(sums, make.const(0, self.dtype), *place(r, v)))
        resume = for_each(lambda r, v: inside(r, store(sums, load(c, *in_result(r, v), where=mask(v)), *place(r, v))))
        write = for_each(lambda r, v: inside(r, store(c, load(sums, *place(r, v)), *in_result(r, v), where=mask(v))))
        done = self._finish(sums, top, left, step) if self.product.finish is not None else write
        if self.product.finish is not None and not self.is_one_depth:
            done = tir.IfThenElse(below(plus(start, step.length), self.product.k), write, done)
        below_it, beside_it = (0, tiles.columns) if tiles.panels else (tiles.rows, 0)
        following = for_each(
            lambda r, v: prefetch(
                c, plus(top, plus(r, below_it)), plus(left, plus(times(v, tiles.lanes), beside_it)), cache=2
            )
        )
        ahead = [] if self.is_one_depth else [following]
        body = [zero, when(below(0, start), resume), *ahead, loop("k", step.length, add), done]
        return allocated([sums], body)

    def _finish(self, sums: tir.Buffer, top: Index, left: Index, step: Step) -> tir.Stmt:
        """Store the epilogue of a complete tile, row by row."""
        tiles, product = self.tiles, self.product
        finish = product.finish
        assert finish is not None
        tile = new_buffer("tile", self.dtype, (tiles.rows, step.vectors * tiles.lanes), "local")

        def copy(r: Index, v: Index) -> tir.Stmt:
            place = r, lanes(times(v, tiles.lanes), tiles.lanes)
            return store(tile, load(sums, *place), *place)

        def element(r: Index, v: Index, lane: Index) -> tir.Stmt:
            place = plus(times(v, tiles.lanes), lane)
            column = plus(left, place)
            stored = sequence(finish(plus(top, r), column, load(tile, r, place)))
            return when(below(column, product.n), stored) if step.is_last else stored

        def row(r: Index) -> tir.Stmt:
            vector = loop(
                "v", step.vectors, lambda v: vectorized("lane", tiles.lanes, lambda lane: element(r, v, lane))
            )
            return when(below(plus(top, r), product.m), vector) if self.has_odd_rows else vector

        copies = unrolled("r", tiles.rows, lambda r: unrolled("v", step.vectors, lambda v: copy(r, v)))
        return allocated([tile], [copies, loop("r", tiles.rows, row)])

    def _mask(self, first: Index) -> tir.PrimExpr:
        """Return the mask of the lanes from column `first` that are inside the result."""
        width = self.tiles.lanes
        return tir.LT(f"boolx{width}", lanes(first, width), splat(index(self.product.n), width))
