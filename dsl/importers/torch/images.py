"""Rows for upsampling, for sampling at the positions of grids, and for regions of images, with torch's sample positions."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ....ir import relax
from ....ir.api.relax import op
from ....ir.building.values import const
from ....ir.ops import dims as d
from ..interpolation import interpolated
from ..values import dims_of, dtype_of, rank_of
from .converter import Convert, Converter
from .library import library

_METHODS = {"nearest": "nearest_neighbor", "exact": "nearest_neighbor", "linear": "linear", "cubic": "cubic"}


def _upsample(method: str) -> Convert:
    def convert(c: Converter, a: Any) -> relax.Expr:
        x = a.input if hasattr(a, "input") else a.self
        spatial = rank_of(x) - 2
        scales = _scales(a, spatial)
        sizes = list(c.shape[2:])
        corners = bool(getattr(a, "align_corners", False))
        exact = all(
            scale is None or _agrees(scale, old, new)
            for scale, old, new in zip(scales, dims_of(x)[2:], sizes, strict=True)
        )
        if (exact or corners) and method != "exact":
            return _resized(c, x, sizes, method, corners)
        return _sampled(c, x, scales, method)

    return convert


def _scales(a: Any, spatial: int) -> list[float | None]:
    """Return the scale factor of each dimension, from either form of the arguments; None if only sizes are given."""
    given = getattr(a, "scale_factors", None)
    if given is not None:
        return list(given)
    names = ("scales_d", "scales_h", "scales_w")[-spatial:] if spatial > 1 else ("scales",)
    return [getattr(a, name, None) for name in names]


def _agrees(scale: float, old: Any, new: Any) -> bool:
    """Return whether a factor equals the quotient of the sizes, so that both give the same sample positions."""
    before, after = d.value_of(old), d.value_of(new)
    if before is None or after is None:
        return float(scale).is_integer()
    return before * scale == after


def _resized(c: Converter, x: relax.Expr, sizes: list[Any], method: str, corners: bool) -> relax.Expr:
    """Resize two or three dimensions; a single dimension becomes a row."""
    if len(sizes) == 1:
        *batch, last = dims_of(x)
        rows = op.reshape(x, [*batch, 1, last])
        return op.reshape(_resized(c, rows, [d.dim(1), sizes[0]], method, corners), c.shape)
    mode = "asymmetric" if method == "nearest" else "align_corners" if corners else "half_pixel"
    rounding = "floor" if method == "nearest" and not _divides(dims_of(x)[2:], sizes) else "round"
    resize = op.image.resize2d if len(sizes) == 2 else op.image.resize3d
    return resize(x, sizes, method=_METHODS[method], coordinate_transformation_mode=mode, rounding_method=rounding)


def _divides(old: Sequence[Any], new: Sequence[Any]) -> bool:
    """Return whether the new sizes divide the old ones, so that every sample position is an integer."""
    pairs = [(d.value_of(before), d.value_of(after)) for before, after in zip(old, new, strict=True)]
    return all(before is not None and after and before % after == 0 for before, after in pairs)


# --- Factors that are not quotients of sizes ------------------------------------------------------------------


def _sampled(c: Converter, x: relax.Expr, scales: list[float | None], method: str) -> relax.Expr:
    """Interpolate along one dimension after the other; the weights are obtained from torch itself."""
    spatial = len(scales)
    for axis in range(2, 2 + spatial):
        old, new = d.value_of(dims_of(x)[axis]), d.value_of(c.shape[axis])
        if old is None or new is None:
            raise c.unsupported("scales images of unknown size by a fraction", "make the size static")
        x = interpolated(x, axis, _weights(method, old, new, scales[axis - 2]))
    return x


def _weights(method: str, old: int, new: int, scale: float | None) -> Any:
    """Return the interpolation matrix (new, old): torch's result for the unit vectors."""
    torch = library()
    unit = torch.eye(old, dtype=torch.float32)[None]
    if method == "cubic":
        made = torch.ops.aten.upsample_bicubic2d(unit[:, :, None], [1, new], False, 1.0, scale)[:, :, 0]
    elif method == "linear":
        made = torch.ops.aten.upsample_linear1d(unit, [new], False, scale)
    elif method == "exact":
        made = torch.ops.aten._upsample_nearest_exact1d(unit, [new], scale)
    else:
        made = torch.ops.aten.upsample_nearest1d(unit, [new], scale)
    return made[0].T.numpy()


