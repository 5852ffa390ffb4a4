"""`decompose_reduction`: move T.init of a reduction to a separate block."""

from __future__ import annotations

from collections.abc import Sequence

from msgspec.structs import replace

from ... import tir
from ...access import detect_regions
from ...base import Node
from ...buffers import buffers_of
from ...idioms import sequence, uses
from ...visit import substitute, walk
from ..analysis.blocks import COMM_REDUCE, DATA_PAR, check_reduction
from ..analysis.copies import fresh_copy
from ..analysis.order import accesses
from ..analysis.pipeline import is_conditional, is_region_covered
from ..analysis.reductions import STARTS_ALIKE, check_runs_once, start_condition
from ..analysis.scope import Scope, scope_root
from ..arguments import Block, Loop
from ..conditions import NOT_ROOT, REDUCTION, Change, Condition, name_of
from ..declaration import primitive
from ..program import Program

AROUND = Condition("E0570", "the loop is around the block, in its scope", "choose a loop that get_loops returns")
ABOVE_REDUCTION = Condition(
    "E0571", "no loop outside of the given one is in a reduction iterator", "give the outermost loop of the reduction"
)
UNTOUCHED = Condition(
    "E0573",
    "no other block under the loop writes an input of T.init, or accesses the output before it is complete",
    "choose an inner loop, or move the other block out of the loop",
)
_TRUE: tir.PrimExpr = tir.IntImm("bool", 1)


@primitive(
    requires=(AROUND, REDUCTION, ABOVE_REDUCTION, STARTS_ALIKE, UNTOUCHED, NOT_ROOT), results=("initializing block",)
)
def decompose_reduction(program: Program, block: Block, loop: Loop) -> tir.Block:
    """Move `T.init` of a reduction to a new block before `loop`, with copies of the loops that it needs.

    Preserves: what is computed, also for empty reductions. Comments in `T.init` move with it, all others stay with the
    remaining block, `…_update`.
    """
    scope = scope_root(program, block)
    loops = program.loops_of(block)
    if loop not in loops:
        raise AROUND.refuse(f"{name_of(loop)} is not around {name_of(block)}", loop, block, argument="loop")
    check_reduction(program, block, scope)
    realize = program.realize_of(block)
    _check_height(realize, loops[: loops.index(loop)], loop)
    if is_conditional(program, block, loop):
        reason = f"{name_of(block)} is under a condition, so that its first iterations may not execute"
        raise STARTS_ALIKE.refuse(reason, block, loop)
    below = loops[loops.index(loop) :]
    spatial = [index for index, axis in enumerate(block.iter_vars) if axis.iter_type is DATA_PAR]
    kept = [other for other in below if any(uses(realize.iter_values[index], [other]) for index in spatial)]
    dropped = [other for other in below if other not in kept]
    check_runs_once(realize, loops, below, dropped)
    predicate = start_condition(realize, loops, kept, dropped)
    _check_others(program, block, loop, Scope(scope))
    init = _init_block(program, realize, spatial)
    nest = _nest(replace(init, predicate=predicate), kept)
    update = _update_block(block)
    program.replace(block, update)
    current = program.current(loop)
    program.replace(current, sequence((nest, current)))
    return next(node for node in walk(nest) if isinstance(node, tir.Block))


def _check_height(realize: tir.BlockRealize, above: Sequence[tir.For], loop: tir.For) -> None:
    for axis, value in zip(realize.block.iter_vars, realize.iter_values, strict=True):
        for outer in above:
            if axis.iter_type is COMM_REDUCE and uses(value, [outer]):
                reason = f"{name_of(outer)}, outside of it, is in the reduction iterator '{axis.var.name}'"
                raise ABOVE_REDUCTION.refuse(
                    reason, loop, outer, realize.block, argument="loop", change=Change(loop=outer)
                )


def _check_others(program: Program, block: tir.Block, loop: tir.For, scope: Scope) -> None:
    """Refuse a loop with blocks that access the output before it is complete, or write what T.init reads."""
    assert block.init is not None
    read = buffers_of(block.init)
    written = {region.buffer for region in block.writes}
    for access in accesses(loop.body):
        if access.block is block:
            continue
        other, is_block = access.block, access.outside is None
        if access.is_write and access.buffer in read:
            reason = f"{name_of(access.place)} writes '{access.buffer.name}', which T.init of {name_of(block)} accesses"
            raise UNTOUCHED.refuse(reason, loop, access.place)
        is_after = is_block and scope.blocks.index(other) > scope.blocks.index(block)
        if (
            not access.is_write
            and access.buffer in written
            and not (is_after and is_region_covered(program, scope, other))
        ):
            reason = f"{name_of(access.place)} may read an incomplete result of {name_of(block)}"
            raise UNTOUCHED.refuse(reason, loop, access.place)


def _init_block(program: Program, realize: tir.BlockRealize, spatial: Sequence[int]) -> tir.BlockRealize:
    block = realize.block
    assert block.init is not None
    axes = [block.iter_vars[index] for index in spatial]
    fresh: dict[tir.Var, Node] = {axis.var: replace(axis.var) for axis in axes}
    starts = {axis.var: axis.dom.min for axis in block.iter_vars if axis not in axes and axis.dom is not None}
    body = fresh_copy(substitute(block.init, starts), fresh, program.prim_func_of(block))
    bare = tir.Block(
        tuple([substitute(axis, fresh) for axis in axes]),
        (),
        tuple([substitute(write, fresh) for write in block.writes]),
        f"{block.name_hint}_init",
        body,
        annotations=block.annotations,
    )
    reads, _, _ = detect_regions(bare, buffers_of(body))
    return tir.BlockRealize(tuple([realize.iter_values[index] for index in spatial]), _TRUE, replace(bare, reads=reads))


def _nest(realize: tir.BlockRealize, loops: Sequence[tir.For]) -> tir.Stmt:
    """Return copies of `loops` around a block."""
    body: tir.Stmt = realize
    fresh: dict[tir.Var, Node] = {}
    for loop in reversed(loops):
        variable = fresh[loop.loop_var] = replace(loop.loop_var, name=f"{loop.loop_var.name}_init")
        thread = loop.thread_binding
        if thread is not None:
            thread = replace(thread, var=replace(thread.var))
        body = tir.For(variable, loop.min, loop.extent, loop.kind, body, thread_binding=thread)
    return substitute(body, fresh)


def _update_block(block: tir.Block) -> tir.Block:
    """Return the update of a reduction as a block, which also reads its output."""
    read = {region.buffer for region in block.reads}
    reads = tuple([region for region in block.writes if region.buffer not in read])
    return replace(block, name_hint=f"{block.name_hint}_update", init=None, reads=(*reads, *block.reads))
