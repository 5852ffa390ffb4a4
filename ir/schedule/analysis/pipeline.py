"""Stage pipelines: scopes in which each block reads only elements that preceding blocks have written.

TVM: `CheckRegionCoverAndStagePipeline`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from functools import reduce
from typing import TypeAlias

from ... import make, tir
from ...analysis.iter_map import IterMapLevel, detect_iter_map
from ...analysis.iter_map_use import normalize_iter_map_to_expr
from ...analysis.proof import prove
from ...analysis.regions import RegionSet, is_covered
from ...equal import structural_equal
from ...idioms import conjuncts, is_one
from ...int_set import Interval, eval_set, from_range
from ...simplify import simplify
from ...visit import substitute, walk
from ..conditions import STAGE_PIPELINE, name_of
from ..program import Program
from ..tree import statements_in, walk_statements
from .affine import may_be_skipped
from .bindings import Domains, domains_of
from .removal import uses_address, why_opaque
from .scope import DepKind, Scope, check_known_memory

EXPLICIT = {"read": "explicit_read_region", "write": "explicit_write_region"}
"""Annotations that list the indices of buffers whose regions are declared instead of derived."""
Box: TypeAlias = tuple[Interval, ...]


def bindings_of(realize: tir.BlockRealize) -> dict[tir.Var, tir.PrimExpr]:
    """Return the bindings of the iterators of a block."""
    return dict(zip([axis.var for axis in realize.block.iter_vars], realize.iter_values, strict=True))


def bound_region(region: tir.BufferRegion, values: Mapping[tir.Var, tir.PrimExpr]) -> tuple[tir.Range, ...]:
    """Return a region of a block in terms of the loops around it."""
    return tuple(
        [tir.Range(substitute(range_.min, values), substitute(range_.extent, values)) for range_ in region.region]
    )


def surely_touched(region: tuple[tir.Range, ...], domains: Domains, predicate: tir.PrimExpr) -> Box | None:
    """Return a box that is accessed completely when loops range over `domains`; None if none is known.

    TVM: `EstimateRegionLowerBound`.
    """
    if not domains:
        return tuple([from_range(range_.min, range_.extent) for range_ in region]) if is_one(predicate) else None
    if not all(any(node in domains for node in walk(part)) for part in conjuncts(predicate)):
        return None  # whether anything is accessed depends on loops that are fixed
    found = detect_iter_map([range_.min for range_ in region], domains, predicate, IterMapLevel.SURJECTIVE)
    if not found.is_detected:
        return None
    box: list[Interval] = []
    for axis, index in zip(region, found.indices, strict=True):
        if not index.args:
            box.append(from_range(normalize_iter_map_to_expr(index), axis.extent))
            continue
        (part,) = index.args if len(index.args) == 1 else (None,)
        if part is None or not prove(make.greater_equal(axis.extent, part.scale)).is_proven:
            return None
        steps = make.mul(make.sub(part.extent, 1), part.scale)
        box.append(from_range(index.base, simplify(make.add(steps, axis.extent))))
    return tuple(box)


def possibly_touched(region: tuple[tir.Range, ...], domains: Domains) -> Box:
    """Return a bounding box of the accesses when loops range over `domains` (TVM: `EstimateRegionUpperBound`)."""
    intervals = {variable: from_range(domain.min, domain.extent) for variable, domain in domains.items()}
    return tuple([eval_set(from_range(range_.min, range_.extent), intervals) for range_ in region])


def covers(produced: Box | None, consumed: Box, shape: tuple[tir.PrimExpr, ...], domains: Domains) -> bool:
    """Return whether a box contains the part of another one that lies in a buffer of `shape`.

    `domains` are those of the loops that are fixed.
    """
    if produced is None:
        return False
    for outer, inner, extent in zip(produced, consumed, shape, strict=True):
        if outer.min is None or outer.max is None:
            return False
        if not structural_equal(outer.min, inner.min):
            low = make.const(0, extent.dtype) if inner.min is None else make.maximum(inner.min, 0)
            if not prove(make.less_equal(outer.min, low), domains).is_proven:
                return False
        if not structural_equal(outer.max, inner.max):
            last = make.sub(extent, 1)
            high = last if inner.max is None else make.minimum(inner.max, last)
            if not prove(make.greater_equal(outer.max, high), domains).is_proven:
                return False
    return True


def is_region_covered(
    program: Program, scope: Scope, consumer: tir.Block, is_shared: Callable[[str, str], bool] | None = None
) -> bool:
    """Return whether a block only reads written elements of buffers that preceding blocks write (TVM: `region_cover`).

    This is checked in each common loop of reader and writers: by boxes, and element by element if boxes do not suffice.
    With `is_shared`, of a storage scope and a thread axis, elements that other threads have written count too.
    """
    facts, question = program.facts_of(consumer), (scope.node, consumer, is_shared)
    if question not in facts:
        facts[question] = _is_region_covered(program, scope, consumer, is_shared)
    return facts[question]


def _is_region_covered(
    program: Program, scope: Scope, consumer: tir.Block, is_shared: Callable[[str, str], bool] | None
) -> bool:
    for place, producers in _by_common_place(program, scope, consumer):
        realize = program.realize_of(consumer)
        for read in consumer.reads:
            threads = _sharing(program, consumer, read.buffer, is_shared)
            inner, outer = _loops_below(program, consumer, place, threads)
            writers = [(producer, w) for producer in producers for w in producer.writes if w.buffer is read.buffer]
            if not writers:
                continue
            writers = [one for one in writers if not is_conditional(program, one[0], place, beside=consumer)]
            sure = [(block, write) for block, write in writers if is_surely_written(block, write)]
            consumed = possibly_touched(bound_region(read, bindings_of(realize)), domains_of(inner))
            if any(
                covers(_produced(program, block, write, place, threads), consumed, read.buffer.shape, domains_of(outer))
                for block, write in sure
            ):
                continue
            written = [_touched(program, block, write, place, threads) for block, write in sure]
            for block in {block: None for block, write in writers if (block, write) not in sure}:
                written += _written_under(program, block, read.buffer, place, threads)
            wanted = _touched(program, consumer, read, place, threads)
            if not is_covered(wanted, written, domains_of(outer)).is_proven:
                return False
    return True


def is_surely_written(block: tir.Block, write: tir.BufferRegion) -> bool:
    """Return whether a block writes all of a region that it declares, as far as its statements tell.

    What it writes through a view or the address of the buffer is taken from its declaration, unless that was set by
    annotate_buffer_access, for the block or one inside.
    """
    if any(isinstance(stmt, tir.Block) and EXPLICIT["write"] in stmt.annotations for stmt in walk_statements(block)):
        return False
    store, is_point = block.body, all(is_one(axis.extent) for axis in write.region)
    if isinstance(store, tir.BufferStore) and store.buffer is write.buffer and store.predicate is None and is_point:
        return True
    if why_opaque(block, write.buffer) is not None:
        return not isinstance(store, tir.IfThenElse)
    domains = {axis.var: axis.dom for axis in block.iter_vars if axis.dom is not None}
    return is_covered(RegionSet(write.region), sure_writes(store, write.buffer), domains).is_proven


def sure_writes(
    node: tir.Stmt,
    buffer: tir.Buffer,
    domains: Mapping[tir.Var, tir.Range] = {},
    conditions: tuple[tir.PrimExpr, ...] = (),
    values: Mapping[tir.Var, tir.PrimExpr] = {},
) -> list[RegionSet]:
    """Return the elements of a buffer that `node` is certain to write: regions with their loops and conditions."""
    match node:
        case tir.BufferStore() if node.buffer is buffer and node.predicate is None:
            point = tuple([tir.Range(substitute(index, values), make.const(1, index.dtype)) for index in node.indices])
            return [RegionSet(point, domains, conditions)]
        case tir.For():
            domains = {**domains, node.loop_var: substitute(tir.Range(node.min, node.extent), values)}
        case tir.BlockRealize():
            conditions = (*conditions, substitute(node.predicate, values))
            bound = {axis: substitute(value, values) for axis, value in bindings_of(node).items()}
            if uses_address(node.block, buffer):
                declared = [bound_region(write, bound) for write in node.block.writes if write.buffer is buffer]
                return [RegionSet(members, domains, conditions) for members in declared]
            return sure_writes(node.block.body, buffer, domains, conditions, {**values, **bound})
        case tir.LetStmt():
            values = {**values, node.var: substitute(node.value, values)}
        case tir.IfThenElse() | tir.While():
            return []
        case _:
            pass
    return [
        place
        for statement in statements_in(node)
        for place in sure_writes(statement, buffer, domains, conditions, values)
    ]


def is_conditional(program: Program, block: tir.Block, place: tir.Stmt, beside: tir.Block | None = None) -> bool:
    """Return whether the execution of a block depends on a condition between `place` and the block.

    Conditions that are also around the block `beside` do not count.
    """
    shared = set[tir.Stmt]() if beside is None else set(program.around(beside))
    for stmt in program.around(block):
        if stmt is place:
            break
        if isinstance(stmt, tir.IfThenElse | tir.While) and stmt not in shared:
            return True
    return False


def _sharing(
    program: Program, block: tir.Block, buffer: tir.Buffer, is_shared: Callable[[str, str], bool] | None
) -> tuple[tir.For, ...]:
    """Return the loops around a block over the threads that share the memory of a buffer; none without `is_shared`."""
    bound = [(loop, loop.thread_binding) for loop in program.loops_of(block)] if is_shared else []
    return tuple(
        [
            loop
            for loop, thread in bound
            if thread is not None and is_shared and is_shared(buffer.scope, thread.thread_tag)
        ]
    )


def _touched(
    program: Program, block: tir.Block, region: tir.BufferRegion, place: tir.Stmt, threads: tuple[tir.For, ...] = ()
) -> RegionSet:
    """Return the elements within the bounds of a buffer that a block accesses in one iteration of `place`."""
    realize = program.realize_of(block)
    inside: list[tir.Range] = []
    for axis, extent in zip(bound_region(region, bindings_of(realize)), region.buffer.shape, strict=True):
        low = make.maximum(axis.min, make.const(0, axis.min.dtype))
        high = make.minimum(make.add(axis.min, axis.extent), extent)
        inside.append(tir.Range(low, make.sub(high, low)))
    inner, _ = _loops_below(program, block, place, threads)
    return RegionSet(tuple(inside), domains_of(inner), (realize.predicate,))


def _written_under(
    program: Program, block: tir.Block, buffer: tir.Buffer, place: tir.Stmt, threads: tuple[tir.For, ...]
) -> list[RegionSet]:
    """Return the elements that the statements of a block are certain to write in one iteration of `place`."""
    loops = program.loops_of(block)
    split = loops.index(place) + 1 if isinstance(place, tir.For) else 0
    shared = domains_of(tuple([loop for loop in loops[:split] if loop in threads]))
    return sure_writes(loops[split] if loops[split:] else program.realize_of(block), buffer, shared)


def _produced(
    program: Program, block: tir.Block, write: tir.BufferRegion, place: tir.Stmt, threads: tuple[tir.For, ...] = ()
) -> Box | None:
    realize = program.realize_of(block)
    inner, _ = _loops_below(program, block, place, threads)
    region = bound_region(write, bindings_of(realize))
    used = [axis.min for axis in region]
    if block.init is not None:  # a reduction without iterations writes its initial value
        pairs = zip(block.iter_vars, realize.iter_values, strict=True)
        used += [value for axis, value in pairs if axis.iter_type is tir.IterVarType.COMM_REDUCE]
    if may_be_skipped(used, inner):
        return None
    return surely_touched(region, domains_of(inner), _without_bounds(realize.predicate, region, write.buffer.shape))


def _without_bounds(
    predicate: tir.PrimExpr, region: tuple[tir.Range, ...], shape: tuple[tir.PrimExpr, ...]
) -> tir.PrimExpr:
    """Return a predicate without the conditions that an element of the region lies in the buffer: `covers` asks only for those."""
    if is_one(predicate):
        return predicate
    own = [
        simplify(make.less(axis.min, extent)) for axis, extent in zip(region, shape, strict=True) if is_one(axis.extent)
    ]
    kept = [part for part in conjuncts(predicate) if not any(structural_equal(simplify(part), bound) for bound in own)]
    return reduce(make.logical_and, kept, make.const(True, "bool"))


def _loops_below(
    program: Program, block: tir.Block, place: tir.Stmt, threads: tuple[tir.For, ...] = ()
) -> tuple[tuple[tir.For, ...], tuple[tir.For, ...]]:
    """Return the loops around a block that are inside `place` or in `threads`, and the others."""
    loops = program.loops_of(block)
    split = loops.index(place) + 1 if isinstance(place, tir.For) else 0
    fixed = tuple([loop for loop in loops[:split] if loop not in threads])
    return tuple([loop for loop in loops if loop not in fixed]), fixed


def _by_common_place(program: Program, scope: Scope, consumer: tir.Block) -> Iterator[tuple[tir.Stmt, list[tir.Block]]]:
    """Yield the producers of a block, grouped by the innermost loop or block that contains both, innermost first."""
    around = [stmt for stmt in program.around(consumer) if isinstance(stmt, tir.For | tir.Block)]
    places: dict[tir.Stmt, list[tir.Block]] = {stmt: [] for stmt in around}
    for dependency in scope.before(consumer):
        if dependency.kind is DepKind.RAW:
            common = next(stmt for stmt in program.around(dependency.src) if stmt in places)
            places[common].append(dependency.src)
    yield from ((place, producers) for place, producers in places.items() if producers)


def _why_no_stage_pipeline(program: Program, scope: Scope) -> tuple[str, tuple[tir.Block, ...]] | None:
    """Return why a scope is not a stage pipeline, and the blocks that show it; None if it is one."""
    for dependency in scope.dependencies:
        if dependency.kind is DepKind.WAR:
            return f"{name_of(dependency.dst)} writes what {name_of(dependency.src)} has read", (
                dependency.dst,
                dependency.src,
            )
    for block in scope.blocks:
        outside = next(
            (region for region in (*block.reads, *block.writes) if scope.is_used_outside(region.buffer)), None
        )
        if outside is not None:
            return f"a statement outside of blocks uses '{outside.buffer.name}', as {name_of(block)} does", (block,)
        if not is_region_covered(program, scope, block):
            return f"{name_of(block)} may read elements that no preceding block has written", (block,)
    return None


def _check_one_name(scope: Scope) -> None:
    """Refuse a scope whose blocks access written memory through several buffers: their regions cannot be compared (E0517)."""
    names: dict[tir.Var, tuple[tir.Buffer, tir.Block]] = {}
    for block in scope.blocks:
        for region in (*block.reads, *block.writes):
            buffer = region.buffer
            other, first = names.setdefault(buffer.data, (buffer, block))
            if other is not buffer and scope.writers(buffer):
                reason = f"'{other.name}' of {name_of(first)} and '{buffer.name}' of {name_of(block)} share memory"
                raise STAGE_PIPELINE.refuse(reason, block, first, help="access this memory through one buffer")


def check_stage_pipeline(program: Program, root: tir.Block) -> None:
    """Refuse a scope that is not a stage pipeline (E0517)."""
    check_known_memory(program, root)
    scope = Scope(root)
    _check_one_name(scope)
    found = _why_no_stage_pipeline(program, scope)
    if found is not None:
        raise STAGE_PIPELINE.refuse(found[0], *found[1])