def _antialiased(c: Converter, a: Any) -> relax.Expr:
    """Multiply by the weight matrices along both dimensions."""
    torch = library()
    x, name = a.input if hasattr(a, "input") else a.self, c.node.target._schema.name.partition("::")[2]
    kernel: Any = getattr(torch.ops.aten, name).default
    scales = _scales(a, 2)
    for axis in (2, 3):
        old, new = d.value_of(dims_of(x)[axis]), d.value_of(c.shape[axis])
        if old is None or new is None:
            raise c.unsupported("scales images of unknown size", "make the size static")
        unit = torch.eye(old)[None, :, None]
        made = kernel(unit, [1, new], a.align_corners, 1.0, scales[axis - 2])[0, :, 0]
        matrix = const(made.numpy() if axis == 3 else made.T.numpy(), dtype_of(x))
        x = op.matmul(x, matrix) if axis == 3 else op.matmul(matrix, x)
    return x


# --- Sampling at the positions of a grid ----------------------------------------------------------------------


def _affine_grid(c: Converter, a: Any) -> relax.Expr:
    """Move the coordinates, which are in the second dimension of the operator's result, to the last one."""
    grid = op.image.affine_grid(a.theta, list(c.shape[1:-1]), a.align_corners)
    return op.permute_dims(grid, [0, *range(2, rank_of(grid)), 1])


def _grid_sample(c: Converter, a: Any) -> relax.Expr:
    ndim = rank_of(a.input)
    return op.image.grid_sample(
        a.input,
        op.permute_dims(a.grid, [0, ndim - 1, *range(1, ndim - 1)]),
        ("bilinear", "nearest", "bicubic")[a.interpolation_mode],
        "NCHW" if ndim == 4 else "NCDHW",
        ("zeros", "border", "reflection")[a.padding_mode],
        a.align_corners,
    )


# --- Regions (torchvision) ------------------------------------------------------------------------------------


def _roi_align(c: Converter, a: Any) -> relax.Expr:
    """Move aligned regions by half a pixel, which the operator of the graph does not do."""
    rois, size = a.rois, (a.pooled_height, a.pooled_width)
    if a.aligned:
        rois = op.subtract(rois, const([0.0, *[0.5 / a.spatial_scale] * 4], dtype_of(rois)))
    return op.vision.roi_align(a.input, rois, size, a.spatial_scale, a.sampling_ratio, a.aligned)


def _roi_pool(c: Converter, a: Any) -> Any:
    def places() -> relax.Expr:
        raise c.unsupported("returns the indices of maxima", "use only the first result")

    return op.vision.roi_pool(a.input, a.rois, (a.pooled_height, a.pooled_width), a.spatial_scale), places


_KINDS = (
    ("upsample_nearest{}d", "nearest", (1, 2, 3)), ("_upsample_nearest_exact{}d", "exact", (1, 2, 3)),
    ("upsample_linear{}d", "linear", (1,)), ("upsample_bilinear{}d", "linear", (2,)),
    ("upsample_trilinear{}d", "linear", (3,)), ("upsample_bicubic{}d", "cubic", (2,)),
)  # fmt: skip

ROWS: dict[str, Convert] = {
    "torchvision.roi_align.default": _roi_align,
    "torchvision.roi_pool.default": _roi_pool,
    "affine_grid_generator.default": _affine_grid,
    **dict.fromkeys(("grid_sampler.default", "grid_sampler_2d.default", "grid_sampler_3d.default"), _grid_sample),
    **{
        f"{name.format(n)}.{overload}": _upsample(method)
        for name, method, spatial in _KINDS
        for n in spatial
        for overload in ("default", "vec")
    },
    **{
        f"{name}.{overload}": _antialiased
        for name in ("_upsample_bilinear2d_aa", "_upsample_bicubic2d_aa")
        for overload in ("default", "vec")
    },
}
