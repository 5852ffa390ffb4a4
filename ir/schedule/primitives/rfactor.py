"""`rfactor`: split a reduction into partial reductions and their combination."""

from __future__ import annotations

from collections.abc import Sequence

from msgspec import Struct
from msgspec.structs import replace

from ... import make, tir
from ...analysis.proof import prove
from ...base import Node, Trivia
from ...buffers import data_pointer
from ...idioms import conjuncts, is_one, sequence, uses
from ...visit import substitute, walk
from ..analysis.bindings import domains_of
from ..analysis.blocks import COMM_REDUCE, DATA_PAR, check_reduction
from ..analysis.caching import allocate
from ..analysis.loops import check_starts_at_zero, not_negative
from ..analysis.pipeline import check_stage_pipeline
from ..analysis.reductions import (
    KNOWN_REDUCER,
    STARTS_ALIKE,
    Reduction,
    check_runs_once,
    reduction_of,
    start_condition,
)
from ..analysis.removal import comments_in
from ..analysis.scope import scope_root
from ..analysis.trivia import joined
from ..arguments import Integer, Loop
from ..conditions import ARGUMENT, REDUCTION, STAGE_PIPELINE, STARTS_AT_ZERO, UNCONDITIONAL, Change, Condition, name_of
from ..declaration import primitive
from ..program import Program

APART = Condition(
    "E0578",
    "the loop is serial and only in reduction iterators, the block comes first in its nest, and no loop is both in "
    "reduction and in spatial iterators",
    "split and reorder the loops first",
)


@primitive(
    requires=(APART, UNCONDITIONAL, STAGE_PIPELINE, REDUCTION, KNOWN_REDUCER, STARTS_ALIKE, STARTS_AT_ZERO),
    results=("block of the parts",),
)
def rfactor(program: Program, loop: Loop, factor_axis: Integer) -> tir.Block:
    """Factor a reduction loop: each iteration of it computes a partial result, and a second block reduces these. The
    partial results are in a new buffer whose axis `factor_axis` has the extent of the loop; -1 is the last axis.

    Preserves: what is computed; sums of floats are added in another order. Comments stay with the remaining block,
    which reduces the partial results.
    """
    blocks = program.child_blocks(loop)
    if len(blocks) != 1:
        raise APART.refuse(f"expected one block under it, got {len(blocks)}", loop, *blocks)
    (block,) = blocks
    scope = scope_root(program, block)
    check_stage_pipeline(program, scope)
    check_reduction(program, block, scope)
    loops, realize = program.loops_of(block), program.realize_of(block)
    reduced = _reduced(realize, loops, loop)
    _check_nest(program, realize, loops, loop, reduced)
    check_starts_at_zero(loop)
    reduction = reduction_of(block)
    _check_ties(block, reduction, reduced, loop)
    axis = _axis(factor_axis, reduction.elements[0].buffer)
    dropped = [other for other in reduced if other is not loop]
    check_runs_once(realize, loops, loops[loops.index(reduced[0]) :], dropped)
    predicate = start_condition(realize, loops, [other for other in loops if other not in dropped], dropped)
    _check_first(block, loops, loop, predicate)
    parts = _Parts(realize, loop, reduction, axis)
    nest, first = parts.nest(loops)
    rest = parts.rest(predicate)
    became: dict[tir.Stmt, tir.Stmt | None] = {block: rest.block}
    left = _without(loops[0], rest, dropped, became)
    program.replace(loops[0], sequence((nest, left)), became)
    for buffer in parts.buffers:
        allocate(program, program.current(scope), buffer)
    return first


def _reduced(realize: tir.BlockRealize, loops: tuple[tir.For, ...], loop: tir.For) -> list[tir.For]:
    """Return the loops in reduction iterators and `loop`, which need not be in one if its extent is 1.

    Refused if one is also in a spatial iterator (E0578).
    """
    kinds: dict[tir.IterVarType, list[tir.PrimExpr]] = {DATA_PAR: [], COMM_REDUCE: []}
    for axis, value in zip(realize.block.iter_vars, realize.iter_values, strict=True):
        kinds[axis.iter_type].append(value)
    found: list[tir.For] = []
    for candidate in loops:
        is_unit = candidate is loop and is_one(loop.extent)
        if is_unit or any(uses(value, [candidate]) for value in kinds[COMM_REDUCE]):
            if any(uses(value, [candidate]) for value in kinds[DATA_PAR]):
                raise APART.refuse(
                    f"{name_of(candidate)} is in spatial and in reduction iterators", candidate, realize.block
                )
            found.append(candidate)
    return found


