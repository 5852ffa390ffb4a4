"""Rules for operators on tensors in other axis orders (TVM: `FRelaxInferLayout`)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from .. import relax
from ..base import Op
from ..ops.layouts import parse_layout
from ..ops.registry import families
from .layout_moves import MOVES, PLAIN_MOVES
from .layout_orders import (
    Order,
    Plan,
    Rule,
    axis_of,
    between,
    block_of,
    changed,
    fits,
    identity,
    is_plain,
    rank_in,
    rank_of,
    without,
)  # fmt: skip


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
    whole = [(arg, other) for arg, other, own in zip(call.args, orders, ranks, strict=True) if own == rank]
    order = changed([other for _, other in whole])
    if order is not None and not all(fits(arg, order) for arg, _ in whole):
        return None
    return Plan(tuple([order if own == rank else () for own in ranks]), call.attrs, (order,))


def _fma(call: relax.Call, orders: Sequence[Order | None]) -> Plan | None:
    """Return the plan of `x * y + z`, whose operands get the order that most of them have."""
    order = orders[1] if orders[1] == orders[2] else orders[0]
    if order is None or None in orders or not all(fits(arg, order) for arg in call.args):
        return None
    return Plan((order,) * 3, call.attrs, (order,))


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
    """Return the plan of an operator along an axis, whose other operands are vectors along this axis."""
    order = orders[0]
    if order is None:
        return None
    attrs = {**call.attrs, "axis": order.index(call.attrs["axis"] % len(order))}
    return Plan((order, *[(0,)] * (len(orders) - 1)), attrs, (order,))


def _batch_norm(call: relax.Call, orders: Sequence[Order | None]) -> Plan | None:
    plan = _along_axis(call, orders)
    return plan and Plan(plan.args, plan.attrs, (*plan.results, (0,), (0,)))


def _group_norm(call: relax.Call, orders: Sequence[Order | None]) -> Plan | None:
    """Return the plan of a normalization whose scale and shift are those of the channels."""
    order = orders[0]
    if order is None:
        return None
    axes = tuple([order.index(axis % len(order)) for axis in call.attrs["axes"]])
    channel = order.index(call.attrs["channel_axis"] % len(order))
    return Plan((order, (0,), (0,)), {**call.attrs, "axes": axes, "channel_axis": channel}, (order,))


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
    return Plan((order, *[own] * (len(orders) - 1)), {**call.attrs, "axes": tuple(places)}, (order,))


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


RESIZING = ("relax.image.resize2d", "relax.image.resize3d")
_PLAIN_ONLY = frozenset(
    [*PLAIN_MOVES, *RESIZING]
    + [f"relax.nn.{name}" for name in ("softmax", "log_softmax", "prelu", "batch_norm", "group_norm", "instance_norm")]
)
"""Operators whose rules do not support split axes."""
_RULES: Mapping[str, Rule] = {
    **MOVES,
    **dict.fromkeys(
        [f"relax.nn.{kind}_pool{n}d" for kind in ("max", "avg", "adaptive_avg") for n in (1, 2, 3)], _with_layout
    ),
    **dict.fromkeys(("relax.nn.softmax", "relax.nn.log_softmax", "relax.nn.prelu"), _along_axis),
    **dict.fromkeys([f"relax.{name}" for name in ("sum", "mean", "max", "min", "prod", "variance", "std")], _reduction),
    **dict.fromkeys(RESIZING, _with_layout),
    "relax.astype": _unary,
    "relax.ewise_fma": _fma,
    "relax.nn.batch_norm": _batch_norm,
    "relax.nn.group_norm": _group_norm,
    "relax.nn.instance_norm": _group_norm,
    "relax.nn.layer_norm": _layer_norm,
    "relax.nn.rms_norm": _layer_norm,
}
