"""`compute_at`: a block is computed where it is used."""

from __future__ import annotations

from ..analysis.moving import BESIDE, POSITION, TOGETHER, move
from ..analysis.needed import SOLVABLE
from ..analysis.removal import ONLY_LEAF
from ..arguments import Block, Flag, Integer, Location
from ..conditions import (
    COMPLETE_OR_REDUCTION,
    FIXED_DOMAINS,
    IN_ORDER,
    NOT_OUTPUT,
    NOT_ROOT,
    STAGE_PIPELINE,
    Condition,
    Refused,
    name_of,
)
from ..declaration import primitive
from ..handles import ComputeLocation
from ..program import Program
from .compute_inline import compute_inline

CAN_BE_INLINED = Condition(
    "E0568", "the block can be inlined, where that was chosen", "sample the location anew, without a decision"
)


@primitive(
    requires=(
        NOT_ROOT, STAGE_PIPELINE, COMPLETE_OR_REDUCTION, BESIDE, NOT_OUTPUT, ONLY_LEAF, TOGETHER, POSITION, SOLVABLE,
        IN_ORDER, CAN_BE_INLINED, FIXED_DOMAINS,
    )
)  # fmt: skip
def compute_at(
    program: Program, block: Block, loop: Location, preserve_unit_loops: Flag = False, index: Integer = -1
) -> None:
    """Move a block under a loop of the blocks that read what it writes: each iteration of the loop computes what is
    read there, in new loops. Where sample_compute_location chose no loop, the block is inlined, or stays. `index` says
    before which statement of the loop it stands: -1, as late as may be; -2, as early as may be. Elements that several
    iterations of the loop read are computed in each of them.

    Preserves: what every other block computes. Comments of the block and of the loops it leaves go with it.
    """
    if isinstance(loop, ComputeLocation):
        _compute_where_chosen(program, block, loop)
        return
    move(program, block, loop, is_compute_at=True, unit_loops=preserve_unit_loops, index=index)


def _compute_where_chosen(program: Program, block: Block, location: ComputeLocation) -> None:
    if location is ComputeLocation.INLINE:
        try:
            compute_inline(program, block)
        except Refused as refused:
            reason = f"{name_of(block)} cannot be inlined: {refused.reason}"
            raise CAN_BE_INLINED.refuse(reason, block, argument="loop") from None
