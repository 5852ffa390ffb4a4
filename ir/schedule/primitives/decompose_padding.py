"""`decompose_padding`: write the padding in a separate block, so that the main block needs no condition."""

from __future__ import annotations

from collections.abc import Sequence

from msgspec import Struct
from msgspec.structs import replace

from ... import make, tir
from ...analysis.proof import prove
from ...analysis.regions import RegionSet, is_covered
from ...base import Node, Op
from ...idioms import conjuncts, sequence, uses
from ...int_set import EVERYTHING, Interval, evaluate, from_range, intersect
from ...simplify import simplify
from ...visit import substitute
from ..analysis.bindings import domains_of
from ..analysis.blockizing import with_indices
from ..analysis.blocks import DATA_PAR, check_complete
from ..analysis.copies import fresh_copy
from ..analysis.loops import not_negative
from ..analysis.order import tells_iterators
from ..analysis.pipeline import bindings_of
from ..analysis.scope import Scope, scope_root
from ..arguments import Block, Loop
from ..conditions import COMPLETE, DISTINCT_WRITES, NOT_ROOT, SINGLE_STORE, UNCONDITIONAL, Condition, name_of
from ..declaration import primitive
from ..program import Program
from .compute_inline import check_value
from .decompose_reduction import AROUND

PADS = Condition(
    "E0583",
    "the block stores T.if_then_else(condition, value, constant), the condition may be false, and no preceding block "
    "reads the output",
    "write the block as one such store, and choose a loop that is not bound to a thread",
)


class _Padding(Struct, frozen=True):
    """Store of a block: `value` under `condition`, which is in terms of loops, and `constant` otherwise."""

    store: tir.BufferStore
    condition: tir.PrimExpr
    value: tir.PrimExpr
    constant: tir.PrimExpr
    box: tuple[tir.Range, ...]
    """Values of the iterators for which the condition holds."""


@primitive(
    requires=(NOT_ROOT, COMPLETE, AROUND, UNCONDITIONAL, SINGLE_STORE, DISTINCT_WRITES, PADS),
    results=("padding block",),
)
def decompose_padding(program: Program, block: Block, loop: Loop) -> tir.Block:
    """Split a block that pads its output with a constant: a new nest before `loop` fills the output with the constant,
    and the block then executes only for elements that are not padding.

    Preserves: what is computed. Comments stay with the block.
    """
    scope = scope_root(program, block)
    check_complete(block, scope)
    loops, realize = program.loops_of(block), program.realize_of(block)
    if loop not in loops:
        raise AROUND.refuse(f"{name_of(loop)} is not around {name_of(block)}", loop, block, argument="loop")
    below = loops[loops.index(loop) :]
    _check_nest(program, block, loop, below, Scope(scope))
    padding = _padding(realize, loops, [stmt for stmt in program.around(scope) if isinstance(stmt, tir.For)])
    nest = _constant_nest(program, realize, below, padding)
    chain = _chain(realize, below)
    inside, became = _inside(program, realize, loops, chain, padding)
    program.replace(chain[0] if chain else realize, inside, became)
    current = program.current(loop)
    program.replace(current, sequence((nest, current)))
    return program.child_blocks(nest)[0] if isinstance(nest, tir.For) else block


def _check_nest(program: Program, block: tir.Block, loop: tir.For, below: Sequence[tir.For], scope: Scope) -> None:
    """Refuse nests in which the padding cannot be written first."""
    for stmt in program.around(program.realize_of(block)):
        if not isinstance(stmt, tir.For | tir.SeqStmt):
            raise UNCONDITIONAL.refuse(f"{name_of(block)} is under a condition", block, loop)
        if stmt is loop:
            break
    bound = next((other for other in below if other.thread_binding is not None), None)
    if bound is not None:
        raise PADS.refuse(f"{name_of(bound)} is bound to a thread", bound, block)
    early = scope.blocks[: scope.blocks.index(block)]
    written = {region.buffer for region in block.writes}
    reader = next((member for member in early if any(region.buffer in written for region in member.reads)), None)
    if reader is not None:
        reason = f"the padding of {name_of(block)} cannot be written first: {name_of(reader)} reads its output earlier"
        raise PADS.refuse(reason, block)
    if not tells_iterators(block):
        raise DISTINCT_WRITES.refuse(f"different iterations of {name_of(block)} may write the same element", block)


