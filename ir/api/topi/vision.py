"""Operators of object detection as tensor expressions (TVM: `tvm.topi.vision`)."""

from __future__ import annotations

from collections.abc import Sequence

from ... import te
from .table import function


def roi_align(
    data: te.Tensor,
    rois: te.Tensor,
    pooled_size: int | Sequence[int],
    spatial_scale: float,
    mode: str = "avg",
    sample_ratio: int = -1,
    aligned: bool = False,
    layout: str = "NCHW",
) -> te.Tensor:
    """Return regions of images, resized to `pooled_size` by means or maxima of interpolated samples."""
    return function("vision.roi_align")(data, rois, pooled_size, spatial_scale, sample_ratio, aligned, layout, mode)


def roi_pool(
    data: te.Tensor, rois: te.Tensor, pooled_size: int | Sequence[int], spatial_scale: float, layout: str = "NCHW"
) -> te.Tensor:
    """Return the maxima of `pooled_size` parts of regions of images."""
    return function("vision.roi_pool")(data, rois, pooled_size, spatial_scale, layout)
