"""`cache_write`: let a block write a new buffer in another storage scope, which is then copied back."""

from __future__ import annotations

from ... import tir
from ..analysis.caching import (
    ACCESSED,
    ONE_WRITER,
    Cache,
    accessed_buffer,
    allocate,
    insert,
    is_compact,
    region_in,
    spot_between,
)
from ..analysis.order import check_concurrent_loops
from ..analysis.pipeline import is_region_covered
from ..analysis.removal import OPAQUE, check_not_opaque
from ..analysis.scope import Scope, scope_root
from ..analysis.written import ALL_WRITTEN, FRESH, WRITTEN_BEFORE, check_starts_anew, check_written_before, writes_all
from ..arguments import Block
from ..buffer_arguments import Blocks, BufferIndex, StorageScope
from ..conditions import IN_ORDER, NOT_ROOT, name_of
from ..declaration import primitive
from ..program import Program
from .cache_read import is_later, only_writer


@primitive(
    requires=(ACCESSED, NOT_ROOT, ONE_WRITER, FRESH, WRITTEN_BEFORE, ALL_WRITTEN, OPAQUE, IN_ORDER),
    results=("block that copies",),
)
def cache_write(
    program: Program,
    block: Block,
    write_buffer_index: BufferIndex,
    storage_scope: StorageScope,
    consumer_blocks: Blocks | None = None,
) -> tir.Block:
    """Let a block write a new buffer, and copy that to the original buffer before the latter is read. The blocks in
    `consumer_blocks` read the new buffer.

    Preserves: what every other block computes, and all that the block writes. Comments stay where they are.
    """
    buffer = accessed_buffer(block, write_buffer_index, writes=True)
    root = scope_root(program, block)
    scope = Scope(root)
    only_writer(scope, buffer)
    check_not_opaque(root, buffer, storage_scope)
    readers = list[tir.Block]()
    for reader in scope.readers(buffer):
        if scope.blocks.index(reader) > scope.blocks.index(block):
            readers.append(reader)
        elif not (_reads_own(program, block, buffer) if reader is block else is_later(program, scope, block, reader)):
            raise FRESH.refuse(f"{name_of(reader)} reads earlier values of '{buffer.name}'", reader)
    check_starts_anew(program, block, buffer)
    named = [reader for reader in readers if reader in (consumer_blocks or ())]
    for member in named:
        check_written_before(program, scope, block, member, buffer)
    others = [reader for reader in readers if reader not in named]
    spot = spot_between(program, root, block, others[0] if others else None, buffer)
    written = next(write for write in block.writes if write.buffer is buffer)
    region = region_in(program, block, written, spot.place)
    if not writes_all(program, block, buffer, region, spot):
        raise ALL_WRITTEN.refuse(f"{name_of(block)} may leave elements of '{buffer.name}' unwritten", block)
    cache = Cache(root, buffer, region, storage_scope, is_compact(program, spot, root, region))
    nest, copied = cache.copy(is_read=False)
    insert(program, spot, nest)
    for member in (block, *named):
        now = program.current(member)
        program.replace(now, cache.use(program, now))
    allocate(program, program.current(root), cache.buffer)
    check_concurrent_loops(program, program.current(block))
    return copied


def _reads_own(program: Program, block: tir.Block, buffer: tir.Buffer) -> bool:
    """Return whether the nested blocks only read elements of a buffer that preceding ones have written."""
    inside = Scope(block)
    readers, writers = inside.readers(buffer), inside.writers(buffer)
    return (
        bool(readers)
        and not inside.is_used_outside(buffer)
        and all(
            any(dependency.src in writers for dependency in inside.before(reader))
            and is_region_covered(program, inside, reader)
            for reader in readers
        )
    )
