"""Operators on regions of images: struct info, and the maximum of each part (TVM: `relax/op/vision`, `topi/vision/rcnn`)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from .. import te, tir
from ..base import StructInfo
from . import dims as d
from .inference import Inference, dims_of, tensor_info
from .layouts import layout_of
from .registry import Param, RelaxOp, register


def wide_dtype(*dtypes: str) -> str:
    """Return the dtype of coordinates and sums."""
    return "float64" if "float64" in dtypes else "float32"


def use_square(values: dict[str, Any]) -> None:
    """Use a single number for height and width."""
    size = values["pooled_size"]
    if len(size) == 1:
        values["pooled_size"] = tuple(size) * 2


def infer_regions(a: Inference, layouts: Sequence[str]) -> StructInfo:
    if a.attr("layout") not in layouts:
        raise a.fail(
            "E0325", f"cannot work in the layout {a.attr('layout')} as 'layout'", f"use {' or '.join(layouts)}"
        )
    layout = layout_of(a, "layout", "NCHW")
    info, rois = a.rank("data", 4), a.rank("rois", 2)
    a.float_tensor("rois")
    size = a.per_dimension("pooled_size", 2)
    if min(size) < 1:
        raise a.fail("E0321", f"needs positive numbers as 'pooled_size', not {list(size)}")
    dims, regions = dims_of(info), dims_of(rois)
    if regions is not None:
        reason = f"needs 5 values for each region, but dimension 1 of 'rois' is {d.show_one(regions[1])}"
        a.check_equal(regions[1], d.dim(5), reason, "give the number of the image, x1, y1, x2 and y2")
    if dims is None or regions is None:
        return tensor_info(None, info.dtype, 4, info.vdevice)
    channels = layout.primal(dims, "NCHW")[1]
    result = [regions[0], channels, d.dim(size[0]), d.dim(size[1])]
    return tensor_info(layout.split(result, "NCHW"), info.dtype, 4, info.vdevice)


def image_of(a: Any, roi: tir.PrimExpr) -> tir.PrimExpr:
    return te.cast(a.rois(roi, te.const(0, "int64")), "int64")


def _infer_roi_pool(a: Inference) -> StructInfo:
    return infer_regions(a, ("NCHW",))


def _bounds(a: Any, side: int, length: Any, math: Any, roi: Callable[[int], Any], p: Any) -> tuple[Any, Any]:
    """Return the first position of element `p` of a region, and the one after the last, as floats from 0 to `length`."""
    start, end = (math.floor(roi(column) * a.spatial_scale + 0.5) for column in (2 - side, 4 - side))
    step = math.maximum(end - start + 1, 1) / a.pooled_size[side]
    ends = (math.floor(p * step) + start, math.ceil((p + 1) * step) + start)
    first, last = (math.minimum(math.maximum(place, 0), length) for place in ends)
    return first, last


def _roi_pool(a: Any) -> te.Tensor:
    x, wide = a.data, wide_dtype(a.rois.dtype)
    y, z = (te.reduce_axis((te.const(0, "int64"), length), "k") for length in x.dims[2:])
    least = te.least(x.dtype)

    def bounds(side: int, i: tir.PrimExpr, p: tir.PrimExpr) -> tuple[tir.PrimExpr, tir.PrimExpr]:
        def roi(column: int) -> tir.PrimExpr:
            return te.cast(a.rois(i, te.const(column, "int64")), wide)

        return _bounds(a, side, te.cast(x.dims[2 + side], wide), te, roi, te.cast(p, wide))

    def within(side: int, i: tir.PrimExpr, p: tir.PrimExpr, place: tir.PrimExpr) -> tir.PrimExpr:
        first, last = bounds(side, i, p)
        return te.all(first <= te.cast(place, wide), te.cast(place, wide) < last)

    def over_rows(i: tir.PrimExpr, c: tir.PrimExpr, p: tir.PrimExpr, column: tir.PrimExpr) -> Any:
        return te.max(te.select(within(0, i, p, y.var), x(image_of(a, i), c, y, column), least), axis=y)

    tall = te.compute((*a.result.dims[:3], x.dims[3]), over_rows, "roi_pool_rows")

    def over_columns(i: tir.PrimExpr, c: tir.PrimExpr, p: tir.PrimExpr, q: tir.PrimExpr) -> Any:
        return te.max(te.select(within(1, i, q, z.var), tall(i, c, p, z), least), axis=z)

    pooled = te.compute(a.result.dims, over_columns, "roi_pool_columns")

    def value(i: tir.PrimExpr, c: tir.PrimExpr, p: tir.PrimExpr, q: tir.PrimExpr) -> tir.PrimExpr:
        (top, bottom), (left, right) = bounds(0, i, p), bounds(1, i, q)
        return te.select(te.all(top < bottom, left < right), pooled(i, c, p, q), te.const(0, x.dtype))

    return te.compute(a.result.dims, value, "roi_pool")


def _numpy_roi_pool(np: Any, a: Any) -> Any:
    result = np.zeros((len(a.rois), a.data.shape[1], *a.pooled_size), a.data.dtype)
    for number, roi in enumerate(a.rois.astype(wide_dtype(str(a.rois.dtype)))):
        for place in np.ndindex(*a.pooled_size):
            ends = [
                _bounds(a, side, a.data.shape[2 + side], np, roi.__getitem__, roi.dtype.type(place[side]))
                for side in (0, 1)
            ]
            within = [
                (np.arange(length) >= first) & (np.arange(length) < last)
                for length, (first, last) in zip(a.data.shape[2:], ends, strict=True)
            ]
            window = a.data[int(roi[0])][:, within[0]][:, :, within[1]]
            if window.size:
                result[number, :, *place] = window.max((1, 2))
    return result


register(
    RelaxOp(
        "relax.vision.roi_pool",
        (
            Param("data"),
            Param("rois"),
            Param("pooled_size", "ints"),
            Param("spatial_scale", "float"),
            Param("layout", "str", "NCHW"),
        ),
        _infer_roi_pool,
        "Return the maxima of `pooled_size` parts of the regions `rois`, of shape (n, 5) with the number of the image, x1, y1, x2 "
        "and y2; 0 for parts without pixels.",
        _numpy_roi_pool,
        _roi_pool,
        complete=use_square,
    )
)
