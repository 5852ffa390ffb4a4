"""Evaluation of loop-level statements.

A statement is compiled once, to a function from a frame to an iterator. Calling the function and exhausting the iterator
runs the statement; each item is a barrier that the thread has reached. A statement without barriers may run entirely in
the call and return `()`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from math import prod
from typing import Any, TypeAlias, TypeVar

import numpy as np

from .. import tir
from ..base import Node
from ..clusters import TAGS as CLUSTERS
from ..diagnostics import TvmsError
from ..dtype import int_range
from ..exchanges import is_busy_wait
from ..idioms import is_one
from .arguments import compile_match
from .buffers import compile_allocation, compile_buffer, compile_declaration, compile_store, new_memory, region_view
from .clusters import compile_cluster_axis, compile_grid_axis
from .expressions import compile_all, compile_expr
from .frame import Frame, fault
from .jumps import Break, Continue, Leave
from .lanes.tier import LaneTier
from .memory import Memory, Pointer
from .observer import is_observed
from .threads import (
    Blocked,
    compile_fork,
    compile_with_exchanges,
    has_barrier,
    has_own_memory,
    keeping_place,
    runs_together,
)

Statement: TypeAlias = Callable[[Frame], Iterable[Node]]

_rules: dict[type[tir.Stmt], Callable[[Any], Statement]] = {}
_Rule = TypeVar("_Rule", bound=Callable[[Any], Statement])


def meaning_of(kind: type[tir.Stmt]) -> Callable[[_Rule], _Rule]:
    """Register the decorated function as the compiler of this kind of statement."""

    def register(rule: _Rule) -> _Rule:
        _rules[kind] = rule
        return rule

    return register


def compile_stmt(stmt: tir.Stmt) -> Statement:
    """Return a function that runs `stmt`; E0712 if the form cannot be executed."""
    rule = _rules.get(type(stmt))
    if rule is None:
        raise fault("E0712", f"'{type(stmt).__name__}' cannot be executed", stmt, "lower the program first")
    run: Statement = rule(stmt)
    if not is_observed():
        return run

    def observed(frame: Frame) -> Iterable[Node]:
        frame.world.tell(stmt, frame)
        return run(frame)

    return observed


# --- Control flow ---------------------------------------------------------------------------------------------


@meaning_of(tir.SeqStmt)
def _sequence(stmt: tir.SeqStmt) -> Statement:
    parts = tuple(map(compile_stmt, stmt.seq))

    def run(frame: Frame) -> Iterator[Node]:
        for part in parts:
            yield from part(frame)

    return run


@meaning_of(tir.For)
def _for(stmt: tir.For) -> Statement:
    """Compile a loop. Iterations run sequentially; parallel loops and threads run in the thread order of the run.

    Only the iterations of a loop over threads that synchronize run concurrently. E0703 if the end of the loop exceeds the
    range of its variable.
    """
    start, extent, body, variable = (
        compile_expr(stmt.min),
        compile_expr(stmt.extent),
        compile_stmt(stmt.body),
        stmt.loop_var,
    )
    tag = "" if stmt.thread_binding is None else stmt.thread_binding.thread_tag
    if runs_together(stmt):
        return compile_fork(variable, tag, start, extent, body, has_own_memory(stmt.body))

    is_block = tag.startswith("blockIdx")
    is_free = stmt.kind in (tir.ForKind.PARALLEL, tir.ForKind.THREAD_BINDING)
    skips = (Continue, Leave) if stmt.kind is tir.ForKind.THREAD_BINDING else Continue

    def run_some(frame: Frame, first: int, size: int, indices: Iterable[int]) -> Iterator[Node]:
        for index in indices:
            frame[variable] = first + index
            if tag:
                frame.thread[tag] = (variable, index, size)
                frame.shared = {} if is_block else frame.shared
            try:
                yield from body(frame)
            except skips:
                continue
            except Break:
                return

    last = int_range(variable.dtype)[1]

    def run(frame: Frame) -> Iterator[Node]:
        first, size = start(frame), extent(frame)
        if size > 0 and first + size > last:
            reason = f"the loop over '{variable.name}' ends beyond the range of {variable.dtype}"
            raise fault("E0703", reason, stmt)
        yield from run_some(frame, first, size, frame.world.order(size) if is_free else range(size))

    whole = keeping_place(run, tag) if tag else run
    if is_observed() or tag:
        return whole
    return LaneTier(stmt, whole, run_some)


@meaning_of(tir.While)
def _while(stmt: tir.While) -> Statement:
    condition, body = compile_expr(stmt.condition), compile_stmt(stmt.body)
    waits = is_busy_wait(stmt)

    def is_over(frame: Frame) -> bool:
        try:
            list(body(frame))
        except Break:
            return True
        return not condition(frame)

    def in_vain() -> TvmsError:
        help = "split the kernel where blocks wait for each other"
        return fault("E0714", "this loop waits in vain for another thread", stmt, help)

    def run(frame: Frame) -> Iterator[Node]:
        while condition(frame):
            if waits and frame.thread:
                yield Blocked(is_ready=lambda: is_over(frame), never=in_vain)
                return
            try:
                yield from body(frame)
            except Continue:
                continue
            except Break:
                return

    return run


@meaning_of(tir.IfThenElse)
def _if(stmt: tir.IfThenElse) -> Statement:
    condition, then_case = compile_expr(stmt.condition), compile_stmt(stmt.then_case)
    else_case: Statement = compile_stmt(stmt.else_case) if stmt.else_case is not None else lambda frame: ()
    return lambda frame: then_case(frame) if condition(frame) else else_case(frame)


@meaning_of(tir.LetStmt)
def _let(stmt: tir.LetStmt) -> Statement:
    value, body, variable = compile_expr(stmt.value), compile_stmt(stmt.body), stmt.var

    def run(frame: Frame) -> Iterable[Node]:
        frame[variable] = value(frame)
        return body(frame)

    return compile_with_exchanges(stmt.value, run)


@meaning_of(tir.AssertStmt)
def _assert(stmt: tir.AssertStmt) -> Statement:
    condition, message, body = compile_expr(stmt.condition), compile_expr(stmt.message), compile_stmt(stmt.body)

    def run(frame: Frame) -> Iterable[Node]:
        if not condition(frame):
            raise fault("E0711", f"assertion failed: {message(frame)}", stmt)
        return body(frame)

    return run


@meaning_of(tir.Evaluate)
def _evaluate(stmt: tir.Evaluate) -> Statement:
    value = stmt.value
    if has_barrier(stmt):
        return compile_with_exchanges(value, lambda frame: ())
    evaluate = compile_expr(value)

    def run(frame: Frame) -> Iterable[Node]:
        evaluate(frame)
        return ()

    return run


# --- Memory ---------------------------------------------------------------------------------------------------


@meaning_of(tir.BufferStore)
def _store(stmt: tir.BufferStore) -> Statement:
    write = compile_store(stmt)

    def run(frame: Frame) -> Iterable[Node]:
        write(frame)
        return ()

    return compile_with_exchanges(stmt.value, run)


@meaning_of(tir.Allocate)
def _allocate(stmt: tir.Allocate) -> Statement:
    """Allocate memory once for all threads of a thread block."""
    extents, body = compile_all(stmt.extents), compile_stmt(stmt.body)
    kind = stmt.buffer_var.type_annotation
    scope = (kind.storage_scope if isinstance(kind, tir.PointerType) else "") or "global"

    def run(frame: Frame) -> Iterable[Node]:
        memory = frame.shared.get(stmt)
        if memory is None:
            sizes = extents(frame)
            memory = new_memory(frame, stmt.dtype, (*sizes, prod(sizes)), scope, stmt.buffer_var.name, stmt)
        if scope.startswith(("shared", "tmem")):
            frame.shared[stmt] = memory
        frame[stmt.buffer_var] = memory
        return body(frame)

    return run


@meaning_of(tir.AllocateConst)
def _allocate_const(stmt: tir.AllocateConst) -> Statement:
    if stmt.data is None:
        raise fault("E0712", "the contents of this constant are not given", stmt)
    data, body = np.ascontiguousarray(stmt.data).reshape(-1).view(np.uint8), compile_stmt(stmt.body)

    def run(frame: Frame) -> Iterable[Node]:
        frame[stmt.buffer_var] = Pointer(Memory(data.copy()))
        return body(frame)

    return run


@meaning_of(tir.DeclBuffer)
def _declare(stmt: tir.DeclBuffer) -> Statement:
    declare, body = compile_declaration(stmt.buffer), compile_stmt(stmt.body)

    def run(frame: Frame) -> Iterable[Node]:
        declare(frame)
        return body(frame)

    return run


# --- Threads --------------------------------------------------------------------------------------------------


@meaning_of(tir.AttrStmt)
def _attribute(stmt: tir.AttrStmt) -> Statement:
    """Thread blocks and virtual threads run sequentially, the threads of a block and the blocks of a cluster concurrently; other
    attributes are hints.
    """
    if stmt.attr_key == "reduce_scope":
        return _reduce_scope(stmt)
    if stmt.attr_key not in ("thread_extent", "virtual_thread"):
        return compile_stmt(stmt.body)
    axis: tir.IterVar = stmt.node
    extent, body = compile_expr(stmt.value), compile_stmt(stmt.body)
    is_block = axis.thread_tag.startswith("blockIdx")
    if axis.thread_tag in CLUSTERS:
        return compile_cluster_axis(axis, body, stmt)
    of_clusters = compile_grid_axis(axis, extent, body, stmt) if is_block else None
    if of_clusters is not None:
        return of_clusters
    if not is_block and not axis.thread_tag.startswith("vthread"):
        return compile_fork(axis.var, axis.thread_tag, lambda frame: 0, extent, body)

    def run(frame: Frame) -> Iterator[Node]:
        for value in range(extent(frame)):
            frame[axis.var] = value
            frame.shared = {} if is_block else frame.shared
            with suppress(Leave):
                yield from body(frame)

    return run


def _reduce_scope(stmt: tir.AttrStmt) -> Statement:
    """Define the reducer of `tvm_thread_allreduce` calls inside."""
    body = compile_stmt(stmt.body)

    def run(frame: Frame) -> Iterable[Node]:
        frame[tir.CommReducer] = stmt.node if isinstance(stmt.node, tir.CommReducer) else None
        return body(frame)

    return run


# --- Blocks ---------------------------------------------------------------------------------------------------


@meaning_of(tir.BlockRealize)
def _realize(stmt: tir.BlockRealize) -> Statement:
    """If the predicate holds, bind the iterators, check their domains, and run the block."""
    values = map(compile_expr, stmt.iter_values)
    variables = (axis.var for axis in stmt.block.iter_vars)
    bindings = tuple(zip(variables, values, map(_compile_domain, stmt.block.iter_vars), strict=True))
    predicate = None if is_one(stmt.predicate) else compile_expr(stmt.predicate)
    body = compile_stmt(stmt.block)

    def run(frame: Frame) -> Iterable[Node]:
        if predicate is not None and not predicate(frame):
            return ()
        for variable, value, domain in bindings:
            bound = frame[variable] = value(frame)
            first, end = domain(frame)
            if not first <= bound < end:
                said = f"block '{stmt.block.name_hint}' runs with {variable.name} = {bound}"
                raise fault("E0713", f"{said}, outside its domain [{first}, {end})", stmt)
        return body(frame)

    return run


def _compile_domain(axis: tir.IterVar) -> Callable[[Frame], tuple[int, int]]:
    if axis.dom is None:
        raise fault("E0712", f"the iterator '{axis.var.name}' of this block has no domain", axis)
    if isinstance(axis.dom.min, tir.IntImm) and isinstance(axis.dom.extent, tir.IntImm):
        domain = (axis.dom.min.value, axis.dom.min.value + axis.dom.extent.value)
        return lambda frame: domain
    start, extent = compile_expr(axis.dom.min), compile_expr(axis.dom.extent)

    def evaluate(frame: Frame) -> tuple[int, int]:
        first = start(frame)
        return first, first + extent(frame)

    return evaluate


@meaning_of(tir.Block)
def _block(stmt: tir.Block) -> Statement:
    """Allocate and match buffers, run `T.init` if all reduction iterators are at the start of their domains, run the body."""
    enter = (*map(compile_allocation, stmt.alloc_buffers), *map(_compile_match, stmt.match_buffers))
    body = compile_stmt(stmt.body)
    if stmt.init is not None:
        body = _after_init(stmt.init, body, stmt.iter_vars)
    if not enter:
        return body

    def run(frame: Frame) -> Iterable[Node]:
        for prepare in enter:
            prepare(frame)
        return body(frame)

    return run


def _after_init(init: tir.Stmt, body: Statement, axes: tuple[tir.IterVar, ...]) -> Statement:
    initialize = compile_stmt(init)
    reductions = [axis for axis in axes if axis.iter_type is tir.IterVarType.COMM_REDUCE]
    starts = [(axis.var, compile_expr(axis.dom.min)) for axis in reductions if axis.dom is not None]

    def run(frame: Frame) -> Iterator[Node]:
        for variable, start in starts:
            if frame[variable] != start(frame):
                break
        else:
            yield from initialize(frame)
        yield from body(frame)

    return run


def _compile_match(match: tir.MatchBufferRegion) -> Callable[[Frame], None]:
    """Return a function that makes `match.buffer` a view of a region: it has the memory and strides of its source.

    Dimensions, strides and offset are bound if they are variables; otherwise they must agree.
    """
    buffer, region = match.buffer, match.source.region
    if len(buffer.shape) > len(region):
        said = f"matched buffer '{buffer.name}' has {len(buffer.shape)} dimensions, more than its region"
        raise fault("E0704", said, match)
    source, bind = compile_buffer(match.source.buffer), compile_match(match)
    mins, extents = compile_all(tuple(r.min for r in region)), compile_all(tuple(r.extent for r in region))

    def run(frame: Frame) -> None:
        whole, starts, sizes = source(frame), mins(frame), extents(frame)
        for axis, (start, size, extent) in enumerate(zip(starts, sizes, whole.shape, strict=True)):
            if start < 0 or size < 0 or start + size > extent:
                said = f"the region of matched buffer '{buffer.name}' is outside '{match.source.buffer.name}'"
                raise fault("E0707", f"{said} in dimension {axis}", match)
        view = region_view(whole, starts, sizes, len(buffer.shape))
        bind(frame, view)
        frame[buffer.data] = view.pointer
        frame[buffer] = view

    return run
