"""Rows: one or more nests that share their outer axes, computed row by row, each row in vectors.

    for i in T.parallel(n):              softmax: its four blocks share i; intermediate buffers are one row,
        m = the greatest of A[i, :]      which stays in the L1 cache
        E[:] = exp(A[i, :] - m)
        s = the sum of E[:]
        B[i, :] = E[:] / s

Sums and extrema over a contiguous axis use several vector accumulators, which are combined in the
end. Their number does not depend on the number of threads.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from math import prod
from typing import Any

from msgspec import Struct
from msgspec.structs import replace

from ...ir import make, tir
from ...ir.dtype import parse_dtype
from ...ir.equal import structural_equal
from ...ir.schedule.arguments import Block, Integer
from ...ir.schedule.conditions import KNOB
from ...ir.schedule.declaration import Knob, composite
from ...ir.schedule.program import Program
from ...ir.visit import substitute, walk
from ..lower.rewriter import copy_of, sequence
from ..machine import Machine
from .build import (
    Index,
    allocated,
    below,
    ceil_divide,
    divide,
    if_then_else,
    index,
    lanes,
    least,
    load,
    loop,
    minus,
    new_buffer,
    parallel,
    plus,
    store,
    times,
    unrolled,
    vector_loop,
    vectorized,
    when,
)
from .fusion import compact, flattened, shared_axes
from .nest import Axis, Declined, Nest
from .site import APPLIES, Site
from .strides import step_along

PARTS = 4
"""Vector accumulators of a sum: enough to hide the latency of an addition."""
CHUNK = 8192
"""Number of elements of a single row that a thread processes at a time."""
MOST_STEP = 4
"""Maximum stride of a gather; with a larger one, each element is in a cache line of its own."""
PARALLEL_STEPS = 1 << 15
"""Minimum number of steps of a parallel loop; with fewer, threads do not pay off."""
Combine = Callable[[tir.PrimExpr, tir.PrimExpr], tir.PrimExpr]

_COMBINE: dict[type[tir.BinaryOp], Combine] = {
    tir.Add: make.add, tir.Max: make.maximum, tir.Min: make.minimum, tir.Mul: make.mul,
}  # fmt: skip


def choose_rows(nests: Sequence[Nest], shared: int, machine: Machine) -> dict[str, Any]:
    """Return the knobs of `vector_rows` for nests that share their first `shared` axes."""
    is_single, knobs = _is_single_row(nests, shared), dict[str, Any](vector_bytes=machine.vector_bytes)
    if shared:
        knobs["shared"] = shared
    if any(nest.reduced for nest in nests):
        knobs["accumulators"] = PARTS
    if sum(_steps(nest.axes) for nest in nests) >= PARALLEL_STEPS:
        knobs["parallel"] = 0 if is_single else _longest(nests[0].axes[:shared], machine)
        knobs |= {"chunk": CHUNK} if is_single else {}
    return knobs


def _longest(axes: Sequence[Axis], machine: Machine) -> int | None:
    """Return the position of the first axis with enough iterations for all threads."""
    return next((i for i, axis in enumerate(axes) if axis.size is None or axis.size >= machine.threads), None)


def _is_single_row(nests: Sequence[Nest], shared: int) -> bool:
    return not shared and len(nests) == len(nests[0].axes) == 1 and not nests[0].reduced


@composite(
    requires=(APPLIES,),
    knobs={
        "shared": Knob("the number of outer loops that the blocks share", 0, 16),
        "vector_bytes": Knob("the number of bytes of a vector", 16, 256, is_power=True),
        "accumulators": Knob("the number of vectors of partial results of a reduction", 1, 16),
        "chunk": Knob("the number of elements of a single row that a thread processes at a time", 64, 1 << 24),
        "parallel": Knob(
            "the position of the shared loop whose iterations threads share; 0 for the chunks of a row", 0, 15
        ),
    },
)
def vector_rows(
    program: Program,
    *blocks: Block,
    shared: Integer = 0,
    vector_bytes: Integer,
    accumulators: Integer = 4,
    chunk: Integer = CHUNK,
    parallel: Integer | None = None,
) -> None:
    """Compute consecutive blocks row by row, in vectors: they share their first `shared` loops.

    `for i, j: b[i, j] = f(a[i, j])` and `for i, j: c[i] += b[i, j]` become `for i: (for j: b[j] = f(a[i, j])), (for j: c += b[j])`.
    Buffers that only the blocks access become one row, which stays in the L1 cache. Reductions along a contiguous axis have
    `accumulators` vectors of partial results.

    Preserves: the result but for the order of summation, which depends on `vector_bytes` and `accumulators` alone.
    """
    site = Site(program, blocks)
    nests, stored = rows_of(site, shared)
    if parallel is not None and parallel >= max(shared, 1):
        raise KNOB.refuse(f"the blocks share {shared} loops, got position {parallel}", argument="parallel")
    small, rows = compact(nests, shared, site.owned(stored))
    row = Row(vector_bytes, accumulators, chunk)
    site.replace(site.build(lambda: emit_nests(small, shared, row, parallel, rows)), stored)


def rows_of(site: Site, shared: int) -> tuple[list[Nest], set[tir.Buffer]]:
    """Return the nests at a site, which share `shared` loops, and the buffers that they store; refused if they cannot."""
    nests = site.nests()
    stored = {nest.store.buffer for nest in nests}
    nests = [flattened(nests[0])] if len(nests) == 1 else nests
    most = shared_axes(nests)
    if shared > most:
        raise KNOB.refuse(f"the blocks can share {most} loops, got {shared}", argument="shared")
    return nests, stored


class Row(Struct, frozen=True):
    """How rows are computed: the bytes of a vector, the vectors of partial results, the elements of a chunk."""

    vector_bytes: int
    accumulators: int
    chunk: int


def emit_nests(
    nests: Sequence[Nest], shared: int, row: Row, parallel: int | None, buffers: Sequence[tir.Buffer]
) -> tir.Stmt:
    """Return the nests, which share their first `shared` axes and the intermediate `buffers`, computed row by
    row.

    Declined if the form of a reduction is unknown.
    """
    emitters = [_Row(nest, shared, row) for nest in nests]
    if _is_single_row(nests, shared) and not buffers:
        return emitters[0].chunked(parallel is not None)
    statement = allocated(buffers, [emitter.run() for emitter in emitters])
    axes = nests[0].axes[:shared]
    mapping = {axis.var: common.var for nest in nests[1:] for axis, common in zip(nest.axes, axes, strict=False)}
    return _distributed(axes, substitute(statement, mapping), parallel)


def parallel_rows(outer: Sequence[Axis], inner: Axis, machine: Machine) -> int | None:
    """Return the position of the loop over rows, which are along `inner`, that threads share; None if it does not pay off."""
    return _longest(outer, machine) if _steps((*outer, inner)) >= PARALLEL_STEPS else None


def around_rows(outer: Sequence[Axis], body: Callable[[], tir.Stmt], position: int | None) -> tir.Stmt:
    """Return loops over `outer` around `body`; the one at `position` is parallel."""
    return _distributed(outer, body(), position)


def _steps(axes: Sequence[Axis]) -> int:
    return prod(PARALLEL_STEPS if axis.size is None else axis.size for axis in axes)


def _distributed(axes: Sequence[Axis], statement: tir.Stmt, distributed: int | None) -> tir.Stmt:
    for position in reversed(range(len(axes))):
        axis = axes[position]
        kind = tir.ForKind.PARALLEL if position == distributed else tir.ForKind.SERIAL
        statement = tir.For(axis.var, tir.IntImm(axis.var.dtype, 0), axis.extent, kind, statement)
    return statement


class _Row:
    """Emits the code of one nest for one value of its outer axes."""

    def __init__(self, nest: Nest, outer: int, row: Row) -> None:
        self.nest, self.parts, self.chunk = nest, row.accumulators, row.chunk
        inner = nest.axes[outer:]
        self.spatial = [axis for axis in inner if not axis.is_reduced]
        self.reduced = [axis for axis in inner if axis.is_reduced]
        widest = max(parse_dtype(node.dtype).bytes for node in (nest.store.value, *nest.loads()))
        self.width = row.vector_bytes // max(widest, 4)
        self.accesses = (nest.store, *nest.loads())
        self.widest_step = MOST_STEP if self.reduced else 1

    def run(self) -> tir.Stmt:
        """Return the statements for one row."""
        if not self.reduced:
            return self._elementwise()
        along = self._contiguous(self.spatial)
        return self._columns(along) if along is not None else self._reduction()

    # --- Elementwise

    def chunked(self, is_parallel: bool) -> tir.Stmt:
        """Return a single row in chunks, which threads share."""
        (axis,) = self.spatial
        if not is_parallel:
            return self.run()

        def chunk(number: tir.Var) -> tir.Stmt:
            start = times(number, self.chunk)
            rest = axis.size is not None and axis.size % self.chunk == 0
            length = index(self.chunk, axis.var.dtype) if rest else least(self.chunk, minus(axis.extent, start))
            return vector_loop("j", length, self.width, lambda j, v: self._at({axis.var: plus(plus(start, j), v)}))

        return parallel("chunk", ceil_divide(axis.extent, self.chunk), chunk)

    def _elementwise(self) -> tir.Stmt:
        if not self.spatial:
            return self.nest.store
        along = self._contiguous(self.spatial)
        if along is None:
            return _loops(self.spatial, lambda: self.nest.store)

        def vector(start: tir.PrimExpr, v: tir.PrimExpr) -> tir.Stmt:
            return self._at({along.var: plus(start, v)})

        others = [axis for axis in self.spatial if axis is not along]
        return _loops(others, lambda: vector_loop(along.var.name, along.extent, self.width, vector))

    def _at(self, values: Mapping[tir.Var, tir.PrimExpr]) -> tir.Stmt:
        return substitute(self.nest.store, values)

    def _contiguous(self, axes: Sequence[Axis]) -> Axis | None:
        """Return the axis along which the result is contiguous, and all loads are contiguous, nearly so, or
        invariant.
        """
        for axis in reversed(axes):
            if axis.size is not None and axis.size < 4:
                continue
            steps = [step_along(access, axis.var) for access in self.accesses]
            if steps[0] == 1 and all(step is not None and 0 <= step <= self.widest_step for step in steps):
                return axis
        return None

    # --- Sums and extrema

    def _combiner(self) -> tuple[Combine, tir.PrimExpr]:
        """Return the operator of the reduction, and the value that it combines with the old element at each step."""
        value, result = self.nest.store.value, self.nest.store
        if self.nest.init is None or type(value) not in _COMBINE or not isinstance(value, tir.BinaryOp):
            raise Declined("it is not a sum, product or extremum")
        for before, taken in ((value.a, value.b), (value.b, value.a)):
            if isinstance(before, tir.BufferLoad) and before.buffer is result.buffer:
                if not structural_equal(before.indices, result.indices) or any(
                    isinstance(node, tir.BufferLoad) and node.buffer.data is result.buffer.data for node in walk(taken)
                ):
                    break
                return _COMBINE[type(value)], taken
        raise Declined("it reads its result other than as the old element of the reduction")

    def _columns(self, along: Axis) -> tir.Stmt:
        """Reduce several contiguous elements of the result at a time, each in order."""
        combine, taken = self._combiner()
        nest, width = self.nest, self.width
        dtype, init = nest.store.buffer.dtype, nest.init
        assert init is not None
        most = self.parts if along.size is None else min(self.parts, max(1, along.size // width))
        lane_count = index(width, along.var.dtype)

        def strip(start: Index, count: int, end: Index | None) -> tir.Stmt:
            partial = new_buffer("partial", dtype, (count, width), "local")

            def column(u: Index, v: Index) -> tir.PrimExpr:
                return plus(start, plus(times(u, width), v))

            def for_each(body: Callable[[Index, Index], tir.Stmt]) -> tir.Stmt:
                parts = index(count, along.var.dtype)
                return unrolled("u", parts, lambda u: vectorized("v", lane_count, lambda v: body(u, v)))

            def inside(value: tir.PrimExpr, u: Index, v: Index) -> tir.PrimExpr:
                """Return `value` at a column; zero beyond the end, where nothing may be loaded."""
                here = substitute(value, {along.var: column(u, v)})
                if end is None or not any(isinstance(node, tir.BufferLoad) for node in walk(value)):
                    return here
                return if_then_else(below(column(u, v), end), here, make.const(0, here.dtype))

            def finished(u: Index, v: Index) -> tir.Stmt:
                done = substitute(replace(nest.store, value=load(partial, u, v)), {along.var: column(u, v)})
                return done if end is None else when(below(column(u, v), end), done)

            def step() -> tir.Stmt:
                return for_each(lambda u, v: store(partial, combine(load(partial, u, v), inside(taken, u, v)), u, v))

            begin = for_each(lambda u, v: store(partial, inside(init, u, v), u, v))
            finish = for_each(finished)
            sums = copy_of(_loops(self.reduced, step), {})  # loop variables must not be shared between strips
            return allocated([partial], [begin, sums, finish])

        def strips() -> tir.Stmt:
            block = most * width
            whole = divide(along.extent, block)
            done = times(whole, block)
            parts = [loop("strip", whole, lambda number: strip(times(number, block), most, None))]
            if along.size is None:  # a vector at a time, the last one partial
                vectors = divide(minus(along.extent, done), width)
                end = plus(done, times(vectors, width))
                parts.append(loop("vector", vectors, lambda number: strip(plus(done, times(number, width)), 1, None)))
                return sequence([*parts, when(below(end, along.extent), strip(end, 1, along.extent))])
            count = -(-(along.size % block) // width)
            return sequence(
                [*parts, strip(done, count, along.extent if along.size % width else None)] if count else parts
            )

        return _loops([axis for axis in self.spatial if axis is not along], strips)

    def _reduction(self) -> tir.Stmt:
        """Reduce along an axis that is contiguous in the operands."""
        combine, taken = self._combiner()
        reads = [node for node in walk(taken) if isinstance(node, tir.BufferLoad)]
        along = next((axis for axis in reversed(self.reduced) if _is_read_along(axis, reads)), None)
        if along is None or (along.size is not None and along.size < self.width):
            raise Declined("no reduced axis is contiguous in the operands")
        others = [axis for axis in self.reduced if axis is not along]
        return _loops(self.spatial, lambda: self._reduce(along, others, combine, taken))

    def _reduce(self, along: Axis, others: Sequence[Axis], combine: Combine, taken: tir.PrimExpr) -> tir.Stmt:
        nest, width, init = self.nest, self.width, self.nest.init
        assert init is not None
        dtype = nest.store.buffer.dtype
        is_sum = isinstance(nest.store.value, tir.Add | tir.Mul)
        neutral = make.const(int(isinstance(nest.store.value, tir.Mul)), dtype) if is_sum else init
        partial = new_buffer("partial", dtype, (self.parts, width), "local")
        parts, lane_count = index(self.parts, along.var.dtype), index(width, along.var.dtype)

        def take(u: Index, v: Index, position: tir.PrimExpr) -> tir.Stmt:
            return store(partial, combine(load(partial, u, v), substitute(taken, {along.var: position})), u, v)

        def for_each(body: Callable[[Index, Index], tir.Stmt]) -> tir.Stmt:
            return unrolled("u", parts, lambda u: vectorized("v", lane_count, lambda v: body(u, v)))

        whole = divide(along.extent, self.parts * width)
        done = times(whole, self.parts * width)

        def step(number: tir.Var) -> tir.Stmt:
            start = times(number, self.parts * width)
            return for_each(lambda u, v: take(u, v, plus(start, plus(times(u, width), v))))

        def rest(start: tir.PrimExpr, v: tir.PrimExpr) -> tir.Stmt:
            return take(0, v, plus(done, plus(start, v)))

        inside = sequence([loop("step", whole, step), vector_loop("rest", minus(along.extent, done), width, rest)])
        total = load(partial, 0, 0)
        return allocated(
            [partial],
            [
                for_each(lambda u, v: store(partial, neutral, u, v)),
                _loops(others, lambda: inside),
                *_combined(partial, self.parts, width, combine),
                replace(nest.store, value=combine(init, total) if is_sum else total),
            ],
        )


def _combined(partial: tir.Buffer, parts: int, width: int, combine: Combine) -> list[tir.Stmt]:
    """Return statements that combine all elements of `partial` into its first one."""
    steps: list[tir.Stmt] = []
    for part in range(1, parts):
        places = lanes(0, width)
        steps.append(store(partial, combine(load(partial, 0, places), load(partial, part, places)), 0, places))
    half = width // 2
    while half:
        upper, lower = load(partial, 0, lanes(half, half)), load(partial, 0, lanes(0, half))
        steps.append(store(partial, combine(lower, upper), 0, lanes(0, half)))
        half //= 2
    return steps


def _is_read_along(axis: Axis, reads: Sequence[tir.BufferLoad]) -> bool:
    steps = [step_along(read, axis.var) for read in reads]
    return 1 in steps and all(step in (0, 1) for step in steps)


def _loops(axes: Sequence[Axis], body: Callable[[], tir.Stmt]) -> tir.Stmt:
    statement = body()
    for axis in reversed(axes):
        zero = tir.IntImm(axis.var.dtype, 0)
        statement = tir.For(axis.var, zero, axis.extent, tir.ForKind.SERIAL, statement)
    return statement
