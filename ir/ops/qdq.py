"""Quantization and dequantization (TVM: `relax/op/qdq.py`)."""

from __future__ import annotations

from typing import Any, cast

from .. import te, tir
from ..base import StructInfo
from ..dtype import is_float, is_int
from ..numpy_dtype import float_to_int
from . import dims as d
from .inference import Inference, dims_of, like
from .registry import Param, RelaxOp, register


def _infer(a: Inference) -> StructInfo:
    info = a.tensor("data")
    if a.attr("out_dtype") == "void":
        raise a.fail("E0321", "needs an out_dtype")
    for name in ("scale", "zero_point"):
        other = a.rank(name, 0, 1)
        dims, own = dims_of(other), dims_of(info)
        if info.ndim == 0 and dims and d.is_different(dims[0], d.dim(1)):
            raise a.fail(
                "E0326",
                f"needs scalar or singleton tensors for data without axes, but '{name}' has {d.show_one(dims[0])} values",
            )
        if own and dims and not d.is_one(dims[0]):
            axis = a.axis(a.attr("axis"), info.ndim)
            both = f"{d.show_one(dims[0])} values of '{name}', but axis {axis} of 'data' is {d.show_one(own[axis])}"
            a.check_equal(dims[0], own[axis], f"has {both}")
    return like(info, a.attr("out_dtype"))


def _parameter(value: Any, index: tuple[tir.PrimExpr, ...], axis: int) -> tir.PrimExpr:
    if isinstance(value, tir.PrimExpr):
        return value
    return value(*((index[axis],) if value.ndim == 1 else ()))


def _clip_cast(value: tir.PrimExpr, dtype: str) -> tir.PrimExpr:
    if dtype in ("float32", "float64"):
        return te.cast(value, dtype)
    low, high = te.cast(te.min_value(dtype), value.dtype), te.cast(te.max_value(dtype), value.dtype)
    return te.cast(te.maximum(te.minimum(value, high), low), dtype)


def _quantize(a: Any) -> te.Tensor:
    def value(*indices: tir.PrimExpr) -> tir.PrimExpr:
        scaled = a.data(*indices) / _parameter(a.scale, indices, a.axis)
        rounded = scaled if is_float(a.out_dtype) else te.round(scaled)
        return _clip_cast(rounded + te.cast(_parameter(a.zero_point, indices, a.axis), scaled.dtype), a.out_dtype)

    return te.compute(a.data.dims, value, "quantized")


def _dequantize(a: Any) -> te.Tensor:
    dtype = "float32" if is_float(a.data.dtype) else "int32"

    def value(*indices: tir.PrimExpr) -> tir.PrimExpr:
        zero = te.cast(_parameter(a.zero_point, indices, a.axis), dtype)
        difference = te.cast(a.data(*indices), dtype) - zero
        scaled = te.cast(difference, "float32") * te.cast(_parameter(a.scale, indices, a.axis), "float32")
        return _clip_cast(scaled, a.out_dtype)

    return te.compute(a.data.dims, value, "dequantized")


def _along(a: Any, value: Any) -> Any:
    return value.reshape([-1 if n == a.axis % a.data.ndim else 1 for n in range(a.data.ndim)]) if value.ndim else value


def _numpy_clip_cast(np: Any, value: Any, dtype: str, result_dtype: Any) -> Any:
    if is_int(dtype):
        return float_to_int(value, dtype)
    if dtype in ("float32", "float64"):
        return value.astype(result_dtype)
    most = cast("Any", te.max_value(dtype)).value
    return np.clip(value, -most, most).astype(result_dtype)


def _numpy_quantize(np: Any, a: Any) -> Any:
    scaled = a.data / _along(a, a.scale)
    rounded = scaled if is_float(a.out_dtype) else np.rint(scaled)
    moved = rounded + _along(a, a.zero_point).astype(scaled.dtype)
    return _numpy_clip_cast(np, moved, a.out_dtype, a.result_dtype)


def _numpy_dequantize(np: Any, a: Any) -> Any:
    wide = "float32" if is_float(str(a.data.dtype)) else "int32"
    difference = a.data.astype(wide) - _along(a, a.zero_point)
    scaled = difference.astype("float32") * _along(a, a.scale).astype("float32")
    return _numpy_clip_cast(np, scaled, a.out_dtype, a.result_dtype)


for _name, _dtype, _doc, _oracle, _meaning in (
    ("quantize", "int8", "`data / scale + zero_point`, rounded to", _numpy_quantize, _quantize),
    ("dequantize", "float32", "`(data - zero_point) * scale` as", _numpy_dequantize, _dequantize),
):
    register(
        RelaxOp(
            f"relax.{_name}",
            (
                Param("data"),
                Param("scale"),
                Param("zero_point"),
                Param("axis", "int", -1),
                Param("out_dtype", "dtype", _dtype),
            ),
            _infer,
            f"Return {_doc} `out_dtype`.",
            _oracle,
            _meaning,
            attrs_order=("out_dtype", "axis"),
            scalars=("scale", "zero_point"),
        )
    )
