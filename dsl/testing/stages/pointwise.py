"""Stages that compute each element independently, from other buffers or from its old value."""

from __future__ import annotations

from collections.abc import Sequence

from ....ir import make, tir
from ....ir.idioms import sequence
from ..kernels import OPAQUE, SPATIAL, Axis, Kernel, indices_of
from ..loops import nest
from ..memory import size_of
from ..options import MAX_EXTENT


def _is_empty(shape: Sequence[tir.PrimExpr]) -> bool:
    return any(size_of(extent) == 0 for extent in shape)


def elementwise(kernel: Kernel, last: bool) -> tir.Stmt:
    """Compute each element from elements of other buffers, at any index: the same, mirrored, strided, clamped, gathered."""
    shape = kernel.wide_shape()
    axes = kernel.axes(shape, OPAQUE if kernel.wants("opaque axis", 7) else SPATIAL)
    value, is_delicate = kernel.outermost(kernel.value(_wanted(kernel), axes), axes)
    target = kernel.result("B", value.dtype, shape, last, [axis.low for axis in axes])
    body = _stored(kernel, tir.BufferStore(target, value, kernel.at(target, axes)), axes)
    if not is_delicate and not _is_empty(shape):
        kernel.readable.append(target)
    return nest(kernel, axes, kernel.block("map", axes, body), is_idempotent=True)


def _wanted(kernel: Kernel) -> str:
    """Choose a dtype, one that the next requested feature needs if there is one."""
    if kernel.pending.keys() & {"function", "special constant", "float scalar"}:
        return kernel.dtype("float32", "float64", "float16", "bfloat16")
    if kernel.pending.keys() & {"large integer", "shift", "integer scalar"}:
        return kernel.dtype("int32", "int64", "uint32")
    return kernel.dtype()


def formulas(kernel: Kernel, last: bool) -> tir.Stmt:
    """Compute several long values of different dtypes per element: many operations in one compilation."""
    shape = (kernel.const(kernel.number(MAX_EXTENT, MAX_EXTENT)),)
    axes = kernel.axes(shape)
    least, most = 2 if "outputs" in kernel.pending else 1, 4 if kernel.allows("outputs") else 1
    targets = [kernel.result("F", kernel.dtype(), shape, last) for _ in range(kernel.choose.number(least, most))]
    kernel.met(*["outputs"][: len(targets) - 1])
    stores = [
        _stored(kernel, tir.BufferStore(target, kernel.value(target.dtype, axes, 7), indices_of(axes)), axes)
        for target in targets
    ]
    kernel.readable += targets
    return nest(kernel, axes, kernel.block("formulas", axes, sequence(stores)))


def _stored(kernel: Kernel, store: tir.BufferStore, axes: Sequence[Axis]) -> tir.Stmt:
    """Return a store, possibly in a branch, a binding or an assertion."""
    dtype = store.buffer.dtype
    if kernel.wants("branch", 5):
        other = tir.BufferStore(store.buffer, kernel.value(dtype, axes, 1), store.indices)
        condition = _compared(kernel, axes)
        inner: tir.Stmt = store
        if kernel.choose.rarely(3):
            again = tir.BufferStore(store.buffer, kernel.value(dtype, axes, 1), store.indices)
            inner = tir.IfThenElse(_compared(kernel, axes), store, again)
        return tir.IfThenElse(condition, inner, other)
    if kernel.wants("variables", 7):
        variable = tir.Var(dtype, kernel.choose.fresh("t"))
        return tir.LetStmt(variable, store.value, tir.BufferStore(store.buffer, variable, store.indices))
    if axes and kernel.wants("assertion", 12):
        kind, parts = kernel.choose.pick((("", ()), ("ValueError", ("a size", " is wrong"))))
        message = tir.StringImm("handle", "a size is wrong")
        return tir.AssertStmt(make.less_equal(kernel.const(0), axes[0].var), message, store, kind, parts)
    return store


