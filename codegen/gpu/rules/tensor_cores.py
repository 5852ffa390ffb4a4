"""Products of float16, bfloat16 and bytes on tensor cores: `mma.sync` on registers that `ldmatrix` loads from shared
memory.

Four warps compute a tile, a quarter each. A step multiplies `DEPTH` columns by as many rows, twice as many of bytes, which are moved
and multiplied in pairs, like elements of 16 bits. While the warps compute one step,
`cp.async` copies the operands of the next steps to shared memory, which holds those of `STAGES` steps. Lines of 16 bytes are
swizzled: line `c` of row `r` is at `c ^ r`. Eight threads then read eight lines of a row or of a column without bank
conflicts. (CUTLASS: "Efficient GEMM in CUDA", Swizzled layouts.)
"""

from __future__ import annotations

from typing import Any

from ....ir import make, tir
from ....ir.base import Op
from ....ir.dtype import parse_dtype
from ....ir.schedule.arguments import Block, Integer
from ....ir.schedule.buffer_arguments import Blocks
from ....ir.schedule.declaration import Knob, composite
from ....ir.schedule.program import Program
from ...lower.rewriter import sequence
from ...rules.build import (
    Index,
    allocated,
    ceil_divide,
    constant,
    lanes,
    load,
    loop,
    new_buffer,
    plus,
    store,
    times,
)
from ...rules.contraction import BYTE_DTYPES
from ...rules.nest import Declined, Nest
from ...rules.site import APPLIES, Site
from ..allreduce import barrier
from ..architectures import FIRST_WITH_COPIES, WARP
from .grid import X, Y, Z, mixed, over, rest, unrolled, vectorized
from .product import LEAST, NARROW, TILE_KNOBS, Factor, Product, choose_tile, read_product

STAGES, DEPTH = 3, 32
TILES = (128, 64, 32)
SIDE = 2
"""Warps of a block along each side of its tile."""
THREADS = SIDE * SIDE * WARP
LINE_BYTES = 16
PTX_TYPES = {"float16": "fp16", "bfloat16": "bf16", "int8": "int8", "uint8": "uint8"}
FIRST = {"float16": 75, "bfloat16": 80, "int8": 80, "uint8": 80}
"""The first architecture whose tensor cores support each dtype."""


def _read(nest: Nest, arch: int) -> Product:
    product = read_product(nest, takes_bytes=True)
    kind, result = product.a.dtype, product.c.dtype
    is_of_bytes = kind in BYTE_DTYPES
    is_known = kind in FIRST and (is_of_bytes or (product.b.dtype == kind and result in ("float32", *NARROW)))
    if not is_known:
        raise Declined(f"tensor cores do not multiply '{kind}' and '{product.b.dtype}' into '{result}'")
    if arch < FIRST[kind]:
        raise Declined(f"tensor cores multiply '{kind}' from sm_{FIRST[kind]} on; the target is sm_{arch}")
    if is_of_bytes and not all(factor.is_deep and factor.width >= 4 for factor in (product.a, product.b)):
        raise Declined("bytes are only loaded in aligned groups of 4 along the sum")
    return product


def choose_tensor_cores(nest: Nest, arch: int) -> dict[str, Any]:
    """Return the knobs of `tensor_core_tiles` for an architecture (80 for sm_80); Declined if `nest` is not a suitable product."""
    product = _read(nest, arch)
    if any((constant(size) or LEAST) < LEAST for size in (product.m, product.n)):
        raise Declined(f"a matrix has fewer than {LEAST} rows or columns")
    rows, columns = choose_tile(product, TILES)
    return {"rows": rows, "columns": columns, "arch": arch}


