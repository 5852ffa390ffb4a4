"""Operators on images (TVM: `relax/op/image`, `topi/image/resize.py`)."""

from __future__ import annotations

from math import ceil, floor
from typing import Any, TypeAlias

from .. import te
from ..base import StructInfo
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
"""What keeps a coordinate that is whole but for its rounding on its own side of floor and ceil."""


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

_Tap: TypeAlias = tuple[te.Expr, te.Expr]
"""A place in the data, which may lie outside, and its weight."""


def _number(value: Any) -> te.Expr:
    return te.const(value, "float32")


def _source(a: Any, x: te.Expr, axis: int, old: te.Expr, new: te.Expr) -> te.Expr:
    """The coordinate in the data of place `x` in the result, a float32."""
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


def _rounded(method: str, x: te.Expr) -> te.Expr:
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
            return te.round(x)


def _taps(a: Any, x: te.Expr, length: te.Expr) -> list[_Tap]:
    """What is read along one axis around coordinate `x`."""
    if a.method == "nearest_neighbor":
        method = a.rounding_method or ("round" if a.coordinate_transformation_mode == "align_corners" else "floor")
        return [(te.cast(_rounded(method, x), "int64"), _number(1))]
    low = te.floor(x)
    first, t = te.cast(low, "int64"), x - low
    if a.method == "linear":
        return [(first, _number(1) - t), (first + 1, t)]
    alpha, t2, t3 = _number(a.cubic_alpha), t * t, t * t * t
    weights = [
        alpha * (t3 - t2 * 2 + t),
        (alpha + 2) * t3 - (alpha + 3) * t2 + 1,
        (alpha * 2 + 3) * t2 - (alpha + 2) * t3 - alpha * t,
        alpha * t2 - alpha * t3,
    ]
    places = [first + offset for offset in (-1, 0, 1, 2)]
    if a.cubic_exclude:
        inside = [te.all(te.const(0, "int64") <= place, place < length) for place in places]
        weights = [te.select(seen, weight, _number(0)) for seen, weight in zip(inside, weights, strict=True)]
        total = weights[0] + weights[1] + weights[2] + weights[3]
        weights = [weight / total for weight in weights]
    return list(zip(places, weights, strict=True))


def _resize(a: Any) -> te.Tensor:
    x = unpacked(a.data, a.layout, "NCHW")
    shape = whole_dims(a.result.dims, a.layout, "NCHW")
    lengths = x.shape[2:]

    def clamped(place: te.Expr, axis: int) -> te.Expr:
        return te.maximum(te.minimum(place, lengths[axis] - 1), 0)

    def value(*i: te.Expr) -> te.Expr:
        coordinates = [_source(a, i[2 + axis], axis, lengths[axis], te.Expr(shape[2 + axis])) for axis in (0, 1)]
        rows, columns = (_taps(a, coordinates[axis], lengths[axis]) for axis in (0, 1))
        if a.method == "nearest_neighbor":
            result = te.cast(x(*i[:2], clamped(rows[0][0], 0), clamped(columns[0][0], 1)), "float32")
        else:
            result = _number(0)
            for row, weight in rows:
                for column, other in columns:
                    pixel = te.cast(x(*i[:2], clamped(row, 0), clamped(column, 1)), "float32")
                    result = result + pixel * (weight * other)
        if a.coordinate_transformation_mode == "tf_crop_and_resize":
            ends = zip(coordinates, lengths, strict=True)
            inside = [te.all(_number(0) <= at, at <= te.cast(length - 1, "float32")) for at, length in ends]
            result = te.if_then_else(te.all(*inside), result, _number(a.extrapolation_value))
        return te.cast(result, a.result.dtype)

    return packed(te.compute(shape, value, "resize"), a.layout, "NCHW")


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
    """Keys' cubic convolution kernel."""
    s = abs(distance)
    if s <= 1:
        return (alpha + 2) * s**3 - (alpha + 3) * s**2 + 1
    return alpha * (s**3 - 5 * s**2 + 8 * s - 4) if s < 2 else 0.0


def _weights(np: Any, a: Any, axis: int, length: int, size: int) -> Any:
    """The weight of every element of the data in every element of the result, along one axis."""
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
            Param("size", "shape"),
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
        "Return images scaled to `size`, height and width.",
        _numpy_resize,
        _resize,
    )
)
