"""Order of iterations: dependent ones must keep their order. Accesses that are not proven disjoint are dependent."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import reduce

from msgspec import Struct

from ... import make, tir
from ...access import full_region
from ...analysis.iter_map import IterMapLevel, detect_iter_map
from ...analysis.proof import prove
from ...buffers import may_overlap
from ...equal import structural_equal
from ...idioms import is_one, uses
from ...verify.axis_kinds import check_axis_kinds
from ...verify.subject import Subject
from ...visit import children, substitute, walk
from ..conditions import IN_ORDER, INDEPENDENT_ITERATIONS, name_of
from ..program import Program
from ..tree import statements_in, walk_statements
from .bindings import Domains, domains_of, fixed_domains
from .blocks import COMM_REDUCE, why_not_complete
from .pipeline import bindings_of, bound_region, is_region_covered
from .scope import Scope, check_known_memory

_FALSE, _TRUE = tir.IntImm("bool", 0), tir.IntImm("bool", 1)
_PRIVATE: dict[str, bool] = dict.fromkeys(("local", "warp", "wmma", "m16n8k8", "metal"), False)
_SHARED = {"block": {"shared": False, **_PRIVATE}, "thread": _PRIVATE}
"""Storage scopes that are private to each iteration of a loop, by the kind of its thread axis: False."""


class Access(Struct, frozen=True):
    """Region that a block accesses, in terms of the variables of the loops around it."""

    block: tir.Block
    buffer: tir.Buffer
    region: tuple[tir.Range, ...]
    is_write: bool
    domains: Domains
    """Loops between the analysed statement and the block."""
    outside: tir.Stmt | None = None
    """The accessing statement if it is not a block; `block` then has no iterators."""
    condition: tir.PrimExpr = _TRUE
    """The predicate of the block, in terms of the loops around it."""

    @property
    def place(self) -> tir.Stmt:
        """The statement or block that accesses the region."""
        return self.outside or self.block

    def touches(self, other: Access) -> bool:
        """Return whether the accesses may depend on each other: same memory, and at least one writes."""
        return self.buffer.data is other.buffer.data and (self.is_write or other.is_write)


def accesses(
    node: tir.Stmt,
    domains: Domains | None = None,
    opens_frames: bool = False,
    known: Mapping[tir.Var, tir.PrimExpr] = {},
) -> Iterator[Access]:
    """Yield the accesses of the outermost blocks in `node`, and of the statements outside of blocks.

    With `opens_frames`, frames are replaced by the blocks in them. `known` are the values of variables around `node`.
    """
    inside: Domains = {} if domains is None else domains
    yield from _outside_of_blocks(node, inside, known)
    if isinstance(node, tir.BlockRealize):
        bound = {axis: substitute(value, known) for axis, value in bindings_of(node).items()}
        values, block = {**known, **bound}, node.block
        if opens_frames and is_frame(block):
            own = set(block.alloc_buffers)
            yield from (access for access in accesses(block.body, inside, True, known) if access.buffer not in own)
            return
        for regions, is_write in ((block.reads, False), (block.writes, True)):
            for region in regions:
                condition = substitute(node.predicate, known)
                yield Access(block, region.buffer, bound_region(region, values), is_write, inside, condition=condition)
        return
    if isinstance(node, tir.For):
        inside = {**inside, node.loop_var: substitute(tir.Range(node.min, node.extent), known)}
    if isinstance(node, tir.LetStmt):
        known = {**known, node.var: substitute(node.value, known)}
    for child in statements_in(node):
        yield from accesses(child, inside, opens_frames, known)


def _outside_of_blocks(node: tir.Stmt, domains: Domains, known: Mapping[tir.Var, tir.PrimExpr]) -> Iterator[Access]:
    """Yield the accesses of a statement itself, without its child statements: loads in its operands, and its store."""
    skipped = {
        id(value) for value in (*statements_in(node), *([node.block] if isinstance(node, tir.BlockRealize) else []))
    }
    touched = [] if not isinstance(node, tir.BufferStore) else [(node, True)]
    parts = [child for child in children(node) if id(child) not in skipped]
    touched += [(inner, False) for part in parts for inner in walk(part) if isinstance(inner, tir.BufferLoad)]
    for access, is_write in touched:
        one = make.const(1)
        region = tuple([tir.Range(substitute(index, known), make.cast(one, index.dtype)) for index in access.indices])
        if any(isinstance(index, tir.Ramp) for index in access.indices):
            region = full_region(access.buffer).region
        yield Access(tir.Block((), (), (), "", node), access.buffer, region, is_write, domains, node)


def is_frame(block: tir.Block) -> bool:
    """Return whether a block has no iterators and contains only blocks."""
    return not (block.iter_vars or block.match_buffers) and _holds_blocks_alone(block.body)


def _holds_blocks_alone(stmt: tir.Stmt) -> bool:
    parts = statements_in(stmt)
    return isinstance(stmt, tir.BlockRealize) or (bool(parts) and all(map(_holds_blocks_alone, parts)))


def conflicts(first: tir.Stmt, second: tir.Stmt) -> tir.Buffer | None:
    """Return a buffer that both statements access and at least one writes, or None."""
    others = list(accesses(second))
    return next((mine.buffer for mine in accesses(first) for other in others if mine.touches(other)), None)


class Pair:
    """Two iterations: one of the loops around an access, and one of the loops around another access.

    `around` are the domains of the variables that both share.
    """

    def __init__(
        self,
        mine: Access,
        loops: Sequence[tir.For],
        other: Access,
        others: Sequence[tir.For],
        around: Domains | None = None,
    ) -> None:
        variables = [*[loop.loop_var for loop in others], *other.domains]
        fresh = {variable: tir.Var(variable.dtype, f"{variable.name}_") for variable in variables}
        self.mine = [loop.loop_var for loop in loops]
        self.other = [fresh[loop.loop_var] for loop in others]
        renamed = {fresh[variable]: substitute(domain, fresh) for variable, domain in other.domains.items()}
        domains: dict[tir.Var, tir.Range] = {**(around or {}), **domains_of(tuple(loops)), **mine.domains, **renamed}
        domains.update({fresh[loop.loop_var]: tir.Range(loop.min, loop.extent) for loop in others})
        self.domains = domains
        theirs = tuple([substitute(range_, fresh) for range_ in other.region])
        are_told = mine.buffer is other.buffer and not may_overlap(mine.buffer)
        self.apart = _apart(mine.region, theirs) if are_told else _FALSE
        self.given = [expr for expr in (mine.condition, substitute(other.condition, fresh)) if not is_one(expr)]

    def is_apart(self, given: Sequence[tir.PrimExpr]) -> bool:
        """Return whether the accesses are proven to be disjoint if both execute and all of `given` hold."""
        return prove(self.apart, self.domains, (*self.given, *given)).is_proven

    def before(self, first: Sequence[tir.Var], second: Sequence[tir.Var]) -> Iterator[list[tir.PrimExpr]]:
        """Yield the cases in which iteration `first` precedes `second`, each as conditions that hold together."""
        for depth in range(len(first)):
            same = [make.equal(x, y) for x, y in zip(first[:depth], second[:depth], strict=True)]
            yield [*same, make.less(first[depth], second[depth])]


def conflict_of_later(
    first: tir.Stmt, second: tir.Stmt, loops: Sequence[tir.For], others: Sequence[tir.For]
) -> tir.Buffer | None:
    """Return a buffer on which an iteration of `loops` around `first` may depend on an earlier one of `others`.

    `others` are the loops around `second`. Returns None if it is proven that there is no such buffer.
    """
    for mine in accesses(first):
        for other in accesses(second):
            if mine.touches(other):
                pair = Pair(mine, loops, other, others)
                if not all(pair.is_apart(case) for case in pair.before(pair.other, pair.mine)):
                    return mine.buffer
    return None


def check_reorderable(body: tir.Stmt, old: Sequence[tir.For], new: Sequence[tir.For]) -> None:
    """Refuse an order of loops that swaps dependent iterations of `body` (E0534).

    Iterations of the same block with iterators may be swapped, as their kinds permit it.
    """
    found = list(accesses(body, opens_frames=True))
    places = [old.index(loop) for loop in new]
    for mine in found:
        for other in found:
            is_free = mine.block is other.block and mine.block.iter_vars
            if is_free or not mine.touches(other):
                continue
            pair = Pair(mine, old, other, old)
            mine_new, other_new = [pair.mine[i] for i in places], [pair.other[i] for i in places]
            for was in pair.before(pair.mine, pair.other):
                for now in pair.before(other_new, mine_new):
                    if not pair.is_apart([*was, *now]):
                        blocks = tuple(dict.fromkeys((mine.place, other.place)))
                        who = (
                            " and ".join(map(name_of, blocks))
                            if len(blocks) > 1
                            else f"iterations of {name_of(mine.place)}"
                        )
                        raise IN_ORDER.refuse(f"{who} depend on their order through '{mine.buffer.name}'", *blocks)


def check_kinds_hold(program: Program, block: tir.Block) -> None:
    """Refuse a block whose instances depend on each other along axes declared as spatial or reduction (E0534).

    If no dependence can be shown, the declaration is trusted; for instance, indices may be read from memory.
    """
    check_known_memory(program, block)
    facts, question = program.facts_of(block), (check_kinds_hold, block)
    known = facts.get(question)
    if known is None:
        facts[question] = known = _updates_alone(block)
    if known:
        return
    subject = Subject(program.prim_func_of(block))
    is_whole = check_axis_kinds(subject, block)
    for diagnostic in subject.report.found:
        raise IN_ORDER.refuse(diagnostic.message, block, help=diagnostic.help)
    if not is_whole:
        raise IN_ORDER.refuse(f"{name_of(block)} has too many accesses to compare its instances", block)
    facts[question] = True


def _updates_alone(block: tir.Block) -> bool:
    """Return whether each instance obviously stores its own elements, which no other instance reads."""
    nodes = list(walk(block))
    if any(isinstance(node, tir.MatchBufferRegion) for node in nodes):
        return False
    stores = [node for node in nodes if isinstance(node, tir.BufferStore)]
    if any(may_overlap(store.buffer) for store in stores):
        return False
    memory = {store.buffer.data: store for store in stores}
    spatial = {axis.var for axis in block.iter_vars if axis.iter_type is not COMM_REDUCE}
    axes = {axis.var for axis in block.iter_vars}
    for node in walk(block.body):
        if isinstance(node, tir.BufferLoad | tir.BufferStore) and node.buffer.data in memory:
            first = memory[node.buffer.data]
            if not structural_equal(node.indices, first.indices) or node.buffer is not first.buffer:
                return False
    return all(
        spatial <= set(store.indices) and not any(node in axes - spatial for i in store.indices for node in walk(i))
        for store in stores
    )


def is_shared(storage_scope: str, thread: str | None) -> bool:
    """Return whether the iterations of a loop on a `thread` axis share the memory of a storage scope."""
    scopes = _SHARED.get("" if thread is None else thread.split("Idx")[0].split(".")[0], {})
    return scopes.get(storage_scope.split(".")[0], True)


def check_independent(program: Program, loop: tir.For, thread: str | None) -> None:
    """Refuse a loop with two iterations that access the same element, at least one of them writing it (E0534).

    On a `thread` axis, some storage scopes are private to an iteration. A complete block may compute an element in
    several iterations, as the value is the same; its readers must then find it written in their own iteration. On
    threadIdx, iterations of a reduction over the loop combine their partial results.
    """
    check_known_memory(program, loop)
    reduces = is_across_threads(thread)
    found = [access for access in accesses(loop.body) if is_shared(access.buffer.scope, thread)]
    scope, around = Scope(loop), fixed_domains(program, loop)
    for index, mine in enumerate(found):
        for other in found[index:]:
            combines = reduces and mine.outside is None and is_reduced_over(program, mine.block, loop)
            if not mine.touches(other) or _may_meet(program, scope, mine, other, combines):
                continue
            is_same = mine.block is other.block and mine.outside is None
            if is_same and _has_own_elements(program, mine.block, loop):
                continue
            pair = Pair(mine, (loop,), other, (loop,), around)
            orders = [(pair.mine, pair.other), (pair.other, pair.mine)]
            if not all(pair.is_apart(case) for first, second in orders for case in pair.before(first, second)):
                where = name_of(mine.place) + ("" if mine.place is other.place else f" and {name_of(other.place)}")
                reason = (
                    f"iterations of {name_of(loop)} may access the same element of '{mine.buffer.name}', in {where}"
                )
                raise IN_ORDER.refuse(reason, loop, *dict.fromkeys((mine.place, other.place)))


def is_across_threads(thread: str | None) -> bool:
    """Return whether the threads of an axis combine their partial results of a reduction."""
    return thread is not None and thread.startswith("threadIdx")


def is_reduced_over(program: Program, block: tir.Block, loop: tir.For) -> bool:
    """Return whether a reduction iterator of `block` is bound to `loop`."""
    values = program.realize_of(block).iter_values
    return any(
        axis.iter_type is COMM_REDUCE and uses(value, [loop])
        for axis, value in zip(block.iter_vars, values, strict=True)
    )


def check_not_combined(realize: tir.BlockRealize, loops: Sequence[tir.For]) -> None:
    """Refuse a block with blocks or views in it whose reduction is over `loops`, which are bound to threadIdx (E0524)."""
    block = realize.block
    if not block.match_buffers and not any(isinstance(stmt, tir.Block) for stmt in walk_statements(block.body)):
        return
    for axis, value in zip(block.iter_vars, realize.iter_values, strict=True):
        for loop in loops if axis.iter_type is COMM_REDUCE else ():
            if uses(value, [loop]):
                reason = f"threads of {name_of(loop)} would share the reduction '{axis.var.name}' of {name_of(block)}, "
                raise INDEPENDENT_ITERATIONS.refuse(reason + "which contains blocks or views", loop)


def threads_around(program: Program, node: tir.Stmt) -> tuple[tir.For, ...]:
    """Return the loops around `node`, in its scope, that are bound to threadIdx."""
    bound = [(loop, loop.thread_binding) for loop in program.loops_of(node)]
    return tuple([loop for loop, thread in bound if thread is not None and is_across_threads(thread.thread_tag)])


def check_concurrent_loops(program: Program, block: tir.Block) -> None:
    """Refuse a block whose concurrent loops have dependent iterations (E0534)."""
    for loop in program.loops_of(block):
        if loop.kind not in (tir.ForKind.SERIAL, tir.ForKind.UNROLLED):
            check_independent(program, loop, None if loop.thread_binding is None else loop.thread_binding.thread_tag)


def check_private_copy(program: Program, copying: tir.Block) -> None:
    """Refuse threads that share a copy of a buffer of which each has its own (E0534)."""
    source, target = copying.reads[0].buffer, copying.writes[0].buffer
    for loop in program.loops_of(copying):
        tag = None if loop.thread_binding is None else loop.thread_binding.thread_tag
        if tag is not None and is_shared(target.scope, tag) and not is_shared(source.scope, tag):
            reason = f"each thread of {name_of(loop)} has its own '{source.name}', but all would share '{target.name}'"
            raise IN_ORDER.refuse(
                reason, copying, loop, help="copy it to a scope that each thread has, such as 'local'"
            )


def _may_meet(program: Program, scope: Scope, mine: Access, other: Access, reduces: bool) -> bool:
    """Return whether two iterations may access the same element."""
    if not (mine.block.iter_vars and other.block.iter_vars):
        return False  # the result may depend on the loop variable itself
    if mine.block is other.block:
        combines = reduces or why_not_complete(mine.block, scope) is None
        return combines and tells_iterators(mine.block)
    writer, reader = (mine, other) if mine.is_write else (other, mine)
    if reader.is_write or why_not_complete(writer.block, scope) is not None:
        return False
    return scope.blocks.index(writer.block) < scope.blocks.index(reader.block) and is_region_covered(
        program, scope, reader.block
    )


def tells_iterators(block: tir.Block) -> bool:
    """Return whether a written element determines all iterators except reductions, so that one instance writes it."""
    fresh = {axis.var: tir.Var(axis.var.dtype, f"{axis.var.name}_") for axis in block.iter_vars}
    domains = {axis.var: axis.dom for axis in block.iter_vars if axis.dom is not None}
    both = {**domains, **{fresh[variable]: domain for variable, domain in domains.items()}}
    for write in block.writes:
        if may_overlap(write.buffer):
            return False
        apart = _apart(write.region, tuple([substitute(range_, fresh) for range_ in write.region]))
        for axis in block.iter_vars:
            is_index = any(range_.min is axis.var for range_ in write.region)
            differs = make.not_equal(axis.var, fresh[axis.var])
            if axis.iter_type is not COMM_REDUCE and not is_index and not prove(apart, both, (differs,)).is_proven:
                return False
    return True


def _has_own_elements(program: Program, block: tir.Block, loop: tir.For) -> bool:
    """Return whether each iteration of `loop` writes its own elements, by a quick test without a proof.

    The bindings must be bijective, and the iterators that depend on the loop must be indices of every written region.
    """
    realize = program.realize_of(block)
    domains = domains_of(program.loops_of(block))
    if not detect_iter_map(realize.iter_values, domains, realize.predicate, IterMapLevel.BIJECTIVE).is_detected:
        return False
    of_loop = [
        axis.var for axis, value in zip(block.iter_vars, realize.iter_values, strict=True) if uses(value, [loop])
    ]
    return all(
        not may_overlap(write.buffer) and all(any(axis.min is var for axis in write.region) for var in of_loop)
        for write in block.writes
    )


def _apart(a: tuple[tir.Range, ...], b: tuple[tir.Range, ...]) -> tir.PrimExpr:
    """Return the condition that two regions are disjoint."""
    parts: list[tir.PrimExpr] = []
    for x, y in zip(a, b, strict=True):
        parts.append(make.less_equal(make.add(x.min, x.extent), y.min))
        parts.append(make.less_equal(make.add(y.min, y.extent), x.min))
    return reduce(make.logical_or, parts, _FALSE)
