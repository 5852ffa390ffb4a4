"""Stores whose elements are stored to again before anything reads them, and conditions that only prevent such stores.

    for i in range(16):
        if i < 12:
            A[i] = 1                for i in range(16):
    for i in range(16):      →          A[i] = i
        A[i] = i

Only passes that are asked to do this use it: `tir.RemoveNoOp` and `tir.ReduceBranchingThroughOvercompute` with the option
`use_dataflow_analysis`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence

from msgspec import Struct
from msgspec.structs import replace

from ...ir import make, tir
from ...ir.analysis.proof import prove
from ...ir.base import Node
from ...ir.idioms import NOTHING, is_zero
from ...ir.intern import has_effects, may_fault
from ...ir.linear import linear
from ...ir.visit import distinct, substitute, walk
from .facts_of_memory import inside, is_plain, solved
from .known_contents import can_follow
from .rewriter import Rewriter, copy_of, sequence


class Nest(Struct, frozen=True):
    """A store in loops and conditions that contain nothing else."""

    store: tir.BufferStore
    loops: tuple[tir.For, ...] = ()
    conditions: tuple[tir.PrimExpr, ...] = ()

    @property
    def domains(self) -> dict[tir.Var, tir.Range]:
        return {loop.loop_var: tir.Range(loop.min, loop.extent) for loop in self.loops}


def nest_of(stmt: tir.Stmt) -> Nest | None:
    """Return a statement as a store in loops and conditions; None if it has another form, or reads memory for them."""
    match stmt:
        case tir.BufferStore(predicate=None, indices=indices) if all(map(is_plain, indices)):
            is_scalar = not any(isinstance(node, tir.Ramp | tir.Broadcast) for index in indices for node in walk(index))
            return Nest(stmt) if is_scalar else None
        case tir.For() if is_plain(stmt.min) and is_plain(stmt.extent):
            inner = nest_of(stmt.body)
            return None if inner is None else replace(inner, loops=(stmt, *inner.loops))
        case tir.IfThenElse(else_case=None) if is_plain(stmt.condition):
            inner = nest_of(stmt.then_case)
            return None if inner is None else replace(inner, conditions=(stmt.condition, *inner.conditions))
        case _:
            return None


def is_overwritten(nest: Nest, later: Iterable[tir.Stmt], around: Mapping[tir.Var, tir.Range] = {}) -> bool:
    """Return whether the statements `later` overwrite all elements of `nest` before they read any of that memory."""
    data = nest.store.buffer.data
    for stmt in later:
        if not uses_memory(stmt, data):
            if any(has_effects(node) for node in distinct(stmt) if isinstance(node, tir.Call)):
                return False
            continue
        other = nest_of(copy_of(stmt, {}))
        if other is None or other.store.buffer is not nest.store.buffer or reads(stmt, data):
            return False
        if _covers(other, nest, around):
            return True
    return False


def uses_memory(stmt: Node, data: tir.Var) -> bool:
    """Return whether a statement accesses the memory `data`, or mentions it."""
    return any(node is data for node in walk(stmt))


def reads(stmt: Node, data: tir.Var) -> bool:
    """Return whether a statement reads the memory `data`, passes it on, or has effects that may read it."""
    for node in walk(stmt):
        if isinstance(node, tir.BufferLoad) and node.buffer.data is data:
            return True
        if isinstance(node, tir.Call) and (has_effects(node) or any(arg is data for arg in node.args)):
            return True
        if isinstance(node, tir.DeclBuffer | tir.Allocate):
            return True
    return False


def _covers(other: Nest, nest: Nest, around: Mapping[tir.Var, tir.Range]) -> bool:
    """Return whether `other` stores to all elements that `nest` stores to."""
    domains = {**around, **nest.domains}
    indices, places = other.store.indices, nest.store.indices
    used = {node for index in indices for node in walk(index)}
    own = [loop for loop in other.loops if loop.loop_var in used]
    found = solved([loop.loop_var for loop in own], indices, places) or _of_digits(own, indices, places)
    if found is None:
        return False
    rest = [loop for loop in other.loops if loop.loop_var not in used]
    found |= {loop.loop_var: loop.min for loop in rest}
    needed = [make.equal(a, b) for a, b in zip(indices, places, strict=True)]
    needed += [part for var, domain in other.domains.items() for part in inside(var, domain)]
    return all(
        prove(substitute(part, found), domains, nest.conditions).is_proven for part in (*needed, *other.conditions)
    )


def _of_digits(
    loops: Sequence[tir.For], indices: Sequence[tir.PrimExpr], places: Sequence[tir.PrimExpr]
) -> dict[tir.Var, Node] | None:
    """Return the values of the loops whose one index is like `i * 8 + j`, where `j` runs from 0 to 8."""
    if len(indices) != 1:
        return None
    total = linear(indices[0])
    factors = {loop: total.terms.get(loop.loop_var, 0) for loop in loops}
    found: dict[tir.Var, Node] = {}
    expected = 1
    place = make.sub(places[0], make.const(total.constant, places[0].dtype))
    for loop in sorted(loops, key=lambda loop: factors[loop]):
        extent = loop.extent
        if not (isinstance(extent, tir.IntImm) and is_zero(loop.min)):
            return None
        if factors[loop] != expected or len(total.terms) != len(loops):
            return None
        digits = make.floordiv(place, make.const(expected, place.dtype))
        expected *= extent.value
        is_last = len(found) == len(loops) - 1
        found[loop.loop_var] = digits if is_last else make.floormod(digits, extent)
    return found


def remove_overwritten(func: tir.PrimFunc) -> tir.PrimFunc:
    """Return `func` without stores of elements that are stored to again before they are read. Their values are evaluated if they
    have effects.
    """
    return replace(func, body=_InSequences(_removed).rewrite(func.body)) if can_follow(func) else func


_Domains = dict[tir.Var, tir.Range]


class _InSequences(Rewriter):
    """Replaces the parts of sequences, from their end, by what `changed` makes of them, of the parts that follow, and of the domains of
    the loops around.
    """

    def __init__(self, changed: Callable[[tir.Stmt, Sequence[tir.Stmt], _Domains], tir.Stmt]) -> None:
        super().__init__({tir.SeqStmt: self._parts, tir.For: self._for, tir.Buffer: lambda buffer: buffer})
        self._changed = changed
        self._domains: _Domains = {}

    def _for(self, loop: tir.For) -> tir.Stmt:
        self._domains[loop.loop_var] = tir.Range(loop.min, loop.extent)
        body = self.rewrite(loop.body)
        self._domains.pop(loop.loop_var, None)
        return loop if body is loop.body else replace(loop, body=body)

    def _parts(self, stmt: tir.SeqStmt) -> tir.Stmt:
        later: list[tir.Stmt] = []
        for part in reversed(stmt.seq):
            later.insert(0, self._changed(self.rewrite(part), later, self._domains))
        return sequence(later)


def _removed(stmt: tir.Stmt, later: Sequence[tir.Stmt], around: _Domains) -> tir.Stmt:
    """Return what remains of a store that is overwritten."""
    nest = nest_of(stmt)
    if nest is None or not is_overwritten(nest, later, around):
        return stmt
    value = nest.store.value
    if not (has_effects(value) or any(map(may_fault, walk(value)))):
        return NOTHING
    return substitute(stmt, {nest.store: tir.Evaluate(value, span=nest.store.span)})  # type: ignore[no-any-return]


def without_conditions(stmt: tir.Stmt) -> tir.Stmt:
    """Return `stmt` without conditions around stores where the additional stores are overwritten."""
    return _InSequences(_unconditional).rewrite(stmt)  # type: ignore[no-any-return]


def _unconditional(stmt: tir.Stmt, later: Sequence[tir.Stmt], around: _Domains) -> tir.Stmt:
    nest = nest_of(stmt)
    if nest is None or not nest.conditions or reads(nest.store.value, nest.store.buffer.data):
        return stmt
    last = nest.conditions[-1]
    added = replace(nest, conditions=(*nest.conditions[:-1], make.logical_not(last)))
    domains = {**around, **nest.domains}
    if not is_total(nest.store, domains, added.conditions) or not is_overwritten(added, later, around):
        return stmt
    choice = next(node for node in walk(stmt) if isinstance(node, tir.IfThenElse) and node.condition is last)
    return substitute(stmt, {choice: choice.then_case})  # type: ignore[no-any-return]


def is_total(stmt: Node, domains: Mapping[tir.Var, tir.Range], given: Sequence[tir.PrimExpr]) -> bool:
    """Return whether a statement can be executed wherever `given` holds: it cannot fault, and all its indices are in bounds."""
    inner = {node.loop_var: tir.Range(node.min, node.extent) for node in walk(stmt) if isinstance(node, tir.For)}
    for node in walk(stmt):
        if isinstance(node, tir.BufferLoad | tir.BufferStore):
            for index, size in zip(node.indices, node.buffer.shape, strict=True):
                inside_of = make.logical_and(make.less_equal(make.const(0, index.dtype), index), make.less(index, size))
                if not prove(inside_of, {**domains, **inner}, given).is_proven:
                    return False
        elif may_fault(node) or (isinstance(node, tir.Call) and has_effects(node)):
            return False
    return True
