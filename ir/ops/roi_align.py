"""Resizing of regions of images (TVM: `topi/vision/rcnn`)."""

from __future__ import annotations

import operator
from collections.abc import Sequence
from functools import reduce
from itertools import product
from typing import Any

from .. import te, tir
from ..base import StructInfo
from .inference import Inference
from .layouts import numpy_packed, numpy_unpacked, packed, unpacked, whole_dims
from .regions import image_of, infer_regions, use_square, wide_dtype
from .registry import Param, RelaxOp, register

_MODES = ("avg", "max", "weighted_max")


def _infer_roi_align(a: Inference) -> StructInfo:
    if a.attr("mode") not in _MODES:
        raise a.fail("E0321", f'has no mode "{a.attr("mode")}"', 'choose "avg", "max" or "weighted_max"')
    a.float_tensor("data")
    return infer_regions(a, ("NCHW", "NHWC"))


class _Side:
    """The height or the width of regions: where the samples are whose mean or maximum is an element of the result.

    If `sample_ratio` is not positive, an element has as many samples as its length in pixels, rounded up. Several are more
    than half a pixel apart, so that `taps` suffices for the first one, the last one, and those in the image.
    """

    def __init__(self, a: Any, number: int, length: tir.PrimExpr, wide: str) -> None:
        self.a, self.number, self.length, self.wide = a, number, length, wide
        self.size = int(a.pooled_size[number])
        self.is_adaptive = a.sample_ratio <= 0
        self.taps = length * 2 + 8 if self.is_adaptive else te.const(a.sample_ratio, "int64")

    def _corner(self, roi: tir.PrimExpr, column: int) -> tir.PrimExpr:
        value = te.cast(self.a.rois(roi, te.const(column, "int64")), self.wide)
        return value * te.const(self.a.spatial_scale, self.wide)

    def _spread(self, roi: tir.PrimExpr) -> tuple[tir.PrimExpr, tir.PrimExpr, tir.PrimExpr]:
        """Return where a region begins, the length of its elements, and their number of samples."""
        start, end = self._corner(roi, 2 - self.number), self._corner(roi, 4 - self.number)
        length = end - start if self.a.aligned else te.maximum(end - start, 1)
        step = length / te.const(self.size, self.wide)
        return start, step, te.ceil(step) if self.is_adaptive else te.const(self.a.sample_ratio, self.wide)

    def _position(self, roi: tir.PrimExpr, p: tir.PrimExpr, tap: tir.PrimExpr) -> tir.PrimExpr:
        """Return the position of a sample of element `p`, moved into the image; -1 if it is outside, -2 if there is none."""
        start, step, count = self._spread(roi)
        gap = step / (te.maximum(count, 1) if self.is_adaptive else count)
        first, k = start + te.cast(p, self.wide) * step, te.cast(tap, self.wide)
        is_first, is_last = te.equal(tap, 0), te.equal(tap, self.taps - 1)
        if self.is_adaptive:
            k = te.maximum(te.floor((first * -1 - 1) / gap - 0.5), 0) + k
            if self.a.mode != "avg":
                k = te.select(is_first, 0, te.select(is_last, count - 1, k))
        at, length = first + (k + 0.5) * gap, te.cast(self.length, self.wide)
        is_inside = te.all(te.const(-1, self.wide) <= at, at <= length)
        outside, nowhere = te.const(-1, self.wide), te.const(-2, self.wide)
        moved = te.select(is_inside, te.minimum(te.maximum(at, 0), length - 1), outside)
        if not self.is_adaptive:
            return moved
        if self.a.mode != "avg":  # The maximum of no samples is 0.
            nowhere = te.select(is_first, outside, nowhere)
        return te.select(te.all(k >= 0, k < count), moved, nowhere)

    def positions(self) -> te.Tensor:
        """Return the positions of all samples (region, element, tap)."""
        shape = (self.a.rois.dims[0], te.const(self.size, "int64"), self.taps)
        return te.compute(shape, self._position, "roi_align_position")

    def weights(self) -> te.Tensor:
        """Return the weight of each row or column of the image in the mean of the samples (region, element, row)."""
        positions, tap = self.positions(), te.reduce_axis((te.const(0, "int64"), self.taps), "k")

        def weight(roi: tir.PrimExpr, p: tir.PrimExpr, row: tir.PrimExpr) -> tir.PrimExpr:
            at = positions(roi, p, tap)
            near = te.maximum(te.const(1, self.wide) - te.abs(at - te.cast(row, self.wide)), 0)
            return te.sum(te.select(at >= 0, near, te.const(0, self.wide)), axis=tap)

        shape = (self.a.rois.dims[0], te.const(self.size, "int64"), self.length)
        total = te.compute(shape, weight, "roi_align_weight")

        def mean(roi: tir.PrimExpr, p: tir.PrimExpr, row: tir.PrimExpr) -> tir.PrimExpr:
            return total(roi, p, row) / te.maximum(self._spread(roi)[2], 1)

        return te.compute(shape, mean, "roi_align_mean")


