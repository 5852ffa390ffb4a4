"""Stages of several blocks that read each other's results."""

from __future__ import annotations

from ....ir import make, tir
from ..kernels import Kernel, indices_of, sequence
from ..loops import nest


def relay(kernel: Kernel, last: bool) -> tir.Stmt:
    """Vectors of one dtype in a row, each from elements of the one before: they may take turns in memory."""
    dtype = kernel.dtype("float32", "int32", "int8")
    source, loops = kernel.source(dtype, 1), list[tir.Stmt]()
    for more in reversed(range(kernel.choose.number(2, max(kernel.free, 2)))):
        axes = kernel.axes(kernel.shape(1, 1))
        target = kernel.result("R", dtype, (axes[0].extent,), last and not more)
        total = make.add(kernel.element(source, axes), kernel.element(source, axes))
        block = kernel.block("relay", axes, tir.BufferStore(target, total, indices_of(axes)))
        loops.append(nest(kernel, axes, block))
        source = target
    kernel.readable.append(source)
    return sequence(loops)
