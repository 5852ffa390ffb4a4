"""Rows for reductions, indices of extrema, and cumulative sums and products."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ....ir import relax
from ....ir.api.relax import op
from ....ir.building.values import const
from ..values import axis_of, dims_of, dtype_of, is_floating, rank_of
from .converter import Converter
from .rows import Convert, Family

ROWS = Family()
Reduce = Callable[[relax.Expr, list[int], bool], relax.Expr]


def _axes(c: Converter, a: Any) -> list[int] | None:
    """Return the axes as numbers from the front; None to return the data as they are."""
    rank = rank_of(a.data)
    axes = [] if a.axes is None else c.axes(a.axes)
    if not axes:
        return None if getattr(a, "noop_with_empty_axes", 0) else list(range(rank))
    return [axis_of(axis, rank) for axis in axes]


def _reduction(reduce: Reduce, before: Callable[[relax.Expr], relax.Expr] = lambda x: x) -> Convert:
    """Return the row of a reduction of what `before` returns for each element."""

    def convert(c: Converter, a: Any) -> relax.Expr:
        axes = _axes(c, a)
        if axes is None or not rank_of(a.data):
            return _of_one(c, a, reduce, before)
        return reduce(before(a.data), axes, bool(a.keepdims))

    return convert


def _of_one(c: Converter, a: Any, reduce: Reduce, before: Callable[[relax.Expr], relax.Expr]) -> relax.Expr:
    """Reduce every element by itself."""
    dims = dims_of(a.data)
    column = op.reshape(a.data, c.shape((*dims, 1)))
    return reduce(before(column), [len(dims)], False)


def _floating(function: Reduce) -> Reduce:
    """Reduce integers as float64."""

    def reduce(x: relax.Expr, axes: list[int], keepdims: bool) -> relax.Expr:
        dtype = dtype_of(x)
        if is_floating(dtype):
            return function(x, axes, keepdims)
        return op.astype(function(op.astype(x, "float64"), axes, keepdims), dtype)

    return reduce


def _extremum(reduce: Reduce) -> Reduce:
    """Reduce truth values as uint8: the maximum of none is false, and the minimum true."""

    def convert(x: relax.Expr, axes: list[int], keepdims: bool) -> relax.Expr:
        if dtype_of(x) != "bool":
            return reduce(x, axes, keepdims)
        return op.not_equal(reduce(op.astype(x, "uint8"), axes, keepdims), const(0, "uint8"))

    return convert


def log_sum_exp(x: relax.Expr, axes: list[int], keepdims: bool) -> relax.Expr:
    """Return the logarithm of the sum of exponentials, without overflow; -inf of elements that are all -inf."""
    largest = op.max(x, axes, True)
    shift = op.where(op.isfinite(largest), largest, const(0, dtype_of(x)))
    total = op.log(op.sum(op.exp(op.subtract(x, shift)), axes, keepdims))
    return op.add(total, shift if keepdims else op.squeeze(shift, axes))


ROWS.add({
    "ReduceSum": _reduction(op.sum),
    "ReduceProd": _reduction(op.prod),
    "ReduceMean": _reduction(_floating(op.mean)),
    "ReduceMax": _reduction(_extremum(op.max)),
    "ReduceMin": _reduction(_extremum(op.min)),
    "ReduceL1": _reduction(op.sum, op.abs),
    "ReduceSumSquare": _reduction(op.sum, op.square),
    "ReduceL2": _reduction(_floating(lambda x, axes, keepdims: op.sqrt(op.sum(op.square(x), axes, keepdims)))),
    "ReduceLogSum": _reduction(_floating(lambda x, axes, keepdims: op.log(op.sum(x, axes, keepdims)))),
    "ReduceLogSumExp": _reduction(_floating(log_sum_exp)),
})  # fmt: skip


@ROWS.row("ArgMax", "ArgMin")
def _index(c: Converter, a: Any) -> relax.Expr:
    """Return the index of the first extremum, or of the last with `select_last_index`."""
    find = op.argmax if c.node.op_type == "ArgMax" else op.argmin
    x, axis = a.data, axis_of(a.axis, rank_of(a.data))
    if not rank_of(x):
        return const(0, "int64")
    if not getattr(a, "select_last_index", 0):
        return find(x, axis, bool(a.keepdims))
    found = find(op.flip(x, axis), axis, bool(a.keepdims))
    return op.subtract(c.full(dims_of(x)[axis] - 1, "int64"), found)


@ROWS.row("CumSum", "CumProd")
def _cumulative(c: Converter, a: Any) -> relax.Expr:
    """Return the cumulative sums or products along an axis; if the axis is known at run time only, choose among those along all."""
    rank, known = rank_of(a.x), c.elements(a.axis)
    if known is not None or rank == 1:
        return _along(c, a, 0 if known is None else axis_of(int(known.reshape(-1)[0]), rank))
    axis = c.emit(op.astype(op.reshape(a.axis, ()), "int64"), "_axis")
    axis = op.where(op.less(axis, const(0, "int64")), op.add(axis, const(rank, "int64")), axis)
    return op.take(op.stack([_along(c, a, place) for place in range(rank)], 0), axis, 0)


def _along(c: Converter, a: Any, axis: int) -> relax.Expr:
    scan = op.cumsum if c.node.op_type == "CumSum" else op.cumprod
    x = op.flip(a.x, axis) if a.reverse else a.x
    made = scan(x, axis, exclusive=bool(a.exclusive))
    return op.flip(made, axis) if a.reverse else made
