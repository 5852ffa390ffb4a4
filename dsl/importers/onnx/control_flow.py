"""Rows for conditions."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, TypeAlias

from ....ir import relax
from ....ir.api.relax import op
from ....ir.building.values import apply
from ....ir.diagnostics import TvmsError, error
from ....ir.infer import infer_struct_info
from ....ir.ops import dims as d
from ..values import rank_of
from .converter import Converter
from .kinds import Kind, TensorKind, described, joined
from .rows import Family
from .scopes import Finished

ROWS = Family()
Make: TypeAlias = Callable[[], list[relax.Expr]]
"""Converts nodes and returns values of theirs."""
_MALFORMED = ("E03", "E1006")
"""Beginnings of the codes of errors of nodes that do not fit the shapes and dtypes of their inputs."""
OPERATORS = ("If", "Loop", "Scan", "SequenceMap")
"""Operators that need branches or functions, which dataflow blocks cannot contain."""


def has_control_flow(graph: Any) -> bool:
    """Return whether a graph has conditions or loops."""
    return any(node.op_type in OPERATORS for node in graph.node)


@ROWS.row("If", takes_objects=True)
def _if(c: Converter, a: Any) -> list[Any]:
    """A constant condition selects a branch during the import.

    If an output has different ranks in the branches, the rest of the graph is converted in both of them.
    """
    graphs, condition = (a.then_branch, a.else_branch), c.elements(a.cond)
    if condition is not None:
        return c.subgraph(graphs[0] if bool(condition.reshape(-1)[0]) else graphs[1], [])
    predicate = c.emit(predicate_of(c, a.cond), "_predicate")
    rest = c.rest if c.decisions.may_fork else None
    try:
        return _chosen(c, predicate, [lambda graph=graph: c.subgraph(graph, []) for graph in graphs], rest is not None)
    except _RanksDiffer:
        found = _chosen(c, predicate, [partial(_with_rest, c, rest, graph) for graph in graphs])
    raise Finished([c.bound(value) for value in found])


def _with_rest(c: Converter, rest: Any, graph: Any) -> list[relax.Expr]:
    return rest(c.subgraph(graph, []))


class _RanksDiffer(Exception):
    """An output has different ranks in the branches of a condition."""


def _chosen(c: Converter, predicate: relax.Expr, makes: Sequence[Make], is_strict: bool = False) -> list[Any]:
    """Return the values that `makes` convert, chosen by `predicate`.

    What is malformed for the shapes of the inputs cannot be chosen: the program checks that the predicate has the other value.
    Raises `_RanksDiffer` if values have different ranks and `is_strict` is true.
    """
    name = (c.scope.prefix, tuple(c.node.output), is_strict)
    only = c.decisions.find(name)
    branches: list[tuple[relax.SeqExpr, list[Kind | None]]] = []
    problems: list[TvmsError] = []
    for place, make in enumerate(makes if only is None else ()):
        try:
            with c.decisions.branch(name, place):
                branches.append(_branch(c, make))
        except TvmsError as problem:
            if not all(diagnostic.code.startswith(_MALFORMED) for diagnostic in problem.diagnostics):
                raise
            problems.append(problem)
            only = 1 - place
    if len(problems) == 2:
        raise problems[0]
    if only is not None:
        c.decisions.record(name, only)
        _check(c, predicate, 1 - only)
        with c.decisions.branch(name, only):
            return makes[only]()
    yes, no = branches
    if len(yes[1]) != len(no[1]):
        raise error("E1006", f"one branch has {len(yes[1])} outputs, and the other {len(no[1])}")
    kinds = list(zip(yes[1], no[1], strict=True))
    if is_strict and any(_ranks_differ(*pair) for pair in kinds):
        raise _RanksDiffer
    chosen: Any = c.emit(relax.If(predicate, yes[0], no[0]))
    return [c.with_kind(chosen[place], joined([*pair])) for place, pair in enumerate(kinds)]


def _ranks_differ(a: Kind | None, b: Kind | None) -> bool:
    known = [kind.sizes for kind in (a, b) if isinstance(kind, TensorKind) and kind.sizes is not None]
    return len(known) == 2 and len(known[0]) != len(known[1])


def _check(c: Converter, predicate: relax.Expr, value: int) -> None:
    """Emit a check that a predicate is true, for the value 1, or false, for 0."""
    name = f"{c.value_name()}_takes_{'then' if value else 'else'}_branch"
    shape = c.emit(apply("tensor_to_shape", op.reshape(op.astype(predicate, "int64"), (1,))), "_chosen")
    c.block_builder.match_cast(shape, relax.ShapeStructInfo((d.dim(value),), 1), c.unique(name))


def predicate_of(c: Converter, condition: relax.Expr) -> relax.Expr:
    """Return a condition, a tensor of one element, as one without dimensions; E1006 if it is not of dtype bool."""
    kind = c.kind(condition)
    info = infer_struct_info(condition)
    if not isinstance(info, relax.TensorStructInfo) or info.dtype != "bool":
        raise error("E1006", f"its condition is {described(kind)}, not of dtype bool")
    return condition if rank_of(condition) == 0 else op.reshape(condition, ())


def _branch(c: Converter, make: Make) -> tuple[relax.SeqExpr, list[Kind | None]]:
    """Return the branch that computes the tuple of the values that `make` converts, and their kinds."""
    with c.own_variables(), c.block_builder.branch() as branch:
        values = make()
        branch.result = c.emit(relax.Tuple(tuple(values)), "_branch")
    return branch.sequence(), [c.kind(value) for value in values]
