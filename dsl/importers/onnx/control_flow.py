"""Rows for conditions."""

from __future__ import annotations

from typing import Any

from ....ir import relax
from ....ir.api.relax import op
from ....ir.diagnostics import error
from ....ir.infer import infer_struct_info
from ..values import rank_of
from .converter import Converter
from .kinds import Kind, described, joined
from .rows import Family

ROWS = Family()
OPERATORS = ("If", "Loop", "Scan", "SequenceMap")
"""Operators that need branches or functions, which dataflow blocks cannot contain."""


def has_control_flow(graph: Any) -> bool:
    """Return whether a graph has conditions or loops."""
    return any(node.op_type in OPERATORS for node in graph.node)


@ROWS.row("If", takes_objects=True)
def _if(c: Converter, a: Any) -> list[Any]:
    """A constant condition selects a branch during the import."""
    condition = c.elements(a.cond)
    if condition is not None:
        return c.subgraph(a.then_branch if bool(condition.reshape(-1)[0]) else a.else_branch, [])
    predicate = c.emit(predicate_of(c, a.cond), "_predicate")
    yes, no = (_branch(c, graph) for graph in (a.then_branch, a.else_branch))
    if len(yes[1]) != len(no[1]):
        raise error("E1006", f"one branch has {len(yes[1])} outputs, and the other {len(no[1])}")
    chosen: Any = c.emit(relax.If(predicate, yes[0], no[0]))
    return [c.with_kind(chosen[place], joined([*kinds])) for place, kinds in enumerate(zip(yes[1], no[1], strict=True))]


def predicate_of(c: Converter, condition: relax.Expr) -> relax.Expr:
    """Return a condition, a tensor of one element, as one without dimensions; E1006 if it is not of dtype bool."""
    kind = c.kind(condition)
    info = infer_struct_info(condition)
    if not isinstance(info, relax.TensorStructInfo) or info.dtype != "bool":
        raise error("E1006", f"its condition is {described(kind)}, not of dtype bool")
    return condition if rank_of(condition) == 0 else op.reshape(condition, ())


def _branch(c: Converter, graph: Any) -> tuple[relax.SeqExpr, list[Kind | None]]:
    """Return the branch that computes the tuple of a graph's outputs, and their kinds."""
    with c.own_variables(), c.block_builder.branch() as branch:
        values = c.subgraph(graph, [])
        branch.result = c.emit(relax.Tuple(tuple(values)), "_branch")
    return branch.sequence(), [c.kind(value) for value in values]
