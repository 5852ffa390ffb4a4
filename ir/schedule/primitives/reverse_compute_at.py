"""`reverse_compute_at`: compute a block where its inputs are computed."""

from __future__ import annotations

from ..analysis.moving import BESIDE, POSITION, TOGETHER, move
from ..analysis.needed import SOLVABLE
from ..analysis.removal import ONLY_LEAF
from ..arguments import Block, Flag, Integer, Loop
from ..conditions import (
    COMPLETE_OR_REDUCTION,
    DISTINCT_WRITES,
    FIXED_DOMAINS,
    IN_ORDER,
    NOT_ROOT,
    STAGE_PIPELINE,
    UNCONDITIONAL,
)
from ..declaration import primitive
from ..program import Program


@primitive(
    requires=(
        NOT_ROOT, STAGE_PIPELINE, COMPLETE_OR_REDUCTION, BESIDE, UNCONDITIONAL, ONLY_LEAF, TOGETHER, POSITION, SOLVABLE,
        DISTINCT_WRITES, IN_ORDER, FIXED_DOMAINS,
    )
)  # fmt: skip
def reverse_compute_at(
    program: Program, block: Block, loop: Loop, preserve_unit_loops: Flag = False, index: Integer = -1
) -> None:
    """Move a block under a loop around its producers. Each iteration of the loop then uses the elements that are
    computed there, in new loops. `index` is the index of the child statement of the loop before which the block is
    inserted: -1 is the last possible one, -2 the first.

    Preserves: what every block computes. Comments of the block and of its old loops move with it.
    """
    move(program, block, loop, is_compute_at=False, unit_loops=preserve_unit_loops, index=index)