def _check_nest(
    program: Program,
    realize: tir.BlockRealize,
    loops: tuple[tir.For, ...],
    loop: tir.For,
    reduced: Sequence[tir.For],
) -> None:
    block = realize.block
    if loop not in reduced:
        raise APART.refuse(f"{name_of(loop)} is not in a reduction iterator of {name_of(block)}", loop, block)
    if loop.kind is not tir.ForKind.SERIAL or uses(loop.extent, loops):
        reason = "its extent varies" if uses(loop.extent, loops) else f"it is {loop.kind.value}"
        raise APART.refuse(f"{name_of(loop)} cannot be an axis of a buffer: {reason}", loop)
    inside: tir.Stmt = realize
    for stmt in program.around(realize):
        if isinstance(stmt, tir.SeqStmt) and (inside is not stmt.seq[0] or reduced[0] in program.around(stmt)):
            raise APART.refuse(f"the loops of {name_of(block)} contain another statement before it", loop, block)
        if not isinstance(stmt, tir.For | tir.SeqStmt):
            raise UNCONDITIONAL.refuse(f"{name_of(block)} is under a condition", loop, block)
        inside = stmt
        if stmt is loops[0]:
            break
    for candidate in reduced:
        if candidate.kind not in (tir.ForKind.SERIAL, tir.ForKind.UNROLLED):
            raise APART.refuse(
                f"{name_of(candidate)}, of the same reduction, is {candidate.kind.value}", candidate, loop
            )


def _check_first(block: tir.Block, loops: tuple[tir.For, ...], loop: tir.For, predicate: tir.PrimExpr) -> None:
    """Refuse a predicate that may exclude only the first iterations of `loop`: T.init executes in the first one (E0572)."""
    parts, domains = conjuncts(predicate), domains_of(loops)
    for part in parts:
        if uses(part, [loop]) and not prove(substitute(part, {loop.loop_var: loop.min}), domains, parts).is_proven:
            reason = f"it is unknown whether '{part}' holds in the first iteration of {name_of(loop)}"
            raise STARTS_ALIKE.refuse(reason, loop, block)


def _check_ties(block: tir.Block, reduction: Reduction, reduced: Sequence[tir.For], loop: tir.For) -> None:
    if reduction.reducer.is_ordered and reduced[0] is not loop:
        reason = (
            f"{name_of(block)} keeps the first of equal values, but partial results of {name_of(loop)} are not in order"
        )
        help, change = "choose the outermost loop of the reduction", Change(loop=reduced[0])
        raise APART.refuse(reason, loop, reduced[0], help=help, change=change)


def _axis(factor_axis: int, buffer: tir.Buffer) -> int:
    ndim = len(buffer.shape)
    if not -ndim - 1 <= factor_axis <= ndim:
        reason = f"expected an axis from {-ndim - 1} to {ndim} for '{buffer.name}' with {ndim} axes, got {factor_axis}"
        raise ARGUMENT.refuse(reason, argument="factor_axis")
    return factor_axis + ndim + 1 if factor_axis < 0 else factor_axis


def _without(
    node: tir.Stmt, rest: tir.BlockRealize, dropped: Sequence[tir.For], became: dict[tir.Stmt, tir.Stmt | None]
) -> tir.Stmt:
    """Return the nest of a block with the block replaced by `rest`, without the dropped loops."""
    if isinstance(node, tir.BlockRealize):
        return rest
    if isinstance(node, tir.SeqStmt):
        return sequence((_without(node.seq[0], rest, dropped, became), *node.seq[1:]))
    assert isinstance(node, tir.For)
    body = _without(node.body, rest, dropped, became)
    if node in dropped:
        became[node] = None
        return replace(body, trivia=joined(node.trivia, body.trivia))
    became[node] = new = replace(node, body=body)
    return new


