"""Shared parts of convolutions and poolings: attributes, padding, and the number of windows."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from .. import te, tir
from . import dims as d


def complete_windows(
    spatial: int, *counts: str, layouts: tuple[str, str] = ("data_layout", "out_layout")
) -> Callable[[dict[str, Any]], None]:
    """Return a function that completes attributes: one value serves all dimensions, padding gets two sides each, and the
    layout of the result defaults to that of the data (TVM: `relax::GetCompletePadding*`).
    """

    def complete(values: dict[str, Any]) -> None:
        for name in counts:
            if name in values and values[name] is not None and len(values[name]) == 1:
                values[name] *= spatial
        padding = values.get("padding")
        if padding is not None:
            values["padding"] = padding * (2 * spatial if len(padding) == 1 else 2 if len(padding) == spatial else 1)
        source, target = layouts
        values[target] = values[source] if values[target] in (None, "") else values[target]

    return complete


def window_length(
    length: tir.PrimExpr,
    window: tir.PrimExpr | int,
    stride: int,
    dilation: int,
    padding: tuple[int, int],
    ceil: bool = False,
) -> tir.PrimExpr:
    """Return the number of windows along an axis."""
    covered = d.add(d.multiply(d.subtract(d.as_dim(window), 1), dilation), 1)
    free = d.subtract(d.add(length, sum(padding)), covered)
    return d.add(d.floordiv(d.add(free, stride - 1) if ceil else free, stride), 1)


def sides(padding: Sequence[int]) -> list[tuple[int, int]]:
    """Return the padding before and after each dimension, from TVM's order: all before, then all after."""
    half = len(padding) // 2
    return list(zip(padding[:half], padding[half:], strict=True))


def _is_zero(side: int | tir.PrimExpr) -> bool:
    return isinstance(side, int) and side == 0


def padded(
    x: te.Tensor,
    before: Sequence[int | tir.PrimExpr],
    after: Sequence[int | tir.PrimExpr],
    value: tir.PrimExpr,
    name: str = "pad_temp",
    axes: str = "i",
) -> te.Tensor:
    """Return `x` padded with `value`; `x` itself without padding."""
    if all(map(_is_zero, (*before, *after))):
        return x
    shape = [d.add(dim, low + high) for dim, low, high in zip(x.dims, before, after, strict=True)]

    def element(*i: tir.PrimExpr) -> tir.PrimExpr:
        inside: list[tir.PrimExpr] = []
        index: list[tir.PrimExpr] = []
        for item, dim, low, high in zip(i, x.dims, before, after, strict=True):
            if not _is_zero(low):
                inside.append(te.const(low, item.dtype) <= item if isinstance(low, int) else low <= item)
            if not _is_zero(high):
                inside.append(item < d.add(dim, low))
            index.append(item if _is_zero(low) else item - low)
        return te.if_then_else(te.all(*inside), x(*index), value)

    return te.compute(shape, element, name, varargs_names=[f"{axes}{number}" for number in range(x.ndim)])
