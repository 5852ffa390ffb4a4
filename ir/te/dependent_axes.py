"""Reductions whose ranges depend on other axes, as in `te.reduce_axis((0, i))` at row `i`.

    for i, k in T.grid(8, 7):
        with T.block("C"):
            …
            C[v_i] = C[v_i] + T.if_then_else(v_k < v_i, A[v_i, v_k], T.float32(0))

The loop covers all ranges, and elements beyond the range of a row are replaced by the identity of the reducer. TVM nests blocks
instead, and starts the sum again for each value of the outer axis.
"""

from __future__ import annotations

from functools import reduce

from msgspec.structs import replace

from .. import make, tir
from ..base import Node
from ..diagnostics import error
from ..int_set import Interval, evaluate, from_range
from ..linear import simplify
from ..visit import substitute, walk
from .tensor import ComputeOp


def with_independent_ranges(op: ComputeOp) -> ComputeOp:
    """Return `op` with ranges of its reduction that do not depend on other axes; elements beyond the given ones are left out.

    Raises TvmsError E0233 if a range has no upper bound.
    """
    own = {axis.var for axis in (*op.axis, *op.reduce_axis)}
    if not any(own.intersection(walk(axis.dom)) for axis in op.reduce_axis if axis.dom is not None):
        return op
    known = {axis.var: from_range(axis.dom.min, axis.dom.extent) for axis in op.axis if axis.dom is not None}
    renamed: dict[Node, Node] = {}
    axes: dict[tir.IterVar, tir.IterVar] = {}
    conditions: list[tir.PrimExpr] = []
    for axis in _outer_first(op):
        domain = axis.dom
        assert domain is not None
        if not own.intersection(walk(domain)):
            axes[axis], known[axis.var] = axis, from_range(domain.min, domain.extent)
            continue
        start, extent = substitute(domain.min, renamed), simplify(substitute(domain.extent, renamed))
        most = _maximum(op, axis, evaluate(extent, known))
        var = replace(axis.var)
        axes[axis] = replace(axis, dom=tir.Range(make.const(0, var.dtype), most), var=var)
        known[var] = from_range(make.const(0, var.dtype), most)
        renamed[axis.var] = make.add(start, var)
        if known.keys() & set(walk(extent)):
            conditions.append(make.less(var, extent))
    ordered = tuple(axes[axis] for axis in op.reduce_axis)
    return replace(op, body=tuple(_guarded(body, ordered, renamed, conditions) for body in op.body))


def _outer_first(op: ComputeOp) -> list[tir.IterVar]:
    """Return the axes of the reduction, each one after those on which its range depends."""
    waiting, found = list(op.reduce_axis), list[tir.IterVar]()
    while waiting:
        inner = {axis.var for axis in waiting}
        ready = [axis for axis in waiting if axis.dom is not None and not inner.intersection(walk(axis.dom))]
        if not ready:
            raise error("E0233", f"the ranges of the axes of '{op.name}' depend on each other")
        found += ready
        waiting = [axis for axis in waiting if axis not in ready]
    return found


def _maximum(op: ComputeOp, axis: tir.IterVar, extent: Interval) -> tir.PrimExpr:
    if extent.max is None:
        help = "bound its extent, for example with te.min"
        raise error("E0233", f"axis '{axis.var.name}' of '{op.name}' has no upper bound", help=help)
    return simplify(extent.max)


def _guarded(
    body: tir.PrimExpr, axes: tuple[tir.IterVar, ...], renamed: dict[Node, Node], conditions: list[tir.PrimExpr]
) -> tir.PrimExpr:
    assert isinstance(body, tir.Reduce)
    condition = reduce(make.logical_and, [*conditions, substitute(body.condition, renamed)])
    return replace(substitute(body, renamed), axis=axes, condition=condition)
