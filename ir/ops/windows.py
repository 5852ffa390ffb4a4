"""What convolutions and poolings share: layouts, padding, and the lengths of what windows give."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from .. import te, tir
from ..base import StructInfo
from ..te import topi
from . import dims as d
from .inference import Inference, tensor_info


def complete_windows(
    spatial: int, *counts: str, layouts: tuple[str, str] = ("data_layout", "out_layout")
) -> Callable[[dict[str, Any]], None]:
    """Return what brings attributes into form: one value stands for all dimensions, padding has two sides each, and
    the layout of the result is that of the data (TVM: `relax::GetCompletePadding*`)."""

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


def places(a: Inference, layout: str, letters: str, what: str) -> list[int]:
    """Where in `layout` the `letters` stand; E0321 where it lacks one, or splits a dimension."""
    if sorted(layout) != sorted(letters):
        raise a.fail("E0321", f"cannot work in the {what} layout {layout}", f"use an order of the letters {letters}")
    return [layout.index(letter) for letter in letters]


def window_length(
    length: tir.PrimExpr, window: tir.PrimExpr, stride: int, dilation: int, padding: tuple[int, int], ceil: bool = False
) -> tir.PrimExpr:
    """How many windows fit in an axis."""
    covered = d.add(d.multiply(d.subtract(window, 1), dilation), 1)
    free = d.subtract(d.add(length, sum(padding)), covered)
    return d.add(d.floordiv(d.add(free, stride - 1) if ceil else free, stride), 1)


def sides(padding: Sequence[int]) -> list[tuple[int, int]]:
    """The padding of each dimension before and after, from TVM's order: all before, then all after."""
    half = len(padding) // 2
    return list(zip(padding[:half], padding[half:], strict=True))


def unknown(a: Inference, name: str, dtype: str, ndim: int) -> StructInfo:
    return tensor_info(None, dtype, ndim, a.tensor(name).vdevice)


def padded(
    x: te.Tensor, before: Sequence[int], after: Sequence[int], value: te.Expr, name: str = "pad_temp", axes: str = "i"
) -> te.Tensor:
    """Return `x` with `value` around it; `x` itself where nothing is added."""
    if not any((*before, *after)):
        return x
    shape = [d.add(dim, low + high) for dim, low, high in zip(x.shape, before, after, strict=True)]

    def element(*i: te.Expr) -> te.Expr:
        inside: list[te.Expr] = []
        index: list[te.Expr] = []
        for item, dim, low, high in zip(i, x.shape, before, after, strict=True):
            if low:
                inside.append(te.const(low, item.dtype) <= item)
            if high:
                inside.append(item < te.Expr(d.add(dim, low)))
            index.append(item - low if low else item)
        return te.if_then_else(te.all(*inside), x(*index), value)

    return te.compute(shape, element, name, varargs_names=[f"{axes}{number}" for number in range(x.ndim)])


def reordered(x: te.Tensor, order: Sequence[int]) -> te.Tensor:
    """Return `x` with its dimensions in `order`; `x` itself where they are already."""
    return x if list(order) == list(range(x.ndim)) else topi.transpose(x, order)


def inverse(order: Sequence[int]) -> list[int]:
    return [list(order).index(number) for number in range(len(order))]
