"""`transform_block_layout`: change the iterators of a block."""

from __future__ import annotations

from msgspec.structs import replace

from ... import make, tir
from ...base import Node
from ...equal import structural_equal
from ...idioms import is_one
from ...simplify import simplify
from ...visit import rewrite, substitute, walk
from ..analysis.bindings import check_fixed_domains
from ..analysis.blocks import COMM_REDUCE, DATA_PAR
from ..analysis.index_maps import inverse, is_one_to_one, map_shape, shortened
from ..analysis.loops import ALONE, check_plain, check_starts_at_zero, nest_of, widest_dtype
from ..analysis.order import check_kinds_hold
from ..analysis.reduction_order import check_orderless
from ..analysis.trivia import joined
from ..arguments import Block
from ..conditions import (
    FIXED_DOMAINS,
    IN_ORDER,
    NOT_ROOT,
    PLAIN_ITERATORS,
    PLAIN_LOOP,
    STARTS_AT_ZERO,
    Condition,
    name_of,
)
from ..declaration import primitive
from ..layout_arguments import IndexMap
from ..program import Program

BOUND_TO_LOOPS = Condition(
    "E0559",
    "each iterator is bound to the loop at the same position, over its whole domain",
    "use it before the loops are split, fused or reordered",
)
ONE_KIND = Condition(
    "E0560", "each new iterator depends only on spatial iterators, or only on reductions", "separate the two kinds in the index map"
)  # fmt: skip
ONE_TO_ONE = Condition(
    "E0561",
    "the index map is provably bijective on the iterators",
    "use all iterators, and divisors of their extents",
)


@primitive(
    requires=(
        NOT_ROOT,
        ALONE,
        PLAIN_LOOP,
        STARTS_AT_ZERO,
        BOUND_TO_LOOPS,
        PLAIN_ITERATORS,
        ONE_TO_ONE,
        ONE_KIND,
        IN_ORDER,
        FIXED_DOMAINS,
    )
)
def transform_block_layout(program: Program, block: Block, index_map: IndexMap) -> None:
    """Replace the iterators of a block by their image under `index_map`. New loops `ax0`, `ax1` and so on replace those
    around the block.

    Preserves: what the block computes, in another order. The comments of the loops move above the new ones.
    """
    if program.scope_of(block) is None:
        raise NOT_ROOT.refuse("the root block has no loops around it", block)
    loops = program.loops_of(block)
    _check_nest(program, block, loops)
    check_fixed_domains(program, block)
    for axis in block.iter_vars:
        if axis.iter_type not in (DATA_PAR, COMM_REDUCE):
            reason = f"iterator '{axis.var.name}' of {name_of(block)} is {axis.iter_type.value}"
            raise PLAIN_ITERATORS.refuse(reason, block)
    dtype = block.iter_vars[0].var.dtype if block.iter_vars else "int32"
    change, _ = index_map.of(program, "index_map", len(block.iter_vars), dtype, keeps_constants=True)
    extents = tuple([loop.extent for loop in loops])
    sizes, undone = map_shape(change, extents), inverse(change, extents)
    if sizes is None or undone is None or not is_one_to_one(change, extents):
        raise ONE_TO_ONE.refuse(f"it is not known to be bijective for {name_of(block)}", block, argument="index_map")
    sizes = [make.cast(size, place.dtype) for size, place in zip(sizes, undone.places, strict=True)]
    _check_reduction(block, change)
    check_kinds_hold(program, block)
    variables = [tir.Var(place.dtype, f"v{at}") for at, place in enumerate(undone.places)]
    axes = [
        tir.IterVar(tir.Range(make.const(0, size.dtype), size), variable, _kind(block, change, at, size))
        for at, (variable, size) in enumerate(zip(variables, sizes, strict=True))
    ]
    new = _over(
        block,
        axes,
        [substitute(element, dict(zip(undone.places, variables, strict=True))) for element in undone.elements],
    )
    fresh = [replace(place, name=f"ax{at}") for at, place in enumerate(undone.places)]
    elements = [substitute(element, dict(zip(undone.places, fresh, strict=True))) for element in undone.elements]
    realize = program.realize_of(block)
    predicate = substitute(realize.predicate, dict(zip([loop.loop_var for loop in loops], elements, strict=True)))
    domains = {variable: axis.dom for variable, axis in zip(fresh, axes, strict=True) if axis.dom is not None}
    predicate = simplify(predicate, domains)
    nest: tir.Stmt = replace(realize, iter_values=tuple(fresh), predicate=predicate, block=new)
    for variable, size in reversed(list(zip(fresh, sizes, strict=True))):
        nest = tir.For(variable, make.const(0, variable.dtype), size, tir.ForKind.SERIAL, nest)
    nest = replace(nest, trivia=joined(*[loop.trivia for loop in loops], None if fresh else realize.trivia))
    program.replace(loops[0] if loops else realize, nest, {**dict.fromkeys(loops), block: new})


