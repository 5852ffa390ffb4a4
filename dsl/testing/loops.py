"""Loops around a block: one per axis, or split, fused, reordered, late or guarded, of every kind that the axis allows."""

from __future__ import annotations

from collections.abc import Sequence

from msgspec import Struct

from ...ir import make, tir
from ...ir.visit import walk
from .features import LONG
from .kernels import NOTES, TRUE, Axis, Kernel
from .memory import size_of

_KINDS = {
    "parallel loop": tir.ForKind.PARALLEL, "unrolled loop": tir.ForKind.UNROLLED, "thread loop": tir.ForKind.THREAD_BINDING,
    "vectorized loop": tir.ForKind.VECTORIZED,
}  # fmt: skip
_THREADS = ("blockIdx.x", "threadIdx.x", "blockIdx.y", "threadIdx.y")
_VIRTUAL = "vthread.x"


class _Loop(Struct, frozen=True):
    var: tir.Var
    extent: tir.PrimExpr
    is_spatial: bool
    start: int = 0
    is_tied: bool = False
    """Whether its extent depends on the previous loop, so that the two may not be reordered."""


class _Plan(Struct):
    loops: list[_Loop]
    values: list[tir.PrimExpr]
    guards: list[tir.PrimExpr]


def nest(
    kernel: Kernel,
    axes: Sequence[Axis],
    block: tir.Block,
    in_order: bool = False,
    outer: Sequence[tir.PrimExpr] = (),
    is_idempotent: bool = False,
) -> tir.Stmt:
    """Return loops that execute `block` for all values of `axes`, in ascending order if `in_order`.

    `outer` are the values of the preceding axes, which outer loops iterate over. A block that `is_idempotent` may
    execute several times.
    """
    plan = _plan(kernel, axes)
    if is_idempotent and kernel.wants("repeated loop", 20):
        plan.loops.insert(0, _Loop(tir.Var(kernel.index, kernel.choose.fresh("t")), kernel.const(2), is_spatial=False))
    is_fixed = in_order or any(loop.is_tied for loop in plan.loops)
    if not is_fixed and len(plan.loops) > 1 and kernel.choose.rarely(3):
        place = kernel.choose.number(0, len(plan.loops) - 2)
        plan.loops.append(plan.loops.pop(place))
    predicate = TRUE
    for guard in plan.guards:
        predicate = guard if predicate is TRUE else make.logical_and(predicate, guard)
    body: tir.Stmt = tir.BlockRealize((*outer, *plan.values), predicate, block)
    return _wrap(kernel, plan.loops, body, in_order)


def plain_nest(kernel: Kernel, axes: Sequence[Axis], block: tir.Block) -> tir.Stmt:
    """Return one loop per axis, in the order of the axes, over all of its values."""
    loops = [tir.Var(kernel.index, kernel.choose.fresh(axis.var.name.removeprefix("v"))) for axis in axes]
    body: tir.Stmt = tir.BlockRealize(tuple(loops), TRUE, block)
    for loop, axis in reversed(list(zip(loops, axes, strict=True))):
        body = tir.For(loop, kernel.const(axis.low), axis.extent, tir.ForKind.SERIAL, body)
    return body


