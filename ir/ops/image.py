"""Operators on images (TVM: `relax/op/image`, `topi/image/resize.py`)."""

from __future__ import annotations

from collections.abc import Sequence
from math import ceil, floor
from typing import Any

from msgspec import Struct

from .. import te, tir
from ..base import StructInfo
from ..relax import ShapeExpr
from .inference import Inference, dims_of, tensor_info
from .layouts import layout_of, numpy_packed, numpy_unpacked, packed, unpacked, whole_dims
from .registry import Param, RelaxOp, register

_CHOICES = {
    "method": ("nearest_neighbor", "linear", "cubic"),
    "coordinate_transformation_mode": (
        "half_pixel", "align_corners", "asymmetric", "pytorch_half_pixel", "tf_half_pixel_for_nn", "tf_crop_and_resize",
    ),
    "rounding_method": ("round", "round_prefer_floor", "round_prefer_ceil", "floor", "ceil", ""),
}  # fmt: skip
_EPSILON = 1e-5
"""Tolerance for rounding errors in coordinates that should be integers, for floor and ceil."""


def _complete_size(values: dict[str, Any]) -> None:
    """Use a single number for height and width."""
    size = values["size"]
    if isinstance(size, ShapeExpr) and len(size.values) == 1:
        values["size"] = ShapeExpr(size.values * 2, span=size.span)


def _infer_resize(a: Inference) -> StructInfo:
    for name, choices in _CHOICES.items():
        if a.attr(name) not in choices:
            known = ", ".join(f'"{choice}"' for choice in choices if choice)
            raise a.fail("E0321", f'has no {name} "{a.attr(name)}"', f"choose one of {known}")
    layout, size = layout_of(a, "layout", "NCHW"), a.shape("size")
    info = a.rank("data", layout.ndim)
    dtype = info.dtype if a.attr("out_dtype") == "void" else a.attr("out_dtype")
    dims = dims_of(info)
    if size.ndim not in (2, -1):
        raise a.fail("E0323", f"needs a size of 2 dimensions, not {size.ndim}", None, a.argument("size"))
    if dims is None or size.values is None:
        return tensor_info(None, dtype, layout.ndim, info.vdevice)
    result = [*layout.primal(dims, "NCHW")[:2], *size.values]
    return tensor_info(layout.split(result, "NCHW"), dtype, layout.ndim, info.vdevice)


# --- As a tensor expression -----------------------------------------------------------------------------------


def _number(value: Any) -> tir.PrimExpr:
    return te.const(value, "float32")


def _source(a: Any, x: tir.PrimExpr, axis: int, old: tir.PrimExpr, new: tir.PrimExpr) -> tir.PrimExpr:
    """Return the source coordinate of position `x` of the result, as float32."""
    place, length, size = (te.cast(value, "float32") for value in (x, old, new))
    scale = length / size
    match a.coordinate_transformation_mode:
        case "half_pixel":
            return (place + 0.5) * scale - 0.5
        case "pytorch_half_pixel":
            return te.if_then_else(new > 1, (place + 0.5) * scale - 0.5, _number(0))
        case "tf_half_pixel_for_nn":
            return (place + 0.5) * scale
        case "align_corners":
            return te.if_then_else(new > 1, place * (length - 1) / te.maximum(size - 1, 1), _number(0))
        case "asymmetric":
            return place * scale
        case _:
            start, end = _number(a.roi[axis]), _number(a.roi[2 + axis])
            step = (end - start) * (length - 1) / te.maximum(size - 1, 1)
            return te.if_then_else(new > 1, start * (length - 1) + place * step, (start + end) * (length - 1) * 0.5)


def _rounded(method: str, x: tir.PrimExpr) -> tir.PrimExpr:
    match method:
        case "round_prefer_floor":
            return te.ceil(x - 0.5)
        case "round_prefer_ceil":
            return te.floor(x + 0.5)
        case "floor":
            return te.floor(x + _EPSILON)
        case "ceil":
            return te.ceil(x - _EPSILON)
        case _:
            return te.select(x < 0, te.ceil(x - 0.5), te.floor(x + 0.5))  # halves away from zero


