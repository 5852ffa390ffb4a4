"""`cache_write`: a block writes a new buffer, in another storage scope, which is copied afterwards."""

from __future__ import annotations

from ... import make, tir
from ...analysis.regions import Place, is_covered
from ...visit import substitute
from ..analysis.caching import (
    ACCESSED,
    ONE_WRITER,
    Cache,
    Spot,
    accessed_buffer,
    allocate,
    fixed_domains,
    insert,
    is_compact,
    region_in,
    spot_between,
)
from ..analysis.pipeline import bindings_of
from ..analysis.reindexing import ALL_WRITTEN, FRESH
from ..analysis.removal import OPAQUE, check_not_opaque
from ..analysis.scope import Scope, scope_root
from ..arguments import Block
from ..buffer_arguments import Blocks, BufferIndex, StorageScope
from ..conditions import NOT_ROOT, name_of
from ..declaration import primitive
from ..program import Program
from ..tree import statements_in
from .cache_read import WRITTEN_BEFORE, check_written_before, only_writer


@primitive(
    requires=(ACCESSED, NOT_ROOT, ONE_WRITER, FRESH, WRITTEN_BEFORE, ALL_WRITTEN, OPAQUE),
    results=("block that copies",),
)
def cache_write(
    program: Program,
    block: Block,
    write_buffer_index: BufferIndex,
    storage_scope: StorageScope,
    consumer_blocks: Blocks | None = None,
) -> tir.Block:
    """Let a block write a new buffer in the place of one that it writes, and copy it there before it is read; the
    blocks of `consumer_blocks` read the new buffer.

    Preserves: what every other block computes, and all that the block writes. Comments stay where they are.
    """
    buffer = accessed_buffer(block, write_buffer_index, writes=True)
    root = scope_root(program, block)
    scope = Scope(root)
    only_writer(scope, buffer)
    check_not_opaque(root, buffer)
    readers = scope.readers.get(buffer, [])
    early = next((each for each in readers if scope.blocks.index(each) <= scope.blocks.index(block)), None)
    if early is not None:
        raise FRESH.refuse(f"{name_of(early)} reads what '{buffer.name}' has held before", early)
    named = [each for each in readers if each in (consumer_blocks or ())]
    for each in named:
        check_written_before(program, scope, block, each, buffer)
    others = [each for each in readers if each not in named]
    spot = spot_between(program, root, block, others[0] if others else None)
    written = next(each for each in block.writes if each.buffer is buffer)
    region = region_in(program, block, written, spot.place)
    if all(each is not buffer for each in root.alloc_buffers):
        _check_all_written(program, block, buffer, region, spot)
    cache = Cache(buffer, region, storage_scope, is_compact(program, spot, root, region))
    nest, copied = cache.copy(is_read=False)
    insert(program, spot, nest)
    for each in (block, *named):
        now = program.current(each)
        program.replace(now, program.rewrite(now, cache.instead))
    allocate(program, program.current(root), cache.buffer)
    return copied


def _check_all_written(
    program: Program, block: tir.Block, buffer: tir.Buffer, region: tuple[tir.Range, ...], spot: Spot
) -> None:
    """Refuse a copy of elements that the block may leave unwritten while `spot.place` stands still (E0552)."""
    loops = program.loops_of(block)
    inner = loops[loops.index(spot.place) + 1 :] if isinstance(spot.place, tir.For) else loops
    realize = program.realize_of(block)
    outermost: tir.Stmt = inner[0] if inner else realize
    places = _writes(outermost, buffer, {}, (), {})
    if not is_covered(Place(region), places, fixed_domains(program, block, inner)).is_proven:
        raise ALL_WRITTEN.refuse(f"{name_of(block)} may leave elements of '{buffer.name}' unwritten", block)


def _writes(
    node: tir.Stmt,
    buffer: tir.Buffer,
    domains: dict[tir.Var, tir.Range],
    conditions: tuple[tir.PrimExpr, ...],
    values: dict[tir.Var, tir.PrimExpr],
) -> list[Place]:
    """Return what `node` surely writes of a buffer: where, for which loops, and under which conditions."""
    match node:
        case tir.BufferStore() if node.buffer is buffer and node.predicate is None:
            point = tuple([tir.Range(substitute(each, values), make.const(1, each.dtype)) for each in node.indices])
            return [Place(point, domains, conditions)]
        case tir.For():
            domains = {**domains, node.loop_var: substitute(tir.Range(node.min, node.extent), values)}
        case tir.BlockRealize():
            conditions = (*conditions, substitute(node.predicate, values))
            bound = {axis: substitute(value, values) for axis, value in bindings_of(node).items()}
            return _writes(node.block.body, buffer, domains, conditions, {**values, **bound})
        case tir.IfThenElse() | tir.While() | tir.LetStmt():
            return []
        case _:
            pass
    return [place for each in statements_in(node) for place in _writes(each, buffer, domains, conditions, values)]
