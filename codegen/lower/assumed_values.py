"""Removal of branches by assumed values of buffers (TVM: `UseAssumeToReduceBranches`).

for i in range(8):                                            for i in range(8):
    with T.block("assumption"):                                   with T.block("assumption"):
        v = T.axis.spatial(8, i)                                      v = T.axis.spatial(8, i)
        T.assume(v < 5 or A[v] == 0)                   →              T.assume(v < 5 or A[v] == 0)
for i in range(8):                                            for i in range(8):
    with T.block("B"):                                            with T.block("B"):
        v = T.axis.spatial(8, i)                                      v = T.axis.spatial(8, i)
        B[v] = T.if_then_else(5 <= v, 0, A[v] * 2)                    B[v] = A[v] * 2

Where the condition holds, `A[v]` is 0, and `0 * 2` is what the other side stores. Loops without branches can be vectorized.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from msgspec import Struct
from msgspec.structs import replace

from ...ir import make, tir
from ...ir.analysis.const_bounds import Domains
from ...ir.analysis.proof import prove
from ...ir.base import Node, Op
from ...ir.equal import structural_equal
from ...ir.idioms import is_one, is_zero
from ...ir.intern import has_effects, joined, may_fault
from ...ir.simplify import simplify
from ...ir.visit import rewrite, substitute, walk


class _Assumption(Struct, frozen=True):
    """The elements at `indices`, for which `condition` holds, are `value`."""

    indices: tuple[tir.PrimExpr, ...]
    condition: tir.PrimExpr
    value: tir.PrimExpr


def reduce_branches(func: tir.PrimFunc) -> tir.PrimFunc:
    """Return `func` with one side of `T.if_then_else` for those whose sides are equal wherever the condition selects the other.

    The assumptions are blocks with `T.assume(condition or A[i] == value)` for all elements of a parameter that is not written. The
    kept side must read parameters only, and must be valid for all indices.
    """
    written = {node.buffer for node in walk(func.body) if isinstance(node, tir.BufferStore)}
    buffers = [buffer for buffer in func.buffer_map.values() if buffer not in written]
    known = {buffer: found for buffer, found in _assumptions(func.body, {}) if buffer in buffers}
    if not known:
        return func

    def reduced(node: Node) -> Node | None:
        if not isinstance(node, tir.Block) or not isinstance(node.body, tir.BufferStore):
            return None
        value = node.body.value
        if not isinstance(value, tir.Call) or value.op != Op("tir.if_then_else"):
            return None
        domains = {axis.var: axis.dom for axis in node.iter_vars if axis.dom is not None}
        side = _side(value, domains, known, buffers)
        return None if side is None else replace(node, body=replace(node.body, value=side))

    return rewrite(func, reduced)


def _assumptions(stmt: Node, loops: Mapping[tir.Var, tir.PrimExpr]) -> Iterator[tuple[tir.Buffer, _Assumption]]:
    """Yield the assumptions on whole buffers in a statement; `loops` are the extents of the loops around it."""
    match stmt:
        case tir.SeqStmt(seq=parts):
            for part in parts:
                yield from _assumptions(part, loops)
        case tir.For(kind=tir.ForKind.SERIAL) if is_zero(stmt.min):
            yield from _assumptions(stmt.body, {**loops, stmt.loop_var: stmt.extent})
        case tir.BlockRealize(block=tir.Block(iter_vars=()) as block) if is_one(stmt.predicate):
            yield from _assumptions(block.body, loops)
        case tir.BlockRealize(
            block=tir.Block(
                body=tir.Evaluate(value=tir.Call(op=Op(name="tir.assume"), args=(tir.PrimExpr() as given,)))
            ) as block
        ) if is_one(stmt.predicate):
            found = parsed_assumption(given)
            if found is not None and _is_whole(stmt, loops) and _covers(found, block):
                yield found[0].buffer, found[1]
        case _:
            return


def parsed_assumption(given: tir.PrimExpr) -> tuple[tir.BufferLoad, _Assumption] | None:
    """Return the element in `condition or A[i] == value`, and what is assumed of it."""
    parts = joined(tir.Or, given)
    reading = [part for part in parts if any(isinstance(node, tir.BufferLoad) for node in walk(part))]
    match reading:
        case [tir.EQ(a=tir.BufferLoad() as load, b=value) | tir.EQ(a=value, b=tir.BufferLoad() as load)]:
            pass
        case _:
            return None
    if any(isinstance(node, tir.BufferLoad) for node in (*walk(value), *[n for i in load.indices for n in walk(i)])):
        return None
    others = [make.logical_not(part) for part in parts if part is not reading[0]]
    condition = make.const(True, "bool") if not others else others[0]
    for part in others[1:]:
        condition = make.logical_and(condition, part)
    return load, _Assumption(load.indices, condition, value)


def _is_whole(realize: tir.BlockRealize, loops: Mapping[tir.Var, tir.PrimExpr]) -> bool:
    """Return whether a block runs for all values of its iterators: each iterator is bound to its own loop, or has a single value."""
    used: list[tir.PrimExpr] = []
    for axis, value in zip(realize.block.iter_vars, realize.iter_values, strict=True):
        extent = None if axis.dom is None else axis.dom.extent
        if extent is not None and is_one(extent) and is_zero(value):
            continue
        if not isinstance(value, tir.Var) or value not in loops or value in used:
            return False
        if not structural_equal(loops[value], extent):
            return False
        used.append(value)
    return True


def _covers(found: tuple[tir.BufferLoad, _Assumption], block: tir.Block) -> bool:
    """Return whether the indices of an assumption are the iterators of its block, whose domains are those of the buffer."""
    load, _ = found
    axes = {axis.var: axis.dom for axis in block.iter_vars}
    for index, size in zip(load.indices, load.buffer.shape, strict=True):
        if is_zero(index) and is_one(size):
            continue
        dom = axes.pop(index, None) if isinstance(index, tir.Var) else None
        if dom is None or not is_zero(dom.min) or not structural_equal(dom.extent, size):
            return False
    return True


def _side(
    choice: tir.Call, domains: Domains, known: Mapping[tir.Buffer, _Assumption], readable: list[tir.Buffer]
) -> tir.PrimExpr | None:
    """Return the side of a choice that has its value everywhere, or None."""
    condition, *sides = choice.args
    assert isinstance(condition, tir.PrimExpr)
    for given, number in ((condition, 1), (make.logical_not(condition), 0)):
        values = [side for side in sides if isinstance(side, tir.PrimExpr)]
        reduced = [simplify(_with_values(value, domains, known, given), domains, [given]) for value in values]
        if structural_equal(reduced[0], reduced[1]) and _is_total(values[number], domains, readable):
            return values[number]
    return None


def _with_values(
    value: tir.PrimExpr, domains: Domains, known: Mapping[tir.Buffer, _Assumption], given: tir.PrimExpr
) -> tir.PrimExpr:
    """Return an expression with the assumed values of elements, where `given` holds."""

    def assumed(node: Node) -> Node | None:
        if not isinstance(node, tir.BufferLoad) or node.buffer not in known:
            return None
        own = known[node.buffer]
        places = {old: new for old, new in zip(own.indices, node.indices, strict=True) if isinstance(old, tir.Var)}
        is_proven = prove(substitute(own.condition, places), domains, [given]).is_proven
        return substitute(own.value, places) if is_proven else None

    return rewrite(value, assumed)


def _is_total(value: tir.PrimExpr, domains: Domains, readable: list[tir.Buffer]) -> bool:
    """Return whether an expression can be computed for all values of the iterators."""
    if has_effects(value) or any(may_fault(node) for node in walk(value)):
        return False
    for load in walk(value):
        if not isinstance(load, tir.BufferLoad):
            continue
        if load.buffer not in readable:
            return False
        for index, size in zip(load.indices, load.buffer.shape, strict=True):
            inside = make.logical_and(make.less_equal(make.const(0, index.dtype), index), make.less(index, size))
            if not prove(inside, domains).is_proven:
                return False
    return True
