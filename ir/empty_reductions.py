"""Empty reductions: if the domain of a reduction is empty, its result is the value of its `T.init`.

                                         for i in range(n):
    for i, k in T.grid(n, m):                if m == 0:
        with T.block("sum"):                     with T.block("sum_init"):
            …                       →                B[i] = T.float32(0)
            with T.init():                   for k in range(m):
                B[i] = T.float32(0)              with T.block("sum"):
            B[i] = B[i] + A[i, k]                    …

A block executes its `T.init` at the first step of its reduction; a reduction over a symbolic size may have no steps.
The interpreter and the lowering both apply this rewrite. It does not change functions whose sizes are constant.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import reduce
from typing import TypeAlias

from msgspec.structs import replace

from . import make, tir
from .access import detect_regions
from .analysis.proof import prove
from .base import Node
from .buffers import buffers_of
from .idioms import conjuncts, sequence, uses
from .variables import with_new_variables
from .visit import children, rewrite

_TRUE: tir.PrimExpr = tir.IntImm("bool", 1)
_Loops: TypeAlias = tuple[tir.For, ...]


def start_empty_reductions(func: tir.PrimFunc) -> tir.PrimFunc:
    """Return `func` with a statement before each possibly empty reduction that executes its `T.init` if it is empty."""
    starts: dict[tir.Var, list[tir.Stmt]] = {}
    for realize, loops in _blocks(func.body):
        reduced = loops_of_reduction(realize, loops)
        empty = _may_be_empty(realize.block, loops, reduced)
        if empty and reduced:
            start = _start(realize, loops[loops.index(reduced[0]) :], reduced)
            starts.setdefault(reduced[0].loop_var, []).append(tir.IfThenElse(reduce(make.logical_or, empty), start))

    def started(node: Node) -> Node | None:
        if isinstance(node, tir.For) and node.loop_var in starts:
            return tir.SeqStmt((*starts[node.loop_var], node))
        return sequence(node.seq) if isinstance(node, tir.SeqStmt) else None

    return rewrite(func, started) if starts else func


def _blocks(body: tir.Stmt) -> Iterator[tuple[tir.BlockRealize, _Loops]]:
    """Yield the blocks in `body` with the loops around each, up to the nearest statement that is not a loop or sequence."""
    stack: list[tuple[Node, _Loops]] = [(body, ())]
    while stack:
        node, loops = stack.pop()
        if isinstance(node, tir.BlockRealize):
            yield node, loops
        around = (*loops, node) if isinstance(node, tir.For) else loops if isinstance(node, tir.SeqStmt) else ()
        stack += [(child, around) for child in children(node) if isinstance(child, tir.Stmt | tir.Block)]


def _may_be_empty(block: tir.Block, loops: _Loops, reduced: Sequence[tir.For]) -> list[tir.PrimExpr]:
    """Return the conditions under which the domain of a reduction is empty.

    A proof assumes that the loops it knows have iterations. The `reduced` loops have none if the domain is empty, so they are
    left out, unless the extent of the domain depends on them.
    """
    if block.init is None:
        return []
    domains = [axis.dom for axis in block.iter_vars if axis.iter_type is tir.IterVarType.COMM_REDUCE]
    extents = [domain.extent for domain in domains if domain is not None]
    unsure = [extent for extent in extents if not (isinstance(extent, tir.IntImm) and extent.value > 0)]
    return [make.less_equal(expr, make.const(0, expr.dtype)) for expr in unsure if not _has_steps(expr, loops, reduced)]


def _has_steps(extent: tir.PrimExpr, loops: _Loops, reduced: Sequence[tir.For]) -> bool:
    known = loops if uses(extent, reduced) else [loop for loop in loops if loop not in reduced]
    spans = {loop.loop_var: tir.Range(loop.min, loop.extent) for loop in known}
    return prove(make.greater_equal(extent, make.const(1, extent.dtype)), spans).is_proven


def loops_of_reduction(realize: tir.BlockRealize, loops: Sequence[tir.For]) -> list[tir.For]:
    """Return the loops of a reduction's iterators, and the loops whose domain depends on them.

    A loop on which the domain of the iterators depends is around the reduction, even if a value uses it: after a split, the
    inner extent does.
    """
    pairs = list(zip(realize.block.iter_vars, realize.iter_values, strict=True))
    reduced = [(axis.dom, value) for axis, value in pairs if axis.iter_type is tir.IterVarType.COMM_REDUCE]
    values = [value for _, value in reduced]
    sizes = [dom.extent for dom, _ in reduced if dom is not None]
    found: list[tir.For] = []
    for loop in loops:
        if any(uses(size, [loop]) for size in sizes):
            continue
        if any(uses(value, [loop]) for value in values) or uses(loop.min, found) or uses(loop.extent, found):
            found.append(loop)
    return found


def axes_of_empty(realize: tir.BlockRealize, loops: _Loops) -> tuple[tir.IterVar, ...]:
    """Return the spatial axes of a block that take all values of their domains if its reduction is empty, although the loops
    to which they are bound then have no iterations.
    """
    reduced = loops_of_reduction(realize, loops)
    if not reduced or not _may_be_empty(realize.block, loops, reduced):
        return ()
    return tuple(
        [
            axis
            for axis, value in zip(realize.block.iter_vars, realize.iter_values, strict=True)
            if axis.iter_type is not tir.IterVarType.COMM_REDUCE and axis.dom is not None and uses(value, reduced)
        ]
    )


def _start(realize: tir.BlockRealize, below: _Loops, reduced: Sequence[tir.For]) -> tir.Stmt:
    """Return the block that initializes the elements, inside the loops of `below` that are not `reduced`. An axis that is bound
    to a reduced loop, for instance after a fusion, gets its own loop.
    """
    block = realize.block
    assert block.init is not None
    nest: list[tir.For] = []
    bound: dict[tir.IterVar, tir.PrimExpr] = {}
    for axis, value in zip(block.iter_vars, realize.iter_values, strict=True):
        if axis.iter_type is tir.IterVarType.COMM_REDUCE:
            continue
        if axis.dom is not None and uses(value, reduced):
            value = tir.Var(axis.var.dtype, axis.var.name)
            nest.append(tir.For(value, axis.dom.min, axis.dom.extent, tir.ForKind.SERIAL, block.init))
        bound[axis] = value
    conditions = [conjunct for conjunct in conjuncts(realize.predicate) if not uses(conjunct, reduced)]
    used = (*bound.values(), *conditions)
    nest += [loop for loop in below if loop not in reduced and any(uses(value, [loop]) for value in used)]
    bare = tir.Block(tuple(bound), (), (), f"{block.name_hint}_init", block.init, span=block.span)
    reads, writes, _ = detect_regions(bare, buffers_of(block.init))
    statement: tir.Stmt = tir.BlockRealize(
        tuple(bound.values()), reduce(make.logical_and, conditions, _TRUE), replace(bare, reads=reads, writes=writes)
    )
    for loop in reversed(nest):
        statement = replace(loop, body=statement, trivia=None)
    return with_new_variables(statement)
