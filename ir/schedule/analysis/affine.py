"""Affine bindings: whether a block executes once for each value of its iterators, and for all of them."""

from __future__ import annotations

from collections.abc import Sequence

from ... import make, tir
from ...analysis.iter_map import IterMapLevel, IterSumExpr, detect_iter_map
from ...analysis.proof import prove
from ...idioms import is_one
from ...visit import walk
from ..conditions import AFFINE, name_of
from ..program import Program
from .bindings import domains_of


def is_affine(realize: tir.BlockRealize, loops: tuple[tir.For, ...]) -> bool:
    """Return whether the iterators are bound to independent quasi-affine values of the loops (TVM: `IsAffineBinding`).

    The values need not cover the domains of the iterators: see `runs_for_all`.
    """
    if not loops:
        return True
    found = detect_iter_map(realize.iter_values, domains_of(loops), realize.predicate, IterMapLevel.SURJECTIVE)
    return found.is_detected and all(not index.args or is_one(index.args[0].scale) for index in found.indices)


def runs_for_all(realize: tir.BlockRealize, loops: tuple[tir.For, ...]) -> bool:
    """Return whether a block executes for all values of its iterators: affine bindings that cover their domains."""
    if may_be_skipped(realize.iter_values, loops):
        return False
    found = detect_iter_map(realize.iter_values, domains_of(loops), realize.predicate, IterMapLevel.SURJECTIVE)
    return found.is_detected and all(map(fills, found.indices, realize.block.iter_vars))


def may_be_skipped(used: Sequence[tir.PrimExpr], loops: Sequence[tir.For]) -> bool:
    """Return whether a loop that none of the expressions `used` depends on may be without iterations."""
    variables = {node for expr in used for node in walk(expr) if isinstance(node, tir.Var)}
    for at, loop in enumerate(loops):
        around = domains_of(tuple(loops[:at]))  # the domain of the loop itself would imply that it has an iteration
        if loop.loop_var not in variables and not prove(make.greater_equal(loop.extent, 1), around).is_proven:
            return True
    return False


def fills(values: IterSumExpr, axis: tir.IterVar) -> bool:
    """Return whether the values that an iterator is bound to cover its domain."""
    assert axis.dom is not None
    if len(values.args) > 1 or not (prove(make.equal(values.base, axis.dom.min)).is_proven):
        return False
    scale, extent = (values.args[0].scale, values.args[0].extent) if values.args else (1, 1)
    whole = make.logical_and(make.equal(scale, 1), make.equal(extent, axis.dom.extent))
    return prove(whole).is_proven


def is_affine_block(program: Program, block: tir.Block) -> bool:
    """Return whether the bindings of a block are affine in all loops of its scope (TVM: `IsAffineBlockBinding`)."""
    if program.scope_of(block) is None:
        return not block.iter_vars
    return is_affine(program.realize_of(block), program.loops_of(block))


def check_affine(program: Program, block: tir.Block) -> None:
    """Refuse a block whose bindings are not affine (E0516)."""
    if not is_affine_block(program, block):
        raise AFFINE.refuse(f"the bindings of {name_of(block)} are not affine in the loops around it", block)


def check_affine_under(program: Program, block: tir.Block, loop: tir.For) -> None:
    """Refuse a block whose bindings are affine neither in the loops from `loop` inwards nor in all of them (E0516)."""
    loops = program.loops_of(block)
    if not is_affine(program.realize_of(block), loops[loops.index(loop) :]):
        check_affine(program, block)
