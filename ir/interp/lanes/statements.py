"""Loop-level statements of lanes: each runs once, in all active lanes."""

# NumPy's array types are incomplete for strict checking: isinstance narrows to arrays of unknown elements.
# pyright: reportUnknownVariableType=false, reportUnknownArgumentType=false, reportUnknownMemberType=false

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeAlias, TypeVar

import numpy as np

from ... import tir
from ...dtype import int_range
from ...numpy_dtype import numpy_dtype
from ...variables import free_variables
from ..memory import Array
from .accesses import compile_lane_buffer, compile_lane_store
from .arithmetic import LaneValue
from .expressions import NONE, Expression, Memo, compile_lanes, inversion, is_active, restriction
from .state import Doubt, Lanes, Refused

Statement: TypeAlias = Callable[[Lanes], None]

MAX_LANES = 1 << 17
"""Maximum number of lanes that run together, so that their arrays stay in a cache."""
MAX_AXES = 24
"""Maximum depth of loops in a grid."""

_rules: dict[type[tir.Stmt], Callable[[Any, int], Statement]] = {}
_Rule = TypeVar("_Rule", bound=Callable[[Any, int], Statement])


def meaning_of(kind: type[tir.Stmt]) -> Callable[[_Rule], _Rule]:
    """Register the decorated function as the compiler of this kind of statement, at a depth of loops."""

    def register(rule: _Rule) -> _Rule:
        _rules[kind] = rule
        return rule

    return register


def compile_lane_stmt(stmt: tir.Stmt, depth: int) -> Statement:
    """Return a function that runs `stmt`, `depth` loops into the nest, in all active lanes; Refused if lanes do not support it."""
    rule = _rules.get(type(stmt))
    if rule is None:
        raise Refused
    return rule(stmt, depth)


@meaning_of(tir.SeqStmt)
def _sequence(stmt: tir.SeqStmt, depth: int) -> Statement:
    parts = [compile_lane_stmt(part, depth) for part in stmt.seq]

    def run(lanes: Lanes) -> None:
        for part in parts:
            part(lanes)

    return run


# --- Loops ----------------------------------------------------------------------------------------------------


def loop_extents(stmt: tir.Stmt, is_forked: bool = False) -> int:
    """Return the maximum number of innermost iterations on any path of a statement, as far as sizes are known.

    With `is_forked`, only loops that may be forked count, not those of reductions. Refused if loops nest deeper than a grid
    has axes.
    """
    most, stack = 1, [(stmt, 1, 0)]
    skipped = reduction_variables(stmt) if is_forked else set[tir.Var]()
    while stack:
        found, count, depth = stack.pop()
        if isinstance(found, tir.For):
            depth += 1
            if depth > MAX_AXES:
                raise Refused
            if found.loop_var not in skipped:
                count *= max(found.extent.value, 1) if isinstance(found.extent, tir.IntImm) else 1
        most = max(most, count)
        stack.extend((part, count, depth) for part in inner_statements(found))
    return most


def inner_statements(stmt: tir.Stmt) -> list[tir.Stmt]:
    """Return the statements directly inside a statement."""
    match stmt:
        case tir.SeqStmt():
            return list(stmt.seq)
        case tir.IfThenElse():
            return [part for part in (stmt.then_case, stmt.else_case) if part is not None]
        case tir.BlockRealize():
            return [stmt.block]
        case tir.Block():
            return [part for part in (stmt.init, stmt.body) if part is not None]
        case _:
            body = getattr(stmt, "body", None)
            return [body] if isinstance(body, tir.Stmt) else []


def reduction_variables(stmt: tir.Stmt) -> set[tir.Var]:
    """Return the variables in the values of reduction iterators: forking their loops does not pay."""
    found: set[tir.Var] = set()
    stack = [stmt]
    while stack:
        part = stack.pop()
        if isinstance(part, tir.BlockRealize):
            for axis, value in zip(part.block.iter_vars, part.iter_values, strict=True):
                if axis.iter_type is tir.IterVarType.COMM_REDUCE:
                    found.update(variable for variable in free_variables(value) if isinstance(variable, tir.Var))
        stack.extend(inner_statements(part))
    return found


