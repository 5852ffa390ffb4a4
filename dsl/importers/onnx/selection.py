"""Rows for operators that sort, or whose output has a size that depends on values."""

from __future__ import annotations

from typing import Any

from ....ir import relax
from ....ir.api.relax import op
from ....ir.building.values import const
from ....ir.ops import dims as d
from ..values import axis_of, dims_of, dtype_of, rank_of, static
from .converter import Converter
from .rows import Family

ROWS = Family()


@ROWS.row("TopK")
def _topk(c: Converter, a: Any) -> Any:
    """Return the best elements and their indices; before version 10, their number is an attribute."""
    axis = axis_of(a.axis, rank_of(a.X))
    count = getattr(a, "k", None) if not hasattr(a, "K") else c.sizes(a.K)[0]
    largest = bool(getattr(a, "largest", 1))
    size = dims_of(a.X)[axis]
    if static(count):
        if d.value_of(size) is not None and static(count) > d.value_of(size):  # type: ignore[operator]
            raise ValueError(f"k is {count}, but the axis has {d.value_of(size)} elements")
        found = c.emit(op.topk(a.X, static(count), axis, "both", largest, "int64"), "_both")
        return relax.TupleGetItem(found, 0), relax.TupleGetItem(found, 1)
    order = op.argsort(a.X, axis, largest, "int64")
    best = c.emit(op.strided_slice(order, [axis], [0], [count], [1], assume_inbound=True), "_best")
    return op.gather_elements(a.X, best, axis), best


@ROWS.row("NonZero")
def _nonzero(c: Converter, a: Any) -> relax.Expr:
    return op.nonzero(a.X)


@ROWS.row("Compress")
def _compress(c: Converter, a: Any) -> relax.Expr:
    """Return the elements along an axis, by default of the flattened data, at which the condition holds."""
    x, axis = (
        (op.reshape(a.input, c.shape((-1,))), 0) if a.axis is None else (a.input, axis_of(a.axis, rank_of(a.input)))
    )
    found = c.known_shape(c.emit(op.nonzero(a.condition), "_nonzero"))
    return op.take(x, op.reshape(found, c.shape((dims_of(found)[1],))), axis)


@ROWS.row("Unique")
def _unique(c: Converter, a: Any) -> Any:
    """Return distinct elements, the indices of their first occurrences, the inverse, and counts; without `sorted`, in the order of
    the first occurrences.
    """
    axis = None if a.axis is None else axis_of(a.axis, rank_of(a.X))
    parts = c.emit(op.unique(a.X, True, True, True, True, axis), "_unique")
    values, first, inverse, counts = (c.known_shape(c.emit(relax.TupleGetItem(parts, n), f"_{n}")) for n in range(4))
    inverse = op.reshape(inverse, c.shape((-1,)))
    if a.sorted:
        return values, first, inverse, counts
    order = c.emit(op.argsort(first, 0, False, "int64"), "_order")
    rank = op.argsort(order, 0, False, "int64")
    return (
        op.take(values, order, 0 if axis is None else axis),
        op.take(first, order, 0),
        op.take(rank, inverse, 0),
        op.take(counts, order, 0),
    )


@ROWS.row("NonMaxSuppression")
def _suppression(c: Converter, a: Any) -> relax.Expr:
    """Return rows of image, class and box; a box that overlaps a better one by exactly the threshold is kept."""
    boxes = a.boxes
    if a.center_point_box:
        x, y, width, height = (op.strided_slice(boxes, [2], [place], [place + 1]) for place in range(4))
        half = const(0.5, dtype_of(boxes))
        across, down = op.multiply(width, half), op.multiply(height, half)
        corners = [op.subtract(y, down), op.subtract(x, across), op.add(y, down), op.add(x, across)]
        boxes = op.concat(corners, 2)
    most = const([0], "int64") if a.max_output_boxes_per_class is None else a.max_output_boxes_per_class
    overlap, least = (
        const([value], "float32") if given is None else given
        for given, value in ((a.iou_threshold, 0.0), (a.score_threshold, float("-inf")))
    )
    found = op.vision.all_class_non_max_suppression(boxes, a.scores, most, _next(c, overlap), least)
    return relax.TupleGetItem(c.emit(found, "_found"), 0)


def _next(c: Converter, x: relax.Expr) -> relax.Expr:
    """Return the next greater float32, for the comparison with less or equal instead of less."""
    import numpy as np

    if isinstance(x, relax.Constant):
        return const(np.nextafter(x.data, np.float32(np.inf)), "float32")
    return op.multiply(x, const(np.float32(1 + 2.0**-23), "float32"))