def _roi_align(a: Any) -> te.Tensor:
    x, wide = unpacked(a.data, a.layout, "NCHW"), wide_dtype(a.data.dtype, a.rois.dtype)
    shape = whole_dims(a.result.dims, a.layout, "NCHW")
    sides = [_Side(a, number, x.dims[2 + number], wide) for number in (0, 1)]
    is_separable = sides[0].is_adaptive and a.mode == "avg"
    result = _weighted(a, x, shape, sides) if is_separable else _sampled(a, x, shape, sides)
    return packed(result, a.layout, "NCHW")


def _weighted(a: Any, x: te.Tensor, shape: Sequence[tir.PrimExpr], sides: Sequence[_Side]) -> te.Tensor:
    """Return the means as products with the weights of rows and of columns."""
    (rows, columns), wide = [side.weights() for side in sides], sides[0].wide
    y, z = (te.reduce_axis((te.const(0, "int64"), side.length), "k") for side in sides)

    def over_rows(i: tir.PrimExpr, c: tir.PrimExpr, p: tir.PrimExpr, column: tir.PrimExpr) -> Any:
        pixel = te.cast(x(image_of(a, i), c, y, column), wide)
        return te.sum(te.select(rows(i, p, y) > 0, pixel * rows(i, p, y), te.const(0, wide)), axis=y)

    tall = te.compute((*shape[:3], sides[1].length), over_rows, "roi_align_rows")

    def over_columns(i: tir.PrimExpr, c: tir.PrimExpr, p: tir.PrimExpr, q: tir.PrimExpr) -> Any:
        weight = columns(i, q, z)
        return te.sum(te.select(weight > 0, tall(i, c, p, z) * weight, te.const(0, wide)), axis=z)

    return _as_result(a, te.compute(shape, over_columns, "roi_align"))


def _sampled(a: Any, x: te.Tensor, shape: Sequence[tir.PrimExpr], sides: Sequence[_Side]) -> te.Tensor:
    (rows, columns), wide = [side.positions() for side in sides], sides[0].wide
    y, z = (te.reduce_axis((te.const(0, "int64"), side.taps), "k") for side in sides)
    zero, is_mean = te.const(0, wide), a.mode == "avg"

    def sample(i: Sequence[tir.PrimExpr]) -> tir.PrimExpr:
        """Return the bilinear interpolation at one sample, or its largest summand; -inf if there is none."""
        at = (rows(i[0], i[2], y), columns(i[0], i[3], z))
        low = [te.cast(te.maximum(place, 0), "int64") for place in at]
        high = [te.minimum(place + 1, side.length - 1) for place, side in zip(low, sides, strict=True)]
        parts = [
            ((place - te.cast(first, wide)) * -1 + 1, (te.cast(first + 1, wide) - place) * -1 + 1)
            for place, first in zip(at, low, strict=True)
        ]
        summands: list[tir.PrimExpr] = []
        for row, row_part in zip((low[0], high[0]), parts[0], strict=True):
            for column, part in zip((low[1], high[1]), parts[1], strict=True):
                pixel = te.cast(x(image_of(a, i[0]), i[1], row, column), wide)
                summands.append(te.select(row_part * part > 0, pixel * (row_part * part), zero))
        found = reduce(te.maximum, summands) if a.mode == "weighted_max" else reduce(operator.add, summands, zero)
        value = te.select(te.all(at[0] >= 0, at[1] >= 0), found, zero)
        exists = te.all(at[0] > -2, at[1] > -2)
        return value if is_mean or not sides[0].is_adaptive else te.select(exists, value, te.least(wide))

    def value(*i: tir.PrimExpr) -> Any:
        return te.sum(sample(i), axis=[y, z]) if is_mean else te.max(sample(i), axis=[y, z])

    reduced: te.Tensor = te.compute(shape, value, "roi_align")
    if not is_mean:
        return _as_result(a, reduced)
    count = te.const(a.sample_ratio**2, wide)
    return _as_result(a, te.compute(shape, lambda *i: reduced(*i) / count, "roi_align_mean"))


