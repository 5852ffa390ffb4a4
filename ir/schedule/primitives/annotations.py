"""`annotate` and `unannotate`: annotations of loops and blocks, which later passes read."""

from __future__ import annotations

from msgspec.structs import replace

from ... import tir
from ...spelling import did_you_mean
from ..arguments import Attribute, BlockOrLoop, Text
from ..conditions import Condition, name_of
from ..declaration import primitive
from ..program import Program

KNOWN_KEY = Condition("E0527", "the annotation exists", "print the annotations with sch.show()")


@primitive()
def annotate(program: Program, block_or_loop: BlockOrLoop, ann_key: Text, ann_val: Attribute) -> None:
    """Annotate a loop or a block. A loop with both `software_pipeline_stage` and `software_pipeline_order` must be able
    to run as that pipeline, now and after every later step (E0588).

    An annotation that exists keeps its value, as in TVM; `unannotate` removes it.

    Preserves: everything; passes decide what an annotation means. Comments stay.
    """
    if ann_key not in block_or_loop.annotations:
        _set(program, block_or_loop, {**block_or_loop.annotations, ann_key: ann_val})


@primitive(requires=(KNOWN_KEY,))
def unannotate(program: Program, block_or_loop: BlockOrLoop, ann_key: Text) -> None:
    """Remove an annotation from a loop or a block.

    Preserves: everything. Comments stay.
    """
    if ann_key not in block_or_loop.annotations:
        reason = f"{name_of(block_or_loop)} is not annotated with '{ann_key}'"
        help = did_you_mean(ann_key, block_or_loop.annotations)
        raise KNOWN_KEY.refuse(reason, block_or_loop, argument="ann_key", help=help)
    _set(program, block_or_loop, {key: value for key, value in block_or_loop.annotations.items() if key != ann_key})


def _set(program: Program, node: tir.Block | tir.For, annotations: dict[str, object]) -> None:
    program.replace(node, replace(node, annotations=annotations))
