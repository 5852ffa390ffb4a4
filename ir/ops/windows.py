"""What convolutions and poolings share: layouts, padding, and the lengths of what windows give."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from math import prod
from typing import Any

from msgspec import Struct

from .. import te, tir
from ..te import topi
from . import dims as d
from .inference import Inference


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


class Layout(Struct, frozen=True):
    """The order of dimensions, such as NHWC; in NCHW4c the channels are split, with blocks of 4 innermost."""

    parts: tuple[tuple[str, int], ...]
    """The letter of each dimension, and the size of its block where it is the inner part of a split; else 0."""

    @property
    def ndim(self) -> int:
        return len(self.parts)

    def factor(self, letter: str) -> int:
        """What the outer part of dimension `letter` must be multiplied with."""
        return prod(size for name, size in self.parts if name == letter and size)

    def primal(self, dims: Sequence[tir.PrimExpr], letters: str) -> list[tir.PrimExpr]:
        """Return whole dimensions in the order of `letters`, from those in this layout."""
        outer = {name: dim for (name, size), dim in zip(self.parts, dims, strict=True) if not size}
        return [d.multiply(outer[letter], self.factor(letter)) for letter in letters]

    def split(self, dims: Sequence[tir.PrimExpr], letters: str) -> list[tir.PrimExpr]:
        """Return the dimensions in this layout, from whole ones in the order of `letters`."""
        whole = dict(zip(letters, dims, strict=True))
        return [d.dim(size) if size else d.floordiv(whole[name], self.factor(name)) for name, size in self.parts]


def layout_of(a: Inference, name: str, letters: str) -> Layout:
    """Return the layout that attribute `name` says; E0321 where it is none of the dimensions `letters`."""
    text = a.attr(name)
    found = re.findall(r"([A-Z])|([1-9][0-9]*)([a-z])", text)
    layout = Layout(tuple((outer, 0) if outer else (inner.upper(), int(size)) for outer, size, inner in found))
    outer_letters = [letter for letter, size in layout.parts if not size]
    whole = "".join(outer or size + inner for outer, size, inner in found) == text
    if not whole or sorted(outer_letters) != sorted(letters) or any(part not in letters for part, _ in layout.parts):
        raise a.fail("E0321", f"cannot work in the layout {text} as '{name}'", f"use an order of the letters {letters}")
    return layout


def is_plain(*layouts: str) -> bool:
    """Whether no dimension of `layouts` is split, as tensor expressions and oracles need it."""
    return all(layout.isalpha() for layout in layouts)


def window_length(
    length: tir.PrimExpr,
    window: tir.PrimExpr | int,
    stride: int,
    dilation: int,
    padding: tuple[int, int],
    ceil: bool = False,
) -> tir.PrimExpr:
    """How many windows fit in an axis."""
    covered = d.add(d.multiply(d.subtract(d.as_dim(window), 1), dilation), 1)
    free = d.subtract(d.add(length, sum(padding)), covered)
    return d.add(d.floordiv(d.add(free, stride - 1) if ceil else free, stride), 1)


def sides(padding: Sequence[int]) -> list[tuple[int, int]]:
    """The padding of each dimension before and after, from TVM's order: all before, then all after."""
    half = len(padding) // 2
    return list(zip(padding[:half], padding[half:], strict=True))


def padded(
    x: te.Tensor, before: Sequence[int], after: Sequence[int], value: te.Expr, name: str = "pad_temp", axes: str = "i"
) -> te.Tensor:
    """Return `x` with `value` around it; `x` itself where nothing is added."""
    if not any((*before, *after)):
        return x
    shape = [d.add(dim, low + high) for dim, low, high in zip(x.dims, before, after, strict=True)]

    def element(*i: te.Expr) -> te.Expr:
        inside: list[te.Expr] = []
        index: list[te.Expr] = []
        for item, dim, low, high in zip(i, x.dims, before, after, strict=True):
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
