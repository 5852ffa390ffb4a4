"""Stages without blocks: vectors, and a `while` loop."""

from __future__ import annotations

from ....ir import make, tir
from ....ir.dtype import with_lanes
from ....ir.idioms import sequence
from ..kernels import Kernel
from ..options import MAX_EXTENT


def counted(kernel: Kernel, last: bool) -> tir.Stmt:
    """Store a vector without a block, then increment its first elements in a `while` loop."""
    dtype, size = kernel.dtype("int32", "float32", "int8"), max(kernel.number(2, MAX_EXTENT), 2)
    kernel.room -= 1
    kernel.met("while", "vector")
    target = kernel.result("W", dtype, (kernel.const(size),), last)
    count = kernel.declare("count", "int32", (kernel.const(1),))
    kernel.allocated.append(count)
    zero, one = kernel.const(0), make.const(1, dtype)
    ramp = make.ramp(zero, kernel.const(1), size)
    fill = tir.BufferStore(target, _vector(kernel, dtype, size, 2), (ramp,))
    start = tir.BufferStore(count, make.const(0, "int32"), (zero,))
    done = tir.BufferLoad("int32", count, (zero,))
    place = make.cast(done, kernel.index)
    add_one = tir.BufferStore(target, make.add(tir.BufferLoad(dtype, target, (place,)), one), (place,))
    step = tir.BufferStore(count, make.add(done, 1), (zero,))
    go_on = make.less(done, make.const(kernel.choose.number(0, size), "int32"))
    kernel.readable.append(target)
    return sequence([fill, start, tir.While(go_on, sequence([add_one, step]))])


def _vector(kernel: Kernel, dtype: str, lanes: int, depth: int) -> tir.PrimExpr:
    """Return a vector: a broadcast, a load, a ramp, a combination of vectors, or a lane-wise select."""
    kind = kernel.choose.number(0, 3) if depth else kernel.choose.number(0, 1)
    if dtype == "int32" and kernel.choose.rarely(4):
        return make.ramp(kernel.value(dtype, (), 1), kernel.value(dtype, (), 1), lanes)
    if kind == 0:
        return make.broadcast(kernel.value(dtype, (), 1), lanes)
    if kind == 1:
        step = kernel.choose.pick((1, 1, 2, 3))
        source = kernel.parameter("V", dtype, (kernel.const(lanes * step),))
        ramp = make.ramp(kernel.const(0), kernel.const(step), lanes)
        return tir.BufferLoad(with_lanes(dtype, lanes), source, (ramp,))
    a, b, c, d = (_vector(kernel, dtype, lanes, depth - 1) for _ in range(4))
    if kind == 2:
        return kernel.choose.pick((make.add, make.sub, make.minimum, make.maximum))(a, b)
    return make.select(kernel.choose.pick((make.less, make.equal))(a, b), c, d)
