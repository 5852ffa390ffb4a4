"""Argmax and argmin: reductions of an index and a value at once, along rows, by vectors.

    for i, k in T.grid(n, m):                          argmax: k is reduced, contiguous in A
        better = V[i] < A[i, k]              →         64 pairs at once, each by the update of the loop,
        I[i], V[i] = … k …, … A[i, k] …                then combined, always in the same order

The update that adds an element to a pair also combines two pairs. This is valid only if it selects one of
its two operands, the same one in any order, for instance because ties go to the lower index
(`is_choice`). The rule declines sums, and reductions that keep the first of equal elements.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Callable, Mapping
from typing import Any

from msgspec import Struct
from msgspec.structs import replace

from ...ir import tir
from ...ir.analysis.update import Update, is_choice, key_of
from ...ir.base import Node
from ...ir.dtype import is_float
from ...ir.equal import structural_equal
from ...ir.fold import wrap
from ...ir.idioms import without_casts
from ...ir.schedule.arguments import Block, Integer
from ...ir.schedule.conditions import KNOB
from ...ir.schedule.declaration import Knob, composite
from ...ir.schedule.program import Program
from ...ir.simplify import simplify
from ...ir.visit import substitute, walk
from ..lower.rewriter import sequence
from ..machine import Machine
from .build import (
    Index,
    allocated,
    divide,
    index,
    load,
    loop,
    minus,
    new_buffer,
    plus,
    store,
    times,
    unrolled,
    vector_loop,
    vectorized,
)
from .nest import Axis, Declined, axes_of, check_own_elements, check_plain, plain_loops
from .rows import PARTS, around_rows, parallel_rows
from .site import APPLIES, Site
from .strides import step_along


class _Pair(Struct, frozen=True, eq=False):
    """A reduction of two values. `stores` are their locations, `values` their updates as expressions of the old
    values, of `axis` and of `taken`, the element of the current step.
    """

    axes: tuple[Axis, ...]
    axis: Axis
    stores: tuple[tir.BufferStore, tir.BufferStore]
    inits: tuple[tir.PrimExpr, ...]
    values: tuple[Node, ...]
    taken: tir.BufferLoad
    old: Mapping[tir.BufferLoad, int]
    """The loads of old values, with the position of the value in the pair."""
    loads: tuple[Node, ...]
    """All loads of `taken`."""

    @property
    def outer(self) -> list[Axis]:
        """The axes of the rows."""
        return [axis for axis in self.axes if not axis.is_reduced]

    def step(
        self, old: tuple[tir.PrimExpr, ...], taken: tuple[tir.PrimExpr, ...], is_later: bool = False
    ) -> list[tir.PrimExpr]:
        """Return both values after a step with the index and element `taken`; if it `is_later`, the old index is
        known to be smaller.
        """
        places: dict[Node, Node] = {node: old[number] for node, number in self.old.items()}
        places |= {self.axis.var: taken[0], **dict.fromkeys(self.loads, taken[1])}
        return [substitute(self.later(value) if is_later else value, places) for value in self.values]

    def later(self, value: Node) -> Node:
        """Return `value` simplified under the assumption that the old index is smaller."""
        ordered = [node for node in walk(value) if isinstance(node, tir.LT) and self._is_order(node)]
        return simplify(substitute(value, dict.fromkeys(ordered, tir.IntImm("bool", 1)))) if ordered else value

    def _is_order(self, condition: tir.LT) -> bool:
        a, b = without_casts(condition.a), without_casts(condition.b)
        return b is self.axis.var and isinstance(a, tir.BufferLoad) and self.old.get(a) == 0

    def begins_with_an_index(self) -> bool:
        """Return whether the first step selects its index for any element. The update must consist of comparisons,
        whose results are constant between the numbers that are tried.
        """
        value, dtype = self.values[0], self.taken.dtype
        is_choice = isinstance(value, tir.Select) and {without_casts(value.true_value), without_casts(value.false_value)} <= {
            self.axis.var, *self.old,
        }  # fmt: skip
        casts = [node.value.dtype for node in walk(value) if isinstance(node, tir.Cast)]
        if not is_choice or any(not isinstance(node, _CHOOSING) for node in walk(value)) or any(map(is_float, casts)):
            return False
        numbers = {node.value for term in (value, *self.inits) for node in walk(term) if isinstance(node, tir.FloatImm)}
        if any(number - 1 == number + 1 and not math.isinf(number) for number in numbers):
            return False
        if not is_float(dtype):
            return False
        tried = {math.nan, -math.inf, math.inf, 0.0, *(n + d for n in numbers for d in (-1.0, 0.0, 1.0))}
        first = tir.IntImm(self.axis.var.dtype, 3)
        for size in tried:
            index = self.step(self.inits, (first, tir.FloatImm(dtype, size)))[0]
            if _value(index) != first.value:
                return False
        return True


_CHOOSING = (
    tir.Select, tir.And, tir.Or, tir.Not, tir.LT, tir.LE, tir.GT, tir.GE, tir.EQ, tir.NE, tir.Cast, tir.BufferLoad, tir.Var,
    tir.Buffer, tir.IntImm, tir.FloatImm, tir.PrimType, tir.PointerType,
)  # fmt: skip
_SIGNS: dict[type[Node], Callable[[Any, Any], Any]] = {
    tir.LT: operator.lt, tir.LE: operator.le, tir.GT: operator.gt, tir.GE: operator.ge, tir.EQ: operator.eq,
    tir.NE: operator.ne, tir.And: lambda a, b: a and b, tir.Or: lambda a, b: a or b,
}  # fmt: skip


def _value(expr: tir.PrimExpr) -> float:
    """Evaluate selections between constants."""
    match expr:
        case tir.IntImm() | tir.FloatImm():
            return expr.value
        case tir.Cast():
            return wrap(int(_value(expr.value)), expr.dtype)
        case tir.Select():
            return _value(expr.true_value if _value(expr.condition) else expr.false_value)
        case tir.Not():
            return not _value(expr.a)
        case tir.BinaryOp():
            return _SIGNS[type(expr)](_value(expr.a), _value(expr.b))
        case _:
            raise AssertionError(type(expr))


def choose_argument(stmt: tir.Stmt, machine: Machine) -> dict[str, Any]:
    """Return the knobs of `argument_rows` for a reduction to an index and a value; Declined if `stmt` is not one."""
    pair, lanes = _read(stmt), machine.vector_bytes // 4
    if pair.axis.size is not None and pair.axis.size < lanes:
        raise Declined("the rows are shorter than a vector")
    return {"lanes": lanes, "accumulators": PARTS, "parallel": parallel_rows(pair.outer, pair.axis, machine)}


@composite(
    requires=(APPLIES,),
    knobs={
        "lanes": Knob("the number of pairs of a vector", 2, 64, is_power=True),
        "accumulators": Knob("the number of vectors of partial results", 1, 16),
        "parallel": Knob("the position of the loop over rows whose iterations threads share", 0, 15),
    },
)
def argument_rows(
    program: Program,
    block: Block,
    *,
    lanes: Integer,
    accumulators: Integer = 4,
    parallel: Integer | None = None,
) -> None:
    """Compute an argmax or argmin along rows, in vectors: `lanes * accumulators` pairs of an index and a value at once.

    `i[r], v[r] = better(i[r], v[r], k, a[r, k])` becomes: update the partial pairs by the update of the loop, then combine them,
    always in the same order.

    Preserves: the result, since the update selects the same pair in any order.
    """
    site = Site(program, [block])

    def kernel() -> tir.Stmt:
        pair = _read(site.parts[0])
        if parallel is not None and parallel >= len(pair.outer):
            raise KNOB.refuse(
                f"there are {len(pair.outer)} loops over rows, got position {parallel}", argument="parallel"
            )
        return around_rows(pair.outer, lambda: _row(pair, lanes, accumulators), parallel)

    site.replace(site.build(kernel))


def _read(stmt: tir.Stmt) -> _Pair:
    loops, stmt = plain_loops(stmt)
    if not isinstance(stmt, tir.BlockRealize) or not isinstance(stmt.block.init, tir.SeqStmt):
        raise Declined("it is not a reduction of several values")
    init, bound, body = stmt.block.init, dict[Node, Node](), stmt.block.body
    check_plain(stmt)
    axes, units = axes_of(stmt, loops)
    update = Update.of(body)
    while isinstance(body, tir.LetStmt):
        bound[body.var] = substitute(body.value, bound)
        body = body.body
    stores, inits = _stores(body), _stores(init)
    reduced = [axis for axis in axes if axis.is_reduced]
    if units or len(reduced) != 1 or (len(stores), len(inits)) != (2, 2):
        raise Declined("it is not a reduction of two values along one axis")
    if any(write.value not in bound for write in stores) or any(
        a.buffer is not b.buffer or not structural_equal(a.indices, b.indices)
        for a, b in zip(stores, inits, strict=True)
    ):
        raise Declined("its values are not computed before the first of them is stored")
    for write in stores:
        check_own_elements([axis for axis in axes if not axis.is_reduced], write)
    values = tuple([bound[write.value] for write in stores])
    loads = [node for value in values for node in walk(value) if isinstance(node, tir.BufferLoad)]
    buffers = [write.buffer for write in stores]
    old = {node: buffers.index(node.buffer) for node in loads if node.buffer in buffers}
    others = [node for node in loads if node not in old]
    if not others or any(not structural_equal(node, others[0]) for node in others):
        raise Declined("it reads more than one element per step")
    if update is None or not is_choice(update, reduced[0].var, key_of(others[0])):
        raise Declined("its update does not select one of two pairs independently of the order")
    if any(old.get(node) == 0 for node in walk(values[1]) if isinstance(node, tir.BufferLoad)):
        raise Declined("the second value depends on the first")
    starts = tuple([write.value for write in inits])
    if not all(isinstance(start, tir.IntImm | tir.FloatImm) for start in starts):
        raise Declined("it does not start from constants")
    first, second = stores
    steps = [step_along(others[0], reduced[0].var), *[step_along(update, reduced[0].var) for update in stores]]
    if steps != [1, 0, 0]:
        raise Declined("the reduced axis is not contiguous in the operand")
    return _Pair(axes, reduced[0], (first, second), starts, values, others[0], old, tuple(others))


def _stores(body: tir.Stmt) -> list[tir.BufferStore]:
    parts = body.seq if isinstance(body, tir.SeqStmt) else (body,)
    if not all(isinstance(part, tir.BufferStore) for part in parts):
        raise Declined("it is not a reduction of several values")
    return [part for part in parts if isinstance(part, tir.BufferStore)]


def _row(pair: _Pair, width: int, parts: int) -> tir.Stmt:
    """Return the statements for one row."""
    axis, block = pair.axis, parts * width
    partial = [new_buffer("partial", write.buffer.dtype, (parts, width), "local") for write in pair.stores]
    others = [new_buffer("other", write.buffer.dtype, (width,), "local") for write in pair.stores]
    pairs = list(zip(others, partial, strict=True))
    counts = index(parts, axis.var.dtype), index(width, axis.var.dtype)

    def for_each(body: Callable[[Index, Index], tir.Stmt]) -> tir.Stmt:
        return unrolled("u", counts[0], lambda u: vectorized("v", counts[1], lambda v: body(u, v)))

    def update(taken: tuple[tir.PrimExpr, ...], *place: Index, is_later: bool = False) -> tir.Stmt:
        old = tuple([load(buffer, *place) for buffer in partial])
        new = pair.step(old, taken, is_later)
        return sequence([store(buffer, value, *place) for buffer, value in zip(partial, new, strict=True)])

    def take(u: Index, v: Index, position: tir.PrimExpr, is_later: bool = False) -> tir.Stmt:
        return update((position, substitute(pair.taken, {axis.var: position})), u, v, is_later=is_later)

    def combine(part: Index, first: int, count: int) -> list[tir.Stmt]:
        """Combine the first pairs with `count` others, which are copied first, so that the vectors do not overlap in
        memory.
        """
        copy = [
            vectorized("v", count, lambda v, o=o, p=p: store(o, load(p, part, plus(v, first)), v)) for o, p in pairs
        ]
        taken = vectorized("v", count, lambda v: update(tuple([load(other, v) for other in others]), 0, v))
        return [*copy, taken]

    begin = for_each(lambda u, v: sequence([store(p, i, u, v) for p, i in zip(partial, pair.inits, strict=True)]))
    whole = divide(axis.extent, block)
    done = times(whole, block)

    has_first = axis.size is not None and axis.size >= 2 * block and pair.begins_with_an_index()

    def step(number: tir.PrimExpr) -> tir.Stmt:
        start = times(number, block)
        return for_each(lambda u, v: take(u, v, plus(start, plus(times(u, width), v))))

    def later_step(number: tir.Var) -> tir.Stmt:
        start = times(plus(number, 1), block)
        return for_each(lambda u, v: take(u, v, plus(start, plus(times(u, width), v)), is_later=True))

    rest = vector_loop("rest", minus(axis.extent, done), width, lambda start, v: take(0, v, plus(done, plus(start, v))))
    halves = [width >> bits for bits in range(1, width.bit_length())]
    merge = [stmt for part in range(1, parts) for stmt in combine(part, 0, width)]
    merge += [stmt for half in halves for stmt in combine(0, half, half)]
    finish = [replace(write, value=load(p, 0, 0)) for write, p in zip(pair.stores, partial, strict=True)]
    steps = (
        [step(index(0, axis.var.dtype)), loop("step", minus(whole, 1), later_step)]
        if has_first
        else [loop("step", whole, step)]
    )
    return allocated([*partial, *others], [begin, *steps, rest, *merge, *finish])
