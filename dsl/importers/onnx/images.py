"""Rows for sampling at the positions of grids, and for regions of images."""

from __future__ import annotations

from typing import Any

from ....ir import relax
from ....ir.api.relax import op
from ....ir.building.values import apply, const
from ..values import dtype_of, rank_of
from .converter import Converter
from .rows import Family

ROWS = Family()
_METHODS = {
    "linear": "bilinear", "bilinear": "bilinear", "nearest": "nearest", "cubic": "bicubic", "bicubic": "bicubic",
}  # fmt: skip


@ROWS.row("GridSample")
def _grid_sample(c: Converter, a: Any) -> relax.Expr:
    return sampled_by_grid(c, a.X, a.grid, a.mode, a.padding_mode, bool(a.align_corners))


def sampled_by_grid(
    c: Converter, x: relax.Expr, grid: relax.Expr, mode: str, padding_mode: str, align_corners: bool
) -> relax.Expr:
    """Sample images at the positions of a grid, whose coordinates are its last dimension."""
    rank = rank_of(x)
    if rank not in (4, 5):
        raise c.unsupported(f"it samples data of {rank} dimensions", "use 4 or 5")
    grid = op.permute_dims(grid, [0, rank - 1, *range(1, rank - 1)])
    layout = "NCHW" if rank == 4 else "NCDHW"
    return op.image.grid_sample(x, grid, _METHODS[mode], layout, padding_mode, align_corners)


@ROWS.row("AffineGrid")
def _affine_grid(c: Converter, a: Any) -> relax.Expr:
    grid = op.image.affine_grid(a.theta, c.shape(c.sizes(a.size)[2:]), bool(a.align_corners))
    return op.permute_dims(grid, [0, *range(2, rank_of(grid)), 1])


@ROWS.row("RoiAlign")
def _roi_align(c: Converter, a: Any) -> relax.Expr:
    """Move regions by half a pixel if coordinates are those of centers, as before version 16 they were not."""
    rois, dtype = a.rois, dtype_of(a.rois)
    is_aligned = getattr(a, "coordinate_transformation_mode", "output_half_pixel") == "half_pixel"
    if is_aligned:
        rois = op.subtract(rois, const(0.5 / a.spatial_scale, dtype))
    images = op.reshape(c.cast(a.batch_indices, dtype), c.shape((-1, 1)))
    size = (a.output_height, a.output_width)
    ratio, mode = a.sampling_ratio or -1, {"avg": "avg", "max": "weighted_max"}[a.mode.lower()]
    return op.vision.roi_align(a.X, op.concat([images, rois], 1), size, a.spatial_scale, ratio, is_aligned, mode=mode)


@ROWS.row("ImageDecoder")
def _decoder(c: Converter, a: Any) -> relax.Expr:
    """Decode the bytes of a file on the host, by Pillow, which must be installed when the model runs."""
    if a.pixel_format not in ("RGB", "BGR", "Grayscale"):
        raise ValueError(f"the pixel format is '{a.pixel_format}', not RGB, BGR or Grayscale")
    return apply("image.decode", a.encoded_stream, relax.StringImm(a.pixel_format))
