"""What generated functions do, one stage after the other. A stage computes one buffer from those before it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeAlias

from msgspec.structs import replace

from ...ir import make, tir
from ...ir.dtype import is_float, with_lanes
from .expressions import DTYPES
from .kernels import MAX_EXTENT, Axis, Kernel, sequence, size_of
from .loops import nest

Stage: TypeAlias = Callable[[Kernel, bool], tir.Stmt]
"""Makes the loops of a stage; the flag says that it is the last one, which writes a parameter."""

_REDUCE, _SCAN = tir.IterVarType.COMM_REDUCE, tir.IterVarType.ORDERED


def axes_of(
    kernel: Kernel, shape: Sequence[tir.PrimExpr], kind: tir.IterVarType = tir.IterVarType.DATA_PAR
) -> list[Axis]:
    """Return an axis for each dimension of `shape`."""
    letters = "ijl" if kind is tir.IterVarType.DATA_PAR else "krs"
    names = [kernel.choose.fresh(f"v{letters[place % 3]}") for place in range(len(shape))]
    return [Axis(tir.Var(kernel.index, name), extent, kind) for name, extent in zip(names, shape, strict=True)]


def _variables(axes: Sequence[Axis]) -> tuple[tir.PrimExpr, ...]:
    return tuple([axis.var for axis in axes])


def elementwise(kernel: Kernel, last: bool) -> tir.Stmt:
    """Every element from elements of other buffers, at any place: the same, mirrored, strided, clamped, gathered."""
    dtype, shape = kernel.choose.pick(DTYPES), kernel.shape()
    axes = axes_of(kernel, shape)
    value = kernel.value(dtype, axes)
    target = kernel.result("B", dtype, shape, last)
    body = _stored(kernel, tir.BufferStore(target, value, _variables(axes)), axes)
    kernel.readable.append(target)
    return nest(kernel, axes, kernel.block("map", axes, body))


def formulas(kernel: Kernel, last: bool) -> tir.Stmt:
    """Several long values of different dtypes at each place: many operations for one compilation."""
    shape = (kernel.const(MAX_EXTENT),)
    axes = axes_of(kernel, shape)
    targets = [kernel.result("F", kernel.choose.pick(DTYPES), shape, last) for _ in range(kernel.choose.number(1, 4))]
    stores = [
        _stored(kernel, tir.BufferStore(each, kernel.value(each.dtype, axes, 7), _variables(axes)), axes)
        for each in targets
    ]
    kernel.readable += targets
    return nest(kernel, axes, kernel.block("formulas", axes, sequence(stores)))


def _stored(kernel: Kernel, store: tir.BufferStore, axes: Sequence[Axis]) -> tir.Stmt:
    """A store, or one of several statements that store as much."""
    match kernel.choose.number(0, 8):
        case 7 | 8:
            other = tir.BufferStore(store.buffer, kernel.value(store.buffer.dtype, axes, 1), store.indices)
            return tir.IfThenElse(kernel.value("bool", axes, 2), store, other)
        case 6:
            variable = tir.Var(store.value.dtype, kernel.choose.fresh("t"))
            twice = make.add(variable, make.const(1, variable.dtype))
            return tir.LetStmt(variable, store.value, tir.BufferStore(store.buffer, twice, store.indices))
        case 5:
            message = tir.StringImm("handle", "a size is wrong")
            return tir.AssertStmt(make.less_equal(kernel.const(0), axes[0].var), message, store)
        case _:
            return store


def guarded(kernel: Kernel, last: bool) -> tir.Stmt:
    """A stencil that reads neighbours where there are any, or writes only some elements of a parameter."""
    dtype, shape = kernel.choose.pick(DTYPES), kernel.shape(1, 2)
    axes = axes_of(kernel, shape)
    if kernel.choose.rarely(3):
        target = kernel.parameter("B", dtype, shape)
        condition = make.less(axes[0].var, make.sub(axes[0].extent, kernel.choose.number(0, 2)))
        store = tir.BufferStore(target, kernel.value(dtype, axes), _variables(axes))
        body: tir.Stmt = tir.IfThenElse(condition, store)
    else:
        source, value = kernel.source(dtype, len(shape)), None
        for offset in (-1, 0, 1)[: kernel.choose.number(1, 3)]:
            neighbour = _neighbour(kernel, source, axes, offset)
            value = neighbour if value is None else make.add(value, neighbour)
        target = kernel.result("B", dtype, shape, last)
        assert value is not None
        body = tir.BufferStore(target, value, _variables(axes))
    kernel.readable.append(target)
    return nest(kernel, axes, kernel.block("stencil", axes, body))


def _neighbour(kernel: Kernel, source: tir.Buffer, axes: Sequence[Axis], offset: int) -> tir.PrimExpr:
    """An element beside the one that `axes` mean, or zero outside the buffer."""
    indices = [make.add(axis.var, kernel.const(offset if place == 0 else 0)) for place, axis in enumerate(axes)]
    condition: tir.PrimExpr | None = None
    for index, extent in zip(indices, source.shape, strict=True):
        inside = make.logical_and(make.less_equal(kernel.const(0), index), make.less(index, extent))
        condition = inside if condition is None else make.logical_and(condition, inside)
    load = tir.BufferLoad(source.dtype, source, tuple(indices))
    assert condition is not None
    return make.if_then_else(condition, load, make.const(0, source.dtype))


_REDUCERS = (
    (make.add, 0.0), (make.maximum, -100.0), (make.minimum, 100.0), (make.mul, 1.0),
)  # fmt: skip


def reduction(kernel: Kernel, last: bool) -> tir.Stmt:
    """A sum, product, least or greatest over one or two axes."""
    dtype, shape = kernel.choose.pick(DTYPES), kernel.shape(0, 2)
    axes = [*axes_of(kernel, shape), *axes_of(kernel, kernel.shape(1, 2), _REDUCE)]
    value = kernel.value(dtype, axes, 2)
    if isinstance(value, tir.IntImm | tir.FloatImm):  # which may fold with what is reduced: then nothing is
        value = kernel.element(kernel.source(dtype), axes)
    return _reduced(kernel, last, dtype, shape, axes, value)


def matmul(kernel: Kernel, last: bool) -> tir.Stmt:
    """A product of matrices, or of a matrix and a vector, perhaps in a wider dtype."""
    rows, columns, depth = kernel.extent(), kernel.extent(), kernel.extent()
    dtype = kernel.choose.pick(("float32", "int32", "float16", "int8", "float64"))
    wide = kernel.choose.pick((dtype, {"float16": "float32", "int8": "int32"}.get(dtype, dtype)))
    shape = (rows, columns)[: kernel.choose.number(1, 2)]
    axes = [*axes_of(kernel, shape), *axes_of(kernel, (depth,), _REDUCE)]
    first = kernel.parameter("A", dtype, (rows, depth))
    second = kernel.parameter("B", dtype, (*shape[1:], depth))
    one = tir.BufferLoad(dtype, first, (axes[0].var, axes[-1].var))
    other = tir.BufferLoad(dtype, second, (*_variables(axes[1:-1]), axes[-1].var))
    return _reduced(kernel, last, wide, shape, axes, make.mul(make.cast(one, wide), make.cast(other, wide)))


def _reduced(
    kernel: Kernel, last: bool, dtype: str, shape: Sequence[tir.PrimExpr], axes: Sequence[Axis], value: tir.PrimExpr
) -> tir.Stmt:
    combine, start = kernel.choose.pick(_REDUCERS)
    target = kernel.result("C", dtype, shape, last)
    indices = _variables([axis for axis in axes if not axis.is_reduction])
    first = max(start, 0.0) if dtype.startswith("u") else start
    init = tir.BufferStore(target, make.const(first if is_float(dtype) else int(first), dtype), indices)
    update = combine(tir.BufferLoad(dtype, target, indices), value)
    kernel.readable.append(target)
    return nest(kernel, axes, kernel.block("reduce", axes, tir.BufferStore(target, update, indices), init))


def scan(kernel: Kernel, last: bool) -> tir.Stmt:
    """Every element from the one before it."""
    dtype, shape = kernel.choose.pick(DTYPES), kernel.shape(1, 2)
    axes = [*axes_of(kernel, shape[:1], _SCAN), *axes_of(kernel, shape[1:])]
    value = kernel.value(dtype, axes, 2)
    target = kernel.result("S", dtype, shape, last)
    time, rest = axes[0].var, _variables(axes[1:])
    before = tir.BufferLoad(dtype, target, (make.sub(time, 1), *rest))
    combined = kernel.choose.pick((make.add, make.maximum, make.minimum))(before, value)
    start = make.if_then_else(make.less(kernel.const(0), time), combined, make.const(1, dtype))
    kernel.readable.append(target)
    store = tir.BufferStore(target, start, (time, *rest))
    return nest(kernel, axes, kernel.block("scan", axes, store), in_order=True)


def staged(kernel: Kernel, last: bool) -> tir.Stmt:
    """A row is computed in memory of the block's own, and copied out through a view of the result."""
    dtype, width = kernel.choose.pick(DTYPES), kernel.const(kernel.choose.number(1, 4))
    rows = axes_of(kernel, (kernel.extent(),))
    local = kernel.declare("row", dtype, (width,), kernel.choose.pick(("local", "global", "shared")))
    fill = _along(kernel, width, lambda at: tir.BufferStore(local, _inner(kernel, dtype, rows, at, width), (at,)))
    target = kernel.result("D", dtype, (rows[0].extent, width), last)
    view = _view(kernel, dtype, width)
    region = (tir.Range(rows[0].var, kernel.const(1)), tir.Range(kernel.const(0), width))
    match = tir.MatchBufferRegion(view, tir.BufferRegion(target, region))
    copy = _along(kernel, width, lambda place: tir.BufferStore(view, tir.BufferLoad(dtype, local, (place,)), (place,)))
    block = kernel.block("stage", rows, sequence([fill, copy]), own=(local,), matches=(match,))
    kernel.readable.append(target)
    return nest(kernel, rows, block)


