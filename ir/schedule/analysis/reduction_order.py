"""Order of a reduction: it starts with T.init, and keeps its order if the first of equal values wins."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import reduce

from msgspec.structs import replace

from ... import make, tir
from ...analysis.iter_map import is_bijective
from ...analysis.proof import prove
from ...analysis.update import Update
from ...base import Node
from ...idioms import is_one, uses
from ...verify.order import order_matters
from ...visit import substitute, walk
from ..conditions import IN_ORDER, name_of
from .bindings import domains_of
from .blocks import COMM_REDUCE
from .needed import SOLVABLE
from .reductions import reducer_of


def depends_on_order(block: tir.Block) -> bool:
    """Return whether the result of a reduction may depend on the order of its iterations.

    It does if, in the block or one inside it, a selected value decides over another element, as in an argmax that keeps
    the first of equal values, or if two steps are known not to commute.
    """
    return any(isinstance(node, tir.Block) and _is_ordered(node) for node in walk(block))


def _is_ordered(block: tir.Block) -> bool:
    axes = [axis for axis in block.iter_vars if axis.iter_type is COMM_REDUCE]
    update = Update.of(block.body) if axes else None
    if not axes or (update is not None and update.is_plain()):
        return False
    if len({node.buffer for node in walk(block.body) if isinstance(node, tir.BufferStore)}) < 2:
        return order_matters(block, axes) is not None
    reducer = reducer_of(block)
    return reducer is None or reducer.is_ordered


def check_orderless(block: tir.Block, *places: tir.Stmt) -> None:
    """Refuse a reduction whose result may depend on the order of its iterations (E0534)."""
    if depends_on_order(block):
        reason = (
            f"{name_of(block)} may keep the first of equal values, and its reduction would execute in another order"
        )
        axes = [axis for axis in block.iter_vars if axis.iter_type is COMM_REDUCE]
        found = order_matters(block, axes) if axes else None
        if found is not None and not found.among_equals:
            reason = f"the result of {name_of(block)} depends on the order of its reduction: {found.example}"
        raise IN_ORDER.refuse(reason, block, *places, help="keep the order of the loops of its reduction")


def check_same_order(realize: tir.BlockRealize, old: Sequence[tir.For], new: Sequence[tir.For]) -> None:
    """Refuse a new order of the loops of a reduction whose result may depend on it (E0534)."""
    pairs = zip(realize.block.iter_vars, realize.iter_values, strict=True)
    values = [value for axis, value in pairs if axis.iter_type is COMM_REDUCE]
    before, after = ([loop for loop in loops if any(uses(value, [loop]) for value in values)] for loops in (old, new))
    if before != after:
        check_orderless(realize.block, *after)
    if realize.block.init is not None and before:
        _check_repeats(realize, before, old, new)


def _check_repeats(
    realize: tir.BlockRealize, reduced: Sequence[tir.For], old: Sequence[tir.For], new: Sequence[tir.For]
) -> None:
    """Refuse a new order of the loops that repeat a reduction and of those of one reduction (E0534)."""
    repeated = [
        loop
        for loop in old
        if not is_one(loop.extent) and not any(uses(value, [loop]) for value in realize.iter_values)
    ]
    for repeat in repeated:
        before, after = ([loop in reduced for loop in loops[: loops.index(repeat)]] for loops in (old, new))
        if sum(before) != sum(after):
            reason = f"{name_of(repeat)} repeats the reduction {name_of(realize.block)}, which would start again before it ends"
            raise IN_ORDER.refuse(reason, realize.block, repeat, help="keep the loop outside of those of the reduction")


def check_in_order(realize: tir.BlockRealize, loops: tuple[tir.For, ...]) -> None:
    """Refuse a reduction whose result may depend on its order, unless it runs in the order of its iterators (E0534)."""
    for domains, given, values, later in _later_iterations(realize, loops) if depends_on_order(realize.block) else ():
        ordered: tir.PrimExpr = make.const(True, "bool")
        for value, other in reversed(list(zip(values, later, strict=True))):
            ordered = make.logical_or(make.less(value, other), make.logical_and(make.equal(value, other), ordered))
        if not prove(ordered, domains, given).is_proven:
            check_orderless(realize.block)


def check_starts_first(realize: tir.BlockRealize, loops: tuple[tir.For, ...]) -> None:
    """Refuse loops that repeat an iteration of a reduction, or execute its first one after another one (E0577)."""
    block = realize.block
    if not is_bijective(realize.iter_values, domains_of(loops), realize.predicate):
        raise SOLVABLE.refuse(f"iterations of the reduction {name_of(block)} may execute twice", block)
    first = [axis.dom.min for axis in block.iter_vars if axis.iter_type is COMM_REDUCE and axis.dom is not None]
    for domains, given, _, later in _later_iterations(realize, loops):
        starts = [make.equal(value, least) for value, least in zip(later, first, strict=True)]
        at_start = reduce(make.logical_and, starts, make.const(True, "bool"))
        if not prove(make.logical_not(at_start), domains, given).is_proven:
            raise SOLVABLE.refuse(f"the reduction {name_of(block)} may continue before its T.init", block)


def _later_iterations(
    realize: tir.BlockRealize, loops: tuple[tir.For, ...]
) -> Iterator[tuple[dict[tir.Var, tir.Range], list[tir.PrimExpr], list[tir.PrimExpr], list[tir.PrimExpr]]]:
    """Yield the cases in which one iteration for an element follows another one.

    Each is a tuple: domains, conditions that hold, and the values of the reduction iterators in the earlier and in the
    later iteration.
    """
    domains = domains_of(loops)
    fresh: dict[tir.Var, Node] = {loop.loop_var: replace(loop.loop_var) for loop in loops}
    both = {**domains, **{substitute(v, fresh): substitute(domain, fresh) for v, domain in domains.items()}}
    same = [realize.predicate, substitute(realize.predicate, fresh)]
    earlier, later = list[tir.PrimExpr](), list[tir.PrimExpr]()
    for axis, value in zip(realize.block.iter_vars, realize.iter_values, strict=True):
        if axis.iter_type is COMM_REDUCE:
            earlier.append(value)
            later.append(substitute(value, fresh))
        else:
            same.append(make.equal(value, substitute(value, fresh)))
    for depth, loop in enumerate(loops):
        order = [make.equal(candidate.loop_var, substitute(candidate.loop_var, fresh)) for candidate in loops[:depth]]
        order.append(make.less(loop.loop_var, substitute(loop.loop_var, fresh)))
        yield both, [*same, *order], earlier, later
