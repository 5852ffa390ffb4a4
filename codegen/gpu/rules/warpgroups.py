"""Products of float16 and bfloat16 by warpgroups of Hopper's tensor cores: `wgmma` on tiles in shared memory.

Each warpgroup computes 64 rows of a tile, all of its columns. A step multiplies `DEPTH` columns by as many rows:

    wait for the copies of this step; barrier
    start the products of this step
    start the copies of the step after the next one
    wait for the products of the step before

so that tensor cores always have the next products. The stage that copies overwrite was read two steps before: all
warpgroups have waited for those products before the barrier. The copy engine copies boxes at the request of one thread, with zeros
beyond the ends of matrices, and completes a barrier in shared memory for each stage (`ir.tensor_copies`); or all threads copy 16
bytes at a time (`cp.async`), and call `fence.proxy.async` before the barrier. Both factors have the layout of the 128-byte swizzle
(`ir.warpgroups`), in which neither copies nor products have bank conflicts.

With `copies="roles"`, a warpgroup of its own copies boxes, as far ahead as there are empty stages. The others wait until a stage is full,
and arrive at another barrier of it when its products are complete; no barrier of the block is left in a step.
"""

from __future__ import annotations

from typing import Any

from ....ir import make, tir
from ....ir.base import Op
from ....ir.clusters import REGISTERS
from ....ir.schedule.arguments import Block, Integer, Text
from ....ir.schedule.buffer_arguments import Blocks
from ....ir.schedule.declaration import Knob, composite
from ....ir.schedule.program import Program
from ....ir.tensor_copies import ARRIVE, COPY, CREATE, EXPECT, INIT
from ....ir.tensor_copies import WAIT as WAIT_BARRIER
from ....ir.warpgroups import COMMIT, FENCE, LINE, PRODUCT, PROXY, ROW, ROWS, WAIT, WARPGROUP
from ...lower.rewriter import sequence
from ...rules.build import (
    Index,
    allocated,
    below,
    ceil_divide,
    constant,
    index,
    lanes,
    load,
    loop,
    new_buffer,
    plus,
    store,
    times,
    when,
)
from ...rules.nest import Declined, Nest
from ...rules.site import APPLIES, Site
from ..allreduce import barrier
from .grid import X, mixed, over, rest, unrolled, vectorized
from .product import COPIED_BYTES, Factor, Product, read_product
from .tensor_cores import PTX_TYPES

THREADS, BOXES, ROLES = "threads", "boxes", "roles"
"""What the knob `copies` chooses."""
STAGES, DEPTH = 4, ROW
AHEAD = STAGES - 2
"""How many steps before their products copies start."""
PART = 16
"""Depth of a product."""
LEAST = 64
"""Minimum number of rows and columns; with fewer, most of a tile would be empty."""
MULTIPROCESSORS = 132
"""Those of an H100 and an H200: a tile of 128 columns is chosen if wider ones are fewer."""
_GROUP_BYTES = 8 * 2 * ROW
"""Size of eight rows of 128 bytes."""


def _read(nest: Nest) -> Product:
    product = read_product(nest)
    kind = product.a.dtype
    if kind not in PTX_TYPES or product.b.dtype != kind or product.c.dtype not in ("float32", *PTX_TYPES):
        raise Declined(f"warpgroups do not multiply '{kind}' and '{product.b.dtype}' into '{product.c.dtype}'")
    for name, factor in (("first", product.a), ("second", product.b)):
        if factor.width * 2 != COPIED_BYTES:
            raise Declined(
                f"the rows of the {name} factor are not proven to consist of aligned parts of {COPIED_BYTES} bytes"
            )
    return product


