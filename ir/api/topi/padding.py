"""Padding of tensors (TVM: `tvm.topi.nn.pad`)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, cast

from ... import te, tir
from ...ops.padding import filled


def per_dimension(value: Any, count: int) -> list[int]:
    """Return a number for each of `count` dimensions."""
    return [value] * count if isinstance(value, int) else list(value)


def both_sides(padding: Any, spatial: int) -> tuple[list[int], list[int]]:
    """Return the padding before and after each dimension."""
    pads = per_dimension(padding, spatial)
    return (pads, pads) if len(pads) == spatial else (pads[:spatial], pads[spatial:])


def pad(
    data: te.Tensor,
    pad_before: Sequence[int],
    pad_after: Sequence[int] | None = None,
    pad_value: float | tir.PrimExpr = 0.0,
    name: str = "PadInput",
) -> te.Tensor:
    """Return `data` padded with `pad_value`."""
    after = list(pad_before if pad_after is None else pad_after)
    shape = [dim + low + high for dim, low, high in zip(data.shape, pad_before, after, strict=True)]

    def element(*i: tir.PrimExpr) -> tir.PrimExpr:
        inside: list[tir.PrimExpr] = []
        for item, dim, low, high in zip(i, data.shape, pad_before, after, strict=True):
            inside += [te.operand(low, item.dtype) <= item] if low else []
            inside += [item < dim + low] if high else []
        index = [item - low if low else item for item, low in zip(i, pad_before, strict=True)]
        value = (
            te.cast(pad_value, data.dtype) if isinstance(pad_value, tir.PrimExpr) else te.const(pad_value, data.dtype)
        )
        return te.if_then_else(te.all(*inside), data(*index), value) if inside else data(*index)

    return cast("te.Tensor", te.compute(shape, element, name))


def _fill(mode: str) -> Callable[..., te.Tensor]:
    def pad(
        data: te.Tensor,
        pad_before: Sequence[int],
        pad_after: Sequence[int] | None = None,
        name: str = f"{mode.title()}PadInput",
    ) -> te.Tensor:
        return filled(data, pad_before, pad_after if pad_after else pad_before, mode, name)

    pad.__name__ = pad.__qualname__ = f"{mode}_pad"
    pad.__doc__ = f"Return `data` padded with its elements in the mode {mode!r} of `R.nn.pad`."
    return pad


reflect_pad, replicate_pad, circular_pad = map(_fill, ("reflect", "replicate", "circular"))


def mirror_pad(
    data: te.Tensor,
    pad_before: Sequence[int],
    pad_after: Sequence[int] | None = None,
    mode: str = "SYMMETRIC",
    name: str = "MirrorPadInput",
) -> te.Tensor:
    """Return `data` padded with its mirror image; with "REFLECT", the outer elements are not repeated."""
    if mode not in ("SYMMETRIC", "REFLECT"):
        raise ValueError(f'topi.nn.mirror_pad: mode is {mode!r}; choose "SYMMETRIC" or "REFLECT"')
    return filled(data, pad_before, pad_after if pad_after else pad_before, mode.lower(), name)


def get_padded_shape(
    data: te.Tensor, pad_before: Sequence[int], pad_after: Sequence[int] | None = None
) -> tuple[Any, ...]:
    """Return the shape of `data` after padding; without `pad_after`, both sides are padded alike."""
    after = pad_before if pad_after is None else pad_after
    return tuple(dim + low + high for dim, low, high in zip(data.shape, pad_before, after, strict=True))
