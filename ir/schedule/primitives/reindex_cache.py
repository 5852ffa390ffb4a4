"""`reindex_cache_read` and `reindex_cache_write`: let a block use a copy of a buffer in the layout of an index map."""

from __future__ import annotations

from ... import tir
from ...visit import walk
from ..analysis.bindings import check_bound_to_loops, check_fixed_domains
from ..analysis.caching import (
    ACCESSED,
    IN_BOUNDS,
    ONE_WRITER,
    Spot,
    accessed_buffer,
    name_of_copy,
    scope_body,
    spot_between,
)
from ..analysis.index_maps import map_indices, map_shape
from ..analysis.pipeline import check_stage_pipeline, is_conditional
from ..analysis.reindexing import ONE_POINT, Loops, Reindexing, access_indices, ends_of, renamed_buffer, used_axes
from ..analysis.removal import OPAQUE
from ..analysis.scope import Scope, scope_root
from ..analysis.written import ALL_WRITTEN, FRESH, WRITTEN_BEFORE
from ..arguments import Block
from ..buffer_arguments import BufferIndex, StorageScope
from ..conditions import DISTINCT_WRITES, FIXED_DOMAINS, IN_ORDER, NOT_ROOT, STAGE_PIPELINE, Condition, name_of
from ..declaration import primitive
from ..layout_arguments import INJECTIVE, IndexMap
from ..program import Program
from .cache_read import only_writer

SAME_ITERATORS = Condition(
    "E0563",
    "the index map uses exactly the iterators in the index of the buffer",
    "use the iterators that occur in the index of the buffer",
)
_SHARED = (
    ACCESSED,
    NOT_ROOT,
    ONE_WRITER,
    STAGE_PIPELINE,
    ONE_POINT,
    OPAQUE,
    SAME_ITERATORS,
    INJECTIVE,
    FRESH,
    FIXED_DOMAINS,
)


@primitive(requires=(*_SHARED, IN_BOUNDS, WRITTEN_BEFORE, IN_ORDER), results=("block that copies",))
def reindex_cache_read(
    program: Program, block: Block, read_buffer_index: BufferIndex, storage_scope: StorageScope, index_map: IndexMap
) -> tir.Block:
    """Let a block read a copy of a buffer. `index_map` maps the iterators to the index in the copy. The copy is made
    after the buffer is written.

    Preserves: what every block computes. Comments stay where they are.
    """
    buffer = accessed_buffer(block, read_buffer_index, writes=False)
    scope = scope_root(program, block)
    writer = only_writer(Scope(scope), buffer)
    spot = (
        Spot(scope, before=scope_body(scope, buffer))
        if writer is None
        else spot_between(program, scope, writer, block, buffer)
    )
    return _reindexed(program, block, buffer, storage_scope, index_map, spot, writes=False)


@primitive(requires=(*_SHARED, ALL_WRITTEN, DISTINCT_WRITES), results=("block that copies",))
def reindex_cache_write(
    program: Program, block: Block, write_buffer_index: BufferIndex, storage_scope: StorageScope, index_map: IndexMap
) -> tir.Block:
    """Let a block write a new buffer, which is copied to the original one before that is read. `index_map` maps the
    iterators to the index in the new buffer.

    Preserves: what every other block computes, and all that the block writes. Comments stay where they are.
    """
    buffer = accessed_buffer(block, write_buffer_index, writes=True)
    scope = scope_root(program, block)
    known = Scope(scope)
    only_writer(known, buffer)
    readers = [reader for reader in known.readers(buffer) if reader is not block]
    spot = spot_between(program, scope, block, readers[0] if readers else None, buffer)
    return _reindexed(program, block, buffer, storage_scope, index_map, spot, writes=True)


def _reindexed(
    program: Program, block: tir.Block, buffer: tir.Buffer, storage_scope: str, index_map: IndexMap, spot: Spot, writes: bool
) -> tir.Block:  # fmt: skip
    scope = scope_root(program, block)
    check_stage_pipeline(program, scope)
    check_fixed_domains(program, block)
    indices = access_indices(block, buffer)
    variables = tuple([axis.var for axis in block.iter_vars])
    extents = ends_of(block.iter_vars)
    dtype = variables[0].dtype if variables else "int32"
    change, _ = index_map.of(program, "index_map", len(variables), dtype)
    places, axes = map_indices(change, variables), used_axes(block, indices)
    _check_iterators(block, axes, used_axes(block, places))
    if indices:
        check_bound_to_loops(block, _loops_inside(program, block, spot), indices)
    shape = map_shape(change, extents)
    if shape is None:
        raise INJECTIVE.refuse(f"iterations of {name_of(block)} may get a negative index", block)
    new = renamed_buffer(buffer, f"{buffer.name}_{storage_scope}".replace(".", "_"), shape, storage_scope)
    reindexing = Reindexing(block, buffer, indices, new, places, axes, writes)
    reindexing.check(program)
    if writes and is_conditional(program, block, spot.place):
        raise ALL_WRITTEN.refuse(f"{name_of(block)} may leave elements of '{buffer.name}' unwritten", block)
    return reindexing.apply(
        program, scope, spot, _loops(program, block, axes, spot), name_of_copy(scope, buffer, storage_scope)
    )


def _check_iterators(block: tir.Block, used: tuple[tir.IterVar, ...], mapped: tuple[tir.IterVar, ...]) -> None:
    for axis in block.iter_vars:
        if (axis in used) != (axis in mapped):
            only = (
                "is in the index of the buffer, but not in the index map"
                if axis in used
                else "is not in the index of the buffer"
            )
            reason = f"iterator '{axis.var.name}' of {name_of(block)} {only}"
            raise SAME_ITERATORS.refuse(reason, block, argument="index_map")


def _loops_inside(program: Program, block: tir.Block, spot: Spot) -> tuple[tir.For, ...]:
    """Return the loops around a block that are not around the copy."""
    around = program.loops_of(block)
    return around[around.index(spot.place) + 1 :] if isinstance(spot.place, tir.For) else around


def _loops(program: Program, block: tir.Block, axes: tuple[tir.IterVar, ...], spot: Spot) -> Loops:
    """Return copies of the loops around a block that `axes` depend on, except for loops also around the copy."""
    realize, inner = program.realize_of(block), _loops_inside(program, block, spot)
    bound = dict(zip(block.iter_vars, realize.iter_values, strict=True))
    values = [bound[axis] for axis in axes]
    used = {node for value in values for node in walk(value)}
    kept = [loop for loop in inner if loop.loop_var in used]
    left = {loop.loop_var for loop in inner if loop not in kept}
    conditions = (realize.predicate, *[part for loop in kept for part in (loop.min, loop.extent)])
    if any(node in left for condition in conditions for node in walk(condition)):
        raise ONE_POINT.refuse(
            f"the predicate of {name_of(block)} depends on loops that are not around the copy", block
        )
    domains = {loop.loop_var: tir.Range(loop.min, loop.extent) for loop in kept}
    return Loops(domains, tuple(values), realize.predicate)
