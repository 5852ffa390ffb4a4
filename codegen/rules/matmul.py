"""Matrix products: contractions whose axes of each kind can be fused.

Rows and columns that cannot be fused become loops around the product; the reduction axes must be fused
into one.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import Any

from msgspec import Struct

from ...ir import tir
from ...ir.dtype import parse_dtype
from ...ir.schedule.arguments import Block, Flag, Integer, Text
from ...ir.schedule.buffer_arguments import Blocks
from ...ir.schedule.conditions import KNOB
from ...ir.schedule.declaration import Knob, composite
from ...ir.schedule.program import Program
from ..machine import Machine
from .build import Index, ceil_divide, constant, view
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
from .gemv import PARTS, ROWS, Streams, emit_rows
from .nest import Axis, Declined, Nest
from .packing import Product
from .site import APPLIES, Site
from .tiles import AHEAD, TILE_KNOBS, choose_tiles, tiles_of
from .words import BYTES

FEW_COLUMNS = 128
"""Minimum number of fused columns; with fewer, gathering columns (`convolution`) is faster."""
FEW_ROWS = 4
"""Maximum number of rows that are handled apart if the number is symbolic: tiles for many rows would be mostly empty."""


class _Matmul(Struct, frozen=True, eq=False):
    """Contraction as matrix products: the fused axes of rows, columns and depth, and those of the loops around."""

    read: Contraction
    m: list[Axis]
    n: list[Axis]
    k: list[Axis]
    outer: list[Axis]
    is_packed: bool
    """Whether factor B is stored in panels."""

    @property
    def sizes(self) -> tuple[Index, Index, Index]:
        """Rows, columns and depth."""
        return extent_of(self.m), extent_of(self.n), extent_of(self.k)

    @property
    def has_rows_along_depth(self) -> bool:
        """Whether both factors are contiguous along the depth, so that a row of the result is a matrix-vector product."""
        a, b = self.read.a, self.read.b
        return constant(b.step(self.k)) == 1 and constant(a.step(self.k)) == 1 and constant(b.step(self.n)) != 1


def _read(nest: Nest, lanes: int, takes_bytes: bool) -> _Matmul:
    read = read_contraction(nest, byte_pairs=SIGNED_BY_UNSIGNED if takes_bytes else ())
    a, b, c = read.a, read.b, read.c
    k, more_depth = joined(read.depth, (a, b))
    is_packed = has_panels(read, k, lanes)
    n, more_columns = joined(read.columns, (c,) if is_packed else (c, b))
    m, more_rows = joined(read.rows, (c, a))
    if not read.rows and constant(b.step(n)) != 1:
        raise Declined("it is a matrix-vector product")
    if more_depth:
        raise Declined("the reduction axes are not contiguous")
    return _Matmul(read, m, n, k, [*read.batch, *more_rows, *more_columns], is_packed)


def choose_matmul(nest: Nest, machine: Machine) -> dict[str, Any]:
    """Return the knobs of `gemm_tiles` for a matrix product; Declined if `nest` is not one, or has too few columns."""
    element_bytes = parse_dtype(nest.store.buffer.dtype).bytes
    found = _read(nest, machine.vector_bytes // element_bytes, machine.has_byte_dots)
    read, (m, n, k) = found.read, found.sizes
    beside = joined(read.columns, (read.c,))[0]
    if len(beside) > len(found.n) and 0 < known_size(found.n) < FEW_COLUMNS:
        raise Declined(f"fewer than {FEW_COLUMNS} columns are contiguous in a factor, but more in the result")
    if read.a.buffer.dtype in BYTE_DTYPES:
        k = ceil_divide(k, BYTES)
    width = found.n[1].size or 0 if found.is_packed else 0
    tiles = choose_tiles(m, n, k, element_bytes, machine, width)
    knobs = {
        **tiles.knobs,
        "prefetch": AHEAD,
        "fma": machine.has_fma,
        "parallel": read.parallel(found.outer, machine, "tiles"),
    }
    if constant(m) is None:
        few = choose_tiles(FEW_ROWS, n, k, element_bytes, machine, width)
        knobs |= {"few_rows": FEW_ROWS, "few_columns": few.columns, "few_depth": few.depth}
    return knobs


@composite(
    requires=(APPLIES,),
    knobs={
        **TILE_KNOBS,
        "parallel": Knob("what threads share", choices=("batch", "tiles")),
        "few_rows": Knob("the number of rows up to which a symbolic number of rows is handled apart", 0, 16),
        "few_columns": Knob("the number of columns of a tile of few rows", 1, 1024),
        "few_depth": Knob(
            "the number of steps of the sum between two loads of an accumulator, for few rows", 1, 1 << 16
        ),
    },
)
def gemm_tiles(
    program: Program,
    block: Block,
    *,
    epilogue: Blocks = (),
    lanes: Integer,
    rows: Integer,
    columns: Integer,
    depth: Integer,
    panels: Integer = 0,
    prefetch: Integer = AHEAD,
    fma: Flag = True,
    parallel: Text | None = None,
    few_rows: Integer = 0,
    few_columns: Integer = 64,
    few_depth: Integer = 256,
) -> None:
    """Compute a matrix product, or a batch of them, in register tiles of `rows` × `columns` from packed panels.

    `c[i, j] += a[i, k] * b[k, j]` becomes, for parts of `depth` steps of the sum: pack `panels` panels of B for the L2 cache, for
    each tile of rows pack A for the L1 cache, and for each panel sum a tile in registers. With `panels=0`, for few rows, A is
    packed once and each panel of B just before its use. The blocks of `epilogue` are element-wise: a bias and an activation
    are computed while the tile is in the cache.

    Preserves: the result; every element is summed in the order of k, for all knobs. With `fma`, a step is rounded once.
    """
    site = Site(program, [block, *epilogue])
    nest = site.with_epilogue()
    tiles = tiles_of(lanes, rows, columns, depth, panels)
    few = tiles_of(lanes, few_rows, few_columns, few_depth, 0, "few_columns") if few_rows else None
    tiling = Tiling(tiles, prefetch, fma, few_rows, few)
    kernel = site.build(lambda: _kernel(nest, tiling, parallel))
    site.replace(kernel, {store.buffer for store in (nest.store, *nest.after[:-1])})


def _kernel(nest: Nest, tiling: Tiling, parallel: str | None) -> tir.Stmt:
    tiles, is_inner = tiling.tiles, parallel == "tiles"
    found = _read(nest, tiles.lanes, takes_bytes=True)
    a, b, c, (m, n, k) = found.read.a, found.read.b, found.read.c, (found.m, found.n, found.k)
    if found.is_packed:
        for name, chosen in (("columns", tiles), ("few_columns", tiling.few)):
            if chosen is not None and chosen.columns != n[1].size:
                reason = (
                    f"expected {n[1].size}, the number of columns of a panel of '{b.buffer.name}', got {chosen.columns}"
                )
                raise KNOB.refuse(reason, argument=name)
    streams = Streams(ROWS, PARTS, tiles.lanes, tiling.is_fused)

    def at(offsets: Offsets) -> tir.Stmt:
        matrices = a.matrix(m, k, offsets), b.matrix(k, n, offsets), c.matrix(m, n, offsets)
        panels = panels_of(b, k, n, offsets) if found.is_packed else None
        product = Product(*found.sizes, *matrices, finish=epilogue_of(found.read, m, n, offsets), panels=panels)
        few: tir.Stmt | None = None
        is_plain = product.finish is None and not product.is_of_bytes
        if found.has_rows_along_depth and constant(found.sizes[0]) is None and is_plain and tiling.few_rows:
            few = loops_around(m, False, lambda row: emit_rows(b, a, c, n, k, {**offsets, **row}, streams, is_inner))
        return emit_product(product, tiling, is_inner, few)

    return loops_around(found.outer, parallel == "batch", at)


def known_size(axes: Sequence[Axis]) -> int:
    """Return the product of the extents of `axes`, 0 if it is symbolic."""
    return prod(axis.size or 0 for axis in axes)


def has_panels(read: Contraction, k: Sequence[Axis], lanes: int) -> bool:
    """Return whether factor B is stored in panels of whole vectors: its columns are two axes, one row of a panel is contiguous,
    and rows follow each other.
    """
    axes, rest = joined(read.columns, (read.c,))
    if len(axes) != 2 or rest or not k or axes[1].size is None or axes[1].size % lanes:
        return False
    width = axes[1].size
    return constant(read.b.step(axes)) == 1 and constant(read.b.step(k)) == width


def panels_of(b: Operand, k: Sequence[Axis], n: Sequence[Axis], offsets: Offsets) -> tir.Buffer:
    """Return factor B as panels of shape (panels, k, columns of a panel)."""
    sizes = extent_of(n[:1]), extent_of(k), extent_of(n[1:])
    return view(b.buffer, sizes, (b.step(n[:1]), b.step(k), 1), b.at(offsets))
