"""`reindex`: let a block use a copy of a buffer that is indexed by its iterators."""

from __future__ import annotations

from ... import make, tir
from ..analysis.bindings import check_bound_to_loops, check_fixed_domains
from ..analysis.caching import ACCESSED, IN_BOUNDS, Spot
from ..analysis.index_maps import shortened
from ..analysis.loops import ALONE, outermost_loop
from ..analysis.pipeline import check_stage_pipeline
from ..analysis.reindexing import (
    ONE_POINT,
    Loops,
    Reindexing,
    access_indices,
    check_covers,
    ends_of,
    renamed_buffer,
    used_axes,
)
from ..analysis.removal import OPAQUE
from ..analysis.scope import scope_root
from ..analysis.written import ALL_WRITTEN, FRESH, WRITTEN_BEFORE, check_all_read
from ..arguments import Block
from ..conditions import AFFINE, DISTINCT_WRITES, FIXED_DOMAINS, NOT_ROOT, STAGE_PIPELINE
from ..declaration import primitive
from ..layout_arguments import AccessedBuffer, buffer_accessed
from ..program import Program


@primitive(
    requires=(
        ACCESSED, NOT_ROOT, STAGE_PIPELINE, ONE_POINT, OPAQUE, ALONE, FRESH, AFFINE, ALL_WRITTEN, DISTINCT_WRITES, IN_BOUNDS,
        WRITTEN_BEFORE, FIXED_DOMAINS,
    ),
    results=("block that copies",),
)  # fmt: skip
def reindex(program: Program, block: Block, buffer: AccessedBuffer) -> tir.Block:
    """Let a block access a copy of a buffer that is indexed by the iterators of the block. Iterators that do not occur in
    the index of the buffer are omitted. Elements that the block reads are copied before its loops; elements that it
    writes are copied after them.

    Preserves: what every block computes. Comments stay where they are.
    """
    which, old = buffer_accessed(program, block, buffer)
    scope = scope_root(program, block)
    check_stage_pipeline(program, scope)
    check_fixed_domains(program, block)
    domains = {axis.var: axis.dom for axis in block.iter_vars if axis.dom is not None}
    indices = tuple([shortened(access_index, domains) for access_index in access_indices(block, old)])
    if indices:
        check_bound_to_loops(block, program.loops_of(block), indices)
    axes = used_axes(block, indices)
    outermost = outermost_loop(program, block)
    new = renamed_buffer(old, f"{old.name}_reindex", ends_of(axes), old.scope)
    places = tuple([axis.var for axis in axes])
    reindexing = Reindexing(block, old, indices, new, places, axes, which == "write")
    reindexing.check(program)
    if which == "write":
        check_covers(program, block)
    loops = {tir.Var(axis.var.dtype, f"ax{at}"): domains[axis.var] for at, axis in enumerate(axes)}
    spot = Spot(scope, after=outermost) if which == "write" else Spot(scope, before=outermost)
    name = f"{old.name if which == 'write' else new.name}_reindex"
    copied = reindexing.apply(program, scope, spot, Loops(loops, tuple(loops), make.const(True, "bool")), name)
    if which == "read":
        check_all_read(program, copied)
    return copied
