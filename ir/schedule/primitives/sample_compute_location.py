"""`sample_compute_location`: choose at random where a block is computed."""

from __future__ import annotations

from bisect import bisect_left

from ... import tir
from ...idioms import is_one, uses
from ..analysis.blocks import COMM_REDUCE, DATA_PAR
from ..analysis.scope import Scope, scope_root
from ..arguments import Block, Integer
from ..conditions import NOT_ROOT, Refused
from ..declaration import PRIMITIVES, primitive
from ..handles import ComputeLocation
from ..program import Program

_INLINE, _ROOT = -2, -1


@primitive(requires=(NOT_ROOT,), results=("location",), query=True)
def sample_compute_location(
    program: Program, block: Block, decision: Integer | None = None
) -> tir.For | ComputeLocation:
    """Choose a location of a block for `compute_at` at random: a loop around its consumers, inlining if that is
    possible, or its current position. Loops of extent 1 and loops inside of reductions are not considered.

    `decision` repeats an earlier choice: -2 is inlining, -1 the current position, other numbers are indices of the
    loops around all consumers. If the choice is no longer possible, the next smaller one is taken.

    Preserves: everything; the choice is part of the trace.
    """
    locations = _locations(program, block)
    numbers = sorted(locations)
    if decision is None:
        decision = numbers[program.random.below(len(numbers))]
    elif decision not in locations:
        before = bisect_left(numbers, decision)
        decision = numbers[before - 1] if before else _ROOT
    program.decision = decision
    return locations[decision]


def _locations(program: Program, block: tir.Block) -> dict[int, tir.For | ComputeLocation]:
    """Return all locations by their numbers (TVM: `CollectComputeLocation`)."""
    scope = Scope(scope_root(program, block))
    found: dict[int, tir.For | ComputeLocation] = {_ROOT: ComputeLocation.ROOT}
    if _can(program, "compute_inline", block):
        found[_INLINE] = ComputeLocation.INLINE
    loops = _loops_of_all(program, scope.consumers(block))
    kinds = [_kind(program, loop) for loop in loops]
    last = max([at for at, kind in enumerate(kinds) if kind is DATA_PAR], default=-1)
    is_inside = False
    for at, (loop, kind) in enumerate(zip(loops, kinds, strict=True)):
        if is_one(loop.extent):
            continue
        if is_inside if kind is DATA_PAR else at > last:
            break
        is_inside |= kind is not DATA_PAR
        if _can(program, "compute_at", block, loop, True):
            found[at] = loop
    return found


def _can(program: Program, name: str, *arguments: object) -> bool:
    try:
        PRIMITIVES[name].apply(program.trial(), *arguments)
    except Refused:
        return False
    return True


def _loops_of_all(program: Program, blocks: list[tir.Block]) -> tuple[tir.For, ...]:
    """Return the loops around all blocks, outermost first."""
    nests = [program.loops_of(block) for block in blocks]
    return tuple([loop for loop in nests[0] if all(loop in nest for nest in nests)]) if nests else ()


def _kind(program: Program, loop: tir.For) -> tir.IterVarType:
    """Return the kind of the iterators that a loop is in; opaque if there are several (TVM: `GetLoopIterType`)."""
    kinds: set[tir.IterVarType] = set()
    for block in program.child_blocks(loop):
        for axis, value in zip(block.iter_vars, program.realize_of(block).iter_values, strict=True):
            if uses(value, [loop]):
                kinds.add(axis.iter_type)
    if kinds <= {DATA_PAR}:
        return DATA_PAR
    return COMM_REDUCE if kinds == {COMM_REDUCE} else tir.IterVarType.OPAQUE
