"""Products of few rows with a large matrix, as in the generation of tokens: the matrix is read once, for all rows together.

    C[m, n] += A[m, k] * B[n, k]             threads share the sum of a result: each reads `chunk` contiguous elements of B at a time,
                                             16 bytes, for `results` neighboring n, and the same part of A for all m

B may be computed from arrays that are contiguous along the sum, such as packed integers of 4 bits and a scale for each group of them:
each element is computed once, in registers.

(TVM: `dlight.gpu.GEMV`, `dlight.gpu.LowBatchGEMV`.)
"""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import Any

from msgspec import Struct
from msgspec.structs import replace

from ....ir import make, tir
from ....ir.base import Node
from ....ir.dtype import parse_dtype
from ....ir.schedule.arguments import Block, Integer
from ....ir.schedule.buffer_arguments import Blocks
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
    index,
    is_multiple,
    least,
    load,
    loop,
    minus,
    new_buffer,
    plus,
    store,
    times,
    when,
)
from ...rules.contraction import extent_of
from ...rules.nest import Axis, Declined, Nest
from ...rules.site import APPLIES, Site
from ..architectures import WARP
from .grid import BLOCK_X, MOST_LENGTH, X, Y, all_of, bound, unravel, unrolled
from .rows import combined_value, reduced_together
from .slices import VECTOR_BYTES, Registers, Slice, Values, loads_in, slices_in

MOST_ROWS, MOST_PLAIN_ROWS = 16, 7
"""Maximum numbers of rows: for a computed matrix, and for one in memory, whose products with more rows use tensor cores."""
FEWEST_COLUMNS, SHORT = 256, 64
"""Minimum numbers of results of a row and of terms of a sum."""
MOST_TERMS = 128
"""Maximum number of terms that a thread adds at a time."""
THREADS = 128
"""Threads of a block."""
ENOUGH = 4096
"""Number of warps that keeps a GPU busy."""
FEW_SUMS = 16
"""Maximum number of sums that several warps add up together, which takes barriers."""


class Gemv(Struct, frozen=True, eq=False):
    """A nest that adds `a * b`, cast to `dtype` if it is not empty, for all values of `depth`: `rows` are the axes that only `a` depends on,
    `outer` all others.
    """

    nest: Nest
    rows: tuple[Axis, ...]
    outer: tuple[Axis, ...]
    depth: Axis
    a: tir.PrimExpr
    b: tir.PrimExpr
    dtype: str

    def term(self, a: tir.PrimExpr, b: tir.PrimExpr) -> tir.PrimExpr:
        """Return the term of a sum for values of both factors."""
        return make.cast(make.mul(a, b), self.dtype) if self.dtype else make.mul(a, b)

    @property
    def length(self) -> int:
        """Return the number of terms of a sum."""
        return self.depth.size or 0

    @property
    def slices(self) -> list[Slice]:
        """Return the parts of `b` that are contiguous along the sum."""
        return slices_in(self.b, self.depth, self.nest.axes)

    @property
    def count(self) -> int:
        """Return the number of rows."""
        return prod(axis.size or 0 for axis in self.rows)

    def is_shared(self, results: int) -> bool:
        """Return whether `a` is the same for groups of neighboring results."""
        used = _axes_in(self.a, self.outer)
        return not used or results == 1 or (self.outer[-1] not in used and is_multiple(self.outer[-1].extent, results))


def read_gemv(nest: Nest) -> Gemv:
    """Return a nest as a product of few rows with a large matrix; Declined if it is none."""
    value = combined_value(nest)
    units = {axis.var: tir.IntImm(axis.var.dtype, 0) for axis in nest.reduced if axis.size == 1}
    depth = [axis for axis in nest.reduced if axis.size != 1]
    if not isinstance(nest.store.value, tir.Add) or len(depth) != 1 or depth[0].size is None:
        raise Declined("it is not a sum of constant length")
    if depth[0].size > MOST_LENGTH:
        raise Declined(f"a sum has more than {MOST_LENGTH} terms")
    match substitute(value, units):
        case tir.Mul(a=left, b=right):
            dtype = ""
        case tir.Cast(dtype=dtype, value=tir.Mul(a=left, b=right)):
            pass
        case _:
            raise Declined("it is not a sum of products")
    for a, b in ((left, right), (right, left)):
        in_a, in_b = _axes_in(a, nest.spatial), _axes_in(b, nest.spatial)
        rows = tuple([axis for axis in nest.spatial if axis in in_a and axis not in in_b])
        outer = tuple([axis for axis in nest.spatial if axis not in rows])
        read = Gemv(nest, rows, outer, depth[0], a, b, dtype)
        columns = constant(extent_of([axis for axis in outer if axis not in in_a]))
        if _is_gemv(read) and (columns is None or columns >= FEWEST_COLUMNS):
            return read
    raise Declined("no factor has few rows and meets a large matrix that is contiguous along the sum")


