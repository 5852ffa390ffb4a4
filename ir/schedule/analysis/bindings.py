"""Bindings of block iterators: domains of loops, and simplification after loops change."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TypeAlias

from msgspec.structs import replace

from ... import tir
from ...analysis.iter_map_use import iter_map_simplify
from ...base import Node
from ...visit import walk
from ..conditions import FIXED_DOMAINS, name_of
from ..program import Program
from ..tree import statements_in, with_child

Domains: TypeAlias = Mapping[tir.Var, tir.Range]


def domains_of(loops: tuple[tir.For, ...]) -> dict[tir.Var, tir.Range]:
    """Return the domains of the variables of `loops`."""
    return {loop.loop_var: tir.Range(loop.min, loop.extent) for loop in loops}


def fixed_domains(program: Program, node: tir.Stmt, inner: tuple[tir.For, ...] = ()) -> dict[tir.Var, tir.Range]:
    """Return the domains of the loops and block iterators around `node`, except for `inner` loops."""
    found: dict[tir.Var, tir.Range] = {}
    for stmt in program.around(node):
        if isinstance(stmt, tir.For) and stmt not in inner:
            found[stmt.loop_var] = tir.Range(stmt.min, stmt.extent)
        elif isinstance(stmt, tir.Block):
            found.update({axis.var: axis.dom for axis in stmt.iter_vars if axis.dom is not None})
    return found


def check_fixed_domains(program: Program, block: tir.Block) -> None:
    """Refuse a block with an iterator whose domain varies with a loop around it (E0589)."""
    loops = {loop.loop_var for loop in program.loops_of(block)}
    for axis in block.iter_vars:
        used = next((node for node in walk(axis.dom) if node in loops), None) if axis.dom is not None else None
        if isinstance(used, tir.Var):
            reason = f"the domain of iterator '{axis.var.name}' of {name_of(block)} varies with loop '{used.name}'"
            raise FIXED_DOMAINS.refuse(reason, block)


def check_bound_to_loops(block: tir.Block, loops: Sequence[tir.For], parts: Sequence[Node] = ()) -> None:
    """Refuse a block that uses the variable of one of `loops`, which it is to leave, other than in its bindings (E0589).

    If only some of its `parts` are to leave them, only their variables count.
    """
    variables = {loop.loop_var for loop in loops}
    used = next((node for part in parts or (block,) for node in walk(part) if node in variables), None)
    if isinstance(used, tir.Var):
        reason = f"{name_of(block)} uses loop '{used.name}' without an iterator"
        raise FIXED_DOMAINS.refuse(reason, block, help=f"bind an iterator to '{used.name}'")


def map_realizes(
    program: Program,
    node: tir.Stmt,
    function: Callable[[tir.BlockRealize, Domains], tir.BlockRealize],
    domains: Domains,
    enters: Callable[[tir.BlockRealize], bool] = lambda realize: not realize.iter_values,
) -> tir.Stmt:
    """Return `node` with `function` applied to its blocks and the domains of the loops around them.

    Nested blocks are visited if `enters` holds for the outer block: by default, if it has no iterators.
    """
    if isinstance(node, tir.BlockRealize):
        block, result = node.block, function(node, domains)
        if enters(node):
            body = map_realizes(program, result.block.body, function, domains, enters)
            if body is not result.block.body:
                result = replace(result, block=replace(result.block, body=body))
        if result.block is not block:
            program.became[block] = result.block
        return result
    if isinstance(node, tir.For):
        domains = {**domains, node.loop_var: tir.Range(node.min, node.extent)}
    result = node
    for child in statements_in(node):
        new = map_realizes(program, child, function, domains, enters)
        if new is not child:
            result = with_child(result, child, new)
    if result is not node and isinstance(node, tir.For):
        program.became[node] = result
    return result


def simplified_bindings(
    program: Program, node: tir.Stmt, loops: tuple[tir.For, ...], preserve_unit_iters: bool
) -> tir.Stmt:
    """Return `node` with the bindings of its blocks simplified to sums over loops; `loops` are the loops around it.

    With `preserve_unit_iters`, loops of extent 1 stay in the bindings. TVM: `IterMapSimplifyBlockBinding`.
    """

    def simplified(realize: tir.BlockRealize, domains: Domains) -> tir.BlockRealize:
        values = tuple(
            iter_map_simplify(
                realize.iter_values, domains, realize.predicate, simplify_trivial_iterators=not preserve_unit_iters
            )
        )
        if all(new is old for new, old in zip(values, realize.iter_values, strict=True)):
            return realize
        return replace(realize, iter_values=values)

    return map_realizes(program, node, simplified, domains_of(loops))
