"""Stages of several blocks that read each other's results."""

from __future__ import annotations

from collections.abc import Sequence

from ....ir import make, tir
from ....ir.idioms import sequence
from ..kernels import OPAQUE, REDUCE, SPATIAL, Axis, Kernel, indices_of
from ..loops import nest, plain_nest
from ..memory import size_of
from .pointwise import part_of

PIPELINE: dict[str, object] = {"software_pipeline_stage": [0, 1], "software_pipeline_order": [0, 1]}


def relay(kernel: Kernel, last: bool) -> tir.Stmt:
    """Compute a chain of vectors of one dtype, each from the previous one. Storage reuse may alternate their memory."""
    dtype = kernel.dtype("float32", "int32", "int8")
    source, loops = kernel.source(dtype, 1), list[tir.Stmt]()
    for more in reversed(range(kernel.choose.number(2, max(kernel.free, 2)))):
        axes = kernel.axes(kernel.shape(1, 1))
        target = kernel.result("R", dtype, (axes[0].extent,), last and not more, [axes[0].low])
        total = make.add(kernel.element(source, axes), kernel.element(source, axes))
        block = kernel.block("relay", axes, tir.BufferStore(target, total, kernel.at(target, axes)))
        loops.append(nest(kernel, axes, block))
        source = target
    kernel.readable.append(source)
    return sequence(loops)


def together(kernel: Kernel, last: bool) -> tir.Stmt:
    """Put two blocks in one loop. The second may read what the first writes, possibly memory that all iterations reuse. The loop
    may be a software pipeline.
    """
    dtype, shape = kernel.dtype(), kernel.shape(2, 2)
    kernel.met("shared loop")
    start = kernel.choose.number(1, 2) if kernel.wants("late loop", 8) else 0
    loop = tir.Var(kernel.index, kernel.choose.fresh("i"))
    index = make.sub(loop, start) if start else loop
    source = kernel.source(dtype)
    is_reused = kernel.allows("opaque axis") and size_of(shape[0]) is not None and kernel.choose.rarely(2)
    if is_reused or "software pipeline" in kernel.pending:
        middle = kernel.declare("M", dtype, shape[1:] if is_reused else shape)
        kernel.allocated.append(middle)
    else:
        middle = kernel.result("M", dtype, shape, last=False)
    target = kernel.result("Y", dtype, shape, last)
    parts = list[tir.Stmt]()
    follows = is_reused or bool(kernel.choose.number(0, 1))
    for memory in (middle, target):
        row_kind = OPAQUE if is_reused else SPATIAL  # iterations that reuse memory are in order
        (row,), columns = kernel.axes(shape[:1], row_kind, is_plain=True), kernel.axes(shape[1:])
        axes = [row, *columns]
        if memory is target and follows:
            value: tir.PrimExpr = tir.BufferLoad(dtype, middle, indices_of(columns if is_reused else axes))
        else:
            value = kernel.element(source, axes)
        value = _changed(kernel, value)
        place = indices_of(columns if is_reused and memory is middle else axes)
        block = kernel.block("part", axes, tir.BufferStore(memory, value, place))
        parts.append(nest(kernel, columns, block, outer=(index,)))
    is_pipeline = middle in kernel.allocated and size_of(shape[0]) is not None and kernel.wants("software pipeline", 2)
    # A buffer that two stages of a pipeline access is allocated inside the loop, so that nothing reads it afterwards.
    kernel.readable += [target] if is_reused or (is_pipeline and follows) else [middle, target]
    kernel.met(*["opaque axis"][: int(is_reused)])
    notes = PIPELINE if is_pipeline else {}
    return tir.For(loop, kernel.const(start), shape[0], tir.ForKind.SERIAL, sequence(parts), annotations=notes)


def _changed(kernel: Kernel, value: tir.PrimExpr) -> tir.PrimExpr:
    """Return a simple function of a value."""
    combine = kernel.choose.pick((make.add, make.mul, make.maximum))
    return combine(value, make.const(kernel.choose.number(1, 3), value.dtype))


