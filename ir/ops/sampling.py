"""Sampling of images at computed positions (TVM: `relax/op/image`, `topi/image/grid_sample.py`)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import product
from math import prod
from typing import Any

from .. import te, tir
from ..base import StructInfo
from ..relax import ShapeExpr
from . import dims as d
from .inference import Inference, dims_of, tensor_info
from .layouts import layout_of, numpy_packed, numpy_unpacked, packed, split_dims, unpacked, whole_dims, whole_dims_of
from .registry import Param, RelaxOp, register

_LETTERS = {4: "NCHW", 5: "NCDHW"}
"""The dimensions of images by their number."""
_METHODS = {4: ("nearest", "bilinear", "bicubic"), 5: ("nearest", "bilinear")}
"""The methods of interpolation by the number of dimensions."""
_PADDING_MODES = ("zeros", "border", "reflection")
_TAPS = {"nearest": 1, "bilinear": 2, "bicubic": 4}
_ALPHA = -0.75
"""Coefficient of cubic interpolation (PyTorch, TVM)."""


def _wide(*dtypes: str) -> str:
    """Return the dtype of coordinates and sums."""
    return "float64" if "float64" in dtypes else "float32"


# --- Sampling grids of affine transformations -----------------------------------------------------------------


def _square(values: dict[str, Any]) -> None:
    """Use a single number for height and width."""
    size = values["size"]
    if isinstance(size, ShapeExpr) and len(size.values) == 1:
        values["size"] = ShapeExpr(size.values * 2, span=size.span)


def _infer_affine_grid(a: Inference) -> StructInfo:
    info, size = a.rank("data", 3), a.shape("size")
    a.float_tensor("data")
    if size.ndim not in (2, 3, -1):
        raise a.fail("E0323", f"needs a size of 2 or 3 dimensions, not {size.ndim}", None, a.argument("size"))
    dims = dims_of(info)
    if size.ndim == -1 or dims is None:
        return tensor_info(None, info.dtype, size.ndim + 2 if size.ndim != -1 else -1, info.vdevice)
    for axis, needed in ((1, size.ndim), (2, size.ndim + 1)):
        reason = f"needs matrices of shape ({size.ndim}, {size.ndim + 1}), but dimension {axis} of 'data' is "
        a.check_equal(dims[axis], d.dim(needed), reason + d.show_one(dims[axis]))
    if size.values is None:
        return tensor_info(None, info.dtype, size.ndim + 2, info.vdevice)
    return tensor_info([dims[0], d.dim(size.ndim), *size.values], info.dtype, -1, info.vdevice)


def _affine_grid(a: Any) -> te.Tensor:
    spatial, wide = len(a.result.dims) - 2, _wide(a.data.dtype)

    def coordinate(i: tir.PrimExpr, size: tir.PrimExpr) -> tir.PrimExpr:
        """Return the normalized coordinate of position `i` among `size`: -1 and 1 are the outer positions or edges."""
        place, count = te.cast(i, wide), te.cast(size, wide)
        if not a.align_corners:
            return (place * 2 + 1) / count - 1
        return te.select(size > 1, place * 2 / te.maximum(count - 1, 1) - 1, te.const(0, wide))

    def value(*i: tir.PrimExpr) -> tir.PrimExpr:
        result = te.cast(a.data(i[0], i[1], te.const(spatial, "int64")), wide)
        for axis in range(spatial):
            column = te.const(spatial - 1 - axis, "int64")
            result = result + te.cast(a.data(i[0], i[1], column), wide) * coordinate(
                i[2 + axis], a.result.dims[2 + axis]
            )
        return te.cast(result, a.result.dtype)

    return te.compute(a.result.dims, value, "affine_grid")


def _numpy_affine_grid(np: Any, a: Any) -> Any:
    sizes = [int(size) for size in a.size]
    if a.align_corners:
        along = [np.linspace(-1, 1, size) if size > 1 else np.zeros(size) for size in sizes]
    else:
        along = [(np.arange(size) * 2 + 1) / max(size, 1) - 1 for size in sizes]
    points = np.stack([*reversed(np.meshgrid(*along, indexing="ij")), np.ones(sizes)])
    return np.einsum("nij,j...->ni...", a.data.astype("float64"), points).astype(a.result_dtype)


register(
    RelaxOp(
        "relax.image.affine_grid",
        (Param("data"), Param("size", "sizes"), Param("align_corners", "bool", True)),
        _infer_affine_grid,
        "Return the sampling grid of `size` that the affine transformations `data`, of shape (n, 2, 3) or (n, 3, 4), give; its "
        "second dimension holds x, y and perhaps z, where -1 and 1 are the centers of the outer pixels, or else their edges.",
        _numpy_affine_grid,
        _affine_grid,
        complete=_square,
    )
)


# --- Sampling at the positions of a grid ----------------------------------------------------------------------


def _infer_grid_sample(a: Inference) -> StructInfo:
    ndim = len([letter for letter in a.attr("layout") if letter.isupper()])
    if ndim not in _LETTERS:
        raise a.fail("E0325", f"cannot work in the layout {a.attr('layout')} as 'layout'", "use NCHW or NCDHW")
    layout = layout_of(a, "layout", _LETTERS[ndim])
    for name, choices, where in (
        ("method", _METHODS[ndim], f" in the layout {a.attr('layout')}"),
        ("padding_mode", _PADDING_MODES, ""),
    ):
        if a.attr(name) not in choices:
            known = ", ".join(f'"{choice}"' for choice in choices)
            raise a.fail("E0321", f'has no {name} "{a.attr(name)}"{where}', f"choose one of {known}")
    info, grid = a.rank("data", layout.ndim), a.rank("grid", ndim)
    a.float_tensor("data")
    a.float_tensor("grid")
    dims, places = dims_of(info), dims_of(grid)
    if dims is None or places is None:
        return tensor_info(None, info.dtype, layout.ndim, info.vdevice)
    batch, channels, *_ = whole_dims_of(a, "layout", dims, _LETTERS[ndim])
    a.check_equal(
        places[0], batch, f"needs a grid for each image, but gets {d.show_one(places[0])} for {d.show_one(batch)}"
    )
    reason = f"needs {ndim - 2} coordinates in dimension 1 of 'grid', but it is {d.show_one(places[1])}"
    a.check_equal(places[1], d.dim(ndim - 2), reason, "move the coordinates with R.permute_dims")
    return tensor_info(
        split_dims(a, "layout", [batch, channels, *places[2:]], _LETTERS[ndim]), info.dtype, layout.ndim, info.vdevice
    )


def _cubic(t: Any) -> list[Any]:
    """Return the weights of the 4 elements around a coordinate with the fractional part `t` (Keys' kernel)."""
    return [
        ((t * -1 + 2) * t - 1) * t * -_ALPHA,
        ((t * (_ALPHA + 2)) - (_ALPHA + 3)) * t * t + 1,
        ((t * -(_ALPHA + 2)) + (2 * _ALPHA + 3)) * t * t - t * _ALPHA,
        (t * -1 + 1) * t * t * _ALPHA,
    ]


def _weights(method: str, t: Any) -> list[Any]:
    """Return the weight of each tap at a coordinate with the fractional part `t`."""
    return [t * -1 + 1, t] if method == "bilinear" else _cubic(t)


def _reflected(x: tir.PrimExpr, length: tir.PrimExpr, corners: bool) -> tir.PrimExpr:
    """Return `x` reflected at the centers of the outer pixels, or at their edges, until it is between them."""
    span, low = (length - 1, 0.0) if corners else (length, -0.5)
    safe = te.maximum(span, 1)
    distance = te.abs(x - low)
    flips = te.floor(distance / safe)
    rest = distance - flips * safe
    is_even = te.equal(flips, te.floor(flips * 0.5) * 2)
    back = te.select(is_even, rest + low, safe - rest + low)
    return te.select(span > 0, back, te.const(0, x.dtype))


class _Dimension:
    """One dimension of images that are sampled: positions of taps in it, as floats, which may be outside of it."""

    def __init__(self, a: Any, length: tir.PrimExpr, wide: str) -> None:
        self.a, self.length = a, te.cast(length, wide)

    def position(self, at: tir.PrimExpr) -> tir.PrimExpr:
        """Return the position in pixels for the normalized coordinate `at`."""
        if self.a.align_corners:
            return (at + 1) * 0.5 * (self.length - 1)
        return ((at + 1) * self.length - 1) * 0.5

    def folded(self, x: tir.PrimExpr) -> tir.PrimExpr:
        """Return position `x` moved into the image in the way of the padding mode."""
        if self.a.padding_mode == "zeros":
            return x
        if self.a.padding_mode == "reflection":
            x = _reflected(x, self.length, self.a.align_corners)
        return te.minimum(te.maximum(x, 0), self.length - 1)

    def source(self, at: tir.PrimExpr) -> tir.PrimExpr:
        """Return the position whose neighbors are interpolated; cubic taps are folded one by one."""
        return self.position(at) if self.a.method == "bicubic" else self.folded(self.position(at))

    def taps(self, x: tir.PrimExpr) -> list[tir.PrimExpr]:
        """Return the positions of the taps around `x`."""
        if self.a.method == "nearest":
            return [te.call("nearbyint", x)]
        if self.a.method == "bilinear":
            return [te.floor(x), te.floor(x) + 1]
        return [self.folded(te.floor(x) + offset) for offset in (-1, 0, 1, 2)]

    def is_inside(self, place: tir.PrimExpr) -> tir.PrimExpr:
        return te.all(te.const(0, place.dtype) <= place, place <= self.length - 1)


def _chosen(items: Sequence[tir.PrimExpr], number: tir.PrimExpr) -> tir.PrimExpr:
    result = items[-1]
    for position in reversed(range(len(items) - 1)):
        result = te.select(te.equal(number, position), items[position], result)
    return result


def _grid_sample(a: Any) -> te.Tensor:
    letters = _LETTERS[a.grid.ndim]
    x, shape = unpacked(a.data, a.layout, letters), whole_dims(a.result.dims, a.layout, letters)
    spatial, wide = len(letters) - 2, _wide(a.data.dtype, a.grid.dtype)
    axes = [_Dimension(a, length, wide) for length in x.dims[2:]]
    taps, count = te.const(_TAPS[a.method], "int64"), x.dims[2:]

    def along(
        axis: int, part: Callable[[_Dimension, tir.PrimExpr, tir.PrimExpr], tir.PrimExpr], name: str
    ) -> te.Tensor:
        def value(n: tir.PrimExpr, tap: tir.PrimExpr, *i: tir.PrimExpr) -> tir.PrimExpr:
            at = te.cast(a.grid(n, te.const(spatial - 1 - axis, "int64"), *i), wide)
            return part(axes[axis], axes[axis].source(at), tap)

        return te.compute((shape[0], taps, *shape[2:]), value, name)

    def place(axis: _Dimension, x: tir.PrimExpr, tap: tir.PrimExpr) -> tir.PrimExpr:
        at = _chosen(axis.taps(x), tap)
        return te.cast(te.select(axis.is_inside(at), at, te.const(-1, wide)), "int64")

    def weight(_: _Dimension, x: tir.PrimExpr, tap: tir.PrimExpr) -> tir.PrimExpr:
        return _chosen(_weights(a.method, x - te.floor(x)), tap)

    places = [along(axis, place, "grid_sample_place") for axis in range(spatial)]
    weights = [] if a.method == "nearest" else [along(axis, weight, "grid_sample_weight") for axis in range(spatial)]

    def pixel(i: tuple[tir.PrimExpr, ...], tap: Sequence[Any]) -> tir.PrimExpr:
        at = [position(i[0], k, *i[2:]) for position, k in zip(places, tap, strict=True)]
        within = [te.maximum(te.minimum(p, length - 1), 0) for p, length in zip(at, count, strict=True)]
        is_inside = te.all(*(p >= 0 for p in at))
        return te.if_then_else(is_inside, te.cast(x(*i[:2], *within), wide), te.const(0, wide))

    if a.method == "nearest":
        first = [te.const(0, "int64")] * spatial
        result = te.compute(shape, lambda *i: te.cast(pixel(i, first), a.result.dtype), "grid_sample")
        return packed(result, a.layout, letters)
    k = [te.reduce_axis((te.const(0, "int64"), taps), f"k{axis}") for axis in range(spatial)]

    def value(*i: tir.PrimExpr) -> Any:
        factors = [weight(i[0], tap, *i[2:]) for weight, tap in zip(weights, k, strict=True)]
        return te.sum(pixel(i, [tap.var for tap in k]) * prod(factors[1:], start=factors[0]), axis=k)

    summed = te.compute(shape, value, "grid_sample_sum")
    result = (
        summed
        if summed.dtype == a.result.dtype
        else te.compute(shape, lambda *i: te.cast(summed(*i), a.result.dtype), "grid_sample")
    )
    return packed(result, a.layout, letters)


def _numpy_folded(np: Any, a: Any, x: Any, length: int) -> Any:
    if a.padding_mode == "zeros":
        return x
    if a.padding_mode == "reflection":
        low, span = (0.0, length - 1) if a.align_corners else (-0.5, length)
        safe, low = x.dtype.type(max(span, 1)), x.dtype.type(low)
        distance = np.abs(x - low)
        flips = np.floor(distance / safe)
        rest = distance - flips * safe
        is_even = flips == np.floor(flips * x.dtype.type(0.5)) * 2
        x = np.where(is_even, rest + low, safe - rest + low) if span else np.zeros_like(x)
    return np.clip(x, 0, length - 1)


def _numpy_taps(np: Any, a: Any, at: Any, length: int) -> list[tuple[Any, Any]]:
    """Return the positions and the weights of the taps for normalized coordinates `at`."""
    wide = at.dtype.type
    x = (at + 1) * wide(0.5) * wide(length - 1) if a.align_corners else ((at + 1) * wide(length) - 1) * wide(0.5)
    if a.method == "nearest":
        return [(np.rint(_numpy_folded(np, a, x, length)), 1)]
    if a.method == "bilinear":
        x = _numpy_folded(np, a, x, length)
        return list(zip((np.floor(x), np.floor(x) + 1), _weights(a.method, x - np.floor(x)), strict=True))
    places = [_numpy_folded(np, a, np.floor(x) + offset, length) for offset in (-1, 0, 1, 2)]
    return list(zip(places, _weights(a.method, x - np.floor(x)), strict=True))


def _numpy_grid_sample(np: Any, a: Any) -> Any:
    letters = _LETTERS[a.grid.ndim]
    x = numpy_unpacked(np, a.data, a.layout, letters)
    grid = a.grid.astype(_wide(str(a.data.dtype), str(a.grid.dtype)))
    spatial, lengths = len(letters) - 2, x.shape[2:]
    result = np.zeros((x.shape[0], *grid.shape[2:], x.shape[1]), "float64")
    image = np.arange(len(x)).reshape(-1, *[1] * spatial)
    channels_last = np.moveaxis(x, 1, -1).astype("float64")
    axes = [_numpy_taps(np, a, grid[:, spatial - 1 - axis], lengths[axis]) for axis in range(spatial)]
    for taps in product(*axes):
        inside = np.logical_and.reduce(
            [(at >= 0) & (at <= size - 1) for (at, _), size in zip(taps, lengths, strict=True)]
        )
        index = tuple(np.where(inside, at, 0).astype("int64") for at, _ in taps)
        pixel = np.where(inside[..., None], channels_last[(image, *index)], 0)
        result += pixel * np.asarray(prod((weight for _, weight in taps), start=1.0))[..., None]
    return numpy_packed(np, np.moveaxis(result, -1, 1).astype(a.result_dtype), a.layout, letters)


register(
    RelaxOp(
        "relax.image.grid_sample",
        (
            Param("data"),
            Param("grid"),
            Param("method", "str", "bilinear"),
            Param("layout", "str", "NCHW"),
            Param("padding_mode", "str", "zeros"),
            Param("align_corners", "bool", False),
        ),
        _infer_grid_sample,
        "Return the images `data` interpolated at the positions of `grid`, whose second dimension holds x, y and perhaps z from "
        "-1 to 1; positions outside of an image read zeros, its border, or its reflection.",
        _numpy_grid_sample,
        _grid_sample,
    )
)
