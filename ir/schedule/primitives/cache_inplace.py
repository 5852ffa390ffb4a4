"""`cache_inplace`: let a block work on a copy of a buffer that it both reads and writes."""

from __future__ import annotations

from msgspec.structs import replace

from ... import tir
from ...analysis.regions import lies_in
from ...idioms import is_one
from ...visit import walk
from ..analysis.bindings import fixed_domains
from ..analysis.caching import ACCESSED, Cache, Spot, accessed_buffer, allocate, insert, region_in
from ..analysis.order import check_concurrent_loops
from ..analysis.pipeline import EXPLICIT, is_region_covered
from ..analysis.removal import OPAQUE
from ..analysis.scope import Scope, scope_root
from ..analysis.written import ALL_WRITTEN, WRITTEN_BEFORE
from ..arguments import Block
from ..buffer_arguments import BufferIndex, StorageScope
from ..conditions import IN_ORDER, NOT_ROOT, Condition, name_of
from ..declaration import primitive
from ..program import Program
from ..tree import walk_statements

IN_PLACE = Condition("E0564", "the block both reads and writes the buffer", "cache_read or cache_write it")


@primitive(requires=(ACCESSED, NOT_ROOT, IN_PLACE, OPAQUE, ALL_WRITTEN, WRITTEN_BEFORE, IN_ORDER), results=("block that copies in", "block that copies out"))  # fmt: skip
def cache_inplace(
    program: Program, block: Block, read_buffer_index: BufferIndex, storage_scope: StorageScope
) -> list[tir.Block]:
    """Let a block work on a copy of a buffer that it reads and writes. The elements that it reads are copied right
    before the block, those that it writes are copied back right after it. If the block uses the address of the buffer,
    it gets the address of the copy.

    Preserves: what every block computes. Comments stay where they are.
    """
    buffer = accessed_buffer(block, read_buffer_index, writes=False)
    scope = scope_root(program, block)
    read = next(region for region in block.reads if region.buffer is buffer)
    written = next((write for write in block.writes if write.buffer is buffer), None)
    if written is None:
        raise IN_PLACE.refuse(f"{name_of(block)} does not write '{buffer.name}'", block)
    _check_no_views(block, buffer)
    domains = fixed_domains(program, block) | {axis.var: axis.dom for axis in block.iter_vars if axis.dom is not None}
    if not lies_in(written.region, read.region, domains).is_proven:
        reason = f"{name_of(block)} may leave elements of '{buffer.name}' unchanged without reading them"
        raise ALL_WRITTEN.refuse(reason, block)
    blocks = (stmt for stmt in walk_statements(block) if isinstance(stmt, tir.Block))
    is_derived = all(EXPLICIT["read"] not in stmt.annotations for stmt in blocks)
    if not is_derived and not lies_in(read.region, written.region, domains).is_proven:
        reason = f"{name_of(block)} declares to read elements of '{buffer.name}' that other iterations may write"
        raise IN_ORDER.refuse(reason, block, help="copy the buffer first, and use annotate_buffer_access after it")
    place = program.parent(block)
    assert place is not None
    known = Scope(scope)
    is_made = any(buffer in stmt.alloc_buffers for stmt in program.around(block) if isinstance(stmt, tir.Block))
    writers = [dependency.src for dependency in known.before(block) if dependency.src in known.writers(buffer)]
    if is_made and not (writers and is_region_covered(program, known, block)):
        raise WRITTEN_BEFORE.refuse(
            f"{name_of(block)} may read elements of '{buffer.name}' that no block has written", block
        )
    if is_made and not is_one(program.realize_of(block).predicate):
        reason = f"{name_of(block)} has a predicate, so that the copy of '{buffer.name}' may read unwritten elements"
        raise WRITTEN_BEFORE.refuse(reason, block)
    read_there, written_there = (region_in(program, block, region, place) for region in (read, written))
    if not lies_in(
        written_there, read_there, fixed_domains(program, block), [program.realize_of(block).predicate]
    ).is_proven:
        reason = (
            f"the elements of '{buffer.name}' that {name_of(block)} writes are not known to be among those it reads"
        )
        raise ALL_WRITTEN.refuse(reason, block)
    cache = Cache(scope, buffer, read_there, storage_scope, is_compact=False)
    copy_in, first = cache.copy(is_read=True)
    back = Cache(scope, buffer, written_there, storage_scope, is_compact=False)
    back.buffer = cache.buffer
    copy_out, last = back.copy(is_read=False)
    predicate = program.realize_of(block).predicate
    copy_in, copy_out = (_where(nest, predicate) for nest in (copy_in, copy_out))
    program.replace(block, cache.use(program, block))
    insert(program, Spot(place, before=program.realize_of(program.current(block))), copy_in)
    insert(program, Spot(place, after=program.realize_of(program.current(block))), copy_out)
    allocate(program, program.current(scope), cache.buffer)
    check_concurrent_loops(program, program.current(first))
    return [first, last]


def _where(nest: tir.Stmt, predicate: tir.PrimExpr) -> tir.Stmt:
    """Return a copy nest with the predicate of the block that uses the copy."""
    if isinstance(nest, tir.BlockRealize):
        return replace(nest, predicate=predicate)
    assert isinstance(nest, tir.For)
    return replace(nest, body=_where(nest.body, predicate))


def _check_no_views(block: tir.Block, buffer: tir.Buffer) -> None:
    """Refuse a buffer that has views or strides, which a copy would not have (E0544)."""
    for node in walk(block):
        if isinstance(node, tir.MatchBufferRegion) and node.source.buffer is buffer:
            raise OPAQUE.refuse(f"'{node.buffer.name}' is a view of a part of '{buffer.name}'", block)
        if isinstance(node, tir.Buffer) and node is not buffer and node.data is buffer.data:
            raise OPAQUE.refuse(f"'{node.name}' is also a view of '{buffer.name}'", block)
    if buffer.strides:
        raise OPAQUE.refuse(f"'{buffer.name}' has strides, but the copy does not", block)