def _inner(kernel: Kernel, dtype: str, rows: Sequence[Axis], place: tir.Var, width: tir.PrimExpr) -> tir.PrimExpr:
    """A value that the loop inside a block goes over: what the block reads is the region of all its iterations."""
    if kernel.choose.rarely(2):
        return _parted(kernel, dtype, place, width)
    return kernel.value(dtype, [*rows, Axis(place, width)], 2)


def _parted(kernel: Kernel, dtype: str, place: tir.Var, width: tir.PrimExpr) -> tir.PrimExpr:
    """An element of one vector up to some place, and of another one from there on: a condition on the loop alone, which
    restricts what is read."""
    first, second = (kernel.parameter("P", dtype, (width,)) for _ in range(2))
    compare = kernel.choose.pick((make.less, make.less_equal, make.greater, make.greater_equal, make.equal))
    end = kernel.const(kernel.choose.number(0, size_of(width) or 0))
    condition = compare(place, end) if kernel.choose.number(0, 1) else compare(end, place)
    if kernel.choose.rarely(3):
        condition = make.logical_not(condition)
    if kernel.choose.rarely(3):
        combine = kernel.choose.pick((make.logical_and, make.logical_or))
        condition = combine(condition, make.less(place, make.sub(width, 1)))
    one, other = (tir.BufferLoad(dtype, each, (place,)) for each in (first, second))
    return make.if_then_else(condition, one, other)


