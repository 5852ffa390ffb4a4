"""`add_unit_loop`: add a loop of extent 1 around a loop or block."""

from __future__ import annotations

from ... import make, tir
from ..arguments import BlockOrLoop
from ..conditions import NOT_ROOT
from ..declaration import primitive
from ..program import Program


@primitive(requires=(NOT_ROOT,), results=("unit loop",))
def add_unit_loop(program: Program, block_or_loop: BlockOrLoop) -> tir.For:
    """Add a loop of extent 1, `u`, around a loop or a block.

    Preserves: everything that executes. Comments stay with the loop or block.
    """
    inside: tir.Stmt = block_or_loop
    if isinstance(block_or_loop, tir.Block):
        if program.scope_of(block_or_loop) is None:
            raise NOT_ROOT.refuse("the root block cannot be inside of a loop", block_or_loop)
        inside = program.realize_of(block_or_loop)
    loop = tir.For(tir.Var("int32", "u"), make.const(0), make.const(1), tir.ForKind.SERIAL, inside)
    program.replace(inside, loop)
    return loop
