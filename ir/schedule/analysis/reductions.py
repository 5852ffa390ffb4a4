"""Reductions: their reducers, and whether T.init can move to a separate loop nest."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import partial, reduce
from typing import TypeAlias

from msgspec import Struct

from ... import make, tir
from ...analysis.iter_map import is_bijective
from ...analysis.moments import COUNT, moments_of, roles_of, together
from ...analysis.proof import prove
from ...base import Node
from ...equal import structural_equal
from ...idioms import conjuncts, uses
from ...visit import children, substitute, walk
from ..conditions import Condition, Refused, name_of
from .bindings import domains_of

KNOWN_REDUCER = Condition(
    "E0579",
    "each element is combined with a new value by a known reducer, and initialized with its identity: +, *, min, "
    "max, pairs of sums, argmin and argmax, and counts with means and sums of squared differences",
    "write T.init and the update in one of these forms",
)
STARTS_ALIKE = Condition(
    "E0572",
    "a separate nest can initialize the same elements: each instance executes once, and its predicate is known",
    "use decompose_reduction before the loops are split or repeated",
)
_TRUE: tir.PrimExpr = tir.IntImm("bool", 1)
Values: TypeAlias = tuple[tir.PrimExpr, ...]


def check_runs_once(
    realize: tir.BlockRealize, loops: tuple[tir.For, ...], below: tuple[tir.For, ...], dropped: Sequence[tir.For]
) -> None:
    """Refuse repeated iterations, domains that vary with dropped loops, and reduction loops that may be empty (E0572).

    A repeated iteration would restart a reduction that is in progress.
    """
    _check_not_empty(realize, loops)
    if not any(is_bijective(realize.iter_values, domains_of(members), realize.predicate) for members in (loops, below)):
        raise STARTS_ALIKE.refuse(
            f"instances of {name_of(realize)} may execute more than once", below[0], realize.block
        )
    for loop in below:
        if loop not in dropped and (uses(loop.min, dropped) or uses(loop.extent, dropped)):
            raise STARTS_ALIKE.refuse(f"the domain of {name_of(loop)} varies with a reduction", loop, realize.block)


def _check_not_empty(realize: tir.BlockRealize, loops: tuple[tir.For, ...]) -> None:
    """Refuse a reduction loop that may have no iterations, unless the domain of an iterator is then empty (E0572).

    An empty reduction yields the value of T.init, but a block that does not execute does not initialize anything. If a
    loop is also one of spatial iterators, the separate T.init executes in it, so that one of their domains must be empty.
    """
    bound = [
        (axis.dom, value, axis.iter_type is tir.IterVarType.COMM_REDUCE)
        for axis, value in zip(realize.block.iter_vars, realize.iter_values, strict=True)
        if axis.dom is not None
    ]
    for index, loop in enumerate(loops):
        reduced, spatial = (
            [dom for dom, value, is_reduced in bound if is_reduced == which and uses(value, [loop])]
            for which in (True, False)
        )
        own = reduced and (spatial or reduced)
        if not own or prove(make.greater_equal(loop.extent, 1), domains_of(loops[:index])).is_proven:
            continue
        is_empty = make.less_equal(loop.extent, 0)
        if not any(prove(make.less_equal(dom.extent, 0), {}, (is_empty,)).is_proven for dom in own):
            reason = f"{name_of(loop)} may be empty, and then {name_of(realize)} initializes nothing"
            raise STARTS_ALIKE.refuse(reason, loop, realize.block)


def start_condition(
    realize: tir.BlockRealize, loops: tuple[tir.For, ...], kept: Sequence[tir.For], dropped: Sequence[tir.For]
) -> tir.PrimExpr:
    """Return the predicate of the reduction restricted to the `kept` loops."""
    parts = conjuncts(realize.predicate)
    own = [part for part in parts if not uses(part, dropped)]
    first: dict[tir.Var, Node] = {loop.loop_var: loop.min for loop in dropped}
    domains = {var: domain for var, domain in domains_of(loops).items() if var not in first}
    for part in parts:
        if part not in own and not prove(substitute(part, first), domains, own).is_proven:
            reason = f"it is unknown whether '{part}' holds in the first iteration of the reduction"
            raise STARTS_ALIKE.refuse(reason, dropped[0], realize.block)
    return reduce(make.logical_and, reversed(own), _TRUE) if len(own) != 1 else own[0]


class Reducer(Struct, frozen=True):
    """Combining function and its identity for given dtypes (TVM: `ReducerRegistry`)."""

    combine: Callable[[Values, Values], Values]
    identity: Callable[[Sequence[str]], Values]
    size: int = 1
    is_ordered: bool = False
    """Whether the first of equal values wins, so that partial results must be combined in order."""
    is_rounded: bool = False
    """Whether it combines means, so that the order changes the rounding."""


def _first_best(better: Callable[..., tir.PrimExpr]) -> Callable[[Values, Values], Values]:
    def combine(x: Values, y: Values) -> Values:
        keeps = better(x[1], y[1])
        return make.select(keeps, x[0], y[0]), make.select(keeps, x[1], y[1])

    return combine


def _least_best(better: Callable[..., tir.PrimExpr]) -> Callable[[Values, Values], Values]:
    def combine(x: Values, y: Values) -> Values:
        is_better = better(x[1], y[1])
        is_first = make.logical_and(make.equal(x[1], y[1]), make.less(x[0], y[0]))
        return (
            make.select(make.logical_or(is_better, is_first), x[0], y[0]),
            make.select(is_better, x[1], y[1]),
        )

    return combine


def _argument(limit: Callable[[str], tir.PrimExpr]) -> Callable[[Sequence[str]], Values]:
    return lambda dtypes: (make.const(-1, dtypes[0]), limit(dtypes[1]))


_REDUCERS = (
    Reducer(lambda x, y: (make.add(x[0], y[0]),), lambda dtypes: (make.const(0, dtypes[0]),)),
    Reducer(lambda x, y: (make.mul(x[0], y[0]),), lambda dtypes: (make.const(1, dtypes[0]),)),
    Reducer(lambda x, y: (make.minimum(x[0], y[0]),), lambda dtypes: (make.max_value(dtypes[0]),)),
    Reducer(lambda x, y: (make.maximum(x[0], y[0]),), lambda dtypes: (make.min_value(dtypes[0]),)),
    Reducer(lambda x, y: (make.minimum(x[0], y[0]),), lambda dtypes: (make.greatest(dtypes[0]),)),
    Reducer(lambda x, y: (make.maximum(x[0], y[0]),), lambda dtypes: (make.least(dtypes[0]),)),
    Reducer(
        lambda x, y: (make.add(x[0], y[0]), make.add(x[1], y[1])),
        lambda dtypes: (make.const(0, dtypes[0]), make.const(0, dtypes[1])),
        2,
    ),
    Reducer(_first_best(make.greater_equal), _argument(make.min_value), 2, is_ordered=True),
    Reducer(_least_best(make.greater), _argument(make.min_value), 2),
    Reducer(_first_best(make.less_equal), _argument(make.max_value), 2, is_ordered=True),
    Reducer(_least_best(make.less), _argument(make.max_value), 2),
    Reducer(lambda x, y: make.first_greatest((x[0], x[1]), (y[0], y[1])), _argument(make.least), 2),
    Reducer(lambda x, y: make.first_least((x[0], x[1]), (y[0], y[1])), _argument(make.greatest), 2),
)


def _of_moments(roles: tuple[str, ...]) -> Reducer:
    """Return the reducer of counts, means, and sums of squared differences, in the order that `roles` says."""

    def zeros(dtypes: Sequence[str]) -> Values:
        return tuple([make.const(0, dtype) for dtype in dtypes])

    return Reducer(partial(together, roles), zeros, len(roles), is_rounded=True)


class Reduction(Struct, frozen=True):
    """Reduction of a block: the elements, in the order of the reducer, and the new value for each."""

    reducer: Reducer
    elements: tuple[tir.BufferLoad, ...]
    values: Values

    @property
    def identity(self) -> Values:
        """Initial values of the elements."""
        return self.reducer.identity([element.dtype for element in self.elements])


def reduction_of(block: tir.Block) -> Reduction:
    """Return the reduction of a block; refused if its reducer is unknown (E0579)."""
    moments = moments_of(block) if isinstance(block.init, tir.SeqStmt) else None
    if moments is not None and moments.axis is None:
        return Reduction(_of_moments(moments.roles), moments.elements, moments.values)
    inits, updates = _stores(block, block.init), _updates(block)
    starts = {init.buffer: init for init in inits}
    if len(starts) != len(inits) or len(inits) != len(updates):
        raise KNOWN_REDUCER.refuse(f"T.init of {name_of(block)} and its update store different elements", block)
    for update in updates:
        start = starts.get(update.buffer)
        if start is None or not structural_equal(start.indices, updates[0].indices):
            reason = f"T.init of {name_of(block)} does not initialize the updated element of '{update.buffer.name}'"
            raise KNOWN_REDUCER.refuse(reason, block)
        if not structural_equal(update.indices, updates[0].indices):
            raise KNOWN_REDUCER.refuse(f"{name_of(block)} updates elements at different indices", block)
        if not structural_equal(update.buffer.shape, updates[0].buffer.shape):
            raise KNOWN_REDUCER.refuse(f"{name_of(block)} updates buffers of different shapes", block)
    for found in _reductions(updates):
        if structural_equal(found.identity, tuple([starts[update.buffer].value for update in updates])):
            _check_values(block, found)
            return found
    raise KNOWN_REDUCER.refuse(f"T.init and the update of {name_of(block)} do not form a known reduction", block)


def reducer_of(block: tir.Block) -> Reducer | None:
    """Return the reducer of the update of a block, regardless of its T.init; None if it is unknown."""
    try:
        found = next(_reductions(_updates(block)), None)
    except Refused:
        return None
    return None if found is None else found.reducer


def _reductions(updates: Sequence[tir.BufferStore]) -> Iterator[Reduction]:
    """Yield a reduction for each reducer that the updates have the form of."""
    elements = tuple([tir.BufferLoad(update.buffer.dtype, update.buffer, update.indices) for update in updates])
    roles = roles_of([element.dtype for element in elements])
    for reducer in (*_REDUCERS, *[_of_moments(parts) for parts in roles if COUNT in parts]):
        values = _new_values(reducer, elements, tuple([update.value for update in updates]))
        if values is not None:
            yield Reduction(reducer, elements, values)


def _stores(block: tir.Block, node: tir.Stmt | None) -> list[tir.BufferStore]:
    parts = node.seq if isinstance(node, tir.SeqStmt) else (node,)
    found = [part for part in parts if isinstance(part, tir.BufferStore) and part.predicate is None]
    if len(found) != len(parts):
        raise KNOWN_REDUCER.refuse(f"{name_of(block)} does more than store elements", block)
    return found


def _updates(block: tir.Block) -> list[tir.BufferStore]:
    """Return the stores of a block; if `let` variables hold the stored values, in the order of the variables."""
    variables: dict[tir.Var, tir.PrimExpr] = {}
    body = block.body
    while isinstance(body, tir.LetStmt):
        variables[body.var] = body.value
        body = body.body
    stores = _stores(block, body)
    if not variables:
        if len(stores) > 1:
            raise KNOWN_REDUCER.refuse(f"{name_of(block)} stores one element before it computes another", block)
        return stores
    by_value = {store.value: store for store in stores}
    if len(by_value) != len(stores) or by_value.keys() != variables.keys():
        raise KNOWN_REDUCER.refuse(f"{name_of(block)} does not store each of its variables once", block)
    return [
        tir.BufferStore(by_value[variable].buffer, value, by_value[variable].indices)
        for variable, value in variables.items()
    ]


def _new_values(reducer: Reducer, elements: Values, combined: Values) -> Values | None:
    """Return the values that `reducer` combines with `elements`; None if the update does not have its form."""
    if reducer.size != len(elements):
        return None
    x = tuple([tir.Var(element.dtype, f"x{index}") for index, element in enumerate(elements)])
    y = tuple([tir.Var(element.dtype, f"y{index}") for index, element in enumerate(elements)])
    found: dict[Node, Node] = dict(zip(x, elements, strict=True))
    holes = set(y)
    pairs = zip(reducer.combine(x, y), combined, strict=True)
    if not all(_matches(pattern, value, holes, found) for pattern, value in pairs):
        return None
    return tuple([value for var in y if isinstance(value := found.get(var), tir.PrimExpr)])


def _matches(pattern: Node, value: Node, holes: set[tir.Var], found: dict[Node, Node]) -> bool:
    """Return whether `value` matches `pattern`, with one value for each hole, which is added to `found`."""
    if isinstance(pattern, tir.Var):
        if pattern in holes:
            found.setdefault(pattern, value)
        return structural_equal(found[pattern], value)
    if type(pattern) is not type(value):
        return False
    pairs = zip(children(pattern), children(value), strict=True)
    return all(_matches(part, other, holes, found) for part, other in pairs)


def _check_values(block: tir.Block, found: Reduction) -> None:
    """Refuse new values that depend on the elements, or on variables of the block (E0579)."""
    own = {element.buffer for element in found.elements}
    bound = {node.var for node in walk(block.body) if isinstance(node, tir.LetStmt)}
    for value in found.values:
        for node in walk(value):
            if (isinstance(node, tir.BufferLoad) and node.buffer in own) or node in bound:
                raise KNOWN_REDUCER.refuse(f"the new values of {name_of(block)} depend on its partial result", block)
