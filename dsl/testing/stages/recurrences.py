"""Stages whose elements are computed from earlier ones of the same buffer."""

from __future__ import annotations

from ....ir import make, tir
from ..kernels import SCAN, Kernel, indices_of
from ..loops import nest


def scan(kernel: Kernel, last: bool) -> tir.Stmt:
    """Compute each element from the previous one."""
    dtype, shape = kernel.dtype(), kernel.shape(1, 2)
    axes = [*kernel.axes(shape[:1], SCAN), *kernel.axes(shape[1:])]
    value = kernel.value(dtype, axes, 2)
    target = kernel.result("S", dtype, shape, last)
    time, rest = axes[0].index, indices_of(axes[1:])
    before = tir.BufferLoad(dtype, kernel.perhaps_renamed(target), (make.sub(time, 1), *rest))
    combined = kernel.choose.pick((make.add, make.maximum, make.minimum))(before, value)
    start = make.if_then_else(make.less(kernel.const(0), time), combined, make.const(1, dtype))
    kernel.readable.append(target)
    store = tir.BufferStore(target, start, (time, *rest))
    return nest(kernel, axes, kernel.block("scan", axes, store), in_order=True)


def wavefront(kernel: Kernel, last: bool) -> tir.Stmt:
    """Compute each element of a matrix from the previous row or its own row: `B[i, j]` from `B[i - 1, j + 1]`."""
    dtype, shape = kernel.dtype(), kernel.shape(2, 2)
    axes = kernel.axes(shape, SCAN)
    value = kernel.value(dtype, axes, 1)
    target = kernel.result("S", dtype, shape, last)
    down, across = kernel.choose.pick(((1, -1), (1, 1), (1, 0), (0, 1), (2, -1)))
    row, column = make.sub(axes[0].index, down), make.sub(axes[1].index, across)
    if down and kernel.wants("computed index", 3):
        column = make.sub(make.sub(shape[1], 1), axes[1].index)
    inside = make.logical_and(make.less_equal(kernel.const(0), row), make.less_equal(kernel.const(0), column))
    inside = make.logical_and(inside, make.less(column, shape[1]))
    before = tir.BufferLoad(dtype, kernel.perhaps_renamed(target), (row, column))
    before = make.if_then_else(inside, before, make.const(1, dtype))
    combined = kernel.choose.pick((make.add, make.sub, make.maximum))(before, value)
    kernel.readable.append(target)
    store = tir.BufferStore(target, combined, indices_of(axes))
    return nest(kernel, axes, kernel.block("wavefront", axes, store), in_order=True)
