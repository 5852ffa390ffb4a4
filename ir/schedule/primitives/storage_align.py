"""`storage_align`: set the alignment of a stride of a buffer."""

from __future__ import annotations

from typing import Any

from msgspec.structs import replace

from ..analysis.allocation import ALLOCATED, allocating_block
from ..analysis.caching import ACCESSED, accessed_buffer
from ..arguments import Block, Integer
from ..conditions import ARGUMENT, POSITIVE, Change, Condition, name_of
from ..declaration import primitive
from ..program import Program

ALIGNMENTS = Condition(
    "E0584",
    "the annotation 'buffer_dim_align' is a list of buffer index, axis, factor and offset",
    "unannotate 'buffer_dim_align' first",
)
_KEY = "buffer_dim_align"


@primitive(requires=(ACCESSED, POSITIVE, ALLOCATED, ALIGNMENTS))
def storage_align(
    program: Program, block: Block, buffer_index: Integer, axis: Integer, factor: Integer, offset: Integer
) -> None:
    """Require that the stride of an axis of a buffer that the block writes is a multiple of `factor`, plus `offset`,
    for example to avoid bank conflicts in shared memory.

    Preserves: what is computed, as it does not depend on strides. Comments stay.
    """
    buffer = accessed_buffer(block, buffer_index, writes=True, argument="buffer_index")
    if factor <= 0:
        raise POSITIVE.refuse(f"expected a positive factor, got {factor}", argument="factor")
    ndim = len(buffer.shape)
    if not -ndim <= axis < ndim:
        reason = f"expected an axis from {-ndim} to {ndim - 1} for '{buffer.name}' with {ndim} axes, got {axis}"
        raise ARGUMENT.refuse(reason, argument="axis")
    allocating_block(program, block, buffer)
    said: Any = block.annotations.get(_KEY, ())
    if not _are_alignments(said):
        reason = f"the annotation 'buffer_dim_align' of {name_of(block)} has another form"
        raise ALIGNMENTS.refuse(reason, block, change=Change(before=f'S.unannotate({{}}, "{_KEY}")'))
    place = (buffer_index, axis % ndim)
    known = {item[:2]: item[2:] for item in said} | {place: (factor, offset)}
    alignments = tuple([(*key, *value) for key, value in known.items()])
    program.replace(block, replace(block, annotations={**block.annotations, _KEY: alignments}))


def _are_alignments(value: Any) -> bool:
    return isinstance(value, tuple) and all(
        isinstance(item, tuple) and len(item) == 4 and all(type(number) is int for number in item)  # type: ignore[reportUnknownVariableType, reportUnknownArgumentType]
        for item in value  # type: ignore[reportUnknownVariableType]
    )
