"""`set_scope`: move a buffer to another storage scope."""

from __future__ import annotations

from msgspec.structs import replace

from ... import tir
from ..analysis.allocation import ALLOCATED, allocating_block, change_buffer, check_threads, with_scope
from ..analysis.caching import ACCESSED, accessed_buffer
from ..arguments import Block
from ..buffer_arguments import BufferIndex, StorageScope
from ..conditions import IN_ORDER, STAGE_PIPELINE
from ..declaration import primitive
from ..program import Program


@primitive(requires=(ACCESSED, ALLOCATED, STAGE_PIPELINE, IN_ORDER))
def set_scope(program: Program, block: Block, buffer_index: BufferIndex, storage_scope: StorageScope) -> None:
    """Move a buffer that a block writes, and its views, to another storage scope, and append the scope to their names.

    Preserves: what is computed, as threads still see the elements that they read. Comments stay.
    """
    buffer = accessed_buffer(block, buffer_index, writes=True, argument="buffer_index")
    if buffer.scope == storage_scope:
        return
    site = allocating_block(program, block, buffer)
    place = site.alloc_buffers.index(buffer)
    change_buffer(program, site, buffer, lambda array: with_scope(array, storage_scope))
    now = program.current(site)
    moved = now.alloc_buffers[place]
    check_threads(program, now, moved)
    change_buffer(program, now, moved, lambda array: _named_after(array, storage_scope))


def _named_after(buffer: tir.Buffer, scope: str) -> tir.Buffer:
    data = replace(buffer.data, name=f"{buffer.data.name}_{scope}")
    return replace(buffer, name=f"{buffer.name}_{scope}", data=data)
