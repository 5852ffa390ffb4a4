"""`reverse_compute_at`: a block runs where what it reads is computed."""

from __future__ import annotations

from ..analysis.moving import BESIDE, POSITION, TOGETHER, move
from ..analysis.needed import SOLVABLE
from ..analysis.removal import ONLY_LEAF
from ..arguments import Block, Flag, Integer, Loop
from ..conditions import COMPLETE_OR_REDUCTION, FIXED_DOMAINS, IN_ORDER, NOT_ROOT, STAGE_PIPELINE
from ..declaration import primitive
from ..program import Program


@primitive(
    requires=(
        NOT_ROOT, STAGE_PIPELINE, COMPLETE_OR_REDUCTION, BESIDE, ONLY_LEAF, TOGETHER, POSITION, SOLVABLE, IN_ORDER,
        FIXED_DOMAINS,
    )
)  # fmt: skip
def reverse_compute_at(
    program: Program, block: Block, loop: Loop, preserve_unit_loops: Flag = False, index: Integer = -1
) -> None:
    """Move a block under a loop of the blocks that write what it reads: each iteration of the loop uses what was
    computed there, in new loops. `index` says before which statement of the loop it stands: -1, as late as may be; -2,
    as early as may be.

    Preserves: what every block computes. Comments of the block and of the loops it leaves go with it.
    """
    move(program, block, loop, is_compute_at=False, unit_loops=preserve_unit_loops, index=index)
