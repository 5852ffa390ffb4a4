"""Dependences: pairs of accesses to the same memory, at least one of them a store, and the iterations they occur in.

A block counts by its declared regions, a load or store outside of blocks by its indices. Two accesses conflict if their
regions may intersect; `prove` decides that, exactly if indices and conditions are quasi-affine.
"""

from __future__ import annotations

from collections.abc import Container, Iterable, Iterator, Mapping, Sequence
from enum import Enum
from functools import reduce
from itertools import islice

from msgspec import Struct

from .. import tir
from ..base import Node
from ..buffers import may_overlap
from ..deep import deep
from ..visit import children, substitute, walk
from .proof import Verdict, prove
from .regions import all_of, meeting, span_of

_LONGEST_VALUE = 64
"""The maximum number of nodes in the value of a `let` that is inserted where it is used: each use copies it."""


class DependenceKind(Enum):
    """The kinds of the earlier and of the later access."""

    RAW = "read after write"
    WAR = "write after read"
    WAW = "write after write"


class Access(Struct, frozen=True, eq=False):
    """A region that a block, load or store accesses if `conditions` hold, in terms of the surrounding loops."""

    statement: tir.Block | tir.BufferStore | tir.BufferLoad
    buffer: tir.Buffer
    region: tuple[tir.Range, ...]
    is_write: bool
    loops: tuple[tir.For, ...]
    conditions: tuple[tir.PrimExpr, ...]

    @property
    def is_reduction(self) -> bool:
        """Whether the access belongs to the update of a reduction block, whose iterations commute."""
        return isinstance(self.statement, tir.Block) and self.statement.init is not None

    def depends_on(self, variables: Container[tir.Var]) -> bool:
        """Return whether its region or conditions use some variables, or what is stored in memory that these point to."""
        parts = (*[part for axis in self.region for part in (axis.min, axis.extent)], *self.conditions)
        nodes = [node for part in parts for node in walk(part)]
        return any(
            node.buffer.data in variables if isinstance(node, tir.BufferLoad) else node in variables
            for node in nodes
            if isinstance(node, tir.BufferLoad | tir.Var)
        )


class Dependence(Struct, frozen=True, eq=False):
    """`sink` must run after `source`; certain if there are values of the loop variables for which they conflict."""

    source: Access
    sink: Access
    kind: DependenceKind
    values: Mapping[tir.Var, int] | None = None
    """An iteration of `source` that conflicts with one of `sink`, if the dependence is certain."""

    @property
    def is_certain(self) -> bool:
        return self.values is not None


# --- Accesses ---------------------------------------------------------------------------------------------------


@deep
def accesses(statement: tir.Stmt) -> list[Access]:
    """Return the accesses of `statement` in textual order; for blocks, the declared ones."""
    return list(_accesses(statement, (), ()))


def _accesses(node: Node, loops: tuple[tir.For, ...], conditions: tuple[tir.PrimExpr, ...]) -> Iterator[Access]:
    match node:
        case tir.For():
            yield from _accesses(node.body, (*loops, node), conditions)
        case tir.BlockRealize() if node.iter_values or node.block.reads or node.block.writes:
            yield from _of_block(node, loops, conditions)
        case tir.BlockRealize():
            yield from _accesses(node.block.body, loops, conditions)
        case tir.IfThenElse():
            yield from _accesses(node.condition, loops, conditions)
            yield from _accesses(node.then_case, loops, (*conditions, node.condition))
            if node.else_case is not None:
                yield from _accesses(node.else_case, loops, (*conditions, tir.Not("bool", node.condition)))
        case tir.LetStmt():
            yield from _accesses(node.value, loops, conditions)
            is_short = sum(1 for _ in islice(walk(node.value), _LONGEST_VALUE + 1)) <= _LONGEST_VALUE
            body = substitute(node.body, {node.var: node.value}) if is_short else node.body
            yield from _accesses(body, loops, conditions)
        case tir.BufferStore() | tir.BufferLoad():
            for child in children(node):
                if isinstance(child, tir.PrimExpr):
                    yield from _accesses(child, loops, conditions)
            region = tuple([span_of(index) for index in node.indices])
            yield Access(node, node.buffer, region, isinstance(node, tir.BufferStore), loops, conditions)
        case _:
            for child in children(node):
                if isinstance(child, tir.Stmt | tir.PrimExpr):
                    yield from _accesses(child, loops, conditions)


