"""Image operators of `relax.image` as tensor expressions (TVM: `tvm.topi.image`)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from ... import te
from .table import function


def _resize(spatial: int, layout: str) -> Callable[..., te.Tensor]:
    of_images = function(f"image.resize{max(spatial, 2)}d")

    def resize(
        data: te.Tensor,
        roi: Sequence[float],
        size: Sequence[Any],
        layout: str = layout,
        method: str = "linear",
        coordinate_transformation_mode: str = "half_pixel",
        rounding_method: str = "",
        bicubic_alpha: float = -0.75,
        bicubic_exclude: int = 0,
        extrapolation_value: float = 0.0,
        out_dtype: str | None = None,
    ) -> te.Tensor:
        """Return resized images. Without `rounding_method`, the nearest element is found by rounding the position down, or to the
        nearest with aligned corners.
        """
        nearest = "round" if coordinate_transformation_mode == "align_corners" else "floor"
        options = (method, coordinate_transformation_mode, rounding_method or nearest, bicubic_alpha, bicubic_exclude)
        if spatial > 1:
            return of_images(data, size, roi, layout, *options, extrapolation_value, out_dtype)
        width = layout.index("W")
        row = function("expand_dims")(data, [width])
        region = (0.0, roi[0], 0.0, roi[1]) if roi else ()
        rows = of_images(row, (1, *size), region, layout.replace("W", "HW"), *options, extrapolation_value, out_dtype)
        return function("squeeze")(rows, [width])

    resize.__name__ = resize.__qualname__ = f"resize{spatial}d"
    return resize


resize1d, resize2d, resize3d = (_resize(spatial, layout) for spatial, layout in ((1, "NCW"), (2, "NCHW"), (3, "NCDHW")))


def affine_grid(data: te.Tensor, target_shape: Sequence[Any], align_corners: bool = True) -> te.Tensor:
    """Return the sampling grid of `target_shape` that the affine transformations `data` give."""
    return function("image.affine_grid")(data, target_shape, align_corners)


def grid_sample(
    data: te.Tensor,
    grid: te.Tensor,
    method: str = "bilinear",
    layout: str = "NCHW",
    padding_mode: str = "zeros",
    align_corners: bool = True,
) -> te.Tensor:
    """Return the images `data` interpolated at the positions of `grid`."""
    return function("image.grid_sample")(data, grid, method, layout, padding_mode, align_corners)
