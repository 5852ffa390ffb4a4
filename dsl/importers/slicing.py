"""Slices and repetitions of tensors whose sizes may be symbolic."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ...ir import relax, tir
from ...ir.api.relax import op
from ...ir.ops import dims as d
from .values import dims_of, rank_of, static


def sliced(x: relax.Expr, axis: int, begin: Any, length: Any, step: int = 1) -> relax.Expr:
    """Return `length` elements of `x` along `axis`, from `begin` in steps of `step`; `x` itself if these are all.

    The slice must lie in the dimension.
    """
    start, size = d.as_dim(begin), dims_of(x)[axis]
    count = d.as_dim(length)
    if step == 1 and d.value_of(start) == 0 and d.is_equal(count, size):
        return x
    stop = (
        d.add(start, d.multiply(count, step))
        if step == 1
        else d.add(d.add(start, d.multiply(d.subtract(count, 1), step)), 1)
    )
    inside = d.value_of(size) is None or d.value_of(stop) is None
    return op.strided_slice(x, [axis], [start], [stop], [step], assume_inbound=inside)


def position(index: Any, size: tir.PrimExpr) -> tir.PrimExpr:
    """Return an index or the start of a slice, counted from the front and clamped to the dimension."""
    number, length = static(index), d.value_of(size)
    if number is not None and number < 0:
        index = d.add(size, number)
        return d.maximum(index, 0) if length is None or length + number < 0 else index
    index = d.as_dim(index)
    return d.minimum(index, size) if number is None or length is None or number > length else index


def repeated(x: relax.Expr, counts: Sequence[Any]) -> relax.Expr:
    """Repeat the tensor along each of its last dimensions; a symbolic number of times by broadcasting."""
    numbers = [static(count) for count in counts]
    if None not in numbers:
        return op.tile(x, numbers)
    rank = rank_of(x)
    counts = [*[1] * (rank - len(counts)), *counts]
    dims = [d.dim(1)] * (len(counts) - rank) + list(dims_of(x))
    split = [size for dim in dims for size in (d.dim(1), dim)]
    whole = [size for dim, count in zip(dims, counts, strict=True) for size in (d.as_dim(count), dim)]
    shape = [d.multiply(dim, d.as_dim(count)) for dim, count in zip(dims, counts, strict=True)]
    return op.reshape(op.broadcast_to(op.reshape(x, split), whole), shape)
