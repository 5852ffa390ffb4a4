"""Properties of graph-level tensors that the rows of every importer ask for."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ...ir import relax, tir
from ...ir.infer import infer_struct_info
from ...ir.ops import dims as d
from ...ir.ops.registry import find
from ...ir.visit import substitute


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


def broadcast_sizes(value: relax.Expr) -> tuple[tir.PrimExpr | None, ...] | None:
    """Return the dimensions that a call of a broadcasting operator must have if its operands fit, None for unknown ones; None for
    other values, and if the dimensions of an operand are unknown.
    """
    if not isinstance(value, relax.Call) or not isinstance(value.op, relax.Op):
        return None
    operator = find(value.op.name)
    if operator is None or not operator.broadcasts:
        return None
    shapes: list[tuple[tir.PrimExpr, ...]] = []
    for info in map(infer_struct_info, value.args):
        if not isinstance(info, relax.TensorStructInfo) or not isinstance(info.shape, relax.ShapeExpr):
            return None
        shapes.append(info.shape.values)
    rank = max(map(len, shapes))
    padded = [(*[d.dim(1)] * (rank - len(shape)), *shape) for shape in shapes]
    return tuple([_broadcast_size(column) for column in zip(*padded, strict=True)])


def _broadcast_size(sizes: Sequence[tir.PrimExpr]) -> tir.PrimExpr | None:
    """Return the size to which `sizes` broadcast: each is this size, or 1."""
    wide = [size for size in sizes if not d.is_one(size)]
    if not wide:
        return d.dim(1)
    for size in wide:
        others = [other for other in wide if not d.is_equal(size, other)]
        if d.value_of(size) is not None or all(_is_one_with(other, size) for other in others):
            return size
    return None


def _is_one_with(size: tir.PrimExpr, other: tir.PrimExpr) -> bool:
    """Return whether `size` is 1 if `other` is."""
    return isinstance(other, tir.Var) and d.is_one(d.simplify(substitute(size, {other: d.dim(1)})))