def choose_warpgroups(nest: Nest) -> dict[str, Any]:
    """Return the knobs of `warpgroup_tiles`; Declined if `nest` is not a suitable product."""
    product = _read(nest)
    sizes = [constant(size) for size in (product.m, product.n, product.k)]
    if any(size is not None and size < LEAST for size in sizes):
        raise Declined(f"a matrix has fewer than {LEAST} rows or columns")
    m, n, _ = sizes
    rows = ROWS if m is not None and m <= ROWS else 2 * ROWS
    columns = 128 if n is None or n > ROWS else ROWS
    is_large = m is None or n is None or -(-m // rows) * -(-n // 256) >= MULTIPROCESSORS
    return {"rows": rows, "columns": 256 if is_large and (n is None or n > 128) else columns}


def _takes_boxes(product: Product) -> bool:
    """Return whether the copy engine can copy both factors: they start where their buffers do."""
    return all(factor.is_whole for factor in (product.a, product.b))


@composite(
    requires=(APPLIES,),
    knobs={
        "rows": Knob("the number of rows of the tile of a block, 64 for each warpgroup", 64, 128, is_power=True),
        "columns": Knob("the number of columns of the tile of a block", 64, 256, is_power=True),
        "copies": Knob(
            "what copies: all threads 16 bytes at a time, the copy engine boxes, or the same at the request of another warpgroup",
            choices=(THREADS, BOXES, ROLES),
        ),
    },
)
def warpgroup_tiles(
    program: Program, block: Block, *, epilogue: Blocks = (), rows: Integer, columns: Integer, copies: Text = THREADS
) -> None:
    """Compute a product of float16 or bfloat16 by warpgroups (sm_90a): each computes 64 × `columns` of a tile of a block.

    `c[i, j] += a[i, k] * b[k, j]` becomes a kernel whose blocks copy parts of A and B to shared memory two steps of 64 ahead, in the
    layout of the 128-byte swizzle, and multiply them with `wgmma`. The blocks of `epilogue` are element-wise.

    Preserves: the result but for the order of summation: it is rounded to float32 in each step.
    """
    site = Site(program, [block, *epilogue])
    nest = site.with_epilogue()
    kernel = site.build(lambda: _Kernel(_read(nest), rows, columns, copies).run())
    site.replace(kernel, {store.buffer for store in (nest.store, *nest.after[:-1])})


class _Tile:
    """The shared memory of a factor: `STAGES` tiles of `span` × `DEPTH` elements. A tile has rows of 64 elements of the depth, one for
    each element of the span, or parts of 64 elements of the span, with a row for each element of the depth.
    """

    def __init__(self, name: str, factor: Factor, span: int) -> None:
        self.factor, self.span = factor, span
        self.memory = new_buffer(name, factor.dtype, [STAGES * span * DEPTH], "shared.dyn")

    @property
    def layout(self) -> tuple[int, int]:
        """Return the leading and the stride byte offset of the matrix descriptor."""
        return (0 if self.factor.is_deep else 2 * ROW * DEPTH), _GROUP_BYTES

    def start(self, stage: tir.PrimExpr, span: tir.PrimExpr, depth: tir.PrimExpr) -> tir.PrimExpr:
        """Return the position at which a part of a tile starts; `span` is a multiple of 64, and `depth` of 16."""
        inner = depth if self.factor.is_deep else times(depth, ROW)
        return plus(plus(times(stage, self.span * DEPTH), times(span, DEPTH)), inner)

    def fetch(
        self, stage: tir.PrimExpr, start: tir.PrimExpr, step: tir.PrimExpr, thread: tir.Var, threads: int
    ) -> tir.Stmt:
        """Return the copies of the tile of step `step`, whose span begins at `start`, 16 bytes at a time."""
        of_row = (DEPTH if self.factor.is_deep else self.span) // LINE
        rows = threads // of_row  # of a copy of all threads
        first, line = over(thread, of_row), rest(thread, of_row)

        def copy(number: tir.Var) -> tir.Stmt:
            row = plus(times(number, rows), first)
            swizzle = rest(first, 8) if rows % 8 == 0 else rest(row, 8)
            # Constant distances between the copies of a thread become parts of its instructions.
            inner = plus(plus(times(first, ROW), times(mixed(rest(line, 8), swizzle), LINE)), times(number, rows * ROW))
            target = plus(plus(times(stage, self.span * DEPTH), times(over(line, 8), ROW * DEPTH)), inner)
            span, depth = (row, times(line, LINE)) if self.factor.is_deep else (times(line, LINE), row)
            return self._copy(target, plus(start, span), plus(times(step, DEPTH), depth))

        return unrolled("copy", self.span * DEPTH // LINE // threads, copy)

    def boxes(self, stage: tir.PrimExpr, start: tir.PrimExpr, step: tir.PrimExpr, condition: tir.PrimExpr) -> tir.Stmt:
        """Return the copies of the tile of step `step`, whose span begins at `start`, by the copy engine under a condition."""
        whole, depth = times(stage, self.span * DEPTH), times(step, DEPTH)
        if self.factor.is_deep:
            return self._box(stage, whole, (start, depth), self.span, condition)
        copies = [
            self._box(stage, plus(whole, part * ROW * DEPTH), (depth, plus(start, part * ROW)), DEPTH, condition)
            for part in range(self.span // ROW)
        ]
        return sequence(copies)

    def _box(
        self, stage: tir.PrimExpr, target: tir.PrimExpr, place: tuple[Index, Index], rows: int, condition: tir.PrimExpr
    ) -> tir.Stmt:
        factor = self.factor
        sizes = [make.cast(index(size), "int64") for size in factor.sizes]
        source, from_place = factor.view.data, [make.cast(index(part), "int32") for part in place]
        args = (self.memory.data, target, source, *sizes, *from_place, tir.IntImm("int32", rows), stage, condition)
        return tir.Evaluate(tir.Call(factor.dtype, Op(f"tir.{COPY}"), args))

    def _copy(self, target: tir.PrimExpr, span: tir.PrimExpr, depth: tir.PrimExpr) -> tir.Stmt:
        factor = self.factor
        wide = make.cast(span, "int64"), make.cast(depth, "int64")
        source = (factor.view.data, factor.place(*wide))
        args = (self.memory.data, target, *source, tir.IntImm("int32", COPIED_BYTES))
        condition = factor.inside(span, depth, self.span)
        return tir.Evaluate(tir.Call(factor.dtype, Op("tir.ptx_cp_async"), (*args, condition)))


class _Kernel:
    def __init__(self, product: Product, rows: int, columns: int, copies: str) -> None:
        if copies != THREADS and not _takes_boxes(product):
            raise Declined("the copy engine cannot copy a factor, which does not start where its buffer does")
        self._has_boxes, self._has_roles = copies != THREADS, copies == ROLES
        self.product, self._tile, self._columns = product, (rows, columns), columns
        self._threads = rows // ROWS * WARPGROUP
        self._thread = tir.Var("int32", "tx")
        self._left, self._right = _Tile("left", product.a, rows), _Tile("right", product.b, columns)
        self._total = new_buffer("total", "float32", [columns // 2], "local")

    def run(self) -> tir.Stmt:
        """Return the kernel."""
        threads, body = self._threads, self._body
        if self._has_roles:
            threads, body = threads + WARPGROUP, self._roles
        return self.product.launch(self._tile, ((X, threads, self._thread),), body)

    def _body(self, row: tir.PrimExpr, column: tir.PrimExpr) -> tir.Stmt:
        fetch = self._fetch_boxes if self._has_boxes else self._fetch
        ahead = [fetch(tir.IntImm("int32", i), tir.IntImm("int32", i), row, column) for i in range(AHEAD)]
        steps = loop("step", self._count, lambda step: self._step(step, row, column))
        parts = [*self._barriers(), self._zeros(), *ahead, steps, _call(WAIT, 0), self._store(row, column)]
        return allocated([self._left.memory, self._right.memory, self._total], parts)

    @property
    def _count(self) -> tir.PrimExpr:
        """Return the number of steps."""
        return make.cast(ceil_divide(self.product.k, DEPTH), "int32")

    def _zeros(self) -> tir.Stmt:
        zero = tir.FloatImm("float32", 0.0)
        return unrolled("i", self._columns // 8, lambda i: store(self._total, zero, lanes(times(i, 4), 4)))

    # --- Roles of warpgroups

    def _roles(self, row: tir.PrimExpr, column: tir.PrimExpr) -> tir.Stmt:
        """Return the code of the warpgroups that multiply, and of the one that copies."""
        more, less = [[_registers(*change)] if self._threads > WARPGROUP else [] for change in ((1, 232), (0, 40))]
        steps = loop("step", self._count, self._consume)
        multiply = [*more, self._zeros(), steps, _call(WAIT, 0), self._store(row, column)]
        copies = loop("step", self._count, lambda step: self._produce(step, row, column))
        copy = [*less, when(make.equal(self._thread, index(self._threads, "int32")), [copies])]
        does_multiply = make.less(self._thread, index(self._threads, "int32"))
        parts = [*self._barriers(), tir.IfThenElse(does_multiply, sequence(multiply), sequence(copy))]
        return allocated([self._left.memory, self._right.memory, self._total], parts)

    def _produce(self, step: tir.Var, row: tir.PrimExpr, column: tir.PrimExpr) -> tir.Stmt:
        """Begin the copies of a step when its stage is empty, as it is in the first turn."""
        stage, turn = rest(step, STAGES), over(step, STAGES)
        wait = _call(WAIT_BARRIER, plus(stage, STAGES), rest(plus(turn, 1), 2))
        return sequence([wait, self._boxes(stage, step, row, column, tir.IntImm("bool", 1))])

    def _consume(self, step: tir.Var) -> tir.Stmt:
        """Multiply the tiles of a step when its stage is full, and let that of the step before be filled again."""
        stage, before = rest(step, STAGES), rest(plus(step, STAGES - 1), STAGES)
        wait = _call(WAIT_BARRIER, stage, rest(over(step, STAGES), 2))
        is_behind = make.less(tir.IntImm("int32", 0), step)
        arrive = tir.Evaluate(tir.Call("void", Op(f"tir.{ARRIVE}"), (plus(before, STAGES), is_behind)))
        return sequence([wait, _call(FENCE), self._products(stage), _call(COMMIT), _call(WAIT, 1), arrive])

    def _fetch(self, stage: tir.PrimExpr, step: tir.PrimExpr, row: tir.PrimExpr, column: tir.PrimExpr) -> tir.Stmt:
        """Begin the copies of a step, as one group."""
        copies = [
            self._left.fetch(stage, row, step, self._thread, self._threads),
            self._right.fetch(stage, column, step, self._thread, self._threads),
        ]
        return sequence([*copies, _call("ptx_commit_group")])

    def _barriers(self) -> list[tir.Stmt]:
        """Return the statements that make a barrier for the copies of each stage, and one for its products."""
        if not self._has_boxes:
            return []
        made = [_call(INIT, i, 1) for i in range(STAGES)]
        if self._has_roles:
            made += [_call(INIT, STAGES + i, self._threads) for i in range(STAGES)]
        return [_call(CREATE, len(made)), when(self._is_first, made), barrier()]

    @property
    def _is_first(self) -> tir.PrimExpr:
        """Return whether this is the first thread."""
        return make.equal(self._thread, tir.IntImm("int32", 0))

    def _fetch_boxes(
        self, stage: tir.PrimExpr, step: tir.PrimExpr, row: tir.PrimExpr, column: tir.PrimExpr
    ) -> tir.Stmt:
        """Begin the copies of a step, if there is one."""
        return self._boxes(stage, step, row, column, make.logical_and(self._is_first, below(step, self._count)))

    def _boxes(
        self, stage: tir.PrimExpr, step: tir.PrimExpr, row: tir.PrimExpr, column: tir.PrimExpr, is_copied: tir.PrimExpr
    ) -> tir.Stmt:
        bytes = (self._left.span + self._right.span) * DEPTH * 2
        copies = [
            part.boxes(stage, start, step, is_copied) for part, start in ((self._left, row), (self._right, column))
        ]
        return sequence([_call(EXPECT, stage, bytes, is_copied), *copies])

    def _step(self, step: tir.Var, row: tir.PrimExpr, column: tir.PrimExpr) -> tir.Stmt:
        ahead = plus(step, AHEAD)
        fetch = (self._fetch_boxes if self._has_boxes else self._fetch)(rest(ahead, STAGES), ahead, row, column)
        products = self._products(rest(step, STAGES))
        if self._has_boxes:
            arrive = [_call(WAIT_BARRIER, rest(step, STAGES), rest(over(step, STAGES), 2)), barrier()]
        else:
            arrive = [_call("ptx_wait_group", AHEAD - 1), _call(PROXY), barrier()]
        return sequence([*arrive, _call(FENCE), products, _call(COMMIT), fetch, _call(WAIT, 1)])

    def _products(self, stage: tir.PrimExpr) -> tir.Stmt:
        return unrolled("part", DEPTH // PART, lambda part: self._multiply(stage, times(part, PART)))

    def _multiply(self, stage: tir.PrimExpr, depth: tir.PrimExpr) -> tir.Stmt:
        """Add the product of 64 × 16 and 16 × `columns` elements."""
        kind, product = PTX_TYPES[self.product.a.dtype], self.product
        layouts = "row" if product.a.is_deep else "col", "col" if product.b.is_deep else "row"
        words = (f"m{ROWS}n{self._columns}k{PART}", *layouts, kind, kind, "fp32")
        texts = [tir.StringImm("handle", word) for word in words]
        zero = tir.IntImm("int32", 0)
        left = self._left.start(stage, times(over(self._thread, WARPGROUP), ROWS), depth)
        pointers = (self._left.memory.data, left, self._right.memory.data, self._right.start(stage, zero, depth))
        distances = [tir.IntImm("int32", size) for size in (*self._left.layout, *self._right.layout)]
        args = (*texts, *pointers, self._total.data, zero, *distances)
        return tir.Evaluate(tir.Call("float32", Op(f"tir.{PRODUCT}"), args))

    def _store(self, row: tir.PrimExpr, column: tir.PrimExpr) -> tir.Stmt:
        """Store the result; a thread has pairs of adjacent elements, eight rows apart."""
        warp, lane = over(self._thread, 32), rest(self._thread, 32)
        top, left = plus(row, plus(times(warp, 16), over(lane, 4))), plus(column, times(rest(lane, 4), 2))
        product, kind = self.product, self.product.c.dtype
        kept = self._total if kind == "float32" else new_buffer("kept", kind, [2], "local")
        is_pair = product.is_aligned(2)

        def pair(j: tir.Var, half: int) -> tir.Stmt:
            place = plus(times(j, 4), 2 * half)
            at_row, at_column = plus(top, 8 * half), plus(left, times(j, 8))

            def element(e: Index) -> list[tir.Stmt]:
                value = load(self._total, plus(place, e))
                rounded = [] if kind == "float32" else [store(kept, make.cast(value, kind), e)]
                return [
                    *rounded,
                    *product.results(
                        at_row, plus(at_column, e), load(kept, plus(place, e) if kind == "float32" else e)
                    ),
                ]

            if is_pair:
                whole = vectorized("e", 2, lambda e: sequence(element(e)))
                return product.guarded(at_row, at_column, self._tile, [whole])
            elements = [product.guarded(at_row, plus(at_column, e), self._tile, element(e)) for e in (0, 1)]
            return sequence(elements)

        body = unrolled("j", self._columns // 8, lambda j: sequence([pair(j, 0), pair(j, 1)]))
        return body if kept is self._total else allocated([kept], body)


def _registers(is_increase: int, count: int) -> tir.Stmt:
    args = (tir.IntImm("bool", is_increase), tir.IntImm("int32", count))
    return tir.Evaluate(tir.Call("void", Op(f"tir.{REGISTERS}"), args))


def _call(name: str, *numbers: Index) -> tir.Stmt:
    return tir.Evaluate(tir.Call("void", Op(f"tir.{name}"), tuple([index(value, "int32") for value in numbers])))
