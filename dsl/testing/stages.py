"""What generated functions do, one stage after the other. A stage computes one buffer from those before it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeAlias

from msgspec.structs import replace

from ...ir import make, tir
from ...ir.dtype import is_float, with_lanes
from .kernels import TRUE, Axis, Kernel, sequence, size_of
from .loops import nest
from .options import MAX_EXTENT

Stage: TypeAlias = Callable[[Kernel, bool], tir.Stmt]
"""Makes the loops of a stage; the flag says that it is the last one, which writes a parameter."""

_SPATIAL, _OPAQUE = tir.IterVarType.DATA_PAR, tir.IterVarType.OPAQUE
_REDUCE, _SCAN = tir.IterVarType.COMM_REDUCE, tir.IterVarType.ORDERED


def axes_of(
    kernel: Kernel, shape: Sequence[tir.PrimExpr], kind: tir.IterVarType = tir.IterVarType.DATA_PAR
) -> list[Axis]:
    """Return an axis for each dimension of `shape`."""
    letters = "krs" if kind is tir.IterVarType.COMM_REDUCE else "ijl"
    found: list[Axis] = []
    for place, extent in enumerate(shape):
        low = kernel.choose.number(1, 3) if kernel.wants("late axis", 12) else 0
        found.append(Axis(tir.Var(kernel.index, kernel.choose.fresh(f"v{letters[place % 3]}")), extent, kind, low))
    return found


def _indices(axes: Sequence[Axis]) -> tuple[tir.PrimExpr, ...]:
    return tuple([axis.index for axis in axes])


def _is_empty(shape: Sequence[tir.PrimExpr]) -> bool:
    return any(size_of(extent) == 0 for extent in shape)


def elementwise(kernel: Kernel, last: bool) -> tir.Stmt:
    """Every element from elements of other buffers, at any place: the same, mirrored, strided, clamped, gathered."""
    shape = kernel.wide_shape()
    axes = axes_of(kernel, shape, _OPAQUE if kernel.wants("opaque axis", 7) else _SPATIAL)
    value, is_delicate = kernel.outermost(kernel.value(_wanted(kernel), axes), axes)
    target = kernel.result("B", value.dtype, shape, last)
    body = _stored(kernel, tir.BufferStore(target, value, _indices(axes)), axes)
    if not is_delicate and not _is_empty(shape):
        kernel.readable.append(target)
    return nest(kernel, axes, kernel.block("map", axes, body))


def _wanted(kernel: Kernel) -> str:
    """Choose a dtype, one that a feature which is to come needs."""
    if kernel.pending.keys() & {"function", "special constant", "float scalar"}:
        return kernel.dtype("float32", "float64", "float16", "bfloat16")
    if kernel.pending.keys() & {"large integer", "shift", "integer scalar"}:
        return kernel.dtype("int32", "int64", "uint32")
    return kernel.dtype()


def formulas(kernel: Kernel, last: bool) -> tir.Stmt:
    """Several long values of different dtypes at each place: many operations for one compilation."""
    shape = (kernel.const(kernel.number(MAX_EXTENT, MAX_EXTENT)),)
    axes = axes_of(kernel, shape)
    least, most = 2 if "outputs" in kernel.pending else 1, 4 if kernel.allows("outputs") else 1
    targets = [kernel.result("F", kernel.dtype(), shape, last) for _ in range(kernel.choose.number(least, most))]
    kernel.met(*["outputs"][: len(targets) - 1])
    stores = [
        _stored(kernel, tir.BufferStore(each, kernel.value(each.dtype, axes, 7), _indices(axes)), axes)
        for each in targets
    ]
    kernel.readable += targets
    return nest(kernel, axes, kernel.block("formulas", axes, sequence(stores)))


def _stored(kernel: Kernel, store: tir.BufferStore, axes: Sequence[Axis]) -> tir.Stmt:
    """A store, or one of several statements that store as much."""
    dtype = store.buffer.dtype
    if kernel.wants("branch", 5):
        other = tir.BufferStore(store.buffer, kernel.value(dtype, axes, 1), store.indices)
        condition = kernel.value("bool", axes, 2)
        if isinstance(condition, tir.IntImm) and axes:
            condition = make.less(axes[0].index, kernel.const(2))
        return tir.IfThenElse(condition, store, other)
    if kernel.wants("variables", 7):
        variable = tir.Var(dtype, kernel.choose.fresh("t"))
        return tir.LetStmt(variable, store.value, tir.BufferStore(store.buffer, variable, store.indices))
    if axes and kernel.wants("assertion", 12):
        message = tir.StringImm("handle", "a size is wrong")
        return tir.AssertStmt(make.less_equal(kernel.const(0), axes[0].var), message, store)
    return store


def guarded(kernel: Kernel, last: bool) -> tir.Stmt:
    """A stencil that reads neighbours where there are any, or writes only some elements of a parameter."""
    dtype, shape = kernel.dtype(), kernel.shape(1, 2)
    axes = axes_of(kernel, shape)
    if kernel.wants("branch", 3):
        target = kernel.parameter("B", dtype, shape)
        condition = make.less(axes[0].index, make.sub(axes[0].extent, kernel.choose.number(0, 2)))
        store = tir.BufferStore(target, kernel.value(dtype, axes), _indices(axes))
        body: tir.Stmt = tir.IfThenElse(condition, store)
    else:
        source, value = kernel.source(dtype, len(shape)), None
        for offset in (-1, 0, 1)[: kernel.choose.number(1, 3)]:
            neighbour = _neighbour(kernel, source, axes, offset)
            value = neighbour if value is None else make.add(value, neighbour)
        target = kernel.result("B", dtype, shape, last)
        assert value is not None
        body = tir.BufferStore(target, value, _indices(axes))
    kernel.readable.append(target)
    return nest(kernel, axes, kernel.block("stencil", axes, body))


def _neighbour(kernel: Kernel, source: tir.Buffer, axes: Sequence[Axis], offset: int) -> tir.PrimExpr:
    """An element beside the one that `axes` mean, or zero outside the buffer."""
    indices = [make.add(axis.index, kernel.const(offset if place == 0 else 0)) for place, axis in enumerate(axes)]
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
    """A sum, product, least or greatest over one or two axes, or two of them."""
    dtype, shape = kernel.dtype(), kernel.shape(0, 2)
    steps = (kernel.const(0),) if kernel.wants("extent 0", 30) else kernel.shape(1, 2)
    axes = [*axes_of(kernel, shape), *axes_of(kernel, steps, _REDUCE)]
    values: list[tir.PrimExpr] = []
    is_double = kernel.allows("init of several") and (kernel.wants("outputs", 6) or "init of several" in kernel.pending)
    for _ in range(2 if is_double else 1):
        value = kernel.value(dtype, axes, 2)
        if isinstance(value, tir.IntImm | tir.FloatImm):  # which may fold with what is reduced: then nothing is
            value = kernel.element(kernel.source(dtype), axes)
        values.append(value)
    return _reduced(kernel, last, dtype, shape, axes, values)


def matmul(kernel: Kernel, last: bool) -> tir.Stmt:
    """A product of matrices, or of a matrix and a vector, perhaps in a wider dtype."""
    rows, columns, depth = kernel.extent(), kernel.extent(), kernel.extent()
    dtype = kernel.dtype("float32", "int32", "float16", "int8", "float64")
    wider = {"float16": "float32", "int8": "int32"}.get(dtype, dtype)
    wide = kernel.choose.pick((dtype, wider if wider in kernel.options.dtypes else dtype))
    shape = (rows, columns)[: kernel.choose.number(1, 2)]
    axes = [*axes_of(kernel, shape), *axes_of(kernel, (depth,), _REDUCE)]
    first = kernel.parameter("A", dtype, (rows, depth))
    second = kernel.parameter("B", dtype, (*shape[1:], depth))
    one = tir.BufferLoad(dtype, first, (axes[0].index, axes[-1].index))
    other = tir.BufferLoad(dtype, second, (*_indices(axes[1:-1]), axes[-1].index))
    return _reduced(kernel, last, wide, shape, axes, [make.mul(make.cast(one, wide), make.cast(other, wide))])


def _reduced(
    kernel: Kernel, last: bool, dtype: str, shape: Sequence[tir.PrimExpr], axes: Sequence[Axis],
    values: Sequence[tir.PrimExpr],
) -> tir.Stmt:  # fmt: skip
    targets = [kernel.result("C", dtype, shape, last) for _ in values]
    free = [axis for axis in axes if not axis.is_reduction]
    starts, updates = list[tir.Stmt](), list[tir.Stmt]()
    bound, lets = _variables_of(kernel, values)
    for target, value in zip(targets, bound, strict=True):
        combine, start = kernel.choose.pick(_REDUCERS)
        first = max(start, 0.0) if dtype.startswith("u") else start
        constant = make.const(first if is_float(dtype) else int(first), dtype)
        starts.append(tir.BufferStore(target, constant, _indices(free)))
        updates.append(tir.BufferStore(target, combine(tir.BufferLoad(dtype, target, _indices(free)), value), _indices(free)))  # fmt: skip
    body = sequence(updates)
    for variable, value in reversed(lets):
        body = tir.LetStmt(variable, value, body)
    kernel.readable += targets
    init, before = sequence(starts), list[tir.Stmt]()
    several = "several writers" in kernel.pending and "init of several" not in kernel.pending
    if kernel.free > 1 and kernel.allows("several writers") and (kernel.wants("no init", 5) or several):
        kernel.met("several writers")
        others = axes_of(kernel, shape)
        own = [tir.BufferStore(each.buffer, each.value, _indices(others)) for each in starts if isinstance(each, tir.BufferStore)]  # fmt: skip
        before, init = [nest(kernel, others, kernel.block("start", others, sequence(own)))], None
    elif len(targets) > 1:
        kernel.met("init of several")
    kernel.met("outputs" if len(targets) > 1 else "reduction", "reduction")
    return sequence([*before, nest(kernel, axes, kernel.block("reduce", axes, body, init))])


def _variables_of(
    kernel: Kernel, values: Sequence[tir.PrimExpr]
) -> tuple[list[tir.PrimExpr], list[tuple[tir.Var, tir.PrimExpr]]]:
    """Return values, or variables that hold them, and these."""
    is_asked = "variables" in kernel.pending and kernel.allows("let in reduction")
    if not (is_asked or (kernel.allows("variables") and kernel.wants("let in reduction", 4))):
        return list(values), []
    kernel.met("variables", "let in reduction")
    lets = [(tir.Var(value.dtype, kernel.choose.fresh("t")), value) for value in values]
    return [variable for variable, _ in lets], lets


def scan(kernel: Kernel, last: bool) -> tir.Stmt:
    """Every element from the one before it."""
    dtype, shape = kernel.dtype(), kernel.shape(1, 2)
    axes = [*axes_of(kernel, shape[:1], _SCAN), *axes_of(kernel, shape[1:])]
    value = kernel.value(dtype, axes, 2)
    target = kernel.result("S", dtype, shape, last)
    time, rest = axes[0].index, _indices(axes[1:])
    before = tir.BufferLoad(dtype, target, (make.sub(time, 1), *rest))
    combined = kernel.choose.pick((make.add, make.maximum, make.minimum))(before, value)
    start = make.if_then_else(make.less(kernel.const(0), time), combined, make.const(1, dtype))
    kernel.readable.append(target)
    store = tir.BufferStore(target, start, (time, *rest))
    return nest(kernel, axes, kernel.block("scan", axes, store), in_order=True)


def wavefront(kernel: Kernel, last: bool) -> tir.Stmt:
    """Every element of a matrix from one of the row before it, or of its own row: `B[i, j]` from `B[i - 1, j + 1]`."""
    dtype, shape = kernel.dtype(), kernel.shape(2, 2)
    axes = axes_of(kernel, shape, _SCAN)
    value = kernel.value(dtype, axes, 1)
    target = kernel.result("S", dtype, shape, last)
    down, across = kernel.choose.pick(((1, -1), (1, 1), (1, 0), (0, 1), (2, -1)))
    row, column = make.sub(axes[0].index, down), make.sub(axes[1].index, across)
    inside = make.logical_and(make.less_equal(kernel.const(0), row), make.less_equal(kernel.const(0), column))
    inside = make.logical_and(inside, make.less(column, shape[1]))
    before = make.if_then_else(inside, tir.BufferLoad(dtype, target, (row, column)), make.const(1, dtype))
    combined = kernel.choose.pick((make.add, make.sub, make.maximum))(before, value)
    kernel.readable.append(target)
    store = tir.BufferStore(target, combined, _indices(axes))
    return nest(kernel, axes, kernel.block("wavefront", axes, store), in_order=True)


def update(kernel: Kernel, last: bool) -> tir.Stmt:
    """A buffer, or a part of it, is changed in place."""
    views = {view.data for view in kernel.views}
    known = [each for each in kernel.readable if each.shape and each.data not in views]
    if known and kernel.allows("several writers") and kernel.choose.number(0, 3):
        target = kernel.choose.pick(known)
    else:
        target = kernel.parameter("A", kernel.dtype(), kernel.shape(1, 2))
        kernel.readable.append(target)
    sizes = [size_of(extent) for extent in target.shape]
    is_part = kernel.choose.rarely(3)
    shape = [extent if size is None or not is_part else kernel.const(kernel.choose.number(min(kernel.least, size), size)) for extent, size in zip(target.shape, sizes, strict=True)]  # fmt: skip
    axes = axes_of(kernel, shape)
    own = tir.BufferLoad(target.dtype, target, _indices(axes))
    with kernel.hidden(target):
        value = kernel.value(target.dtype, axes, 2)
    combined = kernel.choose.pick((make.add, make.mul, make.maximum, make.sub))(own, value)
    body = tir.BufferStore(target, combined, _indices(axes))
    return nest(kernel, axes, kernel.block("update", axes, body))


def triangle(kernel: Kernel, last: bool) -> tir.Stmt:
    """The lower triangle of a matrix, or the sums of its rows."""
    dtype, size = kernel.dtype(), kernel.const(kernel.number(2, 5))
    is_sum = kernel.allows("reduction") and (kernel.choose.number(0, 1) == 1 or "reduction" in kernel.pending)
    source = kernel.source(dtype, 2) if kernel.readable else kernel.parameter("A", dtype, (size, size))
    row, column = (tir.Var(kernel.index, kernel.choose.fresh(name)) for name in "ik")
    axes = [Axis(tir.Var(kernel.index, kernel.choose.fresh("vi")), size), Axis(tir.Var(kernel.index, kernel.choose.fresh("vk")), size, _REDUCE if is_sum else _SPATIAL)]  # fmt: skip
    value = kernel.element(source, axes)
    if is_sum:
        target = kernel.result("L", dtype, (size,), last)
        first = tir.BufferStore(target, make.const(0, dtype), (axes[0].var,))
        total = make.add(tir.BufferLoad(dtype, target, (axes[0].var,)), value)
        block = kernel.block("prefix", axes, tir.BufferStore(target, total, (axes[0].var,)), first)
        kernel.readable.append(target)
    else:
        target = kernel.parameter("L", dtype, (size, size))
        block = kernel.block("lower", axes, tir.BufferStore(target, value, _indices(axes)))
    kernel.met("computed extent", *["reduction"][: int(is_sum)])
    inner = tir.For(column, kernel.const(0), make.add(row, 1), tir.ForKind.SERIAL, tir.BlockRealize((row, column), TRUE, block))  # fmt: skip
    return tir.For(row, kernel.const(0), size, tir.ForKind.SERIAL, inner)


def nested(kernel: Kernel, last: bool) -> tir.Stmt:
    """Rows of a block, of which each is computed by a block inside."""
    dtype, shape = kernel.dtype(), kernel.shape(2, 2)
    rows, columns = axes_of(kernel, shape[:1]), axes_of(kernel, shape[1:])
    target = kernel.result("N", dtype, shape, last)
    value = kernel.value(dtype, [*rows, *columns], 2)
    kernel.readable.append(target)
    inner = kernel.block("inner", columns, tir.BufferStore(target, value, _indices([*rows, *columns])))
    return nest(kernel, rows, kernel.block("outer", rows, nest(kernel, columns, inner)))


def staged(kernel: Kernel, last: bool) -> tir.Stmt:
    """A row, or a matrix, is computed in memory of the block's own, and copied out through a view of the result."""
    dtype, width = kernel.dtype(), kernel.const(kernel.number(1, 4))
    sizes = (kernel.const(kernel.number(1, 3)), width) if kernel.wants("matched matrix", 3) else (width,)
    rows = axes_of(kernel, (kernel.extent(),))
    scopes = ("local", "global", "shared") if kernel.allows("scope") else ("global",)
    scope = "local" if kernel.wants("scope", 2) else kernel.choose.pick(scopes)
    local = kernel.declare("row", dtype, sizes, scope)
    fill = _along(kernel, sizes, lambda at: tir.BufferStore(local, _inner(kernel, dtype, rows, at, sizes), at))
    target = kernel.result("D", dtype, (rows[0].extent, *sizes), last)
    view = _view(kernel, dtype, sizes)
    region = (tir.Range(rows[0].index, kernel.const(1)), *[tir.Range(kernel.const(0), size) for size in sizes])
    match = tir.MatchBufferRegion(view, tir.BufferRegion(target, region))
    copy = _along(kernel, sizes, lambda at: tir.BufferStore(view, tir.BufferLoad(dtype, local, at), at))
    block = kernel.block("stage", rows, sequence([fill, copy]), own=(local,), matches=(match,))
    kernel.met("own memory", "matched region")
    kernel.readable.append(target)
    return nest(kernel, rows, block)


