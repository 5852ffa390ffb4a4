"""`reorder`: change the order of nested loops."""

from __future__ import annotations

from itertools import pairwise

from msgspec.structs import replace

from ... import tir
from ...visit import walk
from ..analysis.affine import check_affine_under
from ..analysis.order import check_kinds_hold, check_reorderable, is_frame
from ..analysis.reduction_order import check_same_order
from ..arguments import Loop
from ..conditions import AFFINE, IN_ORDER, PLAIN_ITERATORS, Change, Condition, name_of
from ..declaration import primitive
from ..program import Program, child_blocks
from ..tree import walk_statements

ONCE = Condition("E0512", "every loop is given once", "give it only once")
CHAIN = Condition(
    "E0513",
    "the loops form a perfect nest",
    "reorder other loops, or move the statements between them first",
)
DOMAINS_OUTSIDE = Condition("E0514", "no domain depends on an inner loop", "keep the loop that the domain depends on outside")  # fmt: skip


@primitive(requires=(ONCE, CHAIN, PLAIN_ITERATORS, AFFINE, DOMAINS_OUTSIDE, IN_ORDER))
def reorder(program: Program, *ordered_loops: Loop) -> None:
    """Change the order of nested loops to the given one. Loops between them that are not given keep their positions.

    Preserves: how often every block below executes, and what it computes: its iterators are spatial or reductions, so
    the order of iterations does not matter, except for a reduction that keeps the first of equal values. Comments
    move with their loops.
    """
    if len(ordered_loops) <= 1:
        return
    check_once(ordered_loops, "ordered_loops")
    chain = _chain(program, ordered_loops)
    blocks = program.child_blocks(chain[-1])
    for block in blocks:
        _check_iterators(block)
        if block.iter_vars:
            check_affine_under(program, block, chain[0])
    new = _new_order(chain, ordered_loops)
    _check_domains(new)
    for stmt in walk_statements(chain[-1].body):
        if isinstance(stmt, tir.BlockRealize):
            check_same_order(stmt, chain, new)
            if new != chain:
                check_kinds_hold(program, stmt.block)
    check_reorderable(chain[-1].body, chain, new)
    body = chain[-1].body
    became: dict[tir.Stmt, tir.Stmt | None] = {}
    for loop in reversed(new):
        body = became[loop] = replace(loop, body=body)
    program.replace(chain[0], body, became)


def _check_iterators(block: tir.Block) -> None:
    """Refuse iterators whose order matters, including those of blocks inside a frame (E0515)."""
    for axis in block.iter_vars:
        if axis.iter_type not in (tir.IterVarType.DATA_PAR, tir.IterVarType.COMM_REDUCE):
            reason = f"iterator '{axis.var.name}' of {name_of(block)} is {axis.iter_type.value}"
            raise PLAIN_ITERATORS.refuse(reason, block)
    if is_frame(block):
        for child_block in child_blocks(block):
            _check_iterators(child_block)


def check_once(loops: tuple[tir.For, ...], argument: str) -> None:
    """Refuse a loop that is given twice (E0512)."""
    for index, loop in enumerate(loops):
        if loop in loops[:index]:
            reason = f"{name_of(loop)} is given twice"
            raise ONCE.refuse(reason, loop, argument=argument, position=index + 1, change=Change())


def _chain(program: Program, loops: tuple[tir.For, ...]) -> list[tir.For]:
    """Return the perfect nest from the outermost of `loops` to the innermost; refused if there is none."""
    scopes = [program.scope_of(loop) for loop in loops]
    for loop, scope in zip(loops, scopes, strict=True):
        if scope is not scopes[0]:
            raise CHAIN.refuse(f"{name_of(loop)} and {name_of(loops[0])} are in different blocks", loop, loops[0])
    innermost = max(loops, key=lambda loop: len(program.loops_of(loop)))
    nest = (*program.loops_of(innermost), innermost)
    for loop in loops:
        if loop not in nest:
            raise CHAIN.refuse(f"{name_of(loop)} is next to {name_of(innermost)}, not around it", loop, innermost)
    chain = list(nest[min(map(nest.index, loops)) :])
    for outer, inner in pairwise(chain):
        if outer.body is not inner:
            raise CHAIN.refuse(f"{name_of(outer)} contains more than {name_of(inner)}", outer, inner)
    return chain


def _new_order(chain: list[tir.For], ordered: tuple[tir.For, ...]) -> list[tir.For]:
    given = iter(ordered)
    return [next(given) if loop in ordered else loop for loop in chain]


def _check_domains(new: list[tir.For]) -> None:
    """Refuse an order in which the domain of a loop depends on a loop inside of it."""
    inner: set[tir.Var] = set()
    for loop in reversed(new):
        for part in (loop.min, loop.extent):
            used = next((node for node in walk(part) if node in inner), None)
            if isinstance(used, tir.Var):
                reason = f"the domain of {name_of(loop)} depends on '{used.name}', which would be inside it"
                raise DOMAINS_OUTSIDE.refuse(reason, loop)
        inner.add(loop.loop_var)
