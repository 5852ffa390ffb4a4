"""Loops around a block: one for each axis, or split, fused, reordered, and of every kind that the axis allows."""

from __future__ import annotations

from collections.abc import Sequence

from msgspec import Struct

from ...ir import make, tir
from .kernels import TRUE, Axis, Kernel, size_of

_SPATIAL = (tir.ForKind.SERIAL, tir.ForKind.PARALLEL, tir.ForKind.UNROLLED, tir.ForKind.THREAD_BINDING)
_THREADS = ("blockIdx.x", "threadIdx.x", "blockIdx.y", "threadIdx.y")


class _Loop(Struct, frozen=True):
    var: tir.Var
    extent: tir.PrimExpr
    is_spatial: bool


class _Plan(Struct):
    loops: list[_Loop]
    values: list[tir.PrimExpr]
    guards: list[tir.PrimExpr]


def nest(kernel: Kernel, axes: Sequence[Axis], block: tir.Block, in_order: bool = False) -> tir.Stmt:
    """Return the loops that run `block` for all values of `axes`; with `in_order`, in ascending order."""
    plan = _plan(kernel, axes)
    if not in_order and len(plan.loops) > 1 and kernel.choose.rarely(3):
        place = kernel.choose.number(0, len(plan.loops) - 2)
        plan.loops.append(plan.loops.pop(place))
    predicate = TRUE
    for guard in plan.guards:
        predicate = guard if predicate is TRUE else make.logical_and(predicate, guard)
    body: tir.Stmt = tir.BlockRealize(tuple(plan.values), predicate, block)
    return _wrap(kernel, plan.loops, body, in_order)


def _plan(kernel: Kernel, axes: Sequence[Axis]) -> _Plan:
    plan, left = _Plan([], [], []), list(axes)
    while left:
        axis = left.pop(0)
        both = (
            left
            and axis.is_reduction == left[0].is_reduction
            and None not in map(size_of, (axis.extent, left[0].extent))
        )
        shape = kernel.choose.number(0, 5)
        if shape == 5 and both:
            _fuse(kernel, plan, axis, left.pop(0))
        elif shape == 4 and size_of(axis.extent) is not None:
            _split(kernel, plan, axis)
        else:
            plan.values.append(_loop(kernel, plan, axis.var.name.removeprefix("v"), axis.extent, axis))
    return plan


def _loop(kernel: Kernel, plan: _Plan, name: str, extent: tir.PrimExpr, axis: Axis) -> tir.Var:
    variable = tir.Var(kernel.index, kernel.choose.fresh(name))
    plan.loops.append(_Loop(variable, extent, axis.kind is tir.IterVarType.DATA_PAR))
    return variable


def _split(kernel: Kernel, plan: _Plan, axis: Axis) -> None:
    """Two loops; a guard where they run over."""
    size, factor = size_of(axis.extent) or 1, kernel.choose.number(1, 4)
    name, outer = axis.var.name.removeprefix("v"), -(-size // factor)
    high = _loop(kernel, plan, f"{name}0", kernel.const(outer), axis)
    low = _loop(kernel, plan, f"{name}1", kernel.const(factor), axis)
    value = make.add(make.mul(high, kernel.const(factor)), low)
    plan.values.append(value)
    if outer * factor > size:
        plan.guards.append(make.less(value, kernel.const(size)))


def _fuse(kernel: Kernel, plan: _Plan, outer: Axis, inner: Axis) -> None:
    """One loop over both."""
    rows, columns = size_of(outer.extent) or 1, size_of(inner.extent) or 1
    name = f"{outer.var.name.removeprefix('v')}_{inner.var.name.removeprefix('v')}_fused"
    variable = _loop(kernel, plan, name, kernel.const(rows * columns), outer)
    plan.values += [make.floordiv(variable, kernel.const(columns)), make.floormod(variable, kernel.const(columns))]


def _wrap(kernel: Kernel, loops: Sequence[_Loop], body: tir.Stmt, in_order: bool) -> tir.Stmt:
    threads = list(_THREADS)
    for place, loop in reversed(list(enumerate(loops))):
        is_free = loop.is_spatial and not in_order
        options = (*_SPATIAL, tir.ForKind.VECTORIZED) if place == len(loops) - 1 else _SPATIAL
        kind = kernel.choose.pick(options if is_free else _SPATIAL[:1]) if kernel.choose.rarely(3) else _SPATIAL[0]
        if size_of(loop.extent) is None and kind in (tir.ForKind.VECTORIZED, tir.ForKind.UNROLLED):
            kind = tir.ForKind.SERIAL
        binding = None
        if kind is tir.ForKind.THREAD_BINDING:
            variable = tir.Var(kernel.index, "")
            binding = tir.IterVar(None, variable, tir.IterVarType.THREAD_INDEX, threads.pop())
        notes = {"pragma_auto_unroll_max_step": 16} if kernel.choose.rarely(20) else {}
        body = tir.For(loop.var, kernel.const(0), loop.extent, kind, body, binding, notes)
    return body