def _inner(
    kernel: Kernel, dtype: str, rows: Sequence[Axis], places: tuple[tir.Var, ...], sizes: Sequence[tir.PrimExpr]
) -> tir.PrimExpr:
    """A value that the loops inside a block go over: what the block reads is the region of all their iterations."""
    if kernel.choose.rarely(2):
        return _parted(kernel, dtype, places[-1], sizes[-1])
    return kernel.value(dtype, [*rows, *[Axis(place, size) for place, size in zip(places, sizes, strict=True)]], 2)


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


def _view(kernel: Kernel, dtype: str, sizes: Sequence[tir.PrimExpr]) -> tir.Buffer:
    """A buffer that is matched: where it starts, and perhaps its strides, are bound when the block runs."""
    plain = kernel.declare("view", dtype, sizes)
    if kernel.wants("matched strides", 3):
        strides = tuple([tir.Var(kernel.index, kernel.choose.fresh("step")) for _ in sizes])
        plain = replace(plain, strides=strides)
    return replace(plain, elem_offset=tir.Var(kernel.index, f"{plain.name}_elem_offset"), offset_factor=1)


def _along(kernel: Kernel, sizes: Sequence[tir.PrimExpr], body: Callable[[tuple[tir.Var, ...]], tir.Stmt]) -> tir.Stmt:
    """Loops over `sizes`."""
    places = tuple([tir.Var(kernel.index, kernel.choose.fresh("j")) for _ in sizes])
    stmt = body(places)
    for place, size in reversed(list(zip(places, sizes, strict=True))):
        stmt = tir.For(place, kernel.const(0), size, tir.ForKind.SERIAL, stmt)
    return stmt