class LaneLoop:
    """A loop whose iterations become lanes if they are independent, and run sequentially otherwise."""

    def __init__(self, stmt: tir.For, depth: int) -> None:
        if depth >= MAX_AXES:
            raise Refused
        self.stmt, self.axis = stmt, depth
        self.body = compile_lane_stmt(stmt.body, depth + 1)
        self.inner = loop_extents(stmt.body, is_forked=True)
        self.kind = numpy_dtype(stmt.loop_var.dtype)
        is_from_zero = isinstance(stmt.min, tir.IntImm) and stmt.min.value == 0
        self._last = None if is_from_zero else int_range(stmt.loop_var.dtype)[1]
        self.is_forked = stmt.loop_var not in reduction_variables(stmt.body)
        self._row: tuple[tuple[int, int, int, int], Array] | None = None
        self._value, self._below = Memo(self._values_of), Memo(_is_below)
        self._restrict = restriction()

    @property
    def piece(self) -> int:
        """Number of iterations that run together if the loop is outermost."""
        return max(1, MAX_LANES // self.inner) if self.is_forked else 1 << 62

    def _values_of(self, _: Lanes, index: LaneValue, first: LaneValue) -> LaneValue:
        return (index + first).astype(self.kind)

    def run(self, lanes: Lanes, first: LaneValue, size: LaneValue) -> None:
        """Run `size` iterations from `first` on."""
        if self._last is not None and np.any(size > self._last - np.maximum(first, 0)):
            raise Doubt
        count = int(size.max(initial=0)) if isinstance(size, np.ndarray) else size
        step = 1
        if self.is_forked and self.stmt not in lanes.sequential:
            step = min(count, max(MAX_LANES // (lanes.count * self.inner), MAX_LANES // 64 // lanes.count))
        for start in range(0, count, max(step, 1)):
            width = min(step, count - start)
            if step > 1:
                with lanes.forked(self.axis, self.stmt, width, is_merged=self._takes_place(lanes, step >= count)):
                    self._run_at(lanes, self._numbers(start, width, len(lanes.grid)), first, size)
            else:
                self._run_at(lanes, start, first, size)

    def _takes_place(self, lanes: Lanes, is_whole: bool) -> bool:
        """Whether the fork replaces the surrounding scope, which holds nothing else."""
        around = lanes.loops[self.axis - 1] if self.axis else None
        return is_whole and around is not None and around.body is self.stmt

    def _run_at(self, lanes: Lanes, index: LaneValue, first: LaneValue, size: LaneValue) -> None:
        is_varying = isinstance(index, np.ndarray) or isinstance(first, np.ndarray)
        lanes[self.stmt.loop_var] = self._value(lanes, index, first) if is_varying else index + first
        if not isinstance(size, np.ndarray):
            self.body(lanes)
            return
        how_many, mask = self._restrict(lanes, self._below(lanes, index, size))
        if how_many is not NONE:
            with lanes.narrowed(mask):
                self.body(lanes)

    def _numbers(self, start: int, width: int, rank: int) -> Array:
        key = (start, width, rank, self.axis)
        if self._row is None or self._row[0] != key:
            shape = [1] * rank
            shape[self.axis] = width
            self._row = key, np.arange(start, start + width, dtype=np.int64).reshape(shape)
        return self._row[1]


def _is_below(_: Lanes, index: LaneValue, size: LaneValue) -> LaneValue:
    return index < size


@meaning_of(tir.For)
def _for(stmt: tir.For, depth: int) -> Statement:
    loop = LaneLoop(stmt, depth)
    start, extent = compile_lanes(stmt.min), compile_lanes(stmt.extent)
    return lambda lanes: loop.run(lanes, start(lanes), extent(lanes))


@meaning_of(tir.While)
def _while(stmt: tir.While, depth: int) -> Statement:
    condition, body, restrict = compile_lanes(stmt.condition), compile_lane_stmt(stmt.body, depth), restriction()

    def run(lanes: Lanes) -> None:
        before = lanes.mask
        try:
            while True:
                test = condition(lanes)
                if isinstance(test, np.ndarray):
                    how_many, lanes.mask = restrict(lanes, test)
                    if how_many is NONE:
                        return
                elif not test:
                    return
                body(lanes)
        finally:
            lanes.mask = before

    return run


# --- Conditions, bindings, memory -----------------------------------------------------------------------------


def where(condition: Expression, then: Statement, otherwise: Statement | None = None) -> Statement:
    """Return a function that runs each branch in the lanes that choose it."""
    restrict, restrict_others, invert = restriction(), restriction(), inversion()

    def run(lanes: Lanes) -> None:
        test = condition(lanes)
        if not isinstance(test, np.ndarray):
            side = then if test else otherwise
            if side is not None:
                side(lanes)
            return
        for side, part, chosen in ((then, restrict, test), (otherwise, restrict_others, invert(lanes, test))):
            if side is None:
                continue
            how_many, mask = part(lanes, chosen)
            if how_many is not NONE:
                with lanes.narrowed(mask):
                    side(lanes)

    return run


@meaning_of(tir.IfThenElse)
def _if(stmt: tir.IfThenElse, depth: int) -> Statement:
    otherwise = None if stmt.else_case is None else compile_lane_stmt(stmt.else_case, depth)
    return where(compile_lanes(stmt.condition), compile_lane_stmt(stmt.then_case, depth), otherwise)


@meaning_of(tir.LetStmt)
def _let(stmt: tir.LetStmt, depth: int) -> Statement:
    value, body, variable = compile_lanes(stmt.value), compile_lane_stmt(stmt.body, depth), stmt.var

    def run(lanes: Lanes) -> None:
        lanes[variable] = value(lanes)
        body(lanes)

    return run


@meaning_of(tir.AssertStmt)
def _assert(stmt: tir.AssertStmt, depth: int) -> Statement:
    condition, body, invert = (
        compile_lanes(stmt.condition),
        compile_lane_stmt(stmt.body, depth),
        inversion(),
    )

    def run(lanes: Lanes) -> None:
        test = condition(lanes)
        if is_active(lanes, invert(lanes, test)) if isinstance(test, np.ndarray) else not test:
            raise Doubt
        body(lanes)

    return run


@meaning_of(tir.AttrStmt)
def _attribute(stmt: tir.AttrStmt, depth: int) -> Statement:
    if stmt.attr_key in ("thread_extent", "virtual_thread", "reduce_scope"):
        raise Refused
    return compile_lane_stmt(stmt.body, depth)


@meaning_of(tir.Evaluate)
def _evaluate(stmt: tir.Evaluate, depth: int) -> Statement:
    value = compile_lanes(stmt.value)

    def run(lanes: Lanes) -> None:
        value(lanes)

    return run


@meaning_of(tir.BufferStore)
def _store(stmt: tir.BufferStore, depth: int) -> Statement:
    return compile_lane_store(stmt)


@meaning_of(tir.DeclBuffer)
def _declare(stmt: tir.DeclBuffer, depth: int) -> Statement:
    find, body, buffer = compile_lane_buffer(stmt.buffer), compile_lane_stmt(stmt.body, depth), stmt.buffer

    def run(lanes: Lanes) -> None:
        lanes.pop(buffer, None)
        lanes[buffer] = find(lanes)
        body(lanes)

    return run
