"""Nests: a block with its own loops, as in unscheduled functions, in the form that rules inspect.

for i, k in T.grid(64, 128):              axes    i: 64, k: 128 (reduced)
    with T.block("sum"):                  store   B[i] = B[i] + A[i, k]
        …                                 init    0.0
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import reduce

from msgspec import Struct
from msgspec.structs import replace

from ...ir import make, tir
from ...ir.access import with_regions
from ...ir.analysis.proof import prove
from ...ir.base import Node, Trivia
from ...ir.equal import structural_equal
from ...ir.simplify import simplify
from ...ir.visit import rewrite, substitute, walk
from ..lower.rewriter import copy_of

SAYS_NOTHING = {"axis", "schedule_rule"}
"""Annotations of blocks without effect here: the axis of a softmax, and the rule of a tuner."""


class Declined(Exception):
    """A rule does not apply, for the reason given."""


class Axis(Struct, frozen=True, eq=False):
    """An iterator of a block that starts at 0 and is bound to a loop of its own."""

    var: tir.Var
    extent: tir.PrimExpr
    is_reduced: bool

    @property
    def size(self) -> int | None:
        """Return the number of iterations, None if it is symbolic."""
        return self.extent.value if isinstance(self.extent, tir.IntImm) else None


class Nest(Struct, frozen=True, eq=False):
    """A block that stores one element for every value of its axes, which are in the order of their loops."""

    name: str
    axes: tuple[Axis, ...]
    store: tir.BufferStore
    init: tir.PrimExpr | None
    trivia: Trivia | None = None
    after: tuple[tir.BufferStore, ...] = ()
    """The epilogue of each complete element: the last store replaces that of the result, each of the others is
    only read by the next one. Only rules with epilogue support use it.
    """

    @property
    def spatial(self) -> tuple[Axis, ...]:
        """Return the axes that are not reduced."""
        return tuple(axis for axis in self.axes if not axis.is_reduced)

    @property
    def reduced(self) -> tuple[Axis, ...]:
        """Return the reduced axes."""
        return tuple(axis for axis in self.axes if axis.is_reduced)

    def loads(self) -> Iterator[tir.BufferLoad]:
        """Yield the loads of the block, including that of the old result in a reduction."""
        return (node for node in walk(self.store.value) if isinstance(node, tir.BufferLoad))


def read_nest(stmt: tir.Stmt) -> Nest:
    """Return `stmt` as a nest; Declined if it is not one, or its loops are scheduled already."""
    loops, inner = plain_loops(stmt)
    if not isinstance(inner, tir.BlockRealize):
        raise Declined("the loops contain more than one block")
    block = inner.block
    check_plain(inner)
    store, init = _only_store(block.body, block), None
    if block.init is not None:
        start = _only_store(block.init, block)
        if not structural_equal(replace(start, value=store.value), store, map_free_vars=False):
            raise Declined(f"block '{block.name_hint}' initializes another element than it updates")
        init = start.value
    axes, units = axes_of(inner, loops)
    store = substitute(store, units)
    if store.predicate is not None or any(isinstance(node, tir.Let) for node in walk(store)):
        raise Declined(f"block '{block.name_hint}' has masks or bindings")
    init = None if init is None else substitute(init, units)
    nest = with_plain_indices(Nest(block.name_hint, axes, store, init, inner.trivia))
    check_order(nest)
    return nest


def plain_loops(stmt: tir.Stmt) -> tuple[list[tir.For], tir.Stmt]:
    """Return the loops around a statement, the outermost first, and the statement; Declined if one is scheduled already."""
    loops: list[tir.For] = []
    while isinstance(stmt, tir.For):
        check_loop(stmt)
        loops.append(stmt)
        stmt = stmt.body
    return loops, stmt


def separated(stmt: tir.Stmt) -> tuple[tir.Stmt, ...]:
    """Return a block that reduces to several buffers as one for each of them, if no value depends on another buffer's; other
    statements as they are.

    The sums of elements and of their squares become two sums.
    """
    loops: list[tir.For] = []
    inner = stmt
    while isinstance(inner, tir.For):
        loops.append(inner)
        inner = inner.body
    block = inner.block if isinstance(inner, tir.BlockRealize) else None
    if block is None or not isinstance(block.init, tir.SeqStmt):
        return (stmt,)
    bound, body = dict[tir.Var, tir.PrimExpr](), block.body
    while isinstance(body, tir.LetStmt):
        bound[body.var] = substitute(body.value, bound)
        body = body.body
    updates = [part for part in _parts(body) if isinstance(part, tir.BufferStore)]
    starts = {part.buffer: part for part in block.init.seq if isinstance(part, tir.BufferStore)}
    stored = [update.buffer for update in updates]
    if len(updates) != len(_parts(body)) or len(set(stored)) != len(stored) or starts.keys() != set(stored):
        return (stmt,)
    updates = [substitute(update, bound) for update in updates]
    values = [*((update, update) for update in updates), *((update, starts[update.buffer]) for update in updates)]
    for update, value in values:
        others = {buffer.data for buffer in stored if buffer is not update.buffer}
        if any(isinstance(node, tir.BufferLoad) and node.buffer.data in others for node in walk(value)):
            return (stmt,)
    result: list[tir.Stmt] = []
    for update in updates:
        regions = tuple(region for region in block.writes if region.buffer is update.buffer)
        own = replace(block, body=update, init=starts[update.buffer], writes=regions)
        statement: tir.Stmt = replace(inner, block=own)
        for loop in reversed(loops):
            statement = replace(loop, body=statement)
        result.append(copy_of(statement, {}))
    return tuple(result)


def _parts(body: tir.Stmt) -> tuple[tir.Stmt, ...]:
    return body.seq if isinstance(body, tir.SeqStmt) else (body,)


def check_plain(realize: tir.BlockRealize) -> None:
    """Raise Declined if a block has more than iterators and a body."""
    block = realize.block
    if not (isinstance(realize.predicate, tir.IntImm) and realize.predicate.value == 1):
        raise Declined(f"block '{block.name_hint}' has a predicate")
    if block.alloc_buffers or block.match_buffers or block.annotations.keys() - SAYS_NOTHING:
        raise Declined(f"block '{block.name_hint}' has buffers or annotations")


def check_order(nest: Nest) -> None:
    """Raise Declined unless iterations that differ in a spatial axis are proven to be independent.

    Each must store an element of its own, which no other one reads; a reduction initializes and updates that
    element.
    """
    memory = nest.store.buffer.data
    reduced = {axis.var for axis in nest.reduced}
    if nest.init is not None:
        for node in walk(nest.init):
            if node in reduced or (isinstance(node, tir.BufferLoad) and node.buffer.data is memory):
                raise Declined(f"block '{nest.name}' has a T.init that depends on its result or a reduced axis")
        if any(node in reduced for index in nest.store.indices for node in walk(index)):
            raise Declined(f"the stored element of block '{nest.name}' depends on a reduced axis")
    check_own_elements(nest.spatial, nest.store)
    for load in nest.loads():
        is_other = load.buffer.data is memory and not structural_equal(load.indices, nest.store.indices)
        if is_other and not _are_apart(nest.axes, nest.store.indices, load.indices):
            raise Declined(f"iterations of block '{nest.name}' read elements that other iterations store")


def check_own_elements(spatial: Sequence[Axis], store: tir.BufferStore) -> None:
    """Raise Declined if iterations that differ in `spatial` axes may store the same element."""
    axes = [axis for axis in spatial if axis.size != 1]
    if {axis.var for axis in axes} <= {index for index in store.indices if isinstance(index, tir.Var)}:
        return
    if not _are_apart(axes, store.indices, store.indices, is_same_known=True):
        raise Declined(f"iterations may store the same element of '{store.buffer.name}'")


def _are_apart(
    axes: Sequence[Axis], a: Sequence[tir.PrimExpr], b: Sequence[tir.PrimExpr], is_same_known: bool = False
) -> bool:
    """Return whether indices `a` of an iteration are proven to differ from `b` of any iteration, or of any other
    one.
    """
    fresh = {axis.var: tir.Var(axis.var.dtype, axis.var.name) for axis in axes}
    both = [(axis.var, axis.extent) for axis in axes] + [(fresh[axis.var], axis.extent) for axis in axes]
    domains = {var: tir.Range(tir.IntImm(var.dtype, 0), extent) for var, extent in both}
    no: tir.PrimExpr = tir.IntImm("bool", 0)
    differ = reduce(make.logical_or, [make.not_equal(x, substitute(y, fresh)) for x, y in zip(a, b, strict=True)], no)
    others = reduce(make.logical_or, [make.not_equal(var, fresh[var]) for var in fresh], no)
    return prove(differ, domains, [others] if is_same_known else []).is_proven


def with_plain_indices(nest: Nest) -> Nest:
    """Return `nest` with divisions in indices simplified; the indices of a reshape often become axes."""
    domains = {axis.var: tir.Range(tir.IntImm(axis.var.dtype, 0), axis.extent) for axis in nest.axes}

    def update(node: Node) -> Node | None:
        if not isinstance(node, tir.BufferLoad | tir.BufferStore):
            return None
        if not any(isinstance(inner, tir.FloorDiv | tir.FloorMod) for index in node.indices for inner in walk(index)):
            return None
        return replace(node, indices=tuple(simplify(index, domains) for index in node.indices))

    return replace(nest, store=rewrite(nest.store, update))


def block_of(nest: Nest) -> tir.Block:
    """Return the block of `nest`, with the regions that it accesses."""
    kinds = {True: tir.IterVarType.COMM_REDUCE, False: tir.IterVarType.DATA_PAR}
    iterators = tuple(
        tir.IterVar(tir.Range(tir.IntImm(axis.var.dtype, 0), axis.extent), axis.var, kinds[axis.is_reduced])
        for axis in nest.axes
    )
    init = None if nest.init is None else replace(nest.store, value=nest.init, span=nest.init.span or nest.store.span)
    block = tir.Block(iterators, (), (), nest.name, nest.store, init)
    return with_regions(block, [node for node in walk(block) if isinstance(node, tir.Buffer)])


def statement_of(nest: Nest) -> tir.Stmt:
    """Return the loops and the block of `nest`."""
    loops = tuple(tir.Var(axis.var.dtype, axis.var.name) for axis in nest.axes)
    statement: tir.Stmt = tir.BlockRealize(loops, tir.IntImm("bool", 1), block_of(nest), trivia=nest.trivia)
    for var, axis in reversed(list(zip(loops, nest.axes, strict=True))):
        statement = tir.For(var, tir.IntImm(var.dtype, 0), axis.extent, tir.ForKind.SERIAL, statement)
    return statement


def check_loop(loop: tir.For) -> None:
    """Raise Declined if `loop` is already scheduled."""
    if loop.kind is not tir.ForKind.SERIAL or loop.annotations or loop.thread_binding is not None:
        raise Declined(f"loop '{loop.loop_var.name}' is scheduled already")
    if not (isinstance(loop.min, tir.IntImm) and loop.min.value == 0):
        raise Declined(f"loop '{loop.loop_var.name}' does not start at 0")


def _only_store(body: tir.Stmt, block: tir.Block) -> tir.BufferStore:
    if not isinstance(body, tir.BufferStore):
        raise Declined(f"block '{block.name_hint}' contains more than one store")
    return body


def axes_of(
    realize: tir.BlockRealize, loops: Sequence[tir.For]
) -> tuple[tuple[Axis, ...], dict[tir.Var, tir.PrimExpr]]:
    """Return the axes in the order of the loops, and the values of iterators with extent 1."""
    block, units = realize.block, dict[tir.Var, tir.PrimExpr]()
    by_loop: dict[tir.Var, Axis] = {}
    extents = {loop.loop_var: loop.extent for loop in loops}
    for loop in loops:
        outer = next((node for node in walk(loop.extent) if isinstance(node, tir.Var) and node in extents), None)
        if outer is not None:
            raise Declined(f"the extent of loop '{loop.loop_var.name}' depends on loop '{outer.name}'")
    for iterator, value in zip(block.iter_vars, realize.iter_values, strict=True):
        is_reduced = iterator.iter_type is tir.IterVarType.COMM_REDUCE
        start = iterator.dom.min if iterator.dom is not None else None
        if is_reduced and not (isinstance(start, tir.IntImm) and start.value == 0):
            raise Declined(f"iterator '{iterator.var.name}' does not start at 0")
        if isinstance(value, tir.IntImm):
            if is_reduced and value.value:
                raise Declined(f"the value of iterator '{iterator.var.name}' is never 0")
            units[iterator.var] = tir.IntImm(iterator.var.dtype, value.value)
        elif iterator.dom is None or not isinstance(value, tir.Var) or value in by_loop:
            raise Declined(f"iterator '{iterator.var.name}' is not bound to a single loop")
        elif not structural_equal(iterator.dom.extent, extents.get(value), map_free_vars=False):
            raise Declined(f"the extents of iterator '{iterator.var.name}' and its loop differ")
        elif iterator.iter_type not in (tir.IterVarType.DATA_PAR, tir.IterVarType.COMM_REDUCE):
            raise Declined(f"iterator '{iterator.var.name}' is neither spatial nor reduced")
        else:
            by_loop[value] = Axis(iterator.var, make.cast(iterator.dom.extent, iterator.var.dtype), is_reduced)
    if set(by_loop) != set(extents):
        raise Declined("a loop is not bound to an iterator of the block")
    return tuple(by_loop[loop] for loop in extents), units
