"""Reductions to several values at once: argmax and argmin, sums of values and of their squares.

for i, k in T.grid(n, 1000):                     for i in blocks:
    I[i], V[i] = the better of                       for ko in range(4), tx in 256 threads:  k = ko * 256 + tx
        (I[i], V[i]) and (k, A[i, k])      →             the better of two pairs; the threads combine theirs at the end
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import reduce
from math import prod
from typing import Any

from msgspec import Struct
from msgspec.structs import replace

from ....ir import make, tir
from ....ir.analysis.update import Update, is_choice, key_of
from ....ir.equal import structural_equal
from ....ir.schedule.analysis.reductions import Reduction, reduction_of
from ....ir.schedule.arguments import Block, Integer
from ....ir.schedule.conditions import Refused
from ....ir.schedule.declaration import Knob, composite
from ....ir.schedule.program import Program
from ....ir.visit import walk
from ...rules.nest import Axis, Declined, axes_of, check_own_elements, check_plain, plain_loops
from ...rules.site import APPLIES, Site
from ...rules.strides import step_along
from ..architectures import WARP
from .elements import THREADS
from .grid import BLOCK_X, X, bound, unravel

_MOST_THREADS = 256
_MANY = 40_960
"""Number of results that occupy a GPU with a thread for each."""


class _Tuples(Struct, frozen=True, eq=False):
    """A block that reduces to several values: its axes, and the loads of its new values."""

    realize: tir.BlockRealize
    axes: tuple[Axis, ...]
    loads: tuple[tir.BufferLoad, ...]
    has_any_order: bool
    """Whether the result does not depend on the order of the reduction, but for the rounding of sums."""

    @property
    def spatial(self) -> list[Axis]:
        return [axis for axis in self.axes if not axis.is_reduced]

    @property
    def reduced(self) -> list[Axis]:
        return [axis for axis in self.axes if axis.is_reduced]


def choose_several(stmt: tir.Stmt) -> dict[str, Any]:
    """Return the knobs of `several_results`; Declined if `stmt` is not a reduction to several values."""
    found = _read(stmt)
    last = found.reduced[-1]
    count = prod(axis.size or _MOST_THREADS for axis in found.spatial)
    depth = last.size or _MOST_THREADS
    neighbors = found.spatial[-1:]
    is_contiguous = any(step_along(load, last.var) == 1 for load in found.loads)
    are_columns = not is_contiguous and any(
        step_along(load, axis.var) == 1 for axis in neighbors for load in found.loads
    )
    if not found.has_any_order or depth < 2 * WARP or (are_columns and count >= WARP) or count >= _MANY:
        return {"threads": 1}
    return {"threads": max(WARP, min(_MOST_THREADS, 1 << (depth // 2).bit_length() - 1))}


@composite(
    requires=(APPLIES,),
    knobs={"threads": Knob("the number of threads that compute a result together", 1, 1024, is_power=True)},
)
def several_results(program: Program, block: Block, *, threads: Integer) -> None:
    """Compute a reduction to several values, such as an argmax, with `threads` threads for each result.

    `for i, k: c[i], d[i] = f((c[i], d[i]), a[i, k])` becomes a kernel with a block of threads for each i, whose threads reduce every
    `threads`-th element, and combine their values at the end. With one thread for each result, it reduces in order.

    Preserves: the result, since several threads only share a reduction that is the same in any order; but for the order of sums.
    """
    site = Site(program, [block])

    def kernel() -> tir.Stmt:
        found = _read(site.parts[0])
        if threads > 1 and not found.has_any_order:
            raise Declined("the result of its reduction depends on the order")
        return _together(found, threads) if threads > 1 else _apart(found)

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
        return _Tuples(stmt, axes, _checked_loads(stmt.block, axes), False)
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


def _together(found: _Tuples, threads: int) -> tir.Stmt:
    """Return the kernel with a block of threads for each result."""
    bx, tx = tir.Var("int64", "bx"), tir.Var("int64", "tx")
    *outer, last = found.reduced
    loops = {axis.var: tir.Var(axis.var.dtype, axis.var.name) for axis in outer}
    step, size = tir.Var("int64", f"{last.var.name}_step"), tir.IntImm("int64", threads)
    extent = make.cast(last.extent, "int64")
    place = make.add(make.mul(step, size), tx)
    is_ragged = last.size is None or last.size % threads != 0
    values = {**unravel(bx, found.spatial), **loops, last.var: make.cast(place, last.var.dtype)}
    predicate = make.less(place, extent) if is_ragged else tir.IntImm("bool", 1)
    realize = replace(found.realize, iter_values=_values(found, values), predicate=predicate)
    stmt: tir.Stmt = bound(X, threads, tx, realize)
    stmt = _loop(step, make.floordiv(make.add(extent, tir.IntImm("int64", threads - 1)), size), stmt)
    for axis in reversed(outer):
        stmt = _loop(loops[axis.var], axis.extent, stmt)
    return bound(BLOCK_X, _count(found.spatial), bx, stmt)


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
