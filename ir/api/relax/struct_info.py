"""Constructors of struct info (TVM: `relax/struct_info.py`)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, cast

from ... import relax, tir
from ...base import StructInfo, VDevice
from ...building.place import with_place
from ...building.values import dimension, plain_nodes
from ...diagnostics import error
from ...ops.inference import tensor_info
from ...spelling import newer_names
from ..constructor import constructor


def as_struct_info(info: Any) -> StructInfo:
    """Return `ir.PrimType("int64")`, or an `ir.TupleType`, as struct info, as both are in TVM 0.27; struct info is unchanged.

    Raises TvmsError E0315 for other values.
    """
    if isinstance(info, tir.PrimType):
        return relax.PrimStructInfo(info.dtype)
    if isinstance(info, tir.TupleType):
        return relax.TupleStructInfo(tuple(map(as_struct_info, info.fields)))
    if isinstance(info, StructInfo):
        return info
    meaning = getattr(type(cast("object", info)), "as_struct_info", None)
    known = None if meaning is None else meaning(info)  # of a form of the language: `R.Object`
    if isinstance(known, StructInfo):
        return known
    help = 'give one, such as relax.TensorStructInfo((n, 784), "float32")'
    raise with_place(error("E0315", f"{info!r} is not struct info", None, help))


@constructor(relax.ObjectStructInfo)
def ObjectStructInfo() -> relax.ObjectStructInfo:
    """Any value."""
    return relax.ObjectStructInfo()


@constructor(relax.PrimStructInfo)
def PrimStructInfo(dtype: str | None = None, value: Any = None) -> relax.PrimStructInfo:
    """A scalar of `dtype`, or the known `value`; ValueError if both or neither are given."""
    if (dtype is None) == (value is None):
        raise ValueError('give the dtype of a scalar or its value: relax.PrimStructInfo("int64"), or value=n')
    if dtype is not None:
        if not isinstance(cast("object", dtype), str):
            raise TypeError(f"expected the name of a dtype, got {dtype!r}; write value={dtype!r} for a known value")
        return relax.PrimStructInfo(dtype)
    node = plain_nodes(value)
    node = node if isinstance(node, tir.PrimExpr) else dimension(node)
    return relax.PrimStructInfo(node.dtype, node)


@constructor(relax.ShapeStructInfo)
def ShapeStructInfo(values: Sequence[Any] | None = None, ndim: int = -1) -> relax.ShapeStructInfo:
    """A shape of `values`, or of `ndim` unknown dimensions; ValueError if both are given."""
    if values is None:
        return relax.ShapeStructInfo(None, ndim)
    _check_ndim(len(values), ndim)
    return relax.ShapeStructInfo(tuple(dimension(value) for value in values), len(values))


def _check_ndim(count: int, ndim: int) -> None:
    if ndim != -1:
        raise ValueError(f"{count} dimensions are given, and also ndim={ndim}; leave ndim out")


@constructor(relax.TensorStructInfo)
def TensorStructInfo(
    shape: Any = None, dtype: str = "float32", vdevice: VDevice | None = None, ndim: int = -1
) -> relax.TensorStructInfo:
    """A tensor of `shape` (integers, symbolic dimensions, or a variable that holds a shape), or of `ndim` dimensions.

    ValueError if the dimensions and `ndim` are given.
    """
    if isinstance(shape, relax.Expr) and not isinstance(shape, relax.ShapeExpr):
        held = shape.struct_info
        known = held.ndim if isinstance(held, relax.ShapeStructInfo) else ndim
        return relax.TensorStructInfo(shape, dtype or "void", known, vdevice)
    if shape is None:
        return tensor_info(None, dtype or "void", ndim, vdevice)
    sizes = [dimension(size) for size in shape]
    _check_ndim(len(sizes), ndim)
    return tensor_info(sizes, dtype or "void", ndim, vdevice)


@constructor(relax.TensorStructInfo)
def DynTensorType(ndim: int = -1, dtype: str = "float32") -> relax.TensorStructInfo:
    """A tensor of `ndim` dimensions (a type in TVM before 0.15)."""
    return tensor_info(None, dtype, ndim)


@constructor(relax.TupleStructInfo)
def TupleStructInfo(fields: Sequence[StructInfo]) -> relax.TupleStructInfo:
    """A tuple of `fields`."""
    return relax.TupleStructInfo(tuple(map(as_struct_info, fields)))


def _opaque_func(
    *, ret: StructInfo | None = None, derive_func: str | None = None, purity: bool = False
) -> relax.FuncStructInfo:
    """A function of any arguments; it returns `ret`, or what the function registered as `derive_func` infers from the call."""
    return relax.FuncStructInfo(
        None, relax.ObjectStructInfo() if ret is None else as_struct_info(ret), purity, derive_func
    )


@constructor(relax.FuncStructInfo, opaque_func=_opaque_func)
def FuncStructInfo(params: Sequence[StructInfo], ret: StructInfo, purity: bool = True) -> relax.FuncStructInfo:
    """A function of `params` that returns `ret`; with `purity`, it has no side effects."""
    return relax.FuncStructInfo(tuple(map(as_struct_info, params)), as_struct_info(ret), purity)


@constructor(relax.TensorStructInfo)
def TensorType(
    shape: Any = None, dtype: str = "float32", vdevice: VDevice | None = None, ndim: int = -1
) -> relax.TensorStructInfo:
    """A tensor type: the name of `TensorStructInfo` in TVM 0.27. A number instead of a shape is `ndim`, as in TVM 0.21."""
    if isinstance(shape, int):
        return tensor_info(None, dtype or "void", shape, vdevice)
    return TensorStructInfo(shape, dtype, vdevice, ndim)


@constructor(relax.FuncStructInfo, opaque_func=_opaque_func)
@newer_names(params="arg_types", ret="ret_type")
def FuncType(arg_types: Sequence[StructInfo], ret_type: StructInfo, purity: bool = True) -> relax.FuncStructInfo:
    """A function type: the name of `FuncStructInfo` in TVM 0.27, with the parameters of TVM 0.21."""
    return FuncStructInfo(arg_types, ret_type, purity)


AnyType = ObjectType = ObjectStructInfo
ShapeType = ShapeStructInfo
TupleType = TupleStructInfo
"""Names in TVM 0.27."""


@constructor(relax.FuncStructInfo)
def PackedFuncType() -> relax.FuncStructInfo:
    """A function of any arguments that is registered at run time (a type in TVM)."""
    return _opaque_func()
