"""`compute_at`: a block is computed where it is used."""

from __future__ import annotations

from ..analysis.moving import BESIDE, POSITION, TOGETHER, move
from ..analysis.needed import SOLVABLE
from ..analysis.removal import ONLY_LEAF
from ..arguments import Block, Flag, Integer, Loop
from ..conditions import COMPLETE_OR_REDUCTION, IN_ORDER, NOT_OUTPUT, NOT_ROOT, STAGE_PIPELINE
from ..declaration import primitive
from ..program import Program


@primitive(
    requires=(
        NOT_ROOT, STAGE_PIPELINE, COMPLETE_OR_REDUCTION, BESIDE, NOT_OUTPUT, ONLY_LEAF, TOGETHER, POSITION, SOLVABLE,
        IN_ORDER,
    )
)  # fmt: skip
def compute_at(
    program: Program, block: Block, loop: Loop, preserve_unit_loops: Flag = False, index: Integer = -1
) -> None:
    """Move a block under a loop of the blocks that read what it writes: each iteration of the loop computes what is
    read there, in new loops. `index` says before which statement of the loop it stands: -1, as late as may be; -2, as
    early as may be. Elements that several iterations of the loop read are computed in each of them.

    Preserves: what every other block computes. Comments of the block and of the loops it leaves go with it.
    """
    move(program, block, loop, is_compute_at=True, unit_loops=preserve_unit_loops, index=index)
