"""Layouts: orders of the dimensions of tensors, such as NHWC or NCHW4c, and conversions between them."""

from __future__ import annotations

import re
from collections.abc import Sequence
from math import prod
from typing import Any

from msgspec import Struct

from .. import te, tir
from ..te import topi
from . import dims as d
from .inference import Inference


class Layout(Struct, frozen=True):
    """An order of dimensions, such as NHWC; in NCHW4c the channels are split, with blocks of 4 innermost."""

    parts: tuple[tuple[str, int], ...]
    """The letter of each dimension, and the block size if it is the inner part of a split; else 0."""

    @property
    def ndim(self) -> int:
        return len(self.parts)

    @property
    def is_plain(self) -> bool:
        """Whether no dimension is split."""
        return not any(size for _, size in self.parts)

    def factor(self, letter: str) -> int:
        """Return the stride of the outer part of dimension `letter`: the product of its inner block sizes."""
        return prod(size for name, size in self.parts if name == letter and size)

    def stride(self, part: int) -> int:
        """Return the stride of `part` within its dimension."""
        name, size = self.parts[part]
        return prod(s for n, s in self.parts[part + 1 :] if n == name and s) if size else self.factor(name)

    def primal(self, dims: Sequence[tir.PrimExpr], letters: str) -> list[tir.PrimExpr]:
        """Return the unsplit dimensions in the order of `letters`, from those in this layout."""
        outer = {name: dim for (name, size), dim in zip(self.parts, dims, strict=True) if not size}
        return [d.multiply(outer[letter], self.factor(letter)) for letter in letters]

    def split(self, dims: Sequence[tir.PrimExpr], letters: str) -> list[tir.PrimExpr]:
        """Return the dimensions in this layout, from unsplit ones in the order of `letters`."""
        whole = dict(zip(letters, dims, strict=True))
        return [d.dim(size) if size else d.floordiv(whole[name], self.factor(name)) for name, size in self.parts]

    def places(self, letter: str) -> list[int]:
        """Return the positions of the parts of dimension `letter`, the outer one first."""
        own = [part for part, (name, _) in enumerate(self.parts) if name == letter]
        return sorted(own, key=lambda part: self.parts[part][1] != 0)


def parse_layout(text: str) -> Layout | None:
    """Parse a layout; return None if `text` is malformed."""
    found = re.findall(r"([A-Z])|([1-9][0-9]*)([a-z])", text)
    is_whole = "".join(outer or size + inner for outer, size, inner in found) == text
    return (
        Layout(tuple((outer, 0) if outer else (inner.upper(), int(size)) for outer, size, inner in found))
        if is_whole
        else None
    )


def layout_of(a: Inference, name: str, letters: str) -> Layout:
    """Return the layout in attribute `name`; E0325 if it is not a layout of the dimensions `letters`."""
    text = a.attr(name)
    layout = parse_layout(text)
    outer = sorted(part for part, size in layout.parts if not size) if layout is not None else []
    if layout is None or outer != sorted(letters) or any(part not in letters for part, _ in layout.parts):
        raise a.fail("E0325", f"cannot work in the layout {text} as '{name}'", f"use an order of the letters {letters}")
    return layout


def whole_dims_of(a: Inference, name: str, dims: Sequence[tir.PrimExpr], letters: str) -> list[tir.PrimExpr]:
    """Return the unsplit dimensions of an operand in the layout in attribute `name`; E0326 if a block has another size."""
    layout = layout_of(a, name, letters)
    for (part, size), dim in zip(layout.parts, dims, strict=True):
        if size:
            reason = f"needs blocks of {size} in dimension {part.lower()} of the layout {a.attr(name)}, not of {d.show_one(dim)}"
            a.check_equal(dim, d.dim(size), reason)
    return layout.primal(dims, letters)


def split_dims(a: Inference, name: str, dims: Sequence[tir.PrimExpr], letters: str) -> list[tir.PrimExpr]:
    """Return dimensions in the layout in attribute `name`; E0326 if its blocks do not divide one of them."""
    layout = layout_of(a, name, letters)
    for letter, dim in zip(letters, dims, strict=True):
        factor = layout.factor(letter)
        a.check_multiple(
            dim, factor, f"cannot split {d.show_one(dim)} elements of dimension {letter} into blocks of {factor}"
        )
    return layout.split(dims, letters)


def _known(text: str) -> Layout:
    layout = parse_layout(text)
    assert layout is not None, "the layout was checked when the call was inferred"
    return layout


def reordered(x: te.Tensor, order: Sequence[int]) -> te.Tensor:
    """Return `x` with its dimensions in `order`; `x` itself if nothing changes."""
    return x if list(order) == list(range(x.ndim)) else topi.transpose(x, order)


def inverse(order: Sequence[int]) -> list[int]:
    return [list(order).index(number) for number in range(len(order))]


def whole_dims(dims: Sequence[tir.PrimExpr], text: str, letters: str) -> list[tir.PrimExpr]:
    """Return the unsplit dimensions in the order of `letters`, from those in the layout `text`."""
    return _known(text).primal(dims, letters)


def unpacked(x: te.Tensor, text: str, letters: str) -> te.Tensor:
    """Return `x`, which is in the layout `text`, with unsplit dimensions in the order of `letters`."""
    layout = _known(text)
    if layout.is_plain:
        return reordered(x, [text.index(letter) for letter in letters])

    def element(*i: tir.PrimExpr) -> tir.PrimExpr:
        whole = dict(zip(letters, i, strict=True))
        index: list[tir.PrimExpr] = []
        for part, (name, size) in enumerate(layout.parts):
            stride = layout.stride(part)
            place = whole[name] // stride if stride > 1 else whole[name]
            index.append(place % size if size else place)
        return x(*index)

    return te.compute(layout.primal(x.dims, letters), element, "T_layout_unpack", varargs_names=_axes(letters))


def packed(x: te.Tensor, text: str, letters: str) -> te.Tensor:
    """Return `x`, whose dimensions are unsplit and in the order of `letters`, in the layout `text`."""
    layout = _known(text)
    if layout.is_plain:
        return reordered(x, inverse([text.index(letter) for letter in letters]))

    def element(*i: tir.PrimExpr) -> tir.PrimExpr:
        index = dict.fromkeys(letters, te.const(0, "int64"))
        for part, (name, _) in enumerate(layout.parts):
            stride = layout.stride(part)
            index[name] = index[name] + (i[part] * stride if stride > 1 else i[part])
        return x(*(index[letter] for letter in letters))

    return te.compute(layout.split(x.dims, letters), element, "T_layout_pack")


def _axes(letters: str) -> list[str]:
    return [f"ax{number}" for number in range(len(letters))]


def numpy_unpacked(np: Any, x: Any, text: str, letters: str) -> Any:
    """Return `unpacked` of an array."""
    layout = _known(text)
    places = [layout.places(letter) for letter in letters]
    whole = [prod(x.shape[place] for place in group) for group in places]
    return np.transpose(x, [place for group in places for place in group]).reshape(whole)


def numpy_packed(np: Any, x: Any, text: str, letters: str) -> Any:
    """Return the elements of an array in the packed layout `text`, as `packed` does for tensors."""
    layout = _known(text)
    places = [layout.places(letter) for letter in letters]
    factors = {letter: layout.factor(letter) for letter in letters}
    shape = [
        layout.parts[place][1] or size // factors[letter]
        for letter, size, group in zip(letters, x.shape, places, strict=True)
        for place in group
    ]
    return np.transpose(x.reshape(shape), inverse([place for group in places for place in group]))
