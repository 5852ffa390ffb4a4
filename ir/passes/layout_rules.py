"""Rules for operators on tensors in other axis orders (TVM: `FRelaxInferLayout`)."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeAlias

from msgspec import Struct

from .. import relax, tir
from ..base import Attrs, Op
from ..infer import infer_struct_info
from ..ops import dims as d
from ..ops.layouts import parse_layout
from ..ops.registry import families
from .layout_orders import Order, axis_of, between, block_of, fits, identity, is_multiple, is_plain, without


class Plan(Struct, frozen=True):
    """Conversion of a call: the axis orders of its tensor arguments, its attributes, and the orders of its results."""

    args: tuple[Order | None, ...]
    attrs: Attrs
    results: tuple[Order | None, ...]
    replaced: Mapping[int, relax.Expr] = {}
    """Arguments that are replaced, by number."""


Rule: TypeAlias = Callable[[relax.Call, Sequence[Order | None]], Plan | None]
"""Function from a call and the orders of its arguments to its plan; None if it requires the original orders."""


def rank_of(expr: relax.Expr) -> int | None:
    """Return the rank of a tensor, or None."""
    info = infer_struct_info(expr)
    return info.ndim if isinstance(info, relax.TensorStructInfo) and info.ndim >= 0 else None


def rank_in(order: Order) -> int:
    """Return the rank of the tensor in its original layout."""
    return sum(isinstance(part, int) for part in order)


def find_rule(op: Op, orders: Sequence[Order | None]) -> Rule | None:
    """Return the rule of an operator for operands in these orders; only some rules support split axes."""
    name = op.name
    is_split = any(order is not None and not is_plain(order) for order in orders)
    if name in _RULES:
        return None if is_split and name in _PLAIN_ONLY else _RULES[name]
    if name in families()["unary"] or name in families()["activation"]:
        return _unary
    return _binary if name in families()["binary"] else None


def convolution(call: relax.Call, desired: Sequence[str]) -> Plan | None:
    """Return the plan of a convolution with the `desired` layouts of data, weights and result.

    Returns None if a split axis is not known to be a multiple of the block size.
    """
    names = ("data_layout", "kernel_layout", "out_layout")
    old = [call.attrs[name] or call.attrs["data_layout"] for name in names]
    new = (*desired, desired[0])[:3]
    orders = [_order(*layouts) for layouts in zip(old, new, strict=True)]
    if None in orders:
        return None
    *args, result = [order for order in orders if order is not None]
    values = [*zip(call.args, args, strict=True), (call, result)]
    attrs = {**call.attrs, **dict(zip(names, new, strict=True))}
    return Plan(tuple(args), attrs, (result,)) if all(fits(*value) for value in values) else None


def resizing(call: relax.Call, desired: Sequence[str]) -> Plan | None:
    """Return the plan of an operator on images with the `desired` layout; None if a block size does not divide its axis."""
    order = _order(call.attrs["layout"], desired[0])
    if order is None or not fits(call.args[0], order) or not fits(call, order):
        return None
    others = (None,) * (len(call.args) - 1)
    return Plan((order, *others), {**call.attrs, "layout": desired[0]}, (order,))


def _order(old: str, new: str) -> Order | None:
    """Return the order between two layouts; None if the first one has split axes."""
    layout = parse_layout(new)
    return between(old, layout) if layout is not None and old.isalpha() else None


def _unary(call: relax.Call, orders: Sequence[Order | None]) -> Plan | None:
    return Plan((orders[0],), call.attrs, (orders[0],)) if len(orders) == 1 else None


def _binary(call: relax.Call, orders: Sequence[Order | None]) -> Plan | None:
    """Return the plan of a binary operator: operands of equal rank get the same order, scalars are kept."""
    ranks = [rank_of(arg) for arg in call.args]
    rank = max((other for other in ranks if other is not None), default=0)
    if any(number not in (0, rank) for number in ranks):
        return None
    order = _changed([other for other, own in zip(orders, ranks, strict=True) if own == rank])
    if order is not None and not all(
        fits(arg, order) for arg, own in zip(call.args, ranks, strict=True) if own == rank
    ):
        return None
    return Plan(tuple([order if own == rank else () for own in ranks]), call.attrs, (order,))


def _changed(orders: Sequence[Order | None]) -> Order | None:
    """Return the first order that is not the identity, or else the first order."""
    known = [order for order in orders if order is not None]
    return next((order for order in known if order != identity(len(order))), known[0] if known else None)


def _with_layout(call: relax.Call, orders: Sequence[Order | None]) -> Plan | None:
    """Return the plan of an operator with an attribute for its layout."""
    order, layout = orders[0], call.attrs["layout"]
    rank = rank_of(call.args[0])
    if order is None or len(layout) != rank or call.attrs.get("out_layout", layout) != layout:
        return None
    new = "".join(
        layout[part] if isinstance(part, int) else f"{part.size}{layout[part.axis].lower()}" for part in order
    )
    attrs = {name: new if name in ("layout", "out_layout") else value for name, value in call.attrs.items()}
    return Plan((order, *orders[1:]), attrs, (order,))


def _along_axis(call: relax.Call, orders: Sequence[Order | None]) -> Plan | None:
    order = orders[0]
    if order is None:
        return None
    attrs = {**call.attrs, "axis": order.index(call.attrs["axis"] % len(order))}
    return Plan((order,), attrs, (order,))


def _batch_norm(call: relax.Call, orders: Sequence[Order | None]) -> Plan | None:
    plan = _along_axis(call, orders)
    return plan and Plan((*plan.args, *[(0,)] * 4), plan.attrs, (*plan.results, (0,), (0,)))


def _layer_norm(call: relax.Call, orders: Sequence[Order | None]) -> Plan | None:
    """Return the plan of a normalization over axes whose sequence, that of the scale and the shift, stays the same."""
    order = orders[0]
    if order is None:
        return None
    axes = [axis % rank_in(order) for axis in call.attrs["axes"]]
    places = [order.index(axis) for axis in axes]
    if places != sorted(places) or any(block_of(order, axis) > 1 for axis in axes):
        return None
    own = identity(len(axes))
    return Plan((order, own, own), {**call.attrs, "axes": tuple(places)}, (order,))


def _reduction(call: relax.Call, orders: Sequence[Order | None]) -> Plan | None:
    order = orders[0]
    if order is None:
        return None
    axes, keeps = call.attrs["axis"], call.attrs["keepdims"]
    reduced = {axis % rank_in(order) for axis in (range(rank_in(order)) if axes is None else axes)}
    if keeps and any(block_of(order, axis) > 1 for axis in reduced):
        return None
    places = tuple([place for place, part in enumerate(order) if axis_of(part) in reduced])
    attrs = {**call.attrs, "axis": None if axes is None else places}
    return Plan((order,), attrs, (order if keeps else without(order, reduced),))


def _expand_dims(call: relax.Call, orders: Sequence[Order | None]) -> Plan | None:
    """Return the plan of an insertion of axes, at the same places of the new layout."""
    order = orders[0]
    if order is None:
        return None
    rank = len(order) + len(call.attrs["axis"])
    inserted = {axis % rank for axis in call.attrs["axis"]}
    others = [axis for axis in range(rank) if axis not in inserted]
    rest = iter(order)
    result = tuple([place if place in inserted else others[axis_of(next(rest))] for place in range(rank)])
    return Plan((order,), call.attrs, (result,))


def _squeeze(call: relax.Call, orders: Sequence[Order | None]) -> Plan | None:
    order, axes = orders[0], call.attrs["axis"]
    if order is None or axes is None:
        return None
    removed = {axis % len(order) for axis in axes}
    places = tuple(sorted(order.index(axis) for axis in removed))
    return Plan((order,), {**call.attrs, "axis": places}, (without(order, removed),))


def _strided_slice(call: relax.Call, orders: Sequence[Order | None]) -> Plan | None:
    order, axes = orders[0], call.args[1]
    if order is None or not isinstance(axes, relax.Tuple):
        return None
    known = [
        axis.value.value if isinstance(axis, relax.PrimValue) and isinstance(axis.value, tir.IntImm) else None
        for axis in axes.fields
    ]
    places = [order.index(axis % len(order)) for axis in known if axis is not None]
    if len(places) != len(known):
        return None
    new = [relax.PrimValue(tir.IntImm("int64", place), struct_info=None) for place in places]
    return Plan((order, *orders[1:]), call.attrs, (order,), {1: relax.Tuple(tuple(new))})


def _split(call: relax.Call, orders: Sequence[Order | None]) -> Plan | None:
    """Return the plan of a split; along an axis that is split in blocks, into parts of whole blocks."""
    order, info = orders[0], infer_struct_info(call)
    if order is None or not isinstance(info, relax.TupleStructInfo):
        return None
    axis, sections = call.attrs["axis"] % rank_in(order), call.attrs["indices_or_sections"]
    block = block_of(order, axis)
    if block > 1 and isinstance(sections, int):
        if not is_multiple(call.args[0], axis, block * sections):
            return None
    elif block > 1:
        starts = [d.value_of(start) if isinstance(start, tir.PrimExpr) else int(start) for start in sections]
        if not all(start is not None and start % block == 0 for start in starts):
            return None
        sections = tuple([start // block for start in starts if start is not None])
    attrs = {**call.attrs, "indices_or_sections": sections, "axis": order.index(axis)}
    return Plan((order,), attrs, (order,) * len(info.fields))


def _permute_dims(call: relax.Call, orders: Sequence[Order | None]) -> Plan | None:
    """Return the plan of a permutation, which includes the conversion of its operand."""
    order = orders[0]
    if order is None or order == identity(len(order)):
        return None
    axes = call.attrs["axes"] or tuple(reversed(range(len(order))))
    attrs = {**call.attrs, "axes": tuple([order.index(axis % len(order)) for axis in axes])}
    return Plan((order,), attrs, (identity(len(order)),))


_PLAIN_ONLY = frozenset(
    [f"relax.{name}" for name in ("expand_dims", "squeeze", "strided_slice", "permute_dims")]
    + [f"relax.nn.{name}" for name in ("softmax", "log_softmax", "prelu", "batch_norm")]
)
"""Operators whose rules do not support split axes."""
RESIZING = ("relax.image.resize2d", "relax.image.resize3d")
_RULES: Mapping[str, Rule] = {
    **dict.fromkeys(
        [f"relax.nn.{kind}_pool{n}d" for kind in ("max", "avg", "adaptive_avg") for n in (1, 2, 3)], _with_layout
    ),
    **dict.fromkeys(("relax.nn.softmax", "relax.nn.log_softmax", "relax.nn.prelu"), _along_axis),
    **dict.fromkeys([f"relax.{name}" for name in ("sum", "mean", "max", "min", "prod", "variance", "std")], _reduction),
    **dict.fromkeys(RESIZING, _with_layout),
    "relax.nn.batch_norm": _batch_norm,
    "relax.nn.layer_norm": _layer_norm,
    "relax.expand_dims": _expand_dims,
    "relax.squeeze": _squeeze,
    "relax.strided_slice": _strided_slice,
    "relax.split": _split,
    "relax.permute_dims": _permute_dims,
}


def concat(call: relax.Call, parts: Sequence[relax.Expr], orders: Sequence[Order | None]) -> tuple[Order, Any] | None:
    """Return the common order of all operands of a concatenation, and its attributes."""
    order = _changed(orders)
    if call.attrs["axis"] is None or order is None or None in orders or not all(fits(part, order) for part in parts):
        return None
    return order, {**call.attrs, "axis": order.index(call.attrs["axis"] % rank_in(order))}
