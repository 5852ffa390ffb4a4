"""`reverse_compute_inline`: inline a block into its producer."""

from __future__ import annotations

from functools import reduce

from msgspec.structs import replace

from ... import make, tir
from ...access import with_regions
from ...analysis.iter_map import IterMapLevel, detect_iter_map
from ...analysis.iter_map_use import inverse_affine_iter_map
from ...analysis.proof import prove
from ...analysis.regions import lies_in
from ...base import Node
from ...equal import structural_equal
from ...idioms import is_one
from ...simplify import simplify
from ...visit import substitute, walk
from ..analysis.affine import runs_for_all
from ..analysis.blocks import check_complete, check_not_output
from ..analysis.pipeline import bindings_of, check_stage_pipeline
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
from .compute_inline import INVERTIBLE, NO_INIT, check_value

ONE_PRODUCER = Condition(
    "E0543",
    "the block reads one buffer computed in its scope, which has one writer and no other readers",
    "inline the other producers first, or compute_inline what it reads",
)


@primitive(
    requires=(NO_INIT, NOT_ROOT, STAGE_PIPELINE, ONE_PRODUCER, COMPLETE, NOT_OUTPUT, SINGLE_STORE, INVERTIBLE, ONLY_LEAF, OPAQUE)
)  # fmt: skip
def reverse_compute_inline(program: Program, block: Block) -> None:
    """Let the producer of a block store the output of the block, and remove the block and the buffer between them. If
    the block does not read all elements, the producer gets a predicate.

    Preserves: what `block` and all other blocks except its producer write. Comments of the block move above its
    producer.
    """
    if block.init is not None:
        raise NO_INIT.refuse(f"{name_of(block)} has T.init", block)
    scope = scope_root(program, block)
    check_stage_pipeline(program, scope)
    buffer, producer = only_producer(block, Scope(scope))
    check_complete(block, scope)
    check_complete(producer, scope)
    check_not_output(producer, scope)
    made, guard = _store_of(producer)
    _check_init(producer, made, block)
    iterators = _iterators(program, block, buffer, producer, made)
    check_not_opaque(scope, buffer)
    comments = comments_in(remove_leaf(program, block))
    add_comments(program, program.current(producer), comments)
    producer = program.current(producer)
    realize = program.realize_of(producer)
    program.replace(realize, _merged(realize, buffer, block, made, guard, iterators), {})
    without_buffer(program, program.current(scope), buffer)


def only_producer(block: tir.Block, scope: Scope) -> tuple[tir.Buffer, tir.Block]:
    """Return the only buffer computed in its scope that a block reads, and the block that writes it (E0543)."""
    written = list(dict.fromkeys(region.buffer for region in block.reads if scope.writers(region.buffer)))
    if len(written) != 1:
        names = ", ".join([f"'{array.name}'" for array in written]) or "nothing"
        raise ONE_PRODUCER.refuse(f"{name_of(block)} reads {names} of the buffers computed in its scope", block)
    (buffer,) = written
    writers, readers = scope.writers(buffer), [reader for reader in scope.readers(buffer) if reader is not block]
    if len(writers) != 1 or readers:
        other = (readers or writers)[-1]
        verb = "reads" if readers else "writes"
        raise ONE_PRODUCER.refuse(f"{name_of(other)} also {verb} '{buffer.name}'", block, other)
    return buffer, writers[0]


def _store_of(producer: tir.Block) -> tuple[tir.BufferStore, tir.PrimExpr | None]:
    """Return the only store of a producer, and the condition around it."""
    body, guard = producer.body, None
    if isinstance(body, tir.IfThenElse) and body.else_case is None:
        body, guard = body.then_case, body.condition
    if not isinstance(body, tir.BufferStore) or body.predicate is not None:
        raise SINGLE_STORE.refuse(f"{name_of(producer)} is not a single store", producer)
    check_value(producer, body.value)
    return body, guard


def _check_init(producer: tir.Block, made: tir.BufferStore, block: tir.Block) -> None:
    """Refuse a producer with T.init (E0540), unless `block` copies the result unchanged."""
    init, store = producer.init, block.body
    if init is None:
        return
    starts = init.indices if isinstance(init, tir.BufferStore) and init.buffer is made.buffer else None
    goes_on = [load.indices for load in loads_of(made.value, made.buffer)]
    alike = all(structural_equal(terms, made.indices) for terms in (starts, *goes_on))
    is_copied = isinstance(store, tir.BufferStore) and loads_of(store, made.buffer) == [store.value]
    if not (alike and is_copied):
        raise NO_INIT.refuse(
            f"{name_of(producer)} has T.init, and {name_of(block)} does not only copy its result", producer
        )


def loads_of(node: Node, buffer: tir.Buffer) -> list[tir.BufferLoad]:
    """Return the loads of a buffer in `node`."""
    return [inner for inner in walk(node) if isinstance(inner, tir.BufferLoad) and inner.buffer is buffer]


def elements_of(
    program: Program, block: tir.Block, buffer: tir.Buffer, producer: tir.Block, made: tir.BufferStore
) -> tuple[dict[tir.Var, tir.PrimExpr], tir.PrimExpr]:
    """Return the iterators of `block` for the element that an iteration of its producer computes, and when it has any."""
    iterators = _iterators(program, block, buffer, producer, made)
    domains = {axis.var: axis.dom for axis in block.iter_vars if axis.dom is not None}
    return iterators, substitute(_within(domains), iterators)


