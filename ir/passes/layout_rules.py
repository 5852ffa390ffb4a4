"""Rules for operators on tensors in other axis orders (TVM: `FRelaxInferLayout`)."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeAlias

from msgspec import Struct

from .. import relax
from ..base import Attrs, Op
from ..infer import infer_struct_info
from ..ops.layouts import parse_layout
from ..ops.registry import families
from .layout_orders import Order, between, fits, identity, is_plain


class Plan(Struct, frozen=True):
    """Conversion of a call: the axis orders of its tensor arguments, its attributes, and the orders of its results."""

    args: tuple[Order | None, ...]
    attrs: Attrs
    results: tuple[Order | None, ...]


Rule: TypeAlias = Callable[[relax.Call, Sequence[Order | None]], Plan | None]
"""Function from a call and the orders of its arguments to its plan; None if it requires the original orders."""


def rank_of(expr: relax.Expr) -> int | None:
    """Return the rank of a tensor, or None."""
    info = infer_struct_info(expr)
    return info.ndim if isinstance(info, relax.TensorStructInfo) and info.ndim >= 0 else None


def find_rule(op: Op, orders: Sequence[Order | None]) -> Rule | None:
    """Return the rule of an operator for operands in these orders; only some rules support split axes."""
    name = op.name
    is_split = any(order is not None and not is_plain(order) for order in orders)
    if name in _RULES:
        return None if is_split and _RULES[name] is not _with_layout else _RULES[name]
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
    order, axes = orders[0], call.attrs["axes"]
    if order is None or len(axes) != 1:
        return None
    attrs = {**call.attrs, "axes": (order.index(axes[0] % len(order)),)}
    return Plan((order, (0,), (0,)), attrs, (order,))


def _reduction(call: relax.Call, orders: Sequence[Order | None]) -> Plan | None:
    order = orders[0]
    if order is None or not is_plain(order):
        return None
    axes = call.attrs["axis"]
    reduced = set(order) if axes is None else {axis % len(order) for axis in axes}
    attrs = {**call.attrs, "axis": None if axes is None else tuple([order.index(axis) for axis in sorted(reduced)])}
    kept = [axis for axis in order if axis not in reduced]
    result = order if call.attrs["keepdims"] else tuple([sorted(kept).index(axis) for axis in kept])
    return Plan((order,), attrs, (result,))


def _permute_dims(call: relax.Call, orders: Sequence[Order | None]) -> Plan | None:
    """Return the plan of a permutation, which includes the conversion of its operand."""
    order = orders[0]
    if order is None or order == identity(len(order)):
        return None
    axes = call.attrs["axes"] or tuple(reversed(range(len(order))))
    attrs = {**call.attrs, "axes": tuple([order.index(axis % len(order)) for axis in axes])}
    return Plan((order,), attrs, (identity(len(order)),))


_RULES: Mapping[str, Rule] = {
    **dict.fromkeys(
        [f"relax.nn.{kind}_pool{n}d" for kind in ("max", "avg", "adaptive_avg") for n in (1, 2, 3)], _with_layout
    ),
    **dict.fromkeys(("relax.nn.softmax", "relax.nn.log_softmax", "relax.nn.prelu"), _along_axis),
    **dict.fromkeys([f"relax.{name}" for name in ("sum", "mean", "max", "min", "prod", "variance", "std")], _reduction),
    **dict.fromkeys(("relax.image.resize2d", "relax.image.resize3d"), _with_layout),
    "relax.nn.batch_norm": _batch_norm,
    "relax.nn.layer_norm": _layer_norm,
    "relax.permute_dims": _permute_dims,
}


def concat(call: relax.Call, orders: Sequence[Order | None]) -> tuple[Order, Any] | None:
    """Return the common order of all operands of a concatenation, and its attributes."""
    order = _changed(orders)
    if (
        call.attrs["axis"] is None
        or order is None
        or not all(members is not None and is_plain(members) for members in orders)
    ):
        return None
    return order, {**call.attrs, "axis": order.index(call.attrs["axis"] % len(order))}