def _compared(kernel: Kernel, axes: Sequence[Axis]) -> tir.PrimExpr:
    """Return a condition, one that varies with the first axis if folding makes it constant."""
    condition = kernel.value("bool", axes, 2)
    return make.less(axes[0].index, kernel.const(2)) if isinstance(condition, tir.IntImm) and axes else condition


def guarded(kernel: Kernel, last: bool) -> tir.Stmt:
    """Make a stencil that reads neighbors that exist, or write only some elements of a parameter."""
    dtype, shape = kernel.dtype(), kernel.shape(1, 2)
    axes = kernel.axes(shape)
    if kernel.wants("branch", 3):
        target = kernel.parameter("B", dtype, shape)
        condition = make.less(axes[0].index, make.sub(axes[0].extent, kernel.choose.number(0, 2)))
        store = tir.BufferStore(target, kernel.value(dtype, axes), indices_of(axes))
        body: tir.Stmt = tir.IfThenElse(condition, store)
    else:
        source, value = kernel.source(dtype, len(shape), is_whole=True), None
        for offset in (-1, 0, 1)[: kernel.choose.number(1, 3)]:
            neighbor = _neighbor(kernel, source, axes, offset)
            value = neighbor if value is None else make.add(value, neighbor)
        target = kernel.result("B", dtype, shape, last)
        assert value is not None
        body = tir.BufferStore(target, value, indices_of(axes))
    kernel.readable.append(target)
    return nest(kernel, axes, kernel.block("stencil", axes, body))


def _neighbor(kernel: Kernel, source: tir.Buffer, axes: Sequence[Axis], offset: int) -> tir.PrimExpr:
    """Return a neighbor of the element that `axes` denote, or zero outside the buffer."""
    indices = [make.add(axis.index, kernel.const(offset if place == 0 else 0)) for place, axis in enumerate(axes)]
    condition: tir.PrimExpr | None = None
    for index, extent in zip(indices, source.shape, strict=True):
        inside = make.logical_and(make.less_equal(kernel.const(0), index), make.less(index, extent))
        condition = inside if condition is None else make.logical_and(condition, inside)
    load = tir.BufferLoad(source.dtype, source, tuple(indices))
    assert condition is not None
    return make.if_then_else(condition, load, make.const(0, source.dtype))


def update(kernel: Kernel, last: bool) -> tir.Stmt:
    """Update a buffer or a part of it in place."""
    views = {view.data for view in kernel.views}
    known = [buffer for buffer in kernel.readable if buffer.shape and buffer.data not in views]
    if not kernel.allows("rewritten"):
        known = [buffer for buffer in known if buffer.data not in kernel.read]
    if known and kernel.allows("several writers") and kernel.choose.number(0, 3):
        target = kernel.choose.pick(known)
    else:
        target = kernel.parameter("A", kernel.dtype(), kernel.shape(1, 2))
        kernel.readable.append(target)
    axes = kernel.axes(part_of(kernel, target))
    own = tir.BufferLoad(target.dtype, target, kernel.at(target, axes))
    with kernel.hidden(target):
        value = kernel.value(target.dtype, axes, 2)
    combined = kernel.choose.pick((make.add, make.mul, make.maximum, make.sub))(own, value)
    body = tir.BufferStore(target, combined, kernel.at(target, axes))
    return nest(kernel, axes, kernel.block("update", axes, body))


def part_of(kernel: Kernel, target: tir.Buffer, seldom: int = 3) -> list[tir.PrimExpr]:
    """Choose the part of the written part of a buffer to access, from its beginning: the size of each dimension. It is not the
    whole once in `seldom` times.
    """
    sizes = [size for _, size in kernel.box(target)]
    if kernel.allows("part") and kernel.choose.rarely(seldom):
        return [size if size_of(size) is None else kernel.const(kernel.choose.number(min(kernel.least, size_of(size) or 0), size_of(size) or 0)) for size in sizes]  # fmt: skip
    return sizes
