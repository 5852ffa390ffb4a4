"""Queries: find blocks and loops by name or position. They are part of the trace and change nothing."""

from __future__ import annotations

from ... import tir
from ...visit import walk
from ..analysis.patterns import MATCHES, matches, read_pattern
from ..analysis.scope import Scope, is_output_block, scope_root
from ..arguments import Block, BlockOrLoop, Text
from ..conditions import ARGUMENT, EXISTS, NOT_ROOT, name_of
from ..declaration import primitive
from ..program import Program


@primitive(requires=(MATCHES,), results=("block",), query=True)
def get_block(
    program: Program,
    name: Text | None = None,
    func_name: Text | None = None,
    *,
    reads: Text | None = None,
    writes: Text | None = None,
) -> tir.Block:
    """Return the block called `name` in function `func_name`, or in the current function; or else the only block that reads
    or writes the buffers with the names `reads` and `writes`.
    """
    function = _function(program, func_name)
    if reads is None and writes is None:
        if name is None:
            raise ARGUMENT.refuse(
                "'name' is missing", help="give the name of a block, or of a buffer that it reads or writes"
            )
        return program.block_named(name, function, "name")
    root = program.tree(function).function.body
    found = [
        node.block
        for node in walk(root)
        if isinstance(node, tir.BlockRealize)
        and program.scope_of(node.block) is not None
        and name in (None, node.block.name_hint)
        and _has(node.block.reads, reads)
        and _has(node.block.writes, writes)
    ]
    wanted = " and ".join(
        [f"{verb} '{what}'" for verb, what in (("reads", reads), ("writes", writes)) if what is not None]
    )
    if len(found) != 1:
        names = ", ".join([f"'{block.name_hint}'" for block in found])
        reason = f"several blocks {wanted.replace('s ', ' ')}: {names}" if found else f"no block {wanted}"
        help = "give another name, or reads and writes" if found else "use the names of buffers of the current program"
        raise MATCHES.refuse(reason, *found, help=help, argument="reads" if reads is not None else "writes")
    (block,) = found
    if len(program.blocks_named(block.name_hint, function)) == 1:
        program.recorded.update(name=block.name_hint, reads=None, writes=None)
    return block


def _has(regions: tuple[tir.BufferRegion, ...], name: str | None) -> bool:
    return name is None or any(region.buffer.name == name for region in regions)


def _function(program: Program, name: str | None) -> str:
    """Return the function called `name`, or the current one."""
    function = name or program.working_on
    if function is None:
        raise ARGUMENT.refuse(
            "'func_name' is missing, and the module has several functions", help="give func_name, or call work_on"
        )
    if not isinstance(program.module.functions.get(function), tir.PrimFunc):
        known = [key for key, value in program.module.functions.items() if isinstance(value, tir.PrimFunc)]
        help = f"use {'one of ' * (len(known) > 1)}{', '.join(known)}"
        raise EXISTS.refuse(f"the module has no loop function '{function}'", help=help)
    return function


@primitive(requires=(MATCHES,), results=("loop or block",), query=True)
def match(program: Program, pattern: Text, func_name: Text | None = None) -> list[tir.Stmt]:
    """Return the loops of a pattern, outermost first, and the block with the statement that it matches: `k, block =
    S.match("for k in _: C[_] += _")`. `_` matches anything, other names those of loops, buffers and variables. The loops are
    those right around the block. Casts are ignored.
    """
    function = _function(program, func_name)
    found = matches(program, program.tree(function).function.body, read_pattern(pattern))
    if len(found) != 1:
        names = ", ".join([name_of(match[-1]) for match in found])
        reason = (
            f"the pattern matches {len(found)} statements, in {names}" if found else "the pattern matches no statement"
        )
        raise MATCHES.refuse(reason, *[match[-1] for match in found], argument="pattern")
    return list(found[0])


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
