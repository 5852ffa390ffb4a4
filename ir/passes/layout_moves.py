"""Rules for operators that move data between axes or positions of tensors in other axis orders (TVM: `FRelaxInferLayout`)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from .. import relax, tir
from ..infer import infer_struct_info
from ..ops import dims as d
from ..ops.inference import dims_of
from .layout_orders import (
    Order,
    Plan,
    Rule,
    axis_of,
    block_of,
    changed,
    fits,
    identity,
    is_multiple,
    is_plain,
    rank_in,
    without,
)  # fmt: skip


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


def _flip(call: relax.Call, orders: Sequence[Order | None]) -> Plan | None:
    """Return the plan of an operator along one axis whose result has the order of its operand."""
    order, axis = orders[0], call.attrs["axis"]
    if order is None or axis is None:
        return None
    return Plan((order,), {**call.attrs, "axis": order.index(axis % len(order))}, (order,))


def _tile(call: relax.Call, orders: Sequence[Order | None]) -> Plan | None:
    """Return the plan of a repetition along all axes; additional axes of the result come first."""
    order, repeats = orders[0], tuple(call.attrs["repeats"])
    if order is None or not is_plain(order):
        return None
    added = max(len(repeats) - len(order), 0)
    repeats = (1,) * (len(order) - len(repeats)) + repeats
    result = identity(added) + tuple([axis + added for axis in order])
    return Plan((order,), {**call.attrs, "repeats": tuple([repeats[axis] for axis in result])}, (result,))


def _elements(call: relax.Call, orders: Sequence[Order | None]) -> Plan | None:
    """Return the plan of an operator on elements along an axis: all operands get the order that most of them have.

    Of two operands, that is the first order that differs from the original one.
    """
    order = changed(orders) if len(orders) == 2 or orders[1] != orders[2] else orders[1]
    if order is None or None in orders:
        return None
    attrs = {**call.attrs, "axis": order.index(call.attrs["axis"] % len(order))}
    return Plan((order,) * len(orders), attrs, (order,))


def _scatter_nd(call: relax.Call, orders: Sequence[Order | None]) -> Plan | None:
    """Return the plan of an update of slices: the indexed axes, the first ones, must stay in front."""
    order, info = orders[0], infer_struct_info(call.args[1])
    dims = dims_of(info) if isinstance(info, relax.TensorStructInfo) else None
    depth = d.value_of(dims[-1]) if dims else None
    if order is None or not is_plain(order) or dims is None or depth is None or order[:depth] != identity(depth):
        return None
    leading = len(dims) - 1
    updates = identity(leading) + tuple([leading + axis - depth for axis in order[depth:]])
    return Plan((order, identity(len(dims)), updates), call.attrs, (order,))


def concat(call: relax.Call, parts: Sequence[relax.Expr], orders: Sequence[Order | None]) -> tuple[Order, Any] | None:
    """Return the common order of all operands of a concatenation, and its attributes."""
    order = changed(orders)
    if call.attrs["axis"] is None or order is None or None in orders or not all(fits(part, order) for part in parts):
        return None
    return order, {**call.attrs, "axis": order.index(call.attrs["axis"] % rank_in(order))}


MOVES: Mapping[str, Rule] = {
    "relax.expand_dims": _expand_dims,
    "relax.flip": _flip,
    "relax.gather_elements": _elements,
    "relax.permute_dims": _permute_dims,
    "relax.repeat": _flip,
    "relax.scatter_elements": _elements,
    "relax.scatter_nd": _scatter_nd,
    "relax.split": _split,
    "relax.squeeze": _squeeze,
    "relax.strided_slice": _strided_slice,
    "relax.tile": _tile,
}
PLAIN_MOVES = frozenset([name for name in MOVES if name != "relax.split"])
"""Operators whose rules do not support split axes."""
