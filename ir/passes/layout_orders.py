"""Axis orders of tensors in other layouts, and conversions between them."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence, Set
from typing import TypeAlias, TypeGuard

from msgspec import Struct

from .. import make, relax, tir
from ..base import Attrs
from ..building.values import apply
from ..infer import infer_struct_info
from ..ops import dims as d
from ..ops.inference import dims_of
from ..ops.layouts import Layout


class Inner(Struct, frozen=True):
    """Inner part of an axis that is split in blocks of `size` elements."""

    axis: int
    size: int


Order: TypeAlias = tuple[int | Inner, ...]
"""Axis order: for each axis of the new layout, the axis of the old one, or the inner part of an axis. For NCHW in the
layout NCHW4c it is (0, 1, 2, 3, Inner(1, 4)).
"""
Plain: TypeAlias = tuple[int, ...]
"""Axis order without split axes."""


class Plan(Struct, frozen=True):
    """Conversion of a call: the axis orders of its tensor arguments, its attributes, and the orders of its results."""

    args: tuple[Order | None, ...]
    attrs: Attrs
    results: tuple[Order | None, ...]
    replaced: Mapping[int, relax.Expr] = {}
    """Arguments that are replaced, by number."""


Rule: TypeAlias = Callable[[relax.Call, Sequence[Order | None]], Plan | None]
"""Function from a call and the orders of its arguments to its plan; None if it requires the original orders."""


def is_plain(order: Order) -> TypeGuard[Plain]:
    """Return whether no axis is split."""
    return all(isinstance(part, int) for part in order)


def identity(rank: int) -> Plain:
    """Return the identity order."""
    return tuple(range(rank))


def between(old: str, new: Layout) -> Order:
    """Return the order that converts layout `old` to layout `new`: NCHW and NHWC give (0, 2, 3, 1)."""
    return tuple([Inner(old.index(name), size) if size else old.index(name) for name, size in new.parts])


def rank_of(expr: relax.Expr) -> int | None:
    """Return the rank of a tensor, or None."""
    info = infer_struct_info(expr)
    return info.ndim if isinstance(info, relax.TensorStructInfo) and info.ndim >= 0 else None


def rank_in(order: Order) -> int:
    """Return the rank of the tensor in its original layout."""
    return sum(isinstance(part, int) for part in order)


def changed(orders: Sequence[Order | None]) -> Order | None:
    """Return the first order that is not the identity, or else the first order."""
    known = [order for order in orders if order is not None]
    return next((order for order in known if order != identity(len(order))), known[0] if known else None)


def fits(value: relax.Expr, order: Order) -> bool:
    """Return whether all split axes of `order` are known to be multiples of their block sizes."""
    return all(is_multiple(value, part.axis, part.size) for part in order if isinstance(part, Inner))


def is_multiple(value: relax.Expr, axis: int, size: int) -> bool:
    """Return whether the size of an axis of a tensor is known to be a multiple of `size`."""
    info = infer_struct_info(value)
    dims = dims_of(info) if isinstance(info, relax.TensorStructInfo) else None
    return dims is not None and d.is_multiple(dims[axis], size)


def axis_of(part: int | Inner) -> int:
    """Return the axis of the old layout that an axis of the new one is, or is a part of."""
    return part if isinstance(part, int) else part.axis


def block_of(order: Order, axis: int) -> int:
    """Return the block size of an axis, 1 if it is not split."""
    return next((part.size for part in order if isinstance(part, Inner) and part.axis == axis), 1)


def without(order: Order, axes: Set[int]) -> Order:
    """Return the order of a tensor without some of its axes."""
    kept = [part for part in order if axis_of(part) not in axes]
    number = {axis: at for at, axis in enumerate(sorted(axis_of(part) for part in kept if isinstance(part, int)))}
    return tuple([number[part] if isinstance(part, int) else Inner(number[part.axis], part.size) for part in kept])


def rearranged(value: relax.Expr, own: Order, wanted: Order) -> relax.Expr:
    """Return a tensor converted from the order `own` to the order `wanted`."""
    if own == wanted:
        return value
    if is_plain(own) and is_plain(wanted):
        return apply("permute_dims", value, axes=[own.index(axis) for axis in wanted])
    whole = identity(sum(isinstance(part, int) for part in own))
    value = (
        rearranged(value, own, whole) if is_plain(own) else apply("layout_transform", value, index_map=_joining(own))
    )
    return (
        rearranged(value, whole, wanted)
        if is_plain(wanted)
        else apply("layout_transform", value, index_map=_splitting(wanted, len(whole)))
    )


def _splitting(order: Order, rank: int) -> tir.IndexMap:
    """Return the map from the indices of a tensor to those with split axes."""
    indices = _indices(rank)
    block = {part.axis: tir.IntImm("int32", part.size) for part in order if isinstance(part, Inner)}
    final = [
        make.floormod(indices[part.axis], block[part.axis])
        if isinstance(part, Inner)
        else make.floordiv(indices[part], block[part])
        if part in block
        else indices[part]
        for part in order
    ]
    return tir.IndexMap(indices, tuple(final))


def _joining(order: Order) -> tir.IndexMap:
    """Return the map from the indices with split axes to those of the tensor."""
    indices = _indices(len(order))
    final: dict[int, tir.PrimExpr] = {
        part: index for part, index in zip(order, indices, strict=True) if isinstance(part, int)
    }
    for part, index in zip(order, indices, strict=True):
        if isinstance(part, Inner):
            final[part.axis] = make.add(make.mul(final[part.axis], tir.IntImm("int32", part.size)), index)
    return tir.IndexMap(indices, tuple([final[axis] for axis in sorted(final)]))


def _indices(count: int) -> tuple[tir.Var, ...]:
    """Return the indices of a map, in int32 as in TVM's maps between layouts."""
    return tuple([tir.Var("int32", f"i{number}") for number in range(count)])