def _iterators(
    program: Program, block: tir.Block, buffer: tir.Buffer, producer: tir.Block, made: tir.BufferStore
) -> dict[tir.Var, tir.PrimExpr]:
    """Return the values of the iterators of `block` for the element that an iteration of its producer computes."""
    store = block.body
    realize = program.realize_of(block)
    if not is_one(realize.predicate):
        raise SINGLE_STORE.refuse(f"{name_of(block)} has a predicate", block)
    if not runs_for_all(realize, program.loops_of(block)):
        raise INVERTIBLE.refuse(f"{name_of(block)} is not known to execute for all values of its iterators", block)
    if not isinstance(store, tir.BufferStore) or store.predicate is not None:
        raise SINGLE_STORE.refuse(f"{name_of(block)} is not a single store", block)
    check_value(block, store.value)
    loads = loads_of(store, buffer)
    if not loads or not all(structural_equal(load.indices, loads[0].indices) for load in loads):
        raise INVERTIBLE.refuse(f"{name_of(block)} reads '{buffer.name}' at several indices", block)
    read, domains = loads[0].indices, {axis.var: axis.dom for axis in block.iter_vars if axis.dom is not None}
    point = [tir.Range(index, make.const(1, index.dtype)) for index in read]
    whole = [tir.Range(make.const(0, size.dtype), size) for size in buffer.shape]
    if not lies_in(point, whole, domains).is_proven:
        reason = f"some iterations of {name_of(block)} do not read an element that {name_of(producer)} computes"
        raise INVERTIBLE.refuse(reason, block, producer)
    found = detect_iter_map(read, domains, None, IterMapLevel.NO_CHECK)
    known = inverse_affine_iter_map(found.indices, made.indices) if found.is_detected else {}
    units = {axis.var: axis.dom.min for axis in block.iter_vars if axis.dom is not None and is_one(axis.dom.extent)}
    places = dict(zip(read, made.indices, strict=True))
    known |= {variable: places.get(variable, least) for variable, least in units.items()}
    back = inverse_affine_iter_map(found.indices, read) if found.is_detected else {}
    for variable, domain in domains.items():
        unique = is_one(domain.extent) or (
            variable in back and prove(make.equal(back[variable], variable), domains).is_proven
        )
        if not unique:
            reason = f"the element that {name_of(block)} reads does not determine its iterator '{variable.name}'"
            raise INVERTIBLE.refuse(reason, block)
    _check_hits(block, producer, made, read, known, domains)
    return known


def _check_hits(
    block: tir.Block,
    producer: tir.Block,
    made: tir.BufferStore,
    read: tuple[tir.PrimExpr, ...],
    iterators: dict[tir.Var, tir.PrimExpr],
    domains: dict[tir.Var, tir.Range],
) -> None:
    """Refuse iterators within their domains that read another element than the computed one."""
    ranges = {axis.var: axis.dom for axis in producer.iter_vars if axis.dom is not None}
    inside = substitute(_within(domains), iterators)
    for index, place in zip(read, made.indices, strict=True):
        if not prove(make.equal(substitute(index, iterators), place), ranges, (inside,)).is_proven:
            raise INVERTIBLE.refuse(
                f"{name_of(block)} may read another element than the one that {name_of(producer)} computes",
                block,
                producer,
            )


def _within(domains: dict[tir.Var, tir.Range]) -> tir.PrimExpr:
    """Return the condition that iterators lie in their domains."""
    parts: list[tir.PrimExpr] = []
    for variable, domain in domains.items():
        parts.append(make.greater_equal(variable, domain.min))
        parts.append(make.less(variable, make.add(domain.min, domain.extent)))
    return reduce(make.logical_and, parts, make.const(True, "bool"))


def _merged(
    realize: tir.BlockRealize,
    buffer: tir.Buffer,
    block: tir.Block,
    made: tir.BufferStore,
    guard: tir.PrimExpr | None,
    iterators: dict[tir.Var, tir.PrimExpr],
) -> tir.BlockRealize:
    """Return the producer with its store replaced by that of `block`."""
    producer, store = realize.block, block.body
    assert isinstance(store, tir.BufferStore)

    def storing(value: tir.PrimExpr) -> tir.BufferStore:
        new = substitute(store, {**iterators, **dict.fromkeys(loads_of(store, buffer), value)})
        element = tir.BufferLoad(new.buffer.dtype, new.buffer, new.indices)
        return replace(substitute(new, dict.fromkeys(loads_of(new, buffer), element)), trivia=None)

    new: tir.Stmt = storing(made.value)
    init = storing(producer.init.value) if isinstance(producer.init, tir.BufferStore) else None
    domains = {axis.var: axis.dom for axis in block.iter_vars if axis.dom is not None}
    ranges = {axis.var: axis.dom for axis in producer.iter_vars if axis.dom is not None}
    inside = simplify(substitute(_within(domains), iterators), ranges)
    if guard is not None:
        if is_one(inside) or structural_equal(inside, simplify(guard, ranges)):
            new = tir.IfThenElse(guard, new)
        else:
            inside = simplify(make.logical_and(inside, guard), ranges)
    sources = tuple([region.buffer for region in (*block.reads, *block.writes)])
    merged = with_regions(replace(producer, body=new, init=init), sources)
    if is_one(inside):
        return replace(realize, block=merged)
    condition = simplify(make.logical_and(substitute(inside, bindings_of(realize)), realize.predicate))
    return replace(realize, block=merged, predicate=condition)