@composite(
    requires=(APPLIES,),
    knobs={**TILE_KNOBS, "arch": Knob("the first architecture that can run it, 80 for sm_80", 75, 121)},
)
def tensor_core_tiles(
    program: Program,
    block: Block,
    *,
    epilogue: Blocks = (),
    rows: Integer,
    columns: Integer,
    arch: Integer,
) -> None:
    """Compute a product of float16, bfloat16 or bytes on tensor cores: four warps compute a tile of `rows` × `columns`.

    `c[i, j] += a[i, k] * b[k, j]` becomes a kernel whose blocks copy parts of A and B to shared memory three steps of 32 ahead
    (asynchronously from sm_80 on), load fragments with `ldmatrix`, and multiply them with `mma.sync`. The blocks of `epilogue`
    are element-wise.

    Preserves: the result but for the order of summation: it is rounded to float32 in each step. Sums of bytes are exact.
    """
    site = Site(program, [block, *epilogue])
    nest = site.with_epilogue()
    kernel = site.build(lambda: _Kernel(_read(nest, arch), (rows, columns), arch).run())
    site.replace(kernel, {store.buffer for store in (nest.store, *nest.after[:-1])})


class _Tile:
    """The shared memory of a factor: `STAGES` tiles of `span` × `DEPTH` elements."""

    def __init__(self, name: str, factor: Factor, span: int, is_asynchronous: bool) -> None:
        size = parse_dtype(factor.dtype).bytes
        self.factor, self.span = factor, span
        self._pair, self._line = 2 // size, LINE_BYTES // size
        self._depth = DEPTH * self._pair
        self._rows, self._columns = (span, self._depth) if factor.is_deep else (self._depth, span)
        self.memory = new_buffer(name, factor.dtype, [STAGES * span * self._depth], "shared")
        self._bytes = factor.width * size
        self._is_asynchronous = is_asynchronous and self._bytes > 2

    def place(self, stage: tir.PrimExpr, row: tir.PrimExpr, column: tir.PrimExpr) -> tir.PrimExpr:
        """Return the position of an element."""
        lines, length = self._columns // self._line, self._line
        turned = rest(over(row, 2), lines) if lines < 8 else rest(row, 8)
        line = mixed(over(column, length), turned)
        start = plus(times(stage, self.span * self._depth), times(row, self._columns))
        return plus(start, plus(times(line, length), rest(column, length)))

    def fetch(self, stage: tir.PrimExpr, start: tir.PrimExpr, step: tir.PrimExpr, thread: tir.PrimExpr) -> tir.Stmt:
        """Return the copies of the tile of step `step`, whose span begins at `start`."""
        width, of_row = self.factor.width, self._columns // self.factor.width

        def copy(number: tir.Var) -> tir.Stmt:
            place = plus(times(number, THREADS), thread)
            row, column = over(place, of_row), times(rest(place, of_row), width)
            span, depth = (row, column) if self.factor.is_deep else (column, row)
            return self._copy(self.place(stage, row, column), plus(start, span), plus(times(step, self._depth), depth))

        return unrolled("copy", self.span * self._depth // width // THREADS, copy)

    def _copy(self, target: tir.PrimExpr, span: tir.PrimExpr, depth: tir.PrimExpr) -> tir.Stmt:
        factor = self.factor
        if not self._is_asynchronous:
            return store(self.memory, factor.read(span, depth, self.span), lanes(target, factor.width))
        condition = factor.inside(span, depth, self.span)
        source = (factor.view.data, factor.place(span, depth))
        args = (self.memory.data, target, *source, tir.IntImm("int32", self._bytes))
        return tir.Evaluate(tir.Call(factor.dtype, Op("tir.ptx_cp_async"), (*args, condition)))

    def fragments(
        self,
        stage: tir.PrimExpr,
        span: tir.PrimExpr,
        depth: Index,
        lane: tir.Var,
        is_left: bool,
        to: tir.Buffer,
        at: tir.PrimExpr,
    ) -> tir.Stmt:
        """Return the load of 16 × 16 elements, or pairs of bytes, as four matrices of 8 × 8, in the order of the product: for the left
        factor along rows first, for the right one along the depth first.
        """
        low, high = times(rest(over(lane, 8), 2), 8), times(over(lane, 16), 8)
        along, deep = (low, high) if is_left else (high, low)
        eight = rest(lane, 8)
        if self.factor.is_deep:
            row, column = plus(span, plus(along, eight)), plus(depth, times(deep, self._pair))
        else:
            row, column = plus(plus(deep, eight), depth), plus(span, along)
        transposed = tir.IntImm("bool", int(not self.factor.is_deep))
        args = (transposed, tir.IntImm("int32", 4), tir.StringImm("handle", ".b16"), to.data, at)
        call = tir.Call(to.dtype, Op("tir.ptx_ldmatrix"), (*args, self.memory.data, self.place(stage, row, column)))
        return tir.Evaluate(call)


class _Kernel:
    def __init__(self, product: Product, tile: tuple[int, int], arch: int) -> None:
        self.product, self._tile = product, tile
        self._rows, self._columns = (size // SIDE // 16 for size in self._tile)
        """Number of 16 × 16 tiles of a warp."""
        self._lane, self._ty, self._tz = (tir.Var("int32", name) for name in ("tx", "ty", "tz"))
        self._thread = plus(times(plus(times(self._tz, SIDE), self._ty), WARP), self._lane)
        self._is_of_bytes = product.a.dtype in BYTE_DTYPES
        self._pair = 2 if self._is_of_bytes else 1
        self._depth = (16 if arch >= 80 else 8) * self._pair
        is_asynchronous = arch >= FIRST_WITH_COPIES
        self._left = _Tile("left", product.a, self._tile[0], is_asynchronous)
        self._right = _Tile("right", product.b, self._tile[1], is_asynchronous)
        self._total = new_buffer(
            "total", "int32" if self._is_of_bytes else "float32", [self._rows * self._columns * 8], "local"
        )
        self._a = new_buffer("a", product.a.dtype, [self._rows * 8 * self._pair], "local")
        self._b = new_buffer("b", product.b.dtype, [self._columns * 8 * self._pair], "local")

    def run(self) -> tir.Stmt:
        """Return the kernel."""
        threads = ((Z, SIDE, self._tz), (Y, SIDE, self._ty), (X, WARP, self._lane))
        return self.product.launch(self._tile, threads, self._body)

    def _body(self, row: tir.PrimExpr, column: tir.PrimExpr) -> tir.Stmt:
        zero = make.const(0, self._total.dtype)
        zeros = unrolled("i", self._rows * self._columns * 2, lambda i: store(self._total, zero, lanes(times(i, 4), 4)))
        ahead = [self._fetch(tir.IntImm("int32", i), tir.IntImm("int32", i), row, column) for i in range(STAGES - 1)]
        steps = loop(
            "step",
            make.cast(ceil_divide(self.product.k, DEPTH * self._pair), "int32"),
            lambda step: self._step(step, row, column),
        )
        memory = [self._left.memory, self._right.memory, self._total, self._a, self._b]
        return allocated(memory, [zeros, *ahead, steps, self._store(row, column)])

    def _fetch(self, stage: tir.PrimExpr, step: tir.PrimExpr, row: tir.PrimExpr, column: tir.PrimExpr) -> tir.Stmt:
        """Begin the copies of a step, as one group."""
        copies = [
            self._left.fetch(stage, row, step, self._thread),
            self._right.fetch(stage, column, step, self._thread),
        ]
        return sequence([*copies, tir.Evaluate(tir.Call("void", Op("tir.ptx_commit_group"), ()))])

    def _step(self, step: tir.Var, row: tir.PrimExpr, column: tir.PrimExpr) -> tir.Stmt:
        """Wait for the copies of a step, begin those of the step that reuses the previous stage, and multiply."""
        waited = tir.Call("void", Op("tir.ptx_wait_group"), (tir.IntImm("int32", STAGES - 2),))
        ahead = plus(step, STAGES - 1)
        fetch = self._fetch(make.floormod(ahead, make.const(STAGES, "int32")), ahead, row, column)
        stage = make.floormod(step, make.const(STAGES, "int32"))
        multiply = unrolled("part", DEPTH // 16, lambda part: self._multiply(stage, times(part, 16 * self._pair)))
        return sequence([tir.Evaluate(waited), barrier(), fetch, multiply])

    def _multiply(self, stage: tir.PrimExpr, depth: tir.PrimExpr) -> tir.Stmt:
        top, left = times(self._tz, self._rows * 16), times(self._ty, self._columns * 16)

        def load_left(i: tir.Var) -> tir.Stmt:
            span = plus(top, times(i, 16))
            return self._left.fragments(stage, span, depth, self._lane, True, self._a, times(i, 8 * self._pair))

        def load_right(j: tir.Var) -> tir.Stmt:
            span = plus(left, times(j, 16))
            return self._right.fragments(stage, span, depth, self._lane, False, self._b, times(j, 8 * self._pair))

        products = unrolled("i", self._rows, lambda i: unrolled("j", self._columns * 2, lambda j: self._mma(i, j)))
        loads = [unrolled("i", self._rows, load_left), unrolled("j", self._columns, load_right)]
        return sequence([*loads, products])

    def _mma(self, i: tir.Var, j: tir.Var) -> tir.Stmt:
        """Add the product of 16 × 16 and 16 × 8 elements or pairs, in one step or two."""
        left, right = (PTX_TYPES[factor.dtype] for factor in (self.product.a, self.product.b))
        words = (f"m16n8k{self._depth}", "row", "col", left, right, "int32" if self._is_of_bytes else "fp32")
        total = times(plus(times(i, self._columns * 2), j), 4)
        parts: list[tir.Stmt] = []
        for part in range(16 * self._pair // self._depth):
            a, b = plus(times(i, 8 * self._pair), part * 4), plus(times(j, 4 * self._pair), part * 2)
            pointers = (self._a.data, a, self._b.data, b, self._total.data, total)
            texts = [tir.StringImm("handle", word) for word in words]
            args = (*texts, *pointers, tir.IntImm("bool", 0))
            parts.append(tir.Evaluate(tir.Call(self._total.dtype, Op("tir.ptx_mma"), args)))
        return sequence(parts)

    def _store(self, row: tir.PrimExpr, column: tir.PrimExpr) -> tir.Stmt:
        """Store the result; a thread has pairs of adjacent elements, eight rows apart."""
        top = plus(plus(row, times(self._tz, self._rows * 16)), over(self._lane, 4))
        left = plus(plus(column, times(self._ty, self._columns * 16)), times(rest(self._lane, 4), 2))
        product, kind = self.product, self.product.c.dtype
        is_same = kind == self._total.dtype
        kept = self._total if is_same else new_buffer("kept", kind, [2], "local")
        is_pair = product.is_aligned(2)

        def pair(i: tir.Var, j: tir.Var, half: int) -> tir.Stmt:
            place = plus(times(plus(times(i, self._columns * 2), j), 4), 2 * half)
            at_row, at_column = plus(top, plus(times(i, 16), 8 * half)), plus(left, times(j, 8))

            def element(e: Index) -> list[tir.Stmt]:
                where = plus(place, e) if is_same else e
                rounded = [] if is_same else [store(kept, make.cast(load(self._total, plus(place, e)), kind), e)]
                return [*rounded, *product.results(at_row, plus(at_column, e), load(kept, where))]

            if is_pair:
                whole = vectorized("e", 2, lambda e: sequence(element(e)))
                return product.guarded(at_row, at_column, self._tile, [whole])
            elements = [product.guarded(at_row, plus(at_column, e), self._tile, element(e)) for e in (0, 1)]
            return sequence(elements)

        def tile(i: tir.Var) -> tir.Stmt:
            return unrolled("j", self._columns * 2, lambda j: sequence([pair(i, j, 0), pair(i, j, 1)]))

        body = unrolled("i", self._rows, tile)
        return body if kept is self._total else allocated([kept], body)
