"""`reorder_block_iter_var`: change the order of the iterators of a block."""

from __future__ import annotations

from msgspec.structs import replace

from ..arguments import Block, Integers
from ..conditions import Condition, name_of
from ..declaration import primitive
from ..program import Program

PERMUTATION = Condition("E0528", "the order contains every iterator of the block once", "give 0, 1, … in the new order")


@primitive(requires=(PERMUTATION,))
def reorder_block_iter_var(program: Program, block: Block, new_order: Integers) -> None:
    """Permute the iterators of a block: the first one becomes the one with the current index `new_order[0]`, and so on.

    Preserves: everything that executes, as bindings are unchanged. Comments stay.
    """
    if sorted(new_order) != list(range(len(block.iter_vars))):
        given = ", ".join(map(str, new_order))
        reason = f"[{given}] is not a permutation of the {len(block.iter_vars)} iterators of {name_of(block)}"
        raise PERMUTATION.refuse(reason, block, argument="new_order")
    realize = program.realize_of(block)
    new = replace(block, iter_vars=tuple([block.iter_vars[index] for index in new_order]))
    values = tuple([realize.iter_values[index] for index in new_order])
    program.replace(realize, replace(realize, iter_values=values, block=new))
