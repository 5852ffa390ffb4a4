"""`compute_inline`: inline a block into its consumers."""

from __future__ import annotations

from collections.abc import Callable

from ... import make, tir
from ...access import with_regions
from ...analysis.iter_map import IterMapLevel, detect_iter_map
from ...analysis.iter_map_use import inverse_affine_iter_map
from ...analysis.proof import prove
from ...base import Node
from ...idioms import is_one, is_zero
from ...intern import has_effects
from ...visit import substitute, walk
from ..analysis.blocks import check_complete, check_not_output
from ..analysis.caching import scope_body
from ..analysis.pipeline import check_stage_pipeline
from ..analysis.removal import (
    ONLY_LEAF,
    OPAQUE,
    add_comments,
    check_not_opaque,
    comments_in,
    remove_leaf,
    without_buffer,
)
from ..analysis.scope import Scope, scope_root
from ..arguments import Block
from ..conditions import COMPLETE, NOT_OUTPUT, NOT_ROOT, SINGLE_STORE, STAGE_PIPELINE, Condition, name_of
from ..declaration import primitive
from ..program import Program

NO_INIT = Condition("E0540", "the block has no T.init", "use decompose_reduction first")
ONE_WRITE = Condition("E0541", "the block writes one buffer", "choose another block, or write this one as several")
INVERTIBLE = Condition(
    "E0546",
    "the element that the block reads or writes determines its iterators",
    "use compute_at or reverse_compute_at instead, to move the block",
)


@primitive(
    requires=(
        NO_INIT,
        ONE_WRITE,
        NOT_ROOT,
        STAGE_PIPELINE,
        NOT_OUTPUT,
        COMPLETE,
        SINGLE_STORE,
        INVERTIBLE,
        ONLY_LEAF,
        OPAQUE,
    )
)
def compute_inline(program: Program, block: Block) -> None:
    """Replace every read of the output of a block by the expression that the block stores, and remove the block and its
    buffer.

    Preserves: what all other blocks compute. Comments of the block move above the first consumer, or above the first
    block or statement of the scope.
    """
    buffer = _only_write(block)
    scope = scope_root(program, block)
    check_stage_pipeline(program, scope)
    check_not_output(block, scope)
    check_complete(block, scope)
    value_at = _value_of_element(block)
    check_not_opaque(scope, buffer)
    heirs = Scope(scope).consumers(block)
    comments = comments_in(remove_leaf(program, block))
    left = program.current(scope)
    body = scope_body(left)
    first = body.seq[0] if isinstance(body, tir.SeqStmt) else body
    heir = next(iter((*heirs, *Scope(left).blocks)), first)
    add_comments(program, program.current(heir), comments)
    _inline(program, program.current(scope), block, buffer, value_at)
    without_buffer(program, program.current(scope), buffer)


def _only_write(block: tir.Block) -> tir.Buffer:
    if block.init is not None:
        raise NO_INIT.refuse(f"{name_of(block)} has T.init", block)
    if len(block.writes) != 1:
        raise ONE_WRITE.refuse(f"{name_of(block)} writes {len(block.writes)} regions", block)
    return block.writes[0].buffer


def _inline(
    program: Program,
    scope: tir.Block,
    block: tir.Block,
    buffer: tir.Buffer,
    value_at: Callable[[tuple[tir.PrimExpr, ...]], tir.PrimExpr],
) -> None:
    """Replace the loads of `buffer` in a scope, and update the regions of the blocks around them."""
    sources = tuple([region.buffer for region in block.reads])

    def inlined(node: Node) -> Node | None:
        if isinstance(node, tir.BufferLoad) and node.buffer is buffer:
            return value_at(node.indices)
        if isinstance(node, tir.Block) and any(region.buffer is buffer for region in node.reads):
            return with_regions(node, sources)
        return None

    program.replace(scope, program.rewrite(scope, inlined))


def _value_of_element(block: tir.Block) -> Callable[[tuple[tir.PrimExpr, ...]], tir.PrimExpr]:
    """Return a function from the indices of an element to its value in `block`; refused if it is unknown."""
    store = block.body
    if not isinstance(store, tir.BufferStore) or store.predicate is not None:
        raise SINGLE_STORE.refuse(f"{name_of(block)} is not a single store", block)
    check_value(block, store.value)
    places, values = _inverse(block, store)

    def value_at(indices: tuple[tir.PrimExpr, ...]) -> tir.PrimExpr:
        found = dict(zip(places, indices, strict=True))
        return substitute(store.value, {variable: substitute(value, found) for variable, value in values.items()})

    return value_at


def check_value(block: tir.Block, value: tir.PrimExpr) -> None:
    """Refuse a value with side effects, as the number of its evaluations would change, or in terms of views (E0542)."""
    views = {match_buffer.buffer for match_buffer in block.match_buffers}
    used = next((node for node in walk(value) if isinstance(node, tir.BufferLoad) and node.buffer in views), None)
    if isinstance(used, tir.BufferLoad):
        raise SINGLE_STORE.refuse(f"{name_of(block)} loads from '{used.buffer.name}', which only it declares", block)
    if has_effects(value):
        raise SINGLE_STORE.refuse(f"{name_of(block)} makes calls that may have side effects", block)


def _inverse(block: tir.Block, store: tir.BufferStore) -> tuple[tuple[tir.Var, ...], dict[tir.Var, tir.PrimExpr]]:
    """Return variables for the indices of a store, and the iterators of the block in terms of them."""
    variables = tuple([axis.var for axis in block.iter_vars])
    places = tuple([tir.Var(index.dtype, f"ph_{at}") for at, index in enumerate(store.indices)])
    if len(store.indices) == len(variables) and all(
        index is axis.var or (is_zero(index) and _is_unit(axis))
        for index, axis in zip(store.indices, block.iter_vars, strict=True)
    ):
        return places, dict(zip(variables, places, strict=True))
    domains = {axis.var: axis.dom for axis in block.iter_vars if axis.dom is not None}
    found = detect_iter_map(store.indices, domains, None, IterMapLevel.BIJECTIVE)
    values = inverse_affine_iter_map(found.indices, places) if found.is_detected else {}
    # an iterator that no index depends on must have one value; the extent may be computed
    others = {
        axis.var: axis.dom
        for axis in block.iter_vars
        if axis.dom is not None and (axis.var not in values or is_one(axis.dom.extent))
    }
    if not (found.is_detected and all(map(_has_one_value, others.values()))):
        raise INVERTIBLE.refuse(f"{name_of(block)} may not compute each element exactly once", block)
    values.update({var: domain.min for var, domain in others.items()})
    return places, values


def _has_one_value(domain: tir.Range) -> bool:
    return prove(make.equal(domain.extent, make.const(1, domain.extent.dtype)), {}).is_proven


def _is_unit(axis: tir.IterVar) -> bool:
    return axis.dom is not None and is_zero(axis.dom.min) and is_one(axis.dom.extent)
