"""Memory whose rows are padded, as `S.storage_align` asks (TVM: "buffer_dim_align")."""

from __future__ import annotations

from collections.abc import Sequence

from msgspec import Struct

from ...ir import tir
from ...ir.visit import walk

ALIGNMENT = "buffer_dim_align"


class Alignment(Struct, frozen=True):
    """A request of `S.storage_align`: the stride of dimension `axis` is `offset` modulo `factor`,
    so that the elements of a column are in different banks. Dimensions count from the last one, as pipelines add a first one.
    """

    axis: int
    factor: int
    offset: int


def alignments_in(func: tir.PrimFunc) -> dict[tir.Var, Alignment]:
    """Return the alignments of the buffers that blocks write (TVM: "buffer_dim_align")."""
    found: dict[tir.Var, Alignment] = {}
    for block in walk(func.body):
        if isinstance(block, tir.Block):
            for index, axis, factor, offset in block.annotations.get(ALIGNMENT, ()):
                region = block.writes[int(index)]
                rank = len(region.region)
                found[region.buffer.data] = Alignment(axis % rank - rank, factor, offset)
        elif isinstance(block, tir.Allocate):
            for _, axis, factor, offset in block.annotations.get(ALIGNMENT, ()):
                rank = len(block.extents)
                found[block.buffer_var] = Alignment(axis % rank - rank, factor, offset)
    return found


def aligned_strides(
    shape: Sequence[tir.PrimExpr], alignment: Alignment, dtype: str = "int64"
) -> tuple[tir.PrimExpr, ...]:
    """Return row-major strides with padding for `alignment`; none if a dimension is not constant. They have
    the given dtype."""
    strides: list[int] = []
    step = 1
    for axis, extent in reversed(list(enumerate(shape))):
        if not isinstance(extent, tir.IntImm):
            return ()
        if axis == alignment.axis % len(shape):
            step += (alignment.offset - step) % alignment.factor
        strides.insert(0, step)
        step *= extent.value
    return tuple([tir.IntImm(dtype, stride) for stride in strides])