def _of_block(
    realize: tir.BlockRealize, loops: tuple[tir.For, ...], conditions: tuple[tir.PrimExpr, ...]
) -> Iterator[Access]:
    block = realize.block
    values = dict(zip([axis.var for axis in block.iter_vars], realize.iter_values, strict=True))
    where = (*conditions, realize.predicate)
    for regions, is_write in ((block.reads, False), (block.writes, True)):
        for access in regions:
            region: tuple[tir.Range, ...] = tuple([substitute(axis, values) for axis in access.region])
            yield Access(block, access.buffer, region, is_write, loops, where)


# --- Dependences ------------------------------------------------------------------------------------------------


@deep
def dependences(statement: tir.Stmt) -> list[Dependence]:
    """Return the dependences among the accesses of `statement`: one for each pair of accesses and kind.

    Iterations of common loops are distinguished: an access depends on those before it in the same iteration, and on all in
    earlier iterations.
    """
    found = accesses(statement)
    order = {id(access): index for index, access in enumerate(found)}
    pairs = [(a, b) for a in found for b in found if a.buffer.data is b.buffer.data and (a.is_write or b.is_write)]
    result = [_dependence(a, b, order[id(a)] < order[id(b)]) for a, b in pairs]
    return [dependence for dependence in result if dependence is not None]


def carried(loop: tir.For, ignore_reductions: bool = False) -> list[Dependence]:
    """Return the dependences that prevent reordering or parallelizing the iterations of `loop`.

    Memory that each iteration allocates does not count; two views of other memory, buffers whose elements overlap, and regions that
    depend on what the loop stores or on a long value of a `let`. With `ignore_reductions`, the updates of one reduction block do not
    count either: they may be reordered, but not run in parallel.
    """
    found = accesses(loop)
    private = _allocated_inside(loop.body)
    unknown = {access.buffer.data for access in found if access.is_write}
    unknown |= {node.var for node in walk(loop.body) if isinstance(node, tir.LetStmt)}
    moving = {access for access in found if access.depends_on(unknown)}
    result: list[Dependence] = []
    for index, a in enumerate(found):
        for b in found[index:]:
            if a.buffer.data is not b.buffer.data or not (a.is_write or b.is_write) or a.buffer in private:
                continue
            if ignore_reductions and a.is_reduction and a.statement is b.statement:
                continue
            is_told = a.buffer is b.buffer and not may_overlap(a.buffer) and moving.isdisjoint((a, b))
            dependence = _across(loop, a, b) if is_told else Dependence(a, b, _kind(a, b))
            if dependence is not None:
                result.append(dependence)
    return result


def is_order_free(loop: tir.For) -> bool:
    """Whether the iterations of `loop` may be reordered."""
    return not carried(loop, ignore_reductions=True)


def is_parallel(loop: tir.For) -> bool:
    """Whether the iterations of `loop` may run in parallel."""
    return not carried(loop)


def insertion_points(sequence: Sequence[tir.Stmt], statement: tir.Stmt) -> range:
    """Return the indices in `sequence` before which the new `statement` may be inserted; len(sequence) means at the end.

    It must follow the statements that write what it reads, and precede those that read or write what it writes. The test
    compares buffers, not their regions.
    """
    own = accesses(statement)
    reads = {access.buffer.data for access in own if not access.is_write}
    writes = {access.buffer.data for access in own if access.is_write}
    first, last = 0, len(sequence)
    for index, stmt in enumerate(sequence):
        for access in accesses(stmt):
            if access.is_write and access.buffer.data in reads:
                first = max(first, index + 1)
            elif access.buffer.data in writes:
                last = min(last, index)
    return range(first, last + 1)


