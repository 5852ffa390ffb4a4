"""Struct info as Python programs write it (TVM: `relax/struct_info.py`)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ... import relax
from ...base import StructInfo, VDevice
from ...building.values import dimension, plain_nodes
from ...ops.inference import tensor_info
from ..constructor import constructor


@constructor(relax.ObjectStructInfo)
def ObjectStructInfo() -> relax.ObjectStructInfo:
    """Any value."""
    return relax.ObjectStructInfo()


@constructor(relax.PrimStructInfo)
def PrimStructInfo(dtype: str | None = None, value: Any = None) -> relax.PrimStructInfo:
    """A scalar of `dtype`, or `value` where it is known."""
    if value is None:
        return relax.PrimStructInfo(dtype or "void")
    node = dimension(value)
    return relax.PrimStructInfo(node.dtype, node)


@constructor(relax.ShapeStructInfo)
def ShapeStructInfo(values: Sequence[Any] | None = None, ndim: int = -1) -> relax.ShapeStructInfo:
    """A shape of `values`, or of `ndim` dimensions that are not known."""
    if values is None:
        return relax.ShapeStructInfo(None, ndim)
    return relax.ShapeStructInfo(tuple(dimension(value) for value in values), len(values))


@constructor(relax.TensorStructInfo)
def TensorStructInfo(
    shape: Any = None, dtype: str = "float32", vdevice: VDevice | None = None, ndim: int = -1
) -> relax.TensorStructInfo:
    """A tensor of `shape` (integers, symbolic dimensions, or a variable that holds a shape), or of `ndim` dimensions."""
    if isinstance(shape, relax.Expr) and not isinstance(shape, relax.ShapeExpr):
        held = shape.struct_info
        known = held.ndim if isinstance(held, relax.ShapeStructInfo) else ndim
        return relax.TensorStructInfo(shape, dtype or "void", known, vdevice)
    return tensor_info(None if shape is None else [dimension(size) for size in shape], dtype or "void", ndim, vdevice)


@constructor(relax.TensorStructInfo)
def DynTensorType(ndim: int = -1, dtype: str = "float32") -> relax.TensorStructInfo:
    """A tensor of `ndim` dimensions (what TVM before 0.15 called its type)."""
    return tensor_info(None, dtype, ndim)


@constructor(relax.TupleStructInfo)
def TupleStructInfo(fields: Sequence[StructInfo]) -> relax.TupleStructInfo:
    """A tuple of `fields`."""
    return relax.TupleStructInfo(tuple(fields))


@constructor(relax.FuncStructInfo)
def FuncStructInfo(params: Sequence[StructInfo], ret: StructInfo, purity: bool = True) -> relax.FuncStructInfo:
    """A function of `params` that returns `ret`; it has no side effects where `purity` holds."""
    return relax.FuncStructInfo(plain_nodes(params), ret, purity)
