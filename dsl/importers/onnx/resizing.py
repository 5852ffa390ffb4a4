"""Rows for resizing: the positions and weights of the standard, along one dimension after the other."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

from msgspec import Struct

from ....ir import relax, tir
from ....ir.api.relax import op
from ....ir.building.values import const
from ....ir.ops import dims as d
from ..interpolation import interpolated
from ..values import axis_of, dims_of, dtype_of, is_floating, rank_of
from .converter import Converter
from .rows import Family

ROWS = Family()
_METHODS = {"nearest": "nearest_neighbor", "linear": "linear", "cubic": "cubic"}
_KERNELS = ("half_pixel", "align_corners", "asymmetric", "pytorch_half_pixel")
"""Coordinate transformations of `R.image.resize*`."""


class Side(Struct):
    """A dimension that is resized."""

    axis: int
    old: tir.PrimExpr
    new: tir.PrimExpr
    scale: float | None
    """The given factor; None for the quotient of the sizes."""
    region: tuple[float, float] = (0.0, 1.0)

    @property
    def is_quotient(self) -> bool:
        """Whether the factor is the quotient of the sizes."""
        if self.scale is None:
            return True
        old, new = d.value_of(self.old), d.value_of(self.new)
        return float(self.scale).is_integer() if old is None or new is None else old * self.scale == new


@ROWS.row("Resize", since=11)
def _resize(c: Converter, a: Any) -> relax.Expr:
    rank = rank_of(a.X)
    axes = [axis_of(axis, rank) for axis in getattr(a, "axes", None) or range(rank)]
    region = _floats(c, a.roi, "the region") if a.coordinate_transformation_mode == "tf_crop_and_resize" else []
    region = region or [*[0.0] * len(axes), *[1.0] * len(axes)]
    sides = _sides(c, a, axes)
    for number, side in enumerate(sides):
        side.region = region[number], region[number + len(axes)]
    return _resized(c, a, sides)


@ROWS.row("Resize", since=10)
@ROWS.row("Upsample")
def _upsample(c: Converter, a: Any) -> relax.Expr:
    """Before version 11, positions are quotients of the factors, rounded down."""
    if isinstance(getattr(a, "scales", None), relax.Expr):
        scales = _floats(c, a.scales, "the factors")
    else:
        scales = a.scales if hasattr(a, "scales") else [1.0, 1.0, a.height_scale, a.width_scale]
    a.coordinate_transformation_mode, a.nearest_mode = "asymmetric", "floor"
    a.mode = "linear" if a.mode in ("linear", "bilinear") else a.mode
    a.antialias = a.exclude_outside = 0
    sides = [
        Side(axis, dim, _times(c, dim, scale), scale)
        for axis, (dim, scale) in enumerate(zip(dims_of(a.X), scales, strict=True))
    ]
    return _resized(c, a, sides)


def _floats(c: Converter, value: relax.Expr | None, what: str) -> list[float]:
    return [] if value is None else [float(number) for number in c.array(value, what).reshape(-1)]


def _times(c: Converter, dim: tir.PrimExpr, scale: float) -> tir.PrimExpr:
    """Return a size times a factor, rounded down."""
    import numpy as np

    length = d.value_of(dim)
    if length is not None:
        return d.dim(int(np.float32(scale) * np.float32(length)))
    ratio = Fraction(scale).limit_denominator(1024)
    if abs(float(ratio) - scale) > 1e-6 * scale:
        raise c.unsupported(
            f"it scales a size that is not known by {scale}", "use a simple fraction, or give the sizes"
        )
    return d.floordiv(d.multiply(dim, ratio.numerator), ratio.denominator)


def _sides(c: Converter, a: Any, axes: list[int]) -> list[Side]:
    dims = [dims_of(a.X)[axis] for axis in axes]
    if a.sizes is None or d.value_of(d.product(dims_of(a.sizes))) == 0:
        scales = _floats(c, a.scales, "the factors")
        return [
            Side(axis, dim, _times(c, dim, scale), scale) for axis, dim, scale in zip(axes, dims, scales, strict=True)
        ]
    is_input = isinstance(a.sizes, relax.Var) and a.sizes in c.input_names
    sizes = c.ints(a.sizes, "the sizes") if is_input else c.sizes(a.sizes)
    policy = getattr(a, "keep_aspect_ratio_policy", "stretch")
    if policy == "stretch":
        return [Side(axis, dim, d.as_dim(size), None) for axis, dim, size in zip(axes, dims, sizes, strict=True)]
    pairs = [(d.value_of(dim), d.value_of(d.as_dim(size))) for dim, size in zip(dims, sizes, strict=True)]
    if any(old is None or new is None for old, new in pairs):
        raise c.unsupported("it keeps the aspect ratio of sizes that are not known", "make the sizes known")
    ratios: list[float] = [(new or 0) / (old or 1) for old, new in pairs]
    scale = min(ratios) if policy == "not_larger" else max(ratios)
    return [Side(axis, dim, d.dim(int(scale * old + 0.5)), scale)  # type: ignore[operator]
            for axis, dim, (old, _) in zip(axes, dims, pairs, strict=True)]  # fmt: skip


def _resized(c: Converter, a: Any, sides: list[Side]) -> relax.Expr:
    sides = [
        side
        for side in sides
        if not (d.is_equal(side.old, side.new) and side.scale in (1, None)) or side.region != (0.0, 1.0)
    ]
    if not sides:
        return a.X
    if _has_kernel(a, sides):
        return _by_kernel(c, a, sides)
    x, dtype = a.X, dtype_of(a.X)
    is_wide = a.mode != "nearest" and dtype not in ("float32", "float64")
    x = c.cast(x, "float32") if is_wide else x
    outside: list[tuple[int, Any]] = []
    for side in sides:
        weights, is_out = _weights(c, a, side)
        x = interpolated(x, side.axis, weights)
        outside += [(side.axis, is_out)] if is_out.any() else []
    for axis, is_out in outside:
        mask = const(is_out.reshape(-1, *[1] * (rank_of(x) - axis - 1)), "bool")
        x = op.where(mask, const(a.extrapolation_value, dtype_of(x)), x)
    return c.cast(op.round(x) if is_wide and not is_floating(dtype) else x, dtype) if is_wide else x


def _has_kernel(a: Any, sides: list[Side]) -> bool:
    """Return whether an operator of the graph resizes two or three last dimensions in this way."""
    rank = rank_of(a.X)
    if rank not in (4, 5) or any(side.axis < 2 for side in sides) or a.coordinate_transformation_mode not in _KERNELS:
        return False
    is_cubic_volume = a.mode == "cubic" and rank == 5
    if getattr(a, "antialias", 0) or is_cubic_volume or (a.mode != "nearest" and not is_floating(dtype_of(a.X))):
        return False
    return all(side.is_quotient for side in sides)


def _by_kernel(c: Converter, a: Any, sides: list[Side]) -> relax.Expr:
    sizes = list(dims_of(a.X)[2:])
    for side in sides:
        sizes[side.axis - 2] = side.new
    resize = op.image.resize2d if len(sizes) == 2 else op.image.resize3d
    return resize(
        a.X,
        c.shape(sizes),
        method=_METHODS[a.mode],
        coordinate_transformation_mode=a.coordinate_transformation_mode,
        rounding_method=a.nearest_mode,
        cubic_alpha=getattr(a, "cubic_coeff_a", -0.75),
        cubic_exclude=a.exclude_outside,
    )


# --- Weights ----------------------------------------------------------------------------------------------------


def _weights(c: Converter, a: Any, side: Side) -> tuple[Any, Any]:
    """Return the interpolation matrix (new, old), and which positions are outside of the data."""
    import numpy

    np: Any = numpy
    old, new = d.value_of(side.old), d.value_of(side.new)
    if old is None or new is None:
        raise c.unsupported("it interpolates a dimension whose size is not known", "make the size known")
    if not old or old * new > 2**24:
        raise c.unsupported(
            f"it interpolates {old} elements to {new}", "use sizes whose product is between 1 and 2**24"
        )
    scale = new / old if side.scale is None else side.scale
    at = _positions(np, a, side, old, new, scale)
    is_out = np.zeros(new, bool)
    if a.coordinate_transformation_mode == "tf_crop_and_resize":
        is_out = (at < 0) | (at > old - 1)
    first = np.ceil(at).astype("int64") - 1  # a tap at the position itself belongs to the left
    ratio = at - first
    stretch = min(scale, 1.0) if getattr(a, "antialias", 0) else 1.0
    taps, values = _taps(np, a, ratio, stretch)
    places = first[:, None] + taps
    if a.exclude_outside:
        values = np.where((places < 0) | (places >= old), 0, values)
        total = values.sum(1, keepdims=True)
        values = values / np.where(total == 0, 1, total)
    matrix = np.zeros((new, old))
    np.add.at(matrix, (np.arange(new)[:, None], np.clip(places, 0, old - 1)), values)
    return matrix, is_out


def _positions(np: Any, a: Any, side: Side, old: int, new: int, scale: float) -> Any:
    """Return the position in the data of each element of the result, as onnx's reference computes it."""
    place, width = np.arange(new, dtype="float64"), scale * old
    match a.coordinate_transformation_mode:
        case "align_corners":
            return place * 0 if width == 1 else place * (old - 1) / (width - 1)
        case "asymmetric":
            return place / scale
        case "tf_crop_and_resize":
            start, end = side.region
            step = (end - start) * (old - 1)
            return start * (old - 1) + (place * 0 + step / 2 if width == 1 else place * step / (width - 1))
        case "pytorch_half_pixel":
            return place * 0 - 0.5 if width == 1 else (place + 0.5) / scale - 0.5
        case "half_pixel":
            return (place + 0.5) / scale - 0.5
        case "half_pixel_symmetric":
            return old / 2 * (1 - new / width) + (place + 0.5) / scale - 0.5
        case mode:
            raise ValueError(f"the coordinate transformation is '{mode}'")


