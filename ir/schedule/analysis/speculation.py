"""Bounds of copies and moved blocks, which execute before the access that they bound, and also if it never executes."""

from __future__ import annotations

from collections.abc import Sequence

from ... import make, tir
from ...analysis.proof import prove
from ...base import Node
from ...dtype import is_index
from ...intern import is_pure_call, may_fault
from ...visit import walk
from ..program import Program
from .bindings import Domains, domains_of, fixed_domains


def is_evaluable(program: Program, place: tir.For | tir.Block, *bounds: tir.PrimExpr | None) -> bool:
    """Return whether `bounds` can be evaluated in each iteration of `place`, and have the same values as at the access.

    Loads must be within bounds under the loops around alone, without a condition of the access, and nothing in the function
    may write their buffer. None denotes an unknown bound, which needs no evaluation.
    """
    nodes = [node for bound in bounds if bound is not None for node in walk(bound)]
    if all(isinstance(node, tir.Var | tir.IntImm) for node in nodes):
        return True
    own = domains_of((place,)) if isinstance(place, tir.For) else _domains_of_axes(place)
    domains = {**fixed_domains(program, place), **own}
    loads = [node for node in nodes if isinstance(node, tir.BufferLoad)]
    return (
        not any(_faults(node, domains) or (isinstance(node, tir.Call) and not is_pure_call(node)) for node in nodes)
        and _are_constant(program.prim_func_of(place), loads)
        and all(_is_within(load, domains) for load in loads)
    )


def evaluable_box(
    program: Program, place: tir.For | tir.Block, box: Sequence[tir.Range], shape: Sequence[tir.PrimExpr]
) -> tuple[tir.Range, ...]:
    """Return a box in a buffer of `shape`. Axes whose bounds cannot be evaluated in `place` span the buffer."""
    return tuple(
        [
            axis if is_evaluable(program, place, axis.min, axis.extent) else tir.Range(make.const(0, size.dtype), size)
            for axis, size in zip(box, shape, strict=True)
        ]
    )


def _faults(node: Node, domains: Domains) -> bool:
    """Return whether a node may fail, such as a division by a size that no loop around proves to be positive."""
    if isinstance(node, tir.FloorDiv | tir.FloorMod | tir.Div | tir.Mod) and is_index(node.dtype) and may_fault(node):
        return not prove(make.not_equal(node.b, make.const(0, node.b.dtype)), domains).is_proven
    return may_fault(node)


def _domains_of_axes(block: tir.Block) -> dict[tir.Var, tir.Range]:
    return {axis.var: axis.dom for axis in block.iter_vars if axis.dom is not None}


def _are_constant(function: tir.PrimFunc, loads: list[tir.BufferLoad]) -> bool:
    """Return whether `loads` read parameters that the function does not write."""
    if not loads:
        return True
    given = {buffer.data for buffer in function.buffer_map.values()}
    for node in walk(function.body):
        if isinstance(node, tir.BufferStore):
            given.discard(node.buffer.data)
        elif isinstance(node, tir.Block):
            given.difference_update([region.buffer.data for region in node.writes])
        elif isinstance(node, tir.Call):
            given.difference_update([argument for argument in node.args if isinstance(argument, tir.Var)])
    return all(load.buffer.data in given for load in loads)


def _is_within(load: tir.BufferLoad, domains: Domains) -> bool:
    """Return whether a load is unconditional, and all its indices are proven to be valid."""
    if load.predicate is not None:
        return False
    for index, extent in zip(load.indices, load.buffer.shape, strict=True):
        inside = make.logical_and(make.greater_equal(index, make.const(0, index.dtype)), make.less(index, extent))
        if not prove(inside, domains).is_proven:
            return False
    return True
