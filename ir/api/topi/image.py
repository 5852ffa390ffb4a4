"""Image operators of `relax.image` as tensor expressions (TVM: `tvm.topi.image`)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ... import te
from .table import function


def resize2d(
    data: te.Tensor,
    roi: Sequence[float],
    size: Sequence[Any],
    layout: str = "NCHW",
    method: str = "linear",
    coordinate_transformation_mode: str = "half_pixel",
    rounding_method: str = "",
    **options: Any,
) -> te.Tensor:
    """Return resized images. Without `rounding_method`, the nearest element is found by rounding the position down, or to the
    nearest with aligned corners.
    """
    nearest = "round" if coordinate_transformation_mode == "align_corners" else "floor"
    mode, rounding = coordinate_transformation_mode, rounding_method or nearest
    return function("image.resize2d")(data, size, roi, layout, method, mode, rounding, **options)
