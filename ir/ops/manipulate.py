"""Operators that change the shape of tensors (TVM: `relax/op/manipulate.py`)."""

from __future__ import annotations

from functools import reduce
from math import prod
from typing import Any

from .. import te, tir
from ..base import StructInfo
from ..relax import ShapeExpr, TensorStructInfo
from ..te import topi
from . import dims as d
from .inference import Inference, dims_of, shaped, tensor_info, written_dims
from .registry import Param, RelaxOp, register


def _infer_permute(a: Inference) -> StructInfo:
    info, axes = a.tensor("x"), a.attr("axes")
    if info.ndim == -1:
        return tensor_info(None, info.dtype, -1 if axes is None else len(axes), info.vdevice)
    order = tuple(reversed(range(info.ndim))) if axes is None else a.axes(axes, info.ndim)
    if len(order) != info.ndim:
        raise a.fail("E0323", f"lists {len(order)} axes, but 'x' has {info.ndim} dimensions", "list every axis once")
    if list(order) == list(range(info.ndim)):
        return info
    dims = written_dims(info)
    return tensor_info(dims and [dims[axis] for axis in order], info.dtype, info.ndim, info.vdevice)


def _order(a: Any) -> list[int]:
    return list(reversed(range(a.x.ndim))) if a.axes is None else [axis % a.x.ndim for axis in a.axes]


register(
    RelaxOp(
        "relax.permute_dims",
        (Param("x"), Param("axes", "opt_ints", None)),
        _infer_permute,
        "Permute the dimensions of `x` to the order `axes`, or reverse them.",
        lambda np, a: np.transpose(a.x, a.axes),
        lambda a: topi.transpose(a.x, _order(a)),
        prim_func="transpose",
    )
)


def _complete_reshape(values: dict[str, Any]) -> None:
    """Replace 0 by the dimension of `x` at that axis, and -1 by the remaining size (TVM: `ConvertNewShapeToExpr`).

    If `x` has no elements and no dimension is inferred, 0 means 0, so that empty results can be written.
    """
    shape, info = values["shape"], values["x"].struct_info
    if isinstance(shape, ShapeExpr) and sum(d.value_of(dim) == -1 for dim in shape.values) > 1:
        return
    if not isinstance(shape, ShapeExpr) or not any(d.value_of(dim) in (0, -1) for dim in shape.values):
        return
    old = dims_of(info) if isinstance(info, TensorStructInfo) else None
    is_given = not any(d.value_of(dim) == -1 for dim in shape.values)
    if old is None or (is_given and d.value_of(d.product(old)) == 0):
        return
    new = [old[axis] if d.value_of(dim) == 0 and axis < len(old) else dim for axis, dim in enumerate(shape.values)]
    known = d.product([dim for dim in new if d.value_of(dim) != -1])
    if d.value_of(known) != 0:
        rest = d.floordiv(d.product(old), known)
        new = [rest if d.value_of(dim) == -1 else dim for dim in new]
    values["shape"] = ShapeExpr(tuple(new), span=shape.span)


def _infer_reshape(a: Inference) -> StructInfo:
    info, shape = a.tensor("x"), a.shape("shape")
    old, new = dims_of(info), shape.values
    if new is not None and sum(d.value_of(dim) == -1 for dim in new) > 1:
        raise a.fail("E0326", f"cannot infer several dimensions of {d.show(new)}", "write -1 for one dimension only")
    if new is not None and any((d.value_of(dim) or 0) < 0 for dim in new):
        raise a.fail(
            "E0326", f"cannot infer the dimension -1 of {d.show(new)}", "give the shape of 'x', or every dimension"
        )
    if old is not None and new is not None:
        message = f"cannot turn shape {d.show(old)} into {d.show(new)}: they hold different numbers of elements"
        a.check_equal(
            d.product(old), d.product(new), message, "keep the product of the dimensions, or write -1 for one"
        )
    argument = a.argument("shape")
    if new is not None:
        return tensor_info(new, info.dtype, len(new), info.vdevice)
    return TensorStructInfo(argument, info.dtype, shape.ndim, info.vdevice)


register(
    RelaxOp(
        "relax.reshape",
        (Param("x"), Param("shape", "shape")),
        _infer_reshape,
        "Reshape `x`; one dimension may be -1 and is inferred, and 0 keeps a dimension.",
        lambda np, a: np.reshape(a.x, a.shape),
        lambda a: topi.reshape(a.x, a.result.dims),
        complete=_complete_reshape,
    )
)


def _infer_flatten(a: Inference) -> StructInfo:
    info = a.tensor("x")
    if info.ndim == 1:
        return info
    dims = written_dims(info)
    count = d.dim(1) if info.ndim == 0 else d.product(dims) if dims is not None else None
    return tensor_info(None if count is None else [count], info.dtype, 1, info.vdevice)


register(
    RelaxOp(
        "relax.flatten",
        (Param("x"),),
        _infer_flatten,
        "Flatten `x` to one dimension.",
        lambda np, a: np.reshape(a.x, (-1,)),
        lambda a: topi.reshape(a.x, a.result.dims),
        prim_func="reshape",
    )
)


