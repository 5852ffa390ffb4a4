"""Operators on images (TVM: `relax/op/image`, `topi/image/resize.py`)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import product
from math import prod
from typing import Any, cast

from msgspec import Struct

from .. import te, tir
from ..base import StructInfo
from ..diagnostics import error
from ..dtype import int_range, is_float, is_int
from ..numpy_dtype import float_to_int
from ..relax import ShapeExpr
from . import dims as d
from .inference import Inference, tensor_info, written_dims
from .layouts import layout_of, numpy_packed, numpy_unpacked, packed, split_dims, unpacked, whole_dims, whole_dims_of
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


_LETTERS = {1: "NCW", 2: "NCHW", 3: "NCDHW"}
"""The dimensions of images by the number of those that are resized."""


def _complete(spatial: int) -> Callable[[dict[str, Any]], None]:
    def complete(values: dict[str, Any]) -> None:
        """Use a single number for all dimensions of the size, and for all coordinates of the region."""
        size, roi = values["size"], values["roi"]
        if isinstance(size, ShapeExpr) and len(size.values) == 1:
            values["size"] = ShapeExpr(size.values * spatial, span=size.span)
        if roi is None or isinstance(roi, int | float):
            values["roi"] = (float(roi or 0),) * 2 * spatial

    return complete


def _infer_resize(a: Inference, letters: str) -> StructInfo:
    for name, choices in _CHOICES.items():
        if a.attr(name) not in choices:
            known = ", ".join(f'"{choice}"' for choice in choices if choice)
            raise a.fail("E0321", f'has no {name} "{a.attr(name)}"', f"choose one of {known}")
    layout, size, spatial = layout_of(a, "layout", letters), a.shape("size"), len(letters) - 2
    if a.attr("coordinate_transformation_mode") == "tf_crop_and_resize" and len(a.attr("roi")) != 2 * spatial:
        raise a.fail("E0321", f"needs {2 * spatial} values as 'roi', not {len(a.attr('roi'))}")
    info = a.rank("data", layout.ndim)
    dtype = info.dtype if a.attr("out_dtype") == "void" else a.attr("out_dtype")
    dims = written_dims(info)
    if size.ndim not in (spatial, -1):
        raise a.fail("E0323", f"needs a size of {spatial} dimensions, not {size.ndim}", None, a.argument("size"))
    if dims is None or not isinstance(a.argument("size"), ShapeExpr) or size.values is None:
        return tensor_info(None, dtype, layout.ndim, info.vdevice)
    result = [*whole_dims_of(a, "layout", dims, letters)[:2], *size.values]
    return tensor_info(split_dims(a, "layout", result, letters), dtype, layout.ndim, info.vdevice)


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
            start, end = _number(a.roi[axis]), _number(a.roi[len(a.roi) // 2 + axis])
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
    weights = _cubic_weights(t, _number(a.cubic_alpha))
    if not a.cubic_exclude:
        return weights
    places = [te.floor(x) + offset for offset in (-1, 0, 1, 2)]
    seen = [te.all(_number(0) <= place, place < te.cast(length, "float32")) for place in places]
    kept = [te.select(inside, weight, _number(0)) for inside, weight in zip(seen, weights, strict=True)]
    total = kept[0] + kept[1] + kept[2] + kept[3]
    return [weight / total for weight in kept]


def _cubic_weights(t: Any, alpha: Any) -> list[Any]:
    """Return the weights of the four neighbors at distance `t` from the second one: expressions or arrays (Keys, 1981)."""
    t2, t3 = t * t, t * t * t
    return [
        alpha * (t3 - t2 * 2 + t),
        (alpha + 2) * t3 - (alpha + 3) * t2 + 1,
        (alpha * 2 + 3) * t2 - (alpha + 2) * t3 - alpha * t,
        alpha * t2 - alpha * t3,
    ]


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

    def places(self) -> te.Tensor:
        """Return the indices of the source elements around every position of the result, before they are clamped."""

        def place(tap: tir.PrimExpr, i: tir.PrimExpr) -> tir.PrimExpr:
            first = te.cast(te.floor(self.coordinate(i)), "int64")
            return first + tap - (0 if self.a.method == "linear" else 1)

        return te.compute((te.const(self.taps, "int64"), self.size), place, "resize_place")

    def weights(self) -> te.Tensor:
        """Return the weights of the source elements around every position of the result."""

        def weight(tap: tir.PrimExpr, i: tir.PrimExpr) -> tir.PrimExpr:
            kernel = _kernel(self.a, self.coordinate(i), self.length)
            result = kernel[-1]
            for number in reversed(range(len(kernel) - 1)):
                result = te.select(te.equal(tap, number), kernel[number], result)
            return result

        return te.compute((te.const(self.taps, "int64"), self.size), weight, "resize_weight")

    @property
    def taps(self) -> int:
        return 2 if self.a.method == "linear" else 4

    def inside(self, i: tir.PrimExpr) -> tir.PrimExpr:
        """Return whether the source coordinate of position `i` is inside the data."""
        at = self.coordinate(i)
        return te.all(_number(0) <= at, at <= te.cast(self.length - 1, "float32"))


def resized(a: Any, letters: str) -> te.Tensor:
    """Return images, whose dimensions are `letters`, with the dimensions after the channels resized."""
    x = unpacked(a.data, a.layout, letters)
    shape = whole_dims(a.result.dims, a.layout, letters)
    axes = [_Axis(a, number, x.shape[2 + number], shape[2 + number]) for number in range(len(letters) - 2)]
    scaled = _chosen(x, shape, axes) if a.method == "nearest_neighbor" else _summed(x, shape, axes)

    def value(*i: tir.PrimExpr) -> tir.PrimExpr:
        result = te.cast(scaled(*i), a.result.dtype)
        if a.coordinate_transformation_mode != "tf_crop_and_resize":
            return result
        inside = te.all(*(axis.inside(place) for axis, place in zip(axes, i[2:], strict=True)))
        return te.if_then_else(
            inside, result, te.const(_saturated(a.extrapolation_value, a.result.dtype), a.result.dtype)
        )

    return packed(te.compute(shape, value, "resize"), a.layout, letters)


def _saturated(value: float, dtype: str) -> float:
    """Return the number of `dtype` that is nearest to `value`, rounded towards zero."""
    if not is_int(dtype):
        return value
    low, high = int_range(dtype)
    return int(min(max(value, low), high))


def _chosen(x: te.Tensor, shape: Sequence[tir.PrimExpr], axes: Sequence[_Axis]) -> te.Tensor:
    def value(*i: tir.PrimExpr) -> tir.PrimExpr:
        return x(*i[:2], *(axis.nearest(place) for axis, place in zip(axes, i[2:], strict=True)))

    return te.compute(shape, value, "resize_nearest")


def _summed(x: te.Tensor, shape: Sequence[tir.PrimExpr], axes: Sequence[_Axis]) -> te.Tensor:
    pairs = [(d.value_of(axis.length), d.value_of(axis.size)) for axis in axes]
    known = [(length, size) for length, size in pairs if length is not None and size is not None]
    if len(known) == len(axes) and is_separable(known, axes[0].taps):
        for axis in reversed(axes):
            x = _along(x, axis)
        return x
    taps = [te.reduce_axis((te.const(0, "int64"), te.const(axis.taps, "int64")), "k") for axis in axes]
    tables = [(axis.places(), axis.weights()) for axis in axes]

    def value(*i: tir.PrimExpr) -> Any:
        along = list(zip(axes, i[2:], taps, tables, strict=True))
        at = (axis.clamped(places(tap, place)) for axis, place, tap, (places, _) in along)
        factors = [weights(tap, place) for _, place, tap, (_, weights) in along]
        return te.sum(te.cast(x(*i[:2], *at), "float32") * prod(factors[1:], start=factors[0]), axis=taps)

    return te.compute(shape, value, "resize_sum")


def is_separable(sizes: Sequence[tuple[int, int]], taps: int) -> bool:
    """Return whether it is less work to resize one dimension after the other, from the last to the first, than all at once, given
    the old and the new size of each.
    """
    work = sum(
        prod(old for old, _ in sizes[:axis]) * prod(new for _, new in sizes[axis:]) for axis in range(len(sizes))
    )
    return work <= prod(new for _, new in sizes) * taps ** (len(sizes) - 1)


def _along(x: te.Tensor, axis: _Axis) -> te.Tensor:
    """Return `x` resized in one dimension."""
    position, places, weights = 2 + axis.number, axis.places(), axis.weights()

    def value(*i: tir.PrimExpr) -> tir.PrimExpr:
        terms: list[tir.PrimExpr] = []
        for tap in range(axis.taps):
            number = te.const(tap, "int64")
            at = axis.clamped(places(number, i[position]))
            element = x(*i[:position], at, *i[position + 1 :])
            terms.append(te.cast(element, "float32") * weights(number, i[position]))
        return sum(terms[1:], start=terms[0])

    return te.compute((*x.shape[:position], axis.size, *x.shape[position + 1 :]), value, "resize_along")


# --- In NumPy: the same taps and weights, in float32 ----------------------------------------------------------
#
# Whether a weight is exactly zero, and which elements are read, depends on rounding. As in PyTorch and ONNX, a tap of
# weight zero counts: next to an infinity, it makes NaN. Only taps count.


def _coordinates(np: Any, a: Any, axis: int, length: int, size: int) -> Any:
    """Return the source coordinate of each position of the result, as float32."""
    place, whole = np.arange(size, dtype=np.float32), np.float32(length)
    scale = whole / np.float32(size)
    is_many = size > 1
    match a.coordinate_transformation_mode:
        case "align_corners":
            return place * (whole - 1) / np.float32(max(size - 1, 1)) if is_many else 0 * place
        case "asymmetric":
            return place * scale
        case "tf_half_pixel_for_nn":
            return (place + np.float32(0.5)) * scale
        case "tf_crop_and_resize":
            start, end = np.float32(a.roi[axis]), np.float32(a.roi[len(a.roi) // 2 + axis])
            step = (end - start) * (whole - 1) / np.float32(max(size - 1, 1))
            middle = (start + end) * (whole - 1) * np.float32(0.5)
            return start * (whole - 1) + place * step if is_many else middle + 0 * place
        case mode:
            at = (place + np.float32(0.5)) * scale - np.float32(0.5)
            return at if is_many or mode != "pytorch_half_pixel" else 0 * place


def _nearest(np: Any, a: Any, x: Any) -> Any:
    half, epsilon = np.float32(0.5), np.float32(_EPSILON)
    match a.rounding_method or ("round" if a.coordinate_transformation_mode == "align_corners" else "floor"):
        case "round_prefer_floor":
            return np.ceil(x - half)
        case "round_prefer_ceil":
            return np.floor(x + half)
        case "floor":
            return np.floor(x + epsilon)
        case "ceil":
            return np.ceil(x - epsilon)
        case _:
            return np.where(x < 0, np.ceil(x - half), np.floor(x + half))


def _numpy_kernel(np: Any, a: Any, x: Any, length: int) -> list[Any]:
    """Return the weights of the elements around coordinates `x`, by tap."""
    t = x - np.floor(x)
    if a.method == "linear":
        return [1 - t, t]
    weights = _cubic_weights(t, np.float32(a.cubic_alpha))
    if not a.cubic_exclude:
        return weights
    places = [np.floor(x) + offset for offset in (-1, 0, 1, 2)]
    kept = [
        np.where((place >= 0) & (place < length), weight, np.float32(0))
        for place, weight in zip(places, weights, strict=True)
    ]
    total = kept[0] + kept[1] + kept[2] + kept[3]
    return [weight / total for weight in kept]


def _taps(np: Any, a: Any, x: Any, length: int) -> list[tuple[Any, Any]]:
    """Return the index and the weight of every tap, for each position of the result along one axis."""
    first = np.floor(x) - (0 if a.method == "linear" else 1)
    weights = _numpy_kernel(np, a, x, length)
    return [(_clamped(np, first + tap, length), weight) for tap, weight in enumerate(weights)]


def _clamped(np: Any, place: Any, length: int) -> Any:
    return np.clip(place.astype("int64"), 0, length - 1)


def _numpy_resize(np: Any, a: Any, letters: str) -> Any:
    x = numpy_unpacked(np, a.data, a.layout, letters)
    lengths, sizes = x.shape[2:], [int(size) for size in a.size]
    ats = [_coordinates(np, a, axis, length, sizes[axis]) for axis, length in enumerate(lengths)]
    with np.errstate(all="ignore"):
        if a.method == "nearest_neighbor":
            places = (_clamped(np, _nearest(np, a, at), length) for at, length in zip(ats, lengths, strict=True))
            result = x[:, :, *np.ix_(*places)]
        else:
            taps = [_taps(np, a, at, length) for at, length in zip(ats, lengths, strict=True)]
            is_apart = is_separable([*zip(lengths, sizes, strict=True)], len(taps[0]))
            result = (_numpy_separate if is_apart else _numpy_summed)(np, x.astype(np.float32), taps)
        result = _converted(result, a.result_dtype)
    if a.coordinate_transformation_mode == "tf_crop_and_resize":
        inside = [(at >= 0) & (at <= length - 1) for at, length in zip(ats, lengths, strict=True)]
        outside = np.asarray(_saturated(a.extrapolation_value, str(a.result_dtype))).astype(a.result_dtype)
        shaped = (row.reshape(-1, *[1] * (len(inside) - 1 - axis)) for axis, row in enumerate(inside))
        result = np.where(prod(shaped, start=np.True_), result, outside)
    return numpy_packed(np, result, a.layout, letters)


def _numpy_separate(np: Any, x: Any, taps: Sequence[list[tuple[Any, Any]]]) -> Any:
    """Return `x` resized in one dimension after the other, from the last to the first."""
    for axis in reversed(range(len(taps))):
        shape = (-1, *[1] * (len(taps) - 1 - axis))
        terms = [np.take(x, place, 2 + axis) * weight.reshape(shape) for place, weight in taps[axis]]
        x = sum(terms[1:], start=terms[0])
    return x


def _numpy_summed(np: Any, x: Any, taps: Sequence[list[tuple[Any, Any]]]) -> Any:
    """Return `x` resized in all dimensions at once."""
    result = np.float32(0)
    for chosen in product(*taps):
        factors = np.ix_(*(weight for _, weight in chosen))
        pixel = x[:, :, *np.ix_(*(place for place, _ in chosen))]
        result = result + pixel * prod(factors[1:], start=factors[0])
    return result


def _converted(x: Any, dtype: Any) -> Any:
    is_rounded = is_float(str(x.dtype)) and is_int(str(dtype))
    return float_to_int(x, str(dtype)) if is_rounded else x.astype(dtype)


def _resize_op(spatial: int, dims: str, rounding: str) -> RelaxOp:
    letters = _LETTERS[spatial]
    return RelaxOp(
        f"relax.image.resize{spatial}d",
        (
            Param("data"),
            Param("size", "sizes"),
            Param("roi", "value", (0.0,) * 2 * spatial),
            Param("layout", "str", letters),
            Param("method", "str", "linear"),
            Param("coordinate_transformation_mode", "str", "half_pixel"),
            Param("rounding_method", "str", rounding),
            Param("cubic_alpha", "float", -0.75),
            Param("cubic_exclude", "int", 0),
            Param("extrapolation_value", "float", 0.0),
            Param("out_dtype", "dtype", None),
        ),
        lambda a: _infer_resize(a, letters),
        f"Resize images to `size`, {dims}.",
        lambda np, a: _numpy_resize(np, a, letters),
        lambda a: resized(a, letters),
        complete=_complete(spatial),
    )


register(_resize_op(2, "height and width", "round"))
register(_resize_op(3, "depth, height and width", ""))


# --- Files ----------------------------------------------------------------------------------------------------


def _infer_decoded(a: Inference) -> StructInfo:
    a.rank("data", 1)
    return tensor_info(None, "uint8", 3)


def _decoded(np: Any, a: Any) -> Any:
    """Return the pixels (height, width, channels) by Pillow: E0812 if it is absent, E0702 if it cannot read the data."""
    from io import BytesIO

    try:
        from PIL import Image  # type: ignore[reportMissingImports]
    except ImportError:
        raise error("E0812", "decoding an image needs Pillow", None, "pip install pillow") from None
    library = cast("Any", Image)
    mode = "L" if str(a.pixel_format) == "Grayscale" else "RGB"
    try:
        with library.open(BytesIO(np.asarray(a.data).tobytes())) as image:
            pixels = np.array(image.convert(mode))
    except Exception as problem:  # decoders raise whatever damaged data lead them to
        raise error("E0702", f"the data are not an image that can be decoded: {problem}") from None
    pixels = pixels.reshape(*pixels.shape[:2], -1)
    return np.ascontiguousarray(pixels[:, :, ::-1] if str(a.pixel_format) == "BGR" else pixels)


register(
    RelaxOp(
        "relax.image.decode",
        (Param("data"), Param("pixel_format", "string")),
        _infer_decoded,
        'Return the pixels (height, width, channels) of an encoded image, in the order "RGB", "BGR" or "Grayscale".',
        _decoded,
        at_run_time=True,
    )
)
