"""Rows: nests that share their outer axes, as in a softmax or a layer norm; a block computes a row of all nests.

for i in blocks:                             threads process a row together, `width` contiguous elements each at a time;
    m = the greatest of A[i, :]              partial results are combined by shuffles and in shared memory;
    E[:] = exp(A[i, :] - m)                  buffers that only these nests access are one row in shared memory
    s = the sum of E[:]
    B[i, :] = E[:] / s
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import prod
from typing import Any

from msgspec.structs import replace

from ....ir import make, tir
from ....ir.base import Node
from ....ir.dtype import parse_dtype
from ....ir.equal import structural_equal
from ....ir.schedule.arguments import Block, Integer
from ....ir.schedule.declaration import Knob, composite
from ....ir.schedule.program import Program
from ....ir.visit import rewrite, substitute, walk
from ...lower.rewriter import sequence
from ...rules.build import (
    Index,
    allocated,
    below,
    ceil_divide,
    constant,
    is_multiple,
    load,
    loop,
    new_buffer,
    plus,
    store,
    times,
    when,
)
from ...rules.contraction import extent_of
from ...rules.fusion import compact
from ...rules.nest import Axis, Declined, Nest
from ...rules.rows import rows_of
from ...rules.site import APPLIES, Site
from ...rules.strides import step_along
from ..allreduce import barrier
from ..architectures import STATIC_SHARED_BYTES, WARP
from ..kernel import ALLREDUCE
from .grid import BLOCK_X, MOST_LENGTH, X, bound, unravel, vectorized

MOST_THREADS = 256
SHORT = 32
"""Minimum length of a row."""
VECTOR_BYTES = 16
KEPT_BYTES = STATIC_SHARED_BYTES * 3 // 4
"""Maximum size of the rows in shared memory; the rest is for reductions."""
_NEUTRAL: dict[type[tir.PrimExpr], float | None] = {tir.Add: 0, tir.Mul: 1, tir.Max: None, tir.Min: None}
"""Operators of reductions, with the neutral element with which each thread begins; None for idempotent
operators, which may begin with any constant.
"""


def choose_rows(group: Sequence[Nest], shared: int) -> dict[str, Any]:
    """Return the knobs of `block_rows`; Declined if the nests, which share their first `shared` axes, are not rows."""
    _check(group, shared)
    for nest in group:
        size = constant(extent_of(nest.axes[shared:]))
        if nest.reduced and size is not None and size < SHORT:
            raise Declined(f"a row has fewer than {SHORT} elements")
    sizes = [constant(extent_of(nest.axes[shared:])) for nest in group]
    longest = MOST_THREADS if None in sizes else max(size or 1 for size in sizes) // 4
    threads = max(WARP, min(MOST_THREADS, 1 << longest.bit_length() - 1 if longest else 1))
    return {"shared": shared, "threads": threads}


@composite(
    requires=(APPLIES,),
    knobs={
        "shared": Knob(
            "the number of outer loops that the blocks share: one block of threads for each iteration", 0, 16
        ),
        "threads": Knob("the number of threads that process a row together", 32, 1024, is_power=True),
    },
)
def block_rows(program: Program, *blocks: Block, shared: Integer = 0, threads: Integer) -> None:
    """Compute consecutive blocks row by row: a block of `threads` threads computes a row of all of them.

    `for i, j: b[i, j] = f(a[i, j])` and `for i, j: c[i] += b[i, j]` become a kernel with one block of threads for each i: a barrier
    separates the loops over j, threads take consecutive vectors, partial results are combined by shuffles. Buffers that only
    the blocks access become one row in shared memory.

    Preserves: the result but for the order of summation, which depends on `threads` alone.
    """
    site = Site(program, blocks)
    nests, stored = rows_of(site, shared)

    def kernel() -> tir.Stmt:
        return _kernel(nests, shared, site.owned(stored), threads)

    site.replace(site.build(kernel), stored)


def _kernel(group: Sequence[Nest], shared: int, owned: set[tir.Buffer], threads: int) -> tir.Stmt:
    """Return the kernel of nests that share their first `shared` axes; their `owned` buffers are rows in shared memory."""
    _check(group, shared)
    small, kept = compact(group, shared, owned)
    if sum(_bytes(row) or KEPT_BYTES for row in kept) > KEPT_BYTES:
        few = {nest.store.buffer for nest in group if not nest.axes[shared:] or nest.reduced}
        small, kept = compact(group, shared, owned & few)
    near = {row: new_buffer(row.name, row.dtype, row.shape, "shared") for row in kept}

    def moved(node: Node) -> Node | None:
        is_access = isinstance(node, tir.BufferLoad | tir.BufferStore) and node.buffer in near
        return replace(node, buffer=near[node.buffer]) if is_access else None  # type: ignore[union-attr, index]

    nests = [replace(nest, store=rewrite(nest.store, moved)) for nest in small]
    return _Kernel(nests, shared, threads).run(list(near.values()))


def _bytes(row: tir.Buffer) -> int | None:
    sizes = [constant(size) for size in row.shape]
    return None if None in sizes else prod(size or 0 for size in sizes) * parse_dtype(row.dtype).bytes


def _check(group: Sequence[Nest], shared: int) -> None:
    reductions = [nest for nest in group if nest.reduced]
    if not reductions:
        raise Declined("it has no reduction")
    for nest in reductions:
        combined_value(nest)
        outer = [axis.var for axis in nest.axes[:shared] if axis.size != 1][-1:]
        inner = nest.axes[shared:]
        if any(not axis.is_reduced for axis in inner):
            raise Declined("a row is reduced to more than one element")
        length = constant(extent_of(inner))
        if length is not None and length > MOST_LENGTH:
            raise Declined(f"a row has more than {MOST_LENGTH} elements")
        along = [read for read in nest.loads() if step_along(read, inner[-1].var) != 0]
        if not any(step_along(read, inner[-1].var) == 1 for read in along):
            raise Declined("the elements of a row are not contiguous")
        if any(step_along(read, var) == 1 for read in along for var in outer):
            raise Declined("neighboring rows are also contiguous")
        if outer and all(step_along(read, var) == 0 for read in along for var in outer):
            raise Declined("neighboring rows have the same elements")


def combined_value(nest: Nest) -> tir.PrimExpr:
    """Return the value that a reduction combines with the old element; Declined if threads cannot share the
    reduction.
    """
    value, before = nest.store.value, tir.BufferLoad(nest.store.buffer.dtype, nest.store.buffer, nest.store.indices)
    if type(value) not in _NEUTRAL or not isinstance(value, tir.BinaryOp):
        raise Declined("it is not a sum, product, minimum or maximum")
    neutral = _NEUTRAL[type(value)]
    if neutral is not None and not (isinstance(nest.init, tir.IntImm | tir.FloatImm) and nest.init.value == neutral):
        raise Declined(f"it does not start from {neutral}")
    if not isinstance(nest.init, tir.IntImm | tir.FloatImm | None):
        raise Declined("it does not start from a constant")
    for own, other in ((value.a, value.b), (value.b, value.a)):
        if structural_equal(own, before) and not _reads(other, nest.store.buffer):
            return other
    raise Declined("it does not update the old element")


def _reads(expr: tir.PrimExpr, buffer: tir.Buffer) -> bool:
    return any(isinstance(node, tir.BufferLoad) and node.buffer.data is buffer.data for node in walk(expr))


def reduced_together(nest: Nest, own: tir.PrimExpr, total: tir.BufferLoad, thread: tir.Var) -> tir.Stmt:
    """Return the statement that reduces `own` across the threads of an axis into `total`."""
    kind, form = nest.store.buffer.dtype, nest.store.value
    assert isinstance(form, tir.BinaryOp)
    assert nest.init is not None
    x, y = tir.Var(kind, "x"), tir.Var(kind, "y")
    reducer = tir.CommReducer((x,), (y,), (replace(form, a=x, b=y),), (nest.init,))
    args = (tir.IntImm("uint32", 1), own, tir.IntImm("bool", 1), total, thread)
    together = tir.Evaluate(tir.Call("handle", ALLREDUCE, args))
    return tir.AttrStmt(reducer, "reduce_scope", tir.IntImm("int32", 0), together)


class _Kernel:
    def __init__(self, nests: Sequence[Nest], shared: int, threads: int) -> None:
        self._nests, self._shared = nests, shared
        self._outer = nests[0].axes[:shared]
        self._block, self._thread = tir.Var("int32", "bx"), tir.Var("int32", "tx")
        self._threads = threads

    def run(self, kept: Sequence[tir.Buffer]) -> tir.Stmt:
        """Return the kernel, with a barrier between any two nests."""
        parts: list[tir.Stmt] = []
        for nest in self._nests:
            parts += [*([barrier()] if parts else []), self._nest(nest)]
        body = allocated(kept, parts)
        return bound(BLOCK_X, extent_of(self._outer), self._block, bound(X, self._threads, self._thread, body))

    def _nest(self, nest: Nest) -> tir.Stmt:
        axes, numbers = nest.axes[: self._shared], unravel(self._block, self._outer).values()
        row = {axis.var: number for axis, number in zip(axes, numbers, strict=True)}
        nest = replace(nest, store=substitute(nest.store, row))
        inner = nest.axes[self._shared :]
        return (
            self._reduced(nest, inner)
            if nest.reduced
            else self._along(nest, inner, lambda place, _: substitute(nest.store, place))
        )

    def _along(
        self, nest: Nest, inner: Sequence[Axis], element: Callable[[dict[tir.Var, tir.PrimExpr], Index], tir.Stmt]
    ) -> tir.Stmt:
        """Return a loop over a row: `element` gets the position and its lane in a vector, and threads take consecutive
        vectors.
        """
        size, width = extent_of(inner), self._width(nest, inner)

        def step(number: tir.Var) -> tir.Stmt:
            first = times(plus(times(number, self._threads), self._thread), width)

            def at(lane: Index) -> tir.Stmt:
                place = plus(first, lane)
                single = {axis.var: make.cast(place, axis.var.dtype) for axis in inner}
                return element(single if len(inner) == 1 else unravel(place, inner), lane)

            whole = at(0) if width == 1 else vectorized("v", width, at)
            return (
                whole
                if is_multiple(size, self._threads * width)
                else when(below(first, make.cast(size, "int32") if isinstance(size, tir.PrimExpr) else size), whole)
            )

        return loop("step", make.cast(ceil_divide(size, self._threads * width), "int32"), step)

    def _width(self, nest: Nest, inner: Sequence[Axis]) -> int:
        """Return how many contiguous elements a thread processes at a time."""
        widest = max(parse_dtype(term.dtype).bytes for term in (nest.store.value, *nest.loads()))
        width = VECTOR_BYTES // max(widest, 4)
        size = constant(extent_of(inner))
        return width if len(inner) == 1 and size is not None and size % width == 0 and size >= width * WARP else 1

    def _reduced(self, nest: Nest, inner: Sequence[Axis]) -> tir.Stmt:
        """Reduce a part of the row in each thread, then across threads; the first thread stores the result."""
        value, form, width = combined_value(nest), nest.store.value, self._width(nest, inner)
        kind, start = nest.store.buffer.dtype, nest.init
        assert isinstance(form, tir.BinaryOp)
        assert start is not None
        partial, total = (new_buffer(name, kind, [size], "local") for name, size in (("partial", width), ("total", 1)))

        def combined(a: tir.PrimExpr, b: tir.PrimExpr) -> tir.PrimExpr:
            return replace(form, a=a, b=b)

        def element(place: dict[tir.Var, tir.PrimExpr], lane: Index) -> tir.Stmt:
            return store(partial, combined(load(partial, lane), substitute(value, place)), lane)

        own: tir.PrimExpr = load(partial, 0)
        for lane in range(1, width):
            own = combined(own, load(partial, lane))
        result = replace(nest.store, value=load(total, 0))
        return allocated([partial, total], [
            sequence([store(partial, start, lane) for lane in range(width)]),
            self._along(nest, inner, element),
            reduced_together(nest, own, load(total, 0), self._thread),
            when(make.equal(self._thread, make.const(0, "int32")), result),
        ])  # fmt: skip