def rewritten(kernel: Kernel, last: bool) -> tir.Stmt:
    """Read a buffer, then overwrite all of it or a part."""
    views = {view.data for view in kernel.views}
    known = [buffer for buffer in kernel.readable if buffer.shape and buffer.data not in views]
    if known and kernel.allows("several writers") and kernel.choose.number(0, 3):
        source = kernel.choose.pick(known)
    else:
        source = kernel.parameter("A", kernel.dtype(), kernel.shape(1, 2))
        kernel.readable.append(source)
    kernel.met("rewritten")
    axes = kernel.axes([size for _, size in kernel.box(source)])
    target = kernel.result("B", source.dtype, [axis.extent for axis in axes], last, [axis.low for axis in axes])
    value = _changed(kernel, tir.BufferLoad(source.dtype, source, kernel.at(source, axes)))
    reader = kernel.block("before", axes, tir.BufferStore(target, value, kernel.at(target, axes)))
    loops = [nest(kernel, axes, reader)]
    kernel.readable.append(target)
    axes = kernel.axes(part_of(kernel, source))
    with kernel.hidden(source):
        value = kernel.value(source.dtype, axes, 2)
    writer = kernel.block("again", axes, tir.BufferStore(source, value, kernel.at(source, axes)))
    return sequence([*loops, nest(kernel, axes, writer)])


def padded(kernel: Kernel, last: bool) -> tir.Stmt:
    """Pad a buffer with constant rows before and after it; sums over a window of rows may follow."""
    dtype, shape = kernel.dtype(), kernel.shape(1, 2)
    count = kernel.number(1, min(6, kernel.options.max_extent - 2))
    shape = (kernel.const(count), *shape[1:])
    source = kernel.parameter("A", dtype, shape)
    wide = (kernel.const(count + 2), *shape[1:])
    axes = kernel.axes(wide, is_plain=True)
    target = kernel.result("P", dtype, wide, last)
    first, rest = axes[0].var, indices_of(axes[1:])
    inside = make.logical_and(make.less_equal(kernel.const(1), first), make.less(first, kernel.const(count + 1)))
    load = tir.BufferLoad(dtype, source, (make.sub(first, 1), *rest))
    value = make.if_then_else(inside, load, make.const(kernel.choose.pick((0, 0, 3)), dtype))
    block = kernel.block("pad", axes, tir.BufferStore(target, value, indices_of(axes)))
    loops = [plain_nest(kernel, axes, block) if kernel.choose.number(0, 2) else nest(kernel, axes, block)]
    kernel.readable.append(target)
    if not last and kernel.free > 0 and kernel.allows("reduction") and kernel.choose.number(0, 2):
        loops.append(_windows(kernel, last, target, 3))
    return sequence(loops)


def stream(kernel: Kernel, last: bool) -> tir.Stmt:
    """Pass each element through two or three blocks at the same index; the last one may leave some out."""
    source, loops = kernel.source(), list[tir.Stmt]()
    for more in reversed(range(min(kernel.choose.number(2, 3), max(kernel.free, 2)))):
        is_part = bool(loops) and not more and kernel.choose.rarely(3)
        axes = kernel.axes(part_of(kernel, source, 1) if is_part else [size for _, size in kernel.box(source)])
        value = _changed(kernel, tir.BufferLoad(source.dtype, source, kernel.at(source, axes)))
        shape, lows = [axis.extent for axis in axes], [axis.low for axis in axes]
        target = kernel.result("B", source.dtype, shape, last and not more, lows)
        block = kernel.block("pass", axes, tir.BufferStore(target, value, kernel.at(target, axes)))
        loops.append(nest(kernel, axes, block, is_idempotent=True))
        source = target
        kernel.readable.append(source)
    return sequence(loops)


