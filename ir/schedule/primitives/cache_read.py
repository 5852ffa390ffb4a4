"""`cache_read`: let blocks read a copy of a buffer in another storage scope."""

from __future__ import annotations

from ... import tir
from ...access import full_region
from ...idioms import is_one
from ..analysis.caching import (
    ACCESSED,
    IN_BOUNDS,
    ONE_WRITER,
    Cache,
    Spot,
    accessed_buffer,
    allocate,
    check_in_bounds,
    insert,
    is_compact,
    region_in,
    scope_body,
    spot_between,
)
from ..analysis.memory import check_in_memory
from ..analysis.order import check_private_copy
from ..analysis.removal import OPAQUE, check_not_opaque
from ..analysis.scope import Scope, scope_root
from ..analysis.speculation import evaluable_box
from ..analysis.written import WRITTEN_BEFORE, check_written_before, writes_all
from ..arguments import Block
from ..buffer_arguments import Blocks, BufferIndex, StorageScope
from ..conditions import IN_ORDER, NOT_ROOT, name_of
from ..declaration import primitive
from ..program import Program


@primitive(
    requires=(ACCESSED, NOT_ROOT, ONE_WRITER, WRITTEN_BEFORE, IN_BOUNDS, OPAQUE, IN_ORDER),
    results=("block that copies",),
)
def cache_read(
    program: Program,
    block: Block,
    read_buffer_index: BufferIndex,
    storage_scope: StorageScope,
    consumer_blocks: Blocks | None = None,
) -> tir.Block:
    """Copy a buffer that a block reads, after it is written, and let all blocks that read it, or those in
    `consumer_blocks`, read the copy.

    Preserves: what every block computes. Comments stay where they are.
    """
    buffer = accessed_buffer(block, read_buffer_index, writes=False)
    root = scope_root(program, block)
    scope = Scope(root)
    writer = only_writer(scope, buffer)
    readers = [member for member in scope.readers(buffer) if member is not writer]
    if consumer_blocks:
        readers = [member for member in readers if member in consumer_blocks]
    check_not_opaque(root, buffer, storage_scope)
    if writer is not None and readers and all(is_later(program, scope, writer, member) for member in readers):
        writer = None
    for member in readers:
        check_written_before(program, scope, writer, member, buffer)
    if writer is None:
        spot = Spot(root, before=scope_body(root, buffer))
        declared = next((read for read in root.reads if read.buffer is buffer), full_region(buffer))
        region = evaluable_box(program, root, declared.region, buffer.shape)
        check_in_bounds(program, root, tir.BufferRegion(buffer, region))
        check_in_memory(program, root, tir.BufferRegion(buffer, region))
    else:
        spot = spot_between(program, root, writer, readers[0] if readers else None, buffer)
        written = next(write for write in writer.writes if write.buffer is buffer)
        region = region_in(program, writer, written, spot.place)
        if not writes_all(program, writer, buffer, region, spot):
            reason = f"{name_of(writer)} may leave elements of '{buffer.name}' unwritten, which the copy would read"
            raise WRITTEN_BEFORE.refuse(reason, writer)
    cache = Cache(root, buffer, region, storage_scope, is_compact(program, spot, root, region))
    nest, copied = cache.copy(is_read=True)
    insert(program, spot, nest)
    for member in readers:
        reader = program.current(member)
        program.replace(reader, cache.use(program, reader))
    allocate(program, program.current(root), cache.buffer)
    check_private_copy(program, program.current(copied))
    return copied


def only_writer(scope: Scope, buffer: tir.Buffer) -> tir.Block | None:
    """Return the block of a scope that writes a buffer, or None.

    Refused if several blocks write it, or a statement outside of blocks uses it (E0548).
    """
    if scope.is_used_outside(buffer):
        raise ONE_WRITER.refuse(f"a statement outside of blocks uses '{buffer.name}'", *scope.blocks[:1])
    writers = list(dict.fromkeys(scope.writers(buffer)))
    if len(writers) > 1:
        names = " and ".join([name_of(writer) for writer in writers])
        raise ONE_WRITER.refuse(f"'{buffer.name}' is written by {names}", *writers)
    return writers[0] if writers else None


def is_later(program: Program, scope: Scope, writer: tir.Block, reader: tir.Block) -> bool:
    """Return whether `writer` executes entirely after `reader`, which then reads values from before the scope."""
    shared = set(program.loops_of(writer)) & set(program.loops_of(reader))
    return scope.blocks.index(writer) > scope.blocks.index(reader) and all(is_one(loop.extent) for loop in shared)
