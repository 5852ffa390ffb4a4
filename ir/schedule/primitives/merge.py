"""`merge`: merge consecutive loop nests into one."""

from __future__ import annotations

from itertools import pairwise

from msgspec.structs import replace

from ... import make, tir
from ...analysis.proof import prove
from ...idioms import sequence
from ..analysis.loops import check_plain, check_starts_at_zero
from ..analysis.order import conflict_of_later, conflicts
from ..analysis.trivia import joined
from ..arguments import Loop
from ..conditions import ARGUMENT, IN_ORDER, NESTED, PLAIN_LOOP, STARTS_AT_ZERO, Condition, name_of
from ..declaration import primitive
from ..program import Program
from .reorder import ONCE, check_once

SAME_SCOPE = Condition("E0532", "the loops are consecutive in the same block", "merge loops of one block")
SAME_EXTENTS = Condition("E0533", "the nests have the same depth and the same extents", "split or pad the loops alike")


@primitive(
    requires=(ONCE, SAME_SCOPE, PLAIN_LOOP, STARTS_AT_ZERO, NESTED, SAME_EXTENTS, IN_ORDER), results=("merged loop",)
)
def merge(program: Program, *loops: Loop) -> tir.For:
    """Merge consecutive nests, each given by its innermost loop, into one nest.

    Preserves: how often everything executes, and the order of any two dependent iterations. The merged nest takes the
    position of the last one; comments stay, in order.
    """
    if len(loops) < 2:
        raise ARGUMENT.refuse("expected at least two loops", help="write S.merge(i, j)")
    check_once(loops, "loops")
    nests = _nests(program, loops)
    _check_alike(nests)
    parent = program.statement_around(nests[0][0])
    if not isinstance(parent, tir.SeqStmt) or any(nest[0] not in parent.seq for nest in nests):
        other = next((nest[0] for nest in nests[1:] if program.statement_around(nest[0]) is not parent), nests[1][0])
        raise SAME_SCOPE.refuse(f"{name_of(nests[0][0])} and {name_of(other)} are not consecutive", nests[0][0], other)
    _check_order(parent, nests)
    merged, innermost = _merged(program, nests)
    kept = [merged if stmt is nests[-1][0] else stmt for stmt in parent.seq]
    outermost = {nest[0] for nest in nests[:-1]}
    became: dict[tir.Stmt, tir.Stmt | None] = dict.fromkeys([loop for nest in nests for loop in nest])
    program.replace(parent, sequence([item for item in kept if item not in outermost]), became)
    return innermost


def _nests(program: Program, loops: tuple[tir.For, ...]) -> list[tuple[tir.For, ...]]:
    """Return the path of each loop below their common ancestors, outermost first."""
    paths = [(*program.loops_of(loop), loop) for loop in loops]
    if any(program.scope_of(loop) is not program.scope_of(loops[0]) for loop in loops):
        raise SAME_SCOPE.refuse(f"{name_of(loops[0])} and {name_of(loops[1])} are in different blocks", *loops[:2])
    shared = 0
    while all(len(path) > shared + 1 and path[shared] is paths[0][shared] for path in paths):
        shared += 1
    nests = [path[shared:] for path in paths]
    for nest in nests:
        for loop in nest:
            check_plain(loop)
            check_starts_at_zero(loop)
        for outer, inner in pairwise(nest):
            if outer.body is not inner:
                raise NESTED.refuse(f"{name_of(outer)} contains more than {name_of(inner)}", outer, inner)
    return nests


def _check_alike(nests: list[tuple[tir.For, ...]]) -> None:
    first = nests[0]
    for nest in nests[1:]:
        if len(nest) != len(first):
            reason = f"{name_of(nest[-1])} is at depth {len(nest)}, {name_of(first[-1])} at depth {len(first)}"
            raise SAME_EXTENTS.refuse(reason, nest[-1], first[-1])
        for mine, other in zip(nest, first, strict=True):
            if not prove(make.equal(mine.extent, other.extent)).is_proven:
                reason = f"{name_of(mine)} has extent {mine.extent}, {name_of(other)} has extent {other.extent}"
                raise SAME_EXTENTS.refuse(reason, mine, other)


def _check_order(parent: tir.SeqStmt, nests: list[tuple[tir.For, ...]]) -> None:
    """Refuse to move a nest past a statement that it conflicts with, or an iteration past one that depends on it."""
    places = [parent.seq.index(nest[0]) for nest in nests]
    if places != sorted(places):
        raise SAME_SCOPE.refuse("the loops are not given in execution order", nests[0][0], nests[1][0])
    for index, nest in enumerate(nests):
        for between in parent.seq[places[index] + 1 : places[-1]]:
            if all(between is not other[0] for other in nests) and (buffer := conflicts(nest[0], between)) is not None:
                reason = f"a statement after {name_of(nest[0])} depends on its order through '{buffer.name}'"
                raise IN_ORDER.refuse(reason, nest[0])
        for later in nests[index + 1 :]:
            buffer = conflict_of_later(nest[-1].body, later[-1].body, nest, later)
            if buffer is not None:
                reason = (
                    f"{name_of(later[0])} may depend on later iterations of {name_of(nest[0])} through '{buffer.name}'"
                )
                raise IN_ORDER.refuse(reason, nest[0], later[0])


def _merged(program: Program, nests: list[tuple[tir.For, ...]]) -> tuple[tir.For, tir.For]:
    """Return the outermost and the innermost loop of the merged nest."""
    variables = [tir.Var(loop.loop_var.dtype, f"{loop.loop_var.name}_m") for loop in nests[0]]
    bodies = [
        program.substitute(nest[-1].body, {loop.loop_var: new for loop, new in zip(nest, variables, strict=True)})
        for nest in nests
    ]
    result, innermost = sequence(bodies), None
    for depth in range(len(variables) - 1, -1, -1):
        loop = nests[0][depth]
        trivia = joined(*[nest[depth].trivia for nest in nests])
        result = replace(loop, loop_var=variables[depth], kind=tir.ForKind.SERIAL, body=result, trivia=trivia)
        innermost = innermost or result
    assert isinstance(result, tir.For)
    assert innermost is not None
    return result, innermost
