"""Stages with nested blocks, memory that a block allocates, and views of regions."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from msgspec.structs import replace

from ....ir import make, tir
from ....ir.idioms import sequence
from ..kernels import Axis, Kernel, indices_of
from ..loops import nest
from ..memory import size_of


def nested(kernel: Kernel, last: bool) -> tir.Stmt:
    """Compute each row in a block with nested blocks: one, or two that communicate through memory of the row."""
    dtype, shape = kernel.dtype(), kernel.shape(2, 2)
    rows, columns = kernel.axes(shape[:1]), kernel.axes(shape[1:])
    target = kernel.result("N", dtype, shape, last)
    value = kernel.value(dtype, [*rows, *columns], 2)
    kernel.readable.append(target)
    if kernel.free > 2 and kernel.allows("own memory") and not kernel.pending and kernel.choose.rarely(3):
        row, again = kernel.declare("row", dtype, shape[1:]), kernel.axes(shape[1:])
        fill = kernel.block("fill", columns, tir.BufferStore(row, value, indices_of(columns)), inside=(row,))
        own = tir.BufferLoad(dtype, row, indices_of(again))
        store = tir.BufferStore(target, own, indices_of([*rows, *again]))
        copy = kernel.block("copy", again, store, inside=(row,))
        parts = [nest(kernel, columns, fill), nest(kernel, again, copy)]
        return nest(kernel, rows, kernel.block("outer", rows, sequence(parts), own=(row,)))
    inner = kernel.block("inner", columns, tir.BufferStore(target, value, indices_of([*rows, *columns])))
    return nest(kernel, rows, kernel.block("outer", rows, nest(kernel, columns, inner)))


def staged(kernel: Kernel, last: bool) -> tir.Stmt:
    """Compute a row or a matrix in memory that the block allocates, and copy it out through a view of the result."""
    dtype, width = kernel.dtype(), kernel.const(kernel.number(1, 4))
    sizes = (kernel.const(kernel.number(1, 3)), width) if kernel.wants("matched matrix", 3) else (width,)
    rows = kernel.axes((kernel.extent(),))
    scopes = ("local", "global", "shared") if kernel.allows("scope") else ("global",)
    scope = "local" if kernel.wants("scope", 2) else kernel.choose.pick(scopes)
    local, matches = kernel.declare("row", dtype, sizes, scope), list[tir.MatchBufferRegion]()
    if kernel.wants("matched source", 3):
        late = kernel.choose.number(0, 2)
        source = kernel.parameter("A", dtype, (rows[0].extent, *_wider(kernel, sizes, late)))
        matches.append(_match(kernel, source, rows[0], source.shape[1:]))
        seen = matches[0].buffer
        fill = _along(
            kernel, sizes, lambda at: tir.BufferStore(local, tir.BufferLoad(dtype, seen, _later(at, late)), at)
        )
    else:
        fill = _along(kernel, sizes, lambda at: tir.BufferStore(local, _inner(kernel, dtype, rows, at, sizes), at))
    late = kernel.choose.number(0, 2) if last else 0  # the last result is a parameter, which has values
    target = kernel.result("D", dtype, (rows[0].extent, *_wider(kernel, sizes, late)), last)
    matches.append(_match(kernel, target, rows[0], target.shape[1:]))
    copy = _copied(kernel, matches[-1].buffer, local, sizes, late)
    block = kernel.block("stage", rows, sequence([fill, copy]), own=(local,), matches=tuple(matches))
    kernel.met("own memory", "matched region")
    kernel.readable.append(target)
    return nest(kernel, rows, block)


def _wider(kernel: Kernel, sizes: Sequence[tir.PrimExpr], more: int) -> tuple[tir.PrimExpr, ...]:
    """Return sizes with more columns."""
    return (*sizes[:-1], kernel.const((size_of(sizes[-1]) or 0) + more))


def _later(at: tuple[tir.PrimExpr, ...], columns: int) -> tuple[tir.PrimExpr, ...]:
    """Return an element a number of columns later."""
    return (*at[:-1], make.add(at[-1], columns) if columns else at[-1])


def _copied(kernel: Kernel, view: tir.Buffer, local: tir.Buffer, sizes: Sequence[tir.PrimExpr], late: int) -> tir.Stmt:
    """Return loops that copy memory of a block to the last columns of a view of a result, or a nested block that does."""
    if not (kernel.free > 1 and kernel.allows("nested blocks") and kernel.choose.rarely(3)):
        return _along(
            kernel, sizes, lambda at: tir.BufferStore(view, tir.BufferLoad(view.dtype, local, at), _later(at, late))
        )
    axes = kernel.axes(sizes)
    at = indices_of(axes)
    store = tir.BufferStore(view, tir.BufferLoad(view.dtype, local, at), _later(at, late))
    return nest(kernel, axes, kernel.block("copy", axes, store, inside=(view, local)))


def _match(kernel: Kernel, buffer: tir.Buffer, row: Axis, sizes: Sequence[tir.PrimExpr]) -> tir.MatchBufferRegion:
    """Return a view of a row of a buffer."""
    region = (tir.Range(row.index, kernel.const(1)), *[tir.Range(kernel.const(0), size) for size in sizes])
    return tir.MatchBufferRegion(_view(kernel, buffer.dtype, sizes), tir.BufferRegion(buffer, region))


def _inner(
    kernel: Kernel, dtype: str, rows: Sequence[Axis], places: tuple[tir.Var, ...], sizes: Sequence[tir.PrimExpr]
) -> tir.PrimExpr:
    """Return a value over which loops inside a block iterate. The block reads the region of all their iterations."""
    if kernel.choose.rarely(2):
        return _parted(kernel, dtype, places[-1], sizes[-1])
    return kernel.value(dtype, [*rows, *[Axis(place, size) for place, size in zip(places, sizes, strict=True)]], 2)


def _parted(kernel: Kernel, dtype: str, place: tir.Var, width: tir.PrimExpr) -> tir.PrimExpr:
    """Return an element of one vector up to some index and of another one after it. The condition depends only on the
    loop and restricts the region that is read.
    """
    first, second = (kernel.parameter("P", dtype, (width,)) for _ in range(2))
    compare = kernel.choose.pick((make.less, make.less_equal, make.greater, make.greater_equal, make.equal))
    end = kernel.const(kernel.choose.number(0, size_of(width) or 0))
    condition = compare(place, end) if kernel.choose.number(0, 1) else compare(end, place)
    if kernel.choose.rarely(3):
        condition = make.logical_not(condition)
    if kernel.choose.rarely(3):
        combine = kernel.choose.pick((make.logical_and, make.logical_or))
        condition = combine(condition, make.less(place, make.sub(width, 1)))
    one, other = (tir.BufferLoad(dtype, buffer, (place,)) for buffer in (first, second))
    return make.if_then_else(condition, one, other)


def _view(kernel: Kernel, dtype: str, sizes: Sequence[tir.PrimExpr]) -> tir.Buffer:
    """Return a matched buffer. Its offset, and possibly its strides, are bound when the block runs."""
    plain = kernel.declare("view", dtype, sizes)
    if kernel.wants("matched strides", 3):
        strides = tuple([tir.Var(kernel.index, kernel.choose.fresh("step")) for _ in sizes])
        plain = replace(plain, strides=strides)
    return replace(plain, elem_offset=tir.Var(kernel.index, f"{plain.name}_elem_offset"), offset_factor=1)


def _along(kernel: Kernel, sizes: Sequence[tir.PrimExpr], body: Callable[[tuple[tir.Var, ...]], tir.Stmt]) -> tir.Stmt:
    """Return loops over `sizes`."""
    places = tuple([tir.Var(kernel.index, kernel.choose.fresh("j")) for _ in sizes])
    stmt = body(places)
    for place, size in reversed(list(zip(places, sizes, strict=True))):
        stmt = tir.For(place, kernel.const(0), size, tir.ForKind.SERIAL, stmt)
    return stmt
