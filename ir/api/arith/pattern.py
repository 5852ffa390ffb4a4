"""Pattern detection in expressions (TVM: `tvm.arith.pattern`)."""

from __future__ import annotations

from collections.abc import Sequence

from ... import tir
from ...analysis import solving
from ...intern import Nodes
from ...te.expr import Value, operand
from ...visit import children, walk
from .values import variable_of


def detect_linear_equation(expr: Value, var_list: Sequence[tir.PrimExpr]) -> list[tir.PrimExpr]:
    """Return the coefficients of the variables in `expr`, then the remaining term; [] if `expr` is not linear in them."""
    found = solving.detect_linear_equation(operand(expr), [variable_of(name) for name in var_list])
    return list(found or ())


def detect_clip_bound(expr: Value, var_list: Sequence[tir.PrimExpr]) -> list[tir.PrimExpr | None]:
    """Return the minimum and maximum of each variable for which `expr` holds, None if unbounded.

    [] if `expr` has parts that are not bounds of a single variable.
    """
    found = solving.detect_clip_bound(operand(expr, "bool"), [variable_of(name) for name in var_list])
    ends = [end for interval in found or () for end in (interval.min, interval.max)]
    return [None if end is None else end for end in ends]


def detect_common_subexpr(expr: Value, threshold: int) -> dict[tir.PrimExpr, int]:
    """Return the expressions that occur at least `threshold` times in `expr`, with their counts. Expressions that
    occur only inside larger results are omitted.
    """
    nodes = Nodes()
    root = nodes.intern_all(operand(expr))
    counts: dict[tir.PrimExpr, int] = {}
    for node in walk(root):
        if isinstance(node, tir.PrimExpr) and children(node):
            counts[node] = counts.get(node, 0) + 1
    common = {node: count for node, count in counts.items() if count >= threshold}
    inside = dict.fromkeys(common, 0)
    for node, count in common.items():
        for below in children(node):
            if isinstance(below, tir.PrimExpr) and below in inside:
                inside[below] += count
    return {node: count for node, count in common.items() if count > inside[node]}