def _kernel(a: Any, x: tir.PrimExpr, length: tir.PrimExpr) -> list[tir.PrimExpr]:
    """Return the weights of the elements around coordinate `x`."""
    t = x - te.floor(x)
    if a.method == "linear":
        return [_number(1) - t, t]
    alpha, t2, t3 = _number(a.cubic_alpha), t * t, t * t * t
    weights = [
        alpha * (t3 - t2 * 2 + t),
        (alpha + 2) * t3 - (alpha + 3) * t2 + 1,
        (alpha * 2 + 3) * t2 - (alpha + 2) * t3 - alpha * t,
        alpha * t2 - alpha * t3,
    ]
    if not a.cubic_exclude:
        return weights
    places = [te.floor(x) + offset for offset in (-1, 0, 1, 2)]
    seen = [te.all(_number(0) <= place, place < te.cast(length, "float32")) for place in places]
    kept = [te.select(inside, weight, _number(0)) for inside, weight in zip(seen, weights, strict=True)]
    total = kept[0] + kept[1] + kept[2] + kept[3]
    return [weight / total for weight in kept]


class _Axis(Struct):
    """One axis of the images: its old and new length, and the source coordinates of new positions."""

    a: Any
    number: int
    length: tir.PrimExpr
    size: tir.PrimExpr

    def coordinate(self, i: tir.PrimExpr) -> tir.PrimExpr:
        return _source(self.a, i, self.number, self.length, self.size)

    def clamped(self, place: tir.PrimExpr) -> tir.PrimExpr:
        return te.maximum(te.minimum(place, self.length - 1), 0)

    def nearest(self, i: tir.PrimExpr) -> tir.PrimExpr:
        """Return the index of the source element that is nearest to position `i` of the result."""
        corners = self.a.coordinate_transformation_mode == "align_corners"
        method = self.a.rounding_method or ("round" if corners else "floor")
        return self.clamped(te.cast(_rounded(method, self.coordinate(i)), "int64"))

    def place(self, i: tir.PrimExpr, tap: tir.PrimExpr) -> tir.PrimExpr:
        """Return the index of one of the source elements around position `i` of the result."""
        first = te.cast(te.floor(self.coordinate(i)), "int64")
        return self.clamped(first + tap - (0 if self.a.method == "linear" else 1))

    def weights(self) -> te.Tensor:
        """Return the weights of the source elements around every position of the result."""

        def weight(i: tir.PrimExpr, tap: tir.PrimExpr) -> tir.PrimExpr:
            kernel = _kernel(self.a, self.coordinate(i), self.length)
            result = kernel[-1]
            for number in reversed(range(len(kernel) - 1)):
                result = te.select(te.equal(tap, number), kernel[number], result)
            return result

        return te.compute((self.size, te.const(self.taps, "int64")), weight, "resize_weight")

    @property
    def taps(self) -> int:
        return 2 if self.a.method == "linear" else 4

    def inside(self, i: tir.PrimExpr) -> tir.PrimExpr:
        """Return whether the source coordinate of position `i` is inside the data."""
        at = self.coordinate(i)
        return te.all(_number(0) <= at, at <= te.cast(self.length - 1, "float32"))


def _resize(a: Any) -> te.Tensor:
    x = unpacked(a.data, a.layout, "NCHW")
    shape = whole_dims(a.result.dims, a.layout, "NCHW")
    rows, columns = (_Axis(a, n, x.shape[2 + n], shape[2 + n]) for n in (0, 1))
    scaled = _chosen(x, shape, rows, columns) if a.method == "nearest_neighbor" else _summed(x, shape, rows, columns)

    def value(*i: tir.PrimExpr) -> tir.PrimExpr:
        result = scaled(*i)
        if a.coordinate_transformation_mode == "tf_crop_and_resize":
            inside = te.all(rows.inside(i[2]), columns.inside(i[3]))
            result = te.if_then_else(inside, result, te.const(a.extrapolation_value, scaled.dtype))
        return te.cast(result, a.result.dtype)

    return packed(te.compute(shape, value, "resize"), a.layout, "NCHW")


def _chosen(x: te.Tensor, shape: Sequence[tir.PrimExpr], rows: _Axis, columns: _Axis) -> te.Tensor:
    return te.compute(shape, lambda *i: x(*i[:2], rows.nearest(i[2]), columns.nearest(i[3])), "resize_nearest")


def _summed(x: te.Tensor, shape: Sequence[tir.PrimExpr], rows: _Axis, columns: _Axis) -> te.Tensor:
    y, z = (te.reduce_axis((te.const(0, "int64"), te.const(axis.taps, "int64")), "k") for axis in (rows, columns))
    heights, widths = rows.weights(), columns.weights()

    def value(*i: tir.PrimExpr) -> Any:
        pixel = te.cast(x(*i[:2], rows.place(i[2], y.var), columns.place(i[3], z.var)), "float32")
        return te.sum(pixel * (heights(i[2], y) * widths(i[3], z)), axis=[y, z])

    return te.compute(shape, value, "resize_sum")


