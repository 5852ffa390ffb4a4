"""Moving blocks under a loop: possible positions, and the checks after the move.

TVM: `ComputeAtOrReverseComputeAtImpl`. Unlike TVM, the move is checked: every block still reads written elements,
no iteration is lost or added, and a reduction starts with its T.init.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import reduce

from msgspec.structs import replace

from ... import make, tir
from ...analysis.const_bounds import Domain
from ...analysis.regions import RegionSet, is_covered
from ...base import Trivia
from ...idioms import is_one, sequence
from ...int_set import EVERYTHING, Interval, cover, eval_set, from_range
from ...visit import walk
from ..conditions import DISTINCT_WRITES, STAGE_PIPELINE, UNCONDITIONAL, Change, Condition, name_of
from ..program import Program, child_blocks
from .affine import runs_for_all
from .bindings import check_bound_to_loops, check_fixed_domains, domains_of, fixed_domains
from .blocks import check_complete_or_reduction, check_not_output
from .needed import SOLVABLE, Facts, IteratorDomain, needed_iterations
from .order import check_concurrent_loops, tells_iterators
from .pipeline import bindings_of, bound_region, check_stage_pipeline, is_region_covered
from .reduction_order import check_in_order, check_starts_first
from .removal import remove_leaf
from .scope import DepKind, Scope, is_output_block, scope_root
from .speculation import is_evaluable
from .trivia import joined

BESIDE = Condition(
    "E0574",
    "the block and the loop are in the same scope, and the loop is not around the block",
    "choose a loop around another block of the scope",
)
TOGETHER = Condition(
    "E0575",
    "all consumers (compute_at) or producers (reverse_compute_at) of the block are under the loop",
    "choose an outer loop, or move the other blocks first",
)
POSITION = Condition(
    "E0576",
    "the position under the loop is after all producers and before all consumers of the block",
    "leave 'index' out, or give -1 for the last such position, -2 for the first",
)
_RELAXED = {"shared": ("threadIdx", "vthread"), "warp": ("threadIdx.x",)}
"""Thread loops that share a storage scope: a block must provide what all of their iterations need."""
_PLAIN = (tir.For, tir.SeqStmt, tir.DeclBuffer, tir.AllocateConst, tir.AttrStmt, tir.BlockRealize)


def move(program: Program, block: tir.Block, loop: tir.For, is_compute_at: bool, unit_loops: bool, index: int) -> None:
    """Move a block, with new loops, under `loop`.

    It executes the iterations that its consumers need there (`is_compute_at`), or those that its producers allow.
    """
    root = scope_root(program, block)
    check_stage_pipeline(program, root)
    check_complete_or_reduction(program, block, root)
    check_fixed_domains(program, block)
    _check_beside(program, block, loop, root)
    kept = {loop, *program.around(loop)}
    check_bound_to_loops(block, [other for other in program.loops_of(block) if other not in kept])
    if is_compute_at:
        help = "move a producer under a loop of its consumer; reverse_compute_at moves a consumer under its producer"
        check_not_output(block, root, help)
    scope = Scope(root)
    check_in_order(program.realize_of(block), program.loops_of(block))
    before = _instances(program, block)
    ran_for_all = runs_for_all(program.realize_of(block), program.loops_of(block))
    place = _insertion_point(block, loop, scope, is_compute_at, index)
    facts = _facts(program, loop)
    provided, required = _regions(program, block, loop, scope, is_compute_at)
    domains = needed_iterations(block, provided, required, facts)
    removed = remove_leaf(program, block)
    nest = _nest(removed, block, domains, facts, unit_loops)
    _insert(program, program.current(loop), nest, place, removed)
    _check_after(program, program.current(block), before, ran_for_all, needs_all=not is_compute_at)


def _check_beside(program: Program, block: tir.Block, loop: tir.For, root: tir.Block) -> None:
    if program.scope_of(loop) is not root:
        raise BESIDE.refuse(f"{name_of(loop)} is not in the same block scope as {name_of(block)}", loop, block)
    around = list(program.around(block))
    if loop in around:
        raise BESIDE.refuse(f"{name_of(loop)} is already an ancestor of {name_of(block)}", loop, block)
    shared = set(program.around(loop))
    for stmt in around[: around.index(root)]:
        if isinstance(stmt, tir.DeclBuffer) and stmt not in shared and stmt.buffer in set(walk(block)):
            name = stmt.buffer.name
            raise BESIDE.refuse(
                f"{name_of(block)} uses '{name}', which is declared around it but not around {name_of(loop)}",
                loop,
                block,
            )
    for stmt in (*around[: around.index(root)], *program.around(loop)):
        if stmt is root:
            break
        if not isinstance(stmt, _PLAIN):
            raise UNCONDITIONAL.refuse(f"{name_of(block)} or {name_of(loop)} is under a condition", loop, block)


def _insertion_point(block: tir.Block, loop: tir.For, scope: Scope, is_compute_at: bool, index: int) -> int:
    """Return the index of the statement of the loop before which the block is inserted (TVM: `FindInsertionPoint`)."""
    producers, consumers = scope.producers(block), scope.consumers(block)
    under = blocks_under(loop)
    inside = {member for part in under for member in part}
    for needed, verb in ((consumers, "reads"), (producers, "writes")):
        missing = next((member for member in needed if member not in inside), None)
        if missing is not None and is_compute_at == (needed is consumers):
            what = f"what {name_of(block)} {'writes' if verb == 'reads' else 'reads'}"
            rule = f"{'compute_at' if is_compute_at else 'reverse_compute_at'} requires all the {'consumers' if is_compute_at else 'producers'} there"
            raise TOGETHER.refuse(f"{name_of(missing)}, which {verb} {what}, is not under it; {rule}", loop, missing)
    first = max([at + 1 for at, part in enumerate(under) if any(member in producers for member in part)], default=0)
    last = min([at for at, part in enumerate(under) if any(member in consumers for member in part)], default=len(under))
    if first > last:
        raise POSITION.refuse(
            f"producers and consumers of {name_of(block)} are interleaved under the loop", loop, block
        )
    if index not in (-1, -2) and not first <= index <= last:
        allowed = f"from {first} to {last}" if first < last else f"{first}"
        reason = f"position {index} is not possible: expected {allowed}"
        raise POSITION.refuse(reason, loop, argument="index", change=Change())
    return {-1: last, -2: first}.get(index, index)


def parts_of(loop: tir.For) -> tuple[tir.Stmt, ...]:
    """Return the child statements of a loop."""
    return loop.body.seq if isinstance(loop.body, tir.SeqStmt) else (loop.body,)


def blocks_under(loop: tir.For) -> list[tuple[tir.Block, ...]]:
    """Return the outermost blocks in each child statement of a loop."""
    return [(part.block,) if isinstance(part, tir.BlockRealize) else child_blocks(part) for part in parts_of(loop)]


def _facts(program: Program, loop: tir.For) -> Facts:
    """Return the facts on variables in the body of `loop`; sizes of parameters are not negative."""
    sizes = [size for buffer in program.prim_func_of(loop).buffer_map.values() for size in buffer.shape]
    known: dict[tir.Var, Domain] = {
        size: Interval(make.const(0, size.dtype), None) for size in sizes if isinstance(size, tir.Var)
    }
    return Facts({**known, **fixed_domains(program, loop), **domains_of((loop,))})


def _regions(
    program: Program, block: tir.Block, loop: tir.For, scope: Scope, is_compute_at: bool
) -> tuple[dict[tir.Buffer, list[list[Interval]]], dict[tir.Buffer, list[list[Interval]]]]:
    """Return the regions that an iteration of a block provides, and those that an iteration of the loop requires.

    TVM: `CalculateProvidedRequiredRegions`.
    """
    provided: dict[tir.Buffer, list[list[Interval]]] = {}
    required: dict[tir.Buffer, list[list[Interval]]] = {}
    for region in block.writes if is_compute_at else block.reads:
        provided.setdefault(region.buffer, []).append(
            [from_range(range_.min, range_.extent) for range_ in region.region]
        )
    for other in scope.consumers(block) if is_compute_at else scope.producers(block):
        values = bindings_of(program.realize_of(other))
        for region in other.reads if is_compute_at else other.writes:
            if region.buffer in provided:
                relaxed = relaxed_loops(program, other, loop, region.buffer.scope if is_compute_at else "global")
                domains = {candidate.loop_var: from_range(candidate.min, candidate.extent) for candidate in relaxed}
                box = [
                    eval_set(from_range(range_.min, range_.extent), domains) for range_ in bound_region(region, values)
                ]
                box = [axis if is_evaluable(program, loop, axis.min, axis.max) else EVERYTHING for axis in box]
                required.setdefault(region.buffer, []).append(box)
    return provided, required


def relaxed_loops(program: Program, block: tir.Block, loop: tir.For, storage_scope: str) -> tuple[tir.For, ...]:
    """Return the loops between a block and `loop`, and the thread loops around it that share `storage_scope`."""
    loops = program.loops_of(block)
    inner = list(loops[loops.index(loop) + 1 :])
    tags = _RELAXED.get(storage_scope.split(".")[0], ())
    for stmt in program.around(inner[0] if inner else program.realize_of(block)):
        if (
            isinstance(stmt, tir.For)
            and stmt.thread_binding is not None
            and stmt.thread_binding.thread_tag.startswith(tags)
        ):
            inner.append(stmt)
    return tuple(inner)


def _nest(
    removed: tir.Stmt,
    block: tir.Block,
    domains: Sequence[IteratorDomain],
    facts: Facts,
    unit_loops: bool,
) -> tir.Stmt:
    """Return a block in new loops in which its iterators range over `domains` (TVM: `ScopeReconstructor.MakeNewLoop`).

    Comments of its old loops are kept above the new nest.
    """
    loops: list[tuple[tir.Var, tir.PrimExpr]] = []
    values: list[tir.PrimExpr] = []
    conditions = list[tir.PrimExpr]()
    for axis, domain in zip(block.iter_vars, domains, strict=True):
        assert axis.dom is not None
        assert domain.domain is not None
        span = (
            axis.dom
            if domain.domain.min is None or domain.domain.max is None
            else cover(domain.domain, axis.dom.extent)
        )
        extent, value = facts.simplify(span.extent), span.min
        if unit_loops or not is_one(extent):
            variable = tir.Var(_wider(span.min.dtype, extent.dtype), f"ax{len(loops)}")
            loops.append((variable, make.cast(extent, variable.dtype)))
            facts.learn(variable, tir.Range(make.const(0, variable.dtype), extent))
            value = make.add(span.min, variable)
        values.append(value)
        if domain.bound is not None:
            if domain.bound.min is not None:
                conditions.append(make.greater_equal(value, domain.bound.min))
            if domain.bound.max is not None:
                conditions.append(make.less(value, make.add(domain.bound.max, 1)))
    open_ones = [condition for condition in conditions if not facts.prove(condition)]
    predicate = facts.simplify(reduce(make.logical_and, open_ones, make.const(True, "bool")))
    trivia, inside = list[Trivia | None](), removed
    while isinstance(inside, tir.For):
        trivia.append(inside.trivia)
        inside = inside.body
    nest: tir.Stmt = tir.BlockRealize(tuple(values), predicate, block, trivia=inside.trivia)
    for variable, extent in reversed(loops):
        nest = tir.For(variable, make.const(0, variable.dtype), extent, tir.ForKind.SERIAL, nest)
    return replace(nest, trivia=joined(*trivia, nest.trivia))


def _wider(a: str, b: str) -> str:
    return a if int(a.removeprefix("int")) >= int(b.removeprefix("int")) else b


def _insert(program: Program, loop: tir.For, nest: tir.Stmt, place: int, removed: tir.Stmt) -> None:
    parts = parts_of(loop)
    body = sequence((*parts[:place], nest, *parts[place:]))
    gone: dict[tir.Stmt, tir.Stmt | None] = {}
    while isinstance(removed, tir.For):
        gone[removed] = None
        removed = removed.body
    program.replace(loop, replace(loop, body=body), gone)


def _instances(program: Program, block: tir.Block) -> RegionSet:
    """Return the set of values of the iterators of a block, as a region."""
    realize = program.realize_of(block)
    points = tuple([tir.Range(iter_value, make.const(1, iter_value.dtype)) for iter_value in realize.iter_values])
    return RegionSet(points, domains_of(program.loops_of(block)), (realize.predicate,))


def _check_after(program: Program, block: tir.Block, before: RegionSet, ran_for_all: bool, needs_all: bool) -> None:
    """Refuse a move that changes iterations, restarts a reduction, or breaks a dependence (E0517, E0534, E0577, E0592)."""
    root = scope_root(program, block)
    scope, realize, loops = Scope(root), program.realize_of(block), program.loops_of(block)
    for dependency in scope.dependencies:
        if dependency.kind is DepKind.WAR and block in (dependency.src, dependency.dst):
            reason = f"under the loop, {name_of(dependency.dst)} would write what {name_of(dependency.src)} has read"
            raise STAGE_PIPELINE.refuse(reason, program.current(dependency.dst))
    for member in (block, *scope.consumers(block)):
        if not is_region_covered(program, scope, member):
            raise STAGE_PIPELINE.refuse(f"under the loop, {name_of(member)} may read unwritten elements", member)
    if not tells_iterators(block):
        raise DISTINCT_WRITES.refuse(f"different iterations of {name_of(block)} may write the same element", block)
    after = _instances(program, block)
    if not ran_for_all and not is_covered(after, [before]).is_proven:
        raise SOLVABLE.refuse(
            f"{name_of(block)} may execute for values of its iterators for which it does not execute now", block
        )
    runs_all = not (needs_all and is_output_block(block, root)) or runs_for_all(realize, loops)
    if not runs_all and not is_covered(before, [after]).is_proven:
        raise SOLVABLE.refuse(
            f"{name_of(block)} may not execute for all values of its iterators for which it executes now", block
        )
    if needs_all and block.init is not None:
        check_starts_first(realize, loops)
    check_concurrent_loops(program, block)
