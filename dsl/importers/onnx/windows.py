"""Windows of convolutions and poolings: sizes, strides, and padding that is given, or computed from the sizes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from msgspec import Struct

from ....ir import relax, tir
from ....ir.ops import dims as d
from ..values import dims_of
from .converter import Converter


class Windows(Struct, frozen=True):
    """The windows along the spatial dimensions."""

    sizes: list[int]
    strides: list[int]
    dilations: list[int]
    before: list[int]
    """Padding before each dimension."""
    after: list[int]

    @property
    def pads(self) -> list[int]:
        """The padding before all dimensions, then after them."""
        return [*self.before, *self.after]

    @property
    def spans(self) -> list[int]:
        """The number of elements from the first to the last of a window."""
        return [dilation * (size - 1) + 1 for size, dilation in zip(self.sizes, self.dilations, strict=True)]


def windows_of(c: Converter, a: Any, x: relax.Expr, sizes: Sequence[int | None]) -> Windows:
    """Return the windows of the current node over `x`, whose spatial dimensions are the third and later ones.

    `sizes` is the shape of a window. E1004 if padding depends on a size that is not known.
    """
    spatial = len(sizes)
    dims = dims_of(x)[2:]
    if len(dims) != spatial:
        raise ValueError(f"its windows have {spatial} dimensions, but the data {len(dims)} spatial ones")
    if any(size is None for size in sizes):
        raise c.unsupported("the size of its windows depends on data", "make it known")
    strides, dilations = a.strides or [1] * spatial, getattr(a, "dilations", None) or [1] * spatial
    pads: list[int] = (a.pads or []) if a.auto_pad == "NOTSET" else []
    pads = pads or [0] * 2 * spatial
    for name, values, count in (("strides", strides, 1), ("dilations", dilations, 1), ("pads", pads, 2)):
        if len(values) != count * spatial:
            raise ValueError(f"it has {len(values)} {name} for {spatial} spatial dimensions")
    if min(*strides, *dilations, *sizes, 1) < 1:  # type: ignore[type-var]
        raise ValueError("its strides, dilations and window sizes must be positive")
    found = Windows(list(sizes), list(strides), list(dilations), pads[:spatial], pads[spatial:])  # type: ignore[arg-type]
    if a.auto_pad in ("NOTSET", "VALID"):
        return found
    if a.auto_pad not in ("SAME_UPPER", "SAME_LOWER"):
        raise ValueError(f"auto_pad is '{a.auto_pad}', not NOTSET, VALID, SAME_UPPER or SAME_LOWER")
    totals = [_same(c, *part) for part in zip(dims, found.spans, strides, strict=True)]
    small, large = [total // 2 for total in totals], [total - total // 2 for total in totals]
    is_upper = a.auto_pad == "SAME_UPPER"
    return Windows(found.sizes, found.strides, found.dilations, *((small, large) if is_upper else (large, small)))


def _same(c: Converter, dim: tir.PrimExpr, span: int, stride: int) -> int:
    """Return the padding with which there is a window for every `stride` elements."""
    length = d.value_of(dim)
    if length is not None:
        return max((-(-length // stride) - 1) * stride + span - length, 0)
    if stride == 1:
        return span - 1
    raise c.unsupported("its padding depends on a size that is not known", "give the pads as numbers")
