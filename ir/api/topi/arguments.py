"""Operators whose arguments differ between `topi` and the graph level."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ... import te, tir
from .table import function


def strided_slice(
    a: te.Tensor,
    begin: Sequence[int],
    end: Sequence[int],
    strides: Sequence[int] | None = None,
    axes: Sequence[int] | None = None,
) -> te.Tensor:
    """Return a strided slice of `a`; without `axes`, along the leading axes."""
    return function("strided_slice")(a, tuple(range(len(begin))) if axes is None else axes, begin, end, strides)


def sort(data: te.Tensor, axis: int = -1, is_ascend: bool = True) -> te.Tensor:
    """Return `data` sorted along `axis`."""
    return function("sort")(data, axis, not is_ascend)


def argsort(
    data: te.Tensor, valid_count: None = None, axis: int = -1, is_ascend: bool = True, dtype: str = "float32"
) -> te.Tensor:
    """Return the indices that sort `data` along `axis`; `valid_count` must be None: all elements are sorted."""
    if valid_count is not None:
        raise ValueError("topi.argsort sorts all elements: omit valid_count, and slice data first")
    return function("argsort")(data, axis, not is_ascend, dtype)


def topk(
    data: te.Tensor, k: int = 1, axis: int = -1, ret_type: str = "both", is_ascend: bool = False, dtype: str = "int64"
) -> Any:
    """Return the `k` greatest elements along `axis`, or the least ones if `is_ascend`, and their indices."""
    return function("topk")(data, k, axis, ret_type, not is_ascend, dtype)


def dyn_tile(a: te.Tensor, new_shape: Sequence[tir.PrimExpr | int], rdim: int) -> te.Tensor:
    """Return `a` repeated along its axes until it has `new_shape`; `rdim` is the number of repetition counts, which TVM has as
    a tensor. If there are more of them than axes, `a` gets further axes in front.
    """
    offset = max(rdim - a.ndim, 0)

    def element(*i: tir.PrimExpr) -> tir.PrimExpr:
        return a(*(place % length for place, length in zip(i[offset:], a.dims, strict=True)))

    return te.compute(new_shape, element, "T_tile")
