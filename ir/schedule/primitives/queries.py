"""Queries: find blocks and loops by name or position. They are part of the trace and change nothing."""

from __future__ import annotations

from ... import tir
from ..analysis.scope import Scope, is_output_block, scope_root
from ..arguments import Block, BlockOrLoop, Text
from ..conditions import ARGUMENT, EXISTS, NOT_ROOT
from ..declaration import primitive
from ..program import Program


@primitive(results=("block",), query=True)
def get_block(program: Program, name: Text, func_name: Text | None = None) -> tir.Block:
    """Return the block called `name` in function `func_name`, or in the current function."""
    function = func_name or program.working_on
    if function is None:
        raise ARGUMENT.refuse(
            "'func_name' is missing, and the module has several functions", help="give func_name, or call work_on"
        )
    if not isinstance(program.module.functions.get(function), tir.PrimFunc):
        raise EXISTS.refuse(f"the module has no loop function '{function}'")
    return program.block_named(name, function)


@primitive(results=("loop",), query=True)
def get_loops(program: Program, block: Block) -> list[tir.For]:
    """Return the loops around a block within its scope, outermost first."""
    return list(program.loops_of(block))


@primitive(results=("block",), query=True)
def get_child_blocks(program: Program, block_or_loop: BlockOrLoop) -> list[tir.Block]:
    """Return the outermost blocks in a block or under a loop, in order."""
    return list(program.child_blocks(block_or_loop))


@primitive(requires=(NOT_ROOT,), results=("producer",), query=True)
def get_producers(program: Program, block: Block) -> list[tir.Block]:
    """Return the preceding blocks of the same scope that write what the block reads or writes, in order."""
    return Scope(scope_root(program, block)).producers(block)


@primitive(requires=(NOT_ROOT,), results=("consumer",), query=True)
def get_consumers(program: Program, block: Block) -> list[tir.Block]:
    """Return the following blocks of the same scope that read or write what the block writes, in order."""
    return Scope(scope_root(program, block)).consumers(block)


@primitive(results=("output block",), query=True)
def get_output_blocks(program: Program, scope_block: Block) -> list[tir.Block]:
    """Return the blocks at any depth in a block that write a buffer not allocated in their scope, in order."""
    found: list[tir.Block] = []
    for block in program.child_blocks(scope_block):
        found += [*([block] if is_output_block(block, scope_block) else []), *get_output_blocks(program, block)]
    return found