def _as_result(a: Any, x: te.Tensor) -> te.Tensor:
    return x if x.dtype == a.result.dtype else te.compute(x.dims, lambda *i: te.cast(x(*i), a.result.dtype), "roi_cast")


def _numpy_positions(np: Any, a: Any, roi: Any, side: int, length: int) -> tuple[Any, Any]:
    """Return the positions of the samples (element, tap) of a region as `_Side.positions`, and their number."""
    wide, is_adaptive = roi.dtype.type, a.sample_ratio <= 0
    start, end = (roi[column] * wide(a.spatial_scale) for column in (2 - side, 4 - side))
    step = (end - start if a.aligned else np.maximum(end - start, wide(1))) / wide(a.pooled_size[side])
    count = np.ceil(step) if is_adaptive else wide(a.sample_ratio)
    gap = step / np.maximum(count, wide(1))
    first = start + np.arange(a.pooled_size[side], dtype=roi.dtype)[:, None] * step
    k = np.arange(length * 2 + 8 if is_adaptive else a.sample_ratio, dtype=roi.dtype) + first * 0
    if is_adaptive:
        k = np.maximum(np.floor((first * -1 - 1) / gap - wide(0.5)), 0) + np.arange(k.shape[1], dtype=roi.dtype)
        if a.mode != "avg":
            k[:, 0], k[:, -1] = 0, count - 1
    at = first + (k + wide(0.5)) * gap
    moved = np.where((at >= -1) & (at <= length), np.minimum(np.maximum(at, 0), length - 1), -1)
    exists = (k >= 0) & (k < count) if is_adaptive else np.ones(k.shape, "bool")
    nowhere = np.where((np.arange(k.shape[1]) == 0) & (a.mode != "avg"), -1, -2)
    return np.where(exists, moved, nowhere), count


def _numpy_row(np: Any, at: Any, length: int) -> Any:
    """Return the weight of each row in a sample at `at`; no weights if it is outside."""
    return np.maximum(1 - np.abs(np.arange(length, dtype=at.dtype) - at), 0) * (at >= 0)


def _numpy_sample(np: Any, image: Any, weights: Any, mode: str) -> Any:
    """Return the sum of the pixels that have a weight, or the largest of four summands, for each channel."""
    counts = weights > 0
    summands = image[:, counts] * weights[counts]
    if mode != "weighted_max":
        return summands.sum(1)
    largest = summands.max(1, initial=-np.inf)
    return largest if counts.sum() == 4 else np.maximum(largest, 0)


def _numpy_roi_align(np: Any, a: Any) -> Any:
    x = numpy_unpacked(np, a.data, a.layout, "NCHW").astype("float64")
    result = np.zeros((len(a.rois), x.shape[1], *a.pooled_size))
    for number, roi in enumerate(a.rois.astype(wide_dtype(str(a.data.dtype), str(a.rois.dtype)))):
        (ys, rows), (zs, columns) = (_numpy_positions(np, a, roi, side, x.shape[2 + side]) for side in (0, 1))
        total = float(np.maximum(rows, 1)) * float(np.maximum(columns, 1))
        for p, q in np.ndindex(*a.pooled_size):
            pairs = [
                (y, z)
                for y, z in product(ys[p], zs[q])
                if y > -2 and z > -2 and (a.mode != "avg" or (y >= 0 and z >= 0))
            ]
            values = [
                _numpy_sample(
                    np,
                    x[int(roi[0])],
                    np.outer(_numpy_row(np, y, x.shape[2]), _numpy_row(np, z, x.shape[3])),
                    a.mode,
                )
                for y, z in pairs
            ]
            if values:
                result[number, :, p, q] = np.sum(values, 0) / total if a.mode == "avg" else np.max(values, 0)
    return numpy_packed(np, result.astype(a.result_dtype), a.layout, "NCHW")


register(
    RelaxOp(
        "relax.vision.roi_align",
        (
            Param("data"),
            Param("rois"),
            Param("pooled_size", "ints"),
            Param("spatial_scale", "float"),
            Param("sample_ratio", "int", -1),
            Param("aligned", "bool", False),
            Param("layout", "str", "NCHW"),
            Param("mode", "str", "avg"),
        ),
        _infer_roi_align,
        "Return the regions `rois`, of shape (n, 5) with the number of the image, x1, y1, x2 and y2, resized to `pooled_size`: "
        'means or maxima of `sample_ratio` interpolated samples in either direction. The mode "weighted_max", that of ONNX, '
        "takes the maximum of the four summands of each interpolation.",
        _numpy_roi_align,
        _roi_align,
        complete=use_square,
    )
)