def _is_gemv(read: Gemv) -> bool:
    most = MOST_PLAIN_ROWS if isinstance(read.b, tir.BufferLoad) else MOST_ROWS
    in_b = _axes_in(read.b, read.outer)
    is_product = all(axis in in_b or axis.size == 1 for axis in read.outer) and _axes_in(read.a, [read.depth])
    return bool(is_product and 0 < read.count <= most and read.length >= SHORT and read.slices)


def _axes_in(expr: tir.PrimExpr, axes: Sequence[Axis]) -> list[Axis]:
    used = {node for node in walk(expr) if isinstance(node, tir.Var)}
    return [axis for axis in axes if axis.var in used]


def _fits(read: Gemv, chunk: int) -> bool:
    return read.length % chunk == 0 and all(found.fits(chunk) for found in read.slices)


def choose_gemv(nest: Nest) -> dict[str, Any]:
    """Return the knobs of `gemv_threads`; Declined if `nest` is not a product of few rows."""
    read = read_gemv(nest)
    most = int(VECTOR_BYTES * 8 / max(found.bits for found in read.slices)) or 1
    chunk = min(1 << most.bit_length() - 1, MOST_TERMS)
    while not _fits(read, chunk):
        chunk //= 2
    parts, columns = read.length // chunk, constant(extent_of(read.outer))
    threads, results = min(WARP, 1 << parts.bit_length() - 1), 1
    if columns is not None:
        most = 1 if isinstance(read.b, tir.BufferLoad) else 2 if read.count <= 2 else 4
        while results < most and read.is_shared(2 * results):
            results *= 2
        while (
            columns // results * threads < ENOUGH * WARP
            and threads * 2 <= min(parts, THREADS)
            and read.count * results <= FEW_SUMS
        ):
            threads *= 2
    return {"threads": threads, "results": results, "chunk": chunk}


def is_busy(nest: Nest) -> bool:
    """Return whether a product of few rows occupies a GPU, so that its sum need not be divided further; False for others."""
    try:
        knobs, columns = choose_gemv(nest), constant(extent_of(read_gemv(nest).outer))
    except Declined:
        return False
    return columns is None or columns // knobs["results"] * knobs["threads"] * 2 >= ENOUGH * WARP


def read_once(nest: Nest) -> set[tir.Buffer]:
    """Return the buffers of the large matrix of a product of few rows; none if `nest` is not one."""
    try:
        read = read_gemv(nest)
    except Declined:
        return set()
    return {found.buffer for found in loads_in(read.b)} - {found.buffer for found in loads_in(read.a)}


@composite(
    requires=(APPLIES,),
    knobs={
        "threads": Knob("the number of threads that share a sum", 1, 256, is_power=True),
        "results": Knob("the number of neighboring results of a row that a thread computes", 1, 8, is_power=True),
        "chunk": Knob("the number of terms that a thread adds at a time", 1, MOST_TERMS, is_power=True),
    },
)
def gemv_threads(
    program: Program,
    block: Block,
    *,
    epilogue: Blocks = (),
    threads: Integer,
    results: Integer = 1,
    chunk: Integer = 8,
) -> None:
    """Multiply few rows by a large matrix, whose elements are read or computed once: threads share each sum.

    `for m, n, k: c[m, n] += a[m, k] * b[n, k]` becomes a kernel in which `threads` threads read rows of b together, each `chunk`
    contiguous elements of `results` rows at a time, and add their products with all rows of a. The blocks of `epilogue` are element-wise.

    Preserves: the result but for the order of summation, which depends on `threads` and `chunk` alone.
    """
    site = Site(program, [block, *epilogue])
    nest = site.with_epilogue()
    kernel = site.build(lambda: _Kernel(read_gemv(nest), threads, results, chunk).run())
    site.replace(kernel, {update.buffer for update in (nest.store, *nest.after[:-1])})


