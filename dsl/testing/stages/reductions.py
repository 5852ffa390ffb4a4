"""Stages that reduce: sums and extrema, places of extrema, matrix products, sums of quotients and of triangles."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from ....ir import make, tir
from ....ir.dtype import is_float
from ....ir.idioms import sequence
from ..features import LONG
from ..kernels import REDUCE, SPATIAL, TRUE, Axis, Kernel, indices_of
from ..loops import nest, plain_nest
from ..memory import size_of

_REDUCERS = (
    (make.add, 0.0), (make.maximum, -100.0), (make.minimum, 100.0), (make.mul, 1.0), (make.add, 0.0), (make.maximum, None),
    (make.minimum, None),
)  # fmt: skip
"""Operations of reductions and their initial values. None means the minimum or maximum of the dtype."""


def _start(kernel: Kernel, combine: Callable[..., tir.PrimExpr], start: float | None, dtype: str) -> tir.PrimExpr:
    if start is None and (is_float(dtype) or kernel.allows("large integer")):
        return make.min_value(dtype) if combine is make.maximum else make.max_value(dtype)
    first = (-100.0 if combine is make.maximum else 100.0) if start is None else start
    first = max(first, 0.0) if dtype.startswith("u") else first
    return make.const(first if is_float(dtype) else int(first), dtype)


def reduction(kernel: Kernel, last: bool) -> tir.Stmt:
    """Compute one or two sums, products, minima or maxima over one or two axes."""
    dtype, shape = kernel.dtype(), kernel.shape(0, 2)
    steps = (kernel.const(0),) if kernel.wants("extent 0", 30) else kernel.shape(1, 2)
    axes = [*kernel.axes(shape), *kernel.axes(steps, REDUCE)]
    values: list[tir.PrimExpr] = []
    is_double = kernel.allows("init of several") and (kernel.wants("outputs", 6) or "init of several" in kernel.pending)
    for _ in range(2 if is_double else 1):
        value = kernel.value(dtype, axes, 2)
        if isinstance(
            value, tir.IntImm | tir.FloatImm
        ):  # it may fold with the reduced value, and then nothing is reduced
            value = kernel.element(kernel.source(dtype), axes)
        values.append(value)
    return _reduced(kernel, last, dtype, shape, axes, values)


def biased(kernel: Kernel, last: bool) -> tir.Stmt:
    """Reduce, and then combine each result with another value, usually by the operation of the reduction."""
    dtype, shape = kernel.dtype(), kernel.shape(1, 2)
    combine, start = kernel.choose.pick(_REDUCERS)
    axes = [*kernel.axes(shape), *kernel.axes(kernel.shape(1, 1), REDUCE)]
    free, source = axes[: len(shape)], kernel.source(dtype)
    middle = kernel.result("C", dtype, shape, last=False)
    place = kernel.at(middle, free)
    total = combine(tir.BufferLoad(dtype, middle, place), kernel.element(source, axes))
    init = tir.BufferStore(middle, _start(kernel, combine, start, dtype), place)
    block = kernel.block("reduce", axes, tir.BufferStore(middle, total, place), init)
    kernel.met("reduction")

    target, others = kernel.result("D", dtype, shape, last), kernel.axes(shape)
    with_it = combine if kernel.choose.number(0, 5) else kernel.choose.pick(_REDUCERS)[0]
    pair = [tir.BufferLoad(dtype, middle, kernel.at(middle, others)), kernel.value(dtype, others, 2)]
    left, right = pair[:: kernel.choose.pick((1, -1))]
    value = with_it(left, right)
    after = kernel.block("bias", others, tir.BufferStore(target, value, kernel.at(target, others)))
    kernel.readable += [middle, target]
    return sequence([nest(kernel, axes, block), nest(kernel, others, after)])


def matmul(kernel: Kernel, last: bool) -> tir.Stmt:
    """Compute a product of matrices, or of a matrix and a vector, possibly in a wider dtype."""
    rows, columns, depth = kernel.extent(), kernel.extent(), kernel.extent()
    if kernel.options.max_extent > LONG and kernel.allows("long loop") and kernel.chances("long loop", 4):
        depth = kernel.const(kernel.number(LONG // 2, kernel.options.max_extent))
    dtype = kernel.dtype("float32", "int32", "float16", "int8", "float64")
    wider = {"float16": "float32", "int8": "int32"}.get(dtype, dtype)
    wide = kernel.choose.pick((dtype, wider if wider in kernel.options.dtypes else dtype))
    shape = (rows, columns)[: kernel.choose.number(1, 2)]
    axes = [*kernel.axes(shape), *kernel.axes((depth,), REDUCE)]
    first = kernel.parameter("A", dtype, (rows, depth))
    is_outer = len(shape) > 1 and kernel.choose.rarely(4)  # the second operand is the same in all steps
    second = kernel.parameter("B", dtype, (*shape[1:], *[depth][is_outer:]))
    one = tir.BufferLoad(dtype, first, (axes[0].index, axes[-1].index))
    other = tir.BufferLoad(dtype, second, (*indices_of(axes[1:-1]), *[axes[-1].index][is_outer:]))
    return _reduced(kernel, last, wide, shape, axes, [make.mul(make.cast(one, wide), make.cast(other, wide))])


def _reduced(
    kernel: Kernel, last: bool, dtype: str, shape: Sequence[tir.PrimExpr], axes: Sequence[Axis],
    values: Sequence[tir.PrimExpr],
) -> tir.Stmt:  # fmt: skip
    free = [axis for axis in axes if not axis.is_reduction]
    targets = [kernel.result("C", dtype, shape, last, [axis.low for axis in free]) for _ in values]
    starts, updates = list[tir.Stmt](), list[tir.Stmt]()
    bound, lets = _variables_of(kernel, values)
    for target, value in zip(targets, bound, strict=True):
        combine, start = kernel.choose.pick(_REDUCERS)
        constant = _start(kernel, combine, start, dtype)
        place = kernel.at(target, free)
        starts.append(tir.BufferStore(target, constant, place))
        updates.append(tir.BufferStore(target, combine(tir.BufferLoad(dtype, target, place), value), place))
    body = sequence(updates)
    for variable, value in reversed(lets):
        body = tir.LetStmt(variable, value, body)
    is_empty = any(size_of(axis.extent) == 0 for axis in axes)
    kernel.readable += [
        buffer for buffer in targets if not (is_empty and buffer in kernel.allocated)
    ]  # nothing writes those
    init, before = sequence(starts), list[tir.Stmt]()
    several = "several writers" in kernel.pending and "init of several" not in kernel.pending
    if kernel.free > 1 and kernel.allows("several writers") and (kernel.wants("no init", 5) or several):
        kernel.met("several writers")
        others = kernel.axes(shape)
        own = [tir.BufferStore(stmt.buffer, stmt.value, kernel.at(stmt.buffer, others)) for stmt in starts if isinstance(stmt, tir.BufferStore)]  # fmt: skip
        before, init = [nest(kernel, others, kernel.block("start", others, sequence(own)))], None
    elif len(targets) > 1:
        kernel.met("init of several")
    kernel.met("outputs" if len(targets) > 1 else "reduction", "reduction")
    return sequence([*before, nest(kernel, axes, kernel.block("reduce", axes, body, init))])


def _variables_of(
    kernel: Kernel, values: Sequence[tir.PrimExpr]
) -> tuple[list[tir.PrimExpr], list[tuple[tir.Var, tir.PrimExpr]]]:
    """Return values or variables bound to them, and these bindings."""
    is_asked = "variables" in kernel.pending and kernel.allows("let in reduction")
    if not (is_asked or (kernel.allows("variables") and kernel.wants("let in reduction", 4))):
        return list(values), []
    kernel.met("variables", "let in reduction")
    lets = [(tir.Var(value.dtype, kernel.choose.fresh("t")), value) for value in values]
    return [variable for variable, _ in lets], lets


def argmax(kernel: Kernel, last: bool) -> tir.Stmt:
    """Find the first greatest or least integer along one or two axes, and its place."""
    dtype = kernel.dtype(
        *(("int8", "int32", "int64", "int16") if kernel.allows("large integer") else ("int8", "int16"))
    )
    shape, steps = kernel.shape(0, 1), kernel.shape(1, 2)
    is_greatest = bool(kernel.choose.number(0, 1))
    better, worst = (make.greater_equal, make.min_value) if is_greatest else (make.less_equal, make.max_value)
    axes = [*kernel.axes(shape), *kernel.axes(steps, REDUCE)]
    free, place = axes[: len(shape)], make.const(0, kernel.index)
    for axis in axes[len(shape) :]:
        place = make.add(make.mul(place, axis.extent), axis.index)
    source = kernel.parameter("A", dtype, [axis.extent for axis in axes])
    both = (make.cast(place, dtype), tir.BufferLoad(dtype, source, indices_of(axes)))
    targets = [kernel.result("P", dtype, shape, last, [axis.low for axis in free]) for _ in both]
    old = [tir.BufferLoad(target.dtype, target, kernel.at(target, free)) for target in targets]
    variables = [tir.Var(target.dtype, kernel.choose.fresh("t")) for target in targets]
    stores = [tir.BufferStore(load.buffer, value, load.indices) for load, value in zip(old, variables, strict=True)]
    body, keeps = sequence(stores), better(old[1], both[1])
    for variable, load, value in reversed(list(zip(variables, old, both, strict=True))):
        body = tir.LetStmt(variable, make.select(keeps, load, value), body)
    starts = (make.const(-1, dtype), worst(dtype))
    init = sequence(
        [tir.BufferStore(load.buffer, start, load.indices) for load, start in zip(old, starts, strict=True)]
    )
    kernel.readable += targets
    return nest(kernel, axes, kernel.block("argmax", axes, body, init), in_order=True)


def quotients(kernel: Kernel, last: bool) -> tir.Stmt:
    """Sum quotients or remainders of a matrix by numbers that another block computes, none of which is 0."""
    dtype = kernel.dtype("int32", "int8", "uint8")
    whole = (make.truncdiv, make.truncmod, make.floordiv, make.floormod)
    divide = make.div if is_float(dtype) else kernel.choose.pick(whole)
    rows, depth = kernel.extent(), kernel.extent()
    axes = [*kernel.axes((rows,), is_plain=True), *kernel.axes((depth,), REDUCE, is_plain=True)]
    of = kernel.choose.pick((axes[:1], axes, axes[1:]))
    divisors = kernel.result("D", dtype, [axis.extent for axis in of], last=False)
    others = kernel.axes(divisors.shape, is_plain=True)
    value = kernel.element(kernel.source(dtype), others)
    value = make.maximum(value, make.const(1, dtype))
    first = kernel.block("divisors", others, tir.BufferStore(divisors, value, indices_of(others)))
    loops = plain_nest(kernel, others, first)
    source, target = kernel.parameter("A", dtype, (rows, depth)), kernel.result("Q", dtype, (rows,), last)
    element = tir.BufferLoad(dtype, source, indices_of(axes))
    quotient = divide(element, tir.BufferLoad(dtype, divisors, indices_of(of)))
    place = indices_of(axes[:1])
    total = make.add(tir.BufferLoad(dtype, target, place), quotient)
    init = tir.BufferStore(target, make.const(0, dtype), place)
    kernel.readable += [divisors, target]
    block = kernel.block("quotients", axes, tir.BufferStore(target, total, place), init)
    return sequence(
        [loops, plain_nest(kernel, axes, block) if kernel.choose.number(0, 2) else nest(kernel, axes, block)]
    )


def tiles(kernel: Kernel, last: bool) -> tir.Stmt:
    """Compute a matrix product with rows as long as vectors in plain loops, as `tensorize` expects it."""
    options = kernel.options
    may_be_bytes = {"uint8", "int8", "int32"} <= set(options.dtypes) and options.max_extent >= 16
    is_bytes = may_be_bytes and ("float32" not in options.dtypes or kernel.choose.rarely(3))
    dtype = "int32" if is_bytes else kernel.dtype("float32")
    narrow = ("uint8", "int8") if is_bytes else (dtype, dtype)
    sizes = [kernel.const(kernel.number(*pair)) for pair in ([(2, 3), (16, 16), (4, 4)] if is_bytes else [(2, 4), (8, 8), (3, 4)])]  # fmt: skip
    rows, columns, depth = sizes
    first = kernel.parameter("A", narrow[0], (rows, depth))
    second = kernel.parameter("B", narrow[1], (columns, depth) if is_bytes else (depth, columns))
    (i, j), (k,) = kernel.axes((rows, columns), is_plain=True), kernel.axes((depth,), REDUCE, is_plain=True)
    axes = [i, j, k] if is_bytes else [i, k, j]
    one = tir.BufferLoad(narrow[0], first, (i.var, k.var))
    other = tir.BufferLoad(narrow[1], second, (j.var, k.var) if is_bytes else (k.var, j.var))
    target = kernel.result("C", dtype, (rows, columns), last)
    product = make.mul(make.cast(one, dtype), make.cast(other, dtype))
    update = tir.BufferStore(target, make.add(tir.BufferLoad(dtype, target, (i.var, j.var)), product), (i.var, j.var))
    zero, before = make.const(0, dtype), list[tir.Stmt]()
    init = tir.BufferStore(target, zero, (i.var, j.var))
    if kernel.free > 1 and kernel.allows("several writers", "no init") and not kernel.choose.rarely(3):
        others = kernel.axes((rows, columns), is_plain=True)
        start = tir.BufferStore(target, zero, indices_of(others))
        before, init = [plain_nest(kernel, others, kernel.block("start", others, start))], None
        kernel.met("several writers", "no init")
    kernel.readable.append(target)
    kernel.met("reduction")
    return sequence([*before, plain_nest(kernel, axes, kernel.block("product", axes, update, init))])


def triangle(kernel: Kernel, last: bool) -> tir.Stmt:
    """Compute the lower triangle of a matrix, or the sums of its rows."""
    dtype, size = kernel.dtype(), kernel.const(kernel.number(2, 5))
    is_sum = kernel.allows("reduction") and (kernel.choose.number(0, 1) == 1 or "reduction" in kernel.pending)
    source = kernel.source(dtype, 2) if kernel.readable else kernel.parameter("A", dtype, (size, size))
    row, column = (tir.Var(kernel.index, kernel.choose.fresh(name)) for name in "ik")
    axes = [Axis(tir.Var(kernel.index, kernel.choose.fresh("vi")), size), Axis(tir.Var(kernel.index, kernel.choose.fresh("vk")), size, REDUCE if is_sum else SPATIAL)]  # fmt: skip
    value = kernel.element(source, axes)
    if is_sum:
        target = kernel.result("L", dtype, (size,), last)
        first = tir.BufferStore(target, make.const(0, dtype), (axes[0].var,))
        total = make.add(tir.BufferLoad(dtype, target, (axes[0].var,)), value)
        block = kernel.block("prefix", axes, tir.BufferStore(target, total, (axes[0].var,)), first)
        kernel.readable.append(target)
    else:
        target = kernel.parameter("L", dtype, (size, size))
        block = kernel.block("lower", axes, tir.BufferStore(target, value, indices_of(axes)))
    kernel.met("computed extent", *["reduction"][: int(is_sum)])
    inner = tir.For(column, kernel.const(0), make.add(row, 1), tir.ForKind.SERIAL, tir.BlockRealize((row, column), TRUE, block))  # fmt: skip
    return tir.For(row, kernel.const(0), size, tir.ForKind.SERIAL, inner)
