"""Attention on tensor cores: scores, softmax and weighted sum in one kernel, without scores in global memory.

Four warps compute 64 rows of a head's result, 16 each. The keys and values stream through shared memory in tiles of 64 rows: while
the warps compute with one tile, `cp.async` copies the next. Each warp keeps in registers its rows of the query, of the scores of a
tile, and of the result, with the maximum score and the sum of the weights of each row so far. A greater maximum scales the result
and the sum down. (T. Dao et al., "FlashAttention", 2022; M. Milakov and N. Gimelshein, "Online normalizer calculation for softmax",
2018.)

The layout of the accumulated scores of 16 × 16 is that of the left factor of `mma.sync`, so that weights stay in their registers.
Lines of 16 bytes in shared memory are swizzled as in `tensor_cores`.
"""

from __future__ import annotations

from collections.abc import Callable
from math import e, log2

from msgspec import Struct

from ....ir import make, te, tir
from ....ir.base import Op
from ....ir.equal import structural_equal
from ....ir.ops.attention import SCALED, WIDTHS, attended
from ....ir.schedule.arguments import Block, Integer
from ....ir.schedule.declaration import Knob, composite
from ....ir.schedule.program import Program
from ....ir.visit import walk
from ...lower.rewriter import sequence
from ...rules.build import (
    Index,
    allocated,
    below,
    ceil_divide,
    if_then_else,
    is_multiple,
    lanes,
    least,
    load,
    loop,
    most,
    new_buffer,
    plus,
    store,
    times,
    view,
    when,
)
from ...rules.nest import Declined
from ...rules.site import APPLIES, Site, working_function
from ..allreduce import barrier
from ..architectures import FIRST_WITH_COPIES, WARP
from . import grid
from .grid import X, Y, bound, mixed, over, rest, unrolled, vectorized
from .tensor_cores import PTX_TYPES

TILE, WARPS, STAGES = 64, 4, 2
THREADS = WARPS * WARP
LINE = 8
"""Number of elements that a thread copies at once."""


class Attention(Struct, frozen=True):
    """Attention of `query` (batch, rows, heads, width) to `key` and `value` (batch, columns, groups, width)."""

    query: tir.Buffer
    key: tir.Buffer
    value: tir.Buffer
    result: tir.Buffer
    sizes: tuple[int, int, int, int, int, int]
    """Batches, rows, columns, heads, heads of keys and values, width."""
    scale: float
    offset: int | None
    """Row i attends to columns up to i + offset; None: to all."""


