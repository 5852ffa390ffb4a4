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

from msgspec.structs import replace

from ...ir import make, tir
from ...ir.dtype import parse_dtype
from ...ir.equal import structural_equal
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
from .nest import Axis, Declined, Nest
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


def schedule_rows(nests: Sequence[Nest], outer: int, machine: Machine, buffers: Sequence[tir.Buffer] = ()) -> tir.Stmt:
    """Return the nests, which share their first `outer` axes and the intermediate `buffers`, computed row by
    row.

    Declined if the form of a reduction is unknown.
    """
    first = nests[0].axes[:outer]
    emitters = [_Row(nest, outer, machine) for nest in nests]
    if not first and len(nests) == len(nests[0].axes) == 1 and not nests[0].reduced and not buffers:
        return emitters[0].chunked(_is_large(nests))
    return _around(first, nests, lambda: allocated(buffers, [emitter.run() for emitter in emitters]), machine)


def _is_large(nests: Sequence[Nest]) -> bool:
    return sum(_steps(nest.axes) for nest in nests) >= PARALLEL_STEPS


def _steps(axes: Sequence[Axis]) -> int:
    return prod(PARALLEL_STEPS if axis.size is None else axis.size for axis in axes)


def _around(shared: Sequence[Axis], nests: Sequence[Nest], body: Callable[[], tir.Stmt], machine: Machine) -> tir.Stmt:
    """Return loops over the shared axes; the first one that is long enough is parallel."""
    statement = body()
    mapping = {axis.var: common.var for nest in nests[1:] for axis, common in zip(nest.axes, shared, strict=False)}
    return _distributed(shared, substitute(statement, mapping), _is_large(nests), machine)


def around_rows(outer: Sequence[Axis], inner: Axis, body: Callable[[], tir.Stmt], machine: Machine) -> tir.Stmt:
    """Return loops over `outer` around `body`, which loops over `inner`; the first loop that is long enough is
    parallel.
    """
    return _distributed(outer, body(), _steps((*outer, inner)) >= PARALLEL_STEPS, machine)


def _distributed(axes: Sequence[Axis], statement: tir.Stmt, is_large: bool, machine: Machine) -> tir.Stmt:
    is_open = [axis.size is None or axis.size >= machine.threads for axis in axes]
    distributed = is_open.index(True) if True in is_open and is_large else -1
    for position in reversed(range(len(axes))):
        axis = axes[position]
        kind = tir.ForKind.PARALLEL if position == distributed else tir.ForKind.SERIAL
        statement = tir.For(axis.var, tir.IntImm(axis.var.dtype, 0), axis.extent, kind, statement)
    return statement


class _Row:
    """Emits the code of one nest for one value of its outer axes."""

    def __init__(self, nest: Nest, outer: int, machine: Machine) -> None:
        self.nest = nest
        inner = nest.axes[outer:]
        self.spatial = [axis for axis in inner if not axis.is_reduced]
        self.reduced = [axis for axis in inner if axis.is_reduced]
        widest = max(parse_dtype(node.dtype).bytes for node in (nest.store.value, *nest.loads()))
        self.width = machine.vector_bytes // max(widest, 4)
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
            start = times(number, CHUNK)
            rest = axis.size is not None and axis.size % CHUNK == 0
            length = index(CHUNK, axis.var.dtype) if rest else least(CHUNK, minus(axis.extent, start))
            return vector_loop("j", length, self.width, lambda j, v: self._at({axis.var: plus(plus(start, j), v)}))

        return parallel("chunk", ceil_divide(axis.extent, CHUNK), chunk)

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
        most = PARTS if along.size is None else min(PARTS, max(1, along.size // width))
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
        partial = new_buffer("partial", dtype, (PARTS, width), "local")
        parts, lane_count = index(PARTS, along.var.dtype), index(width, along.var.dtype)

        def take(u: Index, v: Index, position: tir.PrimExpr) -> tir.Stmt:
            return store(partial, combine(load(partial, u, v), substitute(taken, {along.var: position})), u, v)

        def for_each(body: Callable[[Index, Index], tir.Stmt]) -> tir.Stmt:
            return unrolled("u", parts, lambda u: vectorized("v", lane_count, lambda v: body(u, v)))

        whole = divide(along.extent, PARTS * width)
        done = times(whole, PARTS * width)

        def step(number: tir.Var) -> tir.Stmt:
            start = times(number, PARTS * width)
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
                *_combined(partial, width, combine),
                replace(nest.store, value=combine(init, total) if is_sum else total),
            ],
        )


def _combined(partial: tir.Buffer, width: int, combine: Combine) -> list[tir.Stmt]:
    """Return statements that combine all elements of `partial` into its first one."""
    steps: list[tir.Stmt] = []
    for part in range(1, PARTS):
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
