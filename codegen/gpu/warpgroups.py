"""Products of warpgroups: their checks, and the loops that compute them without `wgmma`."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import prod

from msgspec import Struct
from msgspec.structs import replace

from ...ir import make, tir
from ...ir.analysis.modular_set import modular_set
from ...ir.diagnostics import error
from ...ir.dtype import element_bytes
from ...ir.idioms import NOTHING
from ...ir.matrix_units import name_of, number
from ...ir.tensor_copies import calls_in
from ...ir.visit import walk
from ...ir.warpgroups import (
    COMMIT,
    FENCE,
    OPERATORS,
    PRODUCT,
    WAIT,
    WARPGROUP,
    Tile,
    warpgroup_calls,
    warpgroup_product_of,
)
from ..lower.rewriter import sequence
from .kernel import Kernel
from .matrix_units import TRUE, ZERO, Calls, MemoryRange, loop, over, place_of, plus, rest, rounded_factor, times

_LINE_BYTES = 16


def check_warpgroups(kernel: Kernel) -> None:
    """Check the products of warpgroups in a lowered kernel.

    Raises TvmsError: E0611 if a block does not consist of whole warpgroups; E0606 if memory has the wrong scope, a factor is not
    proven to start at a multiple of 16 bytes, or the kernel never calls `wgmma.fence` or `wgmma.wait_group`.
    """
    names = {name_of(node) for node in walk(kernel.body) if isinstance(node, tir.Call)}
    for call in warpgroup_calls(kernel.body):
        product = warpgroup_product_of(call)
        if kernel.thread_count % WARPGROUP:
            reason = f"T.{PRODUCT} needs whole warpgroups of {WARPGROUP} threads, but a block has {kernel.thread_count}"
            raise error("E0611", reason, call.span, f"bind a multiple of {WARPGROUP} iterations to threads")
        a, b = product.dtypes
        for at, scope, dtype in ((6, "shared", a), (8, "shared", b), (10, "local", "float32")):
            check_operand(call, at, scope, dtype)
        for missing in {FENCE, WAIT} - names:
            reason = f"a kernel with T.{PRODUCT} never calls T.{missing}"
            help = {
                FENCE: f"call T.{FENCE}() before the first product, and after the accumulator is set",
                WAIT: f"call T.{WAIT}(0) before the accumulator is read",
            }[missing]
            raise error("E0606", reason, call.span, help)
    for call in walk(kernel.body):
        if isinstance(call, tir.Call) and name_of(call) == WAIT and number(call, 0) < 0:
            reason = f"cannot wait for {number(call, 0)} pending groups"
            raise error("E0606", reason, call.span, "give a number of groups that is not negative")


def check_operand(call: tir.Call, at: int, scope: str, dtype: str) -> None:
    """Raise E0606 if the operand of a product at a position has the wrong scope, or a factor is not proven to be aligned."""
    place, name = place_of(call.args[at], call.args[at + 1], dtype), name_of(call)
    if not place.buffer.scope.startswith(scope):
        reason = f"T.{name} needs memory of scope '{scope}', but '{place.buffer.name}' is in '{place.buffer.scope}'"
        raise error("E0606", reason, call.span, f"pass {scope} memory")
    found, line = modular_set(place.at(0)), _LINE_BYTES // element_bytes(dtype)
    if scope == "shared" and (found.base % line or found.coeff % line):
        reason = f"the factor in '{place.buffer.name}' is not proven to start at a multiple of 16 bytes"
        raise error("E0606", reason, call.span, f"use an offset that is a multiple of {line} elements")


def position(place: MemoryRange, tile: Tile, span: tir.PrimExpr, depth: tir.PrimExpr) -> tir.PrimExpr:
    """Return the position of an element of a factor that starts at `place`, in the elements of its allocation."""
    stride, row = tile.stride // tile.size, tile.row
    if tile.is_deep:
        straight = plus(times(over(span, 8), stride), times(rest(span, 8), row), depth)
    else:
        groups = plus(times(over(span, row), tile.leading // tile.size), times(over(depth, 8), stride))
        straight = plus(groups, times(rest(depth, 8), row), rest(span, row))
    straight = place.at(straight)
    return make.bitwise_xor(straight, times(rest(over(straight, row), 8), tile.line))


def emulate_warpgroups(kernel: Kernel) -> Kernel:
    """Return a lowered kernel without products of warpgroups: each thread computes its own elements at once, but keeps the results
    until it waits for them. Meanwhile the elements of the accumulator are NaN.
    """
    return replace(kernel, body=_Emulator(kernel).emulated()) if calls_in(kernel.body, OPERATORS) else kernel


class _Results(Struct, frozen=True):
    """The results of the products on an accumulator of `size` elements: the values, and the number of the group of the last
    product on each element, 0 if none is pending.
    """

    size: int
    target: MemoryRange
    values: MemoryRange
    groups: MemoryRange


class _Emulator(Calls):
    def __init__(self, kernel: Kernel) -> None:
        rules: dict[str, Callable[[tir.Call], tir.Stmt]] = dict.fromkeys(OPERATORS, lambda call: NOTHING)
        super().__init__(kernel, {**rules, PRODUCT: self._product, COMMIT: self._commit, WAIT: self._wait})
        self._rules[tir.Allocate] = self._allocate
        self._accumulators = {call.args[10] for call in warpgroup_calls(kernel.body)}
        self._results: dict[object, _Results] = {}
        self._committed = _local("committed", "int64")
        """The number of groups."""

    def emulated(self) -> tir.Stmt:
        """Return the body of the kernel."""
        body = self.rewrite(self._kernel.body)
        return _allocated(self._committed, 1, [self._committed.store(ZERO, ZERO), body])

    def _allocate(self, stmt: tir.Allocate) -> tir.Stmt:
        """Add memory for the results behind the allocation of an accumulator."""
        if stmt.buffer_var not in self._accumulators:
            return self.rebuild(stmt)
        size = prod(extent.value for extent in stmt.extents if isinstance(extent, tir.IntImm))
        target = MemoryRange(stmt.buffer_var, "float32", ZERO)
        results = _Results(size, target, _local("results", "float32"), _local("groups", "int64"))
        self._results[stmt.buffer_var] = results
        none = loop(size, lambda i: results.groups.store(i, ZERO))
        body = _allocated(results.values, size, [none, self.rewrite(stmt.body)])
        return replace(stmt, body=_allocated(results.groups, size, [body]))

    def _commit(self, call: tir.Call) -> tir.Stmt:
        return self._committed.store(ZERO, plus(self._committed.load(ZERO), 1))

    def _wait(self, call: tir.Call) -> tir.Stmt:
        """Store the results of all groups but the last ones."""
        complete = plus(self._committed.load(ZERO), -number(call, 0))

        def of(results: _Results) -> tir.Stmt:
            def element(i: tir.PrimExpr) -> tir.Stmt:
                group = results.groups.load(i)
                is_complete = make.logical_and(make.less(ZERO, group), make.less_equal(group, complete))
                done = [results.target.store(i, results.values.load(i)), results.groups.store(i, ZERO)]
                return tir.IfThenElse(is_complete, sequence(done))

            return loop(results.size, element)

        return sequence([of(results) for results in self._results.values()])

    def _product(self, call: tir.Call) -> tir.Stmt:
        product = warpgroup_product_of(call)
        a, b = (
            place_of(call.args[at], call.args[at + 1], dtype) for at, dtype in zip((6, 8), product.dtypes, strict=True)
        )
        # `position` counts the elements of the allocations.
        left, right = (MemoryRange(place.buffer.data, place.buffer.dtype, ZERO) for place in (a, b))
        c, lane, total = (
            place_of(call.args[10], call.args[11], "float32"),
            rest(self._thread, WARPGROUP),
            _local("sum", "float32"),
        )
        results = self._results[call.args[10]]

        def element(i: tir.PrimExpr) -> list[tir.Stmt]:
            row = plus(times(over(lane, 32), 16), over(rest(lane, 32), 4), times(rest(over(i, 2), 2), 8))
            column = plus(times(over(i, 4), 8), times(rest(lane, 4), 2), rest(i, 2))
            at = c.at(i)

            def term(k: tir.PrimExpr) -> tir.Stmt:
                x, y = left.load(position(a, product.a, row, k)), right.load(position(b, product.b, column, k))
                x, y = (rounded_factor(make.cast(factor, "float32"), product.kinds[0]) for factor in (x, y))
                return total.store(ZERO, make.add(total.load(ZERO), make.mul(x, y)))

            is_first = make.equal(results.groups.load(at), ZERO)
            start = make.if_then_else(is_first, results.target.load(at), results.values.load(at))
            pending = [
                results.values.store(at, total.load(ZERO)),
                results.target.store(at, tir.FloatImm("float32", float("nan"))),
            ]
            group = results.groups.store(at, plus(self._committed.load(ZERO), 1))
            return [total.store(ZERO, start), loop(product.a.depth, term), *pending, group]

        return _allocated(total, 1, [loop(product.count, element)])


def _local(name: str, dtype: str) -> MemoryRange:
    """Return local memory, which `_allocated` allocates."""
    return MemoryRange(tir.Var("handle", name, tir.PointerType(tir.PrimType(dtype), "local")), dtype, ZERO)


def _allocated(place: MemoryRange, size: int, body: Sequence[tir.Stmt]) -> tir.Stmt:
    return tir.Allocate(place.buffer.data, place.buffer.dtype, (tir.IntImm("int64", size),), TRUE, sequence(body))
