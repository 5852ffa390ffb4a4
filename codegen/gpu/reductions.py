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

from msgspec.structs import replace

from ...ir import make, tir
from ...ir.analysis.proof import prove
from ...ir.diagnostics import TvmsError, error
from ...ir.equal import structural_equal
from ...ir.idioms import conjuncts
from ...ir.visit import children, substitute
from ..lower.rewriter import uses
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

    Raises TvmsError E0612 if such a reduction is not a single store of the old element combined with a value.
    """
    steps = {place: stmt for place, stmt in (_shared(*found) for found in _blocks(func.body, ())) if stmt is not None}
    return replace(func, body=substitute(func.body, steps))


def _blocks(stmt: tir.Stmt, loops: tuple[tir.For, ...]) -> Iterator[tuple[tir.BlockRealize, tuple[tir.For, ...]]]:
    """Yield the blocks below `stmt` with their enclosing loops in the same scope, the outermost first."""
    if isinstance(stmt, tir.BlockRealize):
        yield stmt, loops
        loops = ()
    inner = (*loops, stmt) if isinstance(stmt, tir.For) else loops
    for child in children(stmt):
        if isinstance(child, tir.Stmt):
            yield from _blocks(child, inner)


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
            raise _refused(stmt, "a loop of the reduction contains another statement, or a loop over the results")
        if loop not in mine and not (isinstance(loop.extent, tir.IntImm) and loop.extent.value > 0):
            raise _refused(
                stmt, f"the loop over '{loop.loop_var.name}', which is not part of the reduction, may be empty"
            )
    if not _starts_once(stmt, loops, dict.fromkeys((*mine, *inner))):
        help = "bind its reduction axes to values that determine the iterations of their loops"
        raise _refused(stmt, "its T.init may execute in several iterations, and reset the result", help)
    return (inner[0] if inner else stmt), _steps(stmt, inner, [loop.loop_var for loop in threads])


def _starts_once(stmt: tir.BlockRealize, loops: Iterable[tir.For], reduced: Iterable[tir.For]) -> bool:
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


def _steps(stmt: tir.BlockRealize, inner: Sequence[tir.For], threads: Sequence[tir.Var]) -> tir.Stmt:
    """Reduce in each thread, then across threads, then store. A T.init that changes the result is combined with it at the end,
    because each thread would count it.
    """
    block = stmt.block
    update, init = block.body, block.init
    if not isinstance(update, tir.BufferStore) or not isinstance(init, tir.BufferStore):
        raise _refused(stmt, "it does not consist of one store and one T.init")
    combine = _combiner(stmt, update)
    own_part, total = (_scalar(f"{update.buffer.name}_{part}", update.buffer.dtype) for part in ("partial", "total"))
    own = tir.BufferLoad(own_part.dtype, own_part, (_ZERO,), span=update.span)
    value = tir.BufferStore(own_part, combine.result_of(own), (_ZERO,), span=update.span)
    first = replace(stmt, block=replace(block, init=None, body=value, reads=(), writes=()))
    for loop in reversed(inner):
        first = replace(loop, body=first)
    args = (tir.IntImm("uint32", 1), own, TRUE, tir.BufferLoad(total.dtype, total, (_ZERO,)), *threads)
    exchange = tir.Evaluate(tir.Call("handle", ALLREDUCE, args, span=update.span), span=stmt.span)
    neutral = combine.neutral(init.value)
    together = tir.AttrStmt(combine.reducer(neutral), "reduce_scope", _ZERO, exchange)
    start = tir.BufferStore(own_part, neutral, (_ZERO,), span=init.span)
    found: tir.PrimExpr = tir.BufferLoad(total.dtype, total, (_ZERO,))
    if neutral is not init.value:
        found = combine.together(init.value, found)
    store = replace(update, value=found)
    body = tir.SeqStmt((start, first, together, _result(stmt, store, {loop.loop_var for loop in inner}, threads)))
    whole = tir.Block(
        (), (), (), f"{block.name_hint}_across_threads", body, alloc_buffers=(own_part, total), span=block.span
    )
    return tir.BlockRealize((), TRUE, whole, span=stmt.span)


def _result(
    stmt: tir.BlockRealize, store: tir.BufferStore, inner: set[tir.Var], threads: Sequence[tir.Var]
) -> tir.Stmt:
    """Return `store` of the total in the first thread, or in every thread if the memory is local."""
    axes = [axis for axis in stmt.block.iter_vars if axis.iter_type is not tir.IterVarType.COMM_REDUCE]
    values = dict(zip(stmt.block.iter_vars, stmt.iter_values, strict=True))
    kept = [part for part in conjuncts(stmt.predicate) if not uses([part], inner | set(threads))]
    if not is_private(store.buffer.data):
        kept += [make.equal(thread, make.const(0, thread.dtype)) for thread in threads]
    block = replace(stmt.block, iter_vars=tuple(axes), init=None, body=store, reads=(), writes=())
    predicate = reduce(make.logical_and, kept) if kept else TRUE
    return replace(stmt, iter_values=tuple(values[axis] for axis in axes), predicate=predicate, block=block)


class _Combiner:
    """The operation `before ∘ value` of a reduction block."""

    def __init__(self, form: tir.BinaryOp, value: tir.PrimExpr, is_first: bool) -> None:
        self._form, self._value, self._is_first = form, value, is_first

    def result_of(self, before: tir.PrimExpr) -> tir.PrimExpr:
        """Return `before` combined with the value of the block."""
        a, b = (before, self._value) if self._is_first else (self._value, before)
        return replace(self._form, a=a, b=b)

    def together(self, a: tir.PrimExpr, b: tir.PrimExpr) -> tir.PrimExpr:
        """Return `a` combined with `b`."""
        return replace(self._form, a=a, b=b)

    def neutral(self, start: tir.PrimExpr) -> tir.PrimExpr:
        """Return `start` if it changes nothing, or else the value that does not."""
        values = [value(self._form.dtype) for value in _NEUTRAL[type(self._form)]]
        return start if any(structural_equal(start, value) for value in values) else values[0]

    def reducer(self, identity: tir.PrimExpr) -> tir.CommReducer:
        """Return the reducer that combines the values of threads."""
        x, y = tir.Var(self._form.dtype, "x"), tir.Var(self._form.dtype, "y")
        return tir.CommReducer((x,), (y,), (self.together(x, y),), (identity,))


def _combiner(stmt: tir.BlockRealize, update: tir.BufferStore) -> _Combiner:
    value = update.value
    if isinstance(value, tuple(_NEUTRAL)):
        before = tir.BufferLoad(update.buffer.dtype, update.buffer, update.indices)
        if structural_equal(value.a, before):
            return _Combiner(value, value.b, is_first=True)
        if structural_equal(value.b, before):
            return _Combiner(value, value.a, is_first=False)
    raise _refused(stmt, "its store does not combine the old element with a value by +, *, min, max, and, or")


def _scalar(name: str, dtype: str) -> tir.Buffer:
    data = tir.Var("handle", name, tir.PointerType(tir.PrimType(dtype), "local"))
    return tir.Buffer(data, dtype, (tir.IntImm("int32", 1),), name, scope="local")


def _refused(stmt: tir.BlockRealize, reason: str, help: str = "") -> TvmsError:
    said = f"threads cannot share the reduction of block '{stmt.block.name_hint}': {reason}"
    usual = "bind loops of its spatial iterators to threads, or compute partial results with S.rfactor"
    return error("E0612", said, stmt.block.span or stmt.span, help or usual)