class Kernel:
    """The kernel of an attention."""

    def __init__(self, attention: Attention) -> None:
        self.attention = attention
        _, self.rows, self.columns, self.heads, self.groups, self.width = attention.sizes
        kind, width = attention.query.dtype, self.width
        self.kind = kind
        self.bz, self.by, self.bx = (tir.Var("int32", name) for name in ("bz", "by", "bx"))
        self.lane, self.warp = tir.Var("int32", "tx"), tir.Var("int32", "ty")
        self.thread = plus(times(self.warp, WARP), self.lane)
        self.keys, self.values = (
            new_buffer(name, kind, [STAGES * TILE * width], "shared.dyn") for name in ("keys", "values")
        )
        self.a = new_buffer("a", kind, [width // 2], "local")
        self.b = new_buffer("b", kind, [8], "local")
        self.weights = new_buffer("weights", kind, [8], "local")
        self.scores, self.total = (
            new_buffer(name, "float32", [size // 8 * 4], "local") for name, size in (("scores", TILE), ("total", width))
        )
        self.top, self.sum, self.found, self.factor = (
            new_buffer(name, "float32", [2], "local") for name in ("top", "sum", "found", "factor")
        )
        self.own = [self.a, self.b, self.weights, self.scores, self.total, self.top, self.sum, self.found, self.factor]
        self.first = plus(times(self.bx, TILE), times(self.warp, 16))
        """The first row of the warp."""
        self.row = plus(self.first, over(self.lane, 4))
        self.end: tir.PrimExpr = tir.IntImm("int32", self.columns)
        """The end of the columns to which rows of the block attend."""
        if attention.offset is not None:
            end = least(plus(times(self.bx, TILE), TILE + attention.offset), self.end)
            self.end = end if attention.offset >= 0 else most(end, 0)

    def run(self) -> tir.Stmt:
        """Return the kernel."""
        zero, least = make.const(0.0, "float32"), make.const(float("-inf"), "float32")
        first = [
            self._fetch(tir.IntImm("int32", 0), tir.IntImm("int32", 0)),
            self._load_query(),
            _each(self.total, self.width // 2, lambda i: zero),
            _each(self.top, 2, lambda i: least),
            _each(self.sum, 2, lambda i: zero),
        ]
        steps = loop("step", ceil_divide(self.end, TILE), self._step)
        body = allocated([self.keys, self.values, *self.own], [*first, steps, self._store()])
        body = bound(Y, WARPS, self.warp, bound(X, WARP, self.lane, body))
        batch = self.attention.sizes[0]
        return grid.blocks([(batch, self.bz), (self.heads, self.by), (-(-self.rows // TILE), self.bx)], body)

    def _global(self, buffer: tir.Buffer, row: Index, head: Index, column: Index, is_query: bool) -> tir.PrimExpr:
        length, heads = (self.rows, self.heads) if is_query else (self.columns, self.groups)
        line = plus(times(plus(times(self.bz, length), row), heads), head)
        return plus(times(line, self.width), column)

    def _load_query(self) -> tir.Stmt:
        query = _flat(self.attention.query)
        quad = times(rest(self.lane, 4), 2)
        empty = tir.Broadcast(f"{self.kind}x2", make.const(0.0, self.kind), tir.IntImm("int32", 2))

        def part(k: tir.Var) -> tir.Stmt:
            def register(r: int) -> tir.Stmt:
                row, column = plus(self.row, r % 2 * 8), plus(plus(times(k, 16), quad), r // 2 * 8)
                value: tir.PrimExpr = load(query, lanes(self._global(query, row, self.by, column, True), 2))
                if not is_multiple(self.rows, TILE):
                    value = if_then_else(below(row, self.rows), value, empty)
                return store(self.a, value, lanes(plus(times(k, 8), 2 * r), 2))

            return sequence([register(r) for r in range(4)])

        return unrolled("k", self.width // 16, part)

    def _place(self, stage: tir.PrimExpr, row: tir.PrimExpr, column: tir.PrimExpr) -> tir.PrimExpr:
        line = mixed(over(column, LINE), rest(row, 8))
        start = plus(times(stage, TILE * self.width), times(row, self.width))
        return plus(start, plus(times(line, LINE), rest(column, LINE)))

    def _fetch(self, stage: tir.PrimExpr, step: tir.PrimExpr) -> tir.Stmt:
        """Begin the copies of the keys and values of a step."""
        head = (
            over(self.by, 1)
            if self.heads == self.groups
            else make.floordiv(self.by, make.const(self.heads // self.groups, "int32"))
        )
        of_row = self.width // LINE

        def copies(memory: tir.Buffer, source: tir.Buffer) -> tir.Stmt:
            def copy(number: tir.Var) -> tir.Stmt:
                place = plus(times(number, THREADS), self.thread)
                row, column = over(place, of_row), times(rest(place, of_row), LINE)
                at = plus(times(step, TILE), row)
                target = (memory.data, self._place(stage, row, column))
                origin = (source.data, self._global(source, at, head, column, False))
                args = (*target, *origin, tir.IntImm("int32", LINE * 2), below(at, self.end))
                return tir.Evaluate(tir.Call(self.kind, Op("tir.ptx_cp_async"), args))

            return unrolled("copy", TILE * self.width // LINE // THREADS, copy)

        attention = self.attention
        both = [copies(self.keys, attention.key), copies(self.values, attention.value)]
        return sequence([*both, _do("ptx_commit_group")])

    def _step(self, step: tir.Var) -> tir.Stmt:
        ahead = plus(step, 1)
        stage = rest(step, STAGES)
        return sequence(
            [
                _do("ptx_wait_group", tir.IntImm("int32", 0)),
                barrier(),
                self._fetch(rest(ahead, STAGES), ahead),
                _each(self.scores, TILE // 2, lambda i: make.const(0.0, "float32")),
                self._multiply_keys(stage),
                self._scale(step),
                self._soften(),
                self._multiply_values(stage),
            ]
        )

    def _fragment(
        self, memory: tir.Buffer, stage: tir.PrimExpr, row: Index, column: Index, transposed: bool
    ) -> tir.Stmt:
        """Load the right factors of two products."""
        low, high = times(rest(over(self.lane, 8), 2), 8), times(over(self.lane, 16), 8)
        down, right = (low, high) if transposed else (high, low)
        place = self._place(stage, plus(plus(row, down), rest(self.lane, 8)), plus(column, right))
        zero = tir.IntImm("int32", 0)
        args = (tir.IntImm("bool", int(transposed)), tir.IntImm("int32", 4), tir.StringImm("handle", ".b16"))
        return tir.Evaluate(tir.Call(self.kind, Op("tir.ptx_ldmatrix"), (*args, self.b.data, zero, memory.data, place)))

    def _products(self, left: tir.Buffer, at: Index, result: tir.Buffer, tile: tir.PrimExpr) -> tir.Stmt:
        """Add two products to tiles `tile` and `tile + 1` of 16 × 8."""
        kind = PTX_TYPES[self.kind]
        words = [tir.StringImm("handle", word) for word in ("m16n8k16", "row", "col", kind, kind, "fp32")]

        def product(half: int) -> tir.Stmt:
            start = at if isinstance(at, tir.PrimExpr) else tir.IntImm("int32", at)
            factors = (left.data, start, self.b.data, tir.IntImm("int32", 4 * half))
            pointers = (*factors, result.data, times(plus(tile, half), 4))
            return tir.Evaluate(tir.Call("float32", Op("tir.ptx_mma"), (*words, *pointers, tir.IntImm("bool", 0))))

        return sequence([product(0), product(1)])

    def _multiply_keys(self, stage: tir.PrimExpr) -> tir.Stmt:
        def tile(k: tir.Var, j: tir.Var) -> tir.Stmt:
            loads = self._fragment(self.keys, stage, times(j, 16), times(k, 16), False)
            return sequence([loads, self._products(self.a, times(k, 8), self.scores, times(j, 2))])

        return unrolled("k", self.width // 16, lambda k: unrolled("j", TILE // 16, lambda j: tile(k, j)))

    def _multiply_values(self, stage: tir.PrimExpr) -> tir.Stmt:
        def tile(k: tir.Var, j: tir.Var) -> tir.Stmt:
            loads = self._fragment(self.values, stage, times(k, 16), times(j, 16), True)
            return sequence([loads, self._products(self.weights, 0, self.total, times(j, 2))])

        def part(k: tir.Var) -> tir.Stmt:
            rounded = _each(self.weights, 8, lambda i: make.cast(load(self.scores, plus(times(k, 8), i)), self.kind))
            return sequence([rounded, unrolled("j", self.width // 16, lambda j: tile(k, j))])

        return unrolled("k", TILE // 16, part)

    def _scale(self, step: tir.Var) -> tir.Stmt:
        """Scale scores to powers of two, and mask those that do not count, if the tile has any for the warp."""
        scale, offset = make.const(self.attention.scale * log2(e), "float32"), self.attention.offset
        start = times(step, TILE)

        def scaled(i: tir.Var) -> tir.PrimExpr:
            return make.mul(load(self.scores, i), scale)

        def masked(i: tir.Var) -> tir.PrimExpr:
            quad = plus(times(rest(self.lane, 4), 2), rest(i, 2))
            column = plus(plus(start, times(over(i, 4), 8)), quad)
            counts = below(column, self.columns)
            if offset is not None:
                counts = make.logical_and(counts, below(column, plus(plus(self.row, times(_row_of(i), 8)), offset + 1)))
            return make.select(counts, scaled(i), make.const(float("-inf"), "float32"))

        if offset is None and is_multiple(self.columns, TILE):
            return _each(self.scores, TILE // 2, scaled)
        end: tir.PrimExpr = tir.IntImm("int32", self.columns)
        if offset is not None:
            end = least(plus(self.first, offset + 1), end)
        is_whole = below(plus(start, TILE - 1), end)
        return tir.IfThenElse(is_whole, *(_each(self.scores, TILE // 2, value) for value in (scaled, masked)))

    def _soften(self) -> tir.Stmt:
        """Replace scores by weights; scale the sum and the result so far to the new maximum."""

        def greatest(i: tir.Var) -> tir.Stmt:
            return store(self.found, most(load(self.found, _row_of(i)), load(self.scores, i)), _row_of(i))

        def weight(i: tir.Var) -> tir.Stmt:
            value = _power(make.sub(load(self.scores, i), load(self.found, _row_of(i))))
            more = make.add(load(self.sum, _row_of(i)), load(self.scores, i))
            return sequence([store(self.scores, value, i), store(self.sum, more, _row_of(i))])

        def shift(r: tir.Var) -> tir.PrimExpr:
            """Return the value to subtract from scores: the maximum, or 0 if that is -inf, because -inf minus -inf is NaN."""
            is_least = make.equal(load(self.found, r), make.const(float("-inf"), "float32"))
            return make.select(is_least, make.const(0.0, "float32"), load(self.found, r))

        def factor(r: tir.Var) -> tir.PrimExpr:
            return _power(make.sub(load(self.top, r), shift(r)))

        return sequence(
            [
                _each(self.found, 2, lambda r: load(self.top, r)),
                unrolled("i", TILE // 2, greatest),
                *self._across(self.found, make.maximum),
                _each(self.factor, 2, factor),
                _each(self.top, 2, lambda r: load(self.found, r)),
                _each(self.found, 2, shift),
                _each(self.sum, 2, lambda r: make.mul(load(self.sum, r), load(self.factor, r))),
                unrolled("i", TILE // 2, weight),
                _each(
                    self.total, self.width // 2, lambda i: make.mul(load(self.total, i), load(self.factor, _row_of(i)))
                ),
            ]
        )

    def _across(
        self, buffer: tir.Buffer, combine: Callable[[tir.PrimExpr, tir.PrimExpr], tir.PrimExpr]
    ) -> list[tir.Stmt]:
        """Combine the values of the four threads that share rows."""

        def step(r: int, offset: int) -> tir.Stmt:
            other, own = tir.Var("float32", "other"), load(buffer, r)
            every = tir.IntImm("uint32", 2**32 - 1)
            numbers = [tir.IntImm("int32", number) for number in (offset, WARP, WARP)]
            shuffled = tir.Call("float32", Op("tir.tvm_warp_shuffle_xor"), (every, own, *numbers))
            return tir.LetStmt(other, shuffled, store(buffer, combine(own, other), r))

        return [step(r, offset) for offset in (1, 2) for r in (0, 1)]

    def _store(self) -> tir.Stmt:
        result = _flat(self.attention.result)
        quad, offset = times(rest(self.lane, 4), 2), self.attention.offset

        def pair(j: tir.Var, half: int) -> tir.Stmt:
            row = plus(self.row, 8 * half)
            place = self._global(result, row, self.by, plus(times(j, 8), quad), True)

            def element(i: tir.Var) -> tir.Stmt:
                value = make.div(load(self.total, plus(plus(times(j, 4), 2 * half), i)), load(self.sum, half))
                if offset is not None and offset < 0:  # rows that attend to no column
                    value = make.select(below(row, -offset), make.const(0.0, "float32"), value)
                return store(result, make.cast(value, self.kind), plus(place, i))

            whole = vectorized("i", 2, element)
            return whole if is_multiple(self.rows, TILE) else when(below(row, self.rows), whole)

        stores = unrolled("j", self.width // 8, lambda j: sequence([pair(j, 0), pair(j, 1)]))
        return sequence([*self._across(self.sum, make.add), stores])


def _row_of(i: tir.PrimExpr) -> tir.PrimExpr:
    """Return which of the two rows of a thread element `i` of accumulators belongs to."""
    return rest(over(i, 2), 2)


def _flat(buffer: tir.Buffer) -> tir.Buffer:
    size = 1
    for extent in buffer.shape:
        assert isinstance(extent, tir.IntImm)
        size *= extent.value
    return view(buffer, [size], [1], 0)


def _each(buffer: tir.Buffer, count: int, value: Callable[[tir.Var], tir.PrimExpr]) -> tir.Stmt:
    return unrolled("i", count, lambda i: store(buffer, value(i), i))


def _power(value: tir.PrimExpr) -> tir.PrimExpr:
    return tir.Call("float32", Op("tir.exp2"), (value,))


def _do(name: str, *args: tir.PrimExpr) -> tir.Stmt:
    return tir.Evaluate(tir.Call("void", Op(f"tir.{name}"), args))


# --- Recognition ------------------------------------------------------------------------------------------------


def read_attention(function: tir.PrimFunc, arch: int) -> Attention:
    """Return the attention that a function computes; Declined if it computes something else than `attended`."""
    if arch < FIRST_WITH_COPIES:
        raise Declined(f"attention in one kernel needs sm_{FIRST_WITH_COPIES}; the target is sm_{arch}")
    buffers = [function.buffer_map.get(param) for param in function.params]
    scales = [
        node.body.value.b
        for node in walk(function.body)
        if isinstance(node, tir.Block) and node.name_hint == SCALED and isinstance(node.body, tir.BufferStore)
        and isinstance(node.body.value, tir.Mul)
    ]  # fmt: skip
    if len(buffers) != 4 or None in buffers or len(scales) != 1 or not isinstance(scales[0], tir.FloatImm):
        raise Declined("it is not an attention")
    query, key, value, result = (buffer for buffer in buffers if buffer is not None)
    shapes = [[size.value for size in buffer.shape if isinstance(size, tir.IntImm)] for buffer in (query, key)]
    if any(len(shape) != 4 for shape in shapes) or query.dtype not in PTX_TYPES:
        raise Declined("the sizes of the attention are not constant")
    (batch, rows, heads, width), (_, columns, groups, _) = shapes
    scale = scales[0].value
    places = [te.placeholder(buffer.shape, buffer.dtype, buffer.name) for buffer in (query, key, value)]
    for offset in (None, 0, columns - rows):
        wanted = te.create_prim_func([*places, attended(places[0], places[1], places[2], scale, offset)])
        if structural_equal(wanted.body, function.body, True):
            break
    else:
        raise Declined("it is not an attention")
    if width not in WIDTHS:
        raise Declined(f"a head has {width} elements")
    return Attention(query, key, value, result, (batch, rows, columns, heads, groups, width), scale, offset)


@composite(requires=(APPLIES,), knobs={"arch": Knob("the first architecture that can run it, 80 for sm_80", 80, 121)})
def flash_attention(program: Program, *blocks: Block, arch: Integer) -> None:
    """Compute attention in one kernel on tensor cores: scores, softmax and weighted sum of float16 or bfloat16, for heads of 64 or 128.

    The blocks are those of the whole function, as `R.nn.attention` is lowered for GPUs.

    Preserves: the result but for rounding: weights are rounded to the dtype of the values, and sums are computed in another order. With
    a causal mask, values of keys to which no row of a tile attends are not read, so that NaN and infinity there have no effect.
    """
    site = Site(program, blocks)
    _, function = working_function(program)
    kernel = site.build(lambda: Kernel(read_attention(function, arch)).run())
    site.replace(kernel, set(site.root.alloc_buffers))