def _allocated_inside(body: tir.Stmt) -> set[tir.Buffer]:
    found: set[tir.Buffer] = set()
    waiting: list[Node] = [body]
    while waiting:
        node = waiting.pop()
        if isinstance(node, tir.Block):
            found.update(node.alloc_buffers)
        waiting.extend(child for child in children(node) if isinstance(child, tir.Stmt))
    return found


def _kind(source: Access, sink: Access) -> DependenceKind:
    if not sink.is_write:
        return DependenceKind.RAW
    return DependenceKind.WAW if source.is_write else DependenceKind.WAR


def _dependence(a: Access, b: Access, is_before: bool) -> Dependence | None:
    """Return the dependence of `b` on `a` in a later iteration or, if `is_before`, also in the same one."""
    shared = _common(a.loops, b.loops)
    if not shared and not is_before:
        return None
    renamed = _Renamed(b, b.loops)
    if a.buffer is not b.buffer or may_overlap(a.buffer):
        return Dependence(a, b, _kind(a, b))
    earlier: list[tir.PrimExpr] = []
    same: list[tir.PrimExpr] = []
    for loop in shared:
        mine, other = loop.loop_var, renamed.names[loop.loop_var]
        earlier.append(all_of([*same, tir.LT("bool", mine, other)]))
        same.append(tir.EQ("bool", mine, other))
    if is_before:
        earlier.append(all_of(same))
    order = reduce(lambda x, y: tir.Or("bool", x, y), earlier)
    return _meets(a, b, renamed, order)


def _across(loop: tir.For, a: Access, b: Access) -> Dependence | None:
    """Return the dependence between different iterations of `loop` within one iteration of the loops around it."""
    inner = [a.loops[a.loops.index(loop) :], b.loops[b.loops.index(loop) :]]
    renamed = _Renamed(b, inner[1])
    return _meets(a, b, renamed, tir.NE("bool", loop.loop_var, renamed.names[loop.loop_var]))


def _common(a: Sequence[tir.For], b: Sequence[tir.For]) -> list[tir.For]:
    return [x for x, y in zip(a, b, strict=False) if x is y]


class _Renamed:
    """The region and conditions of an access in another iteration of `loops`."""

    def __init__(self, access: Access, loops: Iterable[tir.For]) -> None:
        self.names: dict[tir.Var, tir.Var] = {
            loop.loop_var: tir.Var(loop.loop_var.dtype, f"{loop.loop_var.name}'") for loop in loops
        }
        self.region: list[tir.Range] = [substitute(axis, self.names) for axis in access.region]
        self.conditions: list[tir.PrimExpr] = [substitute(condition, self.names) for condition in access.conditions]
        self.domains = {self.names.get(loop.loop_var, loop.loop_var): self._domain(loop) for loop in access.loops}

    def _domain(self, loop: tir.For) -> tir.Range:
        return substitute(tir.Range(loop.min, loop.extent), self.names)


def _meets(a: Access, b: Access, renamed: _Renamed, order: tir.PrimExpr) -> Dependence | None:
    if len(a.region) != len(renamed.region):
        return Dependence(a, b, _kind(a, b))
    domains = {loop.loop_var: tir.Range(loop.min, loop.extent) for loop in a.loops} | renamed.domains
    given = [*a.conditions, *renamed.conditions, order, *meeting(a.region, renamed.region)]
    proof = prove(tir.IntImm("bool", 0), domains, given)
    if proof.verdict is Verdict.PROVEN:
        return None
    return Dependence(a, b, _kind(a, b), proof.counterexample)