def _plan(kernel: Kernel, axes: Sequence[Axis]) -> _Plan:
    plan, left = _Plan([], [], []), list(axes)
    if kernel.wants("extent 1", 12):
        plan.loops.append(_Loop(tir.Var(kernel.index, kernel.choose.fresh("u")), kernel.const(1), is_spatial=False))
    while left:
        axis = left.pop(0)
        size, other = size_of(axis.extent), size_of(left[0].extent) if left else None
        both = left and axis.is_reduction == left[0].is_reduction and size and other
        if both and (other or 0) > 1 and "fused axis" in kernel.pending:
            kernel.met("fused axis")
            _fuse(kernel, plan, axis, left.pop(0))
            continue
        both = both and ((size or 0) * (other or 0) <= LONG or kernel.allows("long loop"))
        shape = 0 if kernel.pending else kernel.choose.number(0, 5)
        if "long loop" in kernel.pending and (size or 0) > LONG:
            kernel.met("long loop")
            _bind(plan, axis, _loop(kernel, plan, axis, "", axis.extent))
        elif (shape == 5 or kernel.favors("fused axis")) and both and kernel.allows("fused axis"):
            _fuse(kernel, plan, axis, left.pop(0))
        elif (
            (
                size
                and kernel.allows("split axis")
                and kernel.wants("computed extent", 14)
                and _split(kernel, plan, axis, size, is_computed=True)
            )
            or (
                size
                and (shape == 4 or "split axis" in kernel.pending or kernel.favors("split axis"))
                and kernel.allows("split axis")
                and _split(kernel, plan, axis, size)
            )
            or (size and _guarded(kernel, plan, axis, size))
        ):
            pass
        else:
            start = kernel.choose.number(1, 3) if kernel.wants("late loop", 2 if axis.low else 8) else 0
            start = axis.low if start and axis.low and kernel.choose.number(0, 1) else start
            loop = _loop(kernel, plan, axis, "", axis.extent, start)
            if start and start == axis.low:
                plan.values.append(loop)
            else:
                _bind(plan, axis, make.sub(loop, start) if start else loop)
    return plan


def _bind(plan: _Plan, axis: Axis, index: tir.PrimExpr) -> None:
    """Bind an axis to its values by an expression that counts them from 0."""
    plan.values.append(make.add(index, axis.low) if axis.low else index)


def _loop(
    kernel: Kernel, plan: _Plan, axis: Axis, letter: str, extent: tir.PrimExpr, start: int = 0, is_tied: bool = False
) -> tir.Var:
    variable = tir.Var(kernel.index, kernel.choose.fresh(axis.var.name.removeprefix("v") + letter))
    plan.loops.append(_Loop(variable, extent, axis.kind is tir.IterVarType.DATA_PAR, start, is_tied))
    return variable