class _Parts(Struct):
    """Reduction with partial results for each iteration of `loop`, along `axis` of new buffers."""

    realize: tir.BlockRealize
    loop: tir.For
    reduction: Reduction
    axis: int
    buffers: tuple[tir.Buffer, ...] = ()

    def __post_init__(self) -> None:
        self.buffers = tuple([self._buffer(element.buffer) for element in self.reduction.elements])

    def _buffer(self, buffer: tir.Buffer) -> tir.Buffer:
        name, shape = f"{buffer.name}_rf", self._with(buffer.shape, self.loop.extent)
        pointer = data_pointer(name, buffer.dtype, buffer.scope)
        return replace(buffer, data=pointer, shape=shape, name=name, strides=(), elem_offset=None, offset_factor=1)

    def _with(self, values: tuple[tir.PrimExpr, ...], value: tir.PrimExpr) -> tuple[tir.PrimExpr, ...]:
        return (*values[: self.axis], value, *values[self.axis :])

    def _axis_of(self, loop: tir.For, kind: tir.IterVarType) -> tir.IterVar:
        variable = tir.Var(loop.loop_var.dtype, f"v{loop.loop_var.name}")
        return tir.IterVar(tir.Range(loop.min, not_negative(loop.extent)), variable, kind)

    def nest(self, loops: Sequence[tir.For]) -> tuple[tir.Stmt, tir.Block]:
        """Return the nest that computes the partial results, and its block (TVM: `RFactorBlockCreator`)."""
        old = self.realize.block
        own = self._axis_of(self.loop, DATA_PAR)
        of_loop: dict[tir.Var, Node] = {self.loop.loop_var: own.var}
        axes: list[tuple[tir.IterVar, tir.PrimExpr]] = [(own, self.loop.loop_var)]
        inside: dict[tir.Var, Node] = {}
        for axis, value in zip(old.iter_vars, self.realize.iter_values, strict=True):
            if not uses(value, [self.loop]):
                inside[axis.var] = variable = replace(axis.var)
                axes.append((replace(axis, var=variable), value))
                continue
            for loop in loops:
                if loop.loop_var not in of_loop and uses(value, [loop]):
                    new = self._axis_of(loop, COMM_REDUCE)
                    of_loop[loop.loop_var] = new.var
                    axes.append((new, loop.loop_var))
            inside[axis.var] = substitute(value, of_loop)
        indices = self._with(
            tuple([substitute(index, inside) for index in self.reduction.elements[0].indices]), own.var
        )
        values = tuple([substitute(expr, inside) for expr in self.reduction.values])
        is_reduction = any(axis.iter_type is COMM_REDUCE for axis, _ in axes)
        rename = dict(zip([element.buffer for element in self.reduction.elements], self.buffers, strict=True))
        writes = tuple([self._region(rename[write.buffer], substitute(write, inside), own.var) for write in old.writes])
        block = tir.Block(
            tuple([axis for axis, _ in axes]),
            tuple([substitute(read, inside) for read in old.reads]),
            writes,
            f"{old.name_hint}_rf",
            self._update(self.buffers, indices, values) if is_reduction else _stores(self.buffers, indices, values),
            _stores(self.buffers, indices, self.reduction.identity) if is_reduction else None,
            annotations=old.annotations,
        )
        nest: tir.Stmt = tir.BlockRealize(tuple([value for _, value in axes]), self.realize.predicate, block)
        fresh: dict[tir.Var, Node] = {loop.loop_var: replace(loop.loop_var) for loop in loops}
        for loop in reversed(loops):
            thread = loop.thread_binding
            thread = None if thread is None else replace(thread, var=replace(thread.var))
            variable = fresh[loop.loop_var]
            assert isinstance(variable, tir.Var)
            nest = replace(loop, loop_var=variable, body=nest, thread_binding=thread, trivia=None)
        nest = substitute(nest, fresh)
        return nest, next(node for node in walk(nest) if isinstance(node, tir.Block))

    def _region(self, buffer: tir.Buffer, region: tir.BufferRegion, index: tir.PrimExpr) -> tir.BufferRegion:
        one = tir.Range(index, make.const(1, index.dtype))
        return tir.BufferRegion(buffer, (*region.region[: self.axis], one, *region.region[self.axis :]))

    def rest(self, predicate: tir.PrimExpr) -> tir.BlockRealize:
        """Return the block that reduces the partial results (TVM: `WriteBackBlockCreator`)."""
        old, elements = self.realize.block, self.reduction.elements
        own = self._axis_of(self.loop, COMM_REDUCE)
        pairs = zip(old.iter_vars, self.realize.iter_values, strict=True)
        kept = [(axis, value) for axis, value in pairs if axis.iter_type is DATA_PAR]
        indices = elements[0].indices
        parts = tuple([tir.BufferLoad(buffer.dtype, buffer, self._with(indices, own.var)) for buffer in self.buffers])
        targets = tuple([element.buffer for element in elements])
        block = tir.Block(
            (own, *[axis for axis, _ in kept]),
            tuple([_point(part) for part in parts]),
            tuple([_point(element) for element in elements]),
            old.name_hint,
            self._update(targets, indices, parts),
            _stores(targets, indices, self.reduction.identity),
            annotations=old.annotations,
        )
        comments = Trivia(comments_in(old))
        trivia = joined(self.realize.trivia, comments) if comments.before else self.realize.trivia
        return tir.BlockRealize((self.loop.loop_var, *[value for _, value in kept]), predicate, block, trivia=trivia)

    def _update(
        self, buffers: Sequence[tir.Buffer], indices: tuple[tir.PrimExpr, ...], values: tuple[tir.PrimExpr, ...]
    ) -> tir.Stmt:
        """Return the statements that combine elements with values. All elements are computed before any is stored."""
        before = tuple([tir.BufferLoad(buffer.dtype, buffer, indices) for buffer in buffers])
        combined = self.reduction.reducer.combine(before, values)
        if len(buffers) == 1:
            return _stores(buffers, indices, combined)
        variables = tuple(
            [tir.Var(value.dtype, f"v_{buffer.name}") for buffer, value in zip(buffers, combined, strict=True)]
        )
        body = _stores(buffers, indices, variables)
        for variable, value in reversed(list(zip(variables, combined, strict=True))):
            body = tir.LetStmt(variable, value, body)
        return body


def _stores(
    buffers: Sequence[tir.Buffer], indices: tuple[tir.PrimExpr, ...], values: Sequence[tir.PrimExpr]
) -> tir.Stmt:
    return sequence([tir.BufferStore(buffer, value, indices) for buffer, value in zip(buffers, values, strict=True)])


def _point(load: tir.BufferLoad) -> tir.BufferRegion:
    return tir.BufferRegion(
        load.buffer, tuple([tir.Range(index, make.const(1, index.dtype)) for index in load.indices])
    )
