"""Reductions to several values at once: argmax and argmin, sums of values and of their squares.

for i, k in T.grid(n, 1000):                     for i in blocks:
    I[i], V[i] = the better of                       for ko in range(4), tx in 256 threads:  k = ko * 256 + tx
        (I[i], V[i]) and (k, A[i, k])      →             the better of two pairs; the threads combine theirs at the end

Where neighboring results belong to neighboring columns, as in an argmax along axis 0, a block of threads has several of them, so that
the reads of a warp are neighbors: its threads are `tx in 32, ty in 32`, for `i = bx * 32 + tx` and `k = ko * 32 + ty`.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import reduce
from math import prod
from typing import Any

from msgspec import Struct
from msgspec.structs import replace

from ....ir import make, tir
from ....ir.analysis.moments import moments_of
from ....ir.analysis.update import Update, is_choice, key_of
from ....ir.dtype import parse_dtype
from ....ir.equal import structural_equal
from ....ir.schedule.analysis.reductions import Reduction, reduction_of
from ....ir.schedule.arguments import Block, Integer
from ....ir.schedule.conditions import KNOB, Refused, name_of
from ....ir.schedule.declaration import Knob, composite
from ....ir.schedule.program import Program
from ....ir.visit import walk
from ...rules.build import below, ceil_divide, is_multiple, plus, times
from ...rules.nest import Axis, Declined, axes_of, check_own_elements, check_plain, plain_loops
from ...rules.site import APPLIES, Site
from ...rules.strides import step_along
from ..architectures import MOST_THREADS, WARP
from ..transactions import SECTOR_BYTES
from .elements import THREADS
from .grid import BLOCK_X, X, Y, all_of, bound, unravel
from .product import ENOUGH_BLOCKS

_MOST_OF_ROW = 256
"""Greatest number of threads for a result whose elements are contiguous; also the assumed size of a symbolic axis."""
_MANY = 40_960
"""Number of results that occupy a GPU with a thread for each."""
_RESIDENT = 1 << 18
"""Number of threads that a large GPU executes at a time."""
_FEWEST_THREADS = 8
"""Number of threads for each result that share columns at least."""


class _Tuples(Struct, frozen=True, eq=False):
    """A block that reduces to several values: its axes, and the loads of its new values."""

    realize: tir.BlockRealize
    axes: tuple[Axis, ...]
    loads: tuple[tir.BufferLoad, ...]
    has_any_order: bool
    """Whether the result does not depend on the order of the reduction, but for the rounding of sums and means."""

    @property
    def spatial(self) -> list[Axis]:
        return [axis for axis in self.axes if not axis.is_reduced]

    @property
    def reduced(self) -> list[Axis]:
        return [axis for axis in self.axes if axis.is_reduced]


def choose_several(stmt: tir.Stmt) -> dict[str, Any]:
    """Return the knobs of `several_results`; Declined if `stmt` is not a reduction to several values."""
    found = _read(stmt)
    count = prod(axis.size or _MOST_OF_ROW for axis in found.spatial)
    depth = found.reduced[-1].size or _MOST_OF_ROW
    bytes_read = _bytes_of_columns(found) if count >= WARP else 0
    if not found.has_any_order or depth < 2 * WARP or count >= (_RESIDENT if bytes_read else _MANY):
        return {"threads": 1}
    if not bytes_read:
        return {"threads": max(WARP, min(_MOST_OF_ROW, _power(depth // 2)))}
    columns = WARP
    while columns * bytes_read > SECTOR_BYTES and count < ENOUGH_BLOCKS * columns:
        columns //= 2
    useful = min(depth // 4, max(_FEWEST_THREADS, _RESIDENT // count))
    return {"threads": min(MOST_THREADS // columns, _power(useful)), "columns": columns}


def _bytes_of_columns(found: _Tuples) -> int:
    """Return the bytes of the least element that neighboring results read from neighboring columns; 0 if they do not."""
    own, last = found.reduced[-1].var, found.spatial[-1].var
    read = [load for load in found.loads if step_along(load, last) != 0]
    if any(step_along(load, own) == 1 for load in read):
        return 0
    return min((parse_dtype(load.dtype).bytes for load in read if step_along(load, last) == 1), default=0)


def _power(number: int) -> int:
    """Return the greatest power of two that is at most `number`."""
    return 1 << number.bit_length() - 1


@composite(
    requires=(APPLIES,),
    knobs={
        "threads": Knob("the number of threads that compute a result together", 1, 1024, is_power=True),
        "columns": Knob(
            "the number of neighboring results of a block, if several threads compute each; at most 1024 threads in all",
            1, 32, is_power=True,
        ),
    },
)  # fmt: skip
def several_results(program: Program, block: Block, *, threads: Integer, columns: Integer = 1) -> None:
    """Compute a reduction to several values, such as an argmax, with `threads` threads for each result.

    `for i, k: c[i], d[i] = f((c[i], d[i]), a[i, k])` becomes a kernel with a block of threads for each i, whose threads reduce every
    `threads`-th element, and combine their values at the end. With `columns`, a block computes that many neighboring results, and its
    reads are coalesced if they are columns: `a[k, i]`. With one thread for each result, it reduces in order.

    Preserves: the result, since several threads only share a reduction that is the same in any order; but for the order of sums.
    """
    if threads * columns > MOST_THREADS:
        most = f"at most {MOST_THREADS // threads} columns of {threads} threads"
        raise KNOB.refuse(f"{name_of(block)} can be computed with {most}, got {columns}", argument="columns")
    site = Site(program, [block])

    def kernel() -> tir.Stmt:
        found = _read(site.parts[0])
        if threads > 1 and not found.has_any_order:
            raise Declined("the result of its reduction depends on the order")
        return _together(found, threads, columns) if threads > 1 else _apart(found)

    site.replace(site.build(kernel))


def _read(stmt: tir.Stmt) -> _Tuples:
    loops, stmt = plain_loops(stmt)
    if not isinstance(stmt, tir.BlockRealize) or not isinstance(stmt.block.init, tir.SeqStmt):
        raise Declined("it is not a reduction to several values")
    check_plain(stmt)
    axes, units = axes_of(stmt, loops)
    reduced = [axis for axis in axes if axis.is_reduced]
    if units or not reduced:
        raise Declined("it has iterators of extent 1, or none that is reduced")
    try:
        reduction = reduction_of(stmt.block)
    except Refused:
        return _Tuples(stmt, axes, _checked_loads(stmt.block, axes), moments_of(stmt.block) is not None)
    memory = {element.buffer.data for element in reduction.elements}
    for element in reduction.elements:
        check_own_elements(
            [axis for axis in axes if not axis.is_reduced], tir.BufferStore(element.buffer, element, element.indices)
        )
    loads = [node for value in reduction.values for node in walk(value) if isinstance(node, tir.BufferLoad)]
    if len(memory) < len(reduction.elements) or any(load.buffer.data in memory for load in loads):
        raise Declined("its values are in the same memory")
    return _Tuples(stmt, axes, tuple(loads), _has_any_order(stmt.block, reduction, reduced, loads))


def _checked_loads(block: tir.Block, axes: Sequence[Axis]) -> tuple[tir.BufferLoad, ...]:
    """Return the loads of a block with any update, of other memory than it stores; Declined if iterations that differ in a spatial axis
    may access the same stored element.
    """
    nodes = list(walk(block))
    stores = [node for node in nodes if isinstance(node, tir.BufferStore)]
    loads = [node for node in nodes if isinstance(node, tir.BufferLoad)]
    memory = {store.buffer.data for store in stores}
    for store in stores:
        check_own_elements([axis for axis in axes if not axis.is_reduced], store)
    for access in (*stores, *loads):
        if access.buffer.data in memory and not structural_equal(access.indices, stores[0].indices):
            raise Declined("it accesses its results at different indices")
    if any(isinstance(node, tir.Evaluate | tir.BlockRealize) for node in nodes):
        raise Declined("it does more than store elements")
    return tuple([load for load in loads if load.buffer.data not in memory])


def _has_any_order(block: tir.Block, reduction: Reduction, reduced: list[Axis], loads: list[tir.BufferLoad]) -> bool:
    if reduction.reducer.is_rounded:
        return True
    update = Update.of(block.body)
    if update is None:
        return False
    if update.is_plain():
        return True
    if len(reduced) != 1 or len({key_of(load) for load in loads}) != 1:
        return False
    return is_choice(update, reduced[0].var, key_of(loads[0]))


def _count(axes: list[Axis]) -> tir.PrimExpr:
    return reduce(make.mul, [make.cast(axis.extent, "int64") for axis in axes], tir.IntImm("int64", 1))


def _together(found: _Tuples, threads: int, columns: int) -> tir.Stmt:
    """Return the kernel with a block of threads for `columns` results, `threads` for each.

    The threads of a result are the innermost loop, so that the loops reduce in order.
    """
    bx, column, member = tir.Var("int64", "bx"), tir.Var("int64", "tx"), tir.Var("int64", "ty" if columns > 1 else "tx")
    *outer, last = found.reduced
    loops = {axis.var: tir.Var(axis.var.dtype, axis.var.name) for axis in outer}
    step = tir.Var("int64", f"{last.var.name}_step")
    count, extent = _count(found.spatial), make.cast(last.extent, "int64")
    number = plus(times(bx, columns), column) if columns > 1 else bx
    place = make.add(make.mul(step, tir.IntImm("int64", threads)), member)
    values = {**unravel(number, found.spatial), **loops, last.var: make.cast(place, last.var.dtype)}
    bounds = ((number, count, columns), (place, extent, threads))
    inside = all_of([below(index, size) for index, size, part in bounds if not is_multiple(size, part)])
    predicate = tir.IntImm("bool", 1) if inside is None else inside
    realize = replace(found.realize, iter_values=_values(found, values), predicate=predicate)
    stmt: tir.Stmt = bound(Y if columns > 1 else X, threads, member, realize)
    stmt = _loop(step, ceil_divide(extent, threads), stmt)
    for axis in reversed(outer):
        stmt = _loop(loops[axis.var], axis.extent, stmt)
    if columns > 1:
        stmt = bound(X, columns, column, stmt)
    return bound(BLOCK_X, ceil_divide(count, columns), bx, stmt)


def _apart(found: _Tuples) -> tir.Stmt:
    """Return the kernel with a thread for each result."""
    bx, tx = tir.Var("int64", "bx"), tir.Var("int64", "tx")
    size, count = tir.IntImm("int64", THREADS), _count(found.spatial)
    index = make.add(make.mul(bx, size), tx)
    loops = {axis.var: tir.Var(axis.var.dtype, axis.var.name) for axis in found.reduced}
    values = {**unravel(index, found.spatial), **loops}
    stmt: tir.Stmt = replace(found.realize, iter_values=_values(found, values), predicate=make.less(index, count))
    for axis in reversed(found.reduced):
        stmt = _loop(loops[axis.var], axis.extent, stmt)
    grid = make.floordiv(make.add(count, tir.IntImm("int64", THREADS - 1)), size)
    return bound(BLOCK_X, grid, bx, bound(X, THREADS, tx, stmt))


def _values(found: _Tuples, values: dict[tir.Var, Any]) -> tuple[tir.PrimExpr, ...]:
    return tuple([values[axis.var] for axis in found.realize.block.iter_vars])


def _loop(var: tir.Var, extent: tir.PrimExpr, body: tir.Stmt) -> tir.Stmt:
    return tir.For(var, make.const(0, var.dtype), make.cast(extent, var.dtype), tir.ForKind.SERIAL, body)
