"""`blockize`: turn a loop nest into a block."""

from __future__ import annotations

from collections.abc import Sequence

from msgspec.structs import replace

from ... import tir
from ...analysis.proof import prove
from ...analysis.regions import hull
from ...equal import structural_equal
from ...idioms import sequence
from ...make import equal
from ...visit import substitute
from ..analysis.blockizing import DIVISIBLE, Divided, divide
from ..analysis.order import check_not_combined, threads_around
from ..analysis.reductions import STARTS_ALIKE
from ..arguments import Flag
from ..buffer_arguments import LoopOrBlocks
from ..conditions import INDEPENDENT_ITERATIONS, REDUCTION, UNCONDITIONAL, name_of
from ..declaration import primitive
from ..program import Program


@primitive(requires=(DIVISIBLE, UNCONDITIONAL, REDUCTION, STARTS_ALIKE, INDEPENDENT_ITERATIONS), results=("new block",))
def blockize(program: Program, target: LoopOrBlocks, preserve_unit_iters: Flag = True) -> tir.Block:
    """Turn the nest under a loop, or the adjacent nests of several blocks, into one block. The outer loops execute the
    new block, which contains the old blocks; `T.init` of a reduction moves to the new block, in its own loops. With
    `preserve_unit_iters`, iterators with a single value are kept.

    Preserves: what is computed, and in which order. Comments stay with their statements.
    """
    if isinstance(target, tir.For):
        return _blockize_loop(program, target, preserve_unit_iters)
    return _blockize_blocks(program, target, preserve_unit_iters)


def _blockize_loop(program: Program, loop: tir.For, keeps_units: bool) -> tir.Block:
    blocks = program.child_blocks(loop)
    if len(blocks) != 1:
        raise DIVISIBLE.refuse(f"expected one block under {name_of(loop)}, got {len(blocks)}", loop, *blocks)
    (block,) = blocks
    loops = program.loops_of(block)
    divided = divide(program, block, loops[loops.index(loop) :], keeps_units)
    realize = divided.block(f"{block.name_hint}_o")
    check_not_combined(realize, threads_around(program, loop))
    program.replace(loop, realize, divided.became)
    return realize.block


def _blockize_blocks(program: Program, blocks: Sequence[tir.Block], keeps_units: bool) -> tir.Block:
    place, seq, nests = _side_by_side(program, blocks)
    parts: list[Divided] = []
    for block in blocks:
        if block.init is not None:
            raise DIVISIBLE.refuse(f"{name_of(block)} has T.init", block, help="use decompose_reduction first")
        loops = program.loops_of(block)
        inside = loops[loops.index(place) + 1 :] if isinstance(place, tir.For) else loops
        nest = nests[blocks.index(block)]
        if nest is not (inside[0] if inside else program.realize_of(block)):
            raise UNCONDITIONAL.refuse(f"{name_of(block)} is under a condition or a variable binding", block)
        part = divide(program, block, inside, keeps_units)
        parts.append(_with_axes(program, part, parts[0], block) if parts else part)
    whole = replace(
        parts[0],
        nest=sequence([part.nest for part in parts]),
        reads=_united([region for part in parts for region in part.reads]),
        writes=_united([region for part in parts for region in part.writes]),
    )
    realize = whole.block("outer_" + "".join([f"{block.name_hint}_" for block in blocks]))
    check_not_combined(realize, threads_around(program, blocks[0]))
    left = [realize if stmt is nests[0] else stmt for stmt in seq.seq if stmt is nests[0] or stmt not in nests]
    program.replace(seq, sequence(left), {old: new for part in parts for old, new in part.became.items()})
    return realize.block


def _side_by_side(
    program: Program, blocks: Sequence[tir.Block]
) -> tuple[tir.For | tir.Block, tir.SeqStmt, list[tir.Stmt]]:
    """Return the loop or block that contains the adjacent blocks, its sequence, and the statements with the blocks."""
    if len(set(blocks)) < 2 or len(set(blocks)) < len(blocks):
        raise DIVISIBLE.refuse(f"expected several different blocks, got {len(set(blocks))}", *blocks, argument="target")
    scopes = [program.scope_of(block) for block in blocks]
    other = next((block for block, scope in zip(blocks, scopes, strict=True) if scope is not scopes[0]), None)
    if other is not None:
        raise DIVISIBLE.refuse(f"{name_of(other)} is in another scope than {name_of(blocks[0])}", blocks[0], other)
    paths = [[program.realize_of(block), *program.around(program.realize_of(block))] for block in blocks]
    shared = [candidate for candidate in paths[0] if all(candidate in path for path in paths)]
    place = next(item for item in shared if isinstance(item, tir.For | tir.Block))
    seq = shared[0]
    if not isinstance(seq, tir.SeqStmt):
        raise DIVISIBLE.refuse(
            f"{name_of(blocks[0])} and {name_of(blocks[1])} are in different branches of a condition", *blocks
        )
    nests = [path[path.index(seq) - 1] for path in paths]
    first = seq.seq.index(nests[0])
    if list(seq.seq[first : first + len(nests)]) != nests:
        raise DIVISIBLE.refuse("the blocks are not adjacent, or not given in their order", *blocks)
    return place, seq, nests


def _with_axes(program: Program, part: Divided, first: Divided, block: tir.Block) -> Divided:
    """Return a part with the iterators of the first one; refused if they differ."""
    alike = [axis.iter_type for axis in part.axes] == [axis.iter_type for axis in first.axes] and all(
        prove(equal(a, b)).is_proven
        for mine, other in ((part.values, first.values), (_extents(part), _extents(first)))
        for a, b in zip(mine, other, strict=True)
    )
    if not alike or not structural_equal(part.predicate, first.predicate):
        raise DIVISIBLE.refuse(
            f"the outer loops determine other parts of the iterators of {name_of(block)} than of the first block", block
        )
    names = {mine.var: other.var for mine, other in zip(part.axes, first.axes, strict=True)}
    return replace(
        part,
        nest=program.substitute(part.nest, names),
        reads=tuple([substitute(read, names) for read in part.reads]),
        writes=tuple([substitute(write, names) for write in part.writes]),
    )


def _extents(part: Divided) -> list[tir.PrimExpr]:
    return [axis.dom.extent for axis in part.axes if axis.dom is not None]


def _united(regions: Sequence[tir.BufferRegion]) -> tuple[tir.BufferRegion, ...]:
    """Return the bounding box of the regions of each buffer."""
    boxes: dict[tir.Buffer, list[tuple[tir.Range, ...]]] = {}
    for region in regions:
        boxes.setdefault(region.buffer, []).append(region.region)
    return tuple([tir.BufferRegion(buffer, hull(found, buffer.shape)) for buffer, found in boxes.items()])