def _view(kernel: Kernel, dtype: str, width: tir.PrimExpr) -> tir.Buffer:
    """A buffer that is matched: where it starts is bound when the block runs."""
    plain = kernel.declare("view", dtype, (width,))
    return replace(plain, elem_offset=tir.Var(kernel.index, f"{plain.name}_elem_offset"), offset_factor=1)


def _along(kernel: Kernel, extent: tir.PrimExpr, body: Callable[[tir.Var], tir.Stmt]) -> tir.Stmt:
    """A loop over `extent`."""
    place = tir.Var(kernel.index, kernel.choose.fresh("j"))
    return tir.For(place, kernel.const(0), extent, tir.ForKind.SERIAL, body(place))


def counted(kernel: Kernel, last: bool) -> tir.Stmt:
    """No block: a vector is stored, and its first elements are counted up by a loop that ends on a condition."""
    dtype, size = kernel.choose.pick(("int32", "float32", "int8")), kernel.choose.number(2, MAX_EXTENT)
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
    """A vector: of equal elements, from memory, combined of others or chosen among them lane by lane."""
    kind = kernel.choose.number(0, 3) if depth else kernel.choose.number(0, 1)
    if kind == 0:
        return make.broadcast(kernel.value(dtype, (), 1), lanes)
    if kind == 1:
        source = kernel.parameter("V", dtype, (kernel.const(lanes),))
        ramp = make.ramp(kernel.const(0), kernel.const(1), lanes)
        return tir.BufferLoad(with_lanes(dtype, lanes), source, (ramp,))
    a, b, c, d = (_vector(kernel, dtype, lanes, depth - 1) for _ in range(4))
    if kind == 2:
        return kernel.choose.pick((make.add, make.sub, make.minimum, make.maximum))(a, b)
    return make.select(kernel.choose.pick((make.less, make.equal))(a, b), c, d)


def relay(kernel: Kernel, last: bool) -> tir.Stmt:
    """Vectors of one dtype in a row, each from elements of the one before: they may take turns in memory."""
    dtype = kernel.choose.pick(("float32", "int32", "int8"))
    source, loops = kernel.source(dtype, 1), list[tir.Stmt]()
    for more in reversed(range(kernel.choose.number(2, 5))):
        axes = axes_of(kernel, kernel.shape(1, 1))
        target = kernel.result("R", dtype, (axes[0].extent,), last and not more)
        total = make.add(kernel.element(source, axes), kernel.element(source, axes))
        block = kernel.block("relay", axes, tir.BufferStore(target, total, _variables(axes)))
        loops.append(nest(kernel, axes, block))
        source = target
    kernel.readable.append(source)
    return sequence(loops)


STAGES: dict[str, Stage] = {
    "elementwise": elementwise,
    "formulas": formulas,
    "reduction": reduction,
    "guarded": guarded,
    "matmul": matmul,
    "scan": scan,
    "staged": staged,
    "counted": counted,
    "relay": relay,
}
"""By the name under which a run counts them."""