def windowed(kernel: Kernel, last: bool) -> tir.Stmt:
    """Sum over a window of rows that another block computes."""
    dtype, width, most = kernel.dtype(), kernel.choose.number(2, 3), kernel.options.max_extent
    width = min(width, most - 1)
    shape = (kernel.const(kernel.number(2, min(7, most - width + 1)) + width - 1), *kernel.shape(1, 2)[1:])
    kernel.met("reduction")
    source = kernel.parameter("A", dtype, shape)
    axes = kernel.axes(shape, is_plain=True)
    middle = kernel.result("M", dtype, shape, last=False)
    value = _changed(kernel, tir.BufferLoad(dtype, source, indices_of(axes)))
    block = kernel.block("rows", axes, tir.BufferStore(middle, value, indices_of(axes)))
    loops = plain_nest(kernel, axes, block) if kernel.choose.number(0, 1) else nest(kernel, axes, block)
    kernel.readable.append(middle)
    return sequence([loops, _windows(kernel, last, middle, width)])


def _windows(kernel: Kernel, last: bool, source: tir.Buffer, width: int) -> tir.Stmt:
    dtype, (first, *rest) = source.dtype, source.shape
    shape = (kernel.const((size_of(first) or width) - width + 1), *rest)
    is_plain = bool(kernel.choose.number(0, 1))
    axes = [*kernel.axes(shape, is_plain=is_plain), *kernel.axes((kernel.const(width),), REDUCE, is_plain=True)]
    target = kernel.result("W", dtype, shape, last)
    block = _window(kernel, source, target, axes)
    kernel.readable.append(target)
    return plain_nest(kernel, axes, block) if is_plain else nest(kernel, axes, block)


def _window(kernel: Kernel, source: tir.Buffer, target: tir.Buffer, axes: Sequence[Axis]) -> tir.Block:
    """Return the block that sums a window of rows, or takes their maximum."""
    *rows, step = axes
    dtype, place = source.dtype, kernel.at(target, rows)
    combine, start = kernel.choose.pick(((make.add, 0), (make.maximum, 0)))
    read = tir.BufferLoad(dtype, source, (make.add(rows[0].index, step.index), *indices_of(rows[1:])))
    init = tir.BufferStore(target, make.const(start, dtype), place)
    body = tir.BufferStore(target, combine(tir.BufferLoad(dtype, target, place), read), place)
    return kernel.block("window", axes, body, init)


def tiled(kernel: Kernel, last: bool) -> tir.Stmt:
    """Compute like `windowed`, in one loop over tiles, each of which computes all rows that it reads."""
    dtype, width, rest = kernel.dtype(), kernel.choose.number(2, 3), kernel.shape(1, 2)[1:]
    tile, count = kernel.choose.number(2, 4), kernel.choose.number(2, 3)
    kernel.met("reduction", "shared loop", "split axis")
    sizes = [tile + width - 1, tile]
    tall = kernel.const(tile * count + width - 1)
    source = kernel.parameter("A", dtype, (tall, *rest))
    middle = kernel.result("M", dtype, (tall, *rest), last=False)
    target = kernel.result("W", dtype, (kernel.const(tile * count), *rest), last)
    outer, parts = tir.Var(kernel.index, kernel.choose.fresh("i0")), list[tir.Stmt]()
    for memory, size in zip((middle, target), sizes, strict=True):
        axes = kernel.axes(memory.shape, is_plain=True)
        if memory is target:
            axes += kernel.axes((kernel.const(width),), REDUCE, is_plain=True)
            block = _window(kernel, middle, target, axes)
        else:
            value = _changed(kernel, tir.BufferLoad(dtype, source, indices_of(axes)))
            block = kernel.block("rows", axes, tir.BufferStore(middle, value, indices_of(axes)))
        row = tir.Var(kernel.index, kernel.choose.fresh("i1"))
        loops = nest(kernel, axes[1:], block, outer=(make.add(make.mul(outer, kernel.const(tile)), row),))
        parts.append(tir.For(row, kernel.const(0), kernel.const(size), tir.ForKind.SERIAL, loops))
    kernel.readable += [middle, target]
    return tir.For(outer, kernel.const(0), kernel.const(count), tir.ForKind.SERIAL, sequence(parts))
