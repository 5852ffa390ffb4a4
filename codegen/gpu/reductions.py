"""Reductions whose axis is bound to threads: every thread reduces its part, then all threads combine the
partial results.

    for tx in T.thread_binding(32, "threadIdx.x"):          partial[0] = 0
        for k in range(8):                                  for k in range(8):
            with T.block("sum"):                                partial[0] = partial[0] + A[k * 32 + tx]
                …                                      →    T.tvm_thread_allreduce(1, partial[0], True, total[0], tx)
                with T.init(): C[0] = 0                     if tx == 0:
                C[0] = C[0] + A[k * 32 + tx]                    C[0] = total[0]

(TVM: `LowerCrossThreadReduction`.)
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial, reduce

from msgspec import Struct
from msgspec.structs import replace

from ...ir import make, tir
from ...ir.analysis.moments import moments_of
from ...ir.analysis.proof import prove
from ...ir.diagnostics import TvmsError, error
from ...ir.equal import structural_equal
from ...ir.idioms import conjuncts, without_casts
from ...ir.schedule.analysis.reductions import Reduction, Values, reduction_of
from ...ir.schedule.conditions import Refused
from ...ir.visit import children, substitute, walk
from ..lower.rewriter import sequence, uses
from .kernel import ALLREDUCE, THREAD_TAGS, is_private

TRUE = tir.IntImm("bool", 1)
_ZERO = tir.IntImm("int32", 0)
_NEUTRAL: dict[type[tir.BinaryOp], tuple[Callable[[str], tir.PrimExpr], ...]] = {
    tir.Add: (partial(make.const, 0),),
    tir.Mul: (partial(make.const, 1),),
    tir.Min: (make.greatest, make.max_value),
    tir.Max: (make.least, make.min_value),
    tir.And: (partial(make.const, True),),
    tir.Or: (partial(make.const, False),),
}
"""The operations that combine, with the values that change nothing: the first one for all elements, the others for finite ones."""


def reduce_across_threads(func: tir.PrimFunc) -> tir.PrimFunc:
    """Return `func`, which has blocks, with the reductions across threads in two steps.

    Such a reduction combines one element with a value by an operator, or several ones by a reducer that is known to
    `schedule.analysis.reductions`, or it computes a mean and a variance in one pass (`analysis.moments`); TvmsError E0612 otherwise.
    """
    steps = {
        place: stmt for place, stmt in (_shared(*found) for found in blocks_below(func.body, ())) if stmt is not None
    }
    return replace(func, body=substitute(func.body, steps))


def blocks_below(stmt: tir.Stmt, loops: tuple[tir.For, ...]) -> Iterator[tuple[tir.BlockRealize, tuple[tir.For, ...]]]:
    """Yield the blocks below `stmt` with their enclosing loops in the same scope, the outermost first."""
    if isinstance(stmt, tir.BlockRealize):
        yield stmt, loops
        loops = ()
    inner = (*loops, stmt) if isinstance(stmt, tir.For) else loops
    for child in children(stmt):
        if isinstance(child, tir.Stmt):
            yield from blocks_below(child, inner)


def _is_thread(loop: tir.For) -> bool:
    return loop.thread_binding is not None and loop.thread_binding.thread_tag in THREAD_TAGS


def _shared(stmt: tir.BlockRealize, loops: tuple[tir.For, ...]) -> tuple[tir.Stmt, tir.Stmt | None]:
    """Return the statement to replace and its replacement; None for the latter if threads do not share a
    reduction.
    """
    pairs = list(zip(stmt.block.iter_vars, stmt.iter_values, strict=True))
    reduced = [value for axis, value in pairs if axis.iter_type is tir.IterVarType.COMM_REDUCE]
    mine = [loop for loop in loops if uses(reduced, {loop.loop_var})]
    threads = [loop for loop in mine if _is_thread(loop)]
    if not threads:
        return stmt, None
    serial = [loop for loop in mine if not _is_thread(loop)]
    inner = loops[loops.index(serial[0]) :] if serial else ()
    spatial = [value for axis, value in pairs if axis.iter_type is not tir.IterVarType.COMM_REDUCE]
    for loop, body in zip(inner, (*inner[1:], stmt), strict=False):
        if loop.body is not body or uses(spatial, {loop.loop_var}):
            raise refused(stmt, "a loop of the reduction contains another statement, or a loop over the results")
        if loop not in mine and not (isinstance(loop.extent, tir.IntImm) and loop.extent.value > 0):
            raise refused(
                stmt, f"the loop over '{loop.loop_var.name}', which is not part of the reduction, may be empty"
            )
    if not starts_once(stmt, loops, dict.fromkeys((*mine, *inner))):
        help = "bind its reduction axes to values that determine the iterations of their loops"
        raise refused(stmt, "its T.init may execute in several iterations, and reset the result", help)
    combine = combiner_of(stmt, loops, [loop for loop in loops if loop in mine or loop in inner])
    return (inner[0] if inner else stmt), _steps(stmt, inner, [loop.loop_var for loop in threads], combine)


def starts_once(stmt: tir.BlockRealize, loops: Iterable[tir.For], reduced: Iterable[tir.For]) -> bool:
    """Return whether only the first iteration of the loops `reduced` is at the first step of the reduction, where the block
    executes its T.init. `loops` are all loops around the block.
    """
    domains = {loop.loop_var: tir.Range(loop.min, loop.extent) for loop in loops}
    first_step = [
        make.equal(value, make.cast(axis.dom.min, value.dtype))
        for axis, value in zip(stmt.block.iter_vars, stmt.iter_values, strict=True)
        if axis.iter_type is tir.IterVarType.COMM_REDUCE and axis.dom is not None
    ]
    is_first = reduce(make.logical_and, [make.equal(loop.loop_var, loop.min) for loop in reduced])
    return prove(is_first, domains, [*conjuncts(stmt.predicate), *first_step]).is_proven


def _steps(stmt: tir.BlockRealize, inner: Sequence[tir.For], threads: Sequence[tir.Var], combine: Combiner) -> tir.Stmt:
    """Reduce in each thread, then across threads, then store. A T.init that changes the result is combined with it at the end,
    because each thread would count it.
    """
    block = stmt.block
    own, totals = (
        [_scalar(f"{name}_{part}", value.dtype) for name, value in zip(combine.names, combine.identity, strict=True)]
        for part in ("partial", "total")
    )
    mine = tuple([_value(part, block) for part in own])
    value = _combined(own, mine, combine, block)
    first = replace(stmt, block=replace(block, init=None, body=value, reads=(), writes=()))
    for loop in reversed(inner):
        first = replace(loop, body=first)
    found = tuple([_value(total, block) for total in totals])
    args = (tir.IntImm("uint32", len(own)), *mine, TRUE, *found, *threads)
    exchange = tir.Evaluate(tir.Call("handle", ALLREDUCE, args, span=block.body.span), span=stmt.span)
    together = tir.AttrStmt(combine.reducer(), "reduce_scope", _ZERO, exchange)
    start = [
        tir.BufferStore(part, neutral, (_ZERO,), span=block.init.span if block.init is not None else None)
        for part, neutral in zip(own, combine.identity, strict=True)
    ]
    results = found if combine.inits is None else combine.together(combine.inits, found)
    stores = [
        tir.BufferStore(element.buffer, result, element.indices, span=block.body.span)
        for element, result in zip(combine.elements, results, strict=False)
    ]
    kept = _result(stmt, stores, {loop.loop_var for loop in inner}, threads)
    body = tir.SeqStmt((*start, first, together, kept))
    whole = tir.Block(
        (), (), (), f"{block.name_hint}_across_threads", body, alloc_buffers=(*own, *totals), span=block.span
    )
    return tir.BlockRealize((), TRUE, whole, span=stmt.span)


def _value(part: tir.Buffer, block: tir.Block) -> tir.BufferLoad:
    return tir.BufferLoad(part.dtype, part, (_ZERO,), span=block.body.span)


def _combined(own: Sequence[tir.Buffer], mine: Values, combine: Combiner, block: tir.Block) -> tir.Stmt:
    """Return the statement that combines the values of `own` memory, `mine`, with new ones.

    Values that are needed in any case are computed in advance: choices among them need no branches then, which would keep the loads of
    later iterations waiting.
    """
    if len(own) == 1:
        return _stored(own, combine.together(mine, combine.values), block)
    before = tuple([tir.Var(part.dtype, f"own_{part.name}") for part in own])
    news = tuple([tir.Var(value.dtype, f"new_{part.name}") for part, value in zip(own, combine.values, strict=True)])
    results = combine.together(before, news)
    needed = set(before).union(*map(_needed, results))
    bound = dict(zip((*before, *news), (*mine, *combine.values), strict=True))
    late = {var: value for var, value in bound.items() if var not in needed}
    body = _stored(own, tuple([substitute(result, late) for result in results]), block)
    for var in reversed([var for var in bound if var in needed]):
        body = tir.LetStmt(var, bound[var], body)
    return body


def _needed(expr: tir.PrimExpr) -> set[tir.Var]:
    """Return the variables that `expr` needs in any case, whatever its comparisons and choices give."""
    match expr:
        case tir.Var():
            return {expr}
        case tir.And() | tir.Or():
            return _needed(expr.a)
        case tir.Select():
            return _needed(expr.condition) | (_needed(expr.true_value) & _needed(expr.false_value))
        case tir.BinaryOp():
            return _needed(expr.a) | _needed(expr.b)
        case tir.Cast():
            return _needed(expr.value)
        case tir.Not():
            return _needed(expr.a)
        case _:
            return set()


def _stored(parts: Sequence[tir.Buffer], values: Values, block: tir.Block) -> tir.Stmt:
    """Return the statement that stores values to `parts`; all are computed before any is stored."""
    names = [tir.Var(value.dtype, f"v_{part.name}") for part, value in zip(parts, values, strict=True)]
    held = values if len(values) == 1 else names
    stores = [
        tir.BufferStore(part, value, (_ZERO,), span=block.body.span) for part, value in zip(parts, held, strict=True)
    ]
    body = sequence(stores)
    for name, value in reversed(list(zip(names, values, strict=True))) if len(values) > 1 else ():
        body = tir.LetStmt(name, value, body)
    return body


def _result(
    stmt: tir.BlockRealize, stores: Sequence[tir.BufferStore], inner: set[tir.Var], threads: Sequence[tir.Var]
) -> tir.Stmt:
    """Return `stores` of the totals in the first thread, or in every thread if the memory is local."""
    axes = [axis for axis in stmt.block.iter_vars if axis.iter_type is not tir.IterVarType.COMM_REDUCE]
    values = dict(zip(stmt.block.iter_vars, stmt.iter_values, strict=True))
    kept = [part for part in conjuncts(stmt.predicate) if not uses([part], inner | set(threads))]
    if not all(is_private(store.buffer.data) for store in stores):
        kept += [make.equal(thread, make.const(0, thread.dtype)) for thread in threads]
    block = replace(stmt.block, iter_vars=tuple(axes), init=None, body=sequence(stores), reads=(), writes=())
    predicate = reduce(make.logical_and, kept) if kept else TRUE
    return replace(stmt, iter_values=tuple(values[axis] for axis in axes), predicate=predicate, block=block)


class Combiner(Struct, frozen=True, eq=False):
    """A reduction block: the elements that it combines with `values`, the value of each that changes nothing, and `inits`, the
    values of T.init if they change something. The last of the values may have no element: threads need it only to combine the others.
    """

    elements: tuple[tir.BufferLoad, ...]
    values: Values
    together: Callable[[Values, Values], Values]
    identity: Values
    inits: Values | None = None

    @property
    def names(self) -> list[str]:
        """Return a name for each value."""
        hidden = len(self.identity) - len(self.elements)
        return [*(element.buffer.name for element in self.elements), *["count"] * hidden]

    def reducer(self) -> tir.CommReducer:
        """Return the reducer that combines the values of threads."""
        x, y = (
            tuple([tir.Var(value.dtype, f"{name}{number or ''}") for number, value in enumerate(self.identity)])
            for name in ("x", "y")
        )
        return tir.CommReducer(x, y, self.together(x, y), self.identity)


def combiner_of(stmt: tir.BlockRealize, loops: Sequence[tir.For] = (), reduced: Sequence[tir.For] = ()) -> Combiner:
    """Return the reduction of a block: of one element by an operator, of several ones, or to a mean. Its values may be counted as the
    iterations of the loops `reduced` among `loops`, if these are given.
    """
    update, init = stmt.block.body, stmt.block.init
    if init is None:
        raise refused(stmt, "it has no T.init")
    moments = moments_of(stmt.block)
    if moments is not None:
        if moments.axis is not None and not (reduced and _is_counted(stmt, moments.axis, loops, reduced)):
            help = "store the count as another result"
            raise refused(stmt, "its mean divides by an index that is not the number of values of a thread", help)
        return Combiner(moments.elements, moments.values, moments.together, moments.identity)
    if isinstance(update, tir.BufferStore) and isinstance(init, tir.BufferStore):
        return _of_operator(stmt, update, init)
    try:
        found = reduction_of(stmt.block)
    except Refused as problem:
        known = (
            "write the reduction with T.init as pairs of sums, argmin, argmax, or mean and sum of squared differences, or bind "
            "loops of its spatial iterators"
        )
        raise refused(stmt, problem.reason, f"{known} to threads") from None
    return Combiner(found.elements, found.values, _in_any_order(stmt, found), found.identity)


def _is_counted(
    stmt: tir.BlockRealize, axis: tir.IterVar, loops: Sequence[tir.For], reduced: Sequence[tir.For]
) -> bool:
    """Return whether the loops `reduced` execute the block for each value of `axis` once, in order."""
    value = dict(zip(stmt.block.iter_vars, stmt.iter_values, strict=True))[axis]
    assert axis.dom is not None
    number: tir.PrimExpr = tir.IntImm("int64", 0)
    for loop in reduced:
        place = make.sub(make.cast(loop.loop_var, "int64"), make.cast(loop.min, "int64"))
        number = make.add(make.mul(number, make.cast(loop.extent, "int64")), place)
    place = make.sub(make.cast(value, "int64"), make.cast(axis.dom.min, "int64"))
    domains = {loop.loop_var: tir.Range(loop.min, loop.extent) for loop in loops}
    within = make.less(place, make.cast(axis.dom.extent, "int64"))
    variables = {loop.loop_var for loop in reduced}
    parts = [part for part in conjuncts(stmt.predicate) if uses([part], variables)]
    return all(prove(part, domains, [within]).is_proven for part in (make.equal(place, number), *parts))


def _in_any_order(stmt: tir.BlockRealize, found: Reduction) -> Callable[[Values, Values], Values]:
    """Return the combination of a reduction, in which the lower index wins if the first of equal values does: threads do not
    combine their values in order.
    """
    if not found.reducer.is_ordered:
        return found.reducer.combine
    reduced = [axis for axis in stmt.block.iter_vars if axis.iter_type is tir.IterVarType.COMM_REDUCE]
    if len(reduced) != 1 or without_casts(found.values[0]) is not reduced[0].var:
        raise refused(stmt, "it keeps the first of equal values, whose index is not the iterator of its reduction")

    def together(x: Values, y: Values) -> Values:
        first, second = found.reducer.combine(x, y), found.reducer.combine(y, x)
        is_first = make.less_equal(x[0], y[0])
        return tuple([make.select(is_first, a, b) for a, b in zip(first, second, strict=True)])

    return together


def _of_operator(stmt: tir.BlockRealize, update: tir.BufferStore, init: tir.BufferStore) -> Combiner:
    value, before = update.value, tir.BufferLoad(update.buffer.dtype, update.buffer, update.indices)
    if not isinstance(value, tuple(_NEUTRAL)):
        raise refused(stmt, "its store does not combine the old element with a value by +, *, min, max, and, or")
    if structural_equal(value.a, before):
        other, is_first = value.b, True
    elif structural_equal(value.b, before):
        other, is_first = value.a, False
    else:
        raise refused(stmt, "its store does not combine the old element with a value by +, *, min, max, and, or")
    if any(isinstance(node, tir.BufferLoad) and node.buffer.data is update.buffer.data for node in walk(other)):
        raise refused(stmt, "a loop of the reduction accesses the memory of its results")

    def together(x: Values, y: Values) -> Values:
        (a,), (b,) = (x, y) if is_first else (y, x)
        return (replace(value, a=a, b=b),)

    neutrals = [neutral(value.dtype) for neutral in _NEUTRAL[type(value)]]
    is_neutral = any(structural_equal(init.value, neutral) for neutral in neutrals)
    identity = init.value if is_neutral else neutrals[0]
    return Combiner((before,), (other,), together, (identity,), None if is_neutral else (init.value,))


def _scalar(name: str, dtype: str) -> tir.Buffer:
    data = tir.Var("handle", name, tir.PointerType(tir.PrimType(dtype), "local"))
    return tir.Buffer(data, dtype, (tir.IntImm("int32", 1),), name, scope="local")


def refused(stmt: tir.BlockRealize, reason: str, help: str = "") -> TvmsError:
    said = f"threads cannot share the reduction of block '{stmt.block.name_hint}': {reason}"
    usual = "bind loops of its spatial iterators to threads, or compute partial results with S.rfactor"
    return error("E0612", said, stmt.block.span or stmt.span, help or usual)
