"""The pass `LowerCrossThreadReduction`: blocks whose reduction is shared by threads, as blocks of TVM's form.

    for tx in T.thread_binding(32, "threadIdx.x"):       for tx in T.thread_binding(32, "threadIdx.x"):
        for k in range(8):                                   with T.block("sum_in_thread_init"): in_thread[0] = 0
            with T.block("sum"):                             for k in range(8):
                …                                                with T.block("sum_in_thread"): in_thread[0] += …
                with T.init(): C[0] = 0              →       with T.block("sum_cross_thread"):
                C[0] = C[0] + A[k * 32 + tx]                     T.tvm_thread_allreduce(1, in_thread[0], True, cross[0], tx)
                                                             with T.block("sum_write_back"):
                                                                 T.where(tx == 0)
                                                                 C[0] = cross[0]

`tvms.compile` uses the form of `reductions`, which needs no loop to move outwards. A block that reads the result outside the loops
over these threads is executed by their first ones.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import reduce

from msgspec import Struct
from msgspec.structs import replace

from ...ir import make, tir
from ...ir.base import Op
from ...ir.diagnostics import ArgumentValueError, TvmsError
from ...ir.equal import structural_equal
from ...ir.idioms import conjuncts, is_one, uses
from ...ir.visit import rewrite, substitute, walk
from ..lower.rewriter import Rewriter, copy_of, sequence
from .kernel import ALLREDUCE, BLOCK_TAGS, THREAD_TAGS, is_private
from .reductions import TRUE, Combiner, blocks_below, combiner_of, refused, starts_once

_ZERO, _ONE = tir.IntImm("int32", 0), tir.IntImm("int32", 1)
_NULL = tir.Call("handle", Op("tir.reinterpret"), (tir.IntImm("uint64", 0),))
_Threads = dict[str, tir.Range]
"""Threads of a block, by the tags of their axes."""


def lower_cross_thread_reductions(func: tir.PrimFunc) -> tir.PrimFunc:
    """Return `func` with each reduction across threads in up to four blocks (TVM: `LowerCrossThreadReduction`); TvmsError E0612
    for one that threads cannot share.
    """
    results: dict[tir.Block, _Threads] = {}

    def lowered(node: object) -> tir.Block | None:
        return _lowered_scope(node, results) if isinstance(node, tir.Block) else None

    try:
        body = rewrite(func.body, lowered)
    except TvmsError as problem:
        raise ArgumentValueError(problem.diagnostics) from None
    return replace(func, body=_FirstThreads(results).rewrite(body)) if results else func


def _lowered_scope(scope: tir.Block, results: dict[tir.Block, _Threads]) -> tir.Block | None:
    """Return a block with its own reductions across threads lowered; None without any. The blocks that store their results are
    added to `results`.
    """
    steps: dict[tir.For, tir.Stmt] = {}
    scratch: list[tir.Buffer] = []
    for realize, loops in _own_blocks(scope.body):
        mine = _reduction_loops(realize, loops)
        if not any(map(_tag, mine)) or not _is_reduction(realize, scope):
            continue
        _check(realize, loops, mine)
        shared = _Shared.of(realize, mine)
        stored = shared.result()
        results[stored.block] = {_tag(loop): tir.Range(loop.min, loop.extent) for loop in shared.threads}
        steps[mine[0]] = shared.lowered(stored)
        scratch += [*shared.totals, *shared.own]
    if not steps:
        return None
    return replace(scope, body=substitute(scope.body, steps), alloc_buffers=(*scope.alloc_buffers, *scratch))


def _own_blocks(stmt: tir.Stmt) -> list[tuple[tir.BlockRealize, tuple[tir.For, ...]]]:
    """Return the blocks below `stmt` that are in no other block below it, with their loops."""
    found = list(blocks_below(stmt, ()))
    inner = {
        node
        for realize, _ in found
        for node in walk(realize.block)
        if isinstance(node, tir.Block) and node is not realize.block
    }
    return [(realize, loops) for realize, loops in found if realize.block not in inner]


def _reduction_loops(realize: tir.BlockRealize, loops: Sequence[tir.For]) -> list[tir.For]:
    pairs = zip(realize.block.iter_vars, realize.iter_values, strict=True)
    reduced = [value for axis, value in pairs if axis.iter_type is tir.IterVarType.COMM_REDUCE]
    return [loop for loop in loops if any(uses(value, [loop]) for value in reduced)]


def _is_reduction(realize: tir.BlockRealize, scope: tir.Block) -> bool:
    """Return whether a block has a `T.init`, and no other block of its scope writes the same memory."""
    mine = {region.buffer.data for region in realize.block.writes}
    others = [other.block for other, _ in _own_blocks(scope.body) if other is not realize]
    is_alone = not any(region.buffer.data in mine for other in others for region in other.writes)
    return realize.block.init is not None and is_alone


def _tag(loop: tir.For) -> str:
    return loop.thread_binding.thread_tag if loop.thread_binding is not None else ""


# --- Conditions -----------------------------------------------------------------------------------------------


def _check(realize: tir.BlockRealize, loops: Sequence[tir.For], mine: Sequence[tir.For]) -> None:
    """Refuse a reduction over the loops `mine` among `loops` that cannot become one of each thread, and then of all (E0612)."""
    threads = [loop for loop in mine if _tag(loop)]
    for loop in threads:
        if _tag(loop) not in THREAD_TAGS:
            raise refused(realize, f"the loop over '{loop.loop_var.name}' is bound to '{_tag(loop)}'")
        if any(uses(loop.min, [outer]) or uses(loop.extent, [outer]) for outer in mine):
            raise refused(realize, f"the domain of '{loop.loop_var.name}' varies with the reduction")
    pairs = zip(realize.block.iter_vars, realize.iter_values, strict=True)
    if any(uses(value, mine) for axis, value in pairs if axis.iter_type is not tir.IterVarType.COMM_REDUCE):
        raise refused(realize, "a loop of the reduction is one over the results as well")
    _check_nest(realize, mine[0], [*mine], threads[-1])
    if not starts_once(realize, loops, mine):
        help = "bind its reduction axes to values that determine the iterations of their loops"
        raise refused(realize, "its T.init may execute in several iterations, and reset the result", help)


def _check_nest(realize: tir.BlockRealize, outer: tir.For, waiting: list[tir.For], last: tir.For) -> None:
    """Refuse other loops between `outer` and the block, statements beside it above the loop `last`, and statements after it."""
    stmt: tir.Stmt = outer
    is_bound = True
    while stmt is not realize:
        if isinstance(stmt, tir.For) and waiting and stmt is waiting[0]:
            is_bound = is_bound and stmt is not last
            waiting = waiting[1:]
            stmt = stmt.body
        elif isinstance(stmt, tir.SeqStmt) and not is_bound and any(node is realize for node in walk(stmt.seq[-1])):
            stmt = stmt.seq[-1]
        else:
            reason = "a loop of the reduction contains another statement, which is not before the block in each thread"
            raise refused(realize, reason)


def _check_elements(realize: tir.BlockRealize, outer: tir.For, combine: Combiner) -> None:
    """Refuse accesses of the memory of the results in the loops of the reduction, apart from its own elements (E0612)."""
    block, elements = realize.block, {element.buffer: element for element in combine.elements}
    own = {
        node
        for part in (block.init, block.body)
        for node in (walk(part) if part is not None else ())
        if isinstance(node, tir.BufferLoad | tir.BufferStore)
        and node.buffer in elements
        and structural_equal(node.indices, elements[node.buffer].indices)
    }
    memory = {buffer.data for buffer in elements}
    for node in walk(outer):
        is_other = isinstance(node, tir.BufferLoad | tir.BufferStore) and node.buffer.data in memory and node not in own
        is_view = isinstance(node, tir.MatchBufferRegion) and node.source.buffer.data in memory
        is_passed = isinstance(node, tir.Call) and any(arg in memory for arg in node.args)
        if is_other or is_view or is_passed:
            raise refused(realize, "a loop of the reduction accesses the memory of its results")
    reduced = [axis.var for axis in block.iter_vars if axis.iter_type is tir.IterVarType.COMM_REDUCE]
    fixed = [*(index for element in combine.elements for index in element.indices), *(combine.inits or ())]
    if any(node in reduced or isinstance(node, tir.BufferLoad) for part in fixed for node in walk(part)):
        raise refused(realize, "the place of its results, or their T.init, varies with the reduction or with memory")
    kinds = {is_private(buffer.data) for buffer in elements}
    if len(kinds) > 1:
        raise refused(realize, "only some of its results are in local memory")


# --- The steps ------------------------------------------------------------------------------------------------


class _Shared(Struct, frozen=True):
    """A reduction over `loops` that `threads` among them share, and the memory of each thread for its part and for the total."""

    realize: tir.BlockRealize
    loops: Sequence[tir.For]
    combine: Combiner
    own: Sequence[tir.Buffer]
    """Without elements if each thread has one value only."""
    totals: Sequence[tir.Buffer]

    @classmethod
    def of(cls, realize: tir.BlockRealize, loops: Sequence[tir.For]) -> _Shared:
        """Return the reduction of a block over `loops`."""
        combine, block = combiner_of(realize), realize.block
        _check_elements(realize, loops[0], combine)
        buffers = [element.buffer for element in combine.elements]
        has_serial = any(not _tag(loop) for loop in loops)
        is_partial = has_serial or not is_one(realize.predicate) or bool(block.alloc_buffers or block.match_buffers)
        own = [_scratch(f"in_thread_{buffer.name}", buffer.dtype) for buffer in buffers] if is_partial else []
        return cls(
            realize, loops, combine, own, [_scratch(f"cross_thread_{part.name}", part.dtype) for part in buffers]
        )

    @property
    def threads(self) -> list[tir.For]:
        return [loop for loop in self.loops if _tag(loop)]

    def lowered(self, stored: tir.BlockRealize) -> tir.Stmt:
        """Return the loops over the threads with all steps, of which `stored` is the last."""
        start = self._start() if self.own else tir.Evaluate(_ZERO)
        body = sequence([start, self._in_thread(), self._across(), stored])
        for loop in reversed(self.threads):
            body = replace(loop, body=body)
        return body

    def _start(self) -> tir.Stmt:
        pairs = zip(self.own, self.combine.identity, strict=True)
        body = sequence([tir.BufferStore(part, value, (_ZERO,)) for part, value in pairs])
        block = tir.Block((), (), _firsts(self.own), self._name("in_thread_init"), body, span=self.realize.block.span)
        return tir.BlockRealize((), TRUE, block)

    def _in_thread(self) -> tir.Stmt:
        """Return the loops that are not over threads, with the block on the memory of its thread if it has some."""
        moved = dict(zip([element.buffer for element in self.combine.elements], self.own, strict=False))

        def on_own(node: object) -> tir.BufferStore | tir.BufferLoad | None:
            if isinstance(node, tir.BufferStore | tir.BufferLoad) and node.buffer in moved:
                return replace(node, buffer=moved[node.buffer], indices=(_ZERO,))
            return None

        block = self.realize.block
        body, name = rewrite(block.body, on_own), self._name("in_thread")
        inner = replace(block, body=body, init=None, name_hint=name, writes=_firsts(self.own))
        step = replace(self.realize, block=inner) if self.own else tir.Evaluate(_ZERO)
        loops: dict[tir.Node, tir.Node] = {self.realize: step}
        for loop in reversed(self.loops):
            body = substitute(loop.body, loops)
            loops[loop] = body if _tag(loop) else replace(loop, body=body)
        return loops[self.loops[0]]  # type: ignore[return-value]

    def _across(self) -> tir.Stmt:
        """Return the block in which all threads combine their values."""
        mine = tuple(map(_element, self.own)) or self.combine.values
        variables = [loop.loop_var for loop in self.threads]
        totals = tuple(map(_element, self.totals))
        args = (tir.IntImm("uint32", len(totals)), *mine, TRUE, *totals, *variables)
        call = tir.Call("handle", ALLREDUCE, args, span=self.realize.block.body.span)
        body = tir.AttrStmt(self.combine.reducer(), "reduce_scope", _NULL, tir.Evaluate(call, span=call.span))
        name, writes = self._name("cross_thread"), _firsts(self.totals)
        if self.own:
            return tir.BlockRealize((), TRUE, tir.Block((), _firsts(self.own), writes, name, body))
        block = replace(self.realize.block, writes=writes, body=body, init=None, name_hint=name, annotations={})
        return replace(self.realize, block=block)

    def result(self) -> tir.BlockRealize:
        """Return the block that stores the totals: in the first thread, or in every thread if the memory is local."""
        block, found = self.realize.block, tuple(map(_element, self.totals))
        results = found if self.combine.inits is None else self.combine.together(self.combine.inits, found)
        stores = [
            tir.BufferStore(element.buffer, value, element.indices, span=block.body.span)
            for element, value in zip(self.combine.elements, results, strict=True)
        ]
        kept = [part for part in conjuncts(self.realize.predicate) if not uses(part, self.loops)]
        if not is_private(stores[0].buffer.data):
            kept += [make.equal(loop.loop_var, make.const(0, loop.loop_var.dtype)) for loop in self.threads]
        pairs = zip(block.iter_vars, self.realize.iter_values, strict=True)
        spatial = [(axis, value) for axis, value in pairs if axis.iter_type is not tir.IterVarType.COMM_REDUCE]
        axes, values = tuple([axis for axis, _ in spatial]), tuple([value for _, value in spatial])
        writes = tuple([region for region in block.writes if any(region.buffer is store.buffer for store in stores)])
        body = sequence(stores)
        last = tir.Block(axes, _firsts(self.totals), writes, self._name("write_back"), body, span=block.span)
        return tir.BlockRealize(values, reduce(make.logical_and, kept) if kept else TRUE, copy_of(last, {}))

    def _name(self, step: str) -> str:
        return f"{self.realize.block.name_hint}_{step}"


def _scratch(name: str, dtype: str) -> tir.Buffer:
    data = tir.Var("handle", name, tir.PointerType(tir.PrimType(dtype), "local"))
    return tir.Buffer(data, dtype, (_ONE,), name, (_ONE,), scope="local")


def _element(part: tir.Buffer) -> tir.BufferLoad:
    return tir.BufferLoad(part.dtype, part, (_ZERO,))


def _firsts(parts: Sequence[tir.Buffer]) -> tuple[tir.BufferRegion, ...]:
    return tuple([tir.BufferRegion(part, (tir.Range(_ZERO, _ONE),)) for part in parts])


# --- Blocks that read the results -----------------------------------------------------------------------------


class _FirstThreads(Rewriter):
    """Lets the first threads execute blocks that read the results of reductions across threads outside their loops."""

    def __init__(self, results: dict[tir.Block, _Threads]) -> None:
        super().__init__({tir.For: self._loop, tir.BlockRealize: self._realize})
        self._results = results
        self._threads: dict[tir.Var, _Threads] = {}
        """The threads that reduced in the same kernel before, by the memory of the results."""
        self._around: list[str] = []

    def _loop(self, loop: tir.For) -> tir.Stmt:
        self._around.append(_tag(loop))
        body = self.rewrite(loop.body)
        tag = self._around.pop()
        if tag in BLOCK_TAGS or (tag in THREAD_TAGS and not any(self._around)):
            self._threads = {}
        return replace(loop, body=body)

    def _realize(self, realize: tir.BlockRealize) -> tir.Stmt:
        block = realize.block
        if block in self._results:
            self._threads |= {region.buffer.data: self._results[block] for region in block.writes}
            return realize
        free = self._free_threads(block)
        if not free:
            return replace(realize, block=replace(block, body=self.rewrite(block.body)))
        variables = {tag: tir.Var(domain.min.dtype, f"t{tag[-1]}") for tag, domain in free.items()}
        predicate = realize.predicate
        for tag, domain in free.items():
            is_first = make.equal(variables[tag], domain.min)
            predicate = is_first if is_one(predicate) else make.logical_and(is_first, predicate)
        body: tir.Stmt = replace(realize, predicate=predicate)
        for tag, domain in free.items():
            body = _bound(variables[tag], domain, tag, body)
        return body

    def _free_threads(self, block: tir.Block) -> _Threads:
        """Return the threads that reduced what `block` reads, but are not those of loops around the block or in it."""
        if any(is_private(region.buffer.data) for region in block.writes):
            return {}
        inside = {_tag(node) for node in walk(block.body) if isinstance(node, tir.For)}
        found = [self._threads.get(region.buffer.data, {}) for region in block.reads]
        used = {*self._around, *inside}
        return {tag: domain for threads in found for tag, domain in threads.items() if tag not in used}


def _bound(var: tir.Var, domain: tir.Range, tag: str, body: tir.Stmt) -> tir.For:
    axis = tir.IterVar(None, tir.Var(var.dtype, ""), tir.IterVarType.THREAD_INDEX, tag)
    return tir.For(var, domain.min, domain.extent, tir.ForKind.THREAD_BINDING, body, axis)
