"""Tensor core operations emulated by loops over elements, for machines without tensor cores.

The threads of a warp exchange elements through shared memory, with warp barriers.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from msgspec.structs import replace

from ...ir import make, tir
from ...ir.matrix_units import (
    DTYPES,
    STORE,
    WMMA_TYPES,
    Fragment,
    fragments_in,
    is_fragment_scope,
    matrices_of,
    name_of,
    never_loaded,
    number,
    product_of,
    texts,
)  # fmt: skip
from ..lower.rewriter import sequence
from .allreduce import barrier
from .kernel import Kernel, scope_of
from .matrix_units import TRUE, ZERO, Calls, MemoryRange, loop, over, place_of, plus, rest, rounded_factor, times


def emulate_matrix_units(kernel: Kernel) -> Kernel:
    """Return a lowered kernel without tensor core operations."""
    return replace(kernel, body=_Emulator(kernel).rewrite(kernel.body))


class _Emulator(Calls):
    def __init__(self, kernel: Kernel) -> None:
        super().__init__(
            kernel,
            {
                "ptx_mma": self._mma, "ptx_ldmatrix": self._ldmatrix, STORE: self._stmatrix, "tvm_fill_fragment": self._fill,
                "tvm_load_matrix_sync": self._move, "tvm_store_matrix_sync": self._move, "tvm_mma_sync": self._mma_sync,
            },
        )  # fmt: skip
        self._rules[tir.Allocate] = self._allocate
        self._fragments = fragments_in(kernel.body)
        self._first = make.sub(self._thread, self._lane)

    # --- What a warp tells

    def _told(self, dtype: str, count: int) -> MemoryRange:
        """Return shared memory for exchanges, with `count` elements per thread of the block."""
        data = tir.Var("handle", "told", tir.PointerType(tir.PrimType(dtype), "shared"))
        return MemoryRange(data, dtype, ZERO)

    def _around(self, told: dict[MemoryRange, int], parts: Sequence[tir.Stmt]) -> tir.Stmt:
        body = sequence(parts)
        for place, count in told.items():
            size = (tir.IntImm("int64", count * self._kernel.thread_count),)
            body = tir.Allocate(place.buffer.data, place.buffer.dtype, size, TRUE, body)
        return body

    def _ldmatrix(self, call: tir.Call) -> tir.Stmt:
        load, start = matrices_of(call), self._told("int64", 1)
        local, shared = place_of(call.args[3], call.args[4], call.dtype), place_of(call.args[5], ZERO, call.dtype)
        tell = start.store(self._thread, call.args[6])  # type: ignore[arg-type]

        def take(which: int, i: tir.PrimExpr) -> tir.Stmt:
            row, column = over(self._lane, 4), plus(times(rest(self._lane, 4), 2 * load.packed), i)
            if load.is_transposed:
                row, column = column, row
            begin = start.load(plus(self._first, 8 * which, row))
            return local.store(plus(i, which * 2 * load.packed), shared.load(make.add(begin, column)))

        takes = [loop(2 * load.packed, lambda i, which=which: take(which, i)) for which in range(load.count)]
        wait = barrier(call.span, "warp")
        return self._around({start: 1}, [tell, wait, *takes, wait])

    def _stmatrix(self, call: tir.Call) -> tir.Stmt:
        stored, start = matrices_of(call), self._told("int64", 1)
        local, shared = place_of(call.args[3], call.args[4], call.dtype), place_of(call.args[5], ZERO, call.dtype)
        tell, count = start.store(self._thread, call.args[6]), 2 * stored.packed  # type: ignore[arg-type]

        def put(which: int, i: tir.PrimExpr) -> tir.Stmt:
            row, column = over(self._lane, 4), plus(times(rest(self._lane, 4), count), i)
            if stored.is_transposed:
                row, column = column, row
            begin = start.load(plus(self._first, 8 * which, row))
            return shared.store(make.add(begin, column), local.load(plus(i, which * count)))

        puts = [loop(count, lambda i, which=which: put(which, i)) for which in range(stored.count)]
        wait = barrier(call.span, "warp")
        return self._around({start: 1}, [tell, wait, *puts, wait])

    def _mma(self, call: tir.Call) -> tir.Stmt:
        """Emulate `mma` by the formulas of `ir.matrix_units`."""
        product, v = product_of(call), product_of(call).packed
        a, b, c = (
            place_of(call.args[at], call.args[at + 1], DTYPES[kind])
            for at, kind in ((6, product.a), (8, product.b), (10, product.c))
        )
        counts = product.a_count, product.b_count
        told = [self._told(place.buffer.dtype, count) for place, count in zip((a, b), counts, strict=True)]
        tell = [
            loop(
                count,
                lambda i, own=own, to=to, count=count: to.store(plus(times(self._thread, count), i), own.load(i)),
            )
            for own, to, count in zip((a, b), told, counts, strict=True)
        ]
        g, t = over(self._lane, 4), rest(self._lane, 4)

        def factor(which: int, group: tir.PrimExpr, register: tir.PrimExpr, k: tir.PrimExpr) -> tir.PrimExpr:
            lane = plus(times(group, 4), over(rest(k, 4 * v), v))
            element = plus(rest(k, v), times(register, v))
            return told[which].load(plus(times(plus(self._first, lane), counts[which]), element))

        def compute(i: tir.PrimExpr) -> tir.Stmt:
            row, column = over(i, 2), plus(times(t, 2), rest(i, 2))

            def term(k: tir.PrimExpr) -> tuple[tir.PrimExpr, tir.PrimExpr]:
                step = over(k, 4 * v)
                return factor(0, g, plus(row, times(step, 2)), k), factor(1, column, step, k)

            return self._sum_up(c, i, c, i, product.k, product.a, term, len(call.args) > 12 and bool(number(call, 12)))

        wait = barrier(call.span, "warp")
        results = loop(product.c_count, compute)
        return self._around(dict(zip(told, counts, strict=True)), [*tell, wait, results, wait])

    def _sum_up(
        self, target: MemoryRange, at: tir.PrimExpr, start: MemoryRange, start_at: tir.PrimExpr, length: int, kind: str,
        term: Callable[[tir.PrimExpr], tuple[tir.PrimExpr, tir.PrimExpr]], is_saturating: bool = False,
    ) -> tir.Stmt:  # fmt: skip
        """Return the sum of `length` products: integers wrap around, floats are rounded once."""
        dtype = "int64" if target.buffer.dtype == "int32" else "float32"
        total = MemoryRange(tir.Var("handle", "total", tir.PointerType(tir.PrimType(dtype), "local")), dtype, ZERO)

        def factor(value: tir.PrimExpr) -> tir.PrimExpr:
            return rounded_factor(make.cast(value, dtype), kind)

        def step(k: tir.PrimExpr) -> tir.Stmt:
            a, b = term(k)
            return total.store(ZERO, make.add(total.load(ZERO), make.mul(factor(a), factor(b))))

        result = total.load(ZERO)
        if is_saturating:
            low, high = (tir.IntImm("int64", bound) for bound in (-(2**31), 2**31 - 1))
            result = make.minimum(make.maximum(result, low), high)
        steps = [total.store(ZERO, start.load(start_at)), loop(length, step), target.store(at, result)]
        return tir.Allocate(total.buffer.data, dtype, (tir.IntImm("int64", 1),), TRUE, sequence(steps))

    # --- Fragments: each thread has all of them

    def _allocate(self, stmt: tir.Allocate) -> tir.Stmt:
        if not is_fragment_scope(scope_of(stmt.buffer_var)):
            return self.rebuild(stmt)
        own = tir.Var("handle", stmt.buffer_var.name, tir.PointerType(tir.PrimType(stmt.dtype), "local"))
        self.values[stmt.buffer_var] = own
        if stmt.buffer_var in self._fragments:
            self._fragments[own] = self._fragments[stmt.buffer_var]
        return replace(stmt, buffer_var=own, body=self.rewrite(stmt.body))

    def _tile(self, call: tir.Call, variable: Any, which: Any) -> tuple[Fragment, MemoryRange]:
        fragment = self._fragments.get(variable)
        if fragment is None:
            raise never_loaded(call, variable)
        return fragment, place_of(variable, times(make.cast(which, "int64"), fragment.size), fragment.dtype)

    def _fill(self, call: tir.Call) -> tir.Stmt:
        fragment, tile = self._tile(call, call.args[0], call.args[4])
        return loop(fragment.size, lambda i: tile.store(i, call.args[5]))  # type: ignore[arg-type]

    def _move(self, call: tir.Call) -> tir.Stmt:
        """Emulate a load or store of a fragment: `(fragment, m, n, k, number, pointer, stride, layout)`."""
        fragment, tile = self._tile(call, call.args[0], call.args[4])
        memory, stride = place_of(call.args[5], ZERO, fragment.dtype), make.cast(call.args[6], "int64")  # type: ignore[arg-type]
        is_load = name_of(call) == "tvm_load_matrix_sync"
        is_turned = fragment.kind == "accumulator" and texts(call)[-1] == "col_major"

        def move(i: tir.PrimExpr) -> tir.Stmt:
            row, column = over(i, fragment.shape[1]), rest(i, fragment.shape[1])
            if is_turned:
                row, column = column, row
            there = make.add(make.mul(row, stride), column)
            return tile.store(i, memory.load(there)) if is_load else memory.store(there, tile.load(i))

        return loop(fragment.size, move)

    def _mma_sync(self, call: tir.Call) -> tir.Stmt:
        """Emulate a product of fragments: `(d, number, a, number, b, number, c, number)`."""
        (_, d), (left, a), (right, b), (_, c) = (
            self._tile(call, call.args[at], call.args[at + 1]) for at in (0, 2, 4, 6)
        )

        def compute(i: tir.PrimExpr) -> tir.Stmt:
            row, column = over(i, left.n), rest(i, left.n)

            def at(fragment: Fragment, row: tir.PrimExpr, column: tir.PrimExpr) -> tir.PrimExpr:
                if fragment.is_column:
                    row, column = column, row
                return make.add(times(row, fragment.shape[1]), column)

            kind = WMMA_TYPES[left.dtype][2]
            return self._sum_up(
                d, i, c, i, left.k, kind, lambda k: (a.load(at(left, row, k)), b.load(at(right, k, column)))
            )

        return loop(left.m * left.n, compute)
