"""Queries: blocks and loops by their names and places. They are part of the trace, and change nothing."""

from __future__ import annotations

from ... import tir
from ..arguments import Block, BlockOrLoop, Text
from ..conditions import ARGUMENT, EXISTS
from ..declaration import primitive
from ..program import Program


@primitive(results=("block",), query=True)
def get_block(program: Program, name: Text, func_name: Text | None = None) -> tir.Block:
    """Return the one block that is called `name`, in function `func_name` or in the one that is worked on."""
    function = func_name or program.working_on
    if function is None:
        raise ARGUMENT.refuse("it needs 'func_name', as the module has several functions", help="or call work_on")
    if not isinstance(program.module.functions.get(function), tir.PrimFunc):
        raise EXISTS.refuse(f"the module has no loop-level function '{function}'")
    return program.block_named(name, function)


@primitive(results=("loop",), query=True)
def get_loops(program: Program, block: Block) -> list[tir.For]:
    """Return the loops around a block within the block around it, the outermost first."""
    return list(program.loops_of(block))


@primitive(results=("block",), query=True)
def get_child_blocks(program: Program, block_or_loop: BlockOrLoop) -> list[tir.Block]:
    """Return the blocks in a block or under a loop, without those inside other blocks, in order."""
    return list(program.child_blocks(block_or_loop))
