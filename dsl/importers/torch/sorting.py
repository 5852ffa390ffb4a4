"""Rows for sorting and searching."""

from __future__ import annotations

from typing import Any

from ....ir import relax
from ....ir.api.relax import op
from ....ir.ops import dims as d
from ..values import axis_of, dims_of, rank_of, static
from .converter import Convert, Converter
from .reductions import ordered


def _sort(c: Converter, a: Any) -> Any:
    x, descending = ordered(c, a.self), bool(a.descending)
    if not rank_of(x):
        return a.self, lambda: op.zeros((), "int64")
    axis = axis_of(a.dim, rank_of(x))
    return (lambda: op.sort(x, axis, descending), lambda: op.argsort(x, axis, descending, "int64"))


def _argsort(c: Converter, a: Any) -> relax.Expr:
    value: Any = _sort(c, a)[1]
    return value()


def _topk(c: Converter, a: Any) -> Any:
    count = static(a.k)
    if count is None:
        raise c.unsupported("takes an unknown number of elements", "make the number static")
    if not rank_of(a.self):
        return a.self, lambda: op.zeros((), "int64")
    axis = axis_of(a.dim, rank_of(a.self))
    both: Any = c.emit(op.topk(a.self, count, axis, "both", bool(a.largest), "int64"), "_both")
    return both[0], both[1]


def _at(c: Converter, a: Any, place: Any) -> Any:
    """Return the element at a position of the sorted order, and its index."""
    if not rank_of(a.self):
        return a.self, lambda: op.zeros((), "int64")
    axis, keepdim = axis_of(a.dim, rank_of(a.self)), a.keepdim

    def picked(x: relax.Expr) -> relax.Expr:
        found = op.strided_slice(x, [axis], [place], [d.add(d.as_dim(place), 1)])
        return found if keepdim else op.squeeze(found, [axis])

    return (lambda: picked(op.sort(a.self, axis)), lambda: picked(op.argsort(a.self, axis, False, "int64")))


def _kth_value(c: Converter, a: Any) -> Any:
    return _at(c, a, a.k - 1)


def _median_along(c: Converter, a: Any) -> Any:
    if not rank_of(a.self):
        return a.self, lambda: op.zeros((), "int64")
    both: Any = c.emit(op.median(a.self, [a.dim], a.keepdim), "_both")
    return both[0], both[1]


def _median(c: Converter, a: Any) -> relax.Expr:
    return op.median(a.self)


def _bucketize(c: Converter, a: Any) -> relax.Expr:
    x, bounds = c.promoted(a.self, a.boundaries)
    return op.bucketize(x, bounds, a.out_int32, a.right)


def _searchsorted(c: Converter, a: Any) -> relax.Expr:
    """Count the elements of each row of `sorted_sequence` below each value."""
    right = a.right or a.side == "right"
    bounds, x = c.promoted(a.sorted_sequence, a.self)
    below = (op.less_equal if right else op.less)(op.expand_dims(bounds, -2), op.expand_dims(x, -1))
    if rank_of(bounds) == 1:
        below = (op.less_equal if right else op.less)(bounds, op.expand_dims(x, -1))
    return op.sum(c.cast(below, c.dtype), [-1])


def _isin(c: Converter, a: Any) -> relax.Expr:
    x, tests = c.promoted(a.elements, a.test_elements)
    found = op.equal(op.expand_dims(x, -1), op.reshape(tests, [-1]))
    held = c.cast(op.max(c.cast(found, "int8"), [-1]), "bool")
    return op.logical_not(held) if a.invert else held


def _unique(c: Converter, a: Any) -> Any:
    """Return the distinct elements, sorted, and the index of each element among them."""
    wanted = [a.return_inverse, a.return_counts]
    values: Any = c.emit(op.unique(a.self, True, False, *wanted), "_unique")
    parts = iter(range(1, 3))
    if not any(wanted):
        return [values, lambda: op.zeros([0], "int64"), lambda: op.zeros([0], "int64")]
    inverse, counts = (values[next(parts)] if want else (lambda: op.zeros([0], "int64")) for want in wanted)
    return [values[0], lambda: op.reshape(inverse, dims_of(a.self)), counts]


ROWS: dict[str, Convert] = {
    "sort.default": _sort,
    "sort.stable": _sort,
    "argsort.default": _argsort,
    "argsort.stable": _argsort,
    "topk.default": _topk,
    "kthvalue.default": _kth_value,
    "median.dim": _median_along,
    "median.default": _median,
    "bucketize.Tensor": _bucketize,
    "searchsorted.Tensor": _searchsorted,
    "isin.Tensor_Tensor": _isin,
    "_unique2.default": _unique,
}