def _taps(np: Any, a: Any, ratio: Any, stretch: float) -> tuple[Any, Any]:
    """Return the offsets of taps from the element to the left, and their weights; `ratio` in (0, 1] is the distance to it."""
    if a.mode == "nearest":
        is_right = {
            "round_prefer_floor": ratio > 0.5, "round_prefer_ceil": ratio >= 0.5, "floor": ratio == 1, "ceil": ratio > 0,
        }[a.nearest_mode]  # fmt: skip
        return np.array([0, 1]), np.stack([1.0 - is_right, is_right], 1)
    reach = 1 if a.mode == "linear" else 2
    begin = int(np.floor(-reach / stretch)) + 1
    taps = np.arange(begin, 2 - begin)
    distance = np.abs(taps - ratio[:, None]) * stretch
    if a.mode == "linear":
        values = np.clip(1 - distance, 0, 1)
    else:
        alpha = getattr(a, "cubic_coeff_a", -0.75)
        near = ((alpha + 2) * distance - (alpha + 3)) * distance**2 + 1
        far = ((distance - 5) * distance + 8) * distance * alpha - 4 * alpha
        values = np.where(distance <= 1, near, np.where(distance < 2, far, 0))
    return taps, values / values.sum(1, keepdims=True) if stretch < 1 else values
