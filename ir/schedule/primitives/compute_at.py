"""`compute_at`: compute a block where it is used."""

from __future__ import annotations

from ..analysis.moving import BESIDE, POSITION, TOGETHER, move
from ..analysis.needed import SOLVABLE
from ..analysis.removal import ONLY_LEAF
from ..arguments import Block, Flag, Integer, Location
from ..conditions import (
    COMPLETE_OR_REDUCTION,
    DISTINCT_WRITES,
    FIXED_DOMAINS,
    IN_ORDER,
    NOT_OUTPUT,
    NOT_ROOT,
    STAGE_PIPELINE,
    UNCONDITIONAL,
    Condition,
    Refused,
    name_of,
)
from ..declaration import primitive
from ..handles import ComputeLocation
from ..program import Program
from .compute_inline import compute_inline

CAN_BE_INLINED = Condition(
    "E0568", "the block can be inlined, if inlining was chosen", "sample the location again without a decision"
)


@primitive(
    requires=(
        NOT_ROOT, STAGE_PIPELINE, COMPLETE_OR_REDUCTION, BESIDE, UNCONDITIONAL, NOT_OUTPUT, ONLY_LEAF, TOGETHER, POSITION,
        SOLVABLE, DISTINCT_WRITES, IN_ORDER, CAN_BE_INLINED, FIXED_DOMAINS,
    )
)  # fmt: skip
def compute_at(
    program: Program, block: Block, loop: Location, preserve_unit_loops: Flag = False, index: Integer = -1
) -> None:
    """Move a block under a loop around its consumers. Each iteration of the loop then computes the elements that are
    read there, in new loops; elements that several iterations read are computed in each of them. `index` is the index
    of the child statement of the loop before which the block is inserted: -1 is the last possible one, -2 the first.
    With a location from sample_compute_location, the block may also be inlined or stay where it is.

    Preserves: what every other block computes. Comments of the block and of its old loops move with it.
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