# --- In NumPy: a matrix of weights for each axis --------------------------------------------------------------


def _coordinate(a: Any, place: int, axis: int, length: int, size: int) -> float:
    match a.coordinate_transformation_mode:
        case "align_corners":
            return place * (length - 1) / (size - 1) if size > 1 else 0.0
        case "asymmetric":
            return place * length / size
        case "tf_half_pixel_for_nn":
            return (place + 0.5) * length / size
        case "tf_crop_and_resize":
            start, end = a.roi[axis], a.roi[2 + axis]
            whole = start + place * (end - start) / (size - 1) if size > 1 else (start + end) / 2
            return whole * (length - 1)
        case mode:
            return 0.0 if mode == "pytorch_half_pixel" and size == 1 else (place + 0.5) * length / size - 0.5


def _nearest(a: Any, x: float) -> int:
    method = a.rounding_method or ("round" if a.coordinate_transformation_mode == "align_corners" else "floor")
    choices = {
        "round": floor(x + 0.5) if x >= 0 else ceil(x - 0.5), "round_prefer_floor": ceil(x - 0.5), "round_prefer_ceil": floor(x + 0.5),
        "floor": floor(x + _EPSILON), "ceil": ceil(x - _EPSILON),
    }  # fmt: skip
    return choices[method]


def _cubic(alpha: float, distance: float) -> float:
    """Return Keys' cubic convolution kernel."""
    s = abs(distance)
    if s <= 1:
        return (alpha + 2) * s**3 - (alpha + 3) * s**2 + 1
    return alpha * (s**3 - 5 * s**2 + 8 * s - 4) if s < 2 else 0.0


def _weights(np: Any, a: Any, axis: int, length: int, size: int) -> Any:
    """Return the weight of every source element in every element of the result, along one axis."""
    matrix = np.zeros((size, length))
    for place in range(size):
        x = _coordinate(a, place, axis, length, size)
        if a.method == "nearest_neighbor":
            taps = {_nearest(a, x): 1.0}
        elif a.method == "linear":
            taps = {floor(x): 1 - (x - floor(x)), floor(x) + 1: x - floor(x)}
        else:
            taps = {floor(x) + k: _cubic(a.cubic_alpha, x - floor(x) - k) for k in (-1, 0, 1, 2)}
            if a.cubic_exclude:
                taps = {at: weight for at, weight in taps.items() if 0 <= at < length}
                taps = {at: weight / sum(taps.values()) for at, weight in taps.items()}
        for at, weight in taps.items():
            matrix[place, min(max(at, 0), length - 1)] += weight
    return matrix


def _numpy_resize(np: Any, a: Any) -> Any:
    x = numpy_unpacked(np, a.data, a.layout, "NCHW")
    lengths, sizes = x.shape[2:], [int(size) for size in a.size]
    rows, columns = (_weights(np, a, axis, lengths[axis], sizes[axis]) for axis in (0, 1))
    result = np.einsum("yh,nchw,xw->ncyx", rows, x.astype("float64"), columns)
    if a.coordinate_transformation_mode == "tf_crop_and_resize":
        ats = [
            np.array([_coordinate(a, n, axis, lengths[axis], sizes[axis]) for n in range(sizes[axis])])
            for axis in (0, 1)
        ]
        inside = [(at >= 0) & (at <= length - 1) for at, length in zip(ats, lengths, strict=True)]
        result = np.where(inside[0][:, None] & inside[1], result, a.extrapolation_value)
    return numpy_packed(np, result.astype(a.result_dtype), a.layout, "NCHW")


register(
    RelaxOp(
        "relax.image.resize2d",
        (
            Param("data"),
            Param("size", "sizes"),
            Param("roi", "value", (0.0, 0.0, 0.0, 0.0)),
            Param("layout", "str", "NCHW"),
            Param("method", "str", "linear"),
            Param("coordinate_transformation_mode", "str", "half_pixel"),
            Param("rounding_method", "str", "round"),
            Param("cubic_alpha", "float", -0.75),
            Param("cubic_exclude", "int", 0),
            Param("extrapolation_value", "float", 0.0),
            Param("out_dtype", "dtype", None),
        ),
        _infer_resize,
        "Resize images to `size`, height and width.",
        _numpy_resize,
        _resize,
        complete=_complete_size,
    )
)
