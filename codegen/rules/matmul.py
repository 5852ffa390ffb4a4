"""Matrix products: contractions whose axes of each kind can be fused.

Rows and columns that cannot be fused become loops around the product; the reduction axes must be fused
into one.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import prod

from ...ir import tir
from ...ir.dtype import parse_dtype
from ..machine import Machine
from .build import constant, view
from .contraction import Contraction, Offsets, Operand, extent_of, is_enough, joined, loops_around, read_contraction
from .epilogue import epilogue_of
from .gemm import Product, emit_product
from .gemv import emit_rows
from .nest import Axis, Declined, Nest

FEW_COLUMNS = 128
"""Minimum number of fused columns; with fewer, gathering columns (`convolution`) is faster."""


def schedule_matmul(nest: Nest, machine: Machine) -> tir.Stmt:
    """Return the tiled matrix product; Declined if `nest` is not one."""
    read = read_contraction(nest, takes_bytes=machine.has_byte_dots)
    a, b, c = read.a, read.b, read.c
    k, more_depth = joined(read.depth, (a, b))
    is_packed = has_panels(read, k, machine.vector_bytes // parse_dtype(c.buffer.dtype).bytes)
    n, more_columns = joined(read.columns, (c,) if is_packed else (c, b))
    m, more_rows = joined(read.rows, (c, a))
    if not read.rows and constant(b.step(n)) != 1:
        raise Declined("it is a matrix-vector product")
    if more_depth:
        raise Declined("the reduction axes are not contiguous")
    if more_columns and len(joined(read.columns, (c,))[0]) > len(n) and 0 < known_size(n) < FEW_COLUMNS:
        raise Declined(f"fewer than {FEW_COLUMNS} columns are contiguous in a factor, but more in the result")
    outer = [*read.batch, *more_rows, *more_columns]
    is_many = read.is_large and is_enough(outer, machine)
    sizes, element_bytes = (extent_of(m), extent_of(n), extent_of(k)), parse_dtype(c.buffer.dtype).bytes

    is_parallel = read.is_large and not is_many
    has_rows_along_depth = constant(b.step(k)) == 1 and constant(a.step(k)) == 1 and constant(b.step(n)) != 1

    def at(offsets: Offsets) -> tir.Stmt:
        matrices = a.matrix(m, k, offsets), b.matrix(k, n, offsets), c.matrix(m, n, offsets)
        panels = panels_of(b, k, n, offsets) if is_packed else None
        product = Product(*sizes, *matrices, finish=epilogue_of(read, m, n, offsets), panels=panels)
        few: tir.Stmt | None = None
        if has_rows_along_depth and constant(sizes[0]) is None and product.finish is None and not product.is_of_bytes:
            few = loops_around(m, False, lambda row: emit_rows(b, a, c, n, k, {**offsets, **row}, machine, is_parallel))
        return emit_product(product, machine, element_bytes, is_parallel, few)

    return loops_around(outer, is_many, at)


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
