"""Sums that undo broadcasting (TVM: `relax/op/manipulate.py`)."""

from __future__ import annotations

from typing import Any

from .. import te, tir
from ..base import StructInfo
from ..relax import TensorStructInfo
from ..te import topi
from . import dims as d
from .inference import Inference, dims_of, tensor_info
from .registry import Param, RelaxOp, register


def _infer_collapse_like(a: Inference) -> StructInfo:
    info, target = a.tensor("data"), a.tensor("collapse_target")
    _check_collapse(a, dims_of(info), dims_of(target))
    return TensorStructInfo(target.shape, info.dtype, target.ndim, target.vdevice)


def _infer_collapse_to(a: Inference) -> StructInfo:
    info, shape = a.tensor("data"), a.shape("shape")
    _check_collapse(a, dims_of(info), shape.values)
    return tensor_info(shape.values, info.dtype, shape.ndim, info.vdevice)


def _check_collapse(a: Inference, old: d.Dims | None, new: d.Dims | None) -> None:
    if old is None or new is None:
        return
    if len(new) > len(old):
        raise a.fail("E0323", f"cannot collapse {len(old)} dimensions to {len(new)}")
    for x, y in zip(old[len(old) - len(new) :], new, strict=True):
        if not d.is_one(y):
            a.check_equal(x, y, f"cannot collapse shape {d.show(old)} to {d.show(new)}")


def _collapse(a: Any) -> te.Tensor:
    data: te.Tensor = a.data
    shape: tuple[tir.PrimExpr, ...] = a.result.dims
    offset = data.ndim - len(shape)
    axes = [
        axis
        for axis, dim in enumerate(data.dims)
        if axis < offset or (d.is_one(shape[axis - offset]) and not d.is_one(dim))
    ]
    inner = topi.reduce_axes(data, axes)
    if not axes:
        return te.compute(shape, lambda *ax: data(*ax), "T_collapse_sum")

    def value(*ax: tir.PrimExpr) -> Any:
        reduced = iter(inner)
        index = [next(reduced) if axis in axes else ax[axis - offset] for axis in range(data.ndim)]
        return te.sum(data(*index), axis=inner)

    return te.compute(shape, value, f"{data.name}_red")


def _numpy_collapse(np: Any, data: Any, shape: Any) -> Any:
    offset = data.ndim - len(shape)
    axes = [axis for axis in range(data.ndim) if axis < offset or (shape[axis - offset] == 1 != data.shape[axis])]
    return data.sum(tuple(axes), keepdims=True).reshape(shape).astype(data.dtype)


register(
    RelaxOp(
        "relax.collapse_sum_like",
        (Param("data"), Param("collapse_target")),
        _infer_collapse_like,
        "Return `data` summed to the shape of `collapse_target`.",
        lambda np, a: _numpy_collapse(np, a.data, a.collapse_target.shape),
        _collapse,
        prim_func="collapse_sum",
    )
)
register(
    RelaxOp(
        "relax.collapse_sum_to",
        (Param("data"), Param("shape", "shape")),
        _infer_collapse_to,
        "Return `data` summed to `shape`.",
        lambda np, a: _numpy_collapse(np, a.data, a.shape),
        _collapse,
        prim_func="collapse_sum",
    )
)