class _Kernel:
    def __init__(self, read: Gemv, threads: int, results: int, chunk: int) -> None:
        if not _fits(read, chunk):
            raise Declined(f"the sum does not consist of aligned parts of {chunk} terms")
        if not read.is_shared(results):
            raise Declined(f"{results} neighboring results have different rows")
        self._read, self._threads, self._results, self._chunk = read, threads, results, chunk
        self._groups = max(THREADS // threads, 1)
        self._end = extent_of(read.outer)
        self._is_whole = is_multiple(self._end, self._groups * results)
        self._bx, self._ty, self._tx = (tir.Var("int32", name) for name in ("bx", "ty", "tx"))
        self._first = times(plus(times(self._bx, self._groups), self._ty), results)
        self._sums = new_buffer("sums", read.nest.store.buffer.dtype, [read.count * results], "local")
        self._element = new_buffer("element", read.b.dtype, [results], "local")
        widest = max([parse_dtype(found.dtype).bytes for found in loads_in(read.a)], default=VECTOR_BYTES)
        self._few = min(chunk, VECTOR_BYTES // widest)
        self._a = Registers("a", read.a, read.depth, read.nest.axes, self._few, read.count)
        self._b = Registers("b", read.b, read.depth, read.nest.axes, chunk, results)

    def run(self) -> tir.Stmt:
        """Return the kernel."""
        read, parts, zero = self._read, self._read.length // self._chunk, make.const(0, self._sums.dtype)

        def step(number: tir.Var) -> tir.Stmt:
            own, part = plus(times(number, self._threads), self._tx), tir.Var("int32", "part")
            is_inside = tir.IntImm("bool", 1) if parts % self._threads == 0 else below(own, parts)
            return when(is_inside, substitute(self._part(part), {part: own}))

        body = [
            unrolled("i", read.count * self._results, lambda i: store(self._sums, zero, i)),
            loop("step", index(-(-parts // self._threads), "int32"), step),
            *[self._finish(row, result) for row in range(read.count) for result in range(self._results)],
        ]
        memory = [self._sums, *self._b.buffers, *self._a.buffers, self._element]
        inside = bound(Y, self._groups, self._ty, bound(X, self._threads, self._tx, allocated(memory, body)))
        return bound(BLOCK_X, ceil_divide(self._end, self._groups * self._results), self._bx, inside)

    def _outer(self, result: Index) -> Values:
        """Return the values of the outer axes of a result; those beyond the last one are those of the last one."""
        number = plus(self._first, result)
        inside = number if self._is_whole else make.cast(least(number, minus(self._end, 1)), "int32")
        return unravel(inside, self._read.outer)

    def _row(self, row: Index) -> Values:
        """Return the values of the axes of `a`, whose outer ones are the same for all results of a thread."""
        return {**self._outer(0), **unravel(index(row, "int32"), self._read.rows)}

    def _part(self, part: tir.Var) -> tir.Stmt:
        """Add the terms of a part of the sum: `_few` at a time, for which `a` is in registers."""
        pieces = self._chunk // self._few

        def piece(u: tir.Var) -> tir.Stmt:
            number = plus(times(part, pieces), u)
            terms = unrolled("e", self._few, lambda e: self._term(part, number, u, e))
            return sequence([*self._a.fill(number, self._row), terms])

        return sequence([*self._b.fill(part, self._outer), unrolled("u", pieces, piece)])

    def _term(self, part: tir.Var, number: tir.PrimExpr, u: tir.Var, e: tir.Var) -> tir.Stmt:
        """Add term `e` of piece `u` of a part to all sums; the piece has this number among all."""
        sums, ends = self._sums, {u: self._chunk // self._few, e: self._few}

        def added(r: tir.Var, m: tir.Var) -> tir.Stmt:
            place = plus(times(m, self._results), r)
            a = self._a.value(m, number, e, self._row(m), ends)
            term = self._read.term(a, load(self._element, r))
            return store(sums, replace(self._read.nest.store.value, a=load(sums, place), b=term), place)

        def result(r: tir.Var) -> tir.Stmt:
            b = self._b.value(r, part, plus(times(u, self._few), e), self._outer(r), ends)
            return sequence([store(self._element, b, r), unrolled("m", self._read.count, lambda m: added(r, m))])

        return unrolled("r", self._results, result)

    def _finish(self, row: int, result: int) -> tir.Stmt:
        """Add the sums of all threads, and store a result."""
        nest, is_first = self._read.nest, make.equal(self._tx, make.const(0, "int32"))
        is_inside = [] if self._is_whole else [below(plus(self._first, result), self._end)]
        condition = all_of([is_first, *is_inside])
        assert condition is not None
        values = {**self._outer(result), **unravel(index(row, "int32"), self._read.rows)}
        memory = [new_buffer("total", self._sums.dtype, [1], "local")]
        kept, statements = {nest.store.buffer: load(memory[0], 0)}, list[tir.Stmt]()

        def near(node: Node) -> Node | None:
            return kept.get(node.buffer) if isinstance(node, tir.BufferLoad) else None

        for update in nest.after[:-1]:
            memory.append(new_buffer("kept", update.buffer.dtype, [1], "local"))
            statements.append(store(memory[-1], substitute(rewrite(update.value, near), values), 0))
            kept[update.buffer] = load(memory[-1], 0)
        last = nest.after[-1] if nest.after else replace(nest.store, value=load(memory[0], 0))
        statements.append(substitute(replace(last, value=rewrite(last.value, near)), values))
        own = load(self._sums, row * self._results + result)
        together = reduced_together(nest, own, load(memory[0], 0), self._tx)
        return allocated(memory, [together, when(condition, statements)])