def _padding(realize: tir.BlockRealize, loops: tuple[tir.For, ...], far: Sequence[tir.For]) -> _Padding:
    """Return the padding of a block below `loops`, in a scope below the `far` ones."""
    block, domains = realize.block, domains_of(loops)
    store = block.body
    if not isinstance(store, tir.BufferStore) or store.predicate is not None or block.init is not None:
        raise SINGLE_STORE.refuse(f"{name_of(block)} is not a single store", block)
    value = store.value
    if not isinstance(value, tir.Call) or value.op != Op("tir.if_then_else"):
        raise PADS.refuse(f"{name_of(block)} does not store a T.if_then_else", block)
    condition, inside, constant = value.args
    assert isinstance(inside, tir.PrimExpr)
    if not isinstance(constant, tir.IntImm | tir.FloatImm):
        raise PADS.refuse(f"{name_of(block)} pads with {constant}, which is not constant", block)
    check_value(block, inside)
    here = simplify(make.logical_and(substitute(condition, bindings_of(realize)), realize.predicate))
    for always, word in ((here, "always"), (make.logical_not(here), "never")):
        if prove(always, domains).is_proven:
            raise PADS.refuse(f"the condition of {name_of(block)} {word} holds", block)
    pairs = zip(block.iter_vars, realize.iter_values, strict=True)
    box = [_part(axis, value, here, loops, far) for axis, value in pairs]
    if any(range_ is None for range_ in box):
        raise PADS.refuse(f"the iterations of {name_of(block)} outside of the padding are unknown", block)
    return _Padding(store, here, inside, constant, tuple([range_ for range_ in box if range_ is not None]))


def _part(
    axis: tir.IterVar, value: tir.PrimExpr, condition: tir.PrimExpr, loops: tuple[tir.For, ...], far: Sequence[tir.For]
) -> tir.Range | None:
    """Return the range of `value` under a condition, from the comparisons in it; None if it is unknown.

    It is the domain of the iterator if the range varies with a `far` loop, which the block can use only in its bindings.
    """
    domains = domains_of(loops)
    span = evaluate(value, {var: from_range(domain.min, domain.extent) for var, domain in domains.items()})
    for part in conjuncts(condition):
        span = intersect(span, _limits(value, part, loops))
    if span.min is None or span.max is None:
        return None
    least = simplify(span.min, domains)
    extent = simplify(make.add(make.sub(span.max, least), 1), domains)
    return axis.dom if uses(least, far) or uses(extent, far) else tir.Range(least, not_negative(extent))


def _limits(value: tir.PrimExpr, condition: tir.PrimExpr, loops: tuple[tir.For, ...]) -> Interval:
    """Return the bounds of `value` that follow from a comparison."""
    if not isinstance(condition, tir.LT | tir.LE):
        return EVERYTHING
    slack = 1 if isinstance(condition, tir.LT) else 0
    low, high = simplify(make.sub(condition.a, value)), simplify(make.sub(condition.b, value))
    if not uses(low, loops) and not uses(condition.b, loops):
        return Interval(None, make.sub(make.sub(condition.b, low), slack))
    if not uses(high, loops) and not uses(condition.a, loops):
        return Interval(make.add(make.sub(condition.a, high), slack), None)
    return EVERYTHING


def _chain(realize: tir.BlockRealize, below: Sequence[tir.For]) -> list[tir.For]:
    """Return the innermost loops that contain nothing but the block."""
    chain: list[tir.For] = []
    child: tir.Stmt = realize
    for loop in reversed(below):
        if loop.body is not child:
            break
        chain.insert(0, loop)
        child = loop
    return chain