def _infer_batch_flatten(a: Inference) -> StructInfo:
    info = a.tensor("data")
    if info.ndim in (0, 1):
        raise a.fail("E0323", f"needs at least two dimensions, but '{a.label('data')}' has {info.ndim}")
    dims = written_dims(info)
    if dims is None:
        return tensor_info(None, info.dtype, 2, info.vdevice)
    return tensor_info([dims[0], reduce(d.written_product, dims[1:])], info.dtype, -1, info.vdevice)


register(
    RelaxOp(
        "relax.nn.batch_flatten",
        (Param("data"),),
        _infer_batch_flatten,
        "Flatten all dimensions of `data` but the first to one.",
        lambda np, a: np.reshape(a.data, (a.data.shape[0], prod(a.data.shape[1:]))),
        lambda a: topi.reshape(a.data, a.result.dims),
        prim_func="reshape",
    )
)


def _infer_broadcast_to(a: Inference) -> StructInfo:
    info, shape = a.tensor("x"), a.shape("shape")
    old, new = dims_of(info), shape.values
    ndim = shape.ndim if new is None else len(new)
    if info.ndim > ndim != -1:
        raise a.fail("E0323", f"cannot broadcast {info.ndim} dimensions to {ndim}")
    if old is not None and new is not None:
        for axis, (x, y) in enumerate(zip(old, new[len(new) - len(old) :], strict=True)):
            if not d.is_one(x):
                a.check_equal(x, y, f"cannot broadcast shape {d.show(old)} to {d.show(new)}: axis {axis} is not 1")
    return shaped(a, "shape", info.dtype, info.vdevice)


register(
    RelaxOp(
        "relax.broadcast_to",
        (Param("x"), Param("shape", "shape")),
        _infer_broadcast_to,
        "Broadcast `x` to `shape`.",
        lambda np, a: np.broadcast_to(a.x, a.shape),
        lambda a: te.compute(a.result.dims, lambda *ax: topi.element(a.x, ax, a.result.dims), "T_broadcast_to"),
    )
)


def _infer_expand_dims(a: Inference) -> StructInfo:
    info, axes = a.tensor("x"), a.attr("axis")
    if not axes:
        return info
    if info.ndim == -1:
        return tensor_info(None, info.dtype, -1, info.vdevice)
    ndim = info.ndim + len(axes)
    places = a.axes(axes, ndim)
    dims = written_dims(info)
    if dims is None:
        return tensor_info(None, info.dtype, ndim, info.vdevice)
    rest = iter(dims)
    return tensor_info(
        [d.dim(1) if axis in places else next(rest) for axis in range(ndim)], info.dtype, ndim, info.vdevice
    )


def _expand_dims(a: Any) -> te.Tensor:
    ndim = a.x.ndim + len(a.axis)
    places = {axis % ndim for axis in a.axis}
    kept = [axis for axis in range(ndim) if axis not in places]
    return te.compute(a.result.dims, lambda *i: a.x(*(i[axis] for axis in kept)), "expand_dims")


register(
    RelaxOp(
        "relax.expand_dims",
        (Param("x"), Param("axis", "ints")),
        _infer_expand_dims,
        "Insert dimensions of size 1 at `axis`.",
        lambda np, a: np.expand_dims(a.x, a.axis),
        _expand_dims,
    )
)


def _infer_squeeze(a: Inference) -> StructInfo:
    info, axis = a.tensor("x"), a.attr("axis")
    if axis == ():
        return info
    if info.ndim == -1:
        return tensor_info(None, info.dtype, -1, info.vdevice)
    dims = dims_of(info)
    if axis is None:
        if dims is None or any(d.value_of(dim) is None for dim in dims):
            return tensor_info(None, info.dtype, -1, info.vdevice)
        left = [dim for dim in dims if not d.is_one(dim)]
        if len(left) == len(dims):
            return info
        return tensor_info(left if written_dims(info) is not None else None, info.dtype, -1, info.vdevice)
    gone = a.axes(axis, info.ndim)
    if dims is not None:  # TVM keeps dimensions that are not 1
        gone = [number for number in gone if d.value_of(dims[number]) in (None, 1)]
        for number in gone:
            a.check_equal(dims[number], d.dim(1), f"cannot remove axis {number}, which is {d.show_one(dims[number])}")
    dims = written_dims(info)
    left = dims and [dim for number, dim in enumerate(dims) if number not in gone]
    return tensor_info(left, info.dtype, info.ndim - len(gone), info.vdevice)


def _squeeze(a: Any) -> te.Tensor:
    one = [number for number, dim in enumerate(a.x.dims) if d.is_one(dim)]
    given = one if a.axis is None else [axis % a.x.ndim for axis in a.axis]
    gone = [axis for axis in given if d.value_of(a.x.dims[axis]) in (None, 1)]

    def value(*ax: tir.PrimExpr) -> tir.PrimExpr:
        rest = iter(ax)
        return a.x(*(0 if number in gone else next(rest) for number in range(a.x.ndim)))

    return te.compute(a.result.dims, value, "T_squeeze")


register(
    RelaxOp(
        "relax.squeeze",
        (Param("x"), Param("axis", "opt_ints", None)),
        _infer_squeeze,
        "Remove those of the dimensions `axis`, by default of all dimensions, that are 1.",
        lambda np, a: np.squeeze(a.x, None if a.axis is None else tuple(i for i in a.axis if a.x.shape[i] == 1)),
        _squeeze,
    )
)