def counted(kernel: Kernel, last: bool) -> tir.Stmt:
    """No block: a vector is stored, and its first elements are counted up by a loop that ends on a condition."""
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
    dtype = kernel.dtype("float32", "int32", "int8")
    source, loops = kernel.source(dtype, 1), list[tir.Stmt]()
    for more in reversed(range(kernel.choose.number(2, max(kernel.free, 2)))):
        axes = axes_of(kernel, kernel.shape(1, 1))
        target = kernel.result("R", dtype, (axes[0].extent,), last and not more)
        total = make.add(kernel.element(source, axes), kernel.element(source, axes))
        block = kernel.block("relay", axes, tir.BufferStore(target, total, _indices(axes)))
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
    "wavefront": wavefront,
    "update": update,
    "triangle": triangle,
    "nested": nested,
    "staged": staged,
    "counted": counted,
    "relay": relay,
}
"""By the name under which a run counts them."""
WEIGHTS = {"elementwise": 4, "reduction": 2, "update": 2}
"""How often a stage is drawn, where that is not once."""
BLOCKS = {"nested": 2, "relay": 2}
"""How many blocks a stage has at least, where that is more than one."""
ALWAYS: dict[str, tuple[str, ...]] = {
    "reduction": ("reduction",), "matmul": ("reduction",), "scan": ("scan", "dependence"), "wavefront": ("scan", "dependence"),
    "update": ("in place",), "triangle": ("computed extent",), "nested": ("nested blocks",),
    "staged": ("own memory", "matched region"), "counted": ("while", "vector", "gather"),
}  # fmt: skip
"""The features that a stage always has."""