def _split(kernel: Kernel, plan: _Plan, axis: Axis, size: int, is_computed: bool = False) -> bool:
    """Split an axis into two loops, with a guard or a shorter inner loop for the tail. Return False if that is not allowed."""
    may_guard = is_computed or (kernel.allows("upper bound") and (kernel.allows("conjunction") or not plan.guards))
    least = 1 if kernel.allows("extent 1") else 2
    options = [i for i in range(least, 5) if -(-size // i) >= least and (may_guard or size % i == 0)]
    if not options:
        return False
    factor = kernel.choose.pick(options)
    outer = -(-size // factor)
    high = _loop(kernel, plan, axis, "0", kernel.const(outer))
    extent = kernel.const(factor)
    if is_computed:
        extent = make.minimum(extent, make.sub(kernel.const(size), make.mul(high, extent)))
    start = kernel.choose.number(1, 3) if not is_computed and kernel.wants("late loop", 8) else 0
    low: tir.PrimExpr = _loop(kernel, plan, axis, "1", extent, start, is_tied=is_computed)
    low = make.sub(low, start) if start else low
    kernel.met("split axis")
    value = make.add(make.mul(high, kernel.const(factor)), low)
    _bind(plan, axis, value)
    if outer * factor > size and not is_computed:
        plan.guards.append(make.less(value, kernel.const(size)))
        kernel.met("upper bound")
    return True


def _guarded(kernel: Kernel, plan: _Plan, axis: Axis, size: int) -> bool:
    """Add a loop that exceeds the axis at either or both ends, and a predicate. Return False if that is not wanted."""
    if plan.guards and not kernel.allows("conjunction"):
        return False
    if size == 1 and kernel.wants("equality", 3):
        place = kernel.choose.number(0, 2)
        loop = _loop(kernel, plan, axis, "", kernel.const(kernel.choose.number(max(place + 1, 2), 3)))
        _bind(plan, axis, make.sub(loop, place) if place else loop)
        plan.guards.append(make.equal(loop, kernel.const(place)))
        return True
    is_asked = "conjunction" in kernel.pending and kernel.allows("lower bound", "upper bound")
    before = kernel.choose.number(1, 2) if is_asked or kernel.wants("lower bound", 10) else 0
    after = 0
    if not before or kernel.allows("conjunction"):
        is_both = bool(before) and kernel.allows("upper bound") and kernel.wants("conjunction", 3)
        after = kernel.choose.number(1, 2) if is_both or kernel.wants("upper bound", 12) else 0
    if not before and not after:
        return False
    start = kernel.choose.number(1, 3) if kernel.wants("late loop", 8) else 0
    loop = _loop(kernel, plan, axis, "", kernel.const(before + size + after), start)
    first = start + before
    _bind(plan, axis, make.sub(loop, first) if first else loop)
    if before:
        is_mirrored = kernel.choose.number(0, 1)
        plan.guards.append(make.less_equal(kernel.const(first), loop) if is_mirrored else make.greater_equal(loop, kernel.const(first)))  # fmt: skip
    if after:
        plan.guards.append(make.less(loop, kernel.const(first + size)))
    if len(plan.guards) > 1:
        kernel.met("conjunction")
    return True


def _fuse(kernel: Kernel, plan: _Plan, outer: Axis, inner: Axis) -> None:
    """Fuse two axes into one loop."""
    rows, columns = size_of(outer.extent) or 1, size_of(inner.extent) or 1
    letters = f"_{inner.var.name.removeprefix('v')}_fused"
    variable = _loop(kernel, plan, outer, letters, kernel.const(rows * columns))
    _bind(plan, outer, make.floordiv(variable, kernel.const(columns)))
    _bind(plan, inner, make.floormod(variable, kernel.const(columns)))


def _wrap(kernel: Kernel, loops: Sequence[_Loop], body: tir.Stmt, in_order: bool) -> tir.Stmt:
    used = {
        node.thread_binding.thread_tag
        for node in walk(body)
        if isinstance(node, tir.For) and node.thread_binding is not None
    }
    threads = [tag for tag in _THREADS if tag not in used]
    for place, loop in reversed(list(enumerate(loops))):
        kind = tir.ForKind.SERIAL
        if loop.is_spatial and not in_order and not loop.is_tied:
            kind = _kind(kernel, loop, is_last=place == len(loops) - 1, has_thread=bool(threads))
        binding = None
        if kind is tir.ForKind.THREAD_BINDING:
            variable = tir.Var(kernel.index, "")
            is_virtual = _VIRTUAL not in used and kernel.choose.rarely(4)
            tag = _VIRTUAL if is_virtual else threads.pop()
            used.add(tag)
            binding = tir.IterVar(None, variable, tir.IterVarType.THREAD_INDEX, tag)
        notes = kernel.choose.pick((*NOTES, _PRAGMA)) if kernel.wants("loop annotation", 14) else {}
        body = tir.For(loop.var, kernel.const(loop.start), loop.extent, kind, body, binding, notes)
    return body


_PRAGMA: dict[str, object] = {"pragma_auto_unroll_max_step": 16}


def _kind(kernel: Kernel, loop: _Loop, is_last: bool, has_thread: bool) -> tir.ForKind:
    """Choose the kind of a loop of spatial axes: a requested one, otherwise usually serial."""
    size = size_of(loop.extent)
    options = ["parallel loop"]
    if size is not None:
        options.append("unrolled loop")
    if size is not None and is_last and size > 0:
        options.append("vectorized loop")
    if has_thread:
        options.append("thread loop")
    asked = [option for option in options if option in kernel.pending]
    allowed = [option for option in options if kernel.allows(option)]
    if asked:
        kernel.met(asked[0])
        return _KINDS[asked[0]]
    favored = next((name for name in allowed if kernel.favors(name)), None)
    if favored is not None:
        return _KINDS[favored]
    return _KINDS[kernel.choose.pick(allowed)] if allowed and kernel.choose.rarely(4) else tir.ForKind.SERIAL
