"""Rows for conditions and loops."""

from __future__ import annotations

from typing import Any

from ....ir import relax
from ....ir.api.relax import op
from ..values import rank_of
from .converter import Converter
from .rows import Family

ROWS = Family()
OPERATORS = ("If", "Loop", "Scan", "SequenceMap")
"""Operators that need branches or functions, which dataflow blocks cannot contain."""


def has_control_flow(graph: Any) -> bool:
    """Return whether a graph has conditions or loops."""
    return any(node.op_type in OPERATORS for node in graph.node)


@ROWS.row("If")
def _if(c: Converter, a: Any) -> list[Any]:
    condition = c.elements(a.cond)
    if condition is not None:
        return c.subgraph(a.then_branch if bool(condition.reshape(-1)[0]) else a.else_branch, [])
    test = a.cond if rank_of(a.cond) == 0 else op.reshape(a.cond, ())
    predicate = c.emit(test, "_predicate")
    branches = [_branch(c, graph) for graph in (a.then_branch, a.else_branch)]
    chosen: Any = c.emit(relax.If(predicate, *branches))
    return [chosen[place] for place in range(len(c.node.output))]


def _branch(c: Converter, graph: Any) -> relax.SeqExpr:
    """Return the branch that computes the tuple of a graph's outputs."""
    with c.block_builder.branch() as branch:
        branch.result = c.emit(relax.Tuple(tuple(c.subgraph(graph, []))), "_branch")
    return branch.sequence()
