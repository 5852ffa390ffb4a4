"""Properties of graph-level tensors that the rows of every importer ask for."""

from __future__ import annotations

from typing import Any

from ...ir import relax, tir
from ...ir.infer import infer_struct_info
from ...ir.ops import dims as d


def info_of(value: relax.Expr) -> relax.TensorStructInfo:
    """Return the struct info of a tensor."""
    info = infer_struct_info(value)
    assert isinstance(info, relax.TensorStructInfo), info
    return info


def dtype_of(value: relax.Expr) -> str:
    """Return the dtype of a tensor."""
    return info_of(value).dtype


def dims_of(value: relax.Expr) -> tuple[tir.PrimExpr, ...]:
    """Return the dimensions of a tensor."""
    shape = info_of(value).shape
    assert isinstance(shape, relax.ShapeExpr)
    return shape.values


def rank_of(value: relax.Expr) -> int:
    """Return the number of dimensions of a tensor."""
    return info_of(value).ndim


def is_floating(dtype: str) -> bool:
    """Return whether a dtype is a floating-point dtype."""
    return "float" in dtype


def axis_of(axis: int, rank: int) -> int:
    """Return an axis counted from the front; a scalar tensor is treated as having one dimension."""
    return axis + max(rank, 1) if axis < 0 else axis


def static(value: Any) -> int | None:
    """Return a size if it is a number, or None."""
    return value if isinstance(value, int) else d.value_of(value)