def _check_nest(program: Program, block: tir.Block, loops: tuple[tir.For, ...]) -> None:
    realize = program.realize_of(block)
    if loops and (tuple(nest_of(loops[0], len(loops))) != loops or loops[-1].body is not realize):
        raise ALONE.refuse(f"{name_of(loops[0])} contains more than {name_of(block)}", block, loops[0])
    for loop in loops:
        check_plain(loop)
        check_starts_at_zero(loop)
    if len(loops) != len(block.iter_vars):
        reason = f"{name_of(block)} has {len(block.iter_vars)} iterators, but {len(loops)} loops"
        raise BOUND_TO_LOOPS.refuse(reason, block)
    for loop, axis, value in zip(loops, block.iter_vars, realize.iter_values, strict=True):
        domain = tir.Range(loop.min, loop.extent)
        if value is not loop.loop_var or not structural_equal(axis.dom, domain):
            reason = f"iterator '{axis.var.name}' of {name_of(block)} does not cover the domain of {name_of(loop)}"
            raise BOUND_TO_LOOPS.refuse(reason, block, loop)


def _check_reduction(block: tir.Block, change: tir.IndexMap) -> None:
    """Refuse to change the iterators of a reduction whose result may depend on their order."""
    kinds = zip(change.initial_indices, block.iter_vars, strict=True)
    reduced = [index for index, axis in kinds if axis.iter_type is COMM_REDUCE]
    made = [final_index for final_index in change.final_indices if any(part in reduced for part in walk(final_index))]
    if made != reduced:
        check_orderless(block)


def _kind(block: tir.Block, change: tir.IndexMap, at: int, size: tir.PrimExpr) -> tir.IterVarType:
    """Return the kind of a new iterator (TVM: `DetectNewBlockIterType`)."""
    kinds = {
        axis.iter_type
        for axis, index in zip(block.iter_vars, change.initial_indices, strict=True)
        if any(node is index for node in walk(change.final_indices[at]))
    }
    if is_one(size):
        return DATA_PAR
    if len(kinds) != 1:
        reason = f"new iterator {at} depends on both spatial iterators and reductions"
        raise ONE_KIND.refuse(reason, block, argument="index_map")
    return kinds.pop()


def _over(block: tir.Block, axes: list[tir.IterVar], elements: list[tir.PrimExpr]) -> tir.Block:
    """Return a block over new iterators; `elements` are the old ones in terms of them."""
    values = dict(zip([axis.var for axis in block.iter_vars], elements, strict=True))
    domains = {axis.var: axis.dom for axis in axes if axis.dom is not None}

    def simplified(node: Node) -> Node | None:
        match node:
            case tir.BufferLoad() | tir.BufferStore():
                return replace(node, indices=tuple([shortened(index, domains) for index in node.indices]))
            case tir.Range():
                least, extent = shortened(node.min, domains), shortened(node.extent, domains)
                return tir.Range(least, make.cast(extent, widest_dtype(least, extent)))
            case _:
                return None

    moved = rewrite(substitute(replace(block, iter_vars=()), values), simplified)
    return replace(moved, iter_vars=tuple(axes))
