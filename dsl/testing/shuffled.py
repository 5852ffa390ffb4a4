"""Programs with their block instances in another order."""

from __future__ import annotations

import random
from collections.abc import Iterator, Mapping, Sequence

from msgspec.structs import replace

from ...ir import tir
from ...ir.analysis.evaluate import evaluate
from ...ir.base import IRModule, Node
from ...ir.variables import with_new_variables
from ...ir.visit import children, rewrite, substitute, walk
from .kernels import TRUE

_FREE = (tir.IterVarType.DATA_PAR, tir.IterVarType.COMM_REDUCE)


def shuffled(module: IRModule, seed: int) -> IRModule:
    """Return the module with the instances of each block that has its own loops in random order.

    T.init runs before all updates. Along axes that are neither spatial nor reductions, instances stay in order.
    """
    numbers = random.Random(seed)
    nests = [nest for function in module.functions.values() for nest in _nests(function)]
    return substitute(module, {loops[0]: _shuffled(loops, realize, numbers) for loops, realize in nests})


def run_once(module: IRModule) -> IRModule:
    """Return the module with one iteration of each loop whose variable no axis, predicate or loop bound in it uses."""

    def once(node: object) -> tir.For | None:
        if not isinstance(node, tir.For):
            return None
        blocks = [inner for inner in walk(node.body) if isinstance(inner, tir.BlockRealize)]
        used = {part for block in blocks for value in (*block.iter_values, block.predicate) for part in walk(value)}
        bounds = (inner for inner in walk(node.body) if isinstance(inner, tir.For))
        used |= {part for bound in bounds for value in (bound.min, bound.extent) for part in walk(value)}
        return replace(node, extent=tir.IntImm(node.extent.dtype, 1)) if blocks and node.loop_var not in used else None

    return rewrite(module, once)


def _nests(node: Node) -> Iterator[tuple[list[tir.For], tir.BlockRealize]]:
    """Yield each outermost perfect loop nest around one block, and the block."""
    loops, inner = list[tir.For](), node
    while isinstance(inner, tir.For):
        loops.append(inner)
        inner = inner.body
    if loops and isinstance(inner, tir.BlockRealize):
        used = {part for value in (*inner.iter_values, inner.predicate) for part in walk(value)}
        while loops and loops[0].loop_var not in used:  # a loop that repeats its instances keeps their order
            del loops[0]
        variables = {part for part in used if isinstance(part, tir.Var)}
        if loops and variables == {
            loop.loop_var for loop in loops
        }:  # the nest uses no variable of an enclosing loop or block
            yield loops, inner
        return
    for child in children(node):
        if isinstance(child, tir.Stmt):
            yield from _nests(child)


def _shuffled(loops: Sequence[tir.For], realize: tir.BlockRealize, numbers: random.Random) -> tir.Stmt:
    instances, axes, init = list(instances_of(realize, loops, {})), realize.block.iter_vars, realize.block.init
    kept = [place for place, axis in enumerate(axes) if axis.iter_type not in _FREE]
    order = [(tuple([values[place] for place in kept]), instance) for values, instance in instances]
    first = {key: number for number, (key, _) in reversed(list(enumerate(order)))}
    numbers.shuffle(order)
    order.sort(key=lambda entry: first[entry[0]])
    parts: list[tir.Stmt] = []
    if init is not None:
        starts = [other for values, other in instances if _is_start(axes, values)]
        parts += [replace(start, block=replace(start.block, body=init, init=None)) for start in starts]
    parts += [replace(instance, block=replace(instance.block, init=None)) for _, instance in order]
    return parts[0] if len(parts) == 1 else tir.SeqStmt(tuple(map(with_new_variables, parts)))


def _is_start(axes: Sequence[tir.IterVar], values: Sequence[int]) -> bool:
    return all(
        axis.iter_type is not tir.IterVarType.COMM_REDUCE
        or (axis.dom is not None and isinstance(axis.dom.min, tir.IntImm) and axis.dom.min.value == value)
        for axis, value in zip(axes, values, strict=True)
    )


def instances_of(
    realize: tir.BlockRealize, loops: Sequence[tir.For], values: Mapping[tir.Var, int]
) -> Iterator[tuple[tuple[int, ...], tir.BlockRealize]]:
    """Yield the instances of a block in order: the values of its axes, and the block bound to them."""
    if not loops:
        if evaluate(realize.predicate, values):
            numbers = tuple([evaluate(value, values) or 0 for value in realize.iter_values])
            bound = tuple([tir.IntImm(value.dtype, n) for value, n in zip(realize.iter_values, numbers, strict=True)])
            yield numbers, replace(realize, iter_values=bound, predicate=TRUE)
        return
    loop, rest = loops[0], loops[1:]
    low, count = evaluate(loop.min, values) or 0, evaluate(loop.extent, values) or 0
    for value in range(low, low + count):
        yield from instances_of(realize, rest, {**values, loop.loop_var: value})
