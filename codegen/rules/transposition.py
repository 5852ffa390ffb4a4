"""Transposition of a square of vectors in registers; there are as many vectors as lanes.

Squares of 1, 2, 4, … lanes are swapped across the diagonal step by step: log2(n) steps of n shuffles.
"""

from __future__ import annotations

from collections.abc import Callable

from ...ir import tir
from .build import Index, allocated, index, lanes, load, new_buffer, store, unrolled

Read = Callable[[Index], tir.PrimExpr]
Write = Callable[[Index, tir.PrimExpr], tir.Stmt]


def transposed(count: int, dtype: str, read: Read, write: Write) -> tir.Stmt:
    """Return statements that call `write(i, v)` for each column `v` of the square whose row `i` is `read(i)`."""
    square = new_buffer("square", dtype, (count, count), "local")

    def row(i: Index) -> tir.PrimExpr:
        return load(square, i, lanes(0, count))

    def put(i: Index, value: tir.PrimExpr) -> tir.Stmt:
        return store(square, value, i, lanes(0, count))

    size = index(count, "int32")
    steps: list[tir.Stmt] = [unrolled("row", size, lambda i: put(i, read(i)))]
    distance = 1
    while distance < count:
        for i in range(count):
            if not i & distance:
                steps += _exchange(row(i), row(i + distance), distance, count, square, i)
        distance *= 2
    return allocated([square], [*steps, unrolled("column", size, lambda i: write(i, row(i)))])


def _exchange(
    first: tir.PrimExpr, second: tir.PrimExpr, distance: int, count: int, square: tir.Buffer, i: int
) -> list[tir.Stmt]:
    """Swap the upper right and the lower left squares of two rows."""
    low = [lane if not lane & distance else count + lane - distance for lane in range(count)]
    high = [lane + distance if not lane & distance else count + lane for lane in range(count)]
    upper, lower = tir.Var(first.dtype, "upper"), tir.Var(first.dtype, "lower")
    places = lanes(0, count)
    writes = tir.SeqStmt((store(square, upper, i, places), store(square, lower, i + distance, places)))
    inner = tir.LetStmt(lower, _shuffle(first, second, high), writes)
    return [tir.LetStmt(upper, _shuffle(first, second, low), inner)]


def _shuffle(first: tir.PrimExpr, second: tir.PrimExpr, picked: list[int]) -> tir.PrimExpr:
    return tir.Shuffle(first.dtype, (first, second), tuple([index(lane, "int32") for lane in picked]))
