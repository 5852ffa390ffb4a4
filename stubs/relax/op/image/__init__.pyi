"""`tvms.relax.op.image`. Generated from the declarations; do not edit."""

import builtins
import collections.abc
import tvms.ir.relax
import tvms.ir.tir
import typing
def affine_grid(data: tvms.ir.relax.Expr, size: tvms.ir.relax.Expr | collections.abc.Sequence[tvms.ir.tir.PrimExpr | builtins.int] | builtins.int, align_corners: builtins.bool = True) -> tvms.ir.relax.Expr:
    """Return the sampling grid of `size` that the affine transformations `data`, of shape (n, 2, 3) or (n, 3, 4), give; its second dimension holds x, y and perhaps z, where -1 and 1 are the centers of the outer pixels, or else their edges."""
def decode(data: tvms.ir.relax.Expr, pixel_format: tvms.ir.relax.Expr | builtins.str) -> tvms.ir.relax.Expr:
    """Return the pixels (height, width, channels) of an encoded image, in the order "RGB", "BGR" or "Grayscale"."""
def grid_sample(data: tvms.ir.relax.Expr, grid: tvms.ir.relax.Expr, method: builtins.str = 'bilinear', layout: builtins.str = 'NCHW', padding_mode: builtins.str = 'zeros', align_corners: builtins.bool = False) -> tvms.ir.relax.Expr:
    """Return the images `data` interpolated at the positions of `grid`, whose second dimension holds x, y and perhaps z from -1 to 1; positions outside of an image read zeros, its border, or its reflection."""
def resize2d(data: tvms.ir.relax.Expr, size: tvms.ir.relax.Expr | collections.abc.Sequence[tvms.ir.tir.PrimExpr | builtins.int] | builtins.int, roi: typing.Any = ..., layout: builtins.str = 'NCHW', method: builtins.str = 'linear', coordinate_transformation_mode: builtins.str = 'half_pixel', rounding_method: builtins.str = 'round', cubic_alpha: builtins.float = -0.75, cubic_exclude: builtins.int = 0, extrapolation_value: builtins.float = 0.0, out_dtype: builtins.str | None = None) -> tvms.ir.relax.Expr:
    """Resize images to `size`, height and width."""
def resize3d(data: tvms.ir.relax.Expr, size: tvms.ir.relax.Expr | collections.abc.Sequence[tvms.ir.tir.PrimExpr | builtins.int] | builtins.int, roi: typing.Any = ..., layout: builtins.str = 'NCDHW', method: builtins.str = 'linear', coordinate_transformation_mode: builtins.str = 'half_pixel', rounding_method: builtins.str = '', cubic_alpha: builtins.float = -0.75, cubic_exclude: builtins.int = 0, extrapolation_value: builtins.float = 0.0, out_dtype: builtins.str | None = None) -> tvms.ir.relax.Expr:
    """Resize images to `size`, depth, height and width."""
from tvms.relax.op.image import image as image