def _constant_nest(
    program: Program, realize: tir.BlockRealize, below: Sequence[tir.For], padding: _Padding
) -> tir.Stmt:
    """Return the nest that fills the output with the constant (TVM: `CreateConstBlock`)."""
    block = realize.block
    axes = tuple([replace(axis, iter_type=DATA_PAR) for axis in block.iter_vars])
    store = replace(padding.store, value=padding.constant, trivia=None)
    filling = tir.Block(axes, (), block.writes, f"{block.name_hint}_pad_const", store)
    outside = program.loops_of(block)
    known = domains_of(outside[: len(outside) - len(below)])
    values = tuple([simplify(value, known) for value in realize.iter_values])
    nest: tir.Stmt = tir.BlockRealize(values, simplify(realize.predicate, known), filling)
    for loop in reversed(below):
        nest = tir.For(loop.loop_var, loop.min, loop.extent, tir.ForKind.SERIAL, nest)
    own: dict[tir.Var, Node] = {axis.var: replace(axis.var) for axis in axes}
    own.update({loop.loop_var: replace(loop.loop_var) for loop in below})
    return fresh_copy(nest, own, program.prim_func_of(block))


def _inside(
    program: Program, realize: tir.BlockRealize, loops: tuple[tir.For, ...], chain: list[tir.For], padding: _Padding
) -> tuple[tir.Stmt, dict[tir.Stmt, tir.Stmt | None]]:
    """Return the block without padding, in its innermost loops (TVM: `CreateInBoundBlock`)."""
    block = realize.block
    ranges = domains_of(loops)
    axes: list[tir.IterVar] = []
    values: list[tir.PrimExpr] = []
    inside: dict[tir.Var, Node] = {}
    moved: dict[tir.Var, Node] = {}
    for axis, value, part in zip(block.iter_vars, realize.iter_values, padding.box, strict=True):
        domain = tir.Range(make.const(0, axis.var.dtype), part.extent)
        axes.append(tir.IterVar(domain, replace(axis.var), DATA_PAR))
        inside[axis.var] = make.add(axes[-1].var, part.min)
        if isinstance(value, tir.Var) and any(loop.loop_var is value for loop in chain):
            ranges[value], moved[value] = domain, make.add(value, part.min)
            values.append(value)
        else:
            values.append(simplify(make.sub(value, part.min), domains_of(loops)))
    condition = simplify(substitute(padding.condition, moved), ranges)
    if prove(condition, ranges).is_proven:
        condition = make.const(True, "bool")
    _check_same(realize, loops, padding, RegionSet(_points(values, padding.box), ranges, (condition,)))
    bare = replace(block, iter_vars=(), body=replace(padding.store, value=padding.value))
    new = replace(with_indices(program, bare, inside, {}), iter_vars=tuple(axes))
    nest: tir.Stmt = replace(realize, iter_values=tuple(values), predicate=condition, block=new)
    became: dict[tir.Stmt, tir.Stmt | None] = {block: new}
    for loop in reversed(chain):
        domain = ranges[loop.loop_var]
        nest = became[loop] = replace(loop, min=domain.min, extent=domain.extent, body=nest)
    return nest, became


def _points(values: Sequence[tir.PrimExpr], starts: Sequence[tir.Range]) -> tuple[tir.Range, ...]:
    one = [make.add(value, start.min) for value, start in zip(values, starts, strict=True)]
    return tuple([tir.Range(expr, make.const(1, expr.dtype)) for expr in one])


def _check_same(realize: tir.BlockRealize, loops: tuple[tir.For, ...], padding: _Padding, new: RegionSet) -> None:
    """Refuse new loops whose iterations are not exactly those of the block without padding."""
    points = tuple([tir.Range(value, make.const(1, value.dtype)) for value in realize.iter_values])
    old = RegionSet(points, domains_of(loops), (padding.condition,))
    if not is_covered(old, [new]).is_proven or not is_covered(new, [old]).is_proven:
        raise PADS.refuse(f"the iterations of {name_of(realize)} outside of the padding are unknown", realize.block)
